"""Stream order: what the host calls and what the device does, each in its turn, down the page.

    host                        stream 1            stream 2
    launch_fill ------------->
                                fill
    cudaEventRecord --------->  recorded ------.
    cudaStreamWaitEvent -------------------------> wait is over

Each row is the beginning of a call or of work, in the order of virtual time, and not to scale: a
long time has more room, and the times are in the table alone. A call or work lasts until what
stands below its box begins. A narrow picture has columns as thin bars and its words beside them.

What takes no time in its stream, such as an allocation or a free, stands where its turn came.

A thin arrow leads from a call to its work; a thick one from a record to the wait for it in another
stream; a dotted red one from a free to the allocation that the driver makes wait for it; a dashed
red one joins two accesses that nothing orders, which have a number where there are several pairs.
A call waited when work that it is about ended within it. A bar beside a stream's line is an
allocation, from its turn to the free's.

docs/_static/run_steps.js reads what is in the streams by the same rules.
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import product

from . import svg

ALLOCATIONS = ("cudaMallocAsync", "cudaMallocFromPoolAsync")
IN_STREAM = (*ALLOCATIONS, "cudaFreeAsync")
KERNEL, LAUNCH = "sim_launch_kernel", "cudaGraphLaunch"
RUNS = (
    "launch_fill",
    "launch_add",
    "launch_hold",
    "cudaMemcpyAsync",
    "cudaMemcpy",
    "cudaMemcpyPeerAsync",
    "cudaMemsetAsync",
    "cudaMemset",
    "cudaLaunchHostFunc",
)
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
# In these the host waits for whatever is on its way, unless the memory is a pool's.
MAY_WAIT = ("cudaFree", "cudaFreeHost")
EVENTS = {"cudaEventRecord": "recorded", "cudaStreamWaitEvent": "wait is over"}
QUERIES = ("cudaStreamQuery", "cudaEventQuery")
SHOWN = (
    *IN_STREAM,
    *RUNS,
    *WAITS,
    KERNEL,
    LAUNCH,
    "cudaMalloc",
    "cudaFree",
    *QUERIES,
    "cudaEventRecord",
    "cudaStreamWaitEvent",
    "cudaMemPoolTrimTo",
)
HOST = "host"
REPEATS = 3  # so many equal calls in a row are one
LANE, LANES = 10, 4  # between two dashed lines that run down beside each other; so many
MOST_BARS = 4  # so many allocations that live at one time have bars

# The least height of a row, the room beside the columns, and the width of one in a narrow picture.
ROW, BESIDE, COLUMN = 24, 8, 28
# Below this width, or this for each column, words stand beside the columns.
NARROW, LEAST = 500, 110
# The room that words need beside columns.
WORDS = 190
KEY = (
    ("call", "call of the host"),
    ("waits", "call in which the host waits for the device"),
    ("work s-1", "work of the device"),
    ("hold", "stream held by a closed gate"),
    ("used s-1", "bar at a stream: an allocation, until its free"),
    ("own arrow", "call to its work"),
    ("event arrow", "event: from the record to the wait"),
    ("inserted arrow", "a wait that the driver inserted"),
)


@dataclass
class Item:
    """A call, a piece of work, or a point in a stream."""

    column: object
    kind: str  # call, waits, work, hold, point
    words: str
    start: tuple  # (nanoseconds, turn among what happens at that time)
    finish: tuple
    call: dict
    edges: list = field(default_factory=list)  # of (kind, the item that this one comes after)
    unordered: bool = False  # the report names it
    fault: str = ""  # and says this of it and the one before
    signs: list = field(default_factory=list)  # at both ends, where there are several such pairs
    top: float = 0
    bottom: float = 0
    left: float = 0
    right: float = 0

    @property
    def middle(self):
        return self.top + 10


@dataclass
class Order:
    items: list  # in the order of their rows
    columns: list  # the host's threads and the streams
    names: dict  # of a column that the page names
    zero: int
    cut: int = 0  # calls that are left out below


def stream_of(line):
    stream = line.get("stream")
    if stream == "per-thread":
        return f"stream of thread {line.get('thread', 0)}"
    return stream


def merged(shown):
    """A loop of queries is one call, and so is work that repeats in one stream."""
    found = []
    for line in shown:
        last = found[-1] if found else {}
        same = all(
            line.get(key) == last.get(key)
            for key in ("call", "stream", "event", "result", "allocation", "thread")
        )
        if same and (line["call"] in QUERIES or line["call"] in RUNS):
            last["merged"].append(line)
        else:
            found.append({**line, "merged": [line]})
    apart = []
    for line in found:
        if line["call"] in QUERIES or len(line["merged"]) >= REPEATS:
            apart.append({**line, "end": line["merged"][-1]["end"]})
        else:
            apart += [{**one, "merged": [one]} for one in line["merged"]]
    return apart


def pieces_of(journal):
    """What the calls put into the streams, by the number of the call."""
    work, turns, pieces = defaultdict(list), {}, {}
    recorded = {}  # of an event: its newest record
    at, freed = {}, {}  # of an allocation: its pool and offset; of these: the free
    for line in journal:
        if line.get("did") == "run":
            work[line["of"]].append(line)
        elif line.get("did") == "turn":
            turns[line["of"]] = (line["t"], line["n"])
    for call in journal:
        name, number, stream = call.get("call"), call.get("number"), stream_of(call)
        turn = (call["end"], call["n"]) if "turn" in call else turns.get(number)
        if number in work:
            runs = work[number]
            first = min(runs, key=lambda one: one["start"])
            last = max(runs, key=lambda one: one["finish"])
            words = f"graph {call['graph']}" if name == LAUNCH else first["op"]
            kind = "hold" if words == "hold" else "work"
            start, finish = (first["start"], first["n"]), (last["finish"], last["n"])
            pieces[number] = Item(stream, kind, words, start, finish, call)
        elif turn:
            point = Item(stream, "point", EVENTS.get(name, ""), turn, turn, call)
            pieces[number] = point
            source = recorded.get(call["event"]) if name == "cudaStreamWaitEvent" else None
            if source and source.column != stream:
                point.edges.append(("event", source))
            if name == "cudaEventRecord":
                recorded[call["event"]] = point
            if name in ALLOCATIONS:
                at[call["allocation"]] = call["pool"], call["offset"]
                if free := freed.get(at[call["allocation"]]):
                    call["reused"] = free.call["allocation"]
                    if call["from"] == "internal":
                        point.edges.append(("inserted", free))
            if name == "cudaFreeAsync":
                freed[at.get(call["allocation"])] = point
    return pieces


BY_HOST = "a load or store"
PARTS = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)  # of an arrow's length: where its words may be


def with_host_accesses(journal):
    """The journal, in which an access of the host that was reported has a line like a call's. Its
    number is its line's, below 0."""
    for line in journal:
        if line.get("did") == "hazard" and line["call"] == BY_HOST:
            line = {**line, "end": line["t"], "result": "cudaSuccess", "number": -line["n"]}
            del line["did"]
        yield line


