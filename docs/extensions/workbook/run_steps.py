"""The steps of a program's run, from its journal.

A step is a call that stands in the program itself, or several equal queries or launches in a row;
what a helper of lessons/*.h calls is part of the next step. Calls after the last step of the run
have none.

A pool, and what is kept for graphs, is as memory_picture.py reads it. Shown is the one that a call
was about last, or that it changed. A stream has what was queued by then and is not over when the
call returns.

docs/_static/run_steps.js does the same in the browser, for runs that are made there: whoever
changes a rule changes it in both. tests/workbook/same_steps.py compares them.
"""

import re
from bisect import bisect_right
from itertools import groupby

from programbook import chosen, svg

from . import memory_picture, order_picture
from .memory_picture import with_unit
from .rungs import RUNGS

# Why an allocation has the memory that it has: the journal's rung of the ladder.
BECAUSE = {rung.name: rung.because for rung in RUNGS}
POINTS = {
    "cudaFreeAsync": "free",
    "cudaEventRecord": "record",
    "cudaStreamWaitEvent": "wait",
    **dict.fromkeys(memory_picture.ALLOCATIONS, "allocate"),
}
# After these the reader may be asked what is reserved.
ASKS = (
    *memory_picture.ALLOCATIONS,
    *memory_picture.FREES,
    *memory_picture.WAITS,
    *memory_picture.GRAPHS,
    "cudaMemPoolTrimTo",
)
MOST_STEPS = 400


class Every:
    """Has each call."""

    def __contains__(self, call):
        return True

    def __bool__(self):
        return True


def merged(calls):
    """Equal queries in a row are one step, and so is work that repeats on one line."""
    keys = ("call", "line", "result", "stream", "thread")
    found = []
    for _, each in groupby(calls, key=lambda line: [line.get(key) for key in keys]):
        group = list(each)
        name = group[0]["call"]
        repeats = name in order_picture.RUNS and len(group) >= order_picture.REPEATS
        found += [group] if name in order_picture.QUERIES or repeats else [[one] for one in group]
    return found


def moments_of(journal):
    """[pool], each with moments, one for each call that is about the pool or waits."""
    try:
        return memory_picture.read(journal, Every())
    except ValueError:  # no call takes memory from a pool
        return []


def sentence(group, piece, before, after, pending):
    """What happened, from the journal's facts: the call's own piece of work; what the pool used and
    reserved before and after; whether a free is pending there."""
    line, name = group[-1], group[-1]["call"]
    times = f"{len(group)} times: " if len(group) > 1 else ""
    if line["result"] != "cudaSuccess":
        return f"{times}It returns {line['result']}."
    if line.get("captured") and name in order_picture.EVENTS:
        return "It is captured, as an order between nodes. Nothing happens before a launch."
    if "node" in line:
        return "It becomes a node of the graph. Nothing happens before a launch."
    stream = svg.stream_name(order_picture.stream_of(line)) if "stream" in line else ""
    returned = before[1] - after[1]
    gone = f"{with_unit(returned)} return to the device." if returned > 0 else ""
    if name in memory_picture.ALLOCATIONS and "offset" in line:
        return f"It allocates {with_unit(line['bytes'])}. {BECAUSE[line['from']]}"
    if name == "cudaFreeAsync" and "used" not in line:
        return "The free is queued. The memory stays the other process's."
    if name == "cudaFreeAsync":
        words = "The memory goes back to the pool, not to the device."
        return f"{words} The free is pending." if pending else words
    if name in (*memory_picture.WAITS, "cudaFree"):
        took = f"It takes {(line['end'] - line['t']) / 1000:.1f} µs."
        kept = f"The pool keeps {with_unit(after[1])}." if after[1] else ""
        return " ".join(word for word in (took, gone, kept) if word)
    if name == "cudaMemPoolTrimTo":
        return f"{gone or 'Nothing returns to the device.'} The pool keeps {with_unit(after[1])}."
    if name == memory_picture.ATTRIBUTE_SET:
        value = line["value"]
        words = memory_picture.threshold_words(value) if value >= 1024 else str(value)
        return f"{line['attribute'].removeprefix('cudaMemPoolAttr')} is now {words}."
    if name in (*order_picture.RUNS, order_picture.KERNEL, order_picture.LAUNCH):
        what = "graph" if name == order_picture.LAUNCH else "work"
        took = f"{(line['end'] - line['t']) / 1000:.1f} µs"
        if piece and piece.finish[0] <= line["end"]:
            return f"{times}The call returns when the {what} is over, after {took}."
        return f"{times}The {what} is queued. The call takes {took}."
    if name == "cudaEventRecord":
        return f"It is recorded when {stream} has come to this place."
    if name == "cudaStreamWaitEvent" and line["unrecorded"]:
        return "The event has no record yet, so nothing comes after it."
    if name == "cudaStreamWaitEvent":
        return f"What is queued in {stream} from here on comes after the event's record."
    return f"{times}It returns cudaSuccess."


