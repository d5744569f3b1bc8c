"""What a case of the clinic is judged with."""

import re

from check import SCHEDULES, Check, miss, visible
from place import ROOT


class Case(Check):
    """A repair of docs/clinic/NN_name_wrong.c.

    A program that the checker does not report may still have lost what it was for, or may be
    correct only because it is short. Each case has a rule of its own for that, and at least one
    incorrect repair that misses it, a mutant in its variants.txt. These programs end without
    destroying what they created."""

    def expect_destroyed(self, run):
        pass

    def each(self, *arguments):
        """A run under each of five schedules. A host that sleeps lets a late device do nothing."""
        for schedule in SCHEDULES:
            idle = {"SIM_IDLE": "off"} if schedule == "late" else {}
            yield self.run(*arguments, SIM_SCHEDULE=schedule, **idle)

    def ends_well(self, *arguments):
        for run in self.each(*arguments):
            self.expect_clean(run)

    def prints_line(self, pattern, line, *arguments):
        """Under each schedule some line matches; `line` is what a person reads."""
        for run in self.each(*arguments):
            if not any(re.fullmatch(pattern, x) for x in run.lines):
                miss(f"""it prints: {line}
                    Happened: it printed: {visible(run.output, 400)}""")

    def prints_what_is_right(self, which=""):
        """Under each schedule it prints the lines that the repaired program printed on a device
        (docs/recorded/clinic.txt), of these the ones that match."""
        text = (ROOT / "docs/recorded/clinic.txt").read_text()
        own = re.search(rf"^== {self.name[7:]}_right: .*\n((?:(?!== ).*\n)*)", text, re.M)
        for line in own[1].splitlines():
            if re.search(which, line):
                self.prints_line(re.sub("[^A-Za-z0-9 ]", ".", line), line)
