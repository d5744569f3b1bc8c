"""What a student handed in for each lesson, and the judgment of it, for grade.py.

One process has imported what a check needs. Each lesson is a copy of it (fork), in a process group
of its own, with which all ends that the lesson has begun.

What they have in common is a Task: the folder with the student's files, a sentence where else they
may be, the seed, and the Place of their programs with a cgroup, or none, for each lesson that may
be judged at a time.
"""

import contextlib
import ctypes
import gc
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import judge
from compiler import compilers_headers
from place import Machine, is_clang
from protect import NUMBERS

LARGEST = 1 << 20
SECONDS = int(os.environ.get("CHECK_LESSON_SECONDS") or 600)
PR_SET_PDEATHSIG = 1


class Task:
    def __init__(self, source, elsewhere, seed, place=None, cgroups=()):
        self.source, self.elsewhere, self.seed = Path(source), elsewhere, seed
        self.place, self.cgroups = place, cgroups


# ---- what was handed in ----


def absent(task, name):
    """The sentence about a file that is not there. It names one that is likely to be the lesson's,
    under another name: "06_trim (1).c", 07-Trim.C."""
    likely, others = re.compile(name.replace("_", "[-_ ]"), re.I), []
    for folder in (task.source, task.source / "lessons"):
        if folder.is_dir():
            with os.scandir(folder) as entries:
                others += [x.name for x in entries if x.is_file(follow_symlinks=False)]
    # Names that contain line ends are not told.
    others = [x for x in others if likely.search(x) and "\n" not in x]
    other = max(others, key=os.fsencode, default="")
    other = "".join(c if c.isprintable() else "?" for c in other)
    but = f', but "{other}" does: name it {name}.c' if other else ""
    return f"lessons/{name}.c does not exist{but}.{task.elsewhere}"


def hand_in(task, name):
    """(the bytes of a lesson's file, None), or (None, a word and a sentence why there are none)."""
    file, shown = task.source / f"{name}.c", f"lessons/{name}.c"
    if file.is_symlink():
        return None, f"refused {shown} is a symbolic link. Hand in the file itself."
    if not os.path.exists(file):
        return None, f"missing {absent(task, name)}"
    if file.is_dir():
        return None, f"refused {shown} is a folder, not a C file."
    if not file.is_file():
        return None, f"refused {shown} is not a regular file."
    try:
        with file.open("rb") as opened:
            text = opened.read(LARGEST + 1)
    except OSError:
        return None, f"refused {shown} cannot be read."
    if len(text) > LARGEST:
        return None, f"refused {shown} is larger than 1 MiB. No lesson needs that much."
    return text, None


# ---- a lesson, in a process of its own ----


def file_to_judge(work, name, task):
    """Copies the student's file, whose numbers are drawn by SEED and its own bytes: nobody hands in
    a table of the last ones. None where there is nothing to judge; NAME.status says why."""
    text, why = hand_in(task, name)
    copy = f"{work}/lessons/{name}.c"
    if text is not None:
        try:
            Path(copy).write_bytes(text)
        except OSError:
            why = f"ungraded The disk is full: lessons/{name}.c could not be copied."
    if why:
        Path(f"{work}/{name}.status").write_text(why, encoding="utf-8")
        return None
    found = hashlib.sha256(text).hexdigest()
    seed = int(hashlib.sha256(f"{task.seed} {found}".encode()).hexdigest()[:7], 16)
    Path(f"{work}/{name}.sum").write_text(found)
    Path(f"{work}/{name}.seed").write_text(str(seed))
    os.environ["SEED"] = str(seed)
    return copy


def begin(work, name):
    """What a lesson's process is before it judges. What it prints goes to NAME.json."""
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.alarm(SECONDS)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    said = os.open(f"{work}/{name}.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(said, 1)
    os.dup2(said, 2)


def judge_one(work, name, cgroup, task):
    """Is the whole of a lesson's process."""
    status = 1
    try:
        begin(work, name)
        file = file_to_judge(work, name, task)
        place = task.place.changed(cgroup=cgroup, events=f"{cgroup}/{task.place.events}")
        if place.users:
            place.user = NUMBERS[0] + os.getpid() % NUMBERS[1]
        os.environ["CHECK_FOLDER"] = f"{work}/{name}"
        try:
            json.dump(judge.judge(name, file, place=place), sys.stdout)
            status = 0
        except Machine as why:
            Path(f"{work}/{name}.status").write_text(f"ungraded {why}", encoding="utf-8")
        except (judge.Wrong, OSError) as why:
            print(why)
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        os._exit(status)


# ---- all of them ----


def remove(folder):
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
        subprocess.run(["rm", "-rf", folder], check=False)


def stop(process):
    """Ends what a lesson's process has begun."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


def ended(work, name, status):
    """NAME.status has a word and a sentence where nothing was judged."""
    why = ""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        why = f"The check of {name} did not end within {SECONDS} seconds."
    elif os.WIFSIGNALED(status):
        why = f"The check of {name} was ended by a signal ({os.WTERMSIG(status)})."
    try:
        if why:
            Path(f"{work}/{name}.status").write_text(f"ungraded {why}", encoding="utf-8")
    except OSError:  # a lesson without a judgment is ungraded, too
        os.truncate(f"{work}/{name}.json", 0)
    remove(f"{work}/{name}")


def judge_all(work, names, task):
    """Leaves for each lesson NAME.json, what judge.py made of it, and NAME.sum, .seed and .status.
    A signal ends all of them."""
    free, names, running = list(task.cgroups), list(names), {}
    gc.disable()  # journals have many lines and no cycles
    compilers_headers(task.place.compiler)  # asked once, for all lessons
    is_clang(task.place.compiler)
    try:
        while names or running:
            while names and free:
                name, cgroup = names.pop(0), free.pop()
                process = os.fork()
                if process == 0:
                    judge_one(work, name, cgroup, task)
                running[process] = name, cgroup
            process, status = os.wait()
            name, cgroup = running.pop(process)
            stop(process)
            ended(work, name, status)
            free.append(cgroup)
    finally:
        for process in running:
            stop(process)
