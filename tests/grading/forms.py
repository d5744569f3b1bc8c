"""The forms of a grade: grade.json, JUnit, Gradescope, PrairieLearn, a table. See grade.py."""

import json
import os
import re
import textwrap
from pathlib import Path
from xml.etree import ElementTree as xml

import report
from manifest import ROOT, Wrong, lessons, manifest
from report import clean

LONGEST = 500


# ---- text ----


def lasting(line, work):
    """A line without the words that differ between two gradings: folders, the compiler's own files
    and addresses."""
    for folder in (work, os.path.relpath(work, ROOT), ROOT):
        line = line.replace(f"{folder}/", "")
    line = re.sub(r" FILE=lessons/\S+", "", line)
    line = re.sub(r"/tmp/cc[A-Za-z0-9]{6}", "/tmp/cc", line)
    return clean(re.sub(r"\b0x[0-9a-f]{9,}", "0x...", line))


def counted(tests):
    """Replaces the numbers of processes, which differ between two gradings, by 1, 2, 3 ..."""
    numbers = []

    def count(found):
        if found[1] not in numbers:
            numbers.append(found[1])
        return f"process {numbers.index(found[1]) + 1}"

    for test in tests:
        test["lines"] = [re.sub(r"\bprocess (\d+)", count, line) for line in test["lines"]]
    return tests


def sentence(lines):
    """The lines of a miss as one sentence: what was expected and what happened, or the compiler's
    first error."""
    if any("does not compile" in line for line in lines):
        errors = [x for x in lines if re.search(r": (fatal )?[eE]rror: |undefined reference to", x)]
        text = (errors or [line for line in lines if line] or [""])[0]
    else:
        stop = r"(On stderr it printed|The whole expected output|Edit|See it yourself|Its picture):"
        said = []
        for line in lines:
            if re.match(stop, line):
                break
            said.append(line)
        text = " ".join(said)
    return text if len(text) <= LONGEST else re.sub(r" \S*$", "...", text[: LONGEST - 3])


# ---- one lesson ----


def test_of(rule, work):
    """A rule as a grade has it. Students see it, so it has no command with the seed."""
    shown = [
        (label, text)
        for label, text in rule.get("see", [])
        if label in ("See it yourself", "Its picture") and "SEED=" not in text
    ]
    lines = report.lines_of({**rule, "see": shown})
    return {
        "name": rule["name"],
        "given": rule["given"],
        "result": rule["result"],
        "lines": [lasting(line, work) for line in lines[:60]],
    }


def possible(name):
    try:
        return manifest(name)["rules"] - manifest(name)["given"]
    except Wrong:
        return 0


def words_of(printed, work):
    """What a check printed that failed, in a sentence: of Python's traceback, the last line."""
    lines = printed.split("\n")
    if "Traceback (most recent call last):" in lines:
        lines = [line for line in lines if line][-1:]
    words = " ".join(" ".join(lines).split())
    return lasting(words[:300], work) or "it printed nothing."


def graded(line, work):
    """A lesson of a grade: what the student's file decided (lessons.py), and its judgment."""
    name, file = line["lesson"], Path(work, f"{line['lesson']}.json")
    printed = file.read_text(errors="replace") if file.exists() else ""
    try:
        found = json.loads(printed)
    except ValueError:
        found = {"ungraded": f"The check of {name} failed: {words_of(printed, work)}"}
    tests = counted([test_of(rule, work) for rule in found.get("rules", ())])
    points, waiting, status, why = 0, 0, line["status"], line["sentence"]
    if status == "graded":
        waiting = sum(test["result"] == "skipped" for test in tests)
        missed = [sentence(t["lines"]) for t in tests if t["result"] == "failed"]
        points, status, why = found.get("points", 0), found.get("status"), (missed or [None])[0]
        if not tests:
            why = clean(found.get("ungraded", f"The check of {name} judged nothing."))
            points, status = 0, "ungraded"
    return {
        "lesson": name,
        "points": points,
        "possible": found.get("possible", possible(name)),
        "status": status,
        "sentence": why,
        "file": line["file"],
        "seed": line["seed"],
        "waiting": waiting,
        "given": found.get("given", 0),
        "tests": tests,
    }


