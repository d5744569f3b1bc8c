"""The book's tables of lessons and calls, and what a lesson's check prints.

.. check-run:: 04_release_threshold
    what the lesson's check prints for lessons/04_release_threshold.c
.. lessons-table:: course
    every lesson, from its manifest: course is the table of the first page, work that of
    teachers, truths a sentence for each
.. call-table:: pools
    the calls of that group of docs/calls.txt: what was recorded of each, and its lessons
.. cost-table::
    what an allocation and its free cost on the recorded device
.. call-index::
    every CUDA call, and the pages that show it
"""

import re
import subprocess
import sys

from programbook.book import BookDirective, block
from programbook.runs import ENVIRONMENT, ROOT

from . import calls, finder, manifest


class CheckRun(BookDirective):
    def run(self):
        lesson = self.arguments[0]
        self.depend_on_program(f"lessons/{lesson}")
        self.depend(
            f"tests/lessons/{lesson}/check.py",
            *(f"tests/grading/{name}" for name in ("check.py", "judge.py", "report.py", "run.sh")),
        )
        report = subprocess.run(
            [sys.executable, "-B", "tests/grading/judge.py", lesson, f"lessons/{lesson}.c"]
            + ["--form=report"],
            cwd=ROOT,
            env={**ENVIRONMENT, "CHECK_PAGE": "none", "CHECK_TRY": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
        return self.lines(
            [*block(f"$ make check-{lesson[:2]}"), *block(report.stdout, kind="wrapped")]
        )


class LessonsTable(BookDirective):
    """The lessons, from their manifests. ``course`` is the table of the first page, part by part;
    ``work`` that of teachers; ``truths`` a sentence for each lesson."""

    def run(self):
        rows = {"course": self.course, "work": self.work, "truths": self.truths}
        for name in manifest.lessons():
            self.depend(f"tests/lessons/{name}/manifest.ini", f"lessons/{name}.c")
        return self.lines(list(rows[self.arguments[0]]()))

    def heads(self, widths, *heads, classes=""):
        yield from (".. list-table::", "   :header-rows: 1", f"   :widths: {widths}")
        if classes:
            yield f"   :class: {classes}"
        yield from ("", *self.cells(*heads))

    @staticmethod
    def cells(first, *others):
        yield f"   * - {first}"
        yield from (f"     - {other}" for other in others)

    def course(self):
        part = None
        for name in manifest.lessons():
            of = manifest.manifest(name)
            if of["part"] != part:
                part = of["part"]
                yield from ("", f".. rubric:: {part}", "")
                heads = ("lesson", "time", "level", "many believe", "the question")
                yield from self.heads("24 10 10 24 32", *heads, classes="lessons")
            times = (f":doc:`{name}`", f":minutes:`{name}`")
            yield from self.cells(*times, of["level"], f'"{of["belief"]}"', of["question"])

    def work(self):
        yield from self.heads("27 10 53 10", "lesson", "kind", "the student's work", "points")
        for name in manifest.lessons():
            of = manifest.manifest(name)
            text = (ROOT / f"lessons/{name}.c").read_text(encoding="utf-8")
            work = re.search(r"^ \* Yours  \w+: (.*?)^ \* [A-Z]", text, re.M | re.S)
            if not work:
                raise self.error(
                    f"lessons/{name}.c: its heading says what is the student's (Yours), and begins "
                    "with fill:, fix: or predict:"
                )
            words = " ".join(work[1].replace("\n *", " ").split()).replace("_", "\\_")
            yield from self.cells(f":doc:`{name}`", of["kind"], words, of["rules"] - of["given"])

    def truths(self):
        for name in manifest.lessons():
            yield f"- (:doc:`{name[:2]} <{name}>`) {manifest.manifest(name)['truth']}"


class CallTable(BookDirective):
    """A group of docs/calls.txt, with what was recorded of its calls."""

    def run(self):
        self.depend("docs/calls.txt", *(f"{path}" for path in self.sources()))
        found = self.lines(self.table())
        if self.name == "call-table":
            finder.name_calls(self.env, found)
        return found

    def sources(self):
        return sorted(
            file.relative_to(ROOT)
            for pattern in ("tests/hardware/facts/*.txt", "solutions/*.c")
            for file in ROOT.glob(pattern)
        )

    def table(self):
        group = self.arguments[0]
        return calls.attribute_table(group) if group == "attributes" else calls.call_table(group)


class CostTable(CallTable):
    """What an allocation and its free cost, as it was recorded."""

    required_arguments = 0

    def table(self):
        return calls.cost_table()


class CallIndex(CallTable):
    """Every CUDA call, and the pages that show it."""

    required_arguments = 0

    def table(self):
        self.depend(*(file.relative_to(ROOT) for file in sorted((ROOT / "docs").rglob("*.rst"))))
        return calls.call_index()


def setup(app):
    app.add_directive("check-run", CheckRun)
    app.add_directive("lessons-table", LessonsTable)
    app.add_directive("call-table", CallTable)
    app.add_directive("call-index", CallIndex)
    app.add_directive("cost-table", CostTable)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
