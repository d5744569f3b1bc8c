"""Steps through a program's run on its page, from the journal of that run.

    .. stepper:: lessons/04_release_threshold
       :name: the starter              what the list of runs calls it
       :part: the first round alone    what is left out, or whose the calls are
       :arguments: 40
       :from: main: launch_fill(       these calls alone: chosen.py
       :report:                        up to the checker's first report, whose accesses are marked
       :also:
          the second process | lessons/04_release_threshold | process 2
          a small mistake | mutants/04_release_threshold/threshold_in_mib SIM_SCHEDULE=late

The run is data: _static/steps has a script for it, which docs/_static/stepper.js loads when the
reader comes near. run_view.js shows it: the program with the present line marked, the pool and the
streams as that line left them, and a sentence. Without script, on paper and in an EPUB there is
nothing of it. run_steps.py has the rules. `also` has more runs for the reader's list, with
arguments and settings.
"""

import json
from hashlib import sha256
from html import escape

from docutils.parsers.rst import directives

from programbook import asked, chosen, svg
from programbook.book import BookDirective, in_html
from programbook.predict import parse_run
from programbook.runs import BookError, run_program

from . import memory_picture, order_picture, run_steps, rungs
from .run_steps import read
from .rungs import TABLE

MODULES = (
    asked,
    run_steps,
    chosen,
    memory_picture,
    order_picture,
    rungs,
    svg,
)


def changed(before, after):
    """A list as the places that are no longer there and what is new, or None if it is the same."""
    gone = [place for place, one in enumerate(before) if one not in after]
    new = [one for one in after if one not in before]
    return [gone, new] if gone or new else None


# What a run begins with, where it is no empty list.
EMPTY = {"asks": 0}


def packed(run):
    """The run with only what changed in each step, and each sentence once."""
    words, steps, before = {}, [], {}

    def numbered(text):
        return words.setdefault(text, len(words))

    for step in run["steps"]:
        now = {"call": numbered(step["call"]), "say": numbered(step["say"])}
        now |= {key: step[key] for key in ("line", "number", "marks") if key in step}
        now["asks"] = step.get("asks", 0)
        now |= step["state"] or {}
        for place, (_, queue) in enumerate(step["streams"]):
            now[f"stream {place}"] = [[numbered(what), state] for what, state in queue]
        found = {}
        for key, value in now.items():
            if key in ("segments", "live", "pending"):
                found[key] = changed(before.get(key, []), value)
            elif value != before.get(key, EMPTY.get(key, [])):
                found[key] = value
        steps.append({key: value for key, value in found.items() if value is not None})
        # What the browser has, in its order.
        for key in ("segments", "live", "pending"):
            old = before.get(key, [])
            gone, new = found.get(key) or ([], [])
            now[key] = [one for place, one in enumerate(old) if place not in gone] + new
        before = now
    streams = [name for name, _ in run["steps"][0]["streams"]]
    return {**run, "steps": steps, "streams": streams, "words": list(words)}


class Stepper(BookDirective):
    option_spec = {
        "name": directives.unchanged_required,
        "part": directives.unchanged_required,
        "arguments": directives.unchanged_required,
        "from": directives.unchanged_required,
        "to": directives.unchanged_required,
        "case": directives.nonnegative_int,
        "report": directives.flag,
        "also": directives.unchanged_required,
    }

    def run_of(self, words, process):
        """The run that words name, as a script has it, and what asked.py has to know of it."""
        program, arguments, environment = parse_run(words)
        self.depend_on_program(program)
        made = run_program(program, arguments, environment)
        journal = made.second if process == 2 else made.journal
        numbers, errors = None, None
        if any(key in self.options for key in ("from", "to", "case")):
            from_, to = (self.options.get(key, "") for key in ("from", "to"))
            numbers = chosen.choose(journal, from_, to, self.options.get("case"))
        if "report" in self.options:
            errors = made.errors
        folder = "-".join([program, *arguments, *environment]).replace("/", "-")
        made = read(journal, numbers, errors)
        own = [step for step in made["steps"] if "marks" not in step]
        asked = {
            "run": (program, arguments, environment),
            "process": process,
            "journal": journal,
            "chosen": numbers,
            "file": made["file"],
            "steps": [(step["number"], step["line"]) for step in own],
        }
        return {"run": folder, "process": process} | packed(made), asked

    def run(self):
        self.depend(*(module.__file__ for module in MODULES), __file__, TABLE)
        first = f"{self.arguments[0]} {self.options.get('arguments', '')}"
        rows = [f"{self.options.get('name', 'this run')} | {first}"]
        rows += self.options.get("also", "").splitlines()
        runs = []
        for row in filter(None, rows):
            label, words, *process = (part.strip() for part in row.split("|"))
            try:
                data, asked = self.run_of(words.split(), 2 if process == ["process 2"] else 1)
            except (KeyError, IndexError, ValueError) as error:
                raise BookError(f"{self.env.docname}: no steps of {words}: {error!r}") from error
            runs.append([label, *self.keep(data)])
            asked["script"] = runs[-1][1]
            self.env.temp_data.setdefault("stepper runs", []).append(asked)
        part = self.options.get("part", "up to the report" if "report" in self.options else "")
        about = f'data-part="{escape(part)}" data-runs="{escape(json.dumps(runs))}"'
        return [in_html(f'<div class="stepper" {about}></div>')]

    def keep(self, run):
        """The name of the run's script, and a version: a browser that has an older one loads it."""
        name = f"{self.env.docname}-{self.env.new_serialno('stepper')}".replace("/", "-")
        data = json.dumps(run, separators=(",", ":"), ensure_ascii=False)
        steps_of(self.env).setdefault(self.env.docname, {})[name] = data
        return name, sha256(data.encode()).hexdigest()[:8]


# ---- the scripts ----


def steps_of(env):
    """{page: {name of a script: its data}}, which stays in the environment between builds."""
    if not hasattr(env, "stepper_steps"):
        env.stepper_steps = {}
    return env.stepper_steps


def forget(app, env, page):
    steps_of(env).pop(page, None)


def merge(app, env, pages, other):
    """What another process has read of these pages."""
    theirs = steps_of(other)
    steps_of(env).update({page: theirs[page] for page in pages if page in theirs})


def write_steps(app, error):
    if error or app.builder.name != "html":
        return
    folder = app.outdir / "_static" / "steps"
    folder.mkdir(parents=True, exist_ok=True)
    found = {f"{name}.js": data for one in steps_of(app.env).values() for name, data in one.items()}
    for old in folder.iterdir():
        if old.name not in found:
            old.unlink()
    for name, data in found.items():
        text = f'window.workbookSteps["{name.removesuffix(".js")}"] = {data};\n'
        (folder / name).write_text(text, encoding="utf-8")


def add_script(app, page, template, context, doctree):
    if 'class="stepper"' in context.get("body", ""):
        app.add_css_file("stepper.css")
        for script in ("run_view.js", "stepper.js"):
            app.add_js_file(script, loading_method="defer")


def setup(app):
    app.add_directive("stepper", Stepper)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-page-context", add_script)
    app.connect("build-finished", write_steps)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
