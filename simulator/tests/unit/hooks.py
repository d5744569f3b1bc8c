#!/usr/bin/env python3
"""The hooks of simulator/: where a room calls a function that a room above it has given. Prints a
line for each, "`NAME` | the room that calls | the rooms that give", as the table of
simulator/README.md has them: hooks.py [SIMULATOR].

A hook is a pointer to a function that a header of one room declares, in a variable, in a struct
(struct.member, or the struct alone if it has nothing else), or as what a function keeps, and that a
file of another room sets. What a function gets for the time of one call is none; nor is a function
of the program itself, which is called `function`, or the body of a thread.
"""

import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

POINTER = re.compile(r"\(\*(\w+)\)\(")
NOT_OURS = ("function", "body")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def texts(simulator, pattern):
    """The path, the room and the text of each file."""
    for file in sorted(simulator.glob(f"*/{pattern}")):
        yield file, file.parent.name, without_comments(file.read_text(encoding="utf-8"))


@cache
def included(file, simulator):
    """The headers that a file includes, and what those include."""
    names = re.findall(r'^#include "(\w+/\w+\.h)"', file.read_text(encoding="utf-8"), re.M)
    paths = {simulator / name for name in names if (simulator / name).exists()}
    return paths.union(*(included(path, simulator) for path in paths))


def declared(simulator):
    """Of each hook that may be: its header, its name, and what sets it, an expression."""
    for file, room, text in texts(simulator, "*.h"):
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
            if parameter not in NOT_OURS and is_kept(simulator, room, name, parameter):
                yield file, name, rf"\b{name}\("


def is_kept(simulator, room, name, parameter):
    for file in sorted((simulator / room).glob("*.c")):
        found = re.search(
            rf"^[^\n;]*\b{name}\([^;]*?\)\n\{{\n(.*?)^\}}", file.read_text(), re.M | re.S
        )
        if found:
            return bool(re.search(rf"= {parameter};", found[1]))
    return False


def main(folder="simulator"):
    simulator = Path(folder)
    files = list(texts(simulator, "*.c"))
    hooks = defaultdict(set)
    for header, name, sets in declared(simulator):
        room = header.parent.name
        for file, giver, text in files:
            if (
                giver != room
                and header in included(file, simulator)
                and re.search(sets, text, re.M)
            ):
                hooks[name, room].add(giver)
    for (name, room), givers in sorted(hooks.items(), key=lambda hook: (hook[0][1], hook[0][0])):
        print(f"`{name}` | {room} | {', '.join(sorted(givers))}")


main(*sys.argv[1:])