def unordered(journal):
    """What the checker reported: (number of the earlier call, of the later one, words). Without
    what is between two nodes of one launch."""
    found = []
    for line in journal:
        if line.get("did") != "hazard" or "earlier" not in line:
            continue
        later = line.get("later", -line["n"])
        after_free = line["kind"] == "use after free"
        if later != line["earlier"] and ("unordered" in line or after_free):
            words = "✗ after the free" if after_free else "✗ no order"
            found.append((line["earlier"], later, words))
    return found


def name_points(points):
    """Numbers the allocations of the picture alone, not all; one alone needs no number."""
    numbers = sorted(
        {
            point.call["allocation"]
            for point in points
            if point.call["call"] in IN_STREAM and "allocation" in point.call
        }
    )
    for point in points:
        if point.call["call"] not in IN_STREAM or "allocation" not in point.call:
            continue
        verb = "freed" if point.call["call"] == "cudaFreeAsync" else "allocated"
        number = numbers.index(point.call["allocation"]) + 1
        point.words = f"{verb} {number}" if len(numbers) > 1 else verb
        if point.call.get("reused") in numbers:
            point.words += f", where {numbers.index(point.call['reused']) + 1} was"
        elif number > 1 and point.call.get("from") == "new":
            point.words += ", new memory"


def microseconds(nanoseconds):
    return f"{nanoseconds / 1000:.1f}"


