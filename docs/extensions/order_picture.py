"""Stream order: the host's calls and the device's work over virtual time, which runs down the page.

     µs   host                                 stream 1
    0.0   launch_hold  ------------------.
    3.4   cudaMallocAsync                 '->  hold
   56.8   cudaStreamQuery: NotReady             |
    ...

Not to scale: every call and every piece of work gets room for its name, so the times stand at the
side. An allocation and a free take no time on the device, and the journal has no line for when
their turn came: it is when what was put into the stream before them had ended, and what the stream
had to wait for before them. An edge that the allocator inserted, an internal dependency, is dashed.
"""

from collections import defaultdict
from html import escape

MIB = 1 << 20
ALLOCATIONS = ("cudaMallocAsync", "cudaMallocFromPoolAsync")
IN_STREAM = (*ALLOCATIONS, "cudaFreeAsync")
RUNS = {
    "launch_fill": "fill",
    "launch_add": "add",
    "launch_hold": "hold",
    "cudaMemcpyAsync": "copy",
    "cudaMemcpy": "copy",
    "cudaMemcpyPeerAsync": "copy",
    "cudaMemsetAsync": "memset",
    "cudaMemset": "memset",
    "cudaLaunchHostFunc": "host function",
}
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
# In these the host waits for work that is on its way.
MAY_WAIT = ("cudaFree", "cudaFreeHost", "cudaMemcpy")
EVENTS = {"cudaEventRecord": "record", "cudaStreamWaitEvent": "wait"}
SHOWN = (
    *IN_STREAM,
    *RUNS,
    *WAITS,
    "cudaMalloc",
    "cudaFree",
    "cudaStreamQuery",
    "cudaEventQuery",
    "cudaEventRecord",
    "cudaStreamWaitEvent",
    "cudaMemPoolTrimTo",
)

# The least heights of a call or piece of work, of a point, and between two times.
CALL, POINT, GAP = 26, 22, 3
# The width for the times, the least of a stream's column, and between two columns.
GUTTER, COLUMN, BETWEEN = 60, 120, 34
# The width of a character of 12 px monospace.
CHARACTER = 7.3


class Piece:
    """What is in a stream's column: a run, or the point of an allocation, free, record or wait."""

    def __init__(self, kind, words, start, finish, call):
        self.kind, self.words, self.start, self.finish, self.call = kind, words, start, finish, call
        self.source = None  # of a wait: the record; of an internal dependency: the free
        self.reused = None  # of an allocation: the one that had its address before


def read(journal, calls, rows, skip):
    shown = [line for line in journal if line.get("call") in (calls or SHOWN)]
    shown = queries_merged(shown)[skip:rows]
    if not shown:
        raise ValueError("none of the calls to be shown was made")
    pieces = pieces_of(journal)
    columns = {stream: pieces[stream] for stream in sorted(pieces, key=str)}
    first, last = shown[0]["t"], shown[-1]["end"]
    for stream, pieces in columns.items():
        columns[stream] = [
            piece
            for piece in pieces
            if piece.call in shown and first <= piece.start[0] and piece.finish[0] <= last
        ]
    name_allocations(
        [piece for pieces in columns.values() for piece in pieces if piece.kind == "point"]
    )
    return shown, {stream: pieces for stream, pieces in columns.items() if pieces}


def queries_merged(shown):
    """A loop of queries is one row, with the number of those that were not ready."""
    merged = []
    for line in shown:
        same = merged and all(
            line.get(key) == merged[-1].get(key) for key in ("call", "stream", "event", "result")
        )
        if same and line["call"] in ("cudaStreamQuery", "cudaEventQuery"):
            merged[-1] = {
                **merged[-1],
                "end": line["end"],
                "times": merged[-1].get("times", 1) + 1,
            }
        else:
            merged.append(line)
    return merged


def name_allocations(points):
    """Numbers the allocations and the events of the picture alone, not all; one needs none."""
    for kind in ("allocation", "event"):
        numbers = sorted({point.call[kind] for point in points if kind in point.call})
        for point in points:
            if kind not in point.call:
                continue
            verb = EVENTS.get(point.call["call"], "allocated")
            if point.call["call"] == "cudaFreeAsync":
                verb = "freed"
            number = numbers.index(point.call[kind]) + 1
            point.words = f"{verb} {number}" if len(numbers) > 1 else verb
            if point.reused in numbers:
                point.words += f", where {numbers.index(point.reused) + 1} was"
            elif number > 1 and point.call.get("from") == "new":
                point.words += ", new memory"


