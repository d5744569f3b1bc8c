"""Drawings of what no journal shows: decisions, places, two processes, bytes, costs.

Each is a function of the width, so that it has one form for wide pages and one for phones. Numbers
come from what a GPU recorded, or from the program itself.
"""

import math
import re
from dataclasses import dataclass

from . import svg
from .rungs import RUNGS
from .runs import ROOT

NARROW = 500


@dataclass
class Drawing:
    title: str  # the insight, in one sentence
    paint: object  # draws on a canvas
    table: object  # returns (heads, rows)

    def draw(self, width):
        canvas = svg.Canvas(width)
        self.paint(canvas)
        return canvas


DRAWINGS = {}


def drawing(name, title, heads, rows):
    """A decorator: the function below it paints `name`; `rows` are a list, or a function."""

    def keep(paint):
        DRAWINGS[name] = Drawing(title, paint, lambda: (heads, rows() if callable(rows) else rows))
        return paint

    return keep


def recorded(lesson):
    file = ROOT / f"tests/lessons/{lesson}/expected/output.txt"
    return file.read_text(encoding="utf-8").splitlines()


def recorded_rows(lesson, first, cells):
    """The rows of a recorded table that begin with one of these words and have so many cells."""
    rows = (re.split(r"  +", line.strip()) for line in recorded(lesson))
    return [row for row in rows if row[0] in first and len(row) == cells]


def node(canvas, x, y, width, words, kind="work", style="", high=0, room=8):
    """A box with words in its middle; returns the y below it."""
    lines = [line for part in words.split("\n") for line in svg.wrapped(part, width - 10, style)]
    high = max(high, len(lines) * svg.LINE + room)
    canvas.box(kind, x, y, width, high, 3)
    base = y + (high - len(lines) * svg.LINE) / 2 + 12
    for number, line in enumerate(lines):
        canvas.text(x + width / 2, base + number * svg.LINE, line, style, "middle")
    return y + high


# ---- 15, and on Monday: which questions decide ----


def decide(canvas, questions, end, left, right, gap, high):
    """One question below the other: an answer leads to the right, the other one down, to the end.
    A question is (words, the answer to the right, what it leads to, the answer down)."""
    y = 4
    for question, aside, outcome, on in questions:
        bottom = node(canvas, 0, y, left, question, high=high)
        node(canvas, left + gap, y, right, outcome, "outcome", high=bottom - y)
        middle = (y + bottom) / 2
        canvas.arrow("own", (left, middle), (left + gap, middle))
        canvas.text(left + gap / 2 - 4, middle - 5, aside, "bold", "middle")
        canvas.arrow("event", (left / 2, bottom), (left / 2, bottom + 26))
        canvas.text(left / 2 + 8, bottom + 18, on, "bold")
        y = bottom + 26
    node(canvas, 0, y, left, end, "success", high=44)


QUESTIONS = [
    ("1 Is the driver's version 11.2 or later?", "cudaMalloc", "The device has no pools."),
    ("2 Is the attribute for pools 1?", "cudaMalloc", "The device has no pools."),
    ("3 Can a pool be created for sharing?", "cudaMallocAsync", "Pools, and no sharing."),
    ("4 Can that pool be exported?", "cudaMallocAsync", "Pools, and no sharing."),
]


@drawing(
    "support",
    "Only an export proves that a pool can be exported, and each no leads to a program that works",
    ["question", "no leads to"],
    [[question, f"{call}: {note}"] for question, call, note in QUESTIONS]
    + [["four times yes", "cudaMallocAsync, and a handle to share"]],
)
def support(canvas):
    narrow = canvas.width < NARROW
    left, right = (150, 154) if narrow else (260, 240)
    gap = canvas.width - left - right if narrow else 110
    questions = [(one, "no", f"{call}\n{note}", "yes") for one, call, note in QUESTIONS]
    end = "cudaMallocAsync\nPools, and a handle to share."
    decide(canvas, questions, end, left, right, gap, 52)
    canvas.key(
        ("work", "a question"),
        ("outcome", "works, with less"),
        ("success", "works, and has a handle to share"),
    )


TREE = [
    ("How long does the buffer live?", "forever", "leave it with cudaMalloc", "a round"),
    ("Does it go to MPI, UCX, cudaIpc?", "yes", "leave it with cudaMalloc", "no"),
    ("Are you the application?", "no", "set nothing, or make a pool of your own", "yes"),
    ("Does anybody else need this GPU?", "no", "threshold UINT64_MAX", "yes"),
    ("Does your loop synchronize after its frees?", "no", "threshold 0, and set it", "yes"),
]
END = "what a phase reserves: measure it, and trim after a peak"


@drawing(
    "threshold_tree",
    "Five questions decide what a pool should keep, and only the last answer needs a measurement",
    ["question", "answer", "then"],
    [[question, answer, outcome] for question, answer, outcome, _ in TREE]
    + [["all of them", "the other one", END]],
)
def threshold_tree(canvas):
    narrow = canvas.width < NARROW
    left, right = (140, 130) if narrow else (260, 270)
    decide(canvas, TREE, END, left, right, canvas.width - left - right, 44)
    canvas.key(("work", "a question"), ("outcome", "decided"), ("success", "decided by measuring"))


# ---- the reuse ladder ----


def note(rung):
    """What turns a rung on, and what it costs."""
    return f"{rung.policy.removeprefix('Reuse') or 'always on'}; {rung.cost}"


