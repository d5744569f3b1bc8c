"""Which function and line of a program printed what: printed(program, arguments, environment).

The program runs once more, with printed.c loaded before its own libraries, and prints that line
again. Its other lines may differ: a mutant that lacks an order prints one number or another.
"""

import re
import subprocess
from functools import cache
from typing import NamedTuple

from runs import ROOT, BookError, run_program, variables_of, words

SHIM = "build/docs/printed.so"


class Piece(NamedTuple):
    """A place in a program's output, from one byte of a process to the next."""

    start: int
    end: int
    offsets: tuple


@cache
def shim():
    """Compiles printed.c, for the compiler's own machine."""
    (ROOT / SHIM).parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", SHIM, "docs/extensions/printed.c"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise BookError(f"docs/extensions/printed.c does not compile:\n{done.stderr}")
    return str(ROOT / SHIM)


@cache
def pieces_of(program, arguments, environment):
    """(text, pieces) of each process, and of each of its two streams, in a second run."""
    record = ROOT / "build" / "docs" / "printed"
    record.unlink(missing_ok=True)
    subprocess.run(
        [ROOT / "build" / "simulator" / program, *arguments],
        cwd=ROOT,
        timeout=60,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={
            **variables_of(environment),
            "LD_PRELOAD": shim(),
            "PRINTED": str(record),
        },
    )
    streams = {}
    data = record.read_bytes() if record.exists() else b""
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        process, stream, length, *offsets = data[at:end].split()
        at = end + 1 + int(length)
        text, pieces = streams.setdefault((process, stream), ([""], []))
        start = len(text[0])
        text[0] += data[end + 1 : at].decode(errors="replace")
        pieces.append(Piece(start, len(text[0]), tuple(int(each) for each in offsets)))
    return [(text[0], pieces) for text, pieces in streams.values()]


@cache
def functions_at(program, offsets):
    """[(function, file, line)] of return addresses, with what was compiled into a function."""
    if not offsets:
        return []
    done = subprocess.run(
        ["addr2line", "-f", "-i", "-e", f"build/simulator/{program}"]
        + [hex(offset - 1) for offset in offsets],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    found = []
    for function, place in zip(lines[::2], lines[1::2], strict=True):
        file, _, line = place.partition(" ")[0].rpartition(":")
        found.append((function, file.removeprefix("./").removeprefix(f"{ROOT}/"), line))
    return found


def printed(program, arguments, environment, line, column):
    """[(function, file, line)], the innermost first, of what printed the character in `column` of
    a line of output; [] when the program's own code did not print it (a report, for example)."""
    for text, pieces in pieces_of(program, arguments, environment):
        # A line that begins with "~" has other numbers each time.
        whole = next(
            (each for each in re.finditer("^.*$", text, re.M) if words(each[0]) == words(line)),
            None,
        )
        if whole:
            at = min(whole.start() + column, whole.end() - 1)
            piece = next(each for each in pieces if each.start <= at < each.end)
            return functions_at(program, piece.offsets)
    output = run_program(program, arguments, environment).output
    if words(line) in words(output).splitlines():
        raise BookError(f"{program} did not print this line when it ran a second time: {line}")
    return []
