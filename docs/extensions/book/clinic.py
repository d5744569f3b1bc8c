"""The clinic's cases: what stands at the top of a case, how it is tried, and the table of all.

.. clinic:: case 01_handed_over
    where it was seen, and the part of the course after which it can be solved
   :project: Velox
   :symptom: an illegal memory access now and then, in code far away
.. clinic:: desk 01_handed_over
    the commands that run the program, and judge a copy that was repaired
.. clinic:: report docs/clinic/01_handed_over_wrong
    once the question is answered: what the program prints, and its steps up to the first report
.. clinic:: repair repairs/01_handed_over
    a fold with the lines that our repair changes, and with what the program prints then; below it
    come the words of the content
.. collected:: cases
    a row for each case, in the order of the course, with its symptom and nothing that gives it away
"""

import re

from . import manifest
from .page import BookDirective, block, indent, list_table, texts
from .runs import ROOT, BookError, run_program

MANIFEST = "tests/lessons/clinic/manifest.ini"


def parts():
    """The parts of the course, in its order."""
    return list(dict.fromkeys(manifest.manifest(lesson)["part"] for lesson in manifest.lessons()))


def part_of(case):
    """The part of the course that a case comes after; a case of no part ends the build."""
    part = manifest.manifest(f"clinic/{case}")["part"]
    if part not in parts():
        raise BookError(f"{MANIFEST}: {case} comes after {part}, which is no part of the course.")
    return part


class ClinicCase(BookDirective):
    option_spec = texts("project", "symptom")

    def run(self):
        case = self.arguments[0]
        return self.lines(
            [f"*Seen in* {self.options['project']}. *Comes after the part* {part_of(case)}."]
        )


class ClinicDesk(BookDirective):
    def run(self):
        case = self.arguments[0]
        number = case[:2]
        return self.lines(
            [
                "Then run it, repair a copy, and have the copy judged:",
                "",
                *block(
                    f"$ make clinic-{number}\n"
                    f"$ cp docs/clinic/{case}_wrong.c mine.c\n"
                    f"$ make check-clinic-{number} FILE=mine.c",
                    "console",
                ),
            ]
        )


class ClinicReport(BookDirective):
    def run(self):
        program = self.arguments[0]
        lines = [".. until-answered::", "", f".. run:: {program}", "", f".. stepper:: {program}"]
        if "hazard: " in run_program(program).errors:
            lines.append("   :report:")
        return self.lines(lines)


class ClinicRepair(BookDirective):
    has_content = True

    def run(self):
        program = self.arguments[0]
        shown = [f".. source:: difference {program}", "", f".. run:: {program}", "", *self.content]
        return self.lines([".. dropdown:: Our repair", "", *indent(shown)])


class ClinicTable(BookDirective):
    required_arguments = 0

    def run(self):
        rows = []
        pages = sorted((ROOT / "docs/clinic").glob("*.rst"))
        for page in sorted(pages, key=lambda page: parts().index(part_of(page.stem))):
            text = page.read_text(encoding="utf-8")
            options = dict(re.findall(r"^   :(project|symptom): (.*)$", text, re.M))
            if len(options) != 2:
                raise BookError(f"docs/clinic/{page.name}: clinic:: case has not both its options.")
            case = (f":doc:`clinic/{page.stem}`", options["project"], part_of(page.stem))
            rows.append((options["symptom"], *case))
        heads = ("symptom", "case", "seen in", "after the part")
        return self.lines(list_table(heads, "38 26 16 20", rows, "cards"))