# ---- published solutions ----


def lines_of(path):
    """The lines of a file without the white space at their ends, or none if there is no file."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return {line.strip() for line in text.splitlines()} - {""}


def likeness(file, lesson):
    """How the file is the published solution: "is", byte for byte; "is nearly", if it has nearly
    all lines that the solution has and the starter does not, and none of those that the solution
    does not have; or "". Comments count."""
    solution, starter = (ROOT / f"{where}/{lesson}.c" for where in ("solutions", "lessons"))
    if not solution.is_file() or not starter.is_file():
        return ""
    if file.read_bytes() == solution.read_bytes():
        return "is"
    own, whole, begun = map(lines_of, (file, solution, starter))
    new = whole - begun
    return (
        "is nearly" if new and len(new & own) >= 0.95 * len(new) and not begun - whole & own else ""
    )


def published(likes):
    """Sentences, without a period, about {lesson: likeness}."""
    for how in ("is", "is nearly"):
        same = [lesson.split("_")[0] for lesson, like in likes.items() if like == how]
        if len(same) == 1:
            yield f"{same[0]} {how} the published solution"
        elif same:
            yield f"{' '.join(same)} {how.replace('is', 'are')} the published solutions"


# ---- the forms of a grade ----


def table(grade, width, folder):
    """A row for each lesson, with what the first miss expected. Its files are in the folder."""
    named = max([len(line["lesson"]) for line in grade["lessons"]] + [10])
    for line in grade["lessons"]:
        row = f"{line['lesson']:{named}}{line['points']:5g} of{line['possible']:4g}"
        if line["sentence"] is None:
            yield row
            continue
        text = re.sub(r"[\n\t]", " ", line["sentence"].split(" Happened: ")[0])
        if line["status"] == "missing":
            absent = f"{line['lesson']}.c does not exist."
            text = text.replace(f"lessons/{absent}", absent)
            text = text.replace(absent, f"No file {line['lesson']}.c in {folder}.")
        first, *others = textwrap.wrap(
            text, max(width - 3 - len(row), 30), break_long_words=False, break_on_hyphens=False
        ) or [""]
        yield f"{row}   {first}"
        yield from (f"{'':{len(row) + 3}}{other}" for other in others)
    row = f"{'points':{named}}{grade['points']:5g} of{grade['possible']:4g}"
    everything = len(lessons())
    if len(grade["lessons"]) != everything:
        row += f"   for {len(grade['lessons'])} of the {everything} lessons"
    yield row
    there = [line["lesson"][:2] for line in grade["lessons"] if line["status"] != "missing"]
    missing = len(grade["lessons"]) - len(there)
    if there and missing:
        yield f'{missing} missing. ONLY="{" ".join(there)}" grades the rest.'


def waiting_sentence(line):
    """A sentence about rules that were not judged, because no miss explains their points."""
    if not line["waiting"]:
        return []
    rules = "1 rule was" if line["waiting"] == 1 else f"{line['waiting']} rules were"
    return [f"{rules} not judged until this is repaired."]


def story(line):
    """The whole report of one lesson, as text."""
    words = {"failed": "MISS  ", "skipped": "wait  "}
    lines = [line["sentence"]] if line["sentence"] else []
    for test in line["tests"]:
        lines.append(words.get(test["result"], "ok    ") + test["name"])
        if test["result"] == "failed":
            lines += [f"        {text}" for text in test["lines"]]
    return "\n".join(lines + waiting_sentence(line))


def ungraded(grade):
    return [line["sentence"] for line in grade["lessons"] if line["status"] == "ungraded"]


def message(grade):
    return (
        f"{grade['points']:g} of {grade['possible']:g} points. "
        f"Workbook {grade['workbook']['commit']}."
    )


def scores(line):
    """What each rule of a lesson is worth, so that they add up to its points: (score, most)."""
    passed = [test["result"] == "passed" and not test["given"] for test in line["tests"]]
    broken = [test["result"] == "failed" and test["given"] for test in line["tests"]]
    rest, any_ = line["points"] - sum(passed) + sum(broken), line["points"] > 0
    for test, is_passed, is_broken in zip(line["tests"], passed, broken):
        score = is_passed - is_broken
        if test["result"] == "skipped" and not test["given"]:
            score = max(0, min(1, rest))
            rest -= score
        yield score if any_ else 0, 0 if test["given"] else 1


def gradescope_test(name, number, score, most, status, output):
    found = {"name": name, "number": number, "score": score, "max_score": most, "output": output}
    found |= {"status": status} if status else {}
    return {**found, "visibility": "visible", "name_format": "text"}


def gradescope_tests(line):
    """A test for each rule, with its number; of a lesson that no rule judged, one test."""
    lesson, number = line["lesson"], line["lesson"].split("_")[0]
    if line["status"] != "graded":
        name, points = f"{lesson}: {line['status']}", (line["points"], line["possible"])
        yield gradescope_test(name, number, *points, "failed", story(line))
        return
    for count, (test, points) in enumerate(zip(line["tests"], scores(line)), 1):
        name = test["name"] if count > 1 else f"{lesson}: {test['name']}"
        text = "\n".join(test["lines"])
        status = test["result"] if test["result"] != "skipped" else None
        text = text if status else f"Not judged yet: {text}"
        yield gradescope_test(name, f"{number}.{count}", *points, status, text)


def gradescope(grade):
    return {
        "score": grade["points"],
        "visibility": "visible",
        "output": message(grade),
        "tests": [test for line in grade["lessons"] for test in gradescope_tests(line)],
    }


def is_no_program(line):
    """Is the file no program yet? Then it costs no attempt."""
    return line["status"] in ("missing", "refused", "uncompiled")


def prairielearn(grade):
    if ungraded(grade):
        return {"gradable": False, "format_errors": ungraded(grade)}
    if grade["lessons"] and all(map(is_no_program, grade["lessons"])):
        return {"gradable": False, "format_errors": [x["sentence"] for x in grade["lessons"]]}
    score = grade["points"] / grade["possible"] if grade["possible"] else 0
    return {
        "gradable": True,
        "score": score,
        "message": message(grade),
        "tests": [
            {
                "name": line["lesson"],
                "points": line["points"],
                "max_points": line["possible"],
                "message": line["sentence"] or "",
                "output": story(line),
            }
            for line in grade["lessons"]
        ],
    }


def test_cases(line):
    """A lesson of which no rule was judged is one test case with an error."""
    return line["tests"] or [
        {"name": "the check runs", "result": "error", "lines": [line["sentence"] or ""]}
    ]


def counts(tests):
    results = [test["result"] for test in tests]
    names = ("tests", ""), ("failures", "failed"), ("errors", "error"), ("skipped", "skipped")
    return {name: str(results.count(word) if word else len(results)) for name, word in names}


def junit(grade):
    everything = counts([test for line in grade["lessons"] for test in test_cases(line)])
    del everything["skipped"]
    whole = xml.Element("testsuites", name="workbook", **everything)
    for line in grade["lessons"]:
        tests = test_cases(line)
        suite = xml.SubElement(whole, "testsuite", name=line["lesson"], **counts(tests))
        for test in tests:
            case = xml.SubElement(suite, "testcase", classname=line["lesson"], name=test["name"])
            if test["result"] == "skipped":
                xml.SubElement(case, "skipped", message=test["lines"][0])
            elif test["result"] != "passed":
                tag = "error" if test["result"] == "error" else "failure"
                message = re.sub("[\n\t]", " ", sentence(test["lines"]))
                xml.SubElement(case, tag, message=message).text = "\n".join(test["lines"])
    xml.indent(whole)
    return xml.tostring(whole, encoding="utf-8", xml_declaration=True).decode()


def files_of(grade):
    """{name: text} of the files of a grade: grade.json, and what is derived from it."""
    found = {
        f"{form.__name__}/results.json": json.dumps(form(grade), indent=2)
        for form in (gradescope, prairielearn)
    }
    found["grade.json"] = json.dumps(grade, indent=2, ensure_ascii=False)
    found["junit.xml"] = junit(grade)
    return {name: f"{text}\n" for name, text in found.items()}