@drawing(
    "ladder",
    "An allocation takes the first of six steps that fits: four reuse freed memory without a new "
    "wait, then the pool grows, and only the last makes a stream wait",
    ["step", "when", "policy and cost"],
    [[str(number), rung.when, note(rung)] for number, rung in enumerate(RUNGS, 1)],
)
def ladder(canvas):
    narrow = canvas.width < NARROW
    left, y = (0, 0) if narrow else (400, 0)
    for number, rung in enumerate(RUNGS, 1):
        if y:
            canvas.line("tick", (0, y - 4), (canvas.width, y - 4))
        text_width = canvas.width - 24 if narrow else left - 44
        below = canvas.paragraph(24, y + 20, rung.when, "heading", text_width)
        canvas.text(0, y + 20, str(number), "heading")
        below = canvas.paragraph(24, below, note(rung), "", text_width)
        top = below - 4 if narrow else y + 8
        draw_rung(canvas, 24 if narrow else left, top, rung.name)
        y = max(top + 62, below)
    canvas.line("tick", (0, y - 4), (canvas.width, y - 4))
    canvas.key(
        ("work s-1", "in the stream that frees"),
        ("work s-2", "in the stream that allocates"),
        ("event arrow", "event"),
        ("inserted arrow", "inserted wait"),
        ("ghost", "new memory"),
    )


def draw_rung(canvas, x, y, name):
    """Two streams from left to right: a free, and the allocation that comes after it."""
    upper, lower, wide = y + 14, y + 44, 320
    canvas.line("stream", (x, upper), (x + wide, upper), behind=True)
    if name != "same stream":
        canvas.line("stream", (x, lower), (x + wide, lower), behind=True)

    def call(at, base, words, kind, wide=58):
        node(canvas, x + at, base - 11, wide, words, kind, room=6)

    call(8, upper, "free", "work s-1")
    if name == "same stream":
        call(110, upper, "allocate", "work s-1")
        return
    call(252, lower, "allocate", "work s-2")
    if name == "synchronized":
        canvas.box("waits", x + 96, y, 126, 58, 3)
        canvas.text(x + 159, y + 34, "the host waited", "waits", "middle")
    elif name == "event":
        call(86, upper, "record", "work s-1")
        call(176, lower, "wait", "work s-2")
        canvas.arrow("event", (x + 144, upper + 4), (x + 178, lower - 11))
    elif name == "opportunistic":
        canvas.text(x + 84, upper - 5 + 22, "✓ the device is past it", "good")
    elif name == "new":
        call(160, lower, "+ 32 MiB", "ghost", 84)
    else:
        call(176, lower, "wait", "waits")
        canvas.arrow("inserted", (x + 66, upper + 4), (x + 174, lower - 6))


# ---- 11: three moments of a free, and two policies ----

STATES = ("pending", "finished", "synchronized")
BETWEEN = {
    "pending": "the free stands in its stream",
    "finished": "the device is past it",
    "synchronized": "the host has waited",
}


def addresses():
    """{(policy, state): "same" or "other"}, as recorded."""
    found = {}
    for line in recorded("11_reuse_opportunistic"):
        match = re.match(r"policy (on|off) +(\w+) +(same|other) +address", line)
        if match:
            found[match[1], match[2]] = match[3]
    return found


@drawing(
    "moments",
    "On and off differ at one moment only: the device is past the free, and the host has "
    "not waited",
    ["when another stream allocates", "policy on", "policy off"],
    lambda: [
        [state, *(addresses()[policy, state] for policy in ("on", "off"))] for state in STATES
    ],
)
def moments(canvas):
    narrow = canvas.width < NARROW
    left = 0 if narrow else 90
    room = (canvas.width - left) / 3
    top = 74 if narrow else 44
    for number, state in enumerate(STATES):
        x = left + number * room
        canvas.text(x + 6, 16, state, "heading" if not narrow else "bold")
        canvas.paragraph(x + 6, 34, BETWEEN[state], "", room - 12)
        canvas.line("tick", (x, 2), (x, top + 14), behind=True)
    canvas.arrow("own", (left, top), (canvas.width, top))
    y = top + 14
    for policy in ("on", "off"):
        if narrow:
            canvas.text(0, y + 16, f"policy {policy}", "bold")
            y += 24
        else:
            canvas.text(0, y + 24, f"policy {policy}", "bold")
        for number, state in enumerate(STATES):
            x = left + number * room + 5
            same = addresses()[policy, state] == "same"
            words = "the same memory" if same else "new memory"
            node(canvas, x, y + 4, room - 10, words, "success" if same else "ghost", high=40)
        y += 52
    canvas.reach(y)
    canvas.key(
        ("own arrow", "time, from the call of cudaFreeAsync on"),
        ("success", "what another stream gets: the freed memory"),
        ("ghost", "what the pool takes from the device instead"),
    )


# ---- the four edges ----

EDGES = [
    ("one stream", ("write", "read", "free"), ""),
    ("an event", ("write", "record", "> wait", "> read", "> free"), "event"),
    ("the legacy stream", ("write", "> read", "free"), "legacy"),
    ("the host waits", ("write", "! synchronize", "> read", "> free"), "host"),
]