def pieces_of(journal):
    """Pairs calls with runs, which a stream makes in the same order.

    A time is (nanoseconds, turn among what happens at that time).
    """
    runs, pieces, recorded = defaultdict(list), defaultdict(list), {}
    at, freed = {}, {}  # of an allocation: its pool and offset; of these: the free
    now = defaultdict(lambda: (0, 0))  # of each stream: when what it was given so far has ended
    for line in journal:
        if line.get("did") == "run":
            runs[line["stream"]].append(line)
    for call in journal:
        name, stream = call.get("call"), call.get("stream")
        if call.get("result") != "cudaSuccess":
            continue
        if name in EVENTS:
            start = max((call["end"], 0), now[stream])
            source = recorded.get(call["event"]) if name == "cudaStreamWaitEvent" else None
            if source:
                start = max(start, source.finish)
            now[stream] = (start[0], start[1] + 1)
            point = Piece("point", "", start, now[stream], call)
            point.source = source
            pieces[stream].append(point)
            if name == "cudaEventRecord":
                recorded[call["event"]] = point
        elif name in RUNS:
            run = runs[stream].pop(0) if runs[stream] else None
            if run is None or run["op"] != RUNS[name]:
                raise ValueError(
                    f"line {call['n']} of the journal, {name}: its work is not in its stream"
                )
            start = max((run["start"], 0), now[stream])
            now[stream] = (
                (run["finish"], 0) if run["finish"] > start[0] else (start[0], start[1] + 1)
            )
            words = f"{run['op']}  {microseconds(run['finish'] - run['start'])} µs"
            pieces[stream].append(
                Piece("hold" if run["op"] == "hold" else "work", words, start, now[stream], call)
            )
        elif name in IN_STREAM:
            start, free = max((call["end"], 0), now[stream]), None
            if "offset" in call:
                at[call["allocation"]] = call["pool"], call["offset"]
                free = freed.get(at[call["allocation"]])
            if free and call["from"] == "internal":
                start = max(start, free.finish)
            now[stream] = (start[0], start[1] + 1)
            point = Piece("point", "", start, now[stream], call)
            if name == "cudaFreeAsync":
                freed[at.get(call.get("allocation"))] = point
            elif free:
                point.reused = free.call["allocation"]
                point.source = free if call["from"] == "internal" else None
            pieces[stream].append(point)
    return pieces


def microseconds(nanoseconds):
    return f"{nanoseconds / 1000:.1f}"


def heights(intervals):
    """For each time its height on the page: in order, each interval as high as it needs."""
    ends, y = defaultdict(list), {}
    for start, finish, least in intervals:
        ends[finish].append((start, least))
        ends.setdefault(start, [])
    below = 0
    for moment in sorted(ends):
        y[moment] = max([below] + [y[start] + least for start, least in ends[moment]])
        below = y[moment] + GAP
    return y


def words_of(line):
    words = line["call"]
    if words in ("cudaStreamQuery", "cudaEventQuery") or line["result"] != "cudaSuccess":
        words += f": {line['result']}"
    return f"{words} × {line['times']}" if "times" in line else words


def describe(shown, columns):
    calls = ", ".join(words_of(line) for line in shown)
    work = " ".join(
        f"Stream {stream}: " + ", ".join(piece.words for piece in pieces) + "."
        for stream, pieces in columns.items()
    )
    reserved = "".join(
        f" Pool {line['pool']} then had reserved {line['reserved'] // MIB}."
        for line in shown
        if line["call"] in ALLOCATIONS and "reserved" in line
    )
    return f"The host called, in order: {calls}. {work}{reserved}"


def host_waited(line, columns):
    """Did work that was on its way at the call's begin end within it?"""
    return line["call"] in WAITS or (
        line["call"] in MAY_WAIT
        and any(
            piece.start[0] <= line["t"] < piece.finish[0] <= line["end"]
            for pieces in columns.values()
            for piece in pieces
        )
    )


