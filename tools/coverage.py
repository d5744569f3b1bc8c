#!/usr/bin/env python3
"""Prints what gcov has counted, for coverage.sh: coverage.py GCNO...

A line for each room of simulator/, one for all, and then the functions that never ran.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict

from usage import call


def counted(notes):
    """What gcov says of one file: its lines, by number, and its functions."""
    done = subprocess.run(["gcov", "-t", "--json-format", notes], capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"gcov says nothing of {notes}: {done.stderr}")
    for file in json.loads(done.stdout)["files"]:
        if file["file"].startswith("simulator/") and file["file"].endswith(".c"):
            yield file


def main(first, *others):
    if not shutil.which("gcov"):
        sys.exit("gcov is not installed. It comes with gcc: apt-get install gcc")
    all_notes = first, *others
    for notes in all_notes:
        if not os.path.isfile(notes):
            sys.exit(f"{notes}: there is no such file. Expected what gcc --coverage writes: x.gcno")
    rooms, never = defaultdict(lambda: [0, 0]), []
    for notes in all_notes:
        for file in counted(notes):
            room = rooms[file["file"].split("/")[1]]
            lines = defaultdict(int)
            for line in file["lines"]:
                lines[line["line_number"]] += line["count"]
            room[0] += sum(count > 0 for count in lines.values())
            room[1] += len(lines)
            # One that is compiled for several kinds of processor, "run_load.default", counts once.
            functions = defaultdict(int)
            for one in file["functions"]:
                functions[one["start_line"], one["name"].split(".")[0]] += one["execution_count"]
            never += [
                f"{file['file']}:{line}: {name}"
                for (line, name), count in functions.items()
                if not count
            ]
    if not rooms:
        sys.exit("There is nothing that gcov has counted.")
    rooms["all"] = [sum(column) for column in zip(*rooms.values())]
    for room, (ran, lines) in rooms.items():
        print(f"{room:6} {100 * ran / lines:5.1f} % of {lines} lines")
    print(f"{len(never)} functions never ran:" if never else "Every function ran.")
    print("\n".join(never))


if __name__ == "__main__":
    call({"": main}, sys.argv[1:])
