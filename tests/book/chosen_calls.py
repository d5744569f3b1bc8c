#!/usr/bin/env python3
"""Chooses calls of a small journal by function and line, for tests/book/pictures.bats."""

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


def attempt(words, **options):
    try:
        print(f"{words}: {sorted(chosen.choose(RUN, **options))}")
    except ValueError as error:
        print(f"{words}: {error}")


attempt("function", from_="process")
attempt("second run", from_="process 2")
attempt("third run", from_="process 3")
attempt("line", from_="process: launch_add", to="process: cudaStreamSynchronize(stream[1])")
attempt("two lines", from_="process: cudaMemcpyAsync")
attempt("no function", from_="no_such")
attempt("no form", from_="process, 2")


def last(words, number):
    try:
        print(f"{words} up to {number}: {chosen.last_call(RUN, words, number)}")
    except ValueError as error:
        print(f"{words} up to {number}: {error}")


last("process: launch_add", 10)
last("process: launch_add", 4)
last("process", 9)
last("process", 6)
last("process: cudaFree", 10)
last("process: launch_add", 2)

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
for shown in (("cudaMallocAsync", "cudaMemPoolDestroy"), ("cudaMallocAsync", "cudaFreeAsync")):
    try:
        print(len(memory_picture.read(JOURNAL, shown)[0].moments), "columns")
    except ValueError as error:
        print(error)
