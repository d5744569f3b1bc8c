"""Prints each comment of simulator/ that says "measured" and names no recording, nor does its
file's heading, and each recording that is named and is not there; and how many comments say it.
measured.py [FOLDER]"""

import re
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "simulator")
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


def is_there(name):
    """Is that a recording, or a command that measures?"""
    if name.startswith("make "):
        return re.search(rf"^##.*\b{name}\b", Path("Makefile").read_text(), re.M)
    if EXPECTED.match(name):
        return Path(name).exists()
    return (FACTS / name.removeprefix("simulator/tests/").removeprefix("facts/")).exists()


def main():
    claims = 0
    for path in sorted(set(FOLDER.rglob("*.[ch]")) - set(FOLDER.glob("tests/**/*"))):
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


main()
