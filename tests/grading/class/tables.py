"""The tables and pages of a class, from the grades in OUT/students.

    OUT/class.csv, OUT/class.json            a row for each student
    OUT/canvas.csv, OUT/moodle.csv           for a gradebook; which of them, the roster decides
    OUT/similar.csv                          which students share code (similar.py)
    OUT/class.html, OUT/statistics.json      how the class did (pages.py)
    OUT/students/NAME/feedback.html, .txt    what a student receives (pages.py)
    OUT/feedback-canvas.zip, -moodle.zip     all of these pages, each named as the platform from
                                             which the files came (unpack.py) wants it for upload

Everything is derived: a grade has no dates and no weights (course.py has).
"""

import csv
import hashlib
import io
import json
import os
import re
import zipfile
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

import forms
import judge
import pages
import similar
from course import rounded
from keep import LARGEST
from report import clean

LONGEST = 5000  # lines of a file that a page shows

# Two grades were made with the same checks if these entries are equal.
SAME = ("workbook", "seed")

# A gradebook finds a student by these columns of its own export.
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = ("ID number", "Email address", "Username", "First name", "Last name", "Surname")


def shown(name):
    """A folder's name as text: control characters and bytes that are not UTF-8 as \\xNN."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(
        c if c.isprintable() else "".join(f"\\x{b:02x}" for b in c.encode()) for c in text
    )


def cell(value):
    """Text for a CSV file that no spreadsheet takes for a formula."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return "'" + value
    return value


