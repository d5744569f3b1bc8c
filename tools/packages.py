"""Makes what leaves this workbook, for students, for a grading server and for the public.

    packages.py handout BOOK OUT       a student's copy, without solutions; BOOK is its built book,
                                       OUT a folder or a .zip file
    packages.py gradescope OUT.zip     the archive that Gradescope makes its image from
    packages.py place OUT COMMAND...   says where these commands' results will be, or why they
                                       cannot be there, before they take minutes
    packages.py release DOCS OUT       the book, a student's copy, and their checksums; DOCS has the
                                       pages, the EPUB, the PDF and the students' pages. TAG in the
                                       environment is the release's tag, which must be the version

The same files make the same bytes: names are sorted, and the only time is the last commit's.
Exit status: 0, or 1 with a sentence on stderr.
"""

import hashlib
import io
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from functools import cache
from pathlib import Path

from usage import call

ROOT = Path(__file__).resolve().parents[1]
NAME = "cuda-memory-pools"
STUDENTS_README = ROOT / "docs/course/handout.md"
# For each command: where its result is without OUT, and what OUT may be.
PLACES = {
    "handout": ("build/handout", "FOLDER or OUT=FILE.zip"),
    "gradescope": ("build/gradescope.zip", "FILE.zip"),
    "release": ("build/release-files", "FOLDER"),
}

# What checks and grades a file. "*" stands for a part of a name, "?" for one character, and "/" at
# the end of a pattern for all that is in the folder.
GRADER = """
    Makefile LICENSE compile_flags.txt .gitignore .gitattributes
    lessons/Makefile lessons/*.h lessons/*.cu lessons/traces/
    simulator/*.* simulator/api/ simulator/base/ simulator/check/ simulator/graph/ simulator/ipc/
    simulator/mem/ simulator/module/ simulator/os/ simulator/ptx/ simulator/run/
    simulator/sched/
    tests/build.mk tests/grading/*.py tests/grading/*sh tests/grading/*.h tests/grading/busy.c
    tests/grading/imports.txt tests/grading/machine.sed tests/grading/class/
    tests/lessons/*/manifest.ini tests/lessons/*/*.py tests/lessons/*/rules.bats
    tests/lessons/*/*.h tests/lessons/*/expected/
    tests/lessons/clinic/*/check.py tests/lessons/clinic/*/rules.bats
    tests/lessons/clinic/*/ask.h
    docs/recorded/clinic.txt
    tools/setup.sh tools/compile.sh tools/c_file.sh tools/check.sh tools/progress.sh
    tools/unknown.py tools/usage.py tools/usage.sh tools/line_end.txt tools/requirements.txt
"""
# What a student has besides: hints, pictures, the clinic, programs of one's own.
STUDENT = """
    .clang-format .editorconfig
    docs/??_*.rst docs/clinic/*.rst docs/clinic/*_wrong.c docs/extensions/ docs/_static/
    docs/fonts/
    docs/programs/brighten.cu
    tools/hint.sh tools/watch.sh tools/open.sh tools/picture.sh tools/mine.sh tools/on_gpu.sh
    tools/variants.py
"""
# Commands that need what a student's copy lacks are not in its help.
HELP_GROUPS = ("LESSONS", "CLINIC", "YOUR CODE", "TEACHING", "WORDS")
LACKING = r"solution-|make run|repaired-|grade-class|CLASS=|new-lesson|make (mutant|handout)"


class Wrong(SystemExit):
    pass


def wrong(text):
    raise Wrong(f"{text}")


def files_here():
    """Every file of the repository, by its path from the top; without git, all but build/."""
    if (ROOT / ".git").exists():
        done = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            names = sorted(set(filter(None, done.stdout.split("\0"))))
            return [name for name in names if (ROOT / name).is_file()]
    names = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
    return sorted(name for name in names if not name.startswith(("build/", ".git/")))


def chosen(patterns):
    """The files that a text of patterns names. One that names nothing is an error."""
    here, found = files_here(), set()
    for pattern in patterns.split():
        names = re.escape(pattern).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
        names += "" if pattern.endswith("/") else "$"
        some = {name for name in here if re.match(names, name)}
        if not some:
            wrong(f"tools/packages.py names {pattern}, and there is no such file.")
        found |= some
    return found


