#!/usr/bin/env python3
"""The litmus programs, read and judged: litmus.py run, and then, of what has run,
litmus.py variants|incorrect|correct|prints|unchecked, which prints what is not as it should be.
litmus.bats says what stands in a case. tools/gpu/record.py runs the same programs on a GPU."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path("simulator/tests/litmus")
RESULTS = Path("build/check/litmus.json")
LONG = bool(os.environ.get("TEST_LONG"))
SCHEDULES = "measured late" + " instant random:1 random:2" * LONG

CASE = re.compile(r".*?^\w*LITMUS\((\w+).*?^}$", re.M | re.S)
KEY = re.compile(r"^ \* (\w+): (.*?)(?: \*/)?$", re.M)
MARK = re.compile(r"/\* (?:(?:previous )?access|allocation|free|access (?:given|taken)) \*/")
CALL = re.compile(r"(cuda\w+|launch_[a-z]+)\(")


class Program:
    """One form of a case. `keys` are its own, and `text` is all of the case."""

    def __init__(self, file, case, text, line, wrong):
        self.file, self.case, self.text, self.line, self.wrong = file, case, text, line, wrong
        self.name = case + "_wrong" * wrong
        self.program = file.with_name(file.stem + "_wrong" * wrong)
        correct, _, incorrect = text.partition("\n * WRONG: ")
        self.keys = dict(KEY.findall(incorrect if wrong else correct))
        of_both = dict(KEY.findall(correct))
        self.devices = int(of_both.get("Devices", 1))
        self.schedules = of_both.get("Schedules", SCHEDULES).split()

    def marked(self):
        """The calls that the report must name, as patterns."""
        lines = self.text.splitlines()
        for i, line in enumerate(lines):
            if MARK.search(line):
                at = i + bool(MARK.fullmatch(line.strip()))
                call = CALL.search(lines[at])
                call = call[1] if call else "a load or store"
                yield f" {call}, .* at {self.file}:{self.line + at}(?!\\d)"

    def run(self):
        """The exit status, stdout, and stderr, by schedule; "unchecked": without the checker."""
        program = Path("build/simulator", self.program)
        runs = {one: {"SIM_CHECK": "leaks,no-init", "SIM_SCHEDULE": one} for one in self.schedules}
        runs |= {"unchecked": {"SIM_CHECK": "off"}} if LONG else {}
        return {one: run([program, self.case], **settings) for one, settings in runs.items()}


def run(command, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SIM_")} | settings
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
    )
    printed = [text.decode(errors="replace") for text in (done.stdout, done.stderr)]
    return [done.returncode if done.returncode >= 0 else 128 - done.returncode, *printed]


def programs(form=Program):
    """Those of every file with cases, the incorrect ones first."""
    found = []
    for file in sorted(FOLDER.glob("*.c")):
        text = file.read_text()
        # A search in a file without cases would try each place to its end.
        for case in CASE.finditer(text) if '#include "litmus.h"' in text else ():
            line = text.count("\n", 0, case.start()) + 1
            for wrong in [True, False] if "\n * WRONG: " in case[0] else [False]:
                found.append(form(file, case[1], case[0], line, wrong))
    return sorted(found, key=lambda one: not one.wrong)


def run_all(_):
    """A run takes little time, and starts slowly."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda one: (one.name, one.run()), programs())
        RESULTS.write_text(json.dumps(dict(done)))
    return ()


def runs(wrong=None):
    """(program, schedule, status, stdout, stderr) of all, or of the correct or incorrect ones."""
    results = json.loads(RESULTS.read_text())
    for one in programs():
        if wrong in (None, one.wrong):
            for schedule, done in results[one.name].items():
                yield one, schedule, *done


def variants(_):
    for one in programs():
        if not one.wrong:
            continue
        if not one.keys.get("Kind"):
            yield f"{one.case}: no Kind after WRONG."
        if not list(one.marked()):
            yield f"{one.case}: no call is marked."
        pattern = r"\bIF_(WRONG_ELSE|%s)\("
        branches = [len(re.findall(pattern % which, one.text)) for which in ("WRONG", "RIGHT")]
        if not sum(branches) or max(branches) > 3:
            yield f"{one.case}: {branches} lines are under IF_WRONG and IF_RIGHT, not 1 to 3."


def incorrect(of):
    for one, schedule, status, _, err in of(True):
        if schedule == "unchecked":
            continue
        kind, found = one.keys.get("Kind"), re.findall(r"hazard: ([^.]*)\.", err)
        if status != 3:
            yield f"{one.name}, {schedule}: exit status {status}, not 3.\n{err}"
        elif found[0] != kind:
            yield f"{one.name}, {schedule}: the first report is '{found[0]}', not '{kind}'."
        for more in set(found) - {kind, one.keys.get("Also")}:
            yield f"{one.name}, {schedule}: '{more}' is reported, too."
        for words in [*one.marked(), re.escape(one.keys.get("Says", "")), "To do: "]:
            if not re.search(words, err, re.S):
                yield f"{one.name}, {schedule}: no report has '{words}'.\n{err}"


def correct(of):
    for one, schedule, status, _, err in of(False):
        wanted = int(one.keys.get("Status", 0))
        if schedule == "unchecked":
            continue
        if status != wanted:
            yield f"{one.name}, {schedule}: exit status {status}, not {wanted}."
        # What is documented as correct, and killed the recorded driver, is told of. A program that
        # is meant to fail prints why.
        told = one.name == "pool_destroyed_pending" and "one died of SIGFPE" in err
        if "hazard:" in err or (err and not wanted and not told):
            yield f"{one.name}, {schedule}: on stderr:\n{err}"


def prints(of):
    checked = 0
    for one, schedule, _, out, _ in of():
        wanted = one.keys.get("Prints")
        if schedule == "late":
            wanted = one.keys.get("Late", wanted)
        if wanted and schedule != "unchecked":
            checked += 1
            if out != f"{wanted}\n":
                yield f"{one.name}, {schedule}: it prints '{out}', not '{wanted}'."
    if checked <= 25:
        yield f"Only {checked} outputs were compared."


def unchecked(of):
    for one, schedule, status, _, err in of():
        failed = "hazard:" in err or status == 3 or status >= 124
        if schedule == "unchecked" and failed and "Fatal" not in one.keys:
            yield f"{one.name}: exit status {status}, on stderr:\n{err}"


if __name__ == "__main__":
    what = {"run": run_all} | {f.__name__: f for f in (variants, incorrect, correct, prints)}
    complaints = list((what | {"unchecked": unchecked})[sys.argv[1]](runs))
    print(*complaints, sep="\n", end="\n" * bool(complaints))
    sys.exit(bool(complaints))
