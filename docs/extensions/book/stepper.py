r"""Steps through a program's run on its page, from the journal of that run.

    .. stepper:: docs/programs/model
       :name: the ladder               what the list of runs calls it
       :part: the first round alone    what is left out, or whose the calls are
       :arguments: 40
       :from: main: launch_fill(       these calls alone: chosen.py
       :report:                        up to the checker's first report
       :begin: main: launch_fill(      the step that is shown first; those before it are there
       :view: order                    the order of the streams, or the pool, is shown first
       :rows: ^ +(\d+) +(\d+) | threshold \1, live \2
                                       what names the steps: found in the lines that the run prints
       :also:
          the second process | lessons/04_release_threshold | process 2
          a small mistake | mutants/04_release_threshold/threshold_in_mib SIM_SCHEDULE=late

The run is data: _static/steps has a script for it, which docs/_static/stepper.js loads when the
reader comes near. run_view.js shows it: a map of the run, the program with the present line marked,
the pool and the order of the streams as that line left them, what it changed, and a sentence.
Without script, on paper and in an EPUB there is nothing of it. run_steps.js has the rules. `also`
has more runs for the reader's list, with arguments and settings. A starter without a name is "the
starter", and the list goes on with its solution.
"""

import difflib
import json
import re
from functools import partial
from hashlib import sha256
from html import escape
from pathlib import Path

from docutils.parsers.rst import directives

from . import chosen
from .page import BookDirective, in_html, texts, write_static
from .predict import parse_run
from .printed import piece_of
from .run_steps import read
from .runs import BookError, run_program, withheld

# What a step has where run_steps.js says nothing of it.
PLAIN = {"asks": 0, "row": ""}


def packed(steps):
    """Of each step what is not as in the one before, and all of what was reported there."""
    before = PLAIN
    for step in steps:
        now = PLAIN | step
        yield {
            key: value
            for key, value in now.items()
            if value != before.get(key) or key in ("marks", "report")
        }
        before = now


def name_rows(steps, printed, pattern, *run):
    """Gives each step the name of the line that the program prints next. `pattern` is what the
    line begins with, and after a "|" the name that this makes."""
    pattern, name = pattern.rsplit(" | ", 1)
    before, lines = 0, printed.splitlines()
    for at, line in enumerate(lines):
        found = re.match(pattern, line)
        piece = piece_of(*run, line, len(line) - 1, lines[:at].count(line)) if found else None
        if not piece or piece[1] != 1 or not piece[0].last:
            continue
        last = piece[0].last[0]
        for step in steps:
            if before < step["number"] <= last:
                step["row"] = " ".join(found.expand(name).split())
        before = last


# Of a program with mistakes the one in which they are repaired.
REPAIRED = (
    (re.compile(r"(?:starters|mutants)/(\w+).*"), r"solutions/\1"),
    (re.compile(r"docs/clinic/(\w+)_wrong"), r"repairs/\1"),
)


def repaired(program):
    """That program, as far as this book shows it, or None."""
    found = (form.sub(to, program) for form, to in REPAIRED if form.fullmatch(program))
    return next((each for each in found if not withheld(each)), None)


def with_repair(code, before, after):
    """The lines that are shown, [number, text], with those that the repair adds, ["+", text], and
    those that it takes away, [number, text, "gone"]."""
    shown = {number for number, _ in code}
    lines = []
    for what, i, end, j, last in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if what == "equal":
            lines += [[n + 1, before[n]] for n in range(i, end) if n + 1 in shown]
        elif shown & {i, i + 1, end, end + 1}:
            lines += [[n + 1, before[n], "gone"] for n in range(i, end) if n + 1 in shown]
            lines += [["+", text] for text in after[j:last]]
    return lines


# The first stepper of such a page is its stage, which stays in view.
STAGED = re.compile(r"(clinic/)?\d\d_\w+|model")


def leads(run, place):
    """Whether a place of the text leads to a step, as stepper.js (stepAt) finds it."""
    *row, words = place.split(" | ")
    reports = [step for step in run["steps"] if "report" in step]
    if number := re.fullmatch(r"report (\d+)", words):
        return len(reports) >= int(number[1])
    lines = [line for line, text in run["code"] if "(" in words and text.strip().startswith(words)]
    return any(
        step["line"] in lines and "report" not in step and row in ([], [step.get("row")])
        for step in run["steps"]
    )


class StageAt(BookDirective):
    """Where the text below speaks of a line of the run, or of a report: the stage, whose stepper
    stands further down, goes there.

    .. stage:: CHECK(launch_fill(data, 40
    .. stage:: report 1
    .. stage:: threshold 48, live 0 | CHECK(cudaStreamSynchronize(stream
    """

    def run(self):
        place = self.arguments[0]
        self.env.temp_data.setdefault("stage places", []).append(place)
        return [in_html(f'<div class="stage-at" data-at="{escape(place)}" hidden></div>')]


