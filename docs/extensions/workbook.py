"""What the book needs beyond Sphinx: programs that run while it is built, and tables.

    .. program-run:: solutions/04_release_threshold
        runs the program; a solution's output must be the recorded one
    .. program-run:: mutants/04_release_threshold/threshold_in_mib
        the solution with that patch of the mutants in the lesson's room
       :arguments: 40                  its arguments
       :environment: SIM_SCHEDULE=late a what-if; the output is the simulated device's alone
       :reports:                       an incorrect program of the book, which is recorded, too
       :first-report:                  only the first report, without what it advises
    .. check-run:: 04_release_threshold
        what the lesson's check prints for lessons/04_release_threshold.c
    .. command-run:: make help
        a command, which may go on in the next lines, and what it prints
       :status: 2                      its exit status, unless 0; stderr then comes first
    .. journal-run:: solutions/06_trim
        lines of the run's journal
       :lines: start grow cudaFreeAsync exit    the first line of each of these kinds
    .. solution-difference:: 04_release_threshold
        what the solution changes in the student's file
    .. solution-difference:: docs/clinic/03_barrier_right
        what it changes in 03_barrier_wrong.c
    .. lessons-table::
        every lesson: its kind, what its heading leaves to the student, and its points
    .. recorded-tables:: docs/recorded/lessons.md
        the tables of a Markdown file that a script printed, and its other lines
    .. call-table:: pools
        the calls of that group of docs/calls.txt: what was recorded of each, and its lessons
    .. cost-table::
        what an allocation and its free cost on the recorded device
    .. call-index::
        every CUDA call, and the pages that show it
    program-source, the role path       sources.py
    predict, predict-answers            predict.py
    clinic-case, clinic-table           clinic.py
    the pictures                        pictures.py
    the finder's places                 finder.py

Rules: everything is run on the simulated device, in build/docs; nothing is pasted; what is not as
it should be ends the build.
"""

import json
import re
import shlex
import subprocess
import sys

import calls
import clinic
import finder
import manifest
import pictures
import predict
import progress
import sources
from book import BookDirective, block, indent
from docutils import nodes
from docutils.parsers.rst import directives
from runs import (
    ENVIRONMENT,
    LIBRARY,
    ROOT,
    BookError,
    command_of,
    compile_named,
    compile_program,
    expect_recorded,
    provenance,
    recording_of,
    run_program,
)
from sphinx.directives.code import LiteralInclude


class ProgramRun(BookDirective):
    option_spec = {
        "arguments": directives.unchanged,
        "environment": directives.unchanged,
        "reports": directives.flag,
        "first-report": directives.flag,
    }

    def run(self):
        program = self.arguments[0]
        arguments, environment = (
            tuple(shlex.split(self.options.get(option, "")))
            for option in ("arguments", "environment")
        )
        self.depend_on_program(program)
        command = block(command_of(program, arguments, environment))
        recorded = program.startswith("solutions/") or (
            program.startswith("docs/programs/")
            and (ROOT / recording_of(program, arguments)).exists()
        )
        if recorded and not environment:
            run = run_program(program, arguments)
            has_reports = "reports" in self.options
            file = expect_recorded(program, arguments, run, has_reports)
            self.depend(file)
            recorded = (ROOT / file).read_text()
            reports = block(run.errors, kind="wrapped") if has_reports else []
            if run.output == recorded:
                mark = [".. rst-class:: mark", "", f"{provenance(file)}: :path:`{file}`.", ""]
                return self.lines([*command, *block(run.output), *mark, *reports])
            tabs = {
                "simulated device, when this page was built": [*block(run.output), *reports],
                "recorded": [*block(recorded), "", f"{provenance(file)}: :path:`{file}`.", ""],
            }
            return self.lines(
                [
                    *command,
                    ".. tab-set::",
                    "",
                    *(
                        line
                        for title, content in tabs.items()
                        for line in indent([f".. tab-item:: {title}", "", *indent(content)])
                    ),
                ]
            )
        # A student's file may be in any state: what it prints now is shown, whatever it is.
        trouble = compile_program(program)
        if trouble:
            return self.lines([*command, *block(trouble)])
        try:
            run = run_program(program, arguments, environment)
        except BookError as endless:
            return self.lines([*command, *block(str(endless))])
        if "first-report" in self.options:
            report = run.errors.partition("\n  To do:")[0] or "(nothing is reported)"
            return self.lines([*command, *block(report, kind="wrapped")])
        # What it printed keeps its columns; reports are sentences, and wrap.
        printed = [
            *(block(run.output) if run.output else []),
            *(block(run.errors, kind="wrapped") if run.errors else []),
        ]
        return self.lines(
            [*command, *(printed or block("(nothing)")), f"Its exit status: {run.status}."]
        )