def duration(item):
    """How long work took. A gate that was open before the stream came to it held for no time that
    could be shown."""
    took = microseconds(item.finish[0] - item.start[0])
    return took if item.kind == "work" or item.kind == "hold" and took != "0.0" else ""


def waited(line, pieces):
    """Did work that the call is about end within it?"""
    own = pieces.get(line["number"])
    if own:
        return own.kind != "point" and own.finish[0] <= line["end"]
    if line["call"] not in WAITS + MAY_WAIT or line["call"] in MAY_WAIT and "pool" in line:
        return False
    return any(
        line["t"] < piece.finish[0] <= line["end"]
        and piece.kind in ("work", "hold")
        and ("stream" not in line or piece.column == stream_of(line))
        for piece in pieces.values()
    )


def stretch(nanoseconds):
    """The room that a row has for so long a time, besides its words."""
    return min(48, max(0, 24 * math.log10(max(1, nanoseconds) / 5000)))


def words_of(line):
    words = line["call"]
    if line["call"] == KERNEL:
        words = f"kernel {line['kernel']}"
    if line["call"] == BY_HOST:
        words = "the host reads or writes"
    if words in QUERIES or line["result"] != "cudaSuccess":
        words += f": {line['result']}"
    if "node" in line:
        words += " (captured)"
    return f"{words} × {len(line['merged'])}" if len(line["merged"]) > 1 else words


def lane_of_host(line):
    return f"{HOST}, thread {line['thread']}" if "thread" in line else HOST


def read(journal, calls=(), numbers=None, names=(), most=None, missing=(), host=True):
    """`calls`: the calls of the host that are shown, of those `numbers`; `names`: of the streams,
    in the order of their first call; `most`: at most so many; `missing`: what unordered() found;
    `host`: whether the calls have columns, or only what they put into the streams."""
    chosen = (*(calls or SHOWN), BY_HOST)
    shown = merged(
        [
            dict(line)
            for line in with_host_accesses(journal)
            if "did" not in line
            and line.get("call") in chosen
            and (numbers is None or line["number"] in numbers or line["call"] == BY_HOST)
        ]
    )
    cut = max(0, len(shown) - most) if most else 0
    shown = shown[:most] if most else shown
    if not shown:
        raise ValueError("none of the calls to be shown was made")
    pieces = pieces_of(journal)
    items, by_number = [], {}
    for line in shown:
        kind = "waits" if any(waited(one, pieces) for one in line["merged"]) else "call"
        call = Item(
            lane_of_host(line), kind, words_of(line), (line["t"], 0), (line["end"], 0), line
        )
        items.append(call)
        own = [pieces[one["number"]] for one in line["merged"] if one["number"] in pieces]
        for one in line["merged"]:
            by_number[one["number"]] = own[-1] if own else call
        if own:
            piece = own[0]
            piece.finish = own[-1].finish
            if len(own) > 1:
                piece.words += f" × {len(own)}"
            for one in line["merged"]:
                by_number[one["number"]] = piece
            piece.edges.insert(0, ("own", call))
            items.append(piece)
    in_streams = [item for item in items if not str(item.column).startswith(HOST)]
    in_streams.sort(key=lambda item: item.call["t"])
    streams = list(dict.fromkeys(item.column for item in in_streams))
    hosts = list(dict.fromkeys(item.column for item in items if str(item.column).startswith(HOST)))
    if not host:
        items, hosts = in_streams, []
    name_points([item for item in items if item.kind == "point"])
    for item in items:
        item.edges = [(kind, one) for kind, one in item.edges if any(one is two for two in items)]
    for earlier, later, words in missing:
        if earlier in by_number and later in by_number:
            by_number[later].edges.append(("missing", by_number[earlier]))
            by_number[later].fault = words
            by_number[later].unordered = by_number[earlier].unordered = True
    columns = [*hosts, *streams]
    labels = {column: str(column) for column in hosts}
    labels.update({stream: svg.stream_name(stream) for stream in streams})
    labels.update(zip(streams, names))
    return Order(
        sorted(items, key=lambda item: (item.start, columns.index(item.column))),
        columns,
        labels,
        shown[0]["t"],
        cut,
    )