@drawing(
    "edges",
    "Four ways make a read come after a write: one stream, an event, the legacy stream, or a host "
    "that waits",
    ["way", "in order"],
    [[name, ", ".join(step.lstrip("!> ") for step in steps)] for name, steps, _ in EDGES],
)
def edges(canvas):
    columns = 2 if canvas.width < NARROW else 4
    room, tops = canvas.width / columns, 0
    for number, (name, steps, way) in enumerate(EDGES):
        x, y = number % columns * room, tops
        canvas.text(x + 4, y + 14, name, "heading")
        streams = [x + 38, x + 126] if way else [x + 60]
        heads = {"legacy": ("blocking", "legacy")}.get(way, ("stream 1", "stream 2"))
        places = []
        for center, words in zip(streams, heads):
            canvas.text(center, y + 36, words, "", "middle")
            canvas.line("stream", (center, y + 42), (center, y + 46 + 5 * 32), behind=True)
        for row, step in enumerate(steps):
            second, host = step.startswith(">"), step.startswith("!")
            center = streams[1] if second else streams[0]
            top = y + 50 + row * 32
            if host:
                node(canvas, x + 4, top, room - 16, "host waits", "waits", "waits", room=6)
            else:
                kind = f"work s-{2 if second else 1}"
                node(canvas, center - 33, top, 66, step.lstrip("> "), kind, room=6)
            places.append((center, top))
        if way == "event":
            canvas.arrow(
                "event", (places[1][0] + 20, places[1][1] + 22), (places[2][0] - 20, places[2][1])
            )
        if way == "legacy":
            canvas.arrow(
                "event", (places[0][0] + 20, places[0][1] + 22), (places[1][0] - 20, places[1][1])
            )
            canvas.arrow(
                "event", (places[1][0] - 20, places[1][1] + 22), (places[2][0] + 20, places[2][1])
            )
        if (number + 1) % columns == 0:
            tops = y + 46 + 5 * 32 + 18
    canvas.key(
        ("work s-1", "in the first stream"),
        ("work s-2", "in the second stream"),
        ("event arrow", "comes after"),
    )


# ---- 14: two devices ----


def accesses():
    """(access, current, use, result of the call, result in GPU 1's stream), as recorded."""
    return [cells[:5] for cells in recorded_rows("14_peer_access", ("none", "all"), 6)]


def two_gpus(canvas, wide, high, kind="GPU"):
    """GPU 0 at the left, GPU 1 at the right. Returns where GPU 1 begins."""
    right = canvas.width - wide
    for x, name in ((0, f"{kind} 0"), (right, f"{kind} 1")):
        canvas.box("place", x, 2, wide, high, 6)
        canvas.text(x + 10, 20, name, "heading")
    return right


@drawing(
    "peer_rights",
    "cudaDeviceEnablePeerAccess opens cudaMalloc memory, but no pool",
    ["memory of GPU 0", "a kernel of GPU 1, peers enabled"],
    [["from cudaMalloc", "works"], ["from a pool", "faults"]],
)
def peer_rights(canvas):
    half = 140 if canvas.width < NARROW else 260
    right = two_gpus(canvas, half, 112)
    node(canvas, 10, 30, half - 20, "cudaMalloc memory", "segment", high=36)
    node(canvas, 10, 72, half - 20, "pool memory", "segment", high=36)
    node(canvas, right + 10, 30, half - 20, "its kernel, with peers enabled", "work s-2", high=78)
    # The first arrow goes on into the memory, and the second ends at the border.
    for y, end, kind, words, style in (
        (48, half - 8, "event", "✓ works", "good"),
        (90, half + 3, "missing", "✗ faults", "bad"),
    ):
        canvas.arrow(kind, (right + 8, y), (end, y))
        canvas.text((half + right) / 2, y - 6, words, style, "middle")
    canvas.reach(118)
    canvas.key(("segment", "memory"), ("work s-2", "work of GPU 1 that uses it"))


@drawing(
    "devices",
    "Without access only the fetch and the copy with GPU 0 current worked; a kernel faulted, even "
    "with peers enabled",
    ["access of GPU 1", "current", "use", "the call returns", "its stream"],
    accesses,
)
def devices(canvas):
    narrow = canvas.width < NARROW
    half = 150 if narrow else 260
    right = two_gpus(canvas, half, 92)
    node(canvas, 10, 30, half - 20, "its default pool", "segment", high=52)
    node(canvas, right + 10, 30, half - 20, "its kernels, its copies", "work s-2", high=52)
    canvas.arrow("event", (right, 56), (half + 2, 56))
    canvas.text((half + right) / 2, 48, "use?", "bold", "middle")
    # The matrix: a row for each use, a column for each state of the access.
    uses, cells = [], {}
    for row in accesses():
        access, current, use = row[0], row[1], row[2]
        name = f"{use}, current {current}" if current == "GPU 0" else use
        if name not in uses:
            uses.append(name)
        cells.setdefault((name, access), row)
    y = 118
    columns = [canvas.width - 150, canvas.width - 74] if narrow else [400, 560]
    for x, words in zip(columns, ("none", "read, write")):
        canvas.text(x, y, words, "bold")
    canvas.text(0, y, "access of GPU 1:" if not narrow else "access:", "bold")
    y += 10
    for use in uses:
        canvas.line("tick", (0, y), (canvas.width, y))
        y += 16
        below = canvas.paragraph(0, y, use, "", columns[0] - 10)
        for x, access in zip(columns, ("none", "all")):
            row = cells.get((use, access))
            if row is None:
                canvas.text(x, y, "not tried")
            elif row[3] == row[4] == "cudaSuccess":
                canvas.text(x, y, "✓ works", "good")
            else:
                words = "✗ faults" if row[3] == "cudaSuccess" else "✗ denied"
                canvas.text(x, y, words, "bad")
        y = below - svg.LINE + 8
    canvas.reach(y)
    canvas.key(("segment", "memory"), ("work s-2", "work of GPU 1 that uses it"))


# ---- 16 and 17: two processes ----


