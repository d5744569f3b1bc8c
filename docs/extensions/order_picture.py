"""Stream order: the host's calls and the device's work over virtual time, which runs down the page.

     µs   host                                 stream 1
    0.0   launch_hold  ------------------.
    3.4   cudaMallocAsync                 '->  hold
   56.8   cudaStreamQuery: NotReady             |
    ...

Not to scale: every call and every piece of work gets room for its name, so the times stand at the side. An allocation and a free take no
time on the device, and the journal has no line for when their turn came: it is when what was put into the stream before them had ended,
and what the stream was told to wait for before them.
"""

from collections import defaultdict
from html import escape

IN_STREAM = ("cudaMallocAsync", "cudaMallocFromPoolAsync", "cudaFreeAsync")
RUNS = {"launch_fill": "fill", "launch_add": "add", "launch_hold": "hold", "cudaMemcpyAsync": "copy", "cudaMemcpy": "copy",
        "cudaMemcpyPeerAsync": "copy", "cudaMemsetAsync": "memset", "cudaMemset": "memset", "cudaLaunchHostFunc": "host function"}
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
SHOWN = (*IN_STREAM, *RUNS, *WAITS, "cudaStreamQuery", "cudaEventQuery", "cudaEventRecord", "cudaStreamWaitEvent", "cudaMemPoolTrimTo")

CALL, MARK, GAP = 26, 22, 3                 # least heights of a call or piece of work, of a mark, of a step in time
GUTTER, LANE, BETWEEN = 60, 120, 34
CHARACTER = 7.3                             # of 12 px monospace


class Piece:
    """Something that stands in a stream's lane: a run, or the moment when an allocation's or a free's turn came."""

    def __init__(self, kind, words, start, finish, call):
        self.kind, self.words, self.start, self.finish, self.call = kind, words, start, finish, call


def read(journal, calls, rows):
    shown = [line for line in journal if line.get("call") in (calls or SHOWN)][:rows]
    if not shown:
        raise ValueError("none of the calls to be shown was made")
    pieces = pieces_of(journal)
    lanes = {stream: pieces[stream] for stream in sorted(pieces, key=str)}
    first, last = shown[0]["t"], shown[-1]["end"]
    for stream, pieces in lanes.items():
        lanes[stream] = [piece for piece in pieces if piece.call in shown and first <= piece.start[0] and piece.finish[0] <= last]
    name_blocks([piece for pieces in lanes.values() for piece in pieces if piece.kind == "mark"])
    return shown, {stream: pieces for stream, pieces in lanes.items() if pieces}


def name_blocks(marks):
    """The journal numbers all memory; a picture only the blocks in it, and one block needs no number."""
    blocks = sorted({mark.call["allocation"] for mark in marks})
    for mark in marks:
        number = f" {blocks.index(mark.call['allocation']) + 1}" if len(blocks) > 1 else ""
        mark.words = f"block{number} {'freed' if mark.call['call'] == 'cudaFreeAsync' else 'allocated'}"


def pieces_of(journal):
    """Pairs calls with runs, which a stream makes in the same order. A time is (nanoseconds, turn among what happens at that time)."""
    runs, pieces, recorded = defaultdict(list), defaultdict(list), {}
    now = defaultdict(lambda: (0, 0))       # of each stream: when what it was given so far has ended
    for line in journal:
        if line.get("did") == "run":
            runs[line["stream"]].append(line)
    for call in journal:
        name, stream = call.get("call"), call.get("stream")
        if call.get("result") != "cudaSuccess":
            continue
        if name == "cudaEventRecord":
            recorded[call["event"]] = now[stream]
        elif name == "cudaStreamWaitEvent":
            now[stream] = max(now[stream], recorded.get(call["event"], (0, 0)))
        elif name in RUNS:
            run = runs[stream].pop(0) if runs[stream] else None
            if run is None or run["op"] != RUNS[name]:
                raise ValueError(f"line {call['n']} of the journal, {name}: the work that it put into its stream is not there")
            start = max((run["start"], 0), now[stream])
            now[stream] = (run["finish"], 0) if run["finish"] > start[0] else (start[0], start[1] + 1)
            words = f"{run['op']}  {microseconds(run['finish'] - run['start'])} µs"
            pieces[stream].append(Piece("hold" if run["op"] == "hold" else "work", words, start, now[stream], call))
        elif name in IN_STREAM:
            start = max((call["end"], 0), now[stream])
            now[stream] = (start[0], start[1] + 1)
            pieces[stream].append(Piece("mark", "", start, now[stream], call))
    return pieces


