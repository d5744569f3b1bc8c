"""What make prints for a word that it does not know, with the nearest known ones.

    unknown.py goal "GOAL[ NN]" "NN_LESSON..." "NN_CASE..."    NN: a lesson beside GOAL
    unknown.py variables "NAME..." "KNOWN..."    a line for a NAME= that resembles a known one

The known commands are those in the lines of `make help`: the Makefile's lines that begin with ##.
"""

import re
import sys
from difflib import get_close_matches
from pathlib import Path

from usage import call


def known_commands():
    """The words that have no number, and what precedes a number: "", "check-", "clinic-"..."""
    text = Path("Makefile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if line.startswith("##"))
    words = re.findall(r"make ([a-z][a-z-]*(?:\d\d)?|\d\d)\b", lines)
    plain = [word for word in words if not word[-1].isdigit()]
    return plain, [word[:-2] for word in words if word[-1].isdigit()]


def answer(goal, lessons, cases):
    """The lines to print."""
    plain, before_number = known_commands()
    numbered = re.fullmatch(r"(\D*?)[-_ ]?(\d+)(_\w+)?", goal)
    goal = goal.split(" ")[0]
    kinds = {kind.rstrip("-"): kind for kind in before_number} | {"lesson": ""}
    known = [*plain, *filter(None, kinds)]
    near = [
        f"{kinds[word]}01" if word in kinds else word
        for word in get_close_matches(goal.lower().rstrip("-"), known, cutoff=0.54)
    ]
    close = get_close_matches(numbered[1].lower(), kinds, n=1, cutoff=0.54) if numbered else []
    if close:
        kind = kinds[close[0]]
        case = "clinic" in kind or "repaired" in kind
        names = cases if case else lessons
        there = [name[:2] for name in names if int(name[:2]) == int(numbered[2])]
        if not there:
            missing = f"case {numbered[2]} in the clinic" if case else f"lesson {numbered[2]}"
            head = f"make {goal}: there is no {missing}. There are:"
            return [head, *(f"    {name}" for name in names)]
        near = [kind + there[0]]
    nearest = f" Nearest: make {', make '.join(near)}." if near else ""
    return [
        f"make {goal}: there is no such command or file.{nearest}",
        "make help lists the commands, and make list the lessons.",
    ]


def variables(names, known):
    for name in names.split():
        near = get_close_matches(name.upper(), known.split(), n=2, cutoff=0.7)
        if near and name not in known.split():
            print(f"{name}= is not a word that make knows here. Nearest: {', '.join(near)}")
            break


def goal(name, lessons, cases):
    sys.exit("\n".join(answer(name, lessons.split(), cases.split())))


if __name__ == "__main__":
    call({"goal": goal, "variables": variables}, sys.argv[1:])