@drawing(
    "ipc_pool",
    "The control message carries the open file: the importer gets a number of its own for "
    "the same pool, and an address of its own for the same data",
    ["exporter", "socket", "importer"],
    [
        ["creates a pool for file descriptors", "", ""],
        ["exports it: a descriptor, a number here", "", ""],
        ["sends", "bytes: where the data is; control message: SCM_RIGHTS", "receives"],
        ["", "", "a descriptor, a number there"],
        ["", "", "imports the pool"],
        ["data at an address here", "one physical memory", "data at an address there"],
    ],
)
def ipc_pool(canvas):
    narrow = canvas.width < NARROW
    side = 116 if narrow else 220
    right = canvas.width - side
    middle = canvas.width / 2
    canvas.box("place", 0, 0, side, 256, 6)
    canvas.box("place", right, 0, side, 256, 6)
    canvas.text(8, 18, "exporter", "heading")
    canvas.text(right + 8, 18, "importer", "heading")

    def step(x, y, words, kind="work", high=46):
        node(canvas, x + 6, y, side - 12, words, kind, high=high)

    step(0, 30, "pool, made for file descriptors", "segment", 56)
    step(0, 116, "descriptor: a number here", high=46)
    step(right, 116, "descriptor: a number there", high=46)
    step(right, 30, "imported pool", "segment", 56)
    step(0, 194, "data, at an address here", "work s-1", 46)
    step(right, 194, "data, at an address there", "work s-2", 46)
    canvas.arrow("event", (side / 2, 86), (side / 2, 116))
    canvas.text(side / 2 + 8, 105, "export", "")
    canvas.arrow("event", (right + side / 2, 116), (right + side / 2, 86))
    canvas.text(right + side / 2 + 8, 105, "import", "")
    left, wide = side + 4, right - side - 8
    canvas.box("socket", left, 92, wide, 152, 3)
    canvas.text(middle, 86, "socket", "bold", "middle")
    lines = ("control message", "SCM_RIGHTS") if not narrow else ("control:", "SCM_RIGHTS")
    for number, line in enumerate(lines):
        canvas.text(middle, 115 + number * svg.LINE, line, "bold", "middle")
    canvas.arrow("event", (side - 6, 139), (right + 6, 139))
    canvas.text(
        middle, 209, "bytes: where the data is" if not narrow else "bytes: where", "", "middle"
    )
    canvas.arrow("event", (side - 6, 217), (right + 6, 217))
    low = 284
    canvas.box("segment", 0, low, canvas.width, 36, 4)
    canvas.text(middle, low + 23, "data, in physical memory of GPU 0: there once", "", "middle")
    canvas.arrow("own", (side / 2, 240), (side / 2, low))
    canvas.arrow("own", (right + side / 2, 240), (right + side / 2, low))
    canvas.reach(low + 40)
    canvas.key(
        ("place", "a process"),
        ("segment", "memory"),
        ("event arrow", "what the program moves"),
        ("own arrow", "an address leads to memory"),
    )


COLUMNS = ("exporter's host", "exporter's stream", "importer's stream", "importer's host")


def two_processes(canvas, steps, height):
    """An exporter and an importer side by side, each with its host and its stream, and in them what
    happens, from top to bottom. A step is (column, words). Returns {step: (left, right, y)}."""
    room = canvas.width / 4
    wide = room - 8 if canvas.width < NARROW else 140
    bottom = 64 + len(steps) * height
    for x, middle, words in ((0, 1, "exporter"), (canvas.width / 2 + 4, 3, "importer")):
        canvas.box("place", x, 0, canvas.width / 2 - 4, bottom, 6, behind=True)
        canvas.text(canvas.width * middle / 4, 18, words, "heading", "middle")
    for column, words in enumerate(COLUMNS):
        x = room * (column + 0.5)
        canvas.text(x, 38, words.split()[1], "bold", "middle")
        canvas.line("stream", (x, 46), (x, bottom - 8), behind=True)
    places = {}
    for row, (column, words) in enumerate(steps):
        x, y = room * (column + 0.5), 50 + row * height
        kind = ("call", "work s-1", "work s-2", "call")[column]
        node(canvas, x - wide / 2, y, wide, words, kind, high=height - 8)
        places[column, words] = (x - wide / 2, x + wide / 2, y + (height - 8) / 2)
    return places


STEPS = [
    (1, "allocate"),
    (1, "fill"),
    (1, "record ready"),
    (0, "send ready"),
    (3, "receive ready"),
    (2, "wait ready"),
    (2, "add"),
    (2, "free"),
    (2, "record finished"),
    (3, "send finished"),
    (0, "receive finished"),
    (1, "wait finished"),
    (1, "copy"),
    (1, "free"),
]


@drawing(
    "ipc_allocation",
    "Messages order the two hosts; only the events ready and finished order the two streams, so "
    "the importer's free comes before the exporter's",
    ["where", "what"],
    [[COLUMNS[column], words] for column, words in STEPS],
)
def ipc_allocation(canvas):
    at = two_processes(canvas, STEPS, 48 if canvas.width < NARROW else 30)

    def join(kind, source, target):
        (a, b, y), (c, d, to_y) = at[source], at[target]
        ends = ((b, y), (c, to_y)) if c > a else ((a, y), (d, to_y))
        canvas.arrow(kind, *ends, behind=True)

    join("own", (0, "send ready"), (3, "receive ready"))
    join("own", (3, "send finished"), (0, "receive finished"))
    join("event", (1, "record ready"), (2, "wait ready"))
    join("event", (2, "record finished"), (1, "wait finished"))
    canvas.key(
        ("place", "a process; the messages go through a socket between the two"),
        ("own arrow", "message: the event's handle, and where the data is"),
        ("event arrow", "event: from the record to the wait"),
    )


SENT = [
    (0, "calls fill"),
    (0, "sends ready"),
    (3, "receives ready"),
    (3, "calls add"),
    (2, "adds 1"),
    (1, "fills with 7"),
]