def write_csv(path, rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([cell(v) for v in row] for row in rows)
    write_text(path, text.getvalue())


def write_text(path, text):
    """Replaces the file. On a full disk it stays what it was, and the error has its name."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_bytes(text.encode())
        new.replace(path)
    except OSError as why:
        new.unlink(missing_ok=True)
        raise OSError(why.errno, why.strerror, str(path)) from None


def files_of(folder, found_in, lesson):
    """The student's file of a lesson. found_in: where the grader found the files."""
    name = f"{lesson}.c"
    files = [folder / found_in / name]
    if not files[0].exists():  # a folder's name that is no text
        files = folder.rglob(name)
    return [file for file in files if file.is_file() and os.access(file, os.R_OK)]


def file_time(folder, found_in, lesson):
    """When the student's file was last written."""
    times = [file.stat().st_mtime for file in files_of(folder, found_in, lesson)]
    return datetime.fromtimestamp(max(times), timezone.utc) if times else None


def source_of(file, sum_):
    """The text of the file that was graded, of which the grade has the sum; "" if it is another one
    now, or is so long that a page with it could hardly be read."""
    found = file.read_bytes()
    text = clean(found.decode("utf-8", "replace"))
    known = hashlib.sha256(found).hexdigest() == sum_
    return text.rstrip("\n") if known and text.count("\n") < LONGEST else ""


def why_zero(lesson):
    """The reason for 0 points, or None. A file that is just missing needs no sentence."""
    if lesson["points"] or not lesson["possible"]:
        return None
    absent = rf"(lessons/)?{lesson['lesson']}\.c does not exist\.( There is an.*)?"
    if lesson["status"] == "missing" and re.fullmatch(absent, lesson["sentence"] or ""):
        return "missing"
    reason = (lesson["sentence"] or "").split(" Happened: ")[-1]
    if len(reason) > 100:
        reason = reason[:100].rsplit(" ", 1)[0] + "..."
    plain = lesson["status"] in ("graded", "uncompiled")
    return reason if plain else f"{lesson['status']}: {reason}"


def points_of(lesson, waiting):
    """The points of a lesson where the course says what a rule counts that waits."""
    if waiting is None:
        return lesson["points"]
    return judge.count_points(lesson["tests"], float(waiting))


class Student:
    def __init__(self, name, class_folder, out, course):
        self.name, self.folder = shown(name), out / "students" / name
        self.grade, self.problem, self.lessons = None, None, []
        begun, errors = self.folder / "begun", self.folder / "errors.txt"
        with suppress(OSError, ValueError):
            if not begun.exists():
                self.grade = json.loads((self.folder / "grade.json").read_text(encoding="utf-8"))
        if not begun.exists() and errors.exists():
            said = errors.read_text(encoding="utf-8", errors="replace").strip().split("\n")
            self.problem = said[0] or "The grader ended without a sentence."
        elif not self.grade:
            self.problem = "The grading was interrupted. Run the same command again."
        if self.grade and course.settings.get("waiting") is not None:
            self.recount(course)
        if self.grade:
            unpacked = self.folder / "handed-in"
            self.count(unpacked if unpacked.is_dir() else Path(class_folder) / name, course)

    def recount(self, course):
        """Counts the points as the course says, also in the files for the platforms."""
        before, lessons_ = self.grade["points"], self.grade["lessons"]
        for lesson in lessons_:
            if lesson["status"] == "graded":
                lesson["points"] = points_of(lesson, course.settings["waiting"])
        self.grade["points"] = sum(lesson["points"] for lesson in lessons_)
        if self.grade["points"] != before:
            for name, text in forms.files_of(self.grade).items():
                (self.folder / name).parent.mkdir(exist_ok=True)
                write_text(self.folder / name, text)

    def submissions(self, folder, course):
        """What was handed in, as (grade, folder of its files), the last one first. Of the earlier
        ones, which keep.py has kept, only those count that the same checks have graded."""
        yield self.grade, folder
        if not course.counts_best():
            return
        found = []
        for path in self.folder.glob("submissions/*/grade.json"):
            grade = json.loads(path.read_text(encoding="utf-8"))
            if [grade[word] for word in SAME] == [self.grade[word] for word in SAME]:
                times = [x.stat().st_mtime for x in path.parent.glob("lessons/*.c")]
                found.append((max(times, default=0), path.parent.name, grade, path.parent))
        yield from (entry[2:] for entry in sorted(found, key=lambda x: x[:2], reverse=True))

    def candidate(self, lesson, folder, found_in, course, slip):
        """What counts for a submission of a lesson, when so many slip days are left."""
        name = lesson["lesson"]
        if lesson["status"] == "graded":
            lesson["points"] = points_of(lesson, course.settings.get("waiting"))
        due = course.due_date(self.name, name)
        there = lesson["status"] != "missing"
        time = file_time(folder, found_in, name) if there else None
        submitted = course.submission(self.name, name, time) if there else None
        late = course.days_late(due, submitted)
        slipped = int(min(late or 0, slip)) if there else 0
        after = late and late - slipped
        files = files_of(folder, found_in, name) if there else []
        files = [file for file in files if file.stat().st_size <= LARGEST]
        return {
            **lesson,
            "path": files[0] if files else None,
            "like": forms.likeness(files[0], name) if files else "",
            "source": source_of(files[0], lesson["file"]) if files else "",
            "due": due,
            "submitted": submitted,
            "late": late,
            "slip": slipped,
            "lost": course.lost(after),
            "weight": course.weight(name),
            "counted": course.counted(self.name, name, lesson["points"], after),
            "adjustment": course.adjustments.get((self.name, name)),
        }

    def count(self, folder, course):
        self.possible = self.grade["possible"]
        handed_in = {lesson["lesson"]: [] for lesson in self.grade["lessons"]}
        for grade, place in self.submissions(folder, course):
            for lesson in grade["lessons"]:
                files = [x["file"] for x, *_ in handed_in.get(lesson["lesson"], [])]
                if not files or lesson["file"] and lesson["file"] not in files:
                    found_in = grade["folder"]
                    handed_in.setdefault(lesson["lesson"], []).append((lesson, place, found_in))
        slip = course.settings.get("slip", 0)
        for name in sorted(handed_in, key=lambda x: course.due_order(self.name, x)):
            if name not in [lesson["lesson"] for lesson in self.grade["lessons"]]:
                continue
            all_of = [self.candidate(*given, course, slip) for given in handed_in[name]]
            best = max(all_of, key=lambda line: (line["counted"], -line["slip"]))
            slip -= best["slip"]
            self.lessons.append({**best, "submissions": len([x for x in all_of if x["file"]])})
        self.lessons.sort(key=lambda line: list(handed_in).index(line["lesson"]))
        self.points = sum(line["points"] for line in self.lessons)
        self.slip_left = slip
        self.result, self.total, self.weight = course.result(
            self.name,
            {line["lesson"]: (line["counted"], line["possible"]) for line in self.lessons},
        )

    def hints(self):
        """What the teacher should know of the files, a sentence each."""
        folder = self.grade["folder"] if self.grade else "."
        if folder not in (".", "lessons"):
            yield f"its files are in {folder}"
        others = [
            match[1]
            for line in self.lessons
            if (match := re.search(', but (".*") does: name it', line["sentence"] or ""))
        ]
        if others:
            yield f"not under a lesson's name: {', '.join(others)}"
        if archive := re.search(
            r'There is an archive, (".*?")(?:: unpack it| which (cannot be unpacked: .*))\.',
            " ".join(line["sentence"] or "" for line in self.lessons[:1]),
        ):
            does = f"{archive[1]} {archive[2]}" if archive[2] else f"unpack {archive[1]}"
            yield f"an archive is there, and no lesson's file: {does}"

    def published(self):
        return forms.published({line["lesson"]: line["like"] for line in self.lessons})

    def note(self):
        if self.problem:
            return self.problem
        reasons = [
            f"{line['lesson'].split('_')[0]} {reason}"
            for line in self.lessons
            if (reason := why_zero(line))
        ]
        return " | ".join([*reasons, *self.published()]) or None

    def row(self, with_course):
        known = self.grade is not None
        row = {
            "student": self.name,
            "points": self.points if known else None,
            "possible": self.possible if known else None,
            "lessons": {line["lesson"]: line["points"] for line in self.lessons},
            "graded": self.problem is None,
            "note": self.note(),
        }
        if with_course:
            row["result"] = self.result if known and not self.problem else None
            row["counted"] = {line["lesson"]: rounded(line["counted"]) for line in self.lessons}
            row["days_late"] = {
                line["lesson"]: line["late"] for line in self.lessons if line["late"]
            }
        return row


def class_csv(rows, lessons, with_course):
    header = ["student", *(["result"] if with_course else []), "points", "possible", *lessons]
    header += ["days late"] if with_course else []
    yield [*header, "note"]
    for row in rows:
        line = [row[name] for name in header if name in ("student", "result", "points", "possible")]
        line += [row["lessons"].get(lesson) for lesson in lessons]
        if with_course:
            line.append(
                " ".join(f"{name.split('_')[0]}:{days}" for name, days in row["days_late"].items())
            )
        yield [*line, row["note"]]


def gradebook(columns, course, students):
    """The rows that a gradebook imports: who, then the columns of course.columns."""
    who = [name for name in columns if name in course.identification]
    chosen = course.columns
    canvas = columns is CANVAS
    # Canvas expects all five columns.
    header = list(CANVAS) if canvas else who
    yield [*header, *chosen.values()]
    graded = [student for student in students if student.grade and not student.problem]
    if canvas:
        most = {line["lesson"]: line["possible"] for s in graded for line in s.lessons}
        yield [
            "    Points Possible",
            *[None] * (len(header) - 1),
            *(
                rounded(course.settings["maximum"]) if name == "result" else most.get(name)
                for name in chosen
            ),
        ]
    for student in graded:
        entry = course.roster.get(student.name)
        if entry is None:
            continue
        counted = {line["lesson"]: rounded(line["counted"]) for line in student.lessons}
        yield [
            *(entry.get(name) for name in header),
            *(student.result if name == "result" else counted.get(name) for name in chosen),
        ]


def write_feedback(out, class_folder, students):
    """The files by which a platform gives each student the page: Canvas finds a student by the
    numbers in a file's name, Moodle by the name of its folder."""
    try:
        names = json.loads(Path(f"{class_folder}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        names = {}
    for platform, form in (("canvas", "{}_feedback.html"), ("moodle", "{}_/feedback.html")):
        path = out / f"feedback-{platform}.zip"
        path.unlink(missing_ok=True)
        found = [
            (form.format(names[student.folder.name][platform]), student.folder / "feedback.html")
            for student in students
            if student.grade and platform in names.get(student.folder.name, {})
        ]
        if not found:
            continue
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, page in found:
                archive.writestr(zipfile.ZipInfo(name), page.read_bytes(), zipfile.ZIP_DEFLATED)


def write(names, class_folder, out, course, with_course):
    students = [Student(name, class_folder, out, course) for name in names]
    rows = [student.row(with_course) for student in students]
    lessons = sorted({lesson for row in rows for lesson in row["lessons"]})
    write_text(out / "class.json", json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    write_csv(out / "class.csv", class_csv(rows, lessons, with_course))
    write_csv(out / "similar.csv", similar.rows(students))
    for file, columns in (("canvas.csv", CANVAS), ("moodle.csv", MOODLE)):
        (out / file).unlink(missing_ok=True)
        if (
            {"Student", "ID"} <= set(course.identification)
            if columns is CANVAS
            else (set(columns[:3]) & set(course.identification))
        ):
            write_csv(out / file, gradebook(columns, course, students))
    for student in students:
        if student.grade:
            page = pages.feedback(student, course, with_course)
            write_text(student.folder / "feedback.html", pages.html(page))
            write_text(student.folder / "feedback.txt", pages.text(page))
    write_feedback(out, class_folder, students)
    statistics = pages.statistics(students, lessons)
    write_text(out / "statistics.json", json.dumps(statistics, ensure_ascii=False, indent=1) + "\n")
    write_text(
        out / "class.html", pages.html(pages.overview(students, statistics, course, with_course))
    )
    return students


def print_table(students, out, with_course, course):
    wide = min(40, max(len(student.name) for student in students))
    for student in students:
        name = student.name if len(student.name) <= wide else student.name[: wide - 3] + "..."
        if not student.grade:
            print(f"{name:{wide}}    - of   -   {student.problem}")
            continue
        result = f" {student.result:7}" if with_course and not student.problem else ""
        note = f"   {student.problem}" if student.problem else ""
        print(f"{name:{wide}}{result} {student.points:4} of{student.possible:4}{note}")
    for line in sorted({pages.sandbox(s.grade) for s in students if s.grade}):
        print(line)
    for student in students:
        for hint in (*student.hints(), *student.published()):
            print(f"{student.name}: {hint}.")
    names = {student.name for student in students}
    strangers, absent = names - set(course.roster), set(course.roster) - names
    if course.roster and strangers:
        print(f"Not in the roster, so not in the gradebook's file: {', '.join(sorted(strangers))}")
    if absent:
        print(f"In the roster, but without a folder in the class: {', '.join(sorted(absent))}")
    if course.roster and not any((out / file).exists() for file in ("canvas.csv", "moodle.csv")):
        print(f"No gradebook's file: ROSTER lacks Student and ID, and {', '.join(MOODLE[:3])}.")
    graded = {line["lesson"] for student in students for line in student.lessons}
    if graded and len(graded) < len(course.lessons):
        print(
            f"Points and results are of {len(graded)} of the {len(course.lessons)} lessons alone."
        )
    given = os.environ.get("OUT", "").rstrip("/") or os.path.relpath(out)
    print(f"The table: {given}/class.csv, and as a page: class.html beside it")
    print(f"For each student: {given}/students/NAME/feedback.html")


def report(names, class_folder, out, course, with_course):
    """Writes all files and prints a table; the exit status of the grading."""
    students = write(names, class_folder, out, course, with_course)
    print_table(students, out, with_course, course)
    return 2 if any(student.problem for student in students) else 0
