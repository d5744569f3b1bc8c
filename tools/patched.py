"""Applies a patch to a file, as patch --fuzz=0 does: patched.py PATCH FILE OUT

Each hunk must be in FILE as it stands in PATCH, and may have moved. What stands in PATCH before the
first hunk is not read. OUT is replaced when all is done. Exit status: 0, or 1 with a sentence when
a hunk is not in FILE.
"""

import os
import re
import sys
from pathlib import Path


def hunks(patch):
    """(number of its first line, lines before, lines after) of each hunk."""
    found, before, after, olds, news = [], [], [], 0, 0
    for line in patch.splitlines(keepends=True):
        head = re.match(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", line)
        if head:
            before, after = [], []
            olds, news = int(head[2] or 1), int(head[3] or 1)
            found.append((int(head[1]), before, after))
            continue
        kind, text = (" ", line) if line == "\n" else (line[0], line[1:])
        if kind != "+" and len(before) < olds:
            before.append(text)
        if kind != "-" and len(after) < news:
            after.append(text)
    return found


def patched(patch, text):
    """The text with the patch applied; None when it does not apply."""
    lines, moved, behind = text.splitlines(keepends=True), 0, 0
    found = hunks(patch)
    for number, before, after in found:
        expected = number - 1 + moved
        places = range(behind, len(lines) - len(before) + 1)
        at = min(
            (place for place in places if lines[place : place + len(before)] == before),
            key=lambda place: abs(place - expected),
            default=None,
        )
        if at is None:
            return None
        lines[at : at + len(before)] = after
        behind = at + len(after)
        moved = at - (number - 1) + len(after) - len(before)
    return "".join(lines) if found else None


def main(patch, file, out):
    text = patched(Path(patch).read_text(encoding="utf-8"), Path(file).read_text(encoding="utf-8"))
    if text is None:
        print(f"{patch} does not apply to {file}.", file=sys.stderr)
        return 1
    new = Path(f"{out}.{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(out)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
