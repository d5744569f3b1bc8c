"""Memory over time: calls across, addresses up, so that more memory is higher.

    MiB  allocate   free   synchronize
         128 MiB
        +--------+--------+            .      an allocation: from its call to the call that frees it
        |  128   |////////|            .      freed, and the free is pending: hatched
     32 |        |////////|- - - - - - threshold
        |        |////////|            |      the ground: segments, until they are given back
      0 +--------+--------+------------+

     used    128        0       0
     reserved 128     128      32

Each call has a column, so time is not to scale. Calls that repeat have one heading with their
number. Where columns are too narrow for their headings they have letters, whose meanings stand
below. A picture that is wider than its page goes on below. A launch of a graph has a column for
each allocation that it makes.

An allocation begins with the column of its call and ends where the column of its free begins; the
ground of a call is what the pool reserves after it; "given back" is what it reserved before.

docs/_static/run_steps.js reads the pools from the journal, for a stepper as well. Here is what the
columns are called, and which calls have one.
"""

import re
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context
from itertools import groupby
from operator import attrgetter

from . import run_steps, svg
from .order_picture import ALLOCATIONS, WAITS

MIB = 1 << 20
SEGMENT = 32 * MIB
FREES = ("cudaFreeAsync", "cudaFree")
# Has no column unless the page lists it.
ATTRIBUTE_SET = "cudaMemPoolSetAttribute"
THRESHOLD = "cudaMemPoolAttrReleaseThreshold"
RESETS = {
    "cudaMemPoolAttrUsedMemHigh": "used",
    "cudaMemPoolAttrReservedMemHigh": "reserved",
}
GRAPHS = ("cudaGraphLaunch", "cudaDeviceGraphMemTrim")
# In the place of a call: what another process does with an allocation of the pool.
IMPORTER = "importer"
VERBS = {"launch_add": "adds", "launch_fill": "fills", "cudaFreeAsync": "frees"}
SHOWN = ALLOCATIONS + FREES + WAITS + GRAPHS
SHOWN += ("cudaMemPoolTrimTo", "cudaMemPoolDestroy", IMPORTER)
# Stands where other pools have their number.
KEPT_FOR_GRAPHS = "graphs"

# The width of the axis; the least of a call's column, of one that repeats, and the most of one.
AXIS, COLUMN, REPEATED, WIDEST = 58, 28, 5, 116
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# The height of the ground, and the least and most of a segment.
GROUND, LOWEST, HIGHEST = 190, 9, 40
MOST_MARKS = 8  # of the axis


@dataclass
class Moment:
    """What a call left behind."""

    call: int  # the place of its line in the journal
    words: tuple  # one or two lines
    result: str
    bytes: int
    live: dict  # of an allocation's number: (offset, bytes, stream)
    pending: dict  # freed, and nobody has waited for it: the same, with the stream of the free
    mapped: frozenset
    given_back: frozenset
    used: int
    reserved: int
    high: tuple  # the watermarks of used and reserved

    @property
    def refused(self):
        return self.result != "cudaSuccess"

    @property
    def heading(self):
        return (*self.words, "refused") if self.refused else self.words


@dataclass
class Pool:
    number: object
    threshold: int
    limit: int
    moments: list = field(default_factory=list)


def four_digits(number):
    """As a page's script rounds it: a tie goes up."""
    return float(Context(prec=4, rounding=ROUND_HALF_UP).create_decimal_from_float(number))


def mib(count):
    if 0 < count < 1024:
        return f"{count} B"
    if 0 < count < MIB:
        return f"{four_digits(count / 1024):.4g} KiB"
    return f"{count // MIB}" if count % MIB == 0 else f"{four_digits(count / MIB):.4g}"


def with_unit(count):
    return mib(count) if 0 < count < MIB else f"{mib(count)} MiB"


def threshold_words(threshold):
    if threshold >= 1 << 62:
        return "the maximum"
    return with_unit(threshold) if threshold else "0"


def words_of(line):
    call = line["call"]
    if call == IMPORTER:
        return (call, line["verb"])
    if call in ALLOCATIONS:
        return ("allocate", with_unit(line["bytes"]))
    if call in FREES:
        return ("free",)
    if call in WAITS:
        return ("synchronize",) + ((svg.stream_name(line["stream"]),) if "stream" in line else ())
    if call == "cudaGraphLaunch":
        return ("launch", f"graph {line['graph']}")
    if call == "cudaDeviceGraphMemTrim":
        return ("trim", "graph memory")
    if call == "cudaMemPoolTrimTo":
        return ("trim", f"keep {with_unit(line['keep'])}")
    if call == "cudaMemPoolDestroy":
        return ("destroy", "the pool")
    if call == ATTRIBUTE_SET and line["attribute"] == THRESHOLD:
        return ("threshold", threshold_words(line["value"]))
    if call == ATTRIBUTE_SET and line["attribute"] in RESETS:
        return (f"reset {RESETS[line['attribute']]}", "high")
    if call == ATTRIBUTE_SET:
        return ("set", line["attribute"].removeprefix("cudaMemPoolAttr"))
    return (call,)


