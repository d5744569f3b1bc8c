"""Keeps what a student has handed in, where "count = best" stands in the file of the course.

Kept are the files that have lessons' names, with their times, in OUT/submissions/SUM: SUM stands
for the files, so that the same ones are kept once. grade_class.py calls this after each grading,
and tables.py counts the best.
"""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

LARGEST = 1 << 20
LESSON = r"[0-9][0-9]_\w+\.c"


def found(folder):
    """The files of the student, as (name, path, sum): a name's first one, from above."""
    seen = set()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(x for x in folders if not x.startswith(".") and x != "__MACOSX")
        for name in sorted(names):
            path = Path(place, name)
            if name in seen or not re.fullmatch(LESSON, name) or path.is_symlink():
                continue
            if path.is_file() and path.stat().st_size <= LARGEST:
                seen.add(name)
                yield name, path, hashlib.sha256(path.read_bytes()).hexdigest()


def keep(folder, out, graded=False):
    """Keeps the files in a folder; graded: OUT/grade.json is their grade and is kept, too."""
    grade = None
    files = list(found(folder))
    if graded:
        grade = json.loads(Path(out, "grade.json").read_text(encoding="utf-8"))
        sums = {f"{x['lesson']}.c": x["file"] for x in grade["lessons"] if x["file"]}
        files = [x for x in files if sums.get(x[0], x[2]) == x[2]]
    if not files:
        return
    whole = "".join(f"{name} {total}\n" for name, _, total in sorted(files))
    kept = Path(out, "submissions", hashlib.sha256(whole.encode()).hexdigest()[:16])
    if kept.exists():
        return
    new = Path(f"{kept}.new")
    shutil.rmtree(new, ignore_errors=True)
    (new / "lessons").mkdir(parents=True)
    for name, path, _ in files:
        shutil.copyfile(path, new / "lessons" / name)
        times = path.stat()
        os.utime(new / "lessons" / name, ns=(times.st_atime_ns, times.st_mtime_ns))
    if grade:
        text = json.dumps({**grade, "folder": "lessons"}, indent=2, ensure_ascii=False) + "\n"
        (new / "grade.json").write_text(text, encoding="utf-8")
    new.rename(kept)
