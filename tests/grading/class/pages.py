"""The pages of a class: feedback for a student, and how the class did. A page is a list of blocks,

    ("title", TEXT)   ("heading", TEXT, ANCHOR)   ("line", TEXT or [(TEXT, LINK or None)...])
    ("test", the same)         the name of what was missed
    ("report", TEXT, LESSON)   in the check's own lines
    ("source", TEXT, LESSON)               the student's file; only an HTML page has it
    ("table", [HEADER, ROW...], CAPTION)   a cell is text, a number, (TEXT, LINK), or a Bar

that html() and text() write. An HTML page is one file without scripts; every text is escaped. In a
report, and in ("line", TEXT, LESSON), the lines of the lesson's source are links to it.
"""

import re
import statistics as figures
from collections import Counter
from html import escape
from typing import NamedTuple
from urllib.parse import quote_from_bytes

import forms
from course import rounded

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; } p { margin: .3rem 0; }
div { overflow-x: auto; margin: 1rem 0; } table { border-collapse: collapse; }
th, td { padding: .2rem .6rem; text-align: left; vertical-align: top; }
tbody th { font-weight: inherit; } caption { text-align: left; font-style: italic; }
tr { border-bottom: 1px solid #8888; } td.number { text-align: right; white-space: nowrap; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { padding: .6rem; border-left: 3px solid #8888; }
pre.source { counter-reset: line; white-space: pre; overflow-x: auto; }
pre.source span::before { counter-increment: line; content: counter(line); opacity: .6; }
pre.source span::before { display: inline-block; width: 3rem; }
:target { background: #fc08; }
td.bar { white-space: nowrap; } meter { width: 6rem; } p { overflow-wrap: anywhere; }
"""


class Bar(NamedTuple):
    value: int
    most: int


def html_cell(value, tag="td"):
    name = tag.split()[0]
    if isinstance(value, Bar):
        inner = f'<meter max="{value.most}" value="{value.value}">{value.value}</meter>'
        return f'<{tag} class="bar">{inner} {value.value}</{name}>'
    if isinstance(value, tuple):
        return f'<{tag}><a href="{escape(value[1])}">{escape(value[0])}</a></{name}>'
    if isinstance(value, (int, float)):
        return f'<{tag} class="number">{value}</{name}>'
    return f"<{tag}>{escape(value or '')}</{name}>"


def html_line(parts):
    parts = [(parts, None)] if isinstance(parts, str) else parts
    return "".join(
        f'<a href="{escape(link)}">{escape(words)}</a>' if link else escape(words)
        for words, link in parts
    )


def named_lines(lesson):
    """What names a line of the student's file: FILE:LINE, and "in line LINE", if that is not a line
    of something else."""
    return re.compile(rf"(?:\b{lesson}\.c:|\bin line )([0-9]{{1,6}})\b(?! of )")


def linked(words, lesson, most):
    """Escaped text in which each line that it names of a file of `most` lines is a link."""

    def link(found):
        known = 0 < int(found[1]) <= most
        return f'<a href="#{lesson}-{found[1]}">{found[0]}</a>' if known else found[0]

    return named_lines(lesson).sub(link, escape(words))


def html_source(text, lesson):
    for number, line in enumerate(text.split("\n"), 1):
        yield f'<span id="{lesson}-{number}">{escape(line)}</span>'


def html(page):
    title = next(block[1] for block in page if block[0] == "title")
    sources = {block[2]: block[1].count("\n") + 1 for block in page if block[0] == "source"}
    lines = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>",
    ]
    for kind, content, *more in page:
        if kind == "title":
            lines.append(f"<h1>{escape(content)}</h1>")
        elif kind == "heading":
            lines.append(f'<h2 id="{escape(more[0])}">{escape(content)}</h2>')
        elif kind == "test":
            lines.append(f"<h3>{html_line(content)}</h3>")
        elif kind == "line" and more and more[0] in sources:
            lines.append(f"<p>{linked(content, more[0], sources[more[0]])}</p>")
        elif kind == "line":
            lines.append(f"<p>{html_line(content)}</p>")
        elif kind == "report":
            lines.append(f"<pre>{linked(content, more[0], sources.get(more[0], 0))}</pre>")
        elif kind == "source":
            inner = "\n".join(html_source(content, more[0]))
            lines.append(f"<h2>{more[0]}.c</h2>")
            lines.append(f'<pre class="source" tabindex="0">{inner}</pre>')
        else:
            lines.append(f"<div><table><caption>{escape(more[0])}</caption><thead>")
            for number, row in enumerate(content):
                first = html_cell(row[0], 'th scope="row"') if number else ""
                kind = "td" if number else 'th scope="col"'
                cells = "".join(html_cell(value, kind) for value in row[bool(number) :])
                lines.append(f"<tr>{first}{cells}</tr>" + ("" if number else "</thead><tbody>"))
            lines.append("</tbody></table></div>")
    return "\n".join([*lines, "</main></body></html>", ""])


def plain(value):
    if isinstance(value, Bar):
        return str(value.value)
    return str(value[0] if isinstance(value, tuple) else "" if value is None else value)


def text(page):
    lines = []
    for kind, content, *_ in page:
        if kind == "title":
            lines += [content, "=" * len(content)]
        elif kind == "heading":
            lines += [content, "-" * len(content)]
        elif kind in ("line", "test"):
            lines.append(
                content
                if isinstance(content, str)
                else "".join(
                    words + (f" ({link})" if link and link[0] != "#" else "")
                    for words, link in content
                )
            )
        elif kind == "report":
            lines += ["    " + line for line in content.split("\n")]
        elif kind == "source":
            continue
        else:
            rows = [[plain(value) for value in row] for row in content]
            wide = [max(map(len, column)) for column in zip(*rows)]
            lines += [
                "  ".join(value.ljust(size) for value, size in zip(row, wide)).rstrip()
                for row in rows
            ]
        lines.append("")
    return "\n".join(lines)


# ---- what a student receives ----


def days(number):
    return "1 day" if number == 1 else f"{number} days"


def changed(adjustment):
    """A change by the teacher, as words."""
    change, reason = adjustment
    return f"{'+' if change >= 0 else ''}{rounded(change)} {reason}".rstrip()


def lateness(line):
    """Why a lesson counts other points than it was graded with, or nothing."""
    late = f"{days(line['late'])} late" if line["late"] else ""
    if line["slip"]:
        late += f", {line['slip']} of them slip"
    words = [f"{late}: -{rounded(line['lost'])}%"] if late else []
    words += [f"best of {line['submissions']} submissions"] if line["submissions"] > 1 else []
    words += [changed(line["adjustment"])] if line["adjustment"] else []
    return ", ".join(words)


def time(date, form):
    return date.strftime(form) if date else ""


def rules(course):
    """What the course makes of lateness, in a sentence for each rule."""
    settings = course.settings
    if "late" in settings:
        yield f"A lesson loses {rounded(settings['late'])}% for each day begun after its due date."
    if settings.get("grace"):
        yield f"{rounded(settings['grace'])} minutes later is still in time."
    if "days" in settings:
        yield f"More than {days(rounded(settings['days']))} later counts 0."
    if settings.get("slip"):
        yield (
            f"Each student has {rounded(settings['slip'])} slip "
            f"{'day' if settings['slip'] == 1 else 'days'}, which late lessons use up in the order "
            "of their due dates, and for which they lose nothing."
        )
    if course.counts_best():
        yield "Of several submissions of a lesson, the one that counts most counts."


def account(student, course):
    """How the result is made, as lines and a table."""
    maximum = rounded(course.settings["maximum"])
    change = course.result_adjustments.get(student.name)
    sum_of = f"{maximum} x {rounded(student.total, 4)} / {rounded(student.weight, 4)}"
    yield "line", f"Result: {student.result} of {maximum}."
    header = ["lesson", "points", "of", "due", "handed in", "", "counted", "weight"]
    dated = any(line["due"] for line in student.lessons)
    rows = [
        [
            (line["lesson"], "#" + line["lesson"]),
            line["points"],
            line["possible"],
            time(line["due"], "%Y-%m-%d %H:%M"),
            time(line["submitted"], "%Y-%m-%d %H:%M:%S") if line["due"] else "",
            lateness(line),
            rounded(line["counted"]),
            rounded(line["weight"], 4),
        ]
        for line in student.lessons
    ]
    if not dated:
        header, *rows = [[*row[:3], *row[5:]] for row in [header, *rows]]
    yield "table", [header, *rows], "How the result is made"
    if course.settings.get("slip"):
        yield "line", f"Slip days left: {rounded(student.slip_left)}."
    yield (
        "line",
        f"Result = {sum_of}{f', then {changed(change)}' if change else ''}: {maximum} x the sum of "
        f"weight x counted / of, divided by the sum of the weights.",
    )
    if dated:
        zone = course.settings.get("zone") or next(
            line["due"].tzname() for line in student.lessons if line["due"]
        )
        yield "line", " ".join([*rules(course), f"Times are those of {zone}."])


def where_to_read(lesson, course):
    book = course.settings.get("book")
    if book:
        return [("Read: ", None), (f"the page of {lesson}", f"{book.rstrip('/')}/{lesson}.html")]
    return f"Read: docs/{lesson}.rst"


def misses(line):
    """(test, [sentences], report) of each test that missed."""
    for test in line["tests"]:
        if test["result"] != "failed":
            continue
        lines = test["lines"]
        first = [words for words in lines if words.startswith(("Expected: ", "Happened: "))]
        rest = [words for words in lines if words not in first]
        yield test, first, "\n".join(rest).strip("\n")


def line_of(test, lesson, source):
    """The line of the student's file that a miss is about: the first one that it names, else the
    first one that calls or defines a function that it names, else the first one."""
    words, lines = "\n".join(test["lines"]), source.split("\n")
    for named in map(int, named_lines(lesson).findall(words)):
        if 0 < named <= len(lines):
            return named
    names = set(re.findall(r"\bcuda\w+|\b[A-Za-z]\w*_\w+", words))
    for number, line in enumerate(lines, 1):
        comment = line.lstrip().startswith(("/*", "*", "//"))
        if not comment and not names.isdisjoint(re.findall(r"\w+(?=\()", line)):
            return number
    return 1


def sandbox(grade):
    """A sentence about the sandbox in which this student's programs ran."""
    lacking = ", ".join(grade["not_promised"])
    return f"Sandbox: {grade['sandbox']}." + (f" Not promised: {lacking}." if lacking else "")


def feedback(student, course, with_course):
    page = [("title", f"{course.settings['title']}: {student.name}")]
    partial = len(student.lessons) < len(course.lessons)
    of_all = f", of {len(student.lessons)} of the {len(course.lessons)} lessons" if partial else ""
    page.append(("line", f"{student.points} of {student.possible} points{of_all}."))
    if with_course:
        page += account(student, course)
    else:
        rows = [
            [(line["lesson"], "#" + line["lesson"]), line["points"], line["possible"]]
            for line in student.lessons
        ]
        page.append(("table", [["lesson", "points", "of"], *rows], "The points of each lesson"))
    page += [("line", f"About the files: {hint}.") for hint in student.hints()]
    page.append(("line", sandbox(student.grade)))
    sources = []
    for line in student.lessons:
        name, source = line["lesson"], line.get("source")
        page.append(("heading", f"{name}: {line['points']} of {line['possible']}", name))
        if line["points"] == line["possible"] and line["sentence"] is None:
            page.append(("line", "Every test passes."))
            continue
        found = list(misses(line))
        if not found:
            page.append(("line", line["sentence"] or ""))
        for test, sentences, report in found:
            link = f"#{name}-{line_of(test, name, source)}" if source else None
            page.append(("test", [(f"Missed: {test['name']}.", link)]))
            page += [("line", words, name) for words in sentences]
            if report:
                page.append(("report", report, name))
        page += [("line", words) for words in forms.waiting_sentence(line)]
        page.append(("line", where_to_read(name, course)))
        if source and found:
            sources.append(("source", source, name))
    return page + sources


# ---- how the class did ----

MEANS = "Mean and median are of all students: who handed nothing in counts with 0 points"
DIFFICULTY = (
    "Difficulty is the share of the programs that meet a test; one that was not judged does not. "
    "Discrimination is how meeting it goes with the lesson's other tests, from -1 to 1: a test "
    "near 0 or below separates nothing."
)


def expected(test):
    """The first sentence that a student read about a missed test, without the drawn numbers."""
    lines = test["lines"] or [test["name"]]
    first = next((words for words in lines if words.startswith("Expected: ")), lines[0])
    return re.sub(r"\d+", "N", first.removeprefix("Expected: "))[:300]


def item(name, lines):
    """Difficulty: the share of the students whose program could be judged at all, or had to be
    repaired first, that meets this test. Discrimination: how that goes with the points of the
    lesson's other tests (-1 to 1), or None where all meet it, or none."""
    met = [any(t["name"] == name and t["result"] == "passed" for t in x["tests"]) for x in lines]
    others = [sum(t["result"] == "passed" for t in x["tests"] if t["name"] != name) for x in lines]
    both, spread = None, figures.pstdev(met) * figures.pstdev(others) if met else 0
    if spread:  # figures.correlation needs Python 3.10
        products = [a * b for a, b in zip(met, others)]
        both = (figures.mean(products) - figures.mean(met) * figures.mean(others)) / spread
        both = round(both, 2)
    return {
        "difficulty": round(sum(met) / len(met), 2) if met else None,
        "discrimination": both,
    }


def statistics(students, lessons):
    """For each lesson: how many of each status and of each number of points, what was missed, how
    difficult each test is, and which sentences were said most."""
    found = []
    for lesson in lessons:
        lines = [line for s in students for line in s.lessons if line["lesson"] == lesson]
        judged = [line for line in lines if line["status"] != "ungraded"]
        points = [line["points"] for line in judged]
        possible = max(line["possible"] for line in lines)
        tests, said = {}, Counter()
        for line in judged:
            for test in line["tests"]:
                entry = tests.setdefault(test["name"], {"missed": 0, "judged": 0, "waiting": 0})
                entry["judged"] += test["result"] != "skipped"
                entry["missed"] += test["result"] == "failed"
                entry["waiting"] += test["result"] == "skipped"
            said.update({expected(test) for test in line["tests"] if test["result"] == "failed"})
        for name, entry in tests.items():
            entry.update(item(name, [line for line in judged if line["tests"]]))
        found.append(
            {
                "lesson": lesson,
                "students": len(lines),
                "possible": possible,
                "mean": round(figures.mean(points), 2) if points else None,
                "median": figures.median(points) if points else None,
                "distribution": [
                    sum(int(each) == n for each in points) for n in range(possible + 1)
                ],
                "status": {
                    status: count
                    for status in ("graded", "missing", "refused", "uncompiled", "ungraded")
                    if (count := sum(line["status"] == status for line in lines))
                },
                "tests": [{"name": name, **counts} for name, counts in tests.items()],
                "misses": [
                    {"sentence": sentence, "students": count}
                    for sentence, count in sorted(said.items(), key=lambda x: (-x[1], x[0]))
                ],
            }
        )
    return found


def table_of_students(students, with_course):
    rows = [["student", *(["result"] if with_course else []), "points", "of", "note"]]
    for student in students:
        if student.grade is None:
            none = [None] if with_course else []
            rows.append([student.name, *none, None, None, student.problem])
            continue
        folder = quote_from_bytes(student.folder.name.encode("utf-8", "surrogateescape"))
        name = (student.name, f"students/{folder}/feedback.html")
        result = [student.result] if with_course else []
        rows.append([name, *result, student.points, student.possible, student.note()])
    return rows


def table_of_lessons(found):
    without = ("missing", "refused", "uncompiled")
    rows = [["lesson", "mean", "median", "of", "all points", "none", *without]]
    for line in found:
        name = (line["lesson"], "#" + line["lesson"])
        points = line["distribution"]
        status = [line["status"].get(word, 0) for word in without]
        figures = [line["mean"], line["median"], line["possible"]]
        rows.append([name, *figures, points[-1], points[0], *status])
    return rows


def said_most(found, count_of_students):
    said = sorted(
        ((x["students"], line["lesson"], x["sentence"]) for line in found for x in line["misses"]),
        key=lambda x: (-x[0], *x[1:]),
    )
    if not said:
        return
    rows = [
        [(lesson, "#" + lesson), sentence, Bar(count, count_of_students)]
        for count, lesson, sentence in said[:10]
    ]
    yield ("heading", "What was said most", "said")
    yield ("table", [["lesson", "sentence", "students"], *rows], "To how many it was said")


def about_lesson(line):
    most = line["students"]
    yield ("heading", line["lesson"], line["lesson"])
    spread = [[str(points), Bar(count, most)] for points, count in enumerate(line["distribution"])]
    yield ("table", [["points", "students"], *spread], "How many students have these points")
    tests = sorted(line["tests"], key=lambda test: -test["missed"])
    if tests:
        head = ["test", "missed by", "of", "not judged", "difficulty", "discrimination"]
        figures = ("judged", "waiting", "difficulty", "discrimination")
        rows = [[t["name"], Bar(t["missed"], most), *(t[word] for word in figures)] for t in tests]
        yield ("table", [head, *rows], "What each test was met by")
    if line["misses"]:
        said = [[x["sentence"], Bar(x["students"], most)] for x in line["misses"][:5]]
        yield ("table", [["what was said most", "to"], *said], "What was said most")


def overview(students, found, course, with_course):
    graded = sum(student.problem is None for student in students)
    page = [
        ("title", f"{course.settings['title']}: the class"),
        ("line", f"{graded} of {len(students)} students have a grade."),
    ]
    page += [("line", line) for line in sorted({sandbox(s.grade) for s in students if s.grade})]
    if len(found) < len(course.lessons):
        page.append(("line", f"The lessons are {len(found)} of {len(course.lessons)}."))
    page += [("heading", "Lessons", "lessons"), ("table", table_of_lessons(found), MEANS)]
    page += said_most(found, len(students))
    page.append(("line", DIFFICULTY))
    page.append(("heading", "Students", "students"))
    page.append(("table", table_of_students(students, with_course), "A row for each student"))
    for line in found:
        page += about_lesson(line)
    return page