@drawing(
    "ipc_message",
    "A message goes from host to host: nothing here makes the importer's device wait for the "
    "exporter's",
    ["where", "what, in this order"],
    [[COLUMNS[column], words] for column, words in SENT],
)
def ipc_message(canvas):
    at = two_processes(canvas, SENT, 48 if canvas.width < NARROW else 32)
    (_, begin, y), (end, _, to_y) = at[0, "sends ready"], at[3, "receives ready"]
    canvas.arrow("own", (begin, y), (end, to_y), behind=True)
    (begin, _, y), (_, end, to_y) = at[2, "adds 1"], at[1, "fills with 7"]
    canvas.line("missing", (begin, y), (end, to_y), behind=True)
    canvas.key(
        ("own arrow", "the message"),
        ("missing line", "no order: here the add comes first, and the result is 7"),
    )


# ---- 21: two parts in three frames ----


def arena_frames():
    """(where the second part begins, what both need) of the first three frames, as recorded."""
    found = (
        re.match(r"frame \d+: parts at 0 and +(\d+) of +(\d+) bytes", line)
        for line in recorded("21_own_arena")[:3]
    )
    return [(int(one[1]), int(one[2])) for one in found]


def arena_rows():
    return [
        [f"{number}", f"0 to {begin}", f"{begin} to {needed}"]
        for number, (begin, needed) in enumerate(arena_frames())
    ]


@drawing(
    "arena",
    "From frame to frame the streams take bytes from each other, in which the other stream may "
    "still be working",
    ["frame", "bytes of stream[0]", "bytes of stream[1]"],
    arena_rows,
)
def arena(canvas):
    frames = arena_frames()
    scale = (canvas.width - 4) / max(needed for _, needed in frames)
    for number, (begin, needed) in enumerate(frames):
        y = 22 + 88 * number
        canvas.text(0, y - 8, f"Frame {number}", "heading")
        for kind, name, first, last in (
            ("used s-1", "stream[0]", 0, begin),
            ("used s-2", "stream[1]", begin, needed),
        ):
            canvas.box(kind, first * scale, y, (last - first) * scale, 30)
            middle = (first + last) / 2 * scale
            canvas.text(middle, y + 20, name, "on", "middle", optional=True)
    for number, ((begin, _), (next_begin, _)) in enumerate(zip(frames, frames[1:])):
        y = 52 + 88 * number
        left, right = min(begin, next_begin) * scale, max(begin, next_begin) * scale
        canvas.box("gone", left, y, right - left, 58)
        taker, giver = (0, 1) if next_begin > begin else (1, 0)
        words = f"stream[{taker}] gets what stream[{giver}] had"
        wide = svg.text_width(words, "bold") + 8
        canvas.plate((left + right - wide) / 2, y + 13, wide, 18)
        canvas.text((left + right) / 2, y + 26, words, "bold", "middle")
    canvas.key(
        ("used s-1", "a part of stream[0]"),
        ("used s-2", "a part of stream[1]"),
        ("gone", "bytes that change hands"),
    )


# ---- 20: nodes of graphs ----

CAPTURED = (
    "allocate first",
    "fill first",
    "free first",
    "allocate second",
    "add to counter",
    "free second",
)


@drawing(
    "graph_nodes",
    "The built graph has no free node, so its memory stays allocated when the launch is over",
    ["graph", "nodes in order"],
    [["captured", ", ".join(CAPTURED)], ["built, in the starter", "allocate, memset"]],
)
def graph_nodes(canvas):
    narrow = canvas.width < NARROW

    def chain(y, words, spans):
        """A row of nodes; on a narrow page a column. `spans`: (first, last, words, open)."""
        if narrow:
            for number, one in enumerate(words):
                top = y + number * 44
                node(canvas, 0, top, 130, one, "work", high=26)
                if number + 1 < len(words):
                    canvas.arrow("event", (65, top + 26), (65, top + 44))
            for first, last, text, open_ in spans:
                top = y + first * 44 + 13
                bottom = y + last * 44 + 13 if not open_ else y + len(words) * 44 + 30
                canvas.box("used s-1", 150, top, 14, bottom - top)
                canvas.paragraph(174, (top + bottom) / 2, text, "bad" if open_ else "bold")
            return y + len(words) * 44 + (40 if spans[-1][3] else 0)
        room = canvas.width / 6
        for number, one in enumerate(words):
            x = number * room
            node(canvas, x, y, room - 26, one, "work", high=42)
            if number + 1 < len(words):
                canvas.arrow("event", (x + room - 26, y + 21), (x + room, y + 21))
        for first, last, text, open_ in spans:
            left = first * room + 50
            right = last * room + 50 if not open_ else canvas.width - 4
            canvas.box("used s-1", left, y + 52, right - left, 14)
            canvas.text(left, y + 82, text, "bad" if open_ else "bold")
        return y + 92

    canvas.text(0, 14, "The captured graph", "heading")
    y = chain(26, CAPTURED, [(0, 2, "64 MiB", False), (3, 5, "the same 64 MiB", False)])
    canvas.text(0, y + 24, "The starter's graph, built by hand", "heading")
    y = chain(
        y + 36,
        ("allocate", "memset"),
        [(0, 1, "✗ no free: still allocated after the launch", True)],
    )
    canvas.reach(y)
    canvas.key(
        ("work", "a node"),
        ("event arrow", "an edge"),
        ("used s-1", "memory that the launch has allocated"),
    )


# ---- 19: three locations ----


def locations():
    """The recorded rows: memory, default pool, type, reserved, used, access, memset."""
    return recorded_rows("19_other_locations", ("device", "host", "managed"), 7)


