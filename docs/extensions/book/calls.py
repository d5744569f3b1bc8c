"""Tables of calls: what was recorded of each, and where in the workbook it is used.

docs/calls.txt lists the calls. Everything that was observed is read from simulator/tests/facts, and
the places from solutions/ and docs/, so a new recording or lesson changes the tables by itself.
"""

import re
from collections import defaultdict
from functools import cache

from .page import list_table
from .runs import LIBRARY, ROOT

FACTS = ROOT / "simulator" / "tests" / "facts"
# A recorded line: the call, and behind it the code that it returned.
RETURNED = re.compile(
    r"^\s*(?:\[\w+\] )?(cuda[A-Z]\w*)\(.*?(?:->\s*|\s{2,})(cuda(?:Error|Success)\w*)"
)
# Before the call a line may say what had been put behind the pending work.
WAITED = re.compile(r"^(?:[\w ]+ behind it: )?(cuda[A-Z]\w*)\(.*?\)\s+(waits|does not wait)\b")
# Sections of the recordings in which every line was called while another stream was captured.
CAPTURES = ("== capture_unsafe", "== capture_calls")
# Once a kernel has faulted, every call returns its error: that says nothing of the call.
STICKY = ("cudaErrorIllegalAddress", "cudaErrorLaunchFailure", "cudaErrorMisalignedAddress")


def groups():
    """What calls.txt has: {group: [[call, driver name, version, words, of captures]]}."""
    result, group = {}, []
    for line in (ROOT / "docs" / "calls.txt").read_text().splitlines():
        if line.startswith("== "):
            group = result.setdefault(line[3:], [])
        elif line.startswith("    @ "):
            group[-1][4] = line[6:]
        elif line.startswith("    "):
            group[-1][3] = line.strip()
        elif line and not line.startswith("#"):
            group.append([*line.split(maxsplit=2), "", ""])
    return result


@cache
def recorded():
    """Of each call: the error codes, whether it waited, whether captures allowed it."""
    codes, waits, captures = defaultdict(set), defaultdict(set), defaultdict(set)
    for file in sorted(FACTS.glob("*.txt")):
        section, mode = "", "mode 0"
        for line in file.read_text(errors="replace").splitlines():
            if line.startswith("== "):
                section, mode = line, "mode 0"
            elif line.startswith("mode "):
                mode = line
            waited = WAITED.match(line)
            if waited:
                waits[waited[1]].add(waited[2])
            returned = RETURNED.match(line)
            if not returned:
                continue
            call, code = returned.groups()
            if section in CAPTURES:
                if mode == "mode 0":  # cudaStreamCaptureModeGlobal
                    captures[call].add(code)
            elif code != "cudaSuccess" and "Capture" not in code and code not in STICKY:
                codes[call].add(code)
    return codes, waits, captures


def codes_of(call):
    found = sorted(code.removeprefix("cudaError") for code in recorded()[0].get(call, ()))
    return ", ".join(found) or "none seen"


def waits_of(call):
    found = recorded()[1].get(call, set())
    if not found:
        return "not recorded"
    if found == {"waits"}:
        return "waits"
    return "sometimes" if "waits" in found else "no"


def capture_of(call, words):
    if words:
        return words
    found = recorded()[2].get(call, set())
    if not found:
        return "not recorded"
    return "allowed" if "cudaSuccess" in found else "refused"


@cache
def users():
    """Of each name that begins with cuda: the lessons whose solution uses it."""
    found = defaultdict(list)
    for file in sorted((ROOT / "solutions").glob("[0-9]*.c")):
        for name in sorted(set(re.findall(r"\bcuda[A-Z]\w*", file.read_text()))):
            found[name].append(file.stem)
    return found


def lessons_of(call):
    names = users().get(call, [])
    shown = ", ".join(f":doc:`{name[:2]} <{name}>`" for name in names[:4])
    return (shown or "none") + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def call_table(group):
    return list_table(
        ["call", "since", "what it does", "waits", "in a capture", "errors seen", "lessons"],
        "22 6 26 8 10 18 10",
        [
            [
                f"``{call}``, ``{driver}``",
                since,
                words,
                waits_of(call),
                capture_of(call, of_captures),
                codes_of(call),
                lessons_of(call),
            ]
            for call, driver, since, words, of_captures in groups()[group]
        ],
        "cards",
    )


def attribute_table(group):
    return list_table(
        ["attribute", "since", "type, default: meaning", "lessons"],
        "40 8 40 12",
        [
            [f"``{name}``, ``{driver}``", since, words, lessons_of(name)]
            for name, driver, since, words, _ in groups()[group]
        ],
        "cards",
    )


def mentions():
    """Of each CUDA call: the pages of the book, by text or by the program that they run."""
    found = defaultdict(list)
    for file in sorted((ROOT / "docs").rglob("*.rst")):
        text = file.read_text()
        page = file.relative_to(ROOT / "docs").with_suffix("").as_posix()
        if page in ("api", "index"):
            continue
        for program in re.findall(r"^\s*\.\. run:: (\w+/\S+)", text, flags=re.M):
            source = ROOT / f"{program}.c"
            text += source.read_text() if source.exists() else ""
        for name in re.findall(r"\bcuda[A-Z]\w*(?=[`(\s:])", text):
            if page not in found[name]:
                found[name].append(page)
    return found


def call_index():
    lines = []
    for name, pages in sorted(mentions().items()):
        if name in exported():
            places = ", ".join(f":doc:`{page}`" for page in pages)
            shown = f":cuda:call:`{name}`" if name in described() else f"``{name}``"
            lines += [f"- {shown}: {places}"]
    return [*lines, ""]


@cache
def described():
    """The calls that a table of this book has a row for."""
    return frozenset(
        row[0] for name, rows in groups().items() if name != "attributes" for row in rows
    )


@cache
def exported():
    file = (ROOT / LIBRARY).parent / "libcudart-symbols.txt"
    return frozenset(file.read_text().split())
