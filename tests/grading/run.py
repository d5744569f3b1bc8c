"""Runs one program of a student, as a description says, which is JSON or a dictionary:

    folder       its working directory, which receives stdout, stderr and its journals
    program, arguments, environment     what runs; there is no other environment
    lesson       NN_name; file: the student's file, which reports quote
    exec         true: it may start itself again, although it is sealed
    place        a Place (place.py), which says what protects a grader

    run.py DESCRIPTION.json     prints {"status": ..., "ended": ...}

status is the exit status, 128 + N after signal N. ended says why it was stopped: "time" after
CHECK_SECONDS of a processor, or when it has slept for so long; "flood" when its files have more
than CHECK_KILOBYTES, or a journal more than 16 MiB, and what is longer is cut off there; "memory";
"journal" when a journal is not the one that the simulated device wrote; or "". The program gets no
input and no descriptor but 0, 1 and 2. Its session ends with it. Links, pipes and sockets that it
left in the folder are removed, so that whoever reads its files reads plain files.

In a grading it has four times as many seconds in all, CHECK_PROCESSES processes and threads, and no
file of more than 1 GiB. In a sandbox all that it starts ends with it. It sees its libraries,
itself, the student's file, and an empty folder instead of its working directory: the folder "own"
next to that, which all runs share. What a run leaves there is removed, except for its journals.

A program that was stopped after using little processor time slept, and that is its own fault, or
it waited for a processor of a busy machine. In the second case it runs again, with a lock that
keeps such runs apart. If it is as slow then, the lesson's solution runs. If that is slow, too, the
fault is the machine's: Machine is raised, as it is when a sandbox cannot be made or the disk is
full.
"""

import contextlib
import fcntl
import glob
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from compiler import compiled
from place import LIBRARY, ROOT, Machine, Place, solution_of
from sandbox import joining, sandbox_failed, sandboxed
from seal import Seal
from usage import call

# The session's number is printed on the pipe, which no process of the session holds open. The time
# limit ends the session even after the grader itself was killed.
ALONE = """ulimit -c 0
ulimit -S -t "$seconds"
ulimit -H -t "$((seconds + 1))"
[ -z "$limited" ] || ulimit -f 1048576
eval 'setsid timeout --signal=KILL "$longest" "$@" '"$pipe>&- &"
echo $! >&"$pipe"
wait $! 2>/dev/null
"""
SCOPE = "systemd-run --user --scope --quiet --collect -p MemorySwapMax=0 -p"
TICKS = os.sysconf("SC_CLK_TCK")


def stats(pattern):
    """(the path, the words from its state on) of each process or task: proc(5)."""
    for path in map(
        Path, glob.glob(f"/proc/{pattern}")
    ):  # Path.glob raises if a process ends meanwhile
        with contextlib.suppress(OSError, IndexError):
            yield path.parent, (path.read_text(errors="replace").rpartition(") ")[2].split())


