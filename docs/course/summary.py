"""A grade for the page of a workflow: summary.py GRADE.json [URL]

Prints a table in Markdown. URL is where the repository's files are shown: then the name of a lesson
is a link to the line of the student's file that the first miss names. Beside GRADE.json it writes
the same as summary.md, and metrics.txt with the points, which GitLab reads. In a workflow of GitHub
the table goes to the page of the run, and the outputs `title` and `conclusion` to the steps that
follow.

Exit status: 0 all points, 1 not all, 2 something could not be graded.
"""

import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import quote


def cell(text):
    """A sentence as a cell: no character of it is Markdown, and none is HTML."""
    text = re.sub(r"\s+", " ", text or "")
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&$@-])", r"\\\1", text)


def linked(line, folder):
    """The lesson's name, as a link to the line that its first miss names, or to the file."""
    name = line["lesson"]
    missed = [test["lines"] for test in line["tests"] if test["result"] == "failed"]
    if not folder or not missed:
        return name
    where = re.search(rf"(?:\b{name}\.c:|\bin line )(\d+)\b(?! of )", "\n".join(missed[0]))
    return f"[{name}]({folder}/{name}.c{f'#L{where[1]}' if where else ''})"


def row(line, folder):
    points = f"{line['points']:g} of {line['possible']:g}"
    return f"| {linked(line, folder)} | {points} | {cell(line['sentence'])} |"


def append(variable, text):
    path = os.environ.get(variable)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text + "\n")


def main(file, url=""):
    grade = json.loads(Path(file).read_text(encoding="utf-8"))
    title = f"{grade['points']:g} of {grade['possible']:g} points"
    ungraded = any(line["status"] == "ungraded" for line in grade["lessons"])
    whole = grade["points"] >= grade["possible"]
    table = [f"**{title}**\n", "| lesson | points | first |", "|---|---|---|"]
    folder = url and f"{url}/{quote(grade['folder'])}"
    text = "\n".join([*table, *(row(line, folder) for line in grade["lessons"])])
    print(text)
    Path(file).with_name("summary.md").write_text(text + "\n", encoding="utf-8")
    metrics = f"points {grade['points']:g}\npossible {grade['possible']:g}\n"
    Path(file).with_name("metrics.txt").write_text(metrics, encoding="utf-8")
    append("GITHUB_STEP_SUMMARY", text)
    conclusion = "neutral" if ungraded else "success" if whole else "failure"
    append("GITHUB_OUTPUT", f"title={title}\nconclusion={conclusion}")
    return 2 if ungraded else int(not whole)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