@drawing(
    "locations",
    "A pool's memory is in one of three places, and the device may not touch the host's before it "
    "is granted access",
    [
        "memory",
        "default pool",
        "type",
        "reserved, MiB",
        "used, MiB",
        "access of the device",
        "memset by the device",
    ],
    locations,
)
def three_places(canvas):
    narrow = canvas.width < NARROW
    rows = {row[0]: row for row in locations()}
    places = [
        ("device", "the device's memory", "s-1"),
        ("managed", "managed memory", "s-3"),
        ("host", "the host's memory", "s-2"),
    ]
    room = canvas.width if narrow else canvas.width / 3
    y = 0
    for number, (name, words, color) in enumerate(places):
        row = rows[name]
        x, top = (0, y) if narrow else (number * room, 0)
        wide = room - (0 if narrow else 10)
        canvas.box("place", x, top, wide, 128, 6)
        canvas.text(x + 10, top + 20, words, "bold")
        scale = (wide - 20) / 128
        canvas.box("segment", x + 10, top + 32, int(row[3]) * scale, 30)
        canvas.box(f"used {color}", x + 10, top + 35, int(row[4]) * scale, 24, 2)
        canvas.text(x + 10 + int(row[4]) * scale / 2, top + 51, f"{row[4]} MiB", "on", "middle")
        works = row[6] == "cudaSuccess"
        result = "✓ the device may touch it" if works else "✗ the device may not touch it"
        canvas.text(x + 10, top + 84, result, "good" if works else "bad")
        canvas.text(x + 10, top + 102, f"access granted: {row[5]}")
        canvas.text(x + 10, top + 118, f"default pool: {row[1]}")
        y = top + 138
    canvas.reach(y)
    canvas.key(("used s-1", "allocation"), ("segment", "reserved"), ("place", "a location"))


TURNS = [
    # (what the host does, what the stream does, what that comes after: the step before it)
    ("cudaMallocFromPoolAsync", "allocate", "own"),
    ("! cudaStreamSynchronize", "", "event"),
    ("stores 40 into each int", "", ""),
    ("launch_add", "add 2 to each int", "own"),
    ("! cudaStreamSynchronize", "", "event"),
    ("loads each int", "", ""),
]


@drawing(
    "turns",
    "The host stores after the first synchronization and loads after the second, so one allocation "
    "serves both without a copy",
    ["host", "stream"],
    [[host.lstrip("! "), stream] for host, stream, _ in TURNS],
)
def turns(canvas):
    narrow = canvas.width < NARROW
    host, stream = (172, 130) if narrow else (250, 230)
    right = canvas.width - stream if narrow else 400
    canvas.text(host / 2, 14, "host", "heading", "middle")
    canvas.text(right + stream / 2, 14, "stream", "heading", "middle")
    canvas.line("stream", (right + stream / 2, 22), (right + stream / 2, 266), behind=True)
    worked = 0  # the middle of the stream's newest work
    for row, (words, work, edge) in enumerate(TURNS):
        y = 26 + row * 40
        waits, call = words.startswith("!"), work or words.startswith("!")
        kind = "waits" if waits else "call" if call else "used s-3"
        node(canvas, 0, y, host, words.lstrip("! "), kind, "code" if call else "on", 30)
        if work:
            worked = y + 20
            node(canvas, right, y + 5, stream, work, "work s-1", high=30)
            canvas.arrow(edge, (host, y + 12), (right, y + 16))
        elif edge:
            canvas.arrow(edge, (right, worked + 6), (host, y + 15))
    canvas.reach(266)
    canvas.key(
        ("call", "call of the host"),
        ("waits", "call in which the host waits for the device"),
        ("used s-3", "the host's own loads and stores, without a call"),
        ("work s-1", "work of the device"),
        ("event arrow", "comes after"),
        ("own arrow", "call to its work"),
    )


# ---- 05: what calls cost ----


def costs():
    """(sizes, [(way, [microseconds])], [(call, microseconds)]), as recorded."""
    sizes, ways, stalls = [], [], []
    for line in recorded("05_cost"):
        found = re.findall(r"([\d.]+ (?:KiB|MiB))", line)
        if line.startswith("~  ") and len(found) == 3:
            sizes = found
        pair = re.match(r"~ +([\d.]+) +([\d.]+) +([\d.]+)  (.*)", line)
        if pair:
            ways.append((pair[4], [float(pair[number]) for number in (1, 2, 3)]))
            continue
        single = re.match(r"~ +([\d.]+)  (cuda\w+)$", line)
        if single:
            stalls.append((single[2], float(single[1])))
    if len(sizes) != 3 or len(ways) != 4 or len(stalls) != 4:
        raise ValueError("the recording of lesson 05 has another form")
    return sizes, ways, stalls


def cost_rows():
    sizes, ways, stalls = costs()
    rows = [
        [way, size, f"{figure:.2f}"]
        for way, figures in ways
        for size, figure in zip(sizes, figures)
    ]
    return rows + [
        [call, "1 MiB, while another stream copies", f"{one:.2f}"] for call, one in stalls
    ]


