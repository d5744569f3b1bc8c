"""The clinic's table of cases, which is made from their pages.

.. clinic-case:: 01_handed_over
    on the page of a case: where it was seen, and what the checker reports
   :project: Velox
   :symptom: an illegal memory access now and then, in code far away
.. clinic-table::
    a row for each case
"""

import re

from docutils.parsers.rst import directives

from programbook.book import BookDirective, block
from programbook.runs import ROOT, BookError, run_program


def kind_of(case):
    """The kind of the first hazard that is reported, or how the program ends without one."""
    run = run_program(f"docs/clinic/{case}_wrong")
    hazard = re.search(r"^hazard: ([^.]*)\.", run.errors, re.M)
    if hazard:
        return hazard[1]
    return f"no hazard; exit status {run.status}"


class ClinicCase(BookDirective):
    option_spec = {
        "project": directives.unchanged_required,
        "symptom": directives.unchanged_required,
    }

    def run(self):
        case = self.arguments[0]
        self.depend_on_program(f"docs/clinic/{case}_wrong")
        number = case[:2]
        return self.lines(
            [
                f"*Seen in* {self.options['project']}.",
                "",
                *block(
                    f"$ make clinic-{number}\n"
                    f"$ cp docs/clinic/{case}_wrong.c mine.c\n"
                    f"$ make check-clinic-{number} FILE=mine.c",
                    "console",
                ),
            ]
        )


class ClinicTable(BookDirective):
    required_arguments = 0

    def run(self):
        lines = [
            ".. list-table::",
            "   :header-rows: 1",
            "   :widths: 26 34 18 22",
            "",
            "   * - case",
            "     - symptom",
            "     - project",
            "     - report",
        ]
        for page in sorted((ROOT / "docs/clinic").glob("*.rst")):
            text = page.read_text(encoding="utf-8")
            self.depend(f"docs/clinic/{page.name}", f"docs/clinic/{page.stem}_wrong.c")
            options = dict(re.findall(r"^   :(project|symptom): (.*)$", text, re.M))
            if len(options) != 2:
                raise BookError(f"docs/clinic/{page.name}: clinic-case has not both its options.")
            lines += [
                f"   * - :doc:`clinic/{page.stem}`",
                f"     - {options['symptom']}",
                f"     - {options['project']}",
                f"     - {kind_of(page.stem)}",
            ]
        return self.lines(lines)


def setup(app):
    app.add_directive("clinic-case", ClinicCase)
    app.add_directive("clinic-table", ClinicTable)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
