"""What a professor decides about a course: the file COURSE, the file ROSTER, and the result.

COURSE has sections with lines "name = value"; a line that begins with # is a comment. A lesson is
its number or its name, a student is the name of a folder as class.csv shows it, with \\x3d for "=".

    [course]
    title = GPU memory, fall
    maximum = 100               the result of a student with all points; left out: 100
    submitted = file            when a lesson was handed in: the time of its file, or "roster"
    late = 10                   percent that a lesson loses for each day begun; left out: 0
    grace = 15                  minutes without loss; left out: 0
    days = 5                    a lesson that is later counts 0; left out: no limit
    slip = 3                    days late that cost a student nothing, of all lessons together, in
                                the order of their due dates; left out: 0
    count = best                of all submissions of a lesson that were graded, the one with the
                                most points after lateness counts; left out: last
    waiting = 0.5               what a rule counts, of a point, that could not be judged before
                                another is met; all of them never more than twice what was met;
                                left out: 1
    zone = Europe/Berlin        of the dates that name none; left out: this machine's
    book = https://HOST/book    the book, for the links of the feedback pages
    [weights]
    20 = 3                      left out: 1; with 0 the lesson does not count
    [due]
    07 = 2026-09-14 23:59
    [extensions]
    ada/07 = 2026-09-20 23:59   a due date of one student
    [adjustments]
    ada/07 = +1 The reason.     points of a lesson, which lateness does not reduce
    ada = -2.5 The reason.      a change of the result
    [columns]
    result = Workbook (4711)    the column's name in the files for Canvas and Moodle
    07 = Lesson 07 (4712)       a lesson's counted points as a column of their own

It is a format of its own, so that every mistake can be named with its line, and a teacher can
comment a decision. ROSTER is a CSV file with a header: the column
"folder" and those of the gradebook that a student is found by there (tables.py). For a class that
came from Canvas it may lack "folder": the column "ID" has the number with which a folder's name
ends. With "submitted = roster" it has a column "submitted", or one for a lesson, such as
"submitted 07".
"""

import csv
import math
import re
from datetime import datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

SECTIONS = ("course", "weights", "due", "extensions", "adjustments", "columns")
SETTINGS = (
    *("title", "maximum", "submitted", "late", "grace", "days", "slip", "count", "waiting"),
    *("zone", "book"),
)


MOST = 1000000  # of any number

# What unpack.py names a student's folder: a name and the platform's number.
NUMBERED = re.compile("_([0-9]+)$")


class Refused(Exception):
    """Sentences about a file that cannot be used."""

    def __init__(self, sentences):
        super().__init__("\n".join(sentences))


def number(text, least=0):
    """A decimal number as a fraction, so that no sum depends on its order."""
    decimal = re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", text)
    if not decimal or not least <= Fraction(text) <= MOST:
        raise ValueError(f'"{text}" is not a number from {least} to {MOST}')
    return Fraction(text)