def lessons():
    return sorted(path.name for path in (ROOT / "tests/lessons").glob("[0-9]*_*"))


def grader():
    """{name: bytes} of what checks and grades."""
    found = {name: (ROOT / name).read_bytes() for name in chosen(GRADER)}
    for lesson in lessons():  # as it is delivered, whatever someone has made of it here
        starter = ROOT / f"build/starters/{lesson}.c"
        found[f"lessons/{lesson}.c"] = starter.read_bytes()
    return found


def student(book):
    """{name: bytes} of a student's copy."""
    found = grader() | {name: (ROOT / name).read_bytes() for name in chosen(STUDENT)}
    found["Makefile"] = without_lacking(found["Makefile"].decode()).encode()
    found["README.md"] = STUDENTS_README.read_bytes()
    return found | {f"book/{name}": data for name, data in tree(book).items()}


def without_lacking(makefile):
    """The Makefile, whose help has only the commands that a student's copy has."""
    kept, group = [], ""
    for line in makefile.splitlines():
        if line.startswith("##"):
            group = line[3:14].strip() or group
            if group not in HELP_GROUPS or re.search(LACKING, line):
                continue
        kept.append(line)
    return "\n".join(kept) + "\n"


def tree(folder):
    """{name: bytes} of a built book, without what Sphinx keeps for itself."""
    folder = Path(folder)
    if not (folder / "index.html").exists():
        wrong(f"{folder} has no built book.")
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    found = {
        name: (folder / name).read_bytes()
        for name in names
        if not name.startswith(("_sources/", ".doctrees/")) and name != ".buildinfo"
    }
    found["_static/passed.js"] = b"window.workbookProgress = {};\n"  # no lesson yet
    return found


# ---- writing ----


@cache
def commit_time():
    """The time of the last commit; of a copy without git, that of CHANGES.md."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    if told.isdecimal():
        return int(told)
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode == 0 and done.stdout.strip().isdecimal():
        return int(done.stdout)
    return int((ROOT / "CHANGES.md").stat().st_mtime)


def mode_of(data):
    return 0o755 if data.startswith(b"#!") else 0o644


def write_zip(files, out):
    """A zip file with these files, sorted; its bytes depend on nothing else but the commit."""
    new = out.with_name(f"{out.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(new, "w") as archive:
            for name in sorted(files):
                put(archive, name, files[name])
        new.replace(out)
    except OSError as error:
        new.unlink()
        error.filename = out
        raise


def put(archive, name, data, how=zipfile.ZIP_DEFLATED):
    entry = zipfile.ZipInfo(name, time.gmtime(max(commit_time(), 315532800))[:6])  # 1980 at least
    entry.compress_type = how
    entry.external_attr = (stat.S_IFREG | mode_of(data)) << 16
    archive.writestr(entry, data, compresslevel=9)


def place_for(what, out):
    """The file or folder for the result: one that is new, or that was made so before."""
    out = Path(out or PLACES[what][0])
    mark = out / "README.md"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out.parent).close()
    except OSError as error:
        wrong(f"OUT={out}: nothing can be written into {out.parent} ({error.strerror}).")
    if out.exists() and not (out.is_file() or out.is_dir()):
        wrong(f"OUT={out} is a pipe, a socket or a device. Name a new file or folder.")
    if out.suffix == ".zip" and out.is_dir():
        wrong(f"OUT={out} is a folder. Name a file that ends with .zip.")
    if what == "gradescope" and out.suffix != ".zip":
        wrong(f"OUT={out}: Gradescope takes a zip file, so give a name that ends with .zip.")
    if what == "handout" and out.suffix in (".tar", ".tgz", ".gz", ".xz", ".bz2", ".7z", ".rar"):
        wrong(f"OUT={out}: a students' copy is a folder or a zip file, whose name ends with .zip.")
    if what == "release" and out.is_file():
        wrong(f"OUT={out} is a file. Name a new folder.")
    if what == "release" and out.exists() and not (out / "SHA256SUMS").exists():
        wrong(f"OUT={out}: this folder is no release, and stays as it is. Name a new one.")
    if what == "handout" and out.is_dir() and any(out.iterdir()):
        if not mark.exists() or mark.read_bytes() != STUDENTS_README.read_bytes():
            wrong(
                f"OUT={out}: this folder has other files in it, which stay as they are. Name a new "
                "folder, or a file that ends with .zip."
            )
    elif what == "handout" and out.is_file() and out.suffix != ".zip":
        wrong(f"OUT={out} is a file. Name a new folder, or a file that ends with .zip.")
    return out


def place(out, *commands):
    """Says where the results will be, or ends with a sentence that they cannot be there."""
    for command in commands:
        if command not in PLACES:
            wrong(f"packages.py place: there is no command {command}, only {', '.join(PLACES)}.")
        if command == "release":
            release_text()
        where = place_for(command, out)
        print(f"make {command} writes {where}. Another place: OUT={PLACES[command][1]}")


def write_folder(files, out):
    """A folder with these files, instead of one that was there."""
    new = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    for name, data in sorted(files.items()):
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode_of(data))
        os.utime(path, (commit_time(), commit_time()))
    new.chmod(0o755)
    if out.exists():
        shutil.rmtree(out)
    new.rename(out)


def write(files, out):
    if out.suffix == ".zip":
        write_zip({f"{out.stem}/{name}": data for name, data in files.items()}, out)
    else:
        write_folder(files, out)
    print(f"{out}: {len(files)} files, {sum(map(len, files.values())) / 1e6:.1f} MB")


def handout(book, out):
    write(student(book), place_for("handout", out))


def gradescope(out):
    out = place_for("gradescope", out)
    files = {f"workbook/{name}": data for name, data in grader().items()}
    for name in ("setup.sh", "run_autograder"):
        files[name] = (ROOT / "docs/course/gradescope" / name).read_bytes()
    write_zip(files, out)
    print(f"{out}: upload it as the assignment's autograder.")


# ---- a release ----


def plain_epub(data):
    """The EPUB with its files in the same order, and the commit's time in place of theirs."""
    old, new = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    names = sorted(old.namelist(), key=lambda name: (name != "mimetype", name))
    with zipfile.ZipFile(new, "w") as archive:
        for name in names:
            how = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            put(archive, name, old.read(name), how)
    return new.getvalue()