class Stepper(BookDirective):
    option_spec = {
        **texts("name", "part", "arguments", "from", "to", "begin", "rows", "also"),
        "report": directives.flag,
        "view": lambda text: directives.choice(text, ("pool", "order")),
    }

    def run_of(self, words, process):
        """The run that words name, as a script has it, and what asked.py has to know of it."""
        program, arguments, environment = parse_run(words)
        run = run_program(program, arguments, environment)
        journal = run.second if process == 2 else run.journal
        numbers = None
        if "from" in self.options or "to" in self.options:
            numbers = chosen.choose(journal, *(self.options.get(key, "") for key in ("from", "to")))
        folder = "-".join([program, *arguments, *environment]).replace("/", "-")
        made = read(journal, numbers, run.errors, "report" in self.options)
        if "begin" in self.options:
            made["begin"] = self.place_of(journal, made["steps"])
        if "view" in self.options:
            made["view"] = self.options["view"]
        if "rows" in self.options and process == 1:
            pattern = self.options["rows"]
            name_rows(made["steps"], run.output, pattern, program, arguments, environment)
        asked = {
            "run": (program, arguments, environment),
            "process": process,
            "journal": journal,
            "chosen": numbers,
            "file": made["file"],
            "steps": [
                (at, step["number"], step["line"])
                for at, step in enumerate(made["steps"])
                if "marks" not in step
            ],
        }
        for place in self.env.temp_data.pop("stage places", []):
            if not leads(made, place):
                raise BookError(f"{self.env.docname}: no step of {program} is at stage:: {place}")
        made |= {"program": program, "arguments": list(arguments)}
        if process == 1:
            made |= self.repair(made, program, arguments, environment)
        made["steps"] = list(packed(made["steps"]))
        return {"run": folder, "process": process} | made, asked

    def repair(self, made, program, arguments, environment):
        """What a program has that does the same and of which the checker reports nothing."""
        right = repaired(program)
        if not right or not any("report" in step for step in made["steps"]):
            return {}
        run = run_program(right, arguments, environment)
        files = {line["file"] for line in run.journal if "file" in line}
        file = next((each for each in files if Path(each).stem == Path(right).stem), None)
        if not file or "hazard:" in run.errors:
            return {}
        lines = with_repair(made["code"], chosen.text_of(made["file"]), chosen.text_of(file))
        return {"repair": {"program": right, "code": lines}}

    def place_of(self, journal, steps):
        """The step that is shown first: the call of `begin`."""
        number = min(chosen.choose(journal, self.options["begin"]))
        return next(at for at, step in enumerate(steps) if step["number"] >= number)

    def run(self):
        first = f"{self.arguments[0]} {self.options.get('arguments', '')}"
        rows = [f"{self.options.get('name', 'this run')} | {first}"]
        if first.startswith("starters/") and "name" not in self.options:
            solution = first.replace("starters", "solutions")
            rows = [f"the starter | {first}", f"the solution | {solution}"]
        rows += self.options.get("also", "").splitlines()
        runs, has = [], []
        for row in filter(None, rows):
            label, words, *process = (part.strip() for part in row.split("|"))
            try:
                data, asked = self.run_of(words.split(), 2 if process == ["process 2"] else 1)
            except (KeyError, IndexError, ValueError) as error:
                raise BookError(f"{self.env.docname}: no steps of {words}: {error!r}") from error
            # What its bar has, so that nothing moves when the run comes.
            if not runs:
                has = ["rows"] if data["rows"] else []
                has += ["report"] if any("report" in step for step in data["steps"]) else []
            shown = not withheld(asked["run"][0])
            runs += [[label, *self.keep(data)]] if shown else []
            asked["script"] = runs[-1][1] if shown else f"withheld: {words}"
            self.env.temp_data.setdefault("stepper runs", []).append(asked)
        if not runs:
            return []
        part = self.options.get("part", "up to the report" if "report" in self.options else "")
        about = f'data-has="{" ".join(has)}"'
        if STAGED.fullmatch(self.env.docname) and not self.env.temp_data.get("stage"):
            self.env.temp_data["stage"] = True
            about += " data-stage"
        said = dict.fromkeys(filter(None, [part, *(label for label, *_ in runs)]))
        return [in_html(self.written(partial(bar, about, part, runs), *said))]

    def keep(self, run):
        """The name of the run's script, and a version: a browser that has an older one loads it."""
        name = f"{self.env.docname}-{self.env.new_serialno('stepper')}".replace("/", "-")
        data = json.dumps(run, separators=(",", ":"), ensure_ascii=False)
        steps_of(self.env)[name] = data
        return name, sha256(data.encode()).hexdigest()[:8]


def bar(about, part, runs, say):
    runs = [[say[label], *script] for label, *script in runs]
    return (
        f'<div class="stepper" data-part="{escape(say.get(part, ""))}" {about} '
        f'data-runs="{escape(json.dumps(runs))}"></div>'
    )


# ---- the scripts ----


def steps_of(env):
    """{name of a script: its data}"""
    if not hasattr(env, "stepper_steps"):
        env.stepper_steps = {}
    return env.stepper_steps


def write_steps(app, error):
    if error or app.builder.name != "html":
        return
    for old in (app.outdir / "_static" / "steps").glob("*"):
        old.unlink()
    for name, data in steps_of(app.env).items():
        write_static(app, f"steps/{name}.js", f'window.workbookSteps["{name}"] = {data};\n')


def setup(app):
    app.connect("build-finished", write_steps)
