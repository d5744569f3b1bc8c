"""The steps of a program's run, and its pools, from its journal: docs/_static/run_steps.js computes
them, the same script that a browser runs for what is run there. Here QuickJS runs it.
"""

import json
from functools import cache

from . import chosen
from .rungs import RUNGS
from .runs import BookError

SCRIPT = "docs/_static/run_steps.js"
# Why an allocation has the memory that it has: the journal's rung of the ladder.
BECAUSE = {rung.name: rung.because for rung in RUNGS}
# What the QuickJS for Python 3.9 lacks.
LACKS = """for (const [name, find] of Object.entries({
    at(place) { return this[place < 0 ? this.length + place : place]; },
    findLast(is) { return [...this].reverse().find(is); },
})) if (!Array.prototype[name])
    Object.defineProperty(Array.prototype, name, { value: find });"""
# What it is called with comes as text, and so goes what it returns: a run, or the pools where there
# are no options, or why there is none.
CALL = """(text) => {
    const { journal, options } = JSON.parse(text);
    try {
        const found = options ? runSteps(journal, options) : runSteps.pools(journal);
        return JSON.stringify(found);
    } catch (reason) {
        return JSON.stringify({ error: reason.message });
    }
}"""


@cache
def program():
    try:
        import quickjs
    except ImportError as error:
        raise BookError(
            "A run is read by QuickJS for Python (tools/requirements.txt), which is not here. "
            "Python 3.10 and later have a package of it."
        ) from error
    context = quickjs.Context()
    context.eval(LACKS)
    context.eval((chosen.ROOT / SCRIPT).read_text(encoding="utf-8"))
    return context.eval(CALL)


def sources_of(journal):
    """{file: text} of the sources that a journal names, as far as they are there."""
    files = {line["file"] for line in journal if "file" in line}
    return {file: "\n".join(chosen.text_of(file)) for file in files if chosen.text_of(file)}


def read(journal, numbers=None, errors="", up_to_report=False):
    """The run as run_view.js takes it. `numbers`: of the calls that are shown; `errors`: what the
    run wrote to its standard error, with the checker's reports; the first one may end the run."""
    options = {
        "sources": sources_of(journal),
        "because": BECAUSE,
        "errors": errors,
        "numbers": None if numbers is None else sorted(numbers),
        "upToReport": up_to_report,
    }
    return answer(journal, options)


def pools(journal):
    """The pools of a run, for memory_picture.py: what each call left behind in each."""
    return answer(journal, None)


def answer(journal, options):
    found = json.loads(program()(json.dumps({"journal": journal, "options": options})))
    if "error" in found:
        raise ValueError(found["error"])
    return found
