"""Cases: a row for each pool in which an allocation is freed and another one is made.

                      0    32   64   96  128 MiB
    FRW, policy on    [ 2nd   ]                    same address: the pool keeps 64 MiB
    RFW, policy on    [ 1st   : 2nd     ]          another address: the pool grows to 128 MiB

Addresses run from left to right. The first allocation is dashed, because it is freed; the second
is solid. The verdict is the journal's: the rung of the second allocation, and the pool's figures.
"""

from dataclasses import dataclass

from . import memory_picture, svg
from .memory_picture import ALLOCATIONS, SEGMENT, mib


@dataclass
class Case:
    name: str
    first: dict  # the journal's lines of the two allocations
    second: dict
    before: int  # what the pool had reserved before the second one
    limit: int

    @property
    def refused(self):
        return self.second["result"] != "cudaSuccess"

    @property
    def good(self):
        return not self.refused and self.second["from"] not in ("new", "internal")

    @property
    def reserved(self):
        return self.second["reserved"]

    @property
    def verdict(self):
        if self.refused:
            return "✗ refused: no memory"
        if self.second["from"] == "internal":
            return "✗ same address, and its stream waits"
        if self.second["offset"] == self.first["offset"]:
            return "✓ same address"
        return f"✗ other address, grew to {mib(self.reserved)} MiB"


def read(journal, names):
    """The pools that made two allocations, in order, up to the number of names."""
    found, limits = {}, {}
    for line in journal:
        if line.get("call") == "cudaMemPoolCreate":
            limits[line["pool"]] = line["max_size"]
        if line.get("call") in ALLOCATIONS and "pool" in line:
            found.setdefault(line["pool"], []).append(line)
    pairs = [(pool, lines) for pool, lines in found.items() if len(lines) == 2]
    if len(pairs) < len(names) or not names:
        raise ValueError(f"{len(names)} names for {len(pairs)} pools with two allocations")
    return [
        Case(name, *lines, lines[0]["reserved"], limits.get(pool, 0))
        for name, (pool, lines) in zip(names, pairs)
    ]


def draw(cases, width, note=""):
    canvas = svg.Canvas(width)
    narrow = width < 500
    most = max(case.reserved for case in cases)
    most = max([most] + [case.limit for case in cases if case.limit < 1 << 40])
    verdicts = max(svg.text_width(case.verdict, "bold") for case in cases)
    left = 0 if narrow else max(svg.text_width(case.name, "code") for case in cases) + 18
    room = width - left - verdicts - 26
    if narrow:
        room = min(room, 150) if room >= 96 else 130
    unit = min(40, room / (most / SEGMENT))

    def x_of(count):
        return left + 4 + count * unit / SEGMENT

    y = 14
    for segment in range(0, most // SEGMENT + 1, 1 if unit >= 30 else 2):
        canvas.text(
            x_of(segment * SEGMENT),
            y,
            str(segment * 32),
            anchor="middle" if segment else "start",
        )
    canvas.text(x_of(most) + 18, y, "MiB")
    y += 8
    for case in cases:
        if narrow:
            y = canvas.paragraph(0, y + 12, case.name, "code", width) - 10
        else:
            canvas.text(0, y + 17, case.name, "code")
        kept = case.reserved if not case.refused else case.before
        for segment in range(kept // SEGMENT):
            canvas.box("segment", x_of(segment * SEGMENT), y + 2, unit, 22)
        if case.limit:
            x = x_of(memory_picture.raised(case.limit))
            canvas.line("limit", (x + 2, y), (x + 2, y + 26))
        first, second = case.first, case.second
        shared = not case.refused and first["offset"] == second["offset"]
        wide = first["bytes"] * unit / SEGMENT
        if not shared:
            x = x_of(first["offset"])
            canvas.box("ghost", x + 2, y + 4, wide - 4, 18, 2)
            canvas.text(x + wide / 2, y + 17, "1st", "", "middle", optional=True)
        if not case.refused:
            x = x_of(second["offset"])
            canvas.box("used s-2", x + 1.5, y + 4, wide - 3, 18, 2)
            words = "2nd"
            canvas.text(x + wide / 2, y + 17, words, "on", "middle", optional=True)
        kind = "good" if case.good else "bad"
        x = x_of(most) + 14
        if x + svg.text_width(case.verdict, kind) <= width:
            canvas.text(x, y + 17, case.verdict, kind)
            y += 28
        else:
            canvas.text(4, y + 38, case.verdict, kind)
            y += 48
    canvas.reach(y)
    if note:
        canvas.paragraph(0, y + 16, note)
    entries = [("ghost", "1st allocation, freed"), ("used s-2", "2nd allocation")]
    entries.append(("segment", "reserved: a segment of 32 MiB"))
    if any(case.limit for case in cases):
        entries.append(("limit line", "maxSize"))
    canvas.key(entries)
    return canvas


def table(cases):
    heads = ["case", "1st at", "2nd at", "reserved, MiB", "verdict"]
    return heads, [
        [
            case.name,
            mib(case.first["offset"]),
            "-" if case.refused else mib(case.second["offset"]),
            mib(case.reserved),
            case.verdict[2:],
        ]
        for case in cases
    ]
