"""Programs that run while the book is built, and what they and other scripts printed.

.. run:: solutions/04_release_threshold
    runs the program; a solution's output must be the recorded one
.. run:: starters/04_release_threshold
    a lesson's file as it is delivered, whatever a student has made of it; lessons/ is as it is now
.. run:: mutants/04_release_threshold/threshold_in_mib
    the solution with a mistake, one of the variants in the lesson's room
.. run:: repairs/03_barrier
    a case's program as the book repairs it
   :arguments: 40                  its arguments
   :environment: SIM_SCHEDULE=late a what-if; the output is the simulated device's alone
   :reports:                       an incorrect program of the book, which is recorded, too
   :first-report:                  only the first report, without what it advises
   :lines: 4-6                     only these lines of the output; all of it is compared
.. run:: $ make help
    a command, which may go on in the next lines, and what it prints
   :status: 2                      its exit status, unless 0; stderr then comes first
   :needs: parallel jq             where one is missing, what was recorded is shown
.. run:: journal solutions/06_trim
    lines of the run's journal
   :lines: start grow cudaFreeAsync exit    the first line of each of these kinds
.. source:: lines docs/programs/snippets trim
    the lines between "[trim" and "trim]" of a program that must run without a report: code to copy
.. literalinclude:: ../lessons/04_release_threshold.c
    Sphinx's own, but for a lesson's file, which is shown as it is delivered, and for an empty line
    at the end, which is left out; what all lines are indented by is left out, too,
    but for :dedent: 0
.. source:: solution 04_release_threshold
    a fold with what the solution changes in the student's file
.. source:: difference 04_release_threshold
    the same without a fold, where there is more in it
.. source:: difference repairs/03_barrier
    what the repair changes in docs/clinic/03_barrier_wrong.c
.. recorded:: tables docs/recorded/lessons.md
    the tables of a Markdown file that a script printed, and its other lines
"""

import json
import re
import shlex
import shutil
from textwrap import dedent

from docutils import nodes
from docutils.parsers.rst import directives
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.directives.code import LiteralInclude
from sphinx.util import parselinenos

from .page import BookDirective, block, indent, row, table, texts
from .runs import (
    ENVIRONMENT,
    HANDOUT,
    LIBRARY,
    ROOT,
    BookError,
    command_of,
    compile_named,
    compile_program,
    expect_recorded,
    made,
    outcome,
    provenance,
    recording_of,
    run_program,
    sources_of,
    withheld,
)

COLUMNS = 100  # what a command prints wider than that is wrapped


