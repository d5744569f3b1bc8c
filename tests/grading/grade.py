"""Grades one student, as grade.sh describes it.

lessons.py judges the files in a folder of this grading. Written there, and then to OUT, are
grade.json and what is derived from it: junit.xml, gradescope/results.json and
prairielearn/results.json. The same file gives the same bytes: what differs from one grading to the
next is left out. docs/teaching.rst describes the files. A student sees all of them but grade.json,
so the seed stands only there.
"""

import contextlib
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(f"{Path(__file__).parent}/class")

import protect  # noqa: E402
import unpack  # noqa: E402
from forms import files_of, likeness, published, table, ungraded  # noqa: E402
from manifest import ROOT, Wrong, lessons  # noqa: E402
from place import LIBRARY, Place, asked_number, expect_settings  # noqa: E402
from report import clean  # noqa: E402
from usage import call  # noqa: E402

from lessons import handed_in, judge_all, remove  # noqa: E402


class Grading:
    """What the environment asks for. home: the workbook; caller: where it was typed."""

    def __init__(self, home, caller):
        asked = os.environ
        self.home, self.student, self.elsewhere, self.left_out = Path(home), None, "", {}
        self.out = Path(caller, asked.get("OUT") or f"{home}/build/grade")
        self.own = bool(asked.get("GRADE_OWN"))
        self.named = asked.get("STUDENT") or ""
        if self.named:
            self.student = Path(caller, self.named)
            number = re.match("[0-9]{2}_.*[.]c$", self.student.name)
            if number and self.student.is_file():
                folder = printable(os.path.dirname(self.named) or ".")
                fail(
                    f"STUDENT={self.named} is a file: STUDENT={folder} ONLY={number[0][:2]} grades "
                    "its folder."
                )
            expect_files("STUDENT", self.named, os.path.realpath(self.student))
            if (self.student / "lessons").is_symlink():
                fail(f"STUDENT={self.named}: its folder lessons is a symbolic link.")
            self.unpack()
        seed = asked.get("SEED") or "1"
        if seed == "draw":
            seed = str(random.SystemRandom().randint(1, 999999999))
        if not re.fullmatch("[0-9]{1,9}", seed):
            fail(f"SEED={seed}: give a whole number with at most nine digits, or draw.")
        self.seed = seed
        self.names, self.is_empty = settings_of_grading(), False
        jobs = asked_number("JOBS") or len(os.sched_getaffinity(0))
        self.jobs = min(jobs, len(self.names))
        self.source, self.folder = self.home / "lessons", "lessons"
        if self.student:
            self.source = self.found_source()
            same = self.source == self.student
            self.folder = "." if same else os.path.relpath(self.source, self.student)

    def note(self, words):
        """Prints a sentence about the student's files. The tables of a class have it anyway."""
        if not os.environ.get("GRADE_OF_CLASS"):
            say(f"STUDENT={self.named}: {words}")

    def unpack(self):
        """A ZIP file, or those in a folder without lessons' files, are unpacked until this process
        ends."""
        student = Path(os.path.realpath(self.student))
        packed = any(unpack.is_zip(Path(x.path)) for x in walked(student, 3))
        if student.is_dir() and (not packed or folders_with_lessons(student)):
            return
        where = Path(ROOT, os.environ.get("GRADE_FOLDER") or "build/check")
        where.mkdir(parents=True, exist_ok=True)
        self.unpacked = tempfile.TemporaryDirectory(prefix="handed-in.", dir=where)
        self.student = Path(self.unpacked.name)
        self.left_out = unpack.student_of(student, self.student)
        if student.is_file() and student.name in self.left_out:
            why = str(self.left_out[student.name]).rstrip(".")
            fail(f"STUDENT={self.named} cannot be unpacked: {why}. Name a ZIP file or a folder.")
        if not os.environ.get("GRADE_OF_CLASS"):
            unpack.name_left_out(self.left_out)

    def found_source(self):
        """The folder with the student's files: lessons/ below STUDENT, STUDENT, or else the one
        folder below it that has files with lessons' names, as an unpacked archive has."""
        for folder in (self.student / "lessons", self.student):
            if any(os.path.lexists(folder / f"{name}.c") for name in lessons()):
                return folder
        folders = sorted(folders_with_lessons(self.student), key=os.fsencode)
        named = [x for x in folders if os.path.basename(x) == "lessons"]
        if len(named) == 1 or len(folders) == 1:
            source = (named if len(named) == 1 else folders)[0]
            self.note(f"its files are in {os.path.relpath(source, self.student)}.")
            return Path(source)
        if folders:
            shown = [printable(os.path.relpath(x, self.student)) for x in folders]
            fail(
                f"STUDENT={self.named}: several folders have files with lessons' names, so nothing "
                f"was graded: {', '.join(shown)}. Name one: STUDENT={self.named}/{shown[0]}"
            )
        archive = first_archive(self.student)
        if archive:
            why = self.left_out.get(archive)
            does = f" which cannot be unpacked: {str(why).rstrip('.')}" if why else ": unpack it"
            self.elsewhere = f' There is an archive, "{printable(archive)}"{does}.'
        self.is_empty = not any(os.path.isfile(x.path) for x in walked(self.student, 6))
        nothing = "nothing was handed in: " * self.is_empty + "it has no file with a lesson's name."
        self.note(self.elsewhere.strip() or nothing)
        return self.student

    def common(self, allowed=None):
        """The words of a grade that are about all of its lessons."""
        allowed = allowed or {"sandbox": "", "not_promised": []}
        folder = os.fsencode(self.folder).decode(errors="replace")
        return {
            "workbook": {"commit": self.commit, "checks": self.checks},
            "sandbox": allowed["sandbox"],
            "seed": int(self.seed),
            "not_promised": allowed["not_promised"],
            "folder": clean(folder),
        }

    def is_held(self):
        """Does OUT/grade.json grade these very files with these very checks?"""

        def decided(line):
            return line["lesson"], line["file"], "" if line["file"] else line["sentence"]

        try:
            old = json.loads((self.out / "grade.json").read_text(encoding="utf-8"))
            wanted = self.common()
            return (
                all(old[word] == wanted[word] for word in ("workbook", "seed", "folder"))
                and all(line["status"] != "ungraded" for line in old["lessons"])
                and [*map(decided, old["lessons"])]
                == [decided(handed_in(self, name)[0]) for name in self.names]
            )
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return False

    def expect_protection(self, allowed):
        if allowed["not_protected"]:
            fail(
                "A program that is known to be correct could not be compiled and run here, so "
                "nothing was graded:",
                allowed["not_protected"],
            )
        if not self.student or self.own:
            return
        users = allowed["place"]["users"]
        if protect.is_root() and not users:
            fail(
                "Nothing was graded: the student's programs would run as root, because here root "
                f"can become no other user who can run what was built in {ROOT}."
            )
        if allowed["sandbox"] != "none":
            return
        if os.environ.get("SANDBOX") != "none":
            fail(
                "Nothing was graded: this machine allows no sandbox, so students' programs would "
                "reach what their user reaches. A sandbox takes bubblewrap 0.8 or later, and a "
                "kernel that lets it make namespaces. SANDBOX=none grades nevertheless."
            )
        readable = protect.readable_here(self.home) if users else []
        if readable:
            fail(
                "Nothing was graded: without a sandbox a student's program can read "
                f"{readable[0]}. Keep others out, and grade again: chmod 700 '{self.home}'"
            )


