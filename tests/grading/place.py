"""Where a student's compiler and programs run: limits, a user, a sandbox and a cgroup.

A Place is data, which protect.py finds out once for a grading and keeps as JSON:

    compiler    the words of the compiler's command, with its flags
    library     the simulated device that programs are linked with and load
    headers     the folder of the toolkit's headers
    grading     true: there are limits for all that a program starts, each run says whether the disk
                is full, and what this machine is too busy for is no fault of the program's
    sandbox     how sandbox.py makes one: user, number, root, or "" for none
    seen        the folder with what a program sees in a sandbox
    user        for root: the number of the user who compiles and runs, without an account, or 0
    users       true: each lesson has such a user of its own
    cgroup      a folder that limits the memory of what runs, or ""; groups: where one can be made
    events      the name of its file that counts what the kernel ended for it
    scope       bytes, where systemd makes a cgroup for each run, or 0
    seal        true: the library lets a program do only what lessons need (seal.py)

A person may set CHECK_SECONDS (5), CHECK_PROCESSES (64) and CHECK_KILOBYTES (65536): the processor
time of a run, its processes and threads, and the length of its files together.
"""

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path

from manifest import Wrong

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "build/simulator/libcudart.so.13"
MEMORY = 1 << 31  # of programs and of the compiler
PATIENCE = 30  # seconds that a tool may take; in a sandbox twice as many


class Machine(Wrong):
    """This machine cannot judge the file; the text says why. It costs no points."""


def asked_number(name, usual=0):
    """A number that the environment may give."""
    text = os.environ.get(name) or ""
    if not re.fullmatch("([1-9][0-9]{0,8})?", text):
        raise Wrong(f"{name}={text}: expected a whole number from 1 to 999999999.")
    return int(text or usual)


def waiting_share():
    """What a rule is worth that waits for the repair of another mistake."""
    text = os.environ.get("CHECK_WAITING") or "1"
    if not re.fullmatch(r"0|1|0?\.[0-9]+|[01]\.0+", text):
        raise Wrong(f"CHECK_WAITING={text}: expected a number from 0 to 1, such as 0.5.")
    return float(text)


def expect_settings():
    """Refuses a wrong number before anything is judged with it."""
    for name in ("CHECK_SECONDS", "CHECK_PROCESSES", "CHECK_KILOBYTES"):
        asked_number(name)
    waiting_share()


class Place:
    def __init__(self, **words):
        self.compiler, self.library, self.headers = [], LIBRARY, ""
        self.grading, self.sandbox, self.seen = False, "", ""
        self.user, self.users, self.cgroup, self.groups = 0, False, "", ""
        self.events, self.scope, self.seal = "", 0, False
        self.__dict__.update(words)

    seconds = property(lambda self: asked_number("CHECK_SECONDS", 5))
    processes = property(lambda self: asked_number("CHECK_PROCESSES", 64))
    kilobytes = property(lambda self: asked_number("CHECK_KILOBYTES", 65536))
    journal_kilobytes = 16384  # the largest journal of a solution has a third of that

    def changed(self, **words):
        return Place(**{**vars(self), **words})

    @property
    def as_user(self):
        """The words before a command that is to run as the user without an account."""
        number = f"--reuid={self.user}", f"--regid={self.user}"
        return ["setpriv", *number, "--clear-groups", "--no-new-privs"] if self.user else []


def plain(sanitize=""):
    """The place of a student's own check: it has limits and no sandbox."""
    kind = "".join(f"-{word}" for word in sanitize.split(",") if word)
    library = f"build/simulator{kind}/libcudart.so.13"
    seal = bool(os.environ.get("CHECK_SEAL"))  # for tests
    return Place(compiler=ask_make(sanitize), library=library, seal=seal)


def from_file(path):
    return Place(**json.loads(Path(path).read_text()))


def ask_make(sanitize=""):
    """How make compiles a program for a check. CHECK_COMPILER has it, a word on each line, where
    many files are checked one after the other."""
    given = os.environ.get("CHECK_COMPILER")
    if given and not sanitize:
        return given.split("\n")
    command = ["make", "-s", "grader", "BACKEND=", f"SANITIZE={sanitize}"]
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    said = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    lines = said.stdout.splitlines()
    return [line[9:] for line in lines if line.startswith("compiler ")]


def without_flags(compiler):
    """The words of the compiler's command up to its first flag."""
    flags = (number for number, word in enumerate(compiler) if word.startswith("-"))
    return compiler[: next(flags, len(compiler))]


def solution_of(lesson):
    """The lesson's solution, or what a student's copy has in its place."""
    file = f"solutions/{lesson}.c"
    return file if (ROOT / file).exists() else f"lessons/{lesson}.c"


@cache
def said_by_compiler(*command):
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.run(command, **quiet, check=False).stdout.decode()


def is_clang(compiler):
    """clang reads the assembly of a file itself, unless it is told that an assembler will."""
    words = "-dM", "-E", "-x", "c", "/dev/null"
    try:
        return "__clang__" in said_by_compiler(*without_flags(compiler), *words)
    except OSError:
        return False