@drawing(
    "costs",
    "A pool that keeps its memory costs the same at any size; a pool with the default threshold "
    "can cost more than cudaMalloc",
    ["way or call", "size", "µs of the host"],
    cost_rows,
)
def bars(canvas):
    sizes, ways, stalls = costs()
    narrow = canvas.width < NARROW
    left = 66 if narrow else 90
    room = canvas.width - left - 68
    most = max([figure for _, figures in ways for figure in figures] + [one for _, one in stalls])
    decades = math.ceil(math.log10(most)) + 1  # from 0.1 µs

    def length(figure):
        return max(2, room * (math.log10(figure) + 1) / decades)

    def in_words(figure):
        return f"{figure:.0f} µs" if figure >= 1000 else f"{figure:.4g} µs"

    def bar(y, name, figure, kind):
        canvas.text(left - 8, y + 13, name, "", "end")
        canvas.box(kind, left, y, length(figure), 17, 2)
        canvas.text(left + length(figure) + 6, y + 13, in_words(figure))

    def axis(top, bottom):
        for power in range(-1, decades):
            x = left + room * (power + 1) / decades
            canvas.line("tick", (x, top), (x, bottom), behind=True)

    y = 0
    for number, (way, figures) in enumerate(ways):
        y = canvas.paragraph(0, y + 16, way, "bold") - 6
        top = y
        for size, figure in zip(sizes, figures):
            bar(y, size, figure, f"used s-{('legacy', 4, 2, 1)[number]}")
            y += 20
        axis(top, y)
        y += 6
    y = canvas.paragraph(0, y + 22, "One call for 1 MiB, while another stream copies", "heading")
    y -= 8
    begin, part = (left, 1) if narrow else (left + 60, 0.85)  # the names are longer
    for call, figure in stalls:
        if narrow:
            canvas.text(0, y + 12, call, "code")
            y += 18
        else:
            canvas.text(begin - 8, y + 13, call, "code", "end")
        canvas.box("used s-3", begin, y, length(figure) * part, 17, 2)
        canvas.text(begin + length(figure) * part + 6, y + 13, in_words(figure))
        y += 21
    canvas.reach(y)
    canvas.paragraph(
        0,
        y + 18,
        "Logarithmic: each line of the grid is ten times the one before. "
        "Host time on the recorded H200.",
    )
    canvas.key(
        ("used s-legacy", "cudaMalloc"),
        ("used s-4", "default pool"),
        ("used s-2", "keeps, synchronized"),
        ("used s-1", "keeps"),
        ("used s-3", "one call"),
    )


# ---- 05: a loop, in two questions ----

ROUNDS = "docs/programs/expected/rounds.txt"


def rounds():
    """{(covered, kept): microseconds} of a round of 1 MiB without a copy, as recorded."""
    found = {}
    for line in (ROOT / ROUNDS).read_text(encoding="utf-8").splitlines():
        match = re.match(r"~ +([\d.]+) +([\d.]+)   allocate, ([a-z, ]+)$", line)
        if match and "copy" not in match[3]:
            covered = match[3] == "free, synchronize"
            for kept in (False, True):
                found.setdefault((covered, kept), []).append(match[1 + kept])
    if [len(found.get((covered, True), [])) for covered in (False, True)] != [2, 1]:
        raise ValueError("the recording of the rounds has another form")
    return {cell: " to ".join(sorted(figures, key=float)) for cell, figures in found.items()}


WAITS = {False: "nothing covers the free before the next round", True: "something covers the free"}
KEEPS = {True: "threshold at its maximum", False: "threshold 0"}


@drawing(
    "which_loop",
    "One cell of four is slow, and you get it if you synchronize after your frees and change "
    "nothing",
    ["loop", *KEEPS.values()],
    lambda: [
        [words, *(f"{rounds()[covered, kept]} µs a round" for kept in KEEPS)]
        for covered, words in WAITS.items()
    ],
)
def which_loop(canvas):
    narrow = canvas.width < NARROW
    left = 104 if narrow else 230
    room = (canvas.width - left) / 2
    for number, words in enumerate(KEEPS.values()):
        canvas.paragraph(left + number * room + 8, 16, words, "bold", room - 12)
    y = 44 if narrow else 28
    for covered, words in WAITS.items():
        canvas.paragraph(0, y + 22, words, "bold", left - 8)
        for number, kept in enumerate(KEEPS):
            slow = covered and not kept
            figure = f"{rounds()[covered, kept]} µs"
            node(
                canvas,
                left + number * room + 4,
                y + 4,
                room - 8,
                f"{figure}\nthe default" if slow else figure,
                "outcome" if slow else "success",
                high=72 if narrow else 52,
            )
        y += 82 if narrow else 62
    canvas.reach(y)
    canvas.key(
        ("success", "nothing to do"), ("outcome", "raise the threshold, in bytes, before the loop")
    )


# ---- 22: a piece and its parts ----

PARTS = [
    (40, "in use", None),
    (24, "idle in stream 1", 1),
    (16, "in use", None),
    (28, "idle in stream 2", 2),
    (20, "idle in stream 1", 1),
]


