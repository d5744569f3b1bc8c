#!/usr/bin/env python3
"""Walks anew on the simulated device, and counts how far each walk agrees with the recorded one.

    replay.py [-v] [PROFILE...]

prints a table: for each profile, or for the named ones, the share of steps before the first
mismatch. With -v it also prints, for each walk that does not agree to its end, the step, what was
recorded, and what happened.

A step agrees if the error code, reserved and used, and their high marks are the recorded ones, and
for "and offset" also the address of a new allocation. Which step comes next depends on neither, so
simulator/tests/facts/walks.c takes the recorded steps again."""

import gzip
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "build/simulator/simulator/tests/facts/walks"
RECORDED = ROOT / "simulator/tests/facts/walks.txt.gz"
STEPS = "120"
# Numbered as in walks.c.
PROFILES = ["mixed", "small", "large", "capped", "one-stream", "several"]
HEAD = re.compile(r"# seed (\d+) profile (\d)")
# The error code and the figures of a step.
RESULT = re.compile(r"cuda\w+ +R .*")


def first_difference(recorded, here, of=lambda line: line):
    """The number of the first step that differs, or of the steps."""
    pairs = enumerate(zip(recorded, here + [""] * len(recorded)))
    return next((n for n, (one, other) in pairs if of(one) != of(other)), len(recorded))


def result(line):
    found = RESULT.search(line)
    return found[0] if found else line


class Walk:
    def __init__(self, text):
        self.head, *lines = text.splitlines()
        self.seed, number = HEAD.match(self.head).groups()
        self.profile, self.recorded = PROFILES[int(number)], lines[: lines.index("end")]

    def take(self):
        command = [PROGRAM, self.seed, STEPS, str(PROFILES.index(self.profile))]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        run = subprocess.run(command, text=True, **pipes)
        self.here = run.stdout.splitlines()[1:]
        self.agreed = first_difference(self.recorded, self.here, result)
        self.with_offset = first_difference(self.recorded, self.here)

    def mismatches(self):
        for step in sorted({self.agreed, self.with_offset} - {len(self.recorded)}):
            yield f"{self.head[2:22]} step {step + 1}: {self.recorded[step]}"
            yield f"    here: {self.here[step] if step < len(self.here) else 'nothing'}"


def main(*words):
    names = [word for word in words if word != "-v"] or PROFILES
    if not set(names) <= set(PROFILES):
        sys.exit(f"replay.py [-v] [PROFILE...]: the profiles are {', '.join(PROFILES)}")
    texts = re.split("^(?=# )", gzip.decompress(RECORDED.read_bytes()).decode(), flags=re.M)
    walks = [walk for walk in map(Walk, filter(None, texts)) if walk.profile in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(Walk.take, walks))
    if "-v" in words:
        print(*(line for walk in walks for line in walk.mismatches()), sep="\n")
    print("profile         steps  agree % and offset %  walks whole")
    for name in sorted(set(names), key=PROFILES.index):
        of = [walk for walk in walks if walk.profile == name]
        steps = sum(len(walk.recorded) for walk in of)
        agreed = 100 * sum(walk.agreed for walk in of) / steps
        placed = 100 * sum(walk.with_offset for walk in of) / steps
        whole = sum(walk.agreed == len(walk.recorded) for walk in of)
        print(f"{name:14} {steps:6} {agreed:8.1f} {placed:12.1f} {whole:8}/{len(of)}")


main(*sys.argv[1:])
