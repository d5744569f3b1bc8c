"""Which calls of a run a picture or the stepper shows, by function and line of the source.

The journal names the file and line of each call. A call that a helper of lessons/*.h makes stands
in that header: it belongs to no function of the program.

    from_, to     "FUNCTION", "FUNCTION 2" or either with ": TEXT". From that function's first call
                  to its last; with a text, from the first at or below the line that has it, or to
                  the last at or above. One line of the function has the text. Without `to` it is
                  the function of `from_`.
                  2 is the function's second run, where it runs more than once: a run is over when,
                  after its last line that calls, its first one calls again.
    pool          from the creation of the pool with that number to its destruction
"""

import operator
import re
from functools import cache

from .runs import ROOT

HEADERS = ("lessons/workbook.h", "lessons/processes.h", "lessons/kernels.h")


@cache
def text_of(file):
    """The lines of a source, or none if it is not there."""
    path = ROOT / file
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


@cache
def functions_of(file):
    """{name: (first line, last line)} of a source in the workbook's form."""
    lines, found, name = text_of(file), {}, None
    for number, line in enumerate(lines, 1):
        head = re.match(r"\w[^;=]*?\b(\w+)\(", line)
        if head and not line.startswith(("typedef", "#")):
            name, first = head[1], number
        if (line == "}" or head and line.endswith("}")) and name:
            found[name] = first, number
            name = None
    return found


def function_of(line):
    """The function of the program in which a call stands; "" for one of a header."""
    if "file" not in line or line["file"] in HEADERS:
        return ""
    for name, (first, last) in functions_of(line["file"]).items():
        if first <= line["line"] <= last:
            return name
    return ""


def calls_of(journal):
    return [line for line in journal if "call" in line and "did" not in line and "number" in line]


def line_with(file, function, text):
    if function not in functions_of(file):
        raise ValueError(f"{file} has no function {function}")
    first, last = functions_of(file)[function]
    found = [at for at in range(first, last + 1) if text in text_of(file)[at - 1]]
    if len(found) != 1:
        raise ValueError(f'"{text}" is on {len(found)} lines of {function}, and not on one')
    return found[0]


def runs_of(calls, function):
    """For each run of the function the places in `calls` of its own calls."""
    own = [at for at, line in enumerate(calls) if function_of(line) == function]
    if not own:
        raise ValueError(f"no call stands in {function}")
    first, last = calls[own[0]]["line"], max(calls[at]["line"] for at in own)
    runs = [[]]
    for at in own:
        over = runs[-1] and calls[runs[-1][-1]]["line"] == last
        if over and calls[at]["line"] == first < last:
            runs.append([])
        runs[-1].append(at)
    return runs


def run_of(calls, function, run):
    """The places in `calls` of the function's own calls, in its run with that number."""
    runs = runs_of(calls, function)
    if run > len(runs):
        raise ValueError(f"{function} runs {len(runs)} times, and not {run} times")
    return runs[run - 1]


def place(words):
    """(function, run, text) of "FUNCTION 2: TEXT"."""
    found = re.fullmatch(r"(\w+)(?: (\d+))?(?::\s*(.+))?", words)
    if not found:
        raise ValueError(f'"{words}" is not FUNCTION, FUNCTION RUN or either with ": TEXT"')
    return found[1], int(found[2] or 1), found[3]


def last_call(journal, words, number):
    """The number of the last call up to that one which stands in FUNCTION, on a line with TEXT:
    "FUNCTION: TEXT". Without a text it is the first call of the function's last run up to there."""
    function, _, text = place(words)
    calls = [line for line in calls_of(journal) if line["number"] <= number]
    runs = runs_of(calls, function)
    if not text:
        return calls[runs[-1][0]]["number"]
    own = [calls[at] for run in runs for at in run]
    own = [line for line in own if text in text_of(line["file"])[line["line"] - 1]]
    if not own:
        raise ValueError(f'no call up to the answer stands on a line of {function} with "{text}"')
    return own[-1]["number"]


def places(calls, bound, is_in, words):
    """The places in `calls` of the function's own calls; with a text those whose lines are in."""
    function, run, text = bound
    own = run_of(calls, function, run)
    if text:
        line = line_with(calls[own[0]]["file"], function, text)
        own = [at for at in own if is_in(calls[at]["line"], line)]
        if not own:
            raise ValueError(f"{function} calls nothing {words}")
    return own


def choose(journal, from_="", to="", pool=None):
    """The numbers of the chosen calls."""
    calls = calls_of(journal)
    begin, end = 0, len(calls)
    if pool is not None:
        own = [at for at, line in enumerate(calls) if line.get("pool") == pool]
        if not own:
            raise ValueError(f"no call is about pool {pool}")
        begin, end = own[0], own[-1] + 1
    if from_:
        begin = places(calls, place(from_), operator.ge, "from that line on")[0]
    if from_ or to:
        bound = place(to) if to else (*place(from_)[:2], None)
        end = places(calls, bound, operator.le, "up to that line")[-1] + 1
    chosen = {line["number"] for line in calls[begin:end]}
    if not chosen:
        raise ValueError("no call is chosen")
    return chosen