@drawing(
    "piece",
    "A piece is cut into parts that are linked with their neighbors, and each idle part is in the "
    "list of the stream that used it last",
    ["part", "MiB", "state"],
    [[str(number), str(size), state] for number, (size, state, _) in enumerate(PARTS, 1)],
)
def piece(canvas):
    narrow = canvas.width < NARROW
    total = sum(size for size, _, _ in PARTS)
    canvas.paragraph(
        0, 14, f"One piece: one cudaMallocFromPoolAsync of {total} MiB, to scale", "heading"
    )
    y = 44 if not narrow else 56
    scale, x, middles = canvas.width / total, 0, []
    for size, _, stream in PARTS:
        wide = size * scale
        kind = "used s-3" if stream is None else f"idle s-{stream}"
        canvas.box(kind, x + 1, y, wide - 2, 40)
        canvas.text(x + wide / 2, y + 25, f"{size}", "on" if stream is None else "bold", "middle")
        middles.append(x + wide / 2)
        x += wide
    for number in range(len(PARTS) - 1):
        edge = sum(size for size, _, _ in PARTS[: number + 1]) * scale
        canvas.arrow("own", (edge - 12, y - 7), (edge + 12, y - 7))
        canvas.arrow("own", (edge + 12, y + 48), (edge - 12, y + 48))
    y += 64
    for stream in (1, 2):
        canvas.text(
            0, y + 15, f"idle list of stream {stream}" if not narrow else f"stream {stream}", "bold"
        )
        last = 150 if not narrow else 66
        for middle, (size, _, owner) in zip(middles, PARTS):
            if owner != stream:
                continue
            node(canvas, middle - 22, y, 44, f"{size}", f"work s-{stream}", "bold", 24)
            canvas.arrow("event", (last, y + 12), (middle - 23, y + 12), behind=True)
            last = middle + 22
        y += 42
    y = canvas.paragraph(
        0,
        y + 6,
        "The last two parts are neighbors and idle, but in different streams: they stay two parts.",
        "",
    )
    canvas.reach(y - 12)
    canvas.key(
        ("used s-3", "in use; sizes in MiB"),
        ("idle s-1", "idle in stream 1"),
        ("idle s-2", "idle in stream 2"),
        ("own arrow", "its neighbor"),
        ("event arrow", "next in the list"),
    )


# ---- the clinic ----


def on_plate(canvas, middle, base, words, wide):
    canvas.plate(middle - wide / 2, base - 13, wide, 17)
    canvas.text(middle, base, words, "bad", "middle")


@drawing(
    "fork",
    "The node that frees has no edge from the fills of the other branch",
    ["from", "to", "edge"],
    [
        ["allocate", "fill, in the fork", "yes"],
        ["allocate", "free", "yes"],
        ["fill, in the fork", "free", "missing"],
        ["free", "allocate again, same address", "yes"],
    ],
)
def fork(canvas):
    narrow = canvas.width < NARROW
    wide = 108 if narrow else 150
    left, right = (30, 218) if narrow else (120, 440)
    canvas.text(left + wide / 2, 14, "capturing", "bold", "middle")
    canvas.text(right + wide / 2, 14, "forked", "bold", "middle")

    def place(x, y, words, kind):
        node(canvas, x, y, wide, words, kind, high=42)
        return x + wide / 2, y, y + 42

    allocate = place(left, 26, "allocate", "work s-1")
    free = place(left, 160, "free", "work s-1")
    again = place(left, 230, "allocate, at the same address", "work s-1")
    place(right, 80, "fills of the memory", "work s-2")
    canvas.arrow("event", (allocate[0], allocate[2]), (free[0], free[1]))
    canvas.arrow("event", (free[0], free[2]), (again[0], again[1]))
    canvas.arrow("event", (left + wide, 50), (right, 94))
    canvas.arrow("missing", (right, 118), (left + wide + 2, 180))
    on_plate(canvas, (left + wide + right) / 2, 151, "✗ no edge", 88)
    canvas.key(
        ("work s-1", "node of the first branch"),
        ("work s-2", "node of the forked branch"),
        ("event arrow", "an edge"),
        ("missing arrow", "the edge that is missing"),
    )


@drawing(
    "short_lived",
    "The array outlives the stream in which it will be freed",
    ["in order", "stream", "array"],
    [
        ["1", "created", ""],
        ["2", "", "allocated in it"],
        ["3", "destroyed", ""],
        ["4", "is gone", "freed in it"],
    ],
)
def short_lived(canvas):
    steps = ("create", "allocate", "destroy", "free")
    left = 64
    room = (canvas.width - left) / 4

    def at(number):
        return left + room * (number + 0.5)

    for number, words in enumerate(steps):
        canvas.text(at(number), 14, words, "bold", "middle")
        canvas.line("tick", (at(number), 22), (at(number), 100), behind=True)
    canvas.text(0, 46, "stream")
    canvas.box("work s-1", at(0), 32, at(2) - at(0), 22, 3)
    canvas.text(0, 84, "array")
    canvas.box("used s-1", at(1), 70, at(3) - at(1), 22, 3)
    canvas.box("refused", at(2), 32, at(3) - at(2), 22)
    words = "✗ gone" if room < 110 else "✗ no stream"
    canvas.text((at(2) + at(3)) / 2, 47, words, "bad", "middle")
    canvas.reach(100)
    canvas.key(
        ("work s-1", "the stream"),
        ("used s-1", "the array"),
        ("refused", "the free needs a stream that is gone"),
    )


@drawing(
    "no_access",
    "Device 1 writes memory of device 0's pool, which gives it no access",
    ["memory", "used by", "access"],
    [
        ["pool of device 0", "a kernel of device 1", "none"],
        ["pool of device 1", "a kernel of device 1", "its own"],
    ],
)
def no_access(canvas):
    half = 150 if canvas.width < NARROW else 260
    right = two_gpus(canvas, half, 150, "device")
    for x, name in ((0, "device 0"), (right, "device 1")):
        node(canvas, x + 10, 96, half - 20, f"pool of {name}", "segment", high=44)
    node(canvas, right + 10, 32, half - 20, "kernel", "work s-2", high=30)
    canvas.arrow("event", (right + half / 2, 62), (right + half / 2, 96))
    canvas.text(right + half / 2 + 8, 84, "✓ its own", "good")
    canvas.arrow("missing", (right + 10, 54), (half - 8, 110))
    on_plate(canvas, (half + right) / 2, 81, "✗ denied" if half > 200 else "✗", 80)
    canvas.reach(156)
    canvas.key(
        ("segment", "memory"),
        ("work s-2", "work of device 1"),
        ("missing arrow", "cudaMemPoolSetAccess is missing"),
    )
