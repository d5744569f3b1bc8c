#!/usr/bin/env python3
"""Chooses calls of a small journal by function and line, for tests/book/pictures.bats. Prints what
is not as expected."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "extensions"))
from book import chosen, memory_picture

MIB = 1 << 20
PROGRAM = "solutions/18_pinned_transfers.c"


def line_of(text):
    lines = chosen.text_of(PROGRAM)
    return next(number for number, line in enumerate(lines, 1) if text in line)


def calls(*texts):
    found = []
    for number, text in enumerate(texts, 1):
        name = text.split("(")[0].strip()
        place = {"file": PROGRAM, "line": line_of(text)}
        found.append({"call": name, "number": number, "n": number, **place})
    return found


UP = "cudaMemcpyAsync(device + first"
ADD = "launch_add(device + first"
WAIT = "cudaStreamSynchronize(stream[1])"
RUN = calls("cudaMallocAsync(", UP, ADD, UP, ADD, WAIT, UP, ADD, WAIT, "cudaFreeAsync(device")


def no_line(words):
    return f'no call up to the answer stands on a line of process with "{words}"'


TWO_LINES = '"cudaMemcpyAsync" is on 2 lines of process, and not on one'
NO_FORM = '"process, 2" is not FUNCTION, FUNCTION RUN or either with ": TEXT"'
# What is asked, and what is chosen, or the words of the error.
CHOSEN = [
    (("process",), {2, 3, 4, 5, 6}),
    (("process 2",), {7, 8, 9}),
    (("process 3",), "process runs 2 times, and not 3 times"),
    (("process: launch_add", "process: cudaStreamSynchronize(stream[1])"), {3, 4, 5, 6}),
    (("process: cudaMemcpyAsync",), TWO_LINES),
    (("no_such",), "no call stands in no_such"),
    (("process, 2",), NO_FORM),
]
LAST = [
    (("process: launch_add", 10), 8),
    (("process: launch_add", 4), 3),
    (("process", 9), 7),
    (("process", 6), 2),
    (("process: cudaFree", 10), no_line("cudaFree")),
    (("process: launch_add", 2), no_line("launch_add")),
]

SUCCESS = {"result": "cudaSuccess", "pool": 2, "stream": 1}
FIGURES = [
    {"call": "cudaMallocAsync", "allocation": 1, "bytes": MIB, "offset": 0, "used": MIB},
    {"call": "cudaFreeAsync", "allocation": 1, "used": 0},
    {"call": "cudaMemPoolDestroy"},
]
JOURNAL = [
    {"n": number, "number": number, "reserved": 32 * MIB, **SUCCESS, **line}
    for number, line in enumerate(FIGURES, 1)
]
HIDDEN = "cudaFreeAsync (line ?) changes pool 2, and has no column"
SHOWN = [
    ((("cudaMallocAsync", "cudaMemPoolDestroy"),), HIDDEN),
    ((("cudaMallocAsync", "cudaFreeAsync"),), 2),
]


def columns(shown):
    return len(memory_picture.read(JOURNAL, shown)[0].moments)


for ask, rows in (
    (lambda *words: chosen.choose(RUN, *words), CHOSEN),
    (lambda *words: chosen.last_call(RUN, *words), LAST),
    (columns, SHOWN),
):
    for words, expected in rows:
        try:
            found = ask(*words)
        except ValueError as error:
            found = str(error)
        if found != expected:
            print(f"{words}: {found}, and not {expected}")