def moments(items, columns):
    """Beginnings and ends in the order of time; an end comes before what begins then."""
    found = []
    for number, item in enumerate(items):
        place = columns.index(item.column)
        found.append((item.start, 1, place, number, item))
        if item.kind != "point":
            found.append((item.finish, 0, place, number, item))
    return sorted(found, key=lambda one: one[:4])


class Drawing:
    def __init__(self, order, width):
        self.order, self.canvas = order, svg.Canvas(width)
        self.streams = [column for column in order.columns if not str(column).startswith(HOST)]
        self.hosts = [column for column in order.columns if column not in self.streams]
        self.slots = self.lives()
        pairs = [
            (source, item)
            for item in order.items
            for kind, source in item.edges
            if kind == "missing"
        ]
        # Of (source, item): several pairs have numbers, and those of neighboring columns lanes.
        self.numbers, self.lane, taken = {}, {}, Counter()
        for number, (source, item) in enumerate(pairs if len(pairs) > 1 else (), 1):
            key = id(source), id(item)
            self.numbers[key] = number
            left, right = sorted(order.columns.index(one.column) for one in (source, item))
            if right - left == 1:
                self.lane[key] = taken[left] % LANES
                taken[left] += 1
        self.lanes = min(LANES, max(taken.values(), default=0))
        # So does a picture whose streams would have no room for words.
        narrow = width < NARROW and self.hosts
        self.narrow = narrow or width / (len(order.columns) + 1) < LEAST
        self.place()
        for item in order.items:
            item.signs = []
        for pair in pairs:
            if number := self.numbers.get(tuple(map(id, pair))):
                for item in pair:
                    item.signs.append(f"✗{number}")
            elif self.narrow:
                pair[1].signs.append(pair[1].fault)
        self.rows()
        self.headings()
        for item in order.items:
            self.item(item)
        self.bars()
        for item in order.items:
            for kind, source in item.edges:
                self.edge(kind, source, item)
        y = self.canvas.height + 16
        note = "Time runs down, not to scale."
        if order.cut:
            note += f" {order.cut} more calls are not shown."
        self.canvas.paragraph(0, y, note)
        self.key()

    # ---- where everything is ----

    def lives(self):
        """Of each allocation with its turn in the picture: its free, if any, and its slot."""
        found, slots = {}, {}
        for item in self.order.items:
            number = item.call.get("allocation")
            if item.kind == "point" and item.call["call"] in ALLOCATIONS:
                found[number] = [item, None]
            elif item.call["call"] == "cudaFreeAsync" and item.kind == "point" and number in found:
                found[number][1] = item
        taken = defaultdict(list)
        for number, (begin, free) in found.items():
            ends = taken[begin.column]
            end = free.start if free else (1 << 62, 0)
            for slot, until in enumerate([*ends, (0, 0)]):
                if until <= begin.start:
                    ends[slot : slot + 1] = [end]
                    slots[number] = (begin, free, slot)
                    break
        most = max([1, *(len(one) for one in taken.values())])
        self.width_of_slots = 8 * most if most <= MOST_BARS else 8
        return slots if most <= MOST_BARS else {}

    def place(self):
        """The x of each column, and the room for its words."""
        canvas, self.x, self.room = self.canvas, {}, {}
        if self.narrow:
            x = BESIDE
            room = (canvas.width - x - WORDS) / len(self.order.columns)
            if room < COLUMN:  # many streams: no bars, and thinner columns
                self.slots, self.width_of_slots = {}, 8
            for column in self.order.columns:
                self.x[column] = x
                x += min(COLUMN, max(room, 14))
                x += self.width_of_slots - 8 if column in self.streams else 0
            self.words_x = x
            self.room = dict.fromkeys(self.order.columns, canvas.width - self.words_x)
            return
        calls = [item for item in self.order.items if item.column in self.hosts]
        words = [word for one in calls for word in one.words.split()]
        longest = max((svg.text_width(word, "code") for word in words), default=0)
        host = max(130, longest + 18)
        x = BESIDE
        for column in self.hosts:
            self.x[column], self.room[column] = x, host - 18
            x += host + 34
        room = (canvas.width - BESIDE - x) / max(1, len(self.streams))
        if self.streams and room < LEAST - 20:  # several hosts have taken it
            self.narrow = True
            self.place()
            return
        room = min(room, 300)
        for stream in self.streams:
            self.x[stream] = x
            self.room[stream] = room - self.width_of_slots - 30 - self.lanes * LANE
            x += room
        self.host_width, self.last = host, x

    def width_of(self, column):
        """The room for a column's heading."""
        return self.room[column] + (self.width_of_slots + 20 if column in self.streams else 18)

    def heading_of(self, column):
        return svg.wrapped(self.order.names[column], self.width_of(column), "heading")

    def lines_of(self, item):
        kind = "code" if item.column in self.hosts else "bold" if item.unordered else ""
        words = " ".join([item.words, *item.signs])
        lines = svg.wrapped(words, self.room[item.column], kind)
        return [*lines, "waits"] if item.kind == "waits" else lines

    def rows(self):
        heads = [1 if self.narrow else len(self.heading_of(one)) for one in self.order.columns]
        self.above = 6 + svg.LINE * (sum(heads) if self.narrow else max(heads))
        y, before = self.above + 8, self.order.zero
        for (time, _), begins, _, _, item in moments(self.order.items, self.order.columns):
            y += stretch(time - before)
            before = time
            if begins:
                item.top = y
                y += ROW + (len(self.lines_of(item)) - 1) * svg.LINE
                if self.narrow:
                    y -= 3
                item.bottom = y - 4
            else:
                item.bottom = max(item.bottom, y - 4)
        self.bottom = y

    # ---- drawing ----

    def headings(self):
        for number, column in enumerate(self.order.columns):
            x, words = self.x[column], self.order.names[column]
            if self.narrow:  # a step down for each name, and from it a line to its column
                base = 14 + number * svg.LINE
                self.canvas.text(x - 5, base, words, "bold")
                self.canvas.line("tick", (x, base + 4), (x, self.above), behind=True)
            else:
                self.canvas.paragraph(x, 14, words, "heading", self.width_of(column))
            if column in self.streams:
                self.canvas.line("stream", (x, self.above), (x, self.bottom), behind=True)

    def item(self, item):
        canvas, host = self.canvas, item.column in self.hosts
        x, lines = self.x[item.column], self.lines_of(item)
        high = item.bottom - item.top
        shift = 0 if host else self.width_of_slots + 4
        if self.narrow:
            words_x = self.words_x
            half = 6 if host or item.kind == "point" else 5
            item.left, item.right = x - half, x + half
            if item.kind == "point":
                canvas.line("point", (item.left, item.middle), (item.right, item.middle))
            else:
                kind = item.kind if host else f"{item.kind} {self.color(item)}"
                canvas.box(kind, item.left, item.top, 2 * half, high, 2)
        elif host:
            canvas.box(item.kind, x, item.top, self.host_width, high, 3)
            item.left, item.right, words_x = x, x + self.host_width, x + 8
        elif item.kind == "point":
            canvas.line("point", (x - 5, item.middle), (x + shift - 2, item.middle))
            words_x = x + shift + 2
            item.left = x
            item.right = words_x + max(svg.text_width(line) for line in lines) + 4
        else:
            wide = self.room[item.column] + 12
            canvas.box(f"{item.kind} {self.color(item)}", x + shift, item.top, wide, high, 3)
            item.left, item.right, words_x = x + shift, x + shift + wide, x + shift + 6
        for number, line in enumerate(lines):
            kind = "code" if host else "halo" if item.kind == "point" else ""
            if item.unordered:
                kind += " bad"
            if line == "waits" and number == len(lines) - 1 and item.kind == "waits":
                kind = "waits"
            canvas.text(words_x, item.top + 14 + number * svg.LINE, line, kind.strip())

    def color(self, item):
        color = svg.stream_class(item.column, self.streams)
        return f"{color} unordered" if item.unordered else color

    def bars(self):
        for begin, free, slot in self.slots.values():
            x = self.x[begin.column] + 2 + slot * 8
            if self.narrow:
                x += 5
            end = free.middle if free else self.bottom
            kind = f"used {svg.stream_class(begin.column, self.streams)}"
            self.canvas.box(kind, x, begin.middle, 6, max(3, end - begin.middle), 2, behind=True)

    def edge(self, kind, source, item):
        canvas = self.canvas
        if kind == "own":
            if item.kind == "point" and not self.narrow:
                to = self.x[item.column] - 6
            else:
                to = item.left - 1
            canvas.arrow("own", (source.right, source.middle), (to, item.middle), behind=True)
            return
        forth = self.x[item.column] > self.x[source.column]
        same = item.column == source.column
        begin = (
            source.middle
            if source.kind == "point" or kind != "missing"
            else min(source.bottom, item.middle if same else source.bottom) - 4
        )
        if same:
            points = [
                (source.right, begin),
                (max(source.right, item.right) + 14, begin),
                (max(source.right, item.right) + 14, item.middle),
                (item.right + 2, item.middle),
            ]
        else:
            points = [
                (source.right if forth else source.left - 2, begin),
                (item.left - 2 if forth else item.right + 2, item.middle),
            ]
        key = id(source), id(item)
        if kind == "missing" and key in self.lane:
            lane = max(self.x[source.column], self.x[item.column]) - 9
            lane -= (self.lanes - 1 - self.lane[key]) * (LANE / 2 if self.narrow else LANE)
            points[1:1] = [(lane, points[0][1]), (lane, points[1][1])]
        canvas.arrow(kind, *points)
        fault = "" if self.numbers or self.narrow else item.fault
        words = {"missing": fault, "inserted": "the driver's wait"}.get(kind)
        if words:
            self.word_on(points, words, "bad")

    def word_on(self, points, words, kind):
        """On the arrow or beside it, where it stands on no box and apart from other words; else
        within a box, or where it fits at all. Beside an arrow that leads back to its own stream."""
        wide = svg.text_width(words, kind)
        if len(points) == 4:
            (a, b), (c, d), sides = points[1], points[2], (6,)
        else:
            (a, b), (c, d), sides = points[0], points[-1], (-wide / 2, 8, -8 - wide, 24)
        places = [
            (a + (c - a) * part + side, b + (d - b) * part + 4 + shift)
            for part in PARTS
            for side in sides
            for shift in (0, 12, -12, 24, -24)
        ]
        for is_good, apart in product((self.is_beside, self.is_on_no_edge, bool), (10, 3)):
            for x, y in places:
                x = min(max(2, x), self.canvas.width - wide - 2)
                box = (x - 3, y - svg.RISE - 1, x + wide + 3, y + svg.FALL + 1)
                wider = (x - apart, box[1], x + wide + apart, box[3])
                if is_good(box) and self.canvas.free(wider):
                    self.canvas.plate(box[0], box[1], box[2] - box[0], box[3] - box[1])
                    self.canvas.text(x, y, words, kind)
                    return

    def under(self, box):
        """The boxes of calls and work on which this one lies."""
        left, top, right, bottom = box
        for item in self.order.items:
            across = left < item.right and right > item.left
            if item.kind != "point" and across and top < item.bottom and bottom > item.top:
                yield item

    def is_beside(self, box):
        return not any(self.under(box))

    def is_on_no_edge(self, box):
        left, top, right, bottom = box
        return all(
            item.left < left and right < item.right and item.top < top and bottom < item.bottom
            for item in self.under(box)
        )

    def key(self):
        what = "what the checker reported: the two accesses"
        what += " with one number" if self.numbers else ""
        shown = {item.kind for item in self.order.items}
        shown.update(f"{kind} arrow" for item in self.order.items for kind, _ in item.edges)
        if self.slots:
            shown.add("used")
        rows = [*KEY, ("missing arrow", what)]
        self.canvas.key(*(row for row in rows if row[0].removesuffix(" s-1") in shown))


def draw(order, width):
    return Drawing(order, width).canvas


def table(order):
    """The same as rows: (heads, rows)."""
    rows = []
    for item in order.items:
        words = item.words
        if item.kind == "waits":
            words += ", waits"
        for kind, source in item.edges:
            if kind != "own":
                note = {
                    "event": "after the record in",
                    "inserted": "after the free in",
                    "missing": f"{item.fault}: {source.words} in",
                }[kind]
                words += f", {note} {order.names[source.column]}"
        begin = microseconds(item.start[0] - order.zero)
        rows.append([begin, order.names[item.column], words, duration(item)])
    return ["µs", "where", "what", "takes"], rows