def counted(pieces):
    """Equal ones in a row are one: "fill × 3"."""
    groups = [(one, len(list(group))) for one, group in groupby(pieces)]
    return [
        [f"{words} × {count}" if count > 1 else words, state] for (words, state), count in groups
    ]


def queues_at(pieces, line, streams):
    """Of each stream: [words, state] of what is queued and not over when the call returns."""
    now, found = line["end"], {stream: [] for stream in streams}
    for piece in pieces:
        if piece.call["number"] > line["number"] or piece.finish[0] <= now:
            continue
        words = POINTS.get(piece.call["call"], piece.words)
        state = "queued" if piece.start[0] > now else "held" if piece.kind == "hold" else "runs"
        found[piece.column].append((words, state))
    return [[svg.stream_name(stream), counted(found[stream])] for stream in streams]


def with_more(journal):
    """The journal, in which a call has as a key whether it was captured, and whether its event has
    no record. A stream of a thread has the thread's name."""
    streams, events = set(), set()
    for line in journal:
        if "stream" in line:
            line = {**line, "stream": order_picture.stream_of(line)}
        if line.get("call") == "cudaStreamBeginCapture" or "graph" in line and "node" in line:
            streams.add(line.get("stream"))
        elif line.get("call") == "cudaStreamWaitEvent" and "graph" in line:
            streams.add(line["stream"])
        elif line.get("call") == "cudaStreamEndCapture":
            streams = set()
        if line.get("call") in ("cudaEventRecord", "cudaIpcOpenEventHandle"):
            events.add(line.get("event"))
        captured, unrecorded = line.get("stream") in streams, line.get("event") not in events
        yield {**line, "captured": captured, "unrecorded": unrecorded}


class Shown:
    """The pool that a step shows: that which a call was about last, or which it changed."""

    def __init__(self, journal):
        # One that is imported never has memory of its own here.
        self.pools = {
            pool.number: pool
            for pool in moments_of(journal)
            if any(moment.reserved or moment.live for moment in pool.moments)
        }
        self.at = {name: [one.call for one in pool.moments] for name, pool in self.pools.items()}
        self.about = []  # [(number of a line, its pool)]
        self.thresholds = []  # [(number of a line, its pool, the value)]
        # What is kept for graphs: the pictures count bytes there, and the device whole segments.
        self.graphs = []  # [(number of a line, used, reserved)]
        for line in filter(lambda line: line.get("result") == "cudaSuccess", journal):
            graphs = line["call"] in memory_picture.GRAPHS
            name = memory_picture.KEPT_FOR_GRAPHS if graphs else line.get("pool")
            if name in self.pools:
                self.about.append((line["n"], name))
            if graphs and "used" in line:
                self.graphs.append((line["n"], line["used"], line["reserved"]))
            if line.get("attribute") == memory_picture.THRESHOLD and "value" in line:
                self.thresholds.append((line["n"], line.get("pool"), line["value"]))
        self.figures = {}

    def take(self, line):
        """(pool, its moment, (used, reserved), threshold) after the call, or None if there is no
        pool with memory yet."""
        known = {}
        for name, pool in self.pools.items():
            count = bisect_right(self.at[name], line["n"])
            if count:
                known[name] = pool.moments[count - 1]
        about = [name for n, name in self.about if n <= line["n"] and name in known]
        if not about:
            return None
        figures = {name: (one.used, one.reserved) for name, one in known.items()}
        for n, *of_graphs in self.graphs:
            if n <= line["n"]:
                figures[memory_picture.KEPT_FOR_GRAPHS] = tuple(of_graphs)
        changed = [one for one in figures if self.figures.get(one, (0, 0)) != figures[one]]
        chosen_one = about[-1]
        if self.figures and changed and chosen_one not in changed:
            chosen_one = changed[-1]
        self.figures = figures
        threshold = 0
        for n, name, value in self.thresholds:
            if n <= line["n"] and name == chosen_one:
                threshold = value
        return chosen_one, known[chosen_one], figures[chosen_one], threshold