def plain_pdf(data):
    """The PDF with the commit's time in place of that of its printing, which is as long."""
    moment = time.strftime("%Y%m%d%H%M%S", time.gmtime(commit_time())).encode()
    return re.sub(rb"(/(?:Creation|Mod)Date \(D:)\d{14}", rb"\g<1>" + moment, data)


def release_text():
    """The version, and what CHANGES.md says of it: its first part."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version = re.search(r'^version: *"?([\w.]+)', citation, re.M)[1]
    tag = os.environ.get("TAG", "")
    heading, text = re.search(
        r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", (ROOT / "CHANGES.md").read_text("utf-8"), re.M | re.S
    ).groups()
    if tag and tag != f"v{version}":
        wrong(f"The tag is {tag}, and the version in CITATION.cff {version}: expected v{version}.")
    if tag and heading.split()[0] != version:
        wrong(f'CHANGES.md begins with "{heading}": expected "{version}", the version to release.')
    return version, text.strip() + "\n"


def release(docs, out):
    docs, out = Path(docs), place_for("release", out)
    version, text = release_text()
    name = f"{NAME}-{version}"
    book = tree(docs / "html")
    book[f"{NAME}.epub"] = plain_epub((docs / f"{NAME}.epub").read_bytes())
    book[f"{NAME}.pdf"] = plain_pdf((docs / f"{NAME}.pdf").read_bytes())
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    write_folder(book, out / "book")
    for kind, files in (("book", book), ("students", student(docs / "handout"))):
        named = {f"{name}-{kind}/{file}": data for file, data in files.items()}
        write_zip(named, out / f"{name}-{kind}.zip")
    (out / "release.md").write_text(text, encoding="utf-8")
    files = sorted(file for file in out.iterdir() if file.is_file())
    sums = "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files
    )
    (out / "SHA256SUMS").write_text(sums)
    for file in (*files, out / "SHA256SUMS"):
        os.utime(file, (commit_time(), commit_time()))
    print(f"{out}: the book as a folder, and\n{sums}", end="")


if __name__ == "__main__":
    os.chdir(ROOT)
    commands = place, handout, gradescope, release
    call({each.__name__: each for each in commands}, sys.argv[1:])
