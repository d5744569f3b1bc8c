"""What a student handed in for each lesson, and what came of it, for grade.py.

One process imports what a check needs and forks for each lesson. The child has a process group of
its own, so that all that a lesson has begun can be ended together. It prints its judgment to
NAME.json in the folder of the grading.
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
from forms import graded
from place import Machine, is_clang
from protect import NUMBERS
from report import clean

LARGEST = 1 << 20
SECONDS = 600
PR_SET_PDEATHSIG = 1


# ---- what was handed in ----


def absent(grading, name):
    """The sentence about a file that does not exist. It names a file that is likely to be the
    lesson's under another name, such as "06_trim (1).c" or 07-Trim.C."""
    likely, others = re.compile(name.replace("_", "[-_ ]"), re.I), []
    for folder in (grading.source, grading.source / "lessons"):
        if folder.is_dir():
            with os.scandir(folder) as entries:
                others += [x.name for x in entries if x.is_file(follow_symlinks=False)]
    # A name with a line end in it is not repeated.
    others = [x for x in others if likely.search(x) and "\n" not in x]
    other = max(others, key=os.fsencode, default="")
    other = "".join(c if c.isprintable() else "?" for c in other)
    but = f', but "{other}" does: name it {name}.c' if other else ""
    return f"{shown_file(grading, name)} does not exist{but}.{grading.elsewhere}"


def shown_file(grading, name):
    """A file as a grade names it: without a folder, if the student handed in none."""
    return f"{name}.c" if grading.folder == "." else f"lessons/{name}.c"


def handed_in(grading, name):
    """(a lesson of a grade, as far as the student's file decides it; the bytes of that file). The
    numbers of a check are drawn by SEED and by these bytes: nobody hands in a table of the last
    ones."""
    file, shown = grading.source / f"{name}.c", shown_file(grading, name)
    status, why, text = "refused", None, None
    if file.is_symlink():
        why = f"{shown} is a symbolic link. Hand in the file itself."
    elif not os.path.exists(file):
        status, why = "missing", absent(grading, name)
    elif file.is_dir():
        why = f"{shown} is a folder, not a C file."
    elif not file.is_file():
        why = f"{shown} is not a regular file."
    else:
        try:
            with file.open("rb") as opened:
                text = opened.read(LARGEST + 1)
        except OSError:
            why = f"{shown} cannot be read."
    if text is not None and len(text) > LARGEST:
        why = f"{shown} is larger than 1 MiB. No lesson needs that much."
    line = {"lesson": name, "status": status, "sentence": why and clean(why)}
    if why:
        return {**line, "file": None, "seed": None}, None
    found = hashlib.sha256(text).hexdigest()
    seed = int(hashlib.sha256(f"{grading.seed} {found}".encode()).hexdigest()[:7], 16)
    return {**line, "status": "graded", "file": found, "seed": seed}, text


# ---- a lesson, in a process of its own ----


def begin(work, name):
    """Gives a lesson's process its group, its limit of time, and NAME.json for what it prints."""
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.alarm(SECONDS)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    said = os.open(f"{work}/{name}.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(said, 1)
    os.dup2(said, 2)


def judge_one(work, line, place):
    """All that a lesson's process does."""
    name, status = line["lesson"], 1
    try:
        begin(work, name)
        if place.users:
            place.user = NUMBERS[0] + os.getpid() % NUMBERS[1]
        os.environ.update(SEED=str(line["seed"]), CHECK_FOLDER=f"{work}/{name}")
        try:
            found = judge.judge(name, f"{work}/lessons/{name}.c", place=place)
        except Machine as why:
            found = {"ungraded": str(why)}
        json.dump(found, sys.stdout)
        status = 0
    except (judge.Wrong, OSError) as why:
        print(why)
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
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
    """Ends a lesson's process and all that it has begun."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


def end_of(name, status):
    """Why a lesson's process did not end by itself, or None."""
    if not os.WIFSIGNALED(status):
        return None
    if os.WTERMSIG(status) == signal.SIGALRM:
        return f"The check of {name} did not end within {SECONDS} seconds."
    return f"The check of {name} was ended by a signal ({os.WTERMSIG(status)})."


def judge_all(work, grading, place, cgroups):
    """The lessons of a grade, of which each that is judged at the same time has one of the cgroups,
    or "". A signal ends all of them."""
    free, names, running, found = list(cgroups), list(grading.names), {}, []
    gc.disable()  # journals have many lines and no cycles
    compilers_headers(place.compiler)  # asked once, for all lessons
    is_clang(place.compiler)
    try:
        while names or running:
            while names and free:
                line, text = handed_in(grading, names.pop(0))
                found.append(line)
                if text is None:
                    continue
                try:
                    Path(f"{work}/lessons/{line['lesson']}.c").write_bytes(text)
                except OSError:
                    why = f"The disk is full: lessons/{line['lesson']}.c could not be copied."
                    line.update(status="ungraded", sentence=why)
                    continue
                cgroup = free.pop()
                process = os.fork()
                if process == 0:
                    own = {"cgroup": cgroup, "events": f"{cgroup}/{place.events}"}
                    judge_one(work, line, place.changed(**own))
                running[process] = line, cgroup
            if not running:
                break
            process, status = os.wait()
            line, cgroup = running.pop(process)
            stop(process)
            why = end_of(line["lesson"], status)
            if why:
                line.update(status="ungraded", sentence=why)
            remove(f"{work}/{line['lesson']}")
            free.append(cgroup)
    finally:
        for process in running:
            stop(process)
    return [graded(line, os.path.abspath(work)) for line in found]