def with_importer(journal, second):
    """The journal, and behind each export of an allocation what the importer does with it."""
    imported = {
        line["allocation"] for line in second if line.get("call") == "cudaMemPoolImportPointer"
    }
    for line in journal:
        yield line
        if line.get("call") != "cudaMemPoolExportPointer":
            continue
        for other in second:
            if other.get("call") in VERBS and other.get("allocation") in imported:
                verb = VERBS[other["call"]]
                yield {**line, "call": IMPORTER, "verb": verb, "number": -other["number"]}


def moment_of(line, read, before):
    """The moment that run_steps.js read, after the one that is drawn before it."""
    mapped = frozenset(read["mapped"])
    return Moment(
        read["call"],
        words_of(line),
        line["result"],
        line.get("bytes", 0),
        {allocation: tuple(place) for *place, allocation in read["live"]},
        {(allocation, place[0]): tuple(place) for *place, allocation in read["pending"]},
        mapped,
        before.mapped - mapped if before else frozenset(),
        read["used"],
        read["reserved"],
        tuple(read["high"]),
    )


def read(journal, calls=(), numbers=None):
    """The pools in the order of their first call, each with its moments: one for each of those
    calls, of those numbers. A call between two of them that changes a figure is an error."""
    shown, found = calls or SHOWN, []
    for one in run_steps.pools(journal):
        pool = Pool(one["number"], one["threshold"], one["limit"])
        hidden, last = "", [0, 0]  # a call without a column that changed a figure
        for moment in one["moments"]:
            line, figures = journal[moment["call"]], [moment["used"], moment["reserved"]]
            if not moment["own"] and not pool.moments:
                continue
            if line["call"] in shown and (numbers is None or line["number"] in numbers):
                if hidden and pool.moments:
                    raise ValueError(f"{hidden} changes pool {pool.number}, and has no column")
                hidden = ""
                before = pool.moments[-1] if pool.moments else None
                pool.moments.append(moment_of(line, moment, before))
            elif figures != last and pool.number != KEPT_FOR_GRAPHS:
                hidden = f"{line['call']} (line {line.get('line', '?')})"
            last = figures
        # A pool that was imported never has memory of its own here.
        if any(moment.reserved or moment.live or moment.refused for moment in pool.moments):
            found.append(pool)
    if not found:
        raise ValueError("no call of it takes memory from a pool")
    return found


def heading(pool):
    if pool.number == KEPT_FOR_GRAPHS:
        return "What device 0 keeps for graphs"
    name = f"The default pool of device {pool.number}" if pool.number < 2 else "A pool"
    if any(moment.words[0] == "threshold" for moment in pool.moments):  # the columns show it
        return name
    text = f"{name}, release threshold {threshold_words(pool.threshold)}"
    if not pool.limit:
        return text
    return f"{text}, {limit_words(pool.limit)}"


def limit_words(limit):
    words, whole = f"maxSize {with_unit(limit)}", raised(limit)
    return words if whole == limit else f"{words}, rounded up to {with_unit(whole)}"


def chosen(journal, calls=(), pools=(), names=(), most=None, numbers=None):
    """The pools with those numbers, all if there is none, each with its name and `most` moments."""
    found = [pool for pool in read(journal, calls, numbers) if not pools or pool.number in pools]
    if names and len(names) != len(found):
        raise ValueError(f"{len(names)} names for {len(found)} pools")
    for number, pool in enumerate(found):
        del pool.moments[most or len(pool.moments) :]
        pool.name = names[number] if names else heading(pool)
    return found


def groups_of(moments):
    """Calls that repeat are one group, up to one that gave something back."""
    groups = []
    for moment in moments:
        last = groups[-1][-1] if groups else None
        same = last and (last.words, last.result) == (moment.words, moment.result)
        launch = last and last.call != moment.call and moment.words[0] == "launch"
        if same and not launch and not moment.given_back and not last.given_back:
            groups[-1].append(moment)
        else:
            groups.append([moment])
    return groups


