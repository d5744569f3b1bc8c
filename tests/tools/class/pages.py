"""The pages of a class: feedback for a student, and how the class did. A page is a list of blocks,

    ("title", TEXT)   ("heading", TEXT, ANCHOR)   ("line", TEXT or [(TEXT, LINK or None)...])
    ("test", TEXT)    the name of what was missed
    ("report", TEXT)  in the check's own lines
    ("table", [HEADER, ROW...])   a cell is text, a number, (TEXT, LINK), or a Bar

that html() and text() write. An HTML page is one file without scripts; every text is escaped.
"""

import statistics as figures
from html import escape
from typing import NamedTuple
from urllib.parse import quote_from_bytes

from course import rounded

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; } p { margin: .3rem 0; }
div { overflow-x: auto; margin: 1rem 0; } table { border-collapse: collapse; }
th, td { padding: .2rem .6rem; text-align: left; vertical-align: top; }
tr { border-bottom: 1px solid #8888; } td.number { text-align: right; white-space: nowrap; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { padding: .6rem; border-left: 3px solid #8888; }
td.bar { white-space: nowrap; } meter { width: 6rem; } p { overflow-wrap: anywhere; }
"""


class Bar(NamedTuple):
    value: int
    most: int


def html_cell(value, tag="td"):
    if isinstance(value, Bar):
        inner = f'<meter max="{value.most}" value="{value.value}">{value.value}</meter>'
        return f'<{tag} class="bar">{inner} {value.value}</{tag}>'
    if isinstance(value, tuple):
        return f'<{tag}><a href="{escape(value[1])}">{escape(value[0])}</a></{tag}>'
    if isinstance(value, (int, float)):
        return f'<{tag} class="number">{value}</{tag}>'
    return f"<{tag}>{escape(value or '')}</{tag}>"


def html_line(parts):
    parts = [(parts, None)] if isinstance(parts, str) else parts
    return "".join(
        f'<a href="{escape(link)}">{escape(words)}</a>' if link else escape(words)
        for words, link in parts
    )


def html(page):
    title = next(block[1] for block in page if block[0] == "title")
    lines = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
    ]
    for kind, content, *more in page:
        if kind == "title":
            lines.append(f"<h1>{escape(content)}</h1>")
        elif kind == "heading":
            lines.append(f'<h2 id="{escape(more[0])}">{escape(content)}</h2>')
        elif kind == "test":
            lines.append(f"<h3>{escape(content)}</h3>")
        elif kind == "line":
            lines.append(f"<p>{html_line(content)}</p>")
        elif kind == "report":
            lines.append(f"<pre>{escape(content)}</pre>")
        else:
            lines.append("<div><table>")
            for number, row in enumerate(content):
                cells = "".join(html_cell(value, "td" if number else "th") for value in row)
                lines.append(f"<tr>{cells}</tr>")
            lines.append("</table></div>")
    return "\n".join([*lines, "</body></html>", ""])


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
                else "".join(words + (f" ({link})" if link else "") for words, link in content)
            )
        elif kind == "report":
            lines += ["    " + line for line in content.split("\n")]
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
    return "1 day late" if number == 1 else f"{number} days late"


def lateness(line):
    """What became of a lesson's points: words, or nothing."""
    words = [days(line["late"])] if line["late"] else []
    if line["adjustment"]:
        change, reason = line["adjustment"]
        words.append(f"{'+' if change >= 0 else ''}{rounded(change)}" + f" {reason}".rstrip())
    return ", ".join(words)


def where_to_read(lesson, course):
    book = course.settings.get("book")
    if book:
        return [("Read: ", None), (f"the page of {lesson}", f"{book.rstrip('/')}/{lesson}.html")]
    return f"Read: docs/{lesson}.rst"


def misses(line):
    """(name, [sentences], report) of each test that missed."""
    for test in line["tests"]:
        if test["result"] != "failed":
            continue
        lines = test["lines"]
        first = [words for words in lines if words.startswith(("Expected: ", "Happened: "))]
        rest = [words for words in lines if words not in first]
        yield test["name"], first, "\n".join(rest).strip("\n")


def feedback(student, course, with_course):
    page = [("title", f"{course.settings['title']}: {student.name}")]
    if with_course:
        page.append(("line", f"Result: {student.result} of {rounded(course.settings['maximum'])}."))
        change = course.result_adjustments.get(student.name)
        if change:
            page.append(
                (
                    "line",
                    f"It includes {'+' if change[0] >= 0 else ''}{rounded(change[0])}. {change[1]}",
                )
            )
    page.append(("line", f"{student.points} of {student.possible} points."))
    header = ["lesson", "points", "of", *(["counted", ""] if with_course else [])]
    rows = [
        [
            (line["lesson"], "#" + line["lesson"]),
            line["points"],
            line["possible"],
            *([rounded(line["counted"]), lateness(line)] if with_course else []),
        ]
        for line in student.lessons
    ]
    page.append(("table", [header, *rows]))
    for line in student.lessons:
        name = line["lesson"]
        page.append(("heading", f"{name}: {line['points']} of {line['possible']}", name))
        if line["points"] == line["possible"] and line["sentence"] is None:
            page.append(("line", "Every test passes."))
            continue
        found = list(misses(line))
        if not found:
            page.append(("line", line["sentence"] or ""))
        for test, sentences, report in found:
            page.append(("test", f"Missed: {test}."))
            page += [("line", words) for words in sentences]
            if report:
                page.append(("report", report))
        page.append(("line", where_to_read(name, course)))
    return page


# ---- how the class did ----


def statistics(students, lessons):
    """For each lesson: how many of each status and of each number of points, and what missed."""
    found = []
    for lesson in lessons:
        lines = [line for s in students for line in s.lessons if line["lesson"] == lesson]
        judged = [line for line in lines if line["status"] != "ungraded"]
        points = [line["points"] for line in judged]
        possible = max(line["possible"] for line in lines)
        tests = {}
        for line in judged:
            for test in line["tests"]:
                entry = tests.setdefault(test["name"], {"missed": 0, "judged": 0})
                entry["judged"] += test["result"] != "skipped"
                entry["missed"] += test["result"] == "failed"
        found.append(
            {
                "lesson": lesson,
                "students": len(lines),
                "possible": possible,
                "mean": round(figures.mean(points), 2) if points else None,
                "median": figures.median(points) if points else None,
                "distribution": [points.count(n) for n in range(possible + 1)],
                "status": {
                    status: count
                    for status in ("graded", "missing", "refused", "ungraded")
                    if (count := sum(line["status"] == status for line in lines))
                },
                "tests": [{"name": name, **counts} for name, counts in tests.items()],
            }
        )
    return found


def overview(students, found, course, with_course):
    page = [("title", f"{course.settings['title']}: the class")]
    page.append(
        (
            "line",
            f"{sum(s.problem is None for s in students)} of {len(students)} students have a grade.",
        )
    )
    header = ["student", *(["result"] if with_course else []), "points", "of", "note"]
    rows = []
    for student in students:
        if student.grade is None:
            rows.append(
                [student.name, *([None] if with_course else []), None, None, student.problem]
            )
            continue
        link = "students/" + quote_from_bytes(
            student.folder.name.encode("utf-8", "surrogateescape")
        )
        rows.append(
            [
                (student.name, link + "/feedback.html"),
                *([student.result] if with_course else []),
                student.points,
                student.possible,
                student.note(),
            ]
        )
    lessons = [["lesson", "mean", "median", "of", "all points", "none", "missing", "refused"]]
    for line in found:
        lessons.append(
            [
                (line["lesson"], "#" + line["lesson"]),
                line["mean"],
                line["median"],
                line["possible"],
                line["distribution"][-1],
                line["distribution"][0],
                line["status"].get("missing", 0),
                line["status"].get("refused", 0),
            ]
        )
    page += [("heading", "Lessons", "lessons"), ("table", lessons)]
    page += [("heading", "Students", "students"), ("table", [header, *rows])]
    for line in found:
        page.append(("heading", line["lesson"], line["lesson"]))
        most = line["students"]
        spread = [
            [str(points), Bar(count, most)] for points, count in enumerate(line["distribution"])
        ]
        page.append(("table", [["points", "students"], *spread]))
        tests = sorted(line["tests"], key=lambda test: -test["missed"])
        if tests:
            page.append(
                (
                    "table",
                    [
                        ["test", "missed by", "of"],
                        *([t["name"], Bar(t["missed"], most), t["judged"]] for t in tests),
                    ],
                )
            )
    return page
