"""Judges one C file by the check of a lesson: judge.py NAME FILE [OPTION...]

    --form=first     what is printed: the first miss, by its name and words (without an option)
    --form=report    what a student reads: the first miss in full and the names of the others, in
                     lines of 100 columns, and the points. ALL=1 shows all in full
    --form=brief     the same without what waits and without the last lines, for make watch
    --form=json      the judgment as data, from which grade.py makes every grade
    --form=files     a file for each rule in the folder --into, for rules.bash: its result, and
                     below it why
    --first          judges no rule after the first miss
    --step=N         judges by the rules up to section N of the lesson's page (@section)

The file is compiled and run in CHECK_FOLDER (left out: build/check/FOLDER.FILE), by compiler.py and
run.py beside this. check.py beside this is what a check is written with. A file that does not
compile, or has what no lesson needs, is judged by no rule: the judgment's status says so. Exit
status: 0 nothing was missed, 1 something was, 2 the check cannot be used.

Points are counted here and nowhere else. Each rule that is met is worth a point, except those that
the starter meets, too (@met_by_starter in check.py): to break one of these costs a point. A rule
that waits for a repair is worth CHECK_WAITING (1), because the mistake that it waits for has cost
its own rule. All waiting rules together are never worth more than twice the points for rules that
are met: without work there are no points for what was not judged.
"""

import gc
import importlib.util
import json
import math
import os
import re
import sys
from collections import Counter
from pathlib import Path

import clinic
import report
from check import Check, Miss, NoProgram, Waits, line_of_report
from manifest import ROOT, Wrong, room
from place import Machine, expect_settings, plain, waiting_share
from usage import ended