def group_words(group):
    first, calls = group[0].heading, len({moment.call for moment in group})
    return (f"{calls} × {first[0]}", *first[1:]) if calls > 1 else first


def strips_of(groups, room):
    """Groups with their widths, in strips that fit: upright headings where one strip is enough."""

    def least(group, upright):
        words = max(svg.text_width(line) for line in group_words(group)) + 12 if upright else COLUMN
        return max(words, len(group) * REPEATED, COLUMN)

    upright = sum(least(group, True) for group in groups) <= room
    strips, filled = [[]], 0
    for group in groups:
        width = least(group, upright)
        if filled + width > room and strips[-1]:
            strips.append([])
            filled = 0
        strips[-1].append((group, min(width, room)))
        filled += width
    spread = []
    for strip in strips:
        left = (room - sum(width for _, width in strip)) / len(strip)
        spread.append(
            [(group, max(width, min(width + left, WIDEST * len(group)))) for group, width in strip]
        )
    return upright, spread


def raised(limit):
    return -(-limit // SEGMENT) * SEGMENT


def neighbors(numbers):
    """Numbers that follow each other, as (first, count)."""
    found = []
    for number in sorted(numbers):
        if found and number == sum(found[-1]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((number, 1))
    return found


def end_of(moment):
    """Where all ends that is live or pending: what is refused has no room below it."""
    places = (*moment.live.values(), *moment.pending.values())
    return max([0, *(offset + count for offset, count, _ in places)])


class Panel:
    """One pool on the canvas."""

    def __init__(self, canvas, pool, top, streams, watermarks):
        self.canvas, self.pool, self.streams = canvas, pool, streams
        self.watermarks = watermarks
        self.data = []  # what no label may cover: (left, top, right, bottom)
        ends = [1]  # of what is reserved, and of what was refused, in segments
        for moment in pool.moments:
            ends += [segment + 1 for segment in moment.mapped]
            if moment.refused and moment.bytes:
                ends.append(raised(end_of(moment) + moment.bytes) // SEGMENT)
        highest = max(ends)
        # A line that is far below what is reserved is named in the heading alone.
        self.threshold = pool.threshold if 0 < pool.threshold <= (highest + 3) * SEGMENT else None
        if any(moment.words[0] == "threshold" for moment in pool.moments):
            self.threshold = None
        self.limit = raised(pool.limit) if 0 < pool.limit <= (highest + 3) * SEGMENT else None
        self.segments = max(
            [highest]
            + [-(-edge // SEGMENT) for edge in (self.threshold, self.limit) if edge is not None]
        )
        self.unit = max(LOWEST, min(HIGHEST, GROUND / self.segments))
        upright, strips = strips_of(groups_of(pool.moments), canvas.width - AXIS)
        y = canvas.paragraph(0, top + 14, pool.name, "heading") - 4
        before, self.letters = {}, {}  # of the headings that have no room above their columns
        for strip in strips:
            y, before = self.strip(strip, y, upright, before)
            y += 14
        self.bottom = self.what_letters_mean(y)

    def height_of(self, count):
        return count * self.unit / SEGMENT

    def place_of(self, top, offset, count):
        """(y, height) of so many bytes there: 0 is at the bottom."""
        return top + self.height_of(self.segments * SEGMENT - offset - count), self.height_of(count)

    def y_of(self, top, offset):
        return self.place_of(top, offset, 0)[0]

    def strip(self, strip, y, upright, before):
        """Draws a line of groups; returns what is below it, and what is live at its end."""
        canvas, left = self.canvas, AXIS
        headings = [group_words(group) for group, _ in strip]
        above = max(len(words) for words in headings) * svg.LINE if upright else svg.LINE
        room = 8 + (svg.LINE if self.watermarks else 0)  # for the words of the higher one
        top, columns, x = y + above + room - 2, [], left
        for (group, width), words in zip(strip, headings):
            kind = "bad" if group[0].refused else ""
            if upright:
                for number, line in enumerate(words):
                    base = top - room - svg.LINE * (len(words) - 1 - number)
                    canvas.text(x + width / 2, base, line, kind, "middle")
            else:
                letter = self.letters.setdefault(words, LETTERS[len(self.letters)])
                canvas.text(x + width / 2, top - room, letter, kind or "bold", "middle")
            columns += [
                (moment, x + number * width / len(group), width / len(group))
                for number, moment in enumerate(group)
            ]
            x += width
            canvas.line("tick", (x, top - 4), (x, top + self.segments * self.unit + 4), behind=True)
        right = x
        self.ground(columns, top)
        self.axis(top)
        for moment, x, _ in columns:
            if moment.refused and moment.bytes:
                self.refusal(moment, x, columns, top)
        labels = self.lines(left, right, top, columns)
        live = self.allocations(columns, top, right, before)
        for label in labels:
            self.label(*label, left, right)
        bottom = top + self.segments * self.unit + 10
        self.figures(strip, bottom, left)
        return bottom + 2 * svg.LINE + 6, live

    def what_letters_mean(self, y):
        """Returns what is below them."""
        x = 0
        for words, letter in self.letters.items():
            room = 16 + svg.text_width(" ".join(words))
            if x and x + room > self.canvas.width:
                x, y = 0, y + svg.LINE
            self.canvas.text(x, y + 6, letter, "bold")
            self.canvas.text(x + 14, y + 6, " ".join(words))
            x += room + 12
        return y + 24 if self.letters else y

    def axis(self, top):
        every = 1
        while every * self.unit < 14 or self.segments / every > MOST_MARKS:
            every *= 2
        for segment in range(0, self.segments + 1, every):
            y = self.y_of(top, segment * SEGMENT)
            self.canvas.line("tick", (AXIS - 5, y), (AXIS, y))
            words = f"{segment * 32}" if segment else "0 MiB"
            self.canvas.text(AXIS - 8, y + 4, words, anchor="end")

    def ground(self, columns, top):
        runs = {}  # of a segment that is mapped: where its run begins
        for moment, x, width in [*columns, (None, columns[-1][1] + columns[-1][2], 0)]:
            mapped = moment.mapped if moment else frozenset()
            for segment in sorted(set(runs) - mapped):
                begin = runs.pop(segment)
                y, high = self.place_of(top, segment * SEGMENT, SEGMENT)
                self.canvas.box("segment", begin, y, x - begin, high, behind=True)
            for segment in mapped - set(runs):
                runs[segment] = x
            for first, count in neighbors(moment.given_back if moment else ()):
                y, high = self.place_of(top, first * SEGMENT, count * SEGMENT)
                self.canvas.box("gone", x + 1, y + 1, width - 2, high - 2, behind=True)

    def allocations(self, columns, top, right, before):
        begins = {number: (columns[0][1], place) for number, place in before.items()}
        pending = {}
        for moment, x, width in columns:
            for key, place in moment.pending.items():
                first, _, _ = pending.get((key, place), (x, 0, 0))
                pending[(key, place)] = first, x + width, place
        for first, end, place in pending.values():
            self.pending(first, end, place, top)
        for moment, x, _ in columns:
            for number in [one for one in begins if one not in moment.live]:
                self.allocation(*begins.pop(number), x, top)
            for number, place in moment.live.items():
                begins.setdefault(number, (x, place))
        for x, place in begins.values():
            self.allocation(x, place, right, top)
        return dict(columns[-1][0].live)

    def pending(self, x, end, place, top):
        offset, count, stream = place
        y, high = self.place_of(top, offset, count)
        kind = f"pending {svg.stream_class(stream, self.streams)}"
        self.data.append((x, y, end, y + high))
        if high >= 5:
            self.canvas.hatched(kind, x + 1.5, y + 1, end - x - 3, high - 2)

    def allocation(self, x, place, end, top):
        offset, count, stream = place
        y, high = self.place_of(top, offset, count)
        y, high = y - max(0, 3 - high), max(3, high)
        kind = svg.stream_class(stream, self.streams)
        self.data.append((x, y, end, y + high))
        self.canvas.box(f"used {kind}", x + 1, y + 0.5, max(2, end - x - 2), high - 1, 2)
        if high < svg.LINE:
            return
        for words in (with_unit(count), mib(count)):
            if svg.text_width(words) + 6 <= end - x and self.canvas.text(
                (x + end) / 2, y + high / 2 + 4, words, f"on {kind}", "middle", optional=True
            ):
                return

    def refusal(self, moment, x, columns, top):
        width = next(width for one, left, width in columns if left == x)
        high = max(16, self.height_of(moment.bytes))
        y = self.y_of(top, end_of(moment)) - high
        self.data.append((x, y, x + width, y + high))
        self.canvas.box("refused", x + 2, y + 1, width - 4, high - 2)
        self.canvas.text(x + width / 2, y + min(high / 2, 14) + 4, "✗", "bad", "middle")

    def lines(self, left, right, top, columns):
        """Returns what to write at them: (words, kind, y)."""
        labels = []
        if self.threshold is not None:
            y = self.y_of(top, self.threshold)
            self.canvas.line("threshold", (left - 5, y), (right, y))
            words = f"release threshold {with_unit(self.threshold)}"
            labels.append((words, "threshold", y))
        if self.limit is not None:
            y = self.y_of(top, self.limit)
            self.canvas.line("limit", (left - 5, y - 2), (right, y - 2))
            labels.append((limit_words(self.pool.limit), "limit", y))
        if not self.watermarks:
            return labels
        for which, name in enumerate(RESETS.values()):
            points = []
            for moment, x, width in columns:
                y = self.y_of(top, moment.high[which])
                points += [(x, y), (x + width, y)]
            self.canvas.line(f"watermark-{name}", *points)
            high = columns[-1][0].high[which]
            words = f"{name}, at most {with_unit(high)}"
            labels.append((words, f"watermark-{name}", self.y_of(top, high)))
        return labels

    def label(self, words, kind, y, left, right):
        """Behind the line's end, or else at an end of it, above or below, where it covers no
        memory. Without such a place, also for a shorter label, the heading has it alone."""
        shorter = re.sub(" [^,]*, rounded up to ", " → ", words.removeprefix("release "))
        for label in (words, shorter):
            width = svg.text_width(label, "bold")
            places = [(right + 8, y + 4)]
            places += [(x, base) for x in (right - width - 5, left + 5) for base in (y - 5, y + 14)]
            for x, base in places:
                box = (x - 3, base - svg.RISE - 1, x + width + 3, base + svg.FALL + 1)
                if self.canvas.free(box) and all(svg.Canvas.free_of(box, one) for one in self.data):
                    self.canvas.plate(box[0], box[1], box[2] - box[0], box[3] - box[1])
                    self.canvas.text(x, base, label, f"bold {kind}-words")
                    return

    def figures(self, strip, y, left):
        canvas = self.canvas
        canvas.text(0, y + 12, "used")
        canvas.text(0, y + 12 + svg.LINE, "reserved")
        x = left
        for group, width in strip:
            moment = group[-1]
            # Of calls that repeat, the figures after the last.
            at, anchor = (x + width - 4, "end") if len(group) > 1 else (x + width / 2, "middle")
            for number, figure in enumerate((moment.used, moment.reserved)):
                words = mib(figure)
                base = y + 12 + number * svg.LINE
                high = "bold" if self.watermarks and figure == moment.high[number] else ""
                canvas.text(at, base, words, high, anchor, optional=True)
            x += width


def streams_of(pools):
    return sorted(
        {
            place[2]
            for pool in pools
            for moment in pool.moments
            for place in (*moment.live.values(), *moment.pending.values())
        },
        key=str,
    )


def key_of(canvas, pools, watermarks):
    streams = streams_of(pools)
    entries = [
        (
            f"used {svg.stream_class(stream, streams)}",
            "allocation, until it is freed"
            + (f"; {svg.stream_name(stream)}" if len(streams) > 1 else ""),
        )
        for stream in streams
    ]
    entries += [
        (f"pending {svg.stream_class(stream, streams)}", "freed, the free is pending")
        for stream in streams[:1]
        if "pending" in canvas.kinds
    ]
    words = {
        "segment": "reserved: a segment of 32 MiB",
        "gone": "returned to the device by this call",
        "refused": "refused",
    }
    entries += [(kind, words[kind]) for kind in words if kind in canvas.kinds]
    if watermarks:
        entries += [
            ("watermark-used line", "watermark of used"),
            ("watermark-reserved line", "watermark of reserved"),
        ]
    canvas.key(*entries)


def draw(pools, width, watermarks=False):
    canvas = svg.Canvas(width)
    streams, top = streams_of(pools), 0
    for pool in pools:
        top = Panel(canvas, pool, top, streams, watermarks).bottom
    canvas.paragraph(0, top + 6, "Columns are calls, not to scale in time. Figures in MiB.")
    key_of(canvas, pools, watermarks)
    return canvas


def table(pools, watermarks=False):
    """The same as rows: (heads, rows)."""
    heads = ["pool", "call", "used", *(["high"] if watermarks else [])]
    heads += ["reserved", *(["high"] if watermarks else [])]
    rows = []
    for pool in pools:
        same = attrgetter("words", "result", "reserved")
        for _, repeated in groupby(pool.moments, same):
            group = list(repeated)
            moment = group[-1]
            figures = [mib(moment.used), mib(moment.reserved)]
            if watermarks:
                figures = [figures[0], mib(moment.high[0]), figures[1], mib(moment.high[1])]
            rows.append([pool.name, " ".join(group_words(group)), *figures])
    return heads, rows
