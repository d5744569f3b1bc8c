"""Makes a class of what a learning platform gave: unpack.py DOWNLOAD FOLDER

DOWNLOAD is the ZIP file with all submissions of an assignment, or a folder that has its files or
several such ZIP files: of a file that several have, the one in the last of them counts, by their
names. FOLDER then has a folder for each student, where .earlier keeps what was replaced, and
FOLDER.json says how the platform finds each student: tables.py names the feedback files for it.
In a ZIP file of a class that no platform made, each folder and each ZIP file is a student.

  Canvas   NAME_USER_FILE_07_trim.c and NAME_LATE_USER_FILE_07_trim.c, all in one folder. USER and
           FILE are numbers. The student's folder is NAME_USER. What a student handed in again has
           another name there, 07_trim-1.c, and gets back the one that it had.
  Moodle   NAME_NUMBER_assignsubmission_file/07_trim.c, or with "_" in the place of "/". The
           student's folder is NAME_NUMBER.

A ZIP file that a student handed in is unpacked in the same way, into the student's folder, and what
is in it was written when the ZIP file was. Nothing of an archive is believed: it names no place
outside of FOLDER, makes no link, and no file is larger than what the grader reads. What was left
out is named on stderr, with the reason. Exit status: 0; 1 there is nothing of the kind in DOWNLOAD;
2 it cannot be unpacked, and a sentence says why.
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
MOST_OF_ONE = 300  # files of a student, of which those with lessons' names come first
LARGEST_ZIP = 64 << 20  # of a student
MOST_IN_ZIP = 20000
UNREADABLE = (OSError, ValueError, RuntimeError, OverflowError, zlib.error, zipfile.BadZipFile)

CANVAS = r"(?P<who>[^/]+?)(?i:_late)?_(?P<user>\d+)_(?P<file>\d+)_(?P<name>[^/]+)"
MOODLE = (
    r"(?P<who>[^/_]*)_(?P<user>\d+)_(?P<plugin>assignsubmission_(?:file|onlinetext))(?:_/?|/)"
    r"(?P<name>.+)"
)
AGAIN = r"(\d\d_\w+)-(\d+)\.c"
LESSON = r"(.*/)?\d\d_\w+\.c"


def names_zip(name):
    return name.lower().endswith(".zip")


def is_zip(path):
    return names_zip(path.name) and path.is_file() and not path.is_symlink()


def parts_of(path):
    """The names in a path that leads to no other place; none for what an archiver adds."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..", ".")]
    return [] if "__MACOSX" in parts else parts


def member_of(path):
    """What a file of a download is: (student, platform's words, name in the student's folder,
    how often it was handed in again), or None."""
    parts = parts_of(path)
    if not parts:
        return None
    for begin in range(len(parts)):
        if found := re.fullmatch(MOODLE, "/".join(parts[begin:])):
            prefix = f"{found['who']}_{found['user']}_{found['plugin']}"
            return f"{found['who']}_{found['user']}", {"moodle": prefix}, found["name"], 0
    if found := re.fullmatch(CANVAS, parts[-1]):
        name, again = found["name"], 0
        if number := re.fullmatch(AGAIN, name):
            name, again = f"{number[1]}.c", int(number[2])
        prefix = f"{found['who']}_{found['user']}_{found['file']}"
        return f"{found['who']}_{found['user']}", {"canvas": prefix}, name, again
    return None


def member_of_class(paths):
    """member_of() for a ZIP file with these files that no platform made. One folder around the
    students' is none of a student."""
    found = [parts for path in paths if (parts := parts_of(path)) and parts[-1][0] != "."]
    inside = [parts[1:] for parts in found if len(parts) > 1]
    below = {parts[0] for parts in inside if len(parts) > 1 or names_zip(parts[0])}
    around = (
        len({parts[0] for parts in found}) == 1 < len(below)
        and "lessons" not in below
        and not any(re.fullmatch(LESSON, parts[0]) for parts in inside)
    )

    def member(path):
        student, *rest = parts_of(path)[around:] or [""]
        if student[:1] in ("", ".") or not (rest or names_zip(student)):
            return None
        return (student, {}, "/".join(rest), 0) if rest else (student[:-4], {}, student, 0)

    return member


class Archive:
    def __init__(self, path, when=None):
        self.zip, self.when = zipfile.ZipFile(path), when
        if any(entry.flag_bits & 1 for entry in self.zip.infolist()):
            raise ValueError("it is encrypted. It must be a ZIP file without a password.")

    def files(self):
        for entry in self.zip.infolist():
            if not entry.is_dir() and (entry.external_attr >> 28) in (0, 8):  # a regular file
                yield entry.filename, entry

    def read(self, entry, most=LARGEST):
        with self.zip.open(entry) as file:
            return file.read(most)

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

    def read(self, path, most=LARGEST):
        with path.open("rb") as file:
            return file.read(most)

    def written(self, path):
        return path.stat().st_mtime