class ProgramRun(BookDirective):
    option_spec = {
        **texts("arguments", "environment", "lines"),
        **dict.fromkeys(("reports", "first-report"), directives.flag),
    }

    def shown(self, output):
        """The lines of an output that the option `lines` chooses."""
        if "lines" not in self.options:
            return output
        lines = output.splitlines()
        chosen = parselinenos(self.options["lines"], len(lines))
        if not chosen or chosen[-1] >= len(lines):
            raise BookError(
                f"{self.env.docname}: {self.arguments[0]} prints {len(lines)} lines, and not "
                f"{self.options['lines']}."
            )
        return "\n".join(lines[number] for number in chosen)

    def run(self):
        program = self.arguments[0]
        arguments, environment = map(self.parts_of, ("arguments", "environment"))
        command = block(command_of(program, arguments, environment))
        recorded = program.startswith("solutions/") or (
            program.startswith("docs/programs/")
            and (ROOT / recording_of(program, arguments)).exists()
        )
        if recorded and not environment:
            run = run_program(program, arguments)
            has_reports = "reports" in self.options
            file = expect_recorded(program, arguments, run, has_reports)
            recorded = (ROOT / file).read_text()
            reports = block(run.errors, kind="wrapped") if has_reports else []
            if run.output == recorded:
                mark = [".. rst-class:: mark", "", f"{provenance(file)}: :path:`{file}`.", ""]
                return self.lines([*command, *block(self.shown(run.output)), *mark, *reports])
            who = provenance(file).replace("printed the same", "printed this")
            mark = f"{who}: :path:`{file}`."
            tabs = {
                "simulated device, when this page was built": [
                    *block(self.shown(run.output)),
                    *reports,
                ],
                "recorded": [*block(self.shown(recorded)), "", mark, ""],
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
        if program.startswith("starters/"):  # the reader has it in lessons/
            run = run._replace(
                output=run.output.replace("build/starters/", "lessons/"),
                errors=run.errors.replace("build/starters/", "lessons/"),
            )
        if "first-report" in self.options:
            report = run.errors.partition("\n  To do:")[0] or "(nothing is reported)"
            return self.lines([*command, *block(report, kind="wrapped")])
        # What it printed keeps its columns; reports are sentences, and wrap.
        printed = [
            *(block(self.shown(run.output)) if run.output else []),
            *(block(run.errors, kind="wrapped") if run.errors else []),
        ]
        status = [f"Its exit status: {run.status}."] if run.status else []
        return self.lines([*command, *(printed or block("(nothing)")), *status])


class Snippet(BookDirective):
    """Code to copy: lines of a program that runs while the book is built."""

    required_arguments = 2
    final_argument_whitespace = False

    def run(self):
        program, name = self.arguments
        run = run_program(program)
        text = (ROOT / f"{program}.c").read_text(encoding="utf-8")
        found = re.search(
            rf"^ */\* \[{re.escape(name)} \*/\n(.*?)^ */\* {re.escape(name)}\] \*/$",
            text,
            re.M | re.S,
        )
        if not found:
            raise BookError(f"{self.env.docname}: {program}.c has no [{name} and {name}].")
        if run.status != 0 or run.errors:
            raise BookError(f"{program} ended with status {run.status}: {run.errors}")
        return self.lines(block(dedent(found[1]), language="c"))


def language_of(file):
    """What Pygments calls the language of such a file. It knows none of Bats, which is Bash."""
    try:
        return get_lexer_for_filename(file.replace(".bats", ".bash")).aliases[0]
    except ClassNotFound:
        return "text"


class Excerpt(LiteralInclude):
    """The lines of a file, in the language that its name says, unless :language: has another."""

    def run(self):
        if withheld(self.arguments[0]):
            return []
        self.options.setdefault("dedent")
        self.options.setdefault("language", language_of(self.arguments[0]))
        lesson = re.fullmatch(r"(?:\.\./)+lessons/(\d\d_\w+)\.c", self.arguments[0])
        if lesson:
            name = lesson[1]
            self.arguments[0] = f"/../{made(f'starters/{name}')}"
        found = super().run()
        for node in found:
            for code in node.findall(nodes.literal_block):
                code.rawsource = code.rawsource.rstrip("\n")
                code.children = [nodes.Text(code.rawsource)]
        return found


class JournalRun(BookDirective):
    option_spec = texts("lines")

    def run(self):
        program, wanted = self.arguments[0], self.options["lines"].split()
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


class withheld_difference(nodes.General, nodes.Element):
    """Stands for a difference in a student's copy, until its fold disappears with it."""


def drop_withheld(app, doctree):
    for node in list(doctree.findall(withheld_difference)):
        while node.parent is not doctree and node.get("design_component") != "dropdown":
            node = node.parent
        node.parent.remove(node)


class SolutionDifference(LiteralInclude):
    """literalinclude with :diff:, whose first two lines name the files from the top."""

    def run(self):
        name = self.arguments[0]
        if HANDOUT:
            return [withheld_difference()]
        before, after = f"lessons/{name}.c", f"solutions/{name}.c"
        if name.startswith("repairs/"):
            after, (_, before) = made(name), sources_of(name)
        self.arguments[0], self.options["diff"] = f"/../{after}", f"/../{before}"
        found = super().run()
        for node in found:
            for code in node.findall(nodes.literal_block):
                lines = code.rawsource.splitlines()
                lines[:2] = [f"--- {before}", f"+++ {after}"] if lines else ["(no difference)"]
                code.rawsource = "\n".join(lines)
                code.children = [nodes.Text(code.rawsource)]
                code["classes"].append("no-search")
        return found


class Solution(BookDirective):
    def run(self):
        if HANDOUT:
            return []
        fold = ".. dropdown:: What the solution changes"
        return self.lines([fold, "", f"   .. source:: difference {self.arguments[0]}"])


class CommandRun(BookDirective):
    """A command, and what it prints. One that needs tools which a reader need not have (:needs:)
    shows what was recorded of it where one is missing, in docs/recorded/commands.txt. Where all are
    there, what it printed is added to build/docs/commands.txt, which takes that file's place when
    they differ."""

    option_spec = {"status": int, "needs": str}

    def run(self):
        expected = self.options.get("status", 0)
        lacks = [tool for tool in self.options.get("needs", "").split() if not shutil.which(tool)]
        head = f"== {expected} {' '.join(self.arguments[0].split())}\n"
        if lacks:
            printed = self.recorded(head)
        else:
            printed = self.printed(expected)
            if "needs" in self.options:
                self.record(head, printed)
        command = self.arguments[0].replace("\n", " \\\n    ")
        is_wide = any(len(line) > COLUMNS for line in printed.splitlines())
        output = block(printed, kind="wrapped" if is_wide else "")
        found = self.lines([*block("$ " + command), *output])
        if lacks and "recorded" not in self.env.temp_data:
            self.env.temp_data["recorded"] = True
            found.append(
                self.words(
                    "This output and those below are recorded: the machine that built this page "
                    f"has no {lacks[0]}.",
                    nodes.paragraph(),
                )
            )
        return found

    def printed(self, expected):
        done = outcome(
            shlex.split(self.arguments[0]),
            env={**ENVIRONMENT, "GRADE_OWN": "1"},  # no student's file is graded here
            timeout=1800,  # a class, on a busy machine
        )
        if done.returncode != expected:
            raise BookError(
                f"{self.arguments[0]} ended with status {done.returncode}: {done.stderr}"
            )
        return done.stderr + done.stdout if expected else done.stdout

    def recorded(self, head):
        whole = (ROOT / "docs/recorded/commands.txt").read_text(encoding="utf-8")
        if head not in whole:
            raise BookError(f"docs/recorded/commands.txt has no output of: {head[3:]}")
        return whole.partition(head)[2].partition("\n== ")[0]

    def record(self, head, printed):
        file = ROOT / "build/docs/commands.txt"
        how = "a" if "record" in self.env.temp_data else "w"
        self.env.temp_data["record"] = True
        with open(file, how, encoding="utf-8") as record:
            record.write(head + printed.rstrip("\n") + "\n")


class RecordedTables(BookDirective):
    """A file of Markdown from one of our scripts: its blocks are one line each, or tables.

    :from: or :before: a heading takes what begins with it, or what precedes it. :rows: takes those
    rows of the tables that an expression finds, and :columns: those columns (1 is the first).
    """

    option_spec = {"from": str, "before": str, "rows": str, "columns": str}

    def run(self):
        path = ROOT / self.arguments[0]
        found, rows, items = [], [], []
        for line in self.part(path.read_text(encoding="utf-8").splitlines()[1:]) + [""]:
            if rows and not line.startswith("|"):
                found.append(self.as_table(rows))
                rows = []
            if items and not line.startswith("- "):
                found.append(
                    nodes.bullet_list(
                        "", *(nodes.list_item("", nodes.paragraph(text=item)) for item in items)
                    )
                )
                items = []
            if line.startswith("|"):
                # The first two have the headings.
                if len(rows) > 1 and not re.search(self.options.get("rows", ""), line):
                    continue
                rows.append(self.cells(line))
            elif line.startswith("- "):
                items.append(line[2:])
            elif line.startswith("#"):
                found.append(nodes.rubric(text=line.lstrip("# ")))
            elif line:
                found.append(nodes.paragraph(text=line))
        return found

    def cells(self, line):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        return [cells[int(n) - 1] for n in self.options.get("columns", "").split()] or cells

    def part(self, lines):
        for option in self.options.keys() & {"from", "before"}:
            heading = f"## {self.options[option]}"
            if heading not in lines:
                raise self.error(f'{self.arguments[0]} has no "{heading}".')
            at = lines.index(heading)
            lines = lines[at:] if option == "from" else lines[:at]
        return lines

    @staticmethod
    def as_table(rows):
        width = max(map(len, rows))
        head, _, *rest = (cells + [""] * (width - len(cells)) for cells in rows)
        return table(head, map(row, rest))  # the second line is the rule below the head


def setup(app):
    if not (ROOT / LIBRARY).exists():
        raise BookError(f"{LIBRARY} is not there. Type: make docs")
    app.connect("doctree-read", drop_withheld)
    app.connect("env-before-read-docs", compile_named)