def load_rules(name):
    """The functions of a check that are rules, in their order."""
    path = room(name) / "check.py"
    if not path.exists():
        raise Wrong(f"{path.relative_to(ROOT)} does not exist.")
    spec = importlib.util.spec_from_file_location(f"check_{path.parent.name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {word: rule for word, rule in vars(module).items() if word.startswith("test_")}
    told = sentences(name)
    if name.startswith("clinic/"):
        found = {word: vars(clinic)[word] for word in told if word in vars(clinic)} | found
    for word in [*told, *found]:
        if word not in found:
            raise Wrong(
                f"{path.relative_to(ROOT)} has no {word}, the rule of a test in rules.bats."
            )
        if word not in told:
            raise Wrong(
                f"{path.relative_to(ROOT)} has {word}, and rules.bats no test of that rule."
            )
        found[word].sentence = told[word]
    return [found[word] for word in told]


TEST = r'@test "(.*)" \{\s+rule (\w+)(?:;| *\n)\s*\}'


def sentences(name):
    """{function: sentence} of the rules, in the order of rules.bats."""
    path, told = room(name) / "rules.bats", {}
    if not path.exists():
        raise Wrong(f"{path.relative_to(ROOT)} does not exist.")
    text = path.read_text(encoding="utf-8")
    for begin in re.finditer("^@test ", text, re.M):
        test = re.compile(TEST).match(text, begin.start())
        if not test or f"test_{test[2]}" in told:
            line = text.count("\n", 0, begin.start()) + 1
            raise Wrong(
                f'{path.relative_to(ROOT)}:{line}: expected @test "SENTENCE" {{ rule NAME; }}, and '
                "each NAME once."
            )
        told[f"test_{test[2]}"] = test[1]
    if not told:
        raise Wrong(f"{path.relative_to(ROOT)} has no rule.")
    return told


def of_rule(rule, result, **more):
    """What is known of a rule, as data."""
    given = hasattr(rule, "met_by_starter")
    return {"rule": rule.__name__, "name": rule.sentence, "given": given, "result": result, **more}


def waits(rule, why):
    """A rule that was not judged, as data."""
    return of_rule(rule, "skipped", lines=[why])


def judged(rule, check):
    """What one rule says of the file, as data."""
    found = of_rule(rule, "passed")
    check.notes, check.rule = [], rule
    try:
        rule(check)
        check.met.add(rule)
        if check.notes:
            found["lines"] = check.notes
    except Waits as why:
        found = waits(rule, str(why))
    except (Machine, NoProgram, OSError):
        raise
    except Exception as error:  # noqa: BLE001
        miss = error if isinstance(error, Miss) else lost(rule, error)
        run = miss.run or check.last
        ended = check.ended_by(run)
        miss = ended or miss
        # What ended two runs is the same mistake, in whichever streams it was.
        key = ended.lines[0] if ended else re.sub(r"\d+", "", str(miss))
        if check.said.setdefault(key, rule) is not rule:
            return waits(rule, "first repair what is missed above: here it is the same")
        if check.missed and check.misses_once:
            return waits(rule, "first repair what is missed above")
        check.missed = True
        found.update(result="failed", lines=miss.lines)
        if run and not ended:
            found.update(lines=[ended_words(run, line) for line in miss.lines])
        if run:
            errors = run.errors if miss.errors is None else miss.errors
            found.update(printed=shown_errors(errors), see=see(check, run))
    return found


def ended_words(run, line):
    """A line of a miss, where what happened begins with the call that ended the program."""
    call = re.sub(r"\(.*\)", "", run.failed)
    if forever := re.search(r"^hazard: waiting forever\. (\w+) ", run.errors, re.M):
        call = f"{forever[1]}{line_of_report(run.errors)} waits forever"
    if not call or "the check" in call or "ended" in line or call.split()[0] in line:
        return line
    return re.sub("^Happened: ", f"Happened: {call}, which ended the program: ", line)


def lost(rule, error):
    """The miss of a program that does what the author of the rule did not think of; it says where
    the check stopped."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename
    return Miss(
        f"Expected: {rule.sentence}.",
        f"Happened: the check could not follow the program ({type(error).__name__}: {error}, line "
        f"{trace.tb_lineno} of {Path(file).name}).",
    )


def shown_errors(errors):
    """The first lines of stderr. Of lines that differ only in an address, the first stays, with the
    indented lines that belong to it. A note of memory that was not freed is about the check's own
    calls: in a run of the lesson it is a report."""
    lines, seen, again = [], set(), False
    for line in errors.splitlines():
        if " had not been freed when the program ended: " in line:
            continue
        if not line.startswith(" "):
            key = re.sub("0x[0-9a-f]+", "", line)
            again = key in seen
            seen.add(key)
        if not again:
            lines.append(line[:400])
    return lines[:20]


def see(check, run):
    """Where to look, as (label, text)."""
    lesson = "/" not in check.name
    book = ROOT / ("book" if (ROOT / "book").is_dir() else "build/docs/html")
    page = book / f"{check.name}.html"
    source = ROOT / f"docs/{check.name}.rst"
    lines = [("Edit", check.file), ("See it yourself", run.command)]
    if lesson and re.match(r"(SIM_\S+ )*make \d", run.command):
        picture = re.sub(r"\bmake ", "make picture-", run.command, count=1)
        lines.append(("Its picture", picture.replace(" BACKEND=simulator", "")))
    elif lesson:
        lines.append(("A picture of your program", f"make picture-{check.goal}"))
    lines.append(("Its files", os.path.relpath(run.folder, ROOT)))
    shown = os.path.relpath(page if page.exists() else source, ROOT)
    lines.append(("The page", shown + ("" if page.exists() else " (make book: as a page to read)")))
    if lesson:
        lines.append(("A hint", f"make hint-{check.name.split('_')[0]}"))
    return lines


def count_points(rules, share):
    """The points of a file, of which each rule is judged."""
    count = Counter((rule["result"], rule["given"]) for rule in rules)
    earned = count["passed", False]
    points = earned + min(2 * earned, count["skipped", False] * share) - count["failed", True]
    points = math.floor(2 * max(0, points)) / 2
    return int(points) if points == int(points) else points


# What a file misses that the rules cannot judge, because it is no program.
NO_PROGRAM = {
    "refused": "the file has nothing that its lesson does not need",
    "uncompiled": "the file compiles",
}


def judge(name, file, first=False, place=None, step=0):
    """The judgment of a file, as data."""
    rules = load_rules(name)
    given = sum(hasattr(rule, "met_by_starter") for rule in rules)
    found = {"lesson": name, "status": "graded", "rules": [], "given": given, "points": 0}
    found["possible"] = len(rules) - given
    if file is None:
        return found
    place = place or plain(os.environ.get("SANITIZE", ""))
    if not (ROOT / place.library).exists():
        raise Machine("The simulated device is not built. Type: make simulator")
    kind = clinic.Case if name.startswith("clinic/") else Check
    check = kind(name, file, folder_of(file), place)
    chosen = rules
    if step:
        sections = {getattr(rule, "section", 0) for rule in rules}
        if step not in sections or sections == {0}:
            last = max(sections)
            what = f"1 to {last}, the sections of its page" if last else "no section"
            raise Wrong(f"STEP={step}: the rules of {name} have {what}.")
        chosen = [rule for rule in rules if rule.section <= step]
        found["step"] = step
    try:
        for rule in chosen:
            if first and check.missed:
                found["rules"].append(waits(rule, "a rule before this one is not met"))
            else:
                found["rules"].append(judged(rule, check))
    except NoProgram as why:
        missed = {"rule": "", "given": True, "name": NO_PROGRAM[why.status], "result": "failed"}
        others = [waits(rule, "the file is no program yet") for rule in chosen]
        found.update(status=why.status, rules=[{**missed, "lines": why.lines}, *others])
    if not first and not step:
        found["points"] = count_points(found["rules"], waiting_share())
    return found


def folder_of(file):
    """Where a file is checked. That of lessons/ is checked in build/check/NN_name, and any other in
    a folder of its own, because it may be checked at the same time."""
    given = os.environ.get("CHECK_FOLDER")
    if given:
        return ROOT / given
    path = Path(os.path.realpath(ROOT / file))
    name = path.stem if path.parent == ROOT / "lessons" else f"{path.parent.name}.{path.stem}"
    kind = os.environ.get("SANITIZE", "").replace(",", "-")
    return ROOT / "build/check" / (name + (f"-{kind}" if kind else ""))


def main():
    import argparse  # only the command needs it

    parser = argparse.ArgumentParser(prog="judge.py", add_help=False)
    parser.add_argument("name")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--form", default="first", choices=[*report.FORMS, "json", "files"])
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--step", default="0")
    parser.add_argument("--into")
    given = parser.parse_args()
    os.chdir(ROOT)
    expect_settings()
    gc.disable()  # journals have many lines and no cycles
    first = given.first or given.form == "first"
    if not re.fullmatch("[0-9]{1,2}", given.step):
        raise Wrong(f"STEP={given.step}: expected the number of a section of the lesson's page.")
    if not re.fullmatch("[0-9]{0,9}", seed := os.environ.get("SEED", "")):
        raise Wrong(f"SEED={seed}: expected a whole number with at most nine digits.")
    found = judge(given.name, given.file, first, step=int(given.step))
    if given.form == "json":
        json.dump(found, sys.stdout)
    elif given.form == "files":
        # A file that is no program meets no rule, and each of the rules says why.
        why, *rules = found["rules"] if found["status"] != "graded" else (None, *found["rules"])
        for rule in rules:
            lines = [(why or rule)["result"], *report.lines_of(why or rule)]
            Path(given.into, rule["rule"]).write_text("\n".join(lines) + "\n")
    else:
        report.FORMS[given.form](found)
    return int(any(rule["result"] != "passed" for rule in found["rules"]))


if __name__ == "__main__":
    ended(main, known=(Wrong,))