class JournalRun(BookDirective):
    option_spec = {"lines": directives.unchanged_required}

    def run(self):
        program, wanted = self.arguments[0], self.options["lines"].split()
        self.depend_on_program(program)
        shown = []
        for line in run_program(program).journal:
            kind = line.get("call") or line["did"]
            if kind in wanted:
                wanted.remove(kind)
                shown.append(json.dumps(line, separators=(",", ":")))
        if wanted:
            raise BookError(
                f"{self.env.docname}: the journal of {program} has no line for {', '.join(wanted)}."
            )
        return self.lines(
            [
                *block(f"$ SIM_JOURNAL=journal.jsonl build/simulator/{program}"),
                *block("\n".join(shown), kind="wrapped"),
            ]
        )


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


class SolutionDifference(LiteralInclude):
    """literalinclude with :diff:, whose first two lines name the files from the top."""

    def run(self):
        name = self.arguments[0]
        before, after = (
            (f"{name.removesuffix('right')}wrong.c", f"{name}.c")
            if "/" in name
            else (f"lessons/{name}.c", f"solutions/{name}.c")
        )
        self.arguments[0], self.options["diff"] = f"/../{after}", f"/../{before}"
        self.env.note_dependency(str(ROOT / before))
        found = super().run()
        for node in found:
            for code in node.findall(nodes.literal_block):
                lines = code.rawsource.splitlines()
                lines[:2] = [f"--- {before}", f"+++ {after}"] if lines else ["(no difference)"]
                code.rawsource = "\n".join(lines)
                code.children = [nodes.Text(code.rawsource)]
                code["classes"].append("no-search")
        return found


class CommandRun(BookDirective):
    option_spec = {"status": int}

    def run(self):
        self.depend("Makefile")
        done = subprocess.run(
            shlex.split(self.arguments[0]),
            cwd=ROOT,
            env={**ENVIRONMENT, "GRADE_OWN": "1"},  # no student's file is graded here
            capture_output=True,
            text=True,
            timeout=1800,  # a class, on a busy machine
        )
        expected = self.options.get("status", 0)
        if done.returncode != expected:
            raise BookError(
                f"{self.arguments[0]} ended with status {done.returncode}: {done.stderr}"
            )
        command = self.arguments[0].replace("\n", " \\\n    ")
        printed = done.stderr + done.stdout if expected else done.stdout
        return self.lines([*block("$ " + command), *block(printed)])


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


class RecordedTables(BookDirective):
    """A file of Markdown from one of our scripts: its blocks are one line each, or tables."""

    def run(self):
        path = ROOT / self.arguments[0]
        self.depend(self.arguments[0])
        found, rows, items = [], [], []
        for line in path.read_text(encoding="utf-8").splitlines()[1:] + [""]:
            if rows and not line.startswith("|"):
                found.append(self.table(rows))
                rows = []
            if items and not line.startswith("- "):
                found.append(
                    nodes.bullet_list(
                        "", *(nodes.list_item("", nodes.paragraph(text=item)) for item in items)
                    )
                )
                items = []
            if line.startswith("|"):
                rows.append([cell.strip() for cell in line.strip("|").split("|")])
            elif line.startswith("- "):
                items.append(line[2:])
            elif line.startswith("#"):
                found.append(nodes.rubric(text=line.lstrip("# ")))
            elif line:
                found.append(nodes.paragraph(text=line))
        return found

    @staticmethod
    def table(rows):
        width = max(map(len, rows))
        group = nodes.tgroup(cols=width)
        group += [nodes.colspec(colwidth=1) for _ in range(width)]
        lines = [
            nodes.row(
                "",
                *(
                    nodes.entry("", nodes.paragraph(text=cell))
                    for cell in row + [""] * (width - len(row))
                ),
            )
            for row in rows
        ]
        group += nodes.thead("", lines[0])
        group += nodes.tbody("", *lines[2:])  # the second line is the rule below the head
        return nodes.table("", group)


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
    if not (ROOT / LIBRARY).exists():
        raise BookError(f"{LIBRARY} is not there. Type: make docs")
    app.add_directive("program-run", ProgramRun)
    app.add_directive("journal-run", JournalRun)
    app.add_directive("check-run", CheckRun)
    app.add_directive("command-run", CommandRun)
    app.add_directive("recorded-tables", RecordedTables)
    app.add_directive("lessons-table", LessonsTable)
    app.add_directive("solution-difference", SolutionDifference)
    app.add_directive("call-table", CallTable)
    app.add_directive("call-index", CallIndex)
    app.add_directive("cost-table", CostTable)
    app.connect("env-before-read-docs", compile_named)
    for part in (sources, predict, clinic, progress, pictures, finder):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
