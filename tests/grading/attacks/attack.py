"""Compiles a program, and runs it as a grader does: attack.py PLACE FOLDER NAME [ARGUMENT...], for
sandbox.bats.

PLACE is what protect.py has found, as JSON; a run has MEMORY bytes, if the environment has that.
FOLDER/NAME.c is run in FOLDER/NAME.run, on one processor. Where the file does not exist, it is the
hostile case NAME, which must be stopped for the reason that the case gives. Printed are its exit
status, why it was stopped, and its cgroup, which is gone by then; or status 75, and a sentence
about the machine. FOLDER/place.json is the place without that cgroup. Exit status: 1, with a
sentence, if it does not compile, or was stopped for another reason.
"""

import json
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/grading"), str(ROOT / "tests/grading/attacks")]

import protect  # noqa: E402
from attacks import case, written  # noqa: E402
from compiler import compiled  # noqa: E402
from manifest import lessons  # noqa: E402
from place import Machine, Place  # noqa: E402
from run import run  # noqa: E402
from usage import call  # noqa: E402


def protected(place, folder):
    """The place with the user of this folder and the cgroup of one lesson, as lessons.py gives
    them."""
    protect.MEMORY = int(os.environ.get("MEMORY") or protect.MEMORY)
    own = Place(**json.loads(place))
    if own.users:
        own.user = protect.NUMBERS[0] + os.stat(folder).st_ino % protect.NUMBERS[1]
    if own.groups:
        own.cgroup, own.events = protect.own_cgroup(own.groups)
    return own


def end(place):
    """Waits until no process is left in its cgroup, and removes that; the place without it."""
    late = time.monotonic() + 600
    while os.path.isdir(place.cgroup) and time.monotonic() < late:
        protect.end_cgroup(place.cgroup)
    return place.changed(cgroup="")


def main(given, folder, name, *arguments):
    file, must = Path(folder, f"{name}.c"), None
    if not file.exists():
        written(case(name), file)
        must = case(name).given["ended"]
    place, where = protected(given, folder), Path(folder, f"{name}.run").absolute()
    where.mkdir()
    words = compiled(file, file.with_suffix(""), place).words
    if words:
        sys.exit(words)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    environment = {
        "LD_LIBRARY_PATH": f"{ROOT}/build/simulator",
        "SIM_JOURNAL": f"{where}/journal.jsonl",
    }
    try:
        status, ended = run(
            {
                "place": vars(place),
                "lesson": lessons()[0],
                "folder": str(where),
                "program": str(where.with_suffix("")),
                "arguments": arguments,
                "environment": environment,
            }
        )
    except Machine as why:
        status, ended = 75, str(why)
    Path(folder, "place.json").write_text(json.dumps(vars(end(place))))
    if must is not None and ended != must:
        sys.exit(f'{name}: ended for "{ended}" and not for "{must}"')
    print(status, ended, place.cgroup, sep="|")


if __name__ == "__main__":
    os.chdir(ROOT)
    call({"": main}, sys.argv[1:])
