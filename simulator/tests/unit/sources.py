#!/usr/bin/env python3
"""What tests read from the sources of the simulated device: sources.py QUESTION.

measured  the comments that say "measured" and name no recording, nor does the heading of their
          file; the recordings that are named and are not there; and how many comments say it
locks     the functions that another room calls, whose header says that they need the lock, and that
          do not begin with NEEDS_LOCK(); and how many do
hooks     "`NAME` | the room that calls | the rooms that give", as in the table of
          simulator/README.md, for each place where a room calls a function that a room above it has
          given: a pointer to a function that a header of one room declares, in a variable, in a
          struct (struct.member, or the struct alone if it has nothing else), or as what a function
          keeps, and that a file of another room sets. What a function gets for the time of one call
          is no hook; nor is a function of the program itself, which is called `function`, or the
          body of a thread.
"""

import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

FACTS = Path("simulator/tests/facts")
# A lesson's output on a device is a recording, too.
EXPECTED = re.compile(r"(tests/lessons/\w+|docs/programs)/expected/")
# Match strings first, because a string may contain what looks like a comment.
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', re.S)
# The name of the schedule is not a claim.
CLAIM = re.compile(r"\bmeasured\b(?!,? instant)", re.I)
RECORDING = re.compile(r"[\w/-]+\.txt(?:\.gz)?|\bmake (?:bench|scale)\b")
# With these words a heading names the recording for its whole file.
FOR_ALL = re.compile(r"\bMeasured, where nothing else is named: (.*)", re.S)

PROTOTYPE = re.compile(
    r"^(?!static|typedef|#)[A-Za-z_][\w *]*?[ *](\w+)\([^;{}]*\)(?: __attribute__\(.*\))?;", re.M
)
# What a header says about all of its functions or about one, and about an exception.
NEEDS = re.compile(r"needs? the lock", re.I)
EXCEPT = re.compile(r"need the lock, except (\w+)")

POINTER = re.compile(r"\(\*(\w+)\)\(")
NOT_OURS = ("function", "body")


def is_there(name):
    """Is that a recording, or a command that measures?"""
    if name.startswith("make "):
        return re.search(rf"^##.*\b{name}\b", Path("Makefile").read_text(), re.M)
    if EXPECTED.match(name):
        return Path(name).exists()
    return (FACTS / name.removeprefix("simulator/tests/").removeprefix("facts/")).exists()


def measured(folder):
    claims = 0
    for path in sorted(set(folder.rglob("*.[ch]")) - set(folder.glob("tests/**/*"))):
        text = path.read_text()
        comments = [found for found in COMMENT.finditer(text) if found[0].startswith("/*")]
        for_all = FOR_ALL.search(comments[0][0]) if comments else None
        for comment in comments:
            if not CLAIM.search(comment[0]):
                continue
            claims += 1
            line = text.count("\n", 0, comment.start()) + 1
            names = RECORDING.findall(comment[0])
            if not names and not for_all:
                print(f"{path}:{line}: measured, but where?")
            for name in names:
                if not is_there(name):
                    print(f"{path}:{line}: {name} is no recording")
    print(f"{claims} comments say where something was measured")


def flat(comment):
    """A comment as one line."""
    return re.sub(r"\s+(\* )?", " ", comment)


def that_need_it(header):
    """The functions of a header that need the lock, by what it says."""
    heading, _, body = header.read_text().partition("#ifndef")
    heading = flat(heading)
    # os.h has functions of both kinds, and each says what it needs.
    whole = NEEDS.search(heading) and header.name != "os.h"
    for found in PROTOTYPE.finditer(body):
        before = body[: found.start()].rstrip()
        comment = before[before.rindex("/*") :] if before.endswith("*/") else ""
        if found[1] in EXCEPT.findall(heading):
            continue
        if whole or NEEDS.search(flat(comment)):
            yield found[1]


def locks(folder):
    files = {path: path.read_text() for path in folder.glob("*/*.[ch]")}
    words = {path: set(re.findall(r"\w+", text)) for path, text in files.items()}
    asserted = 0
    for header in sorted(folder.glob("*/*.h")):
        for name in that_need_it(header):
            rooms = {path.parent.name for path in files if name in words[path]}
            if rooms <= {header.parent.name}:
                continue
            definition = re.compile(
                r"^[A-Za-z_][^;{}=\n]*\b" + name + r"\([^;{}]*\)\s*\{([^;]*;)", re.M
            )
            for path in header.parent.glob("*.c"):
                for found in definition.finditer(files[path]):
                    if found[1].strip() == "NEEDS_LOCK();":
                        asserted += 1
                    else:
                        print(f"{path}: {name} does not begin with NEEDS_LOCK()")
    print(f"{asserted} functions assert the lock")


def texts(folder, pattern):
    """The path, the room and the text of each file, without comments."""
    for file in sorted(folder.glob(f"*/{pattern}")):
        yield file, file.parent.name, re.sub(r"/\*.*?\*/", " ", file.read_text(), flags=re.S)


@cache
def included(file, folder):
    """The headers that a file includes, and what those include."""
    names = re.findall(r'^#include "(\w+/\w+\.h)"', file.read_text(), re.M)
    paths = {folder / name for name in names if (folder / name).exists()}
    return paths.union(*(included(path, folder) for path in paths))


def declared(folder):
    """Of each hook that may be: its header, its name, and what sets it, an expression."""
    for file, room, text in texts(folder, "*.h"):
        for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\}", text, re.M | re.S):
            members = [name for name in POINTER.findall(body) if name not in NOT_OURS]
            others = [line for line in re.findall(r"[^;]+;", body) if "(*" not in line]
            if members and not others:
                yield file, name, rf"\bstruct {name} \w+ = \{{|^\s*{name} = \(struct {name}\)"
            else:
                for member in members:
                    sets = rf"(->|\.){member} = (?!NULL)|struct {name} \w+ = {{\s*\w"
                    yield file, f"{name}.{member}", sets
        for name in re.findall(r"^extern \w+ \(\*(\w+)\)\(", text, re.M):
            yield file, name, rf"\b{name} = "
        kept = r"^[\w ]*?\*?(\w+)\([^;{]*?\(\*(\w+)\)\("
        for name, parameter in re.findall(kept, text, re.M):
            if parameter not in NOT_OURS and is_kept(folder, room, name, parameter):
                yield file, name, rf"\b{name}\("


def is_kept(folder, room, name, parameter):
    for file in sorted((folder / room).glob("*.c")):
        found = re.search(
            rf"^[^\n;]*\b{name}\([^;]*?\)\n\{{\n(.*?)^\}}", file.read_text(), re.M | re.S
        )
        if found:
            return bool(re.search(rf"= {parameter};", found[1]))
    return False


def hooks(folder):
    files = list(texts(folder, "*.c"))
    found = defaultdict(set)
    for header, name, sets in declared(folder):
        room = header.parent.name
        for file, giver, text in files:
            if giver != room and header in included(file, folder) and re.search(sets, text, re.M):
                found[name, room].add(giver)
    for (name, room), givers in sorted(found.items(), key=lambda hook: (hook[0][1], hook[0][0])):
        print(f"`{name}` | {room} | {', '.join(sorted(givers))}")


{"measured": measured, "locks": locks, "hooks": hooks}[sys.argv[1]](Path("simulator"))
