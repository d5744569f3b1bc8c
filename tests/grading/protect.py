"""What this machine allows a grader to protect itself with.

protect.py try FOLDER     tries it with a program that is known to be correct, in FOLDER, and
                          prints what it found as JSON: see try_machine
protect.py known FOLDER   the same; exit status 1 where root would grade in a copy
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

from compiler import compiled
from manifest import ROOT
from place import LIBRARY, MEMORY, Machine, Place, ask_make
from run import run
from usage import call

AS_ANOTHER = ["setpriv", "--reuid=61200", "--regid=61200", "--clear-groups"]
NUMBERS = 61200, 800  # of users without an account

CANARY = """#define _GNU_SOURCE
#include "workbook.h"
#include <unistd.h>
int main(void)
{
    void *memory;
    CHECK(cudaMallocAsync(&memory, 1 << 20, 0));
    CHECK(cudaFreeAsync(memory, 0));
    CHECK(cudaDeviceSynchronize());
    pid_t second = fork();
    if (second == 0)
        _exit(0);
    return second < 0;
}
"""


def succeeds(*command):
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    try:
        return not subprocess.run(command, **quiet, stderr=subprocess.DEVNULL).returncode
    except OSError:
        return False


def is_root():
    return os.getuid() == 0


# ---- memory ----


def own_cgroup(folder, number=""):
    """(a cgroup below the folder that limits memory, the file that counts what it ended), or ()."""
    new = Path(folder, f"workbook.{os.getpid()}{number and f'.{number}'}")

    def is_limited(name, most=MEMORY):
        try:
            with (new / name).open("r+") as file:  # it makes none where this is no cgroup
                return bool(file.write(str(most)))
        except OSError:
            return False

    try:
        new.mkdir()
    except OSError:
        return ()
    if is_limited("memory.max"):
        is_limited("memory.swap.max", 0)
        return str(new), str(new / "memory.events")
    if is_limited("memory.limit_in_bytes"):
        is_limited("memory.memsw.limit_in_bytes")
        return str(new), str(new / "memory.oom_control")
    new.rmdir()
    return ()


def end_cgroup(folder):
    for _ in range(100 if folder else 0):  # the last of its processes may be about to end
        try:
            os.rmdir(folder)
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)


def memory_limit(place):
    """The place with what limits its memory, if anything can."""
    text = Path("/proc/self/cgroup").read_text()
    group = re.search(r"^(?:\d+:memory|0:):(.*)", text, re.M)
    group = group[1] if group else ""
    base = "/sys/fs/cgroup"
    for folder in (f"{base}/memory{group}", f"{base}/memory", f"{base}{group}", base):
        made = own_cgroup(folder)
        if made:
            os.rmdir(made[0])
            return place.changed(groups=folder, events=os.path.basename(made[1]))
    # A person's own systemd makes one for each run.
    scope = ["systemd-run", "--user", "--scope", "--quiet", "-p", f"MemoryMax={MEMORY}", "true"]
    if not is_root() and succeeds(*scope):
        return place.changed(scope=MEMORY)
    return place


# ---- a sandbox ----


def seen_in_sandbox(program):
    """Copies the tools that a sandbox needs, and the libraries of these tools and of a lesson's
    program, to a folder with the same paths: bubblewrap shows three folders sooner than twenty
    files. The copy stays in build/ for the next grading while the machine has these very files."""
    tools = [path for tool in ("prlimit", "setpriv", "addr2line") if (path := shutil.which(tool))]
    files = set()
    # This is what ldd does, but ldd starts each program three times.
    loader = dict(
        os.environ, LD_LIBRARY_PATH=f"{ROOT}/build/simulator", LD_TRACE_LOADED_OBJECTS="1"
    )
    for tool in (program, *tools):
        said = subprocess.run(
            [tool], env=loader, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ).stdout
        files |= set(re.findall(r"(/\S+) \(0x[0-9a-f]+\)$", said, re.M))
    files = [*tools, *sorted(x for x in files if "/libcudart.so" not in x)]
    states = [f"{x} {os.stat(x).st_size} {os.stat(x).st_mtime_ns}" for x in files]
    number = zlib.crc32("\n".join([str(ROOT), *states]).encode())
    folder, new = ROOT / f"build/seen.{number}", ROOT / f"build/seen.new.{os.getpid()}"
    if not folder.is_dir():
        for file in files:
            copy = Path(f"{new}{file}")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        if (new / ROOT.parts[1]).is_dir():  # the workbook is in one of these folders
            Path(f"{new}{ROOT}").mkdir(parents=True, exist_ok=True)
        try:
            new.rename(folder)
        except OSError:
            shutil.rmtree(new)
    return str(folder)


def words_of_canary(folder, found, ended):
    """Why the canary did not run."""
    words = found.words.split("\n")[:10]
    errors = folder / "canary/run/stderr"
    if errors.exists():
        words += errors.read_text(errors="replace").split("\n")[:10]
    if ended:
        words.append(f"It was stopped for its {ended}. Is this machine emulated, or very slow?")
    return "\n".join(filter(None, words))


def canary(folder, place):
    """(the place with what a sandbox shows, ""), or (None, why the program did not run there)."""
    shutil.rmtree(folder / "canary", ignore_errors=True)
    (folder / "canary/run").mkdir(parents=True)
    program = folder / "canary/program"
    names = "_exit", "execl", "fork", "wait", "waitpid"
    source = os.path.relpath(folder / "canary.c", ROOT)
    try:
        found = compiled(source, program, place, "14_peer_access", names)
    except (Machine, OSError) as why:
        return None, str(why)
    if found.words:
        return None, words_of_canary(folder, found, "")
    place, ended = place.changed(seen=seen_in_sandbox(program)), ""
    try:
        status, ended = run(
            {
                "folder": str(folder / "canary/run"),
                "program": str(program),
                "environment": {"LD_LIBRARY_PATH": f"{ROOT}/build/simulator"},
                "lesson": "01_first_allocation",
                "place": vars(place),
            }
        )
    except (Machine, OSError) as why:
        return None, str(why)
    if status or ended:
        return None, words_of_canary(folder, found, ended)
    return place, ""


def chosen(folder, place):
    """(the place with the best sandbox that works, ""), or (None, why no program runs). Root lets a
    student's program run as a user without an account. Each way is tried twice, because one failure
    on a busy machine must not cost a grading its sandbox."""
    number = NUMBERS[0] + os.getpid() % NUMBERS[1] if is_root() else 0
    ways = []
    if shutil.which("bwrap"):
        ways = 2 * (["number", "root"] if number else ["user"])
    for how in (*ways, ""):
        found, why = canary(folder, place.changed(sandbox=how, user=number))
        if found:
            return found.changed(user=0, users=bool(number)), ""
    return canary(folder, place.changed(user=0)) if number else (None, why)


def try_machine(folder):
    """What a grading in this folder may rely on:
    place          the Place of a student's compiler and programs, but for the user and the cgroup
                   of each lesson
    sandbox        "bubblewrap" or "none"
    not_promised   what students' programs can still do here
    not_protected  why no program runs at all, or "" """
    folder = Path(os.path.abspath(folder))
    (folder / "canary.c").write_text(CANARY)
    place = Place(
        compiler=ask_make(),
        headers=os.path.realpath(ROOT / "build/cuda/include"),
        grading=True,
        seal=True,
    )
    found, why = chosen(folder, place)
    # A machine that is emulated by qemu-user has no filters of system calls.
    if not found and re.search("SIM_SEAL.*seccomp", why):
        found, why = chosen(folder, place.changed(seal=False))
    place = memory_limit(found or place)
    lacks = []
    if not place.sandbox:
        lacks = ["hidden files", "a closed network", "a private /tmp"]
        lacks.append("an end of all that a program starts")
        lacks += [] if place.users else ["a limit of processes"]
    lacks += [] if place.seal else ["journals that no program can forge"]
    lacks += [] if place.groups or place.scope else ["a limit of memory"]
    return {
        "place": vars(place),
        "sandbox": "bubblewrap" if place.sandbox else "none",
        "not_promised": lacks,
        "not_protected": why,
    }


# ---- a workbook that is closed to others ----


def commit_here():
    """The commit, where git knows one for this very folder, and not for one around it."""

    def git(*words):
        command = ["git", "-C", str(ROOT), "rev-parse", *words]
        try:
            said = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except OSError:
            return ""
        return said.stdout.strip()

    if git("--show-toplevel") == str(ROOT) and git("HEAD"):
        return git("HEAD")
    return os.environ.get("GRADE_COMMIT") or "unknown"


def needs_copy():
    """Is this root's workbook in a folder that only root can enter, such as /root? Root lets a
    student's program run as another user, so it must then grade in a copy."""
    return (
        is_root()
        and succeeds(*AS_ANOTHER, "true")
        and not succeeds(*AS_ANOTHER, "test", "-r", str(ROOT / LIBRARY))
    )


