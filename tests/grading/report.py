"""What a judgment (judge.py) looks like to a person."""

import os
import re
import shutil
import textwrap

WIDTH = min(100, shutil.get_terminal_size((100, 24)).columns)


def clean(text):
    """Text that every format can carry and no terminal takes for a command. Its only control
    characters are tab and line end, no character turns the direction of writing, and none is
    forbidden in XML."""
    return "".join(
        c
        for c in text
        if c in "\t\n"
        or ord(c) >= 32
        and not 127 <= ord(c) < 160
        and ord(c) not in TURNING
        and not 0xD800 <= ord(c) < 0xE000
        and ord(c) not in (0xFFFE, 0xFFFF)
    )


TURNING = {0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def lines_of(rule, known=None):
    """All lines about a rule: why it is not met, what stderr had, and where to look. `known` has
    what was already shown of stderr, without numbers of processes and addresses."""
    lines = list(rule.get("lines", []))
    printed = rule.get("printed", [])
    key = re.sub(r"process \d+|0x[0-9a-f]+", "", "\n".join(printed))
    if printed and known is not None and key in known:
        lines.append("On stderr it printed the same as above.")
    elif printed:
        lines += ["On stderr it printed:", *(f"    {line}" for line in printed)]
        if known is not None:
            known.add(key)
    lines += [f"{label}: {text}" for label, text in rule.get("see", [])]
    return [clean(line) for line in lines]


def first(found):
    for rule in found["rules"]:
        if rule["result"] == "failed":
            print("\n".join([f"  MISS  {rule['name']}", *lines_of(rule)]))


def wrapped(line):
    """A line as lines of WIDTH columns. The second and later ones begin below the text after the
    label ("  MISS  ", "  read       "), or are indented by two columns. A compiler's excerpt
    ("   12 |  call();") stays whole."""
    if len(line) <= WIDTH or re.match(r" *\d* +\|", line):
        return [line]
    label = re.match(r" *[A-Za-z]+( [A-Za-z]+)*:?  +", line)
    hang = len(label[0]) if label and len(label[0]) < 40 else len(line) - len(line.lstrip()) + 2
    words = {"break_long_words": False, "break_on_hyphens": False}
    blanks = {"expand_tabs": False, "replace_whitespace": False}
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * hang, **words, **blanks)


def say(line):
    print("\n".join(wrapped(line)))


def listed(found, brief):
    """The rules with their results; the first miss in full, or all with ALL=1."""
    everything, misses, known = os.environ.get("ALL"), 0, set()
    for rule in found["rules"]:
        if rule["result"] == "passed":
            say(f"  ok    {rule['name']}")
            for line in rule.get("lines", []):
                say(f"        {line}")
        elif rule["result"] == "skipped":
            if not brief:
                say(f"  wait  {rule['name']}")
        else:
            misses += 1
            say(f"  MISS  {rule['name']}")
            for line in lines_of(rule, known) if everything or misses == 1 else []:
                say(f"        {line}")
    return misses, everything


def points_line(found):
    """How many rules of each result, and what they are worth."""
    results = [rule["result"] for rule in found["rules"]]
    line = f"{results.count('passed')} passed, {results.count('failed')} failed"
    waiting = results.count("skipped")
    if waiting:
        line += f", {waiting} not judged until that is repaired"
    if found.get("step"):
        return f"{line}, of the rules up to section {found['step']} of the page."
    line += f". Points: {found['points']:g} of {found['possible']:g}"
    if found["given"]:
        gives = "give" if found["given"] > 1 else "gives"
        line += f"; {found['given']} passed at the start and {gives} no point"
    return line


def student(found):
    misses, everything = listed(found, brief=False)
    print()
    if misses > 1 and not everything:
        shown = "both" if misses == 2 else f"all {misses}"
        say(f"Begin with the first miss. ALL=1 shows {shown} in full.")
    say(points_line(found))


def brief(found):
    listed(found, brief=True)


FORMS = {"first": first, "report": student, "brief": brief}