def draw(journal, identity, title, calls=(), rows=None, skip=0):
    """`calls`: the calls of the host that are shown, from `skip` to `rows` of them."""
    shown, columns = read(journal, calls, rows, skip)
    zero = shown[0]["t"]
    intervals = [((line["t"], 0), (line["end"], 0), CALL) for line in shown]
    intervals += [
        (piece.start, piece.finish, POINT if piece.kind == "point" else CALL)
        for pieces in columns.values()
        for piece in pieces
    ]
    y = {moment: 34 + height for moment, height in heights(intervals).items()}
    host = max(150, round(max(len(words_of(line)) for line in shown) * CHARACTER) + 18)
    column = max(
        [COLUMN]
        + [
            round(len(piece.words) * CHARACTER) + (26 - BETWEEN if piece.kind == "point" else 12)
            for pieces in columns.values()
            for piece in pieces
        ]
    )
    rightmost = list(columns.values())[-1] if columns else []
    points = [piece for piece in rightmost if piece.kind == "point"]
    last = max(
        column if columns else 0, *(round(len(point.words) * CHARACTER) + 18 for point in points), 0
    )
    width = GUTTER + host + len(columns) * (column + BETWEEN) - column + last + 4
    height = max(y.values()) + 18
    out, arrows, places = [], [], {}

    def text(kind, x, base, words):
        out.append(f'<text class="{kind}" x="{x}" y="{base}">{escape(words)}</text>')

    text("time", GUTTER - 8, 18, "µs")
    text("heading", GUTTER, 18, "host")
    for number, stream in enumerate(columns):
        x = GUTTER + host + BETWEEN + number * (column + BETWEEN)
        text("heading", x, 18, f"stream {stream}")
        out.append(f'<line class="stream" x1="{x}" y1="26" x2="{x}" y2="{height - 4}"/>')
    for line in shown:
        top, bottom = y[line["t"], 0], y[line["end"], 0]
        kind = "call waits" if host_waited(line, columns) else "call"
        out.append(
            f'<rect class="{kind}" x="{GUTTER}" y="{top}" '
            f'width="{host}" height="{bottom - top - 2}" rx="3"/>'
        )
        text("name", GUTTER + 8, top + 16, words_of(line))
    for number, pieces in enumerate(columns.values()):
        x = GUTTER + host + BETWEEN + number * (column + BETWEEN)
        for piece in pieces:
            top, bottom = y[piece.start], y[piece.finish]
            if piece.kind == "point":
                out.append(
                    f'<line class="point" x1="{x}" y1="{top + 10}" x2="{x + 12}" y2="{top + 10}"/>'
                )
                text("name", x + 18, top + 14, piece.words)
            else:
                out.append(
                    f'<rect class="{piece.kind}" x="{x}" y="{top}" '
                    f'width="{column}" height="{bottom - top - 2}" rx="3"/>'
                )
                text("name", x + 8, top + 16, piece.words)
            places[id(piece)] = x, top + 10
            from_y = y[piece.call["t"], 0] + 12
            to_y = top + (10 if piece.kind == "point" else 12)
            arrows.append(
                f'<path class="arrow" d="M{GUTTER + host},{from_y} L{x - 5},{to_y}"/>'
                f'<path class="tip" d="M{x},{to_y} l-8,-4 v8 z"/>'
            )
    for piece in (piece for pieces in columns.values() for piece in pieces):
        if piece.source is None or id(piece.source) not in places:
            continue
        (from_x, from_y), (to_x, to_y) = places[id(piece.source)], places[id(piece)]
        if from_x != to_x:
            side = 1 if to_x > from_x else -1
            kind = "edge dashed" if piece.words.startswith("allocated") else "edge"
            arrows.append(
                f'<path class="{kind}" d="M{from_x},{from_y} L{to_x - 6 * side},{to_y}"/>'
                f'<path class="edge-tip" d="M{to_x},{to_y} l{-9 * side},-4 v8 z"/>'
            )
    below = 0
    for moment in sorted(y):
        if y[moment] >= below and moment[1] == 0:
            text("time", GUTTER - 8, y[moment] + 12, microseconds(moment[0] - zero))
            below = y[moment] + 15
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="order-picture" role="img" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'aria-labelledby="{identity}-title {identity}-text">'
        f'<title id="{identity}-title">{escape(title)}: stream order</title>'
        f'<desc id="{identity}-text">{escape(describe(shown, columns))}</desc>'
        f"{''.join(arrows)}{''.join(out)}</svg>"
    )