def is_download(path):
    """Are most files of this ZIP file named as a platform names submissions?"""
    try:
        found = [bool(member_of(name)) for name, _ in Archive(path).files()]
    except UNREADABLE:
        return False
    return sum(found) * 2 > len(found)


def sources(download):
    """What there is to unpack, or nothing: then the folder is a class already."""
    path = Path(download)
    if path.is_file():
        return [Archive(path)]
    loose = [x for x in sorted(path.iterdir()) if not x.name.startswith(".")]
    folders = [x for x in loose if x.is_dir()]
    archives = [x for x in loose if is_zip(x)]
    if not folders and any(map(is_download, archives)):
        return [Archive(x) for x in archives]
    # A folder with any other name is taken for a student's, so this is a class.
    moodle = all(re.fullmatch(MOODLE, f"{x.name}/x") for x in folders)
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
    What is packed in it once more stays."""
    whole = source.read(entry, LARGEST_ZIP + 1)
    if len(whole) > LARGEST_ZIP:
        raise ValueError(f"it is larger than {LARGEST_ZIP >> 20} MiB.")
    if whole.count(b"PK\1\2") > MOST_IN_ZIP:
        raise ValueError(f"it has more than {MOST_IN_ZIP} files.")
    archive = Archive(io.BytesIO(whole), source.written(entry))
    found = [("/".join(parts_of(name)), name, each) for name, each in archive.files()]
    packed = [(name, archive, f"{path}: {of}", each) for name, of, each in found if name]
    if not packed:
        raise ValueError("it has no files.")
    return packed


def unpack_student(source, folder, files, left_out):
    """Writes what a student handed in. files: {name: [(how often again, path, entry)]}. left_out
    gets (path, reason) of what is not there then, or is no ZIP file that can be unpacked."""
    handed_in = []
    for name, versions in files.items():
        _, path, entry = max(versions, key=lambda version: version[0])
        packed = []
        if names_zip(name):
            try:
                packed = inside(source, path, entry)
            except UNREADABLE as why:
                left_out.append((path, why))
        # A file beside the archive counts before one of the same name in it.
        handed_in[:0] = packed
        handed_in += [] if packed else [(name, source, path, entry)]
    handed_in.sort(key=lambda given: not re.fullmatch(LESSON, given[0]))
    if more := handed_in[MOST_OF_ONE:]:
        why = f"a student's first {MOST_OF_ONE} files are unpacked, and there are {len(more)} more."
        left_out.append((more[0][2], why))
    for name, source_of, path, entry in handed_in[:MOST_OF_ONE]:
        file = folder.joinpath(*name.split("/"))
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.exists():
                make_earlier(folder, file)
            file.write_bytes(source_of.read(entry))
            os.utime(file, (source_of.written(entry),) * 2)
        except UNREADABLE as why:
            left_out.append((path, why))


def unpack(source, into, students, left_out):
    """Writes the files of one download, and adds its students."""
    files = list(source.files())
    if len(files) > MOST:
        raise ValueError(f"it has more than {MOST} files")
    found, member = {}, member_of
    if isinstance(source, Archive) and not any(member_of(path) for path, _ in files):
        member = member_of_class([path for path, _ in files])
    for path, entry in files:
        if not (of := member(path)):
            left_out.append((path, "its name names no student."))
            continue
        student, words, name, again = of
        found.setdefault(student, ({}, words))[0].setdefault(name, []).append((again, path, entry))
        found[student][1].update(words)
    for student, (files, words) in found.items():
        unpack_student(source, Path(into, student), files, left_out)
        students.setdefault(student, {}).update(words)


def name_left_out(left_out):
    for path, why in list(left_out.items())[:20]:
        print(f"Not unpacked: {path!r}: {why}", file=sys.stderr)
    if len(left_out) > 20:
        print(f"Not unpacked: {len(left_out) - 20} more files", file=sys.stderr)


def student_of(given, into):
    """Copies a student's folder that has ZIP files, and unpacks them; or one ZIP file. Returned is
    {path: reason} of what was left out, or None: there is no ZIP file."""
    given, left_out = Path(given), []
    source = Folder(given if given.is_dir() else given.parent)
    files = {
        name: [(0, name, path)]
        for name, path in ([(given.name, given)] if source.path != given else source.files())
    }
    if not any(map(names_zip, files)):
        return None
    unpack_student(source, Path(into), files, left_out)
    return dict(left_out)


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
        raise ValueError(
            "it has no folder and no ZIP file of a student, and no file that is named as Canvas or "
            "Moodle name submissions."
        )
    name_left_out(dict(left_out))
    shutil.rmtree(into, ignore_errors=True)
    new.rename(into)
    Path(f"{into}.json").write_text(json.dumps(students, indent=1, sort_keys=True) + "\n")
    return True


if __name__ == "__main__":
    sys.path.append(f"{Path(__file__).parents[3]}/tools")
    from usage import call

    call({"": lambda download, into: not class_of(download, into)}, sys.argv[1:], UNREADABLE, 2)
