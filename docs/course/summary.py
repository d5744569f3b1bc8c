"""A grade as a table in Markdown, for the page of a workflow: summary.py GRADE.json

Exit status: 0 all points, 1 not all, 2 something could not be graded.
"""

import json
import sys


def row(line):
    reason = (line["sentence"] or "").replace("|", "\\|").replace("\n", " ")
    return f"| {line['lesson']} | {line['points']:g} of {line['possible']:g} | {reason} |"


def main(file):
    with open(file, encoding="utf-8") as text:
        grade = json.load(text)
    print(f"**{grade['points']:g} of {grade['possible']:g} points**\n")
    print("| lesson | points | first |\n|---|---|---|")
    print("\n".join(map(row, grade["lessons"])))
    if any(line["status"] == "ungraded" for line in grade["lessons"]):
        return 2
    return int(grade["points"] < grade["possible"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