def say(*lines):
    print(*lines, sep="\n", file=sys.stderr, flush=True)


def fail(*lines):
    say(*lines)
    sys.exit(2)


def expect_files(name, given, path):
    """Refuses what can have nobody's files in it: what is neither a folder nor a ZIP file."""
    path = Path(path)
    if not (path.is_dir() or unpack.is_zip(path)):
        other = "this is neither a ZIP file nor a folder."
        missing = "there is no such folder, and no such ZIP file."
        fail(f"{name}={given}: {other if os.path.lexists(path) else missing}")


def settings_of_grading():
    """Refuses a wrong setting, of a student's grading or of a class, before anything is written.
    Returns the lessons to grade."""
    expect_settings()
    sandbox = os.environ.get("SANDBOX") or "none"
    if sandbox != "none":
        fail(f"SANDBOX={sandbox}: the only word is none, which grades without a sandbox.")
    return chosen_lessons(os.environ.get("ONLY") or "")


def printable(text):
    return "".join(c if c.isprintable() else "?" for c in text)


def chosen_lessons(only):
    everything = lessons()
    names = []
    if not everything:
        fail("There is no lesson: nothing was graded.")
    for word in only.split():
        found = [x for x in everything if word in (x, x[:2]) or f"0{word}" == x[:2]]
        if not found:
            first, last = everything[0][:2], everything[-1][:2]
            fail(
                f'ONLY="{only}": there is no lesson {word}. The lessons are {first} to {last}; '
                "make list prints their names."
            )
        names += found[-1:]
    return list(dict.fromkeys(names)) or everything  # a number given twice is one lesson