class Running:
    """A program that runs: what it used, whether it waits, how it is stopped."""

    def __init__(self, place):
        self.place, self.first, self.boxed, self.worked = place, 0, False, 0

    def hear(self, line):
        """Takes a line of the pipe: the session's number, or a report of bubblewrap. That names the
        first process of the sandbox and, once the program has begun and ended there, an exit
        code."""
        number = re.search(rb'^(\d+)$|"child-pid": (\d+)', line)
        if number:
            self.first = int(number[1] or number[2])
        self.boxed = self.boxed or b'"exit-code": ' in line

    def is_own(self, path, words):
        if not self.place.sandbox:
            return int(words[3]) == self.first  # its session
        try:
            return os.path.samefile(path / "ns/pid", f"/proc/{self.first}/ns/pid")
        except OSError:
            return False

    def is_busy(self):
        """Did the program, and what it started, use the processor for about as long as it may?"""
        used = 0
        for path, words in stats("[0-9]*/stat"):
            if self.is_own(path, words):
                used += sum(map(int, words[11:15]))
        return used >= 0.95 * TICKS * self.place.seconds

    def is_at_work(self):
        """Does the program want a processor now, or did it compute or wait for one for more than a
        fortieth of the time since the last look, two seconds ago? On a busy machine a program waits
        for a processor, while a program that sleeps does not. A wrong yes costs time and no
        points."""
        last, self.worked = self.worked, 0
        if not self.first:  # its sandbox is not made yet
            return True
        for path, words in stats("[0-9]*/task/[0-9]*/stat"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                if not self.is_own(path, words):
                    continue
                if words[0] in "RD":
                    return True
                ran, waited = (path / "schedstat").read_text().split()[:2]
                self.worked += int(ran) + int(waited)
        return self.worked - last > 50000000

    def ask_where(self):
        """Has the simulated device say in which call the program is, and end it."""
        for path, words in stats("[0-9]*/stat"):
            if int(path.name) != self.first and self.is_own(path, words):
                with contextlib.suppress(OSError):
                    os.kill(int(path.name), signal.SIGXCPU)

    def stop(self, process):
        with contextlib.suppress(ProcessLookupError):
            if not self.place.sandbox:
                if self.first:
                    os.killpg(self.first, signal.SIGKILL)
                return
        for number in filter(None, (self.first, process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

    def wait_for_sandbox(self):
        """Waits until the first process of a sandbox is dead, because then all others in it are
        dead, too. It closes its files a little earlier."""
        looks = 0
        while self.first:
            try:
                words = Path(f"/proc/{self.first}/stat").read_text(errors="replace")
            except OSError:
                return
            if words.rpartition(") ")[2][:1] in ("Z", "X", ""):
                return
            looks += 1
            time.sleep(0.01 if looks > 20 else 0.0002)


class Run:
    def __init__(self, description):
        self.given = description
        self.place = Place(**description.get("place", {}))
        place = self.place
        self.here = os.path.abspath(description["folder"])
        self.own = os.path.join(os.path.dirname(self.here), "own") if place.sandbox else self.here
        self.command = [description["program"], *description.get("arguments", [])]
        self.environment = dict(description.get("environment", {}))
        self.wall = place.seconds * (4 if place.grading else 1)
        self.longest = self.wall + 9 if place.grading else 120 * place.seconds
        self.seal, self.status, self.ended = None, 0, ""

    # -- one attempt --

    def prepare(self):
        user = self.place.user
        if self.own == self.here:
            if user:
                os.chmod(self.here, 0o1777)
        elif not os.path.isdir(self.own):
            os.mkdir(self.own, 0o755)
            if user:
                os.chown(self.own, user, user)
        if self.place.seal:
            self.close()
            self.seal = Seal(f"{self.here}.receipts", hidden=bool(self.place.sandbox))
            exec_ = ":exec" if self.given.get("exec") else ""
            self.environment["SIM_SEAL"] = f"{self.seal.descriptor}{exec_}"

    def reopen(self):
        """Restores the permissions of its folder, which a program may have removed. Root bypasses
        them, but an ordinary user does not, nor does the sandbox of a later run."""
        with contextlib.suppress(OSError):
            os.chmod(self.own, 0o755)

    def close(self):
        if self.seal:
            self.seal.close()
        self.seal = None

    def words(self, pipe):
        """(the words of the command, its environment)"""
        place, most = self.place, []
        base = {"PATH": "/usr/bin:/bin", "HOME": self.here, "LC_ALL": "C"}
        environment = {**base, **self.environment}
        # The limit counts all processes of a user. So it is set only where a sandbox or a number
        # without an account has the user for itself, and after the change to that user.
        if place.grading and (place.sandbox or place.user):
            most = ["prlimit", f"--nproc={place.processes}"]
        if not place.sandbox:
            settings = {"seconds": place.seconds, "limited": place.grading or "", "pipe": pipe}
            settings["longest"] = self.longest
            settings = {name: str(value) for name, value in settings.items()}
            pairs = [f"{name}={value}" for name, value in environment.items()]
            words = [*place.as_user, *most, "env", "-i", *pairs, *self.command]
            words = [*joining(place), "bash", "-c", ALONE, "run", *words]
            return words, {**os.environ, **settings, "LC_ALL": "C"}  # Bash begins sooner
        most += ["--core=0", f"--cpu={place.seconds}:{place.seconds + 1}", f"--fsize={1 << 30}"]
        lesson = os.path.join(ROOT, self.given.get("file") or "none")
        library, traces = f"{ROOT}/{LIBRARY}", f"{ROOT}/lessons/traces"
        program, tests = self.command[0], os.path.join(os.path.dirname(self.here), "tests")
        seen = ["--sync-fd", str(pipe), "--json-status-fd", str(pipe)]
        seen += ["--ro-bind", library, library, "--ro-bind", program, program]
        for path in (lesson, traces, tests):
            seen += ["--ro-bind-try", path, path]
        seen += ["--bind", self.own, self.here, "--chdir", self.here]
        for name, value in environment.items():
            seen += ["--setenv", name, value]
        words = sandboxed(place, "run", seen, [*most, *self.command])
        if not place.scope:
            return words, {}
        scope = [*SCOPE.split(), f"MemoryMax={place.scope}", "--", "env", "-i"]
        return [*scope, *words], os.environ

    def begin(self, pipe):
        words, environment = self.words(pipe)
        sealed = (self.seal.descriptor,) if self.seal else ()
        with open(f"{self.here}/stdout", "wb") as out, open(f"{self.here}/stderr", "wb") as errors:
            return subprocess.Popen(
                words,
                cwd=self.here,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                pass_fds=(pipe, *sealed),
            )

    def attempt(self):
        """Sets status and ended, which may also be "starved", when the program waited for a
        processor, or "machine", when there was no sandbox."""
        self.prepare()
        running, before = Running(self.place), self.killed()
        self.ended, end = "", time.monotonic() + self.wall + 1
        reading, writing = os.pipe()
        try:
            process = self.begin(writing)
        finally:
            os.close(writing)
        try:
            self.watch(process, running, reading, end)
            status = process.wait()
        finally:
            os.close(reading)
        self.status = 128 - status if status < 0 else status
        self.settle(process, running, before)

    def watch(self, process, running, reading, end):
        part, looks = b"", 0
        while True:
            if select.select([reading], [], [], 0.2)[0]:
                read = os.read(reading, 65536)
                *lines, part = (part + read).split(b"\n")
                for line in lines:
                    running.hear(line)
                if not read:  # every process that held the pipe has ended
                    return
                continue
            if self.is_flooded():
                self.ended = "flood"
            elif time.monotonic() < end:
                continue
            else:
                starved, looks = not running.is_busy() and running.is_at_work(), looks + 1
                if starved and (looks == 1 or not self.place.grading):
                    end = time.monotonic() + 2
                    continue
                self.ended = "starved" if starved else "time"
                running.ask_where()
                select.select([reading], [], [], 1)
            running.stop(process)
            return

    def settle(self, process, running, before):
        if self.place.sandbox:
            running.wait_for_sandbox()
            if not self.ended and not running.boxed:
                self.ended = "machine"
        else:
            # The program ended by itself just before it was to be stopped.
            if self.ended == "time" and self.status < 124:
                self.ended = ""
            running.stop(process)
        self.reopen()
        if self.killed() != before:
            self.ended = "memory"
        elif self.status == 128 + signal.SIGXFSZ or self.is_flooded():
            self.ended = "flood"
        elif self.status == 128 + signal.SIGXCPU and not self.ended:
            self.ended = "time"
        elif self.place.scope and self.status == 137 and not self.ended:
            self.ended = "memory"

    def killed(self):
        """How often the kernel has stopped a process of the cgroup for its memory."""
        if not self.place.cgroup:
            return ""
        text = Path(self.place.events).read_text()
        return re.search(r"^oom_kill (\d+)", text, re.M)[1] if "oom_kill " in text else ""

    # -- its files --

    def find(self, *words):
        done = subprocess.run(
            ["find", *words],
            cwd=self.here,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        )
        return done.stdout.decode(errors="replace").splitlines()

    def sizes(self):
        """[(bytes, is it a journal)] of the files. A journal lies in the folder itself. Where all
        files are plain, as after most runs, no find is started."""
        try:
            entries = {x.path: x for x in os.scandir(self.own)}
            entries |= {x.path: x for x in os.scandir(self.here) if x.name in ("stdout", "stderr")}
            if all(x.is_file(follow_symlinks=False) for x in entries.values()):
                return [
                    (x.stat(follow_symlinks=False).st_size, x.name.startswith("journal.jsonl"))
                    for x in entries.values()
                ]
        except OSError:  # a program may shut its folder, or remove a file meanwhile
            self.reopen()
        where = [self.own] if self.own == self.here else [self.own, "stdout", "stderr"]
        journal = ["(", "-name", "journal.jsonl*", "-printf", "%d", "-o", "-true", ")"]
        lines = self.find(*where, "-type", "f", "-printf", "%s ", *journal, "-printf", "\\n")
        return [(int(line.split(" ")[0]), line.endswith(" 1")) for line in lines]

    def is_flooded(self):
        """By all files, or by one journal. The sizes of files count, not their blocks: a file with
        holes has few."""
        total, most = 0, 1024 * self.place.journal_kilobytes
        for size, journal in self.sizes():
            if journal and size > most:
                return True
            total += size
        return total > 1024 * self.place.kilobytes

    def empty(self):
        """Removes what a run has left in its own folder."""
        subprocess.run(["chmod", "-R", "u+rwX", self.own], stderr=subprocess.DEVNULL, check=False)
        self.find(self.own, "-mindepth", "1", "-delete")

    def clear(self):
        self.empty()
        if self.own != self.here:
            self.find("stdout", "stderr", "-delete")

    def take_journals(self):
        """Moves the journals that a sandbox has left to the working directory, and removes the
        rest."""
        for entry in [*os.scandir(self.own)]:
            plain = entry.is_file(follow_symlinks=False)
            if plain and entry.name.startswith("journal.jsonl"):
                if not os.access(entry.path, os.R_OK):
                    os.chmod(entry.path, 0o600)
                os.rename(entry.path, os.path.join(self.here, entry.name))
        if any(os.scandir(self.own)):
            self.empty()

    def cut_off(self):
        """Cuts off files that are too long: when a flood is noticed, a file may be a hundred times
        as long as allowed. One byte more than the limit stays, so that a reader sees it."""
        for most, which in (
            (self.place.kilobytes, []),
            (self.place.journal_kilobytes, ["-maxdepth", "1", "-name", "journal.jsonl*"]),
        ):
            cut = ["-exec", "truncate", "-s", str(1024 * most + 1), "{}", "+"]
            self.find(".", *which, "-type", "f", "-size", f"+{most}k", *cut)

    def expect_room(self):
        """Raises Machine when the disk is full, because that has cut off what the program wrote and
        is not its fault. In a grading a neighbor may fill the disk at any time, so each run ends
        with this."""
        room = os.path.join(self.here, ".room")
        try:
            with open(room, "wb") as file:
                file.write(bytes(1 << 20 if self.place.grading else 4096))
        except OSError:
            self.find(".", "-type", "f", "-delete")
            raise Machine(
                f"The disk is full: nothing more can be written to {self.here}. Make room there."
            ) from None
        finally:
            with contextlib.suppress(OSError):
                os.unlink(room)

    # -- the whole --

    def is_machine_slow(self):
        """Is the lesson's solution slow, too?"""
        begun, file = time.monotonic(), solution_of(self.given.get("lesson", ""))
        folder, plain = Path(self.here, "canary"), Place(compiler=self.place.compiler)
        (folder / "run").mkdir(parents=True)
        if not compiled(file, folder / "program", plain).words:
            text = json.dumps({**self.given, "place": vars(self.place)})
            again = Run(json.loads(text.replace(self.here, f"{folder}/run")))
            again.command[0] = str(folder / "program")
            again.attempt()
            again.close()
        subprocess.run(["rm", "-rf", str(folder)], check=False)
        return time.monotonic() - begun >= self.wall / 4

    def alone(self):
        with open(ROOT / "build/check/alone", "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.clear()
            self.attempt()
            if self.ended != "starved":
                return
            self.ended = "time"
            if self.is_machine_slow():
                raise Machine(
                    "A run of its program did not end, and this machine was so busy that the "
                    "solution was slow too."
                )

    def whole(self):
        self.attempt()
        if self.ended == "machine":
            self.clear()
            self.attempt()
        if self.ended == "machine":
            words = Path(self.here, "stderr").read_text(errors="replace")
            raise Machine(sandbox_failed(words.split("\n")[0]))
        if self.ended == "starved":
            self.alone()
        if self.own != self.here:
            self.take_journals()
        sealed = self.seal and not self.ended and self.status < 128
        if sealed and not self.seal.holds(self.here, self.environment):
            self.ended = "journal"
        if self.own == self.here:
            # Most runs leave only plain files, and then no find is started.
            if not all(x.is_file(follow_symlinks=False) for x in os.scandir(self.here)):
                self.find(".", "!", "-type", "f", "!", "-type", "d", "-delete")
            if self.place.user:  # a later run of the same user cannot change what this one left
                os.chmod(self.here, 0o700)
        if self.ended == "flood":
            self.cut_off()
        self.expect_room()
        return self.status, self.ended


def run(description):
    """(its exit status, why it was stopped or ""). Raises Machine."""
    job = Run(description)
    try:
        return job.whole()
    finally:
        job.close()


def main(path):
    status, ended = run(json.loads(Path(path).read_text()))
    print(json.dumps({"status": status, "ended": ended}))


if __name__ == "__main__":
    call({"": main}, sys.argv[1:], (Machine,), 2)
