"""Before which step of a stepper's run a question of the page is asked.

A question is asked in a run that prints its answer: in one that it names, and in the same run of
the lesson's other file (starters/ for solutions/), if the same expressions find the same answers
there. The step is the program's last call before the answer is printed, which printed.py finds out,
and for a report the call that this is about. A question with several fields is asked once, before
the first of their steps. Its option `at` names a call that decides the answer before it is printed:
the last one, up to then, that chosen.last_call finds.

The element .stepper-asks of a page has for each script of steps [[place of the step, question]...],
and build/docs/answers.txt has the same in words.
"""

import json
import re
from html import escape

from . import chosen
from .page import in_html
from .predict import line_at, parse_run, read_field, read_run
from .printed import piece_of
from .runs import BookError, run_program

OTHER_FOLDER = {"starters": "solutions", "solutions": "starters"}


def is_in(words, run):
    """Do the words name this run, (program, arguments, environment), or that of the other file?"""
    program, *rest = parse_run(words)
    folder, _, name = program.partition("/")
    return rest == list(run[1:]) and run[0] in (program, f"{OTHER_FOLDER.get(folder)}/{name}")


def call_before(run, process, where):
    """The number of the last call that the process makes before the run prints the answer. None if
    the other process prints it, or if nothing is printed."""
    words = [run[0], *run[1], *run[2]]
    made = run_program(*run)
    journal = made.second if process == 2 else made.journal
    text = read_run(words)[0]
    match = re.search(where, text, re.M)
    if not match:
        return None
    begin, line, column = line_at(text, match)
    if line.startswith("hazard:"):
        hazards = [one for one in journal if one.get("did") == "hazard"]
        return hazards[0].get("later") if hazards else None
    equal = len(re.findall(f"^{re.escape(line)}$", text[:begin], re.M))
    found = piece_of(*run, line, column, equal)
    if not found or found[1] != process or not found[0].last:
        return None
    last = next(call for call in chosen.calls_of(journal) if call["number"] == found[0].last[0])
    if [last[key] for key in ("call", "line")] != found[0].last[1:]:
        raise BookError(f"{run[0]} makes other calls when it runs a second time, before: {line}")
    return last["number"]


def place_of_step(question, steps):
    """The place of the step before which the question is asked in a run, or None."""
    run, numbers = steps["run"], []
    for label, kind, where, words, answer in question["fields"]:
        if is_in(words, run):
            try:
                found = read_field(label, kind, where, [run[0], *run[1], *run[2]])[0]["answer"]
            except ValueError:
                found = None
            if found != answer:
                return None
            numbers.append(call_before(run, steps["process"], where))
    numbers = [number for number in numbers if number]
    if not numbers:
        return None
    number = min(numbers)
    if question["at"]:
        number = chosen.last_call(steps["journal"], question["at"], number)
    own = [one["number"] for one in chosen.calls_of(steps["journal"]) if chosen.function_of(one)]
    number = max((one for one in own if one <= number), default=0)
    if steps["chosen"] is not None and number not in steps["chosen"]:
        return None
    # A step of several calls has the number of the last.
    return next((place for place, last, _ in steps["steps"] if 0 < number <= last), None)


def add(app, doctree):
    """At the end of a page, when all of its questions and runs are known."""
    data = app.env.temp_data
    questions, runs = data.get("asked questions", []), data.get("stepper runs", [])
    asks, lines = {}, []
    for steps in runs if questions else []:
        found = []
        for question in questions:
            try:
                place = place_of_step(question, steps)
            except ValueError as error:
                raise BookError(f"{app.env.docname}, {question['name']}: {error}") from error
            if place is not None:
                found.append([place, question["name"]])
        found.sort(key=lambda one: one[0])
        if found:
            asks[steps["script"]] = found
        words = " ".join([steps["run"][0], *steps["run"][1], *steps["run"][2]])
        source = {place: line for place, _, line in steps["steps"]}
        for place, name in found:
            line = chosen.text_of(steps["file"])[source[place] - 1].strip()
            lines.append(f"  {name.replace('-', ' ')}, {words}, before: {line}")
    names = {name for found in asks.values() for _, name in found}
    for question in questions if runs else []:
        if question["at"] and question["name"] not in names:
            raise BookError(
                f"{app.env.docname}, {question['name']}: no run asks it, so :at: has no use"
            )
    if asks:
        keys = app.env.answer_keys.setdefault(app.env.docname, [])
        keys += [f"{app.env.docname}, asked by the stepper", *lines]
        doctree += in_html(
            f'<div class="stepper-asks" hidden data-asks="{escape(json.dumps(asks))}"></div>'
        )


def setup(app):
    app.connect("doctree-read", add)