def walked(folder, depth):
    """The entries of a folder and those below it, without links that lead on."""
    try:
        entries = [*os.scandir(folder)]
    except OSError:
        return
    for entry in entries:
        yield entry
        hidden = entry.name == "__MACOSX" or entry.name.startswith(".")
        if depth > 1 and not hidden and entry.is_dir(follow_symlinks=False):
            yield from walked(entry.path, depth - 1)


def folders_with_lessons(student):
    known = {f"{name}.c" for name in lessons()}
    return {os.path.dirname(x.path) for x in walked(student, 6) if x.name in known}


def first_archive(student):
    """The path of an archive that a student handed in instead of files, and that is named."""
    kind = re.compile(r"\.(zip|7z|rar|tar|tgz|tar\..*|gz|xz)$", re.I)
    found = [
        os.path.relpath(x.path, student)
        for x in walked(student, 3)
        if x.is_file(follow_symlinks=False) and kind.search(x.name)
    ]
    return min(found, key=os.fsencode, default="")


def sum_of_checks():
    """A checksum of all files that a judgment depends on."""
    script = """find Makefile lessons/*.h simulator tests/build.mk tests/{grading,lessons} tools \
        lessons/traces -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"""
    said = subprocess.run(["bash", "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return said.stdout[:64]


def stopped(number, _):
    sys.exit(128 + number)


@contextlib.contextmanager
def folder_of_grading():
    """A folder for this grading. Every process of the grading but the students' own has it open, so
    the lock tells when the last of them has ended, and only then it is removed."""
    (ROOT / "build/check").mkdir(parents=True, exist_ok=True)
    where = os.environ.get("GRADE_FOLDER") or "build/check"
    work = tempfile.mkdtemp(prefix="grade.", dir=where)
    os.chmod(work, 0o755)
    lock = os.open(work, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    try:
        yield os.path.relpath(work, ROOT)
    finally:
        os.close(lock)
        lock = os.open(work, os.O_RDONLY)
        for _ in range(100):
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.1)
        os.close(lock)
        for _ in range(50):
            remove(work)
            if not os.path.exists(work):
                break
            time.sleep(0.1)


def write_grade(work, grading, allowed):
    """Judges the lessons, and writes the grade into the folder of the grading."""
    place, folder = Place(**allowed["place"]), Path(work)
    made = [
        protect.own_cgroup(place.groups, number) if place.groups else ()
        for number in range(1, grading.jobs + 1)
    ]
    cgroups = [each[0] if each else "" for each in made]
    try:
        found = judge_all(work, grading, place, cgroups)
    finally:
        for cgroup in cgroups:
            protect.end_cgroup(cgroup)
    grade = {
        **grading.common(allowed),
        "points": sum(line["points"] for line in found),
        "possible": sum(line["possible"] for line in found),
        "lessons": found,
    }
    for name, text in files_of(grade).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return grade


FILES = "junit.xml", "gradescope/results.json", "prairielearn/results.json", "grade.json"


def hand_out(work, out, mask):
    """Copies the grade to OUT, under a lock, so that two gradings into one folder do not mix their
    files. grade.json comes last: where it is, the others are complete."""
    os.umask(mask)
    lock = os.open(out, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    for name in FILES:
        (out / name).parent.mkdir(exist_ok=True)
        new = out / f"{name}.new"
        shutil.copyfile(Path(work, name), new)
        new.rename(out / name)
    os.close(lock)


def print_grade(grade, grading):
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 100
    folder = printable(os.path.normpath(f"{grading.named}/{grading.folder}"))
    rows = [*table(grade, width, folder if grading.named else "lessons")]
    print(*rows[-grading.is_empty :], sep="\n")  # for an empty folder only the sum
    files = {
        x["lesson"]: grading.source / f"{x['lesson']}.c" for x in grade["lessons"] if x["file"]
    }
    for words in published({lesson: likeness(file, lesson) for lesson, file in files.items()}):
        print(f"{words}.")
    given = (os.environ.get("OUT") or "build/grade").rstrip("/")
    print(f"The whole grade: {given}/grade.json", flush=True)


def grade_in_copy(home, caller, mask):
    """Grades in a copy of the workbook that another user can enter; the exit status."""
    os.environ["GRADE_COMMIT"] = protect.commit_here()
    copy = protect.copied_workbook()
    script = f"{copy}/tests/grading/grade.py"
    command = [sys.executable, "-EsS", "-X", f"pycache_prefix={copy}/build/python", script]
    process = subprocess.Popen([*command, home, caller, f"{mask:o}"])
    try:
        return process.wait()
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(copy, ignore_errors=True)


def main(home, caller, mask):
    mask = int(mask, 8)
    os.chdir(ROOT)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="surrogateescape")  # names of files are any bytes
    os.umask(0o022)  # the user who runs the programs reads the copies
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stopped)
    if protect.needs_copy():
        return grade_in_copy(home, caller, mask)
    if not (ROOT / LIBRARY).exists():
        fail("The simulated device is not built. Type: make simulator")
    grading = Grading(home, caller)
    grading.commit, grading.checks = protect.commit_here(), sum_of_checks()
    if os.environ.get("RESUME") and grading.is_held():
        return 0
    try:
        os.umask(mask)
        grading.out.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        fail(f"OUT={grading.out} cannot be created ({why.strerror}). Name a folder.")
    finally:
        os.umask(0o022)
    for name in FILES:
        with contextlib.suppress(OSError):
            (grading.out / name).unlink()
    with folder_of_grading() as work:
        os.mkdir(f"{work}/lessons")
        known = os.environ.get("GRADE_PROTECTED")
        allowed = json.loads(Path(known).read_text()) if known else protect.try_machine(work)
        grading.expect_protection(allowed)
        lacks = ", ".join(allowed["not_promised"])
        print(f"Sandbox: {allowed['sandbox']}.{lacks and f' Not promised here: {lacks}.'}")
        sys.stdout.flush()
        grade = write_grade(work, grading, allowed)
        try:
            hand_out(work, grading.out, mask)
        except OSError as why:
            fail(f"The grade could not be written to {grading.out}: {why.strerror}.")
        print_grade(grade, grading)
        if not (os.environ.get("STUDENT") or os.environ.get("OUT")):
            file = f"{grading.out}/grade.json"
            subprocess.run(["bash", f"{home}/tools/progress.sh", "grade", file], check=False)
        if ungraded(grade):
            fail(*ungraded(grade))
    return 0


if __name__ == "__main__":
    call({"": main}, sys.argv[1:], (Wrong,), 2)
