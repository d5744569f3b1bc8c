"""Which function and line of a program printed what, and after which of its calls: piece_of.

The program runs once more, with printed.c loaded before its own libraries, and prints that line
again. Its other lines may differ: a mutant that lacks an order prints one number or another.
"""

import json
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
    last: list  # the call that the process had made last: [number, name, line]; or []


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
    """(text, pieces, number of the process) for each process, and for each of its two streams, in a
    second run. 1 is the process that made the first call."""
    record = ROOT / "build" / "docs" / "printed"
    journal = record.with_suffix(".journal")
    for old in (record, *record.parent.glob(f"{journal.name}*")):
        old.unlink(missing_ok=True)
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
            "SIM_JOURNAL": str(journal),
        },
    )
    marks = {
        file.name.removeprefix(f"{journal.name}").lstrip("."): marks_in(file)
        for file in record.parent.glob(f"{journal.name}*")
    }
    streams = {}
    data = record.read_bytes() if record.exists() else b""
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        process, stream, length, mark, *offsets = data[at:end].decode().split()
        at = end + 1 + int(length)
        text, pieces = streams.setdefault((process, stream), ([""], []))
        start = len(text[0])
        text[0] += data[end + 1 : at].decode(errors="replace")
        own = marks.get(process, marks.get("", []))
        last = own[int(mark) - 1] if 0 < int(mark) <= len(own) else []
        pieces.append(Piece(start, len(text[0]), tuple(int(each) for each in offsets), last))
    return [
        (text[0], pieces, 2 if process in marks else 1)
        for (process, _), (text, pieces) in streams.items()
    ]


def marks_in(journal):
    """The program's last call, as a Piece has it, at each mark that printed.c left in a journal."""
    found, last = [], []
    for text in journal.read_text(encoding="utf-8").splitlines():
        # Most lines are others, and to parse them takes time.
        if '"call":' not in text or '"number":' not in text or '"did":' in text:
            continue
        line = json.loads(text)
        if line["call"] == "cudaPeekAtLastError" and "file" not in line:
            found.append(last)
        else:
            last = [line["number"] - len(found), line["call"], line.get("line")]
    return found


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
        raise BookError(f"{program} did not print this line when it ran a second time: {line}")
    return None


def printed(program, arguments, environment, line, column):
    """[(function, file, line)], the innermost first, of what printed it; [] for a report."""
    found = piece_of(program, arguments, environment, line, column)
    return functions_at(program, found[0].offsets) if found else []