def copied_workbook():
    """Copies the workbook; the folder of the copy. Others can enter it and read what was built, but
    can neither list it nor read the solutions."""
    folder = tempfile.mkdtemp(prefix="workbook.", dir=os.environ.get("TMPDIR") or "/tmp")
    script = """set -e
        cp -r Makefile lessons simulator tools "$1"
        mkdir -p "$1"/{solutions,tests} "$1"/build/{check,cuda,simulator}
        [ ! -d solutions ] || cp -r solutions "$1"   # a student's workbook has none
        cp -r tests/{build.mk,grading,lessons} "$1/tests"
        # Thousands of files, which another user can often read where they are.
        if "${@:2}" test -r "$(realpath build/cuda/include)/cuda_runtime_api.h"; then
            ln -s "$(realpath build/cuda/include)" "$1/build/cuda/include"
        else
            cp -rL build/cuda/include "$1/build/cuda/include"
        fi
        cp build/simulator/libcudart.so.13 "$1/build/simulator"
        chmod -R u+rwX,go=rX "$1"
        chmod 711 "$1" "$1/build/check"
        chmod 700 "$1"/{solutions,tests/lessons}"""
    command = ["bash", "-c", script, "copy", folder, *AS_ANOTHER]
    said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if said.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        words = said.stdout.decode(errors="replace").strip().split("\n")[-1]
        raise Machine(f"The workbook could not be copied to {os.path.dirname(folder)}: {words}")
    return folder


def readable_here(workbook):
    """What no student may see and a student's program can read here without a sandbox, where root
    lets it run as another user."""
    hidden = [Path(workbook, x) for x in ("solutions", "tests/lessons", ".git")]
    return [str(x) for x in hidden if succeeds(*AS_ANOTHER, "test", "-r", str(x))]


def tried(folder):
    os.umask(0o022)
    print(json.dumps(try_machine(folder)))


def known(folder):
    return 1 if needs_copy() else tried(folder)


if __name__ == "__main__":
    call({"try": tried, "known": known}, sys.argv[1:])
