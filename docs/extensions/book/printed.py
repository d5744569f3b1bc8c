"""Which function and line of a program printed what, and after which of its calls: piece_of.

Each run of a program has printed.c loaded before its own libraries (runs.py), which writes this.
"""

import re
from bisect import bisect_right
from functools import cache
from typing import NamedTuple

from .runs import ROOT, BookError, outcome, run_program, words


class Piece(NamedTuple):
    """A place in a program's output, from one byte of a process to the next."""

    start: int
    end: int
    offsets: tuple
    last: list  # the call that the process had made last: [number, name, line]; or []


def calls_of(journal):
    """([number], [[number, name, line]]) of the calls of a process, by their numbers."""
    calls = {
        line["number"]: [line["number"], line["call"], line.get("line")]
        for line in journal
        if "call" in line and "number" in line and "did" not in line
    }
    numbers = sorted(calls)
    return numbers, [calls[number] for number in numbers]


@cache
def pieces_of(program, arguments, environment):
    """(text, pieces, number of the process) for each process, and for each of its two streams. 1 is
    the process that made the first call."""
    run = run_program(program, arguments, environment)
    calls = {1: calls_of(run.journal), 2: calls_of(run.second)}
    streams = {}
    at = 0
    while at < len(run.printed):
        end = run.printed.index(b"\n", at)
        process, stream, length, before, *offsets = run.printed[at:end].decode().split()
        at = end + 1 + int(length)
        number = 2 if int(process) == run.second_process else 1
        text, pieces, _ = streams.setdefault((process, stream), ([""], [], number))
        start = len(text[0])
        text[0] += run.printed[end + 1 : at].decode(errors="replace")
        numbers, made = calls[number]
        last = bisect_right(numbers, int(before))
        pieces.append(
            Piece(
                start,
                len(text[0]),
                tuple(int(each) for each in offsets),
                made[last - 1] if last else [],
            )
        )
    return [(text[0], pieces, number) for text, pieces, number in streams.values()]


@cache
def functions_at(program, offsets):
    """[(function, file, line)] of return addresses, with what was compiled into a function."""
    if not offsets:
        return []
    addresses = [hex(offset - 1) for offset in offsets]
    command = ["addr2line", "-f", "-i", "-e", f"build/simulator/{program}", *addresses]
    done = outcome(command, check=True)
    lines = done.stdout.splitlines()
    found = []
    for function, place in zip(lines[::2], lines[1::2]):
        file, _, line = place.partition(" ")[0].rpartition(":")
        found.append((function, file.removeprefix("./").removeprefix(f"{ROOT}/"), line))
    return found


def piece_of(program, arguments, environment, line, column, before=0):
    """(piece, number of its process) of the character in `column` of a line of output, which
    `before` equal lines precede; None when the program's own code did not print it (a report, for
    example)."""
    for text, pieces, process in pieces_of(program, arguments, environment):
        # A line that begins with "~" has other numbers each time.
        for whole in re.finditer("^.*$", text, re.M):
            if words(whole[0]) != words(line):
                continue
            if before == 0:
                at = min(whole.start() + column, whole.end() - 1)
                return next(each for each in pieces if each.start <= at < each.end), process
            before -= 1
    output = run_program(program, arguments, environment).output
    if words(line) in words(output).splitlines():
        raise BookError(f"{program} printed this line by no function of printed.c: {line}")
    return None


def printed(program, arguments, environment, line, column):
    """[(function, file, line)], the innermost first, of what printed it; [] for a report."""
    found = piece_of(program, arguments, environment, line, column)
    return functions_at(program, found[0].offsets) if found else []
