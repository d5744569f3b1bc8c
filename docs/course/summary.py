"""A grade for the page of a workflow: summary.py GRADE.json

Prints a table in Markdown. Beside GRADE.json it writes the same as summary.md, and metrics.txt with
the points, which GitLab reads. In a workflow of GitHub the table goes to the page of the run, and
the outputs `title` and `conclusion` to the steps that follow.

Exit status: 0 all points, 1 not all, 2 something could not be graded.
"""

import json
import os
import re
import sys
from pathlib import Path


def cell(text):
    """A sentence as a cell: no character of it is Markdown, and none is HTML."""
    text = re.sub(r"\s+", " ", text or "")
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&$@-])", r"\\\1", text)


def row(line):
    points = f"{line['points']:g} of {line['possible']:g}"
    return f"| {line['lesson']} | {points} | {cell(line['sentence'])} |"


def append(variable, text):
    path = os.environ.get(variable)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text + "\n")


def main(file):
    grade = json.loads(Path(file).read_text(encoding="utf-8"))
    title = f"{grade['points']:g} of {grade['possible']:g} points"
    ungraded = any(line["status"] == "ungraded" for line in grade["lessons"])
    whole = grade["points"] >= grade["possible"]
    table = [f"**{title}**\n", "| lesson | points | first |", "|---|---|---|"]
    text = "\n".join([*table, *map(row, grade["lessons"])])
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
