#!/usr/bin/env python3
"""Compares pictures with the journals that they are drawn from, for tests/book/pictures.bats.

picture_facts.py JOURNAL...

The journal is read here once more, by rules that are as plain as possible, and the SVG is taken
apart. A line on stdout for each difference.
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "extensions"))
from book import memory_picture, order_picture, scaled_picture

SEGMENT = 32 << 20
ALLOCATIONS = ("cudaMallocAsync", "cudaMallocFromPoolAsync")


def rectangles(svg, kind):
    """(x, y, width, height) of each rectangle whose first class is that."""
    pattern = (
        rf'<rect class="{kind}(?: [^"]*)?" x="([-\d.]+)" y="([-\d.]+)" '
        r'width="([-\d.]+)" height="([-\d.]+)"'
    )
    return [tuple(map(float, found)) for found in re.findall(pattern, svg)]


def stream_of(line):
    """A stream of its own for each thread where the journal names the thread's."""
    own = line["stream"] == "per-thread"
    return (line["stream"], line.get("thread") if own else None)


def memory(journal):
    """A picture for each pool: its allocations where and as high as the journal says."""
    for pool in memory_picture.read(journal):
        if pool.number == memory_picture.KEPT_FOR_GRAPHS:
            continue
        own = [line for line in journal if line.get("pool") == pool.number and "node" not in line]
        made = [
            line
            for line in own
            if line.get("call") in ALLOCATIONS and line["result"] == "cudaSuccess"
        ]
        last = [line["reserved"] for line in own if "reserved" in line]
        moment = pool.moments[-1]
        if moment.words[0] != "destroy" and last and moment.reserved not in last[-2:]:
            yield f"pool {pool.number}: the picture ends with {moment.reserved} reserved"
        # After cudaFree the journal has a figure that is higher than what is live.
        plain = not any(line.get("call") == "cudaFree" for line in own)
        for moment in pool.moments if plain else ():
            live = sum(count for _, count, _ in moment.live.values())
            if moment.used != live:
                yield f"pool {pool.number}: {moment.used} used, with {live} bytes live"
                break
        pool.name = "a pool"
        svg = memory_picture.draw([pool], 100000).svg("x", "x", "x")
        # The key has rectangles of its own: one of each kind, 14 high.
        drawn = [one for one in rectangles(svg, "used") if (one[2], one[3]) != (22, 14)]
        if len(drawn) != len(made):
            yield f"pool {pool.number}: {len(made)} allocations, {len(drawn)} rectangles"
            continue
        grounds = [one for one in rectangles(svg, "segment") if (one[2], one[3]) != (22, 14)]
        if not grounds:
            continue
        unit, floor = grounds[0][3], max(y + high for _, y, _, high in grounds)
        expected = [
            (line["offset"] / SEGMENT * unit, line["bytes"] / SEGMENT * unit) for line in made
        ]
        # 0 is at the bottom; a box is half a unit smaller on each side.
        found = [(floor - (y + high + 0.5), high + 1) for _, y, _, high in drawn]
        for offset, high in expected:
            near = [
                one
                for one in found
                if abs(one[0] - offset) <= 1.1 and abs(max(4, one[1]) - max(4, high)) <= 1.1
            ]
            if not near:
                yield f"pool {pool.number}: no allocation {high:.0f} high is drawn at {offset:.0f}"
                break
            found.remove(near[0])


def order(journal):
    """Calls, work and event arrows of the whole run, counted."""
    calls = [
        line for line in journal if "did" not in line and line.get("call") in order_picture.SHOWN
    ]
    if not calls or len(calls) > 400:
        return
    drawn = order_picture.read(journal)
    shown = sum(len(item.call["merged"]) for item in drawn.items if "merged" in item.call)
    if shown != len(calls):
        yield f"{len(calls)} calls, {shown} in the picture"
    works = sum(1 for line in journal if line.get("did") == "run")
    pieces = [one for one in order_picture.pieces_of(journal).values() if one.kind != "point"]
    launched = any(line.get("call") == "cudaGraphLaunch" for line in journal)
    if len(pieces) != works and not launched:
        yield f"{works} pieces of work ran, {len(pieces)} are drawn"
    for piece in pieces:
        if not launched and not any(
            line.get("did") == "run"
            and line["finish"] == piece.finish[0]
            and line["stream"] == piece.call["stream"]
            for line in journal
        ):
            yield f"line {piece.call['n']}: no work of its stream ends at {piece.finish[0]}"
    recorded, crossing = {}, 0
    for line in calls:
        if line["call"] == "cudaEventRecord":
            recorded[line["event"]] = stream_of(line)
        elif line["call"] == "cudaStreamWaitEvent":
            crossing += recorded.get(line["event"], stream_of(line)) != stream_of(line)
    arrows = sum(kind == "event" for item in drawn.items for kind, _ in item.edges)
    if arrows != crossing:
        yield f"{crossing} waits for an event of another stream, {arrows} arrows"
    inserted = sum(line.get("from") == "internal" for line in calls)
    dashed = sum(kind == "inserted" for item in drawn.items for kind, _ in item.edges)
    if inserted != dashed:
        yield f"the driver inserted {inserted} waits, {dashed} are drawn"
    starts = [item.start for item in drawn.items]
    if starts != sorted(starts):
        yield "the rows are not in the order of time"


def scaled(journal):
    """Boxes of work as far right and as long as the journal says, with the time that they take."""
    calls = (*order_picture.RUNS, *order_picture.WAITS, "cudaFree", "cudaMalloc")
    shown = [line for line in journal if line.get("call") in calls and "did" not in line]
    if not shown or len(shown) > 60:
        return
    order = order_picture.read(journal, calls)
    width = 100000
    svg = scaled_picture.draw(order, width).svg("x", "x", "x")
    left, right = map(
        float,
        re.search(r'<line class="axis" x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"', svg).groups(),
    )
    begin = shown[0]["t"]
    end = max(
        [line["end"] for line in shown]
        + [item.finish[0] for item in order.items if item.kind != "point"]
    )
    unit = (right - 4 - left) / (end - begin)
    boxes = [
        one
        for kind in ("work", "copy-up", "copy-down", "hold")
        for one in rectangles(svg, kind)
        if (one[2], one[3]) != (22, 14)
    ]
    works = [item for item in order.items if item.kind in ("work", "hold")]
    if len(boxes) != len(works):
        yield f"{len(works)} pieces of work, {len(boxes)} boxes to scale"
        return
    for item in works:
        x, wide = left + (item.start[0] - begin) * unit, (item.finish[0] - item.start[0]) * unit
        if not any(
            abs(one[0] - x) < 0.2 and abs(one[2] - max(2, wide - 0.5)) < 0.2 for one in boxes
        ):
            yield f"no box {wide:.1f} wide is at {x:.1f} for {item.words}"
    ticks = re.findall(r">([\d.]+) (µs|ms)</text>", svg)
    long = end - begin >= 10_000_000
    if not ticks or {unit for value, unit in ticks if value == "0"} != {"ms" if long else "µs"}:
        yield f"the axis of {(end - begin) / 1000:.0f} µs has the ticks {ticks}"


def main(files):
    for file in files:
        journal = [json.loads(line) for line in Path(file).read_text().splitlines()]
        if any(line.get("reserved") and "pool" in line for line in journal):
            for words in memory(journal):
                print(f"{Path(file).name}: {words}")
        for words in (*order(journal), *scaled(journal)):
            print(f"{Path(file).name}: {words}")


main(sys.argv[1:])
