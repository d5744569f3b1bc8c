"""Grades a class, as grade.sh describes it: every folder in CLASS is a student.

GNU parallel keeps the queue and starts this file for each student, with the word student, or
student-there on another machine. The queue runs in a process namespace of its own, which ends with
this process, whatever ends it: nothing goes on grading.
"""

import contextlib
import fcntl
import hashlib
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.append(f"{Path(__file__).parent}/class")

import protect  # noqa: E402
import tables  # noqa: E402
import unpack  # noqa: E402
from course import Course, Refused  # noqa: E402
from grade import (  # noqa: E402
    expect_files,
    fail,
    folders_with_lessons,
    say,
    settings_of_grading,
    stopped,
)
from keep import keep  # noqa: E402
from manifest import ROOT, Wrong, lessons  # noqa: E402
from place import asked_number  # noqa: E402
from usage import call  # noqa: E402

PYTHON = [sys.executable, "-EsS", "-X", f"pycache_prefix={ROOT}/build/python"]
HERE = "tests/grading/grade_class.py"
LEASH = ["bwrap", "--die-with-parent", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc"]


def leash():
    return LEASH if protect.succeeds(*LEASH, "true") else []


# ---- one student ----


def grade(folder, out, mask):
    """grade.py on a folder: its exit status, and what it said."""
    settings = {"STUDENT": folder, "OUT": out, "JOBS": "1", "RESUME": "1", "GRADE_OF_CLASS": "1"}
    said = subprocess.run(
        [*PYTHON, "tests/grading/grade.py", ROOT, ROOT, mask],
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    return said.returncode, said.stderr.decode(errors="surrogateescape")


def name_of(path):
    """The name of the student whose folder or ZIP file this is."""
    return path.name[:-4] if unpack.is_zip(path) else path.name


def grade_student(folder, mask):
    """Leaves in OUT/students/NAME grade.json and what is derived from it, or errors.txt, the same
    after each call. The file begun marks a grading that has not ended."""
    out = Path(os.environ["OUT"], "students", name_of(Path(folder)))
    out.mkdir(parents=True, exist_ok=True)
    begun, errors, written = out / "begun", out / "errors.txt", out / "grade.json"
    begun.write_text("")
    unpacked = out / "handed-in"
    shutil.rmtree(unpacked, ignore_errors=True)
    if not folders_with_lessons(folder):
        left_out = unpack.student_of(folder, unpacked)
        unpack.name_left_out(left_out or {})
        folder = folder if left_out is None else unpacked
    status, words = grade(folder, out, mask)
    if status:
        words = words.replace(f"STUDENT={folder}: ", "")  # who it is about is known
        errors.write_text(words.rstrip("\n") + "\n", errors="surrogateescape")
        # Remove a grade that an earlier run has written.
        if written.exists() and written.stat().st_mtime_ns <= begun.stat().st_mtime_ns:
            written.unlink()
        say(f"Not graded: {tables.shown(out.name)}: {words.partition(chr(10))[0]}")
    else:
        errors.unlink(missing_ok=True)
    if os.environ.get("GRADE_KEEP"):
        keep_submissions(folder, out, mask)
    begun.unlink()
    return status


def keep_submissions(folder, out, mask):
    """Where the best submission counts: keeps this one and those that came before it, and grades
    what these checks have not graded."""
    if (out / "grade.json").exists():
        keep(folder, out, graded=True)
    for earlier in sorted(Path(folder, ".earlier").glob("*")):
        keep(earlier, out)
    kept = [each.parent for each in out.glob("submissions/*/lessons")]
    for each in kept if len(kept) > 1 else ():
        grade(each, each, mask)


# ---- what is asked for ----


class Class:
    """What the environment asks for. caller: where it was typed; part: its number, of how many."""

    def __init__(self, caller, part):
        asked, self.part = os.environ, part
        self.named = asked.get("CLASS") or ""
        if not self.named:
            fail(
                "Name the class: make grade-class CLASS=FOLDER, where FOLDER has a folder or a ZIP "
                "file for each student."
            )
        self.folder = Path(caller, self.named)
        expect_files("CLASS", self.named, self.folder)
        settings_of_grading()
        self.jobs, self.given_seed = asked_number("JOBS"), asked_number("SEED")
        self.machines = asked.get("SSHLOGIN") or ""
        for tool in ("parallel", "ssh") if self.machines else ("parallel",):
            if not shutil.which(tool):
                fail(f"{tool} is not installed. make grade-class installs it.")
        self.out = Path(caller, asked.get("OUT") or f"{ROOT}/build/class")
        out = self.out.resolve()
        if self.folder.resolve() in (out, *out.parents):
            fail(
                f"OUT={self.out} is in the folder of the class, where it would count as a student. "
                "Name another folder."
            )
        try:
            (self.out / "students").mkdir(parents=True, exist_ok=True)
        except OSError as why:
            fail(f"OUT={self.out} cannot be created ({why.strerror}). Name a folder.")
        self.files = [
            asked.get(name) and Path(caller, asked[name]) for name in ("COURSE", "ROSTER")
        ]

    def find_students(self, may_unpack):
        """What Canvas or Moodle gave becomes a class. A task of a job array finds it unpacked."""
        unpacked = self.out / "handed-in"
        try:
            if unpack.class_of(self.folder, unpacked) if may_unpack else unpacked.is_dir():
                self.folder = unpacked
            entries = sorted(os.scandir(self.folder), key=lambda x: os.fsencode(x.name))
        except unpack.UNREADABLE as why:
            fail(f"CLASS={self.named}: {why}")
        self.expect_class(entries)
        ignored = {entry.name: why for entry in entries if (why := no_student(entry))}
        self.students = {}  # {name: the folder or the ZIP file}
        for entry in entries:
            path = self.folder / entry.name
            first = path if entry.name in ignored else self.students.setdefault(name_of(path), path)
            if first != path:
                ignored[entry.name] = f"{tables.shown(first.name)} counts"
        if not self.students:
            fail(f"CLASS={self.named}: it has no folder and no ZIP file of a student.")
        if ignored:
            some = ", ".join(f"{tables.shown(name)} ({why})" for name, why in ignored.items())
            say(f"Not graded: {some}.")

    def expect_class(self, entries):
        """A student's own folder is no class."""
        archives = any(unpack.is_zip(Path(entry.path)) for entry in entries)
        if not archives and folders_with_lessons(self.folder) == {str(self.folder)}:
            fail(
                f"CLASS={self.named} has lessons' files itself, so it is one student's folder. "
                f"Name the folder above it, or grade the student: make grade STUDENT={self.named}"
            )

    def read_course(self):
        course = Course(lessons(), [*map(tables.shown, self.students)])
        path, roster = self.files
        try:
            if path:
                course.read(path)
            if roster:
                course.read_roster(roster)
            elif course.settings.get("submitted") == "roster":
                raise Refused([f'{path}: "submitted = roster", but there is no ROSTER=FILE.'])
        except Refused as refused:
            fail(str(refused))
        self.course = course

    def seed(self):
        """What the checks of the whole class draw their numbers from. The tasks of a job array draw
        at the same time; the link of the first one counts."""
        kept = self.out / "seed"
        if self.given_seed:
            tables.write_text(kept, f"{self.given_seed}\n")
        else:
            drawn = self.out / f"seed.{self.name}"
            tables.write_text(drawn, f"{random.SystemRandom().randint(1, 999999999)}\n")
            with contextlib.suppress(FileExistsError):
                os.link(drawn, kept)
            drawn.unlink()
        return kept.read_text().strip()

    name = property(lambda self: f"{self.part[0]}.{self.part[1]}")

    def report(self):
        with_course = bool(self.files[0])
        return tables.report(self.students, self.folder, self.out, self.course, with_course)


def no_student(entry):
    """Why an entry of the class's folder is no student, or ""."""
    if entry.name == "__MACOSX":
        return "made by an archiver"
    if entry.is_symlink():
        return "a symbolic link"
    if entry.name.startswith("."):
        return "begins with a dot"
    if unpack.is_zip(path := Path(entry.path)):
        whole = "a download with all submissions: name it alone"
        return whole if unpack.is_download(path) else ""
    return "" if entry.is_dir() else "neither a folder nor a ZIP file"


# ---- the queue ----


@contextlib.contextmanager
def workbook_for(asked):
    """Where root's workbook is closed to the user of the programs, a copy of it grades. Another
    machine finds out for each student what it needs."""
    if asked.machines or not protect.needs_copy():
        yield
        return
    os.environ["GRADE_COMMIT"] = protect.commit_here()
    copy = protect.copied_workbook()
    os.chdir(copy)
    try:
        yield
    finally:
        os.chdir(ROOT)
        shutil.rmtree(copy, ignore_errors=True)


@contextlib.contextmanager
def folder_of_class(asked):
    """What a killed grading has left is found by its name."""
    number = hashlib.sha256(os.fsencode(asked.out)).hexdigest()[:12]
    work, mask = f"build/check/class.{number}.{asked.name}", os.umask(0o022)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)  # the user of the programs enters it
    os.umask(mask)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def command(asked, settings, mask):
    """What GNU parallel runs for a student, whose folder it adds, and its options."""
    options = ["--null", "--ungroup", "--joblog", asked.out / f"joblog.{asked.name}"]
    options += ["--bar"] if sys.stderr.isatty() else []
    if asked.machines:
        words = shlex.join(["bash", "tests/grading/grade.sh", "class", "student-there"])
        given = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
        options += ["--sshlogin", asked.machines, "--filter-hosts"]
        options += ["--jobs", str(asked.jobs or "100%")]
        return [*options, f"cd {shlex.quote(os.getcwd())} && {given} {words}", "{}"]
    # Run one more than there are processors, because a grading waits now and then.
    jobs = asked.jobs or len(os.sched_getaffinity(0)) + 1
    options += ["--jobs", str(min(jobs, len(asked.students)))]
    return [*options, shlex.join([*map(str, PYTHON), HERE, ".", mask, "student"]), "{}"]


def grade_all(asked, mask):
    """Lets GNU parallel grade this part of the class; its exit status: how many have no grade."""
    seed, leashed = asked.seed(), leash()
    with workbook_for(asked), folder_of_class(asked) as work:
        kept = "best" if asked.course.counts_best() else ""
        settings = {"OUT": str(asked.out), "SEED": seed, "GRADE_FOLDER": work, "GRADE_KEEP": kept}
        settings["ONLY"] = os.environ.get("ONLY") or ""
        own = {
            "PARALLEL_SHELL": shutil.which("bash"),
            "PARALLEL_HOME": f"{os.getcwd()}/build/parallel",
        }
        if not asked.machines:
            # Try once what this machine allows, because it is the same for each student.
            known = Path(work, "protected").absolute()
            attempt = [*leashed, *PYTHON, "tests/grading/protect.py", "try", work]
            with known.open("w") as file:
                if subprocess.run(attempt, stdout=file).returncode == 0:
                    own["GRADE_PROTECTED"] = str(known)
        if not leashed:
            say(
                "bubblewrap does not work here. If a signal 9 ends this script, the checks that it "
                "has started run to their end."
            )
        first, every = asked.part
        students = [*map(os.fsencode, asked.students.values())][first::every]
        queue = subprocess.Popen(
            [*leashed, "parallel", *command(asked, settings, mask)],
            env={**os.environ, **settings, **own},
            stdin=subprocess.PIPE,
            preexec_fn=os.setpgrp,  # one signal ends the queue
        )
        try:
            queue.communicate(b"".join(name + b"\0" for name in students))
        except BaseException:
            os.killpg(queue.pid, signal.SIGKILL)
            queue.wait()
            raise
    return queue.returncode


def main(caller, mask, action="", *words):
    os.chdir(ROOT)
    if action == "student":
        return grade_student(words[0], mask)
    if action == "student-there":
        return os.execvp("env", ["env", *leash(), *PYTHON, HERE, ".", mask, "student", *words])
    os.environ.pop("GRADE_PROTECTED", None)
    part = tuple(map(int, words)) or (0, 1)
    if part[0] >= part[1]:
        numbers = " ".join(words)
        fail(f"grade.sh class batch {numbers}: the first number must be less than the second.")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stopped)
    asked = Class(caller, part)
    asked.find_students(may_unpack=not action)
    asked.read_course()  # so that a mistake in it is found before hours of grading
    if action == "collect":
        return asked.report()
    lock = (asked.out / f"lock.{asked.name}").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        fail(f"OUT={asked.out}: another grading writes there. Wait for its end, or stop it.")
    ended = grade_all(asked, mask)
    # GNU parallel returns how many students have no grade, at most 101. More is its own failure.
    if not 0 <= ended <= 101:
        fail(
            f"GNU parallel ended with status {ended}: not every student was graded. If the lines "
            "above name PARALLEL's options or a host of SSHLOGIN, correct them. Then run the same "
            "command again."
        )
    return asked.report() if action != "batch" else 2 * bool(ended)


if __name__ == "__main__":
    call({"": main}, sys.argv[1:], (Wrong,), 2)