def microseconds(nanoseconds):
    return f"{nanoseconds / 1000:.1f}"


def heights(intervals):
    """For each time its place on the page: in order, each interval at least as high as it needs."""
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
    if line["call"] in ("cudaStreamQuery", "cudaEventQuery") or line["result"] != "cudaSuccess":
        return f"{line['call']}: {line['result']}"
    return line["call"]


def describe(shown, lanes):
    calls = ", ".join(words_of(line) for line in shown)
    work = " ".join(f"Stream {stream}: " + ", ".join(piece.words for piece in pieces) + "." for stream, pieces in lanes.items())
    return f"The host called, in order: {calls}. {work}"


def draw(journal, identity, title, calls=(), rows=None):
    """`calls`: the calls of the host that are shown; `rows`: how many of them."""
    shown, lanes = read(journal, calls, rows)
    zero = shown[0]["t"]
    intervals = [((line["t"], 0), (line["end"], 0), CALL) for line in shown]
    intervals += [(piece.start, piece.finish, MARK if piece.kind == "mark" else CALL) for pieces in lanes.values() for piece in pieces]
    y = {moment: 34 + place for moment, place in heights(intervals).items()}
    host = max(150, round(max(len(words_of(line)) for line in shown) * CHARACTER) + 18)
    lane = max([LANE] + [round(len(piece.words) * CHARACTER) + 12 for pieces in lanes.values() for piece in pieces if piece.kind != "mark"])
    last = max([lane] + [round(len(piece.words) * CHARACTER) + 18 for piece in list(lanes.values())[-1] if piece.kind == "mark"]) if lanes else 0
    width = GUTTER + host + len(lanes) * (lane + BETWEEN) - lane + last + 4
    height = max(y.values()) + 18
    out, arrows = [], []

    def text(kind, x, base, words):
        out.append(f'<text class="{kind}" x="{x}" y="{base}">{escape(words)}</text>')

    text("time", GUTTER - 8, 18, "µs")
    text("heading", GUTTER, 18, "host")
    for number, stream in enumerate(lanes):
        x = GUTTER + host + BETWEEN + number * (lane + BETWEEN)
        text("heading", x, 18, f"stream {stream}")
        out.append(f'<line class="lane" x1="{x}" y1="26" x2="{x}" y2="{height - 4}"/>')
    for line in shown:
        top, bottom = y[line["t"], 0], y[line["end"], 0]
        kind = "call waits" if line["call"] in WAITS else "call"
        out.append(f'<rect class="{kind}" x="{GUTTER}" y="{top}" width="{host}" height="{bottom - top - 2}" rx="3"/>')
        text("name", GUTTER + 8, top + 16, words_of(line))
    for number, (stream, pieces) in enumerate(lanes.items()):
        x = GUTTER + host + BETWEEN + number * (lane + BETWEEN)
        for piece in pieces:
            top, bottom = y[piece.start], y[piece.finish]
            if piece.kind == "mark":
                out.append(f'<line class="mark" x1="{x}" y1="{top + 10}" x2="{x + 12}" y2="{top + 10}"/>')
                text("name", x + 18, top + 14, piece.words)
            else:
                out.append(f'<rect class="{piece.kind}" x="{x}" y="{top}" width="{lane}" height="{bottom - top - 2}" rx="3"/>')
                text("name", x + 8, top + 16, piece.words)
            from_y = y[piece.call["t"], 0] + 12
            arrows.append(f'<path class="arrow" d="M{GUTTER + host},{from_y} L{x - 5},{top + (10 if piece.kind == "mark" else 12)}"/>')
            arrows.append(f'<path class="tip" d="M{x},{top + (10 if piece.kind == "mark" else 12)} l-8,-4 v8 z"/>')
    below = 0
    for moment in sorted(y):
        if y[moment] >= below and moment[1] == 0:
            text("time", GUTTER - 8, y[moment] + 12, microseconds(moment[0] - zero))
            below = y[moment] + 15
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="order-picture" role="img" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'aria-labelledby="{identity}-title {identity}-text"><title id="{identity}-title">{escape(title)}: stream order</title>'
            f'<desc id="{identity}-text">{escape(describe(shown, lanes))}</desc>{"".join(arrows)}{"".join(out)}</svg>')
