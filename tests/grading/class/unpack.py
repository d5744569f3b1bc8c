"""Makes a class of what a learning platform gave: unpack.py DOWNLOAD FOLDER

DOWNLOAD is the ZIP file with all submissions of an assignment, or a folder that has its files or
several such ZIP files: of a file that several have, the one in the last of them counts, by their
names. FOLDER then has a folder for each student, where .earlier keeps what was replaced, and
FOLDER.json says how the platform finds each student: tables.py names the feedback files for it.

  Canvas   NAME_USER_FILE_07_trim.c and NAME_LATE_USER_FILE_07_trim.c, all in one folder. USER and
           FILE are numbers. The student's folder is NAME_USER. What a student handed in again has
           another name there, 07_trim-1.c, and gets back the one that it had.
  Moodle   NAME_NUMBER_assignsubmission_file/07_trim.c, or with "_" in the place of "/". The
           student's folder is NAME_NUMBER.

A ZIP file that a student handed in is unpacked in the same way, into the student's folder, and what
is in it was written when the ZIP file was. Nothing of an archive is believed: it names no place
outside of FOLDER, makes no link, and no file is larger than what the grader reads. What was left
out is named on stderr. Exit status: 0; 1 there is nothing of the kind in DOWNLOAD; 2 it cannot be
unpacked, and a sentence says why.
"""

import io
import json
import os
import re
import shutil
import sys
import time
import zipfile
import zlib
from pathlib import Path, PurePosixPath

LARGEST = (
    1 << 20
) + 1  # one more than a lesson's file may have, so that it is refused by the grader
MOST = 200000  # files of a download
MOST_OF_ONE = 300  # files of a student
UNREADABLE = (OSError, ValueError, RuntimeError, OverflowError, zlib.error, zipfile.BadZipFile)

CANVAS = re.compile(r"(?P<who>[^/]+?)(?i:_late)?_(?P<user>\d+)_(?P<file>\d+)_(?P<name>[^/]+)")
MOODLE = re.compile(
    r"(?P<who>[^/_]*)_(?P<user>\d+)_(?P<plugin>assignsubmission_(?:file|onlinetext))(?:_/?|/)"
    r"(?P<name>.+)"
)
AGAIN = re.compile(r"(\d\d_\w+)-(\d+)\.c")