class Course:
    def __init__(self, lessons, students):
        self.lessons, self.students = lessons, set(students)
        self.settings = {"maximum": Fraction(100), "title": "The workbook"}
        self.weights, self.due, self.extensions = {}, {}, {}
        self.adjustments, self.result_adjustments, self.columns = {}, {}, {"result": "Workbook"}
        self.roster, self.identification, self.submitted = {}, [], {}

    # ---- the file COURSE ----

    def read(self, path):
        section, known, sentences, rest = None, {}, [], []
        for place, line in enumerate(text_of(path).split("\n"), 1):
            line = line.strip()
            try:
                if not line or line.startswith("#"):
                    continue
                if heading := re.fullmatch(r"\[(.*)\]", line):
                    section = heading[1]
                    if section not in SECTIONS:
                        raise ValueError(
                            f"there is no section [{section}]; the sections are "
                            + ", ".join(f"[{name}]" for name in SECTIONS)
                        )
                    continue
                name, equals, value = (part.strip() for part in line.partition("="))
                if not (name and equals and value):
                    raise ValueError('expected "name = value", "[section]" or "# a comment"')
                if section is None:
                    raise ValueError("a section, such as [course], must come first")
                if (section, name) in known:
                    raise ValueError(f"{name} is also in line {known[section, name]}")
                known[section, name] = place
                if section == "course":
                    self.setting(name, value)
                else:
                    rest.append((place, section, name, value))
            except ValueError as wrong:
                sentences.append(f"{path}:{place}: {wrong}.")
        for place, section, name, value in rest:  # dates need the zone
            try:
                getattr(self, f"read_{section}")(name, value)
            except ValueError as wrong:
                sentences.append(f"{path}:{place}: {wrong}.")
        if (self.due or self.extensions) and "submitted" not in self.settings:
            sentences.append(
                f"{path}: it has due dates, so [course] must have a line that names the time of a "
                'submission: "submitted = file" or "submitted = roster".'
            )
        if self.due and self.counts_best() and self.settings.get("submitted") == "roster":
            sentences.append(
                f'{path}: "count = best" needs the time of each submission, and a roster has one '
                'for all: write "submitted = file", or leave the due dates out.'
            )
        if sentences:
            raise Refused(sentences)

    def setting(self, name, value):
        if name not in SETTINGS:
            raise ValueError(f"{name} is not known; [course] has {', '.join(SETTINGS)}")
        if name in ("maximum", "late", "grace", "days", "slip", "waiting"):
            value = number(value)
            if name == "slip" and value.denominator != 1:
                raise ValueError("slip is a whole number of days")
            if name == "waiting" and value > 1:
                raise ValueError("waiting is a part of a point, at most 1")
            if name == "late" and value > 100:
                raise ValueError("late is percent of a lesson, at most 100")
        elif name == "count" and value not in ("best", "last"):
            raise ValueError('count is "best" or "last"')
        elif name == "submitted" and value not in ("file", "roster"):
            raise ValueError('submitted is "file" or "roster"')
        elif name == "book" and not re.match("https?://", value):
            raise ValueError("book is an address that begins with https:// or http://")
        elif name == "zone":
            try:
                value = ZoneInfo(value)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise ValueError(
                    f'the time zone "{value}" is not known here; write it as Europe/Berlin'
                ) from None
        self.settings[name] = value

    def lesson(self, text):
        for lesson in self.lessons:
            if text in (lesson, lesson.split("_")[0], lesson.split("_")[0].lstrip("0")):
                return lesson
        raise ValueError(f"there is no lesson {text}")

    def student(self, text):
        student = text.replace("\\x3d", "=")
        if student not in self.students:
            raise ValueError(f"the class has no student {text}")
        return student

    def date(self, text):
        try:
            if not re.match(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}", text):
                raise ValueError
            date = datetime.fromisoformat(re.sub("Z$", "+00:00", text))
        except ValueError:
            raise ValueError(
                f'"{text}" is not a date and time; write it as 2026-09-14 23:59'
            ) from None
        zone = self.settings.get("zone")
        return date.replace(tzinfo=zone).astimezone() if date.tzinfo is None else date

    def read_weights(self, name, value):
        self.weights[self.lesson(name)] = number(value)

    def read_due(self, name, value):
        self.due[self.lesson(name)] = self.date(value)

    def read_extensions(self, name, value):
        student, slash, lesson = name.rpartition("/")
        if not slash:
            raise ValueError(f"{name} names no lesson; write student/07")
        self.extensions[self.student(student), self.lesson(lesson)] = self.date(value)

    def read_adjustments(self, name, value):
        points, _, reason = value.partition(" ")
        if not re.match("[+-]", points):
            raise ValueError(f'"{points}" must begin with + or -')
        entry = (number(points, least=-MOST), reason.strip())
        if name in self.students or "/" not in name:
            self.result_adjustments[self.student(name)] = entry
        else:
            student, _, lesson = name.rpartition("/")
            self.adjustments[self.student(student), self.lesson(lesson)] = entry

    def read_columns(self, name, value):
        self.columns[name if name == "result" else self.lesson(name)] = value

    # ---- the file ROSTER ----

    def read_roster(self, path):
        rows = csv.reader(text_of(path).splitlines(keepends=True))
        header = [name.strip() for name in next(rows, [])]
        low = [name.lower() for name in header]
        by_number = {match[1]: name for name in self.students if (match := NUMBERED.search(name))}
        if "folder" not in low and not ("id" in low and by_number):
            raise Refused(
                [f'{path}:1: the first line must name the columns, and "folder" is not among them.']
            )
        sentences = [f"{path}:1: two columns are named {n}." for n in header if header.count(n) > 1]
        times = {}
        for column, name in enumerate(low):
            if name.startswith("submitted"):
                try:
                    lesson = name[len("submitted") :].strip()
                    times[column] = self.lesson(lesson) if lesson else None
                except ValueError as wrong:
                    sentences.append(f"{path}:1: column {header[column]}: {wrong}.")
        self.identification = [
            name
            for column, name in enumerate(header)
            if low[column] != "folder" and column not in times
        ]
        for row in rows:
            if not any(row) or row[0].strip() == "Points Possible":  # a row that Canvas adds
                continue
            try:
                if len(row) != len(header):
                    raise ValueError(f"it has {len(row)} columns, the first line has {len(header)}")
                if "folder" in low:
                    folder = row[low.index("folder")]
                else:  # the export of Canvas, for a class that came from there
                    number_of = row[low.index("id")].strip()
                    folder = by_number.get(number_of, f"{row[0].strip()} {number_of}".strip())
                if folder in self.roster:
                    raise ValueError(f"the folder {folder} is in it twice")
                self.roster[folder] = dict(zip(header, row))
                for column, lesson in times.items():
                    if row[column].strip():
                        self.submitted[folder, lesson] = self.date(row[column].strip())
            except ValueError as wrong:
                sentences.append(f"{path}:{rows.line_num}: {wrong}.")
        if sentences:
            raise Refused(sentences)

    # ---- the result ----

    def due_date(self, student, lesson):
        """When the lesson is due, in the zone of the course; or None."""
        due = self.extensions.get((student, lesson), self.due.get(lesson))
        return due and due.astimezone(self.settings.get("zone"))

    def due_order(self, student, lesson):
        """In which order slip days are spent: lessons with a due date, the earliest first."""
        due = self.due_date(student, lesson)
        return (due is None, due.timestamp() if due else 0, lesson)

    def submission(self, student, lesson, file_time):
        """When the lesson was handed in, in the zone of the course; or None."""
        if self.settings.get("submitted") == "file":
            submitted = file_time
        else:
            times = self.submitted
            submitted = times.get((student, lesson), times.get((student, None)))
        return submitted and submitted.astimezone(self.settings.get("zone"))

    def days_late(self, due, submitted):
        """Days begun after the due date; 0 within the grace; None: no due date or no time."""
        if due is None or submitted is None:
            return None
        late = submitted - due
        if late <= timedelta(minutes=float(self.settings.get("grace", 0))):
            return 0
        return -(-late // timedelta(days=1))

    def counts_best(self):
        """Does the best of a student's submissions count, and not the last?"""
        return self.settings.get("count") == "best"

    def lost(self, late):
        """The percent that a lesson loses which is so many days late."""
        if late and late > self.settings.get("days", late):
            return Fraction(100)
        return min(Fraction(100), (late or 0) * self.settings.get("late", Fraction(0)))

    def counted(self, student, lesson, points, late):
        """A lesson's points after lateness and adjustment."""
        adjustment = self.adjustments.get((student, lesson), (0, ""))[0]
        return max(Fraction(0), points * (1 - self.lost(late) / 100) + adjustment)

    def weight(self, lesson):
        return self.weights.get(lesson, Fraction(1))

    def result(self, student, counted):
        """counted: {lesson: (counted points, possible points)}; the result, rounded to 0.01, and
        what it is made of: the weighted sum of the shares, and the sum of the weights."""
        weight = sum(self.weight(lesson) for lesson in counted)
        total = sum(
            self.weight(lesson) * points / possible
            for lesson, (points, possible) in counted.items()
            if possible
        )
        result = self.settings["maximum"] * total / weight if weight else Fraction(0)
        result = max(0, result + self.result_adjustments.get(student, (0, ""))[0])
        return rounded(result), total, weight


def rounded(value, digits=2):
    """To 0.01, or so many digits, halves upward, as the shortest decimal."""
    unit = 10**digits
    value = float(Fraction(math.floor(value * unit + Fraction(1, 2)), unit))
    return int(value) if value == int(value) else value


LARGEST = 16 << 20


def text_of(path):
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read(LARGEST + 1).replace("\r\n", "\n")
    except OSError as wrong:
        words = f"{path} cannot be read: {wrong.strerror}. Name a text file."
        raise Refused([words]) from None
    except UnicodeDecodeError:
        raise Refused([f"{path} is not UTF-8 text. Save it as UTF-8."]) from None
    if len(text) > LARGEST:  # a device may have no end
        raise Refused([f"{path} has more than {LARGEST >> 20} MiB. Name a text file."])
    return text
