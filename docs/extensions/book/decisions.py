"""Drawings that help to decide: the moments of a free, a message between processes, a table of two
by two, and a tree."""

import re

from .drawings import NARROW, ROOT, drawing, node, recorded, recording

# ---- 11: three moments of a free, and two policies ----

LESSON = "11_reuse_opportunistic"
STATES = ("pending", "finished", "synchronized")
BETWEEN = {
    "pending": "the free stands in its stream",
    "finished": "the device is past it",
    "synchronized": "the host has waited",
}


def addresses():
    """{(policy, state): "same" or "other"}, as recorded."""
    found = {}
    for line in recorded(LESSON):
        match = re.match(r"policy (on|off) +(\w+) +(same|other) +address", line)
        if match:
            found[match[1], match[2]] = match[3]
    return found


@drawing(
    "moments",
    "On and off differ in one moment only: the device is past the free, and the host has "
    "not waited",
    ["when another stream allocates", "policy on", "policy off"],
    lambda: [
        [state, *(addresses()[policy, state] for policy in ("on", "off"))] for state in STATES
    ],
    (recording(LESSON),),
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
        [
            ("own arrow", "time, from the call of cudaFreeAsync on"),
            ("success", "what another stream gets: the freed memory"),
            ("ghost", "what the pool takes from the device instead"),
        ]
    )


# ---- 17: a message between two hosts ----

PROCESSES = ("exporter", "importer")
SENT = [
    # (column, words); columns: 0 exporter's host, 1 its stream, 2 importer's stream, 3 its host
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
    [
        [f"{PROCESSES[column // 2]}'s {'host' if column in (0, 3) else 'stream'}", words]
        for column, words in SENT
    ],
)
def ipc_message(canvas):
    narrow = canvas.width < NARROW
    room = canvas.width / 4
    wide = room - 8 if narrow else 140
    height = 48 if narrow else 32
    bottom = 60 + len(SENT) * height
    for x, words in ((0, "exporter"), (canvas.width / 2 + 4, "importer")):
        canvas.box("place", x, 0, canvas.width / 2 - 4, bottom, 6, behind=True)
        canvas.text(x + canvas.width / 4 - 2, 18, words, "heading", "middle")
    at = {}
    for column, words in enumerate(("host", "stream", "stream", "host")):
        x = room * (column + 0.5)
        canvas.text(x, 38, words, "bold", "middle")
        canvas.line("stream", (x, 46), (x, bottom - 6), behind=True)
    for row, (column, words) in enumerate(SENT):
        x, y = room * (column + 0.5), 50 + row * height
        kind = {0: "call", 1: "work s-1", 2: "work s-2", 3: "call"}[column]
        node(canvas, x - wide / 2, y, wide, words, kind, high=height - 10)
        at[words] = (x - wide / 2, x + wide / 2, y + (height - 10) / 2)
    (_, begin, y), (end, _, to_y) = at["sends ready"], at["receives ready"]
    canvas.arrow("own", (begin, y), (end, to_y), behind=True)
    (begin, _, y), (_, end, to_y) = at["adds 1"], at["fills with 7"]
    canvas.line("missing", (begin, y), (end, to_y), behind=True)
    canvas.key(
        [
            ("own arrow", "the message"),
            ("missing line", "no order: here the add comes first, and the result is 7"),
        ]
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
    (ROUNDS,),
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
        [
            ("success", "nothing to do"),
            ("outcome", "raise the threshold, in bytes, before the loop"),
        ]
    )


# ---- on Monday: what a pool keeps ----

TREE = [
    # (question, the answer that leads to the right, what it leads to, the answer that goes on)
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
    gap = canvas.width - left - right
    y = 4
    for question, answer, outcome, on in TREE:
        bottom = node(canvas, 0, y, left, question, high=44)
        node(canvas, left + gap, y, right, outcome, "outcome", high=bottom - y)
        middle = (y + bottom) / 2
        canvas.arrow("own", (left, middle), (left + gap, middle))
        canvas.text(left + gap / 2 - 4, middle - 5, answer, "bold", "middle")
        canvas.arrow("event", (left / 2, bottom), (left / 2, bottom + 26))
        canvas.text(left / 2 + 8, bottom + 18, on, "bold")
        y = bottom + 26
    node(canvas, 0, y, left, END, "success", high=44)
    canvas.key(
        [("work", "a question"), ("outcome", "decided"), ("success", "decided by measuring")]
    )