def colored(places, streams):
    """[offset, bytes, its stream's color, its number]"""
    return [
        [*place[:2], svg.stream_class(place[2], streams), key[0] if isinstance(key, tuple) else key]
        for key, place in places.items()
    ]


ACCESS = re.compile(r"^  (\w+) +.*?\bat ([\w/.]+):(\d+)", re.M)


def report_of(journal, errors):
    """(hazard, its sentence, its places) of the first one that was reported."""
    hazard = next((line for line in journal if line.get("did") == "hazard"), None)
    text = re.search(r"^hazard: (.*\n(?:  .*\n)*)", errors, re.M)
    if not hazard or not text:
        raise ValueError("nothing was reported")
    places = [found for found in ACCESS.findall(text[1]) if found[0].islower()]
    # Three: where it was allocated, and then the two accesses.
    return hazard, text[1].splitlines()[0], [found[1:] for found in places[-2:]]


def before_report(line, hazard):
    if "later" in hazard:
        return line["number"] <= hazard["later"]
    return line["n"] < hazard["n"]


def read(journal, numbers=None, errors=None):
    """The run as run_view.js takes it; with `errors`, up to what the checker reported there."""
    journal = list(with_more(journal))
    own = [line for line in chosen.calls_of(journal) if chosen.function_of(line)]
    own = [line for line in own if numbers is None or line["number"] in numbers]
    report = report_of(journal, errors) if errors is not None else None
    if report:
        own = [line for line in own if before_report(line, report[0])]
    groups = merged(own)
    if not groups or len(groups) > MOST_STEPS:
        raise ValueError(f"it would have {len(groups)} steps, and not 1 to {MOST_STEPS}")
    shown = Shown(journal)
    work = order_picture.pieces_of(journal)
    pieces = [work[number] for number in sorted(work) if number <= own[-1]["number"]]
    streams = list(dict.fromkeys(piece.column for piece in pieces))
    moments = [moment for pool in shown.pools.values() for moment in pool.moments]
    places = [place for moment in moments for place in moment.live.values()]
    colors = list(dict.fromkeys([*streams, *(place[2] for place in places)]))
    steps, tops, before = [], {}, {}
    for group in groups:
        line = group[-1]
        taken = shown.take(line)
        pool, state = None, None
        if taken:
            pool, moment, (used, reserved), threshold = taken
            tops[pool] = max(tops.get(pool, 1), *(one + 1 for one in moment.mapped), 1)
            state = {
                "pool": pool,
                "used": used,
                "reserved": reserved,
                "threshold": threshold,
                "limit": shown.pools[pool].limit,
                "segments": sorted(moment.mapped),
                "live": colored(moment.live, colors),
                "pending": colored(moment.pending, colors),
            }
        after = (state["used"], state["reserved"]) if state else (0, 0)
        own_stream = svg.stream_name(line["stream"]) if "stream" in line else ""
        pending = bool(state and state["pending"])
        piece = work.get(line["number"])
        steps.append(
            {
                "line": line["line"],
                "number": line["number"],
                "first": group[0]["number"],
                "call": line["call"] + (f", {own_stream}" if own_stream else ""),
                **({"asks": 1} if line["call"] in ASKS else {}),
                "say": sentence(group, piece, before.get(pool, (0, 0)), after, pending),
                "state": state,
                "streams": queues_at(pieces, line, streams),
            }
        )
        before[pool] = after
    for step in filter(lambda step: step["state"], steps):
        state = step["state"]
        for edge in ("threshold", "limit"):
            if state[edge] > (tops[state["pool"]] + 3) * memory_picture.SEGMENT:
                state[edge] = 0  # far above what is reserved: it has no line
    file = own[0]["file"]
    marks = []
    if report:
        marks = [int(line) for where, line in report[2] if where == file]
        steps.append(
            {
                **steps[-1],
                "line": marks[-1],
                "call": f"The report, line {' and line '.join(map(str, marks))}",
                "say": report[1],
                "marks": marks,
            }
        )
    functions = {chosen.function_of(one) for one in own}
    spans = [
        (first, last)
        for name, (first, last) in chosen.functions_of(file).items()
        if name in functions or any(first <= mark <= last for mark in marks)
    ]
    code = [
        [number, chosen.text_of(file)[number - 1]]
        for first, last in sorted(spans)
        for number in range(first, last + 1)
    ]
    return {
        "file": file,
        "code": code,
        "steps": steps,
        "tops": tops,
    }