def member_of(path):
    """What a file of a download is: (student, platform's words, name in the student's folder,
    how often it was handed in again), or None."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..", ".")]
    if "__MACOSX" in parts or not parts:
        return None
    for begin in range(len(parts)):
        if found := MOODLE.fullmatch("/".join(parts[begin:])):
            prefix = f"{found['who']}_{found['user']}_{found['plugin']}"
            return f"{found['who']}_{found['user']}", {"moodle": prefix}, found["name"], 0
    if found := CANVAS.fullmatch(parts[-1]):
        name, again = found["name"], 0
        if number := AGAIN.fullmatch(name):
            name, again = f"{number[1]}.c", int(number[2])
        prefix = f"{found['who']}_{found['user']}_{found['file']}"
        return f"{found['who']}_{found['user']}", {"canvas": prefix}, name, again
    return None


class Archive:
    def __init__(self, path, when=None):
        self.zip, self.when = zipfile.ZipFile(path), when

    def files(self):
        for entry in self.zip.infolist():
            if not entry.is_dir() and (entry.external_attr >> 28) in (0, 8):  # a regular file
                yield entry.filename, entry

    def read(self, entry):
        with self.zip.open(entry) as file:
            return file.read(LARGEST)

    def written(self, entry):
        return self.when or time.mktime((*entry.date_time, 0, 0, -1))


class Folder:
    def __init__(self, path):
        self.path = Path(path)

    def files(self):
        for folder, folders, names in os.walk(self.path):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                if path.is_file() and not path.is_symlink():
                    yield str(path.relative_to(self.path)), path

    def read(self, path):
        with path.open("rb") as file:
            return file.read(LARGEST)

    def written(self, path):
        return path.stat().st_mtime


def sources(download):
    """What there is to unpack, or nothing: then the folder is a class already."""
    path = Path(download)
    if path.is_file():
        return [Archive(path)]
    archives = [x for x in sorted(path.glob("*.zip")) if x.is_file() and not x.is_symlink()]
    loose = [x for x in path.iterdir() if not x.name.startswith(".") and x not in archives]
    folders = [x for x in loose if x.is_dir()]
    if archives:
        return [] if folders else [Archive(x) for x in archives]
    # A folder of any other name is a student's, and then this is a class.
    moodle = all(MOODLE.fullmatch(f"{x.name}/x") for x in folders)
    named = folders or any(member_of(x.name) for x in loose if x.is_file())
    return [Folder(path)] if moodle and named else []


def make_earlier(folder, file):
    """A file that a later download replaces goes to FOLDER/.earlier/N, where grade_class.py finds
    it."""
    number = 1
    while (earlier := folder / ".earlier" / str(number) / file.relative_to(folder)).exists():
        number += 1
    earlier.parent.mkdir(parents=True, exist_ok=True)
    file.rename(earlier)


def inside(source, path, entry):
    """What is in a ZIP file that a student handed in: (name, archive, path, entry) of each file.
    Nothing, if it is larger than a file may be or is none. What is packed in it once more stays."""
    try:
        archive = Archive(io.BytesIO(source.read(entry)), source.written(entry))
        found = list(archive.files())[: MOST_OF_ONE + 1]
    except UNREADABLE:
        return
    for name, each in found:
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..", ".")]
        if parts and "__MACOSX" not in parts:
            yield "/".join(parts), archive, f"{path}: {name}", each


def unpack_student(source, folder, files, left_out):
    """Writes what a student handed in. files: {name: [(how often again, path, entry)]}"""
    handed_in = []
    for name, versions in files.items():
        _, path, entry = max(versions, key=lambda version: version[0])
        packed = list(inside(source, path, entry)) if name.lower().endswith(".zip") else []
        # A file beside the archive counts before one of the same name in it.
        handed_in[:0] = packed
        handed_in += [] if packed else [(name, source, path, entry)]
    for count, (name, source_of, path, entry) in enumerate(handed_in):
        if count >= MOST_OF_ONE:
            left_out.append(path)
            continue
        file = folder.joinpath(*name.split("/"))
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.exists():
                make_earlier(folder, file)
            file.write_bytes(source_of.read(entry))
            os.utime(file, (source_of.written(entry),) * 2)
        except UNREADABLE:
            left_out.append(path)


def unpack(source, into, students, left_out):
    """Writes the files of one download, and adds its students."""
    found = {}
    for count, (path, entry) in enumerate(source.files()):
        if count >= MOST:
            raise ValueError(f"it has more than {MOST} files")
        member = member_of(path)
        if not member:
            left_out.append(path)
            continue
        student, words, name, again = member
        found.setdefault(student, ({}, words))[0].setdefault(name, []).append((again, path, entry))
        found[student][1].update(words)
    for student, (files, words) in found.items():
        unpack_student(source, Path(into, student), files, left_out)
        students.setdefault(student, {}).update(words)


def name_left_out(left_out):
    for path in left_out[:20]:
        print(f"Not unpacked: {path!r}", file=sys.stderr)
    if len(left_out) > 20:
        print(f"Not unpacked: {len(left_out) - 20} more files", file=sys.stderr)


def student_of(folder, into):
    """Copies a student's folder that has ZIP files, and unpacks them; False: it has none."""
    source, left_out = Folder(folder), []
    files = {name: [(0, name, path)] for name, path in source.files()}
    if not any(name.lower().endswith(".zip") for name in files):
        return False
    unpack_student(source, into, files, left_out)
    name_left_out(left_out)
    return True


def class_of(download, into):
    """Unpacks a download into a folder; False: there is nothing of the kind in it."""
    given = sources(download)
    if not given:
        return False
    new = Path(f"{into}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    students, left_out = {}, []
    for source in given:
        unpack(source, new, students, left_out)
    if not students:
        raise ValueError("it has no file that is named as Canvas or Moodle name submissions.")
    name_left_out(left_out)
    shutil.rmtree(into, ignore_errors=True)
    new.rename(into)
    Path(f"{into}.json").write_text(json.dumps(students, indent=1, sort_keys=True) + "\n")
    return True


if __name__ == "__main__":
    try:
        sys.exit(0 if class_of(*sys.argv[1:]) else 1)
    except UNREADABLE as why:
        print(why)
        sys.exit(2)
