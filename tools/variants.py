"""The variants of a program: what a student begins with, mistakes, and other right answers.

Each room, tests/lessons/NN_name or tests/lessons/clinic/NN_name, has one file of them,
variants.txt. It says how a variant differs from one program: solutions/NN_name.c of a lesson, or
docs/clinic/NN_name_wrong.c of a case.

    == mutant threshold_in_mib: Gives the thresholds in MiB.
    misses bytes: thresholds 0, 48, 64, 256, 64 and 160 MiB, in bytes
    ~ pool_set(pool, cudaMemPoolAttrReleaseThreshold, threshold[- * MiB-]);

Behind "== " stands the kind of the variant and, of mutants and styles, a name, a colon, and a
sentence. Behind the name may stand " of NAME" or " of starter": then it differs from that variant,
which stands above it, and not from the program. The kinds are:

    starter   a lesson's file, lessons/NN_name.c, as it is delivered
    repair    the book's repair of a case
    mutant    a mistake that students make. It must miss the rule that its line "misses" names
              (test_bytes of the room's check.py), which must say the words behind that, and no
              other; what is several mistakes names several, as in "misses bytes phase: WORDS"
    style     a right answer that its author would not have written; it must meet every rule

Then come its edits. An edit is a few lines of the program, of which those with "-" go and those
with "+" come; the others begin with two blanks, or are empty. In a line with "~" a part changes: as
in "git diff --word-diff", what stands in [-...-] goes, and what stands in {+...+} comes. The lines
that are not new must stand in the program exactly once, in this order. Behind new lines another
edit begins, if the line there does not stand next in the program; elsewhere a line "--" separates
two edits. A line "-..." stands for all lines that go from the line above it to the next place of
the lines below it.

    variants.py make FILE...              writes build/{mutants,styles}/NN_name/NAME.c,
                                          build/starters/NN_name.c or build/repairs/NN_name.c
    variants.py names ROOM [KIND]         prints the names of a room's mutants, or of that kind
    variants.py starters [ROOM...]        writes the starters again, after lessons/*.c
    variants.py new ROOM KIND NAME [FILE] writes a variant, which is FILE, with what the room's
                                          check says of it, and prints it. Without FILE, it is the
                                          room's program, as it was edited since the last commit.
                                          ABOUT in the environment is the sentence about it

Exit status: 0, or 1 with a sentence.
"""

import difflib
import json
import os
import re
import subprocess
import sys
import textwrap
from contextlib import suppress
from functools import cache
from itertools import chain, groupby, takewhile
from os.path import commonprefix
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ROOT / "tests/lessons"
KINDS = ("starter", "repair", "mutant", "style")
UNNAMED = ("starter", "repair")
PART = re.compile(r"\[-(.*?)-\]|\{\+(.*?)\+\}")
EDIT = re.compile(rf"[-+]( |$)|  |--$|-\.\.\.$|~ .*?({PART.pattern})")
REST = "-..."
LONG = 6  # an edit of so many lines in a row leaves out some
FUNCTION = re.compile(r"\w.*\)$")
BUILT = re.compile(r"build/(\w+)s/((?:clinic/)?\w+)(?:/(\w+))?\.c")


class Wrong(SystemExit):
    """A variant that cannot be used; the text names it and says why."""


class Variant(NamedTuple):
    room: str  # NN_name or clinic/NN_name
    kind: str
    name: str  # a starter and a repair have none
    of: str  # the name or the kind of the variant from which it differs; "": from the program
    about: str  # a sentence, except for a starter and a repair
    misses: str  # the rule and, in says, its words; only a mutant has them
    says: str
    edits: list  # of (number of its first line in variants.txt, [(sign, line)])

    def where(self, line=None):
        place = f"{file_of(self.room)}:{line}" if line else file_of(self.room)
        return f"{place}: {self.kind} {self.name}".rstrip()


def file_of(room):
    return f"tests/lessons/{room}/variants.txt"


def program_of(room):
    """The file from which the variants of a room differ."""
    case = room.startswith("clinic/")
    return f"docs/{room}_wrong.c" if case else f"solutions/{room}.c"


def text_of(file):
    return (ROOT / file).read_text(encoding="utf-8")


def lines_of(text):
    return text.removesuffix("\n").split("\n")


# ---- reading ----


@cache
def variants(room):
    """The variants of a room, in their order."""
    found = []
    for number, heading, lines in parts_of_file(file_of(room)):
        variant = variant_of(room, number, heading, lines)
        if any((variant.kind, variant.name) == (each.kind, each.name) for each in found):
            raise Wrong(f"{variant.where(number)} stands here for the second time.")
        found.append(variant)
    return found


def parts_of_file(file):
    """(number, heading, [(number, line)]) of each part of a file, which "== KIND NAME" begins."""
    if not (ROOT / file).exists():
        raise Wrong(f"{file} does not exist.")
    parts = []
    for number, line in enumerate(lines_of(text_of(file)), 1):
        if line.startswith("== "):
            parts.append((number, line, []))
        elif parts:
            parts[-1][2].append((number, line))
        elif line and not line.startswith("#"):
            raise Wrong(f'{file}:{number}: expected "#" or "== KIND NAME", got "{line}".')
    return parts


def variant_of(room, number, heading, lines):
    heads = re.fullmatch(r"== (\w+)(?: (?!of )(\w+))?(?: of (\w+))?(?::(.*))?", heading)
    kind, name, of, about = heads.groups("") if heads else ("", "", "", "")
    if kind not in KINDS or bool(name) == (kind in UNNAMED):
        raise Wrong(
            f'{file_of(room)}:{number}: expected "== starter", "== repair", "== mutant NAME: '
            f'SENTENCE" or "== style NAME: SENTENCE", got "{heading}".'
        )
    begin = next((at for at, (_, line) in enumerate(lines) if EDIT.match(line)), len(lines))
    head = [about.strip(), *(line for _, line in lines[:begin] if line)]
    misses, says = "", ""
    if missed := re.fullmatch(r"misses ([\w ]+): (.+)", head[-1]):
        misses, says = missed.groups()
        head.pop()
    edits = edits_in(lines[begin:], file_of(room))
    variant = Variant(room, kind, name, of, " ".join(head), misses, says, edits)
    if not variant.edits:
        raise Wrong(f'{variant.where(number)} changes nothing: no line begins with "- " or "+ ".')
    return variant


def edits_in(numbered, file):
    """(number of the first line, [(sign, line)]) of each edit. Empty lines at its end separate it
    from what follows."""
    while numbered and not numbered[-1][1]:
        numbered = numbered[:-1]
    for number, line in numbered:
        if line and not EDIT.match(line):
            raise Wrong(
                f'{file}:{number}: expected a line that begins with "- ", "+ " or two blanks, or '
                f'with "~ " and has "[-OLD-]" or "{{+NEW+}}", got "{line}".'
            )
    groups = groupby(numbered, key=lambda each: each[1] == "--")
    edits = [list(group) for separates, group in groups if not separates]
    return [
        (edit[0][0], [each for _, line in edit for each in signed_lines(line)]) for edit in edits
    ]


def signed_lines(line):
    """(sign, line) of each line of a program for which a line of an edit stands."""
    if line == REST:
        return [(REST, "")]
    if line.startswith("~"):
        return [(sign, PART.sub(rf"\{i}", line[2:])) for i, sign in enumerate("-+", 1)]
    return [(line[:1] or " ", line[2:])]


def variant(file):
    """The variant that build/mutants/NN_name/NAME.c and the like are made of."""
    room, kind, name = parts_of(file)
    found = variants(room)
    for each in found:
        if (each.kind, each.name) == (kind, name):
            return each
    names = " ".join(each.name for each in found if each.kind == kind)
    missing = f"{file_of(room)} has no {f'{kind} {name}'.rstrip()}."
    others = textwrap.fill(f"The {kind}s of {room} are: {names}", 100) if name else ""
    raise Wrong(f"{missing}\n{others}".rstrip())


def parts_of(file):
    """(room, kind, name) of build/mutants/NN_name/NAME.c and the like."""
    built = BUILT.fullmatch(file)
    if not built or built[1] not in KINDS or bool(built[3]) == (built[1] in UNNAMED):
        raise Wrong(f"{file} is no file of a variant, such as build/mutants/NN_name/NAME.c.")
    room = f"clinic/{built[2]}" if built[1] == "repair" else built[2]
    return room, built[1], built[3] or ""


def sources_of(file):
    """The files of which that file is made."""
    room, *_ = parts_of(file)
    return [file_of(room), program_of(room)]


# ---- applying ----


def source(variant):
    """The program that the variant is."""
    program = program_of(variant.room)
    if not variant.of:
        return applied(variant.edits, text_of(program), program, variant.where)
    for above in takewhile(lambda each: each != variant, variants(variant.room)):
        if variant.of == (above.name or above.kind):
            return applied(variant.edits, source(above), variant.of, variant.where)
    raise Wrong(f"{variant.where()}: above it there is no {variant.of}.")


def applied(edits, text, program, where):
    """A program's text after the edits. where(number) names one of them in a sentence."""
    lines, gone, new = lines_of(text), set(), {}
    for number, edit in chain(*(separated(*edit, lines) for edit in edits)):
        edit = whole(edit, lines, program, where(number))
        at, added = place_of(edit, lines, program, where(number)), {}
        for sign, line in edit:
            if sign == "+":
                added.setdefault(at, []).append(line)
                continue
            if sign == "-" and at in gone:
                raise Wrong(f"{where(number)}: another edit changes this line, too: {line}")
            if sign == "-":
                gone.add(at)
            at += 1
        if shared := new.keys() & added.keys():
            line = added[min(shared)][0]
            raise Wrong(f"{where(number)}: another edit adds lines here, too: {line}")
        new |= added
    changed = []
    for at, line in enumerate([*lines, None]):
        changed += new.get(at, [])
        if line is not None and at not in gone:
            changed.append(line)
    return "\n".join(changed) + "\n"


def separated(number, edit, lines):
    """(number of the first line, [(sign, line)]) of each edit that stands here, one below the new
    lines of the other."""
    begin = 0
    for at in range(1, len(edit)):
        if edit[at - 1][0] == "+" and edit[at][0] != "+":
            end = next((i for i in range(at, len(edit)) if edit[i][0] == "+"), len(edit))
            if not stands(edit[begin:end], lines):
                yield number + begin, edit[begin:at]
                begin = at
    yield number + begin, edit[begin:]


def stands(edit, lines):
    """Do the lines of an edit that are not new stand in the program exactly once?"""
    with suppress(Wrong):
        place_of(whole(edit, lines, "", ""), lines, "", "")
        return True
    return False


def place_of(edit, lines, program, where):
    """Where the lines of an edit that are not new stand, as an index of lines."""
    old = [line for sign, line in edit if sign != "+"]
    if all(sign == " " for sign, _ in edit):
        raise Wrong(f'{where}: this edit has no line with "-" or "+".')
    if not old:
        raise Wrong(
            f"{where}: this edit has new lines alone. Above or below them it needs "
            f"a line of {program}, with two blanks in front."
        )
    places = places_of(old, lines)
    if len(places) != 1:
        found = "nowhere"
        if places:
            found = "at lines " + " and ".join(str(place + 1) for place in places)
        shown = "\n".join(f"    {line}" for line in old)
        raise Wrong(
            f"{where}: in {program} these lines of the edit stand {found}, and "
            f"must stand exactly once:\n{shown}"
        )
    return places[0]


def whole(edit, lines, program, where):
    """The edit with the lines for which each "-..." stands."""
    while (REST, "") in edit:
        at = edit.index((REST, ""))
        above = [line for sign, line in edit[:at] if sign != "+"]
        below = takewhile(lambda it: it[0] != REST, edit[at + 1 :])
        below = [line for sign, line in below if sign != "+"]
        first = place_of(edit[:at], lines, program, where) + len(above)
        end = next((place for place in places_of(below, lines) if place >= first), None)
        if not below or end is None:
            raise Wrong(f'{where}: below "-..." no line of {program} follows.')
        edit = [*edit[:at], *(("-", line) for line in lines[first:end]), *edit[at + 1 :]]
    return edit


def shortened(edit, lines):
    """The edit with "-..." in each long run of lines that go. Its first line stays, with those
    below it that make it unique, and so do its last one and the heads of functions."""
    for at in reversed(range(len(edit))):
        run = list(takewhile(lambda it: it[0] == "-", edit[at:]))
        if len(run) < LONG or (at > 0 and edit[at - 1][0] == "-"):
            continue
        last = len(run) - 1 - (not run[-1][1])
        for begin in range(1, LONG - 2):
            short = []
            for place, (sign, line) in enumerate(run):
                if place < begin or place >= last or FUNCTION.match(line):
                    short.append((sign, line))
                elif short[-1] != (REST, ""):
                    short.append((REST, ""))
            short = [*edit[:at], *short, *edit[at + len(run) :]]
            with suppress(Wrong):
                if whole(short, lines, "", "") == whole(edit, lines, "", ""):
                    edit = short
                    break
    return edit


def places_of(some, lines):
    return [at for at in range(len(lines) - len(some) + 1) if lines[at : at + len(some)] == some]


# ---- writing ----


def edits_between(before, after):
    """The lines of variants.txt that make one text of the other. Each edit has as many unchanged
    lines as make it unique."""
    old, new = lines_of(before), lines_of(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    changes = [change[1:] for change in matcher.get_opcodes() if change[0] != "equal"]
    edits = []
    for low, high in merged(widened(old, first, end) for first, end, *_ in changes):
        lines, at = [], low
        for first, end, begin, stop in changes:
            if low <= first and end <= high:
                lines += signed(" ", old[at:first])
                lines += signed("-", old[first:end]) + signed("+", new[begin:stop])
                at = end
        lines += signed(" ", old[at:high])
        lines = rendered(joined(shortened([signed_lines(line)[0] for line in lines], old)))
        # An empty line is read as a part of the edit only between two others.
        for edge in (0, -1):
            if not lines[edge]:
                lines[edge] = "-\n+"
        needs = edits and (edits[-1][0] not in "+~" or lines[0][0] == "+")
        edits += ["--", *lines] if needs else lines
    return "\n".join(edits) + "\n"


def joined(edit):
    """The edit with "~" for a line that goes and the one that comes in its place, where as many
    come as go and most of the line stays."""
    found = []
    for sign, group in groupby(edit, key=lambda each: each[0]):
        lines, above = list(group), len(found)
        while sign == "+" and above and found[above - 1][0] == "-":
            above -= 1
        if sign == "+" and len(found) - above == len(lines):
            pairs = [(old[1], new[1]) for old, new in zip(found[above:], lines)]
            lines = []
            for in_one, some in groupby(pairs, key=lambda pair: bool(in_one_line(*pair))):
                olds, news = zip(*some)
                if in_one:
                    lines += [("~", in_one_line(*pair)) for pair in zip(olds, news)]
                else:
                    lines += [("-", old) for old in olds] + [("+", new) for new in news]
            del found[above:]
        found += lines
    return found


def in_one_line(old, new):
    """The line that says both, with "[-...-]" and "{+...+}"; "" where less than half stays."""
    words = [re.findall(r"\w+|\W", text) for text in (old, new)]
    begin = len(commonprefix(words))
    ends = [each[begin:][::-1] for each in words]
    end = len(commonprefix(ends))
    gone, come = ("".join(each[begin : len(each) - end]) for each in words)
    head, tail = "".join(words[0][:begin]), "".join(ends[0][:end][::-1])
    line = head + f"[-{gone}-]" * bool(gone) + f"{{+{come}+}}" * bool(come) + tail
    if signed_lines(f"~ {line}") != [("-", old), ("+", new)] or len(line) > 98:
        return ""
    return line if len((head + tail).strip()) >= max(len(gone), len(come)) else ""


def widened(lines, first, end):
    """(first, end) of lines around these that stand once, of which the first and the last are not
    empty, where the program has others."""
    low, high = first, end
    while low > 0 or high < len(lines):
        if 0 < low < first and not lines[low]:
            low -= 1
        elif end < high < len(lines) and not lines[high - 1]:
            high += 1
        elif low < high and len(places_of(lines[low:high], lines)) == 1:
            break
        elif low == 0 or (high - end < first - low and high < len(lines)):
            high += 1
        else:
            low -= 1
    return low, high


def merged(regions):
    """Regions that overlap or meet become one."""
    found = []
    for low, high in sorted(regions):
        if found and low <= found[-1][1]:
            low, high = found[-1][0], max(high, found.pop()[1])
        found.append((low, high))
    return found


def rendered(edit):
    return [f"{sign} {line}" if line else sign.strip() for sign, line in edit]


def signed(sign, lines):
    return rendered((sign, line) for line in lines)


def replace(file, text):
    """Writes a file as a whole, or leaves the old one."""
    file = ROOT / file
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(file)
    except OSError as why:
        new.unlink(missing_ok=True)
        raise Wrong(f"{file} cannot be written: {why.strerror}.") from why


# ---- commands ----


def starters(*rooms):
    """Writes the edits of each starter again, after the lesson's file."""
    for room in rooms or sorted(path.name for path in ROOMS.glob("[0-9][0-9]_*")):
        if not (ROOT / program_of(room)).exists():
            raise Wrong(f"{program_of(room)} does not exist, so {room} has no starter.")
        text = text_of(file_of(room)) if (ROOT / file_of(room)).exists() else ""
        edits = edits_between(text_of(program_of(room)), text_of(f"lessons/{room}.c"))
        new = with_starter(text or heading(room), edits)
        if new != text:
            replace(file_of(room), new)


def heading(room):
    program = program_of(room)
    return f"# How variants differ from {program}: tools/variants.py explains the form.\n\n"


def with_starter(text, edits):
    """The text of variants.txt with these edits of the starter."""
    head, *parts = re.split(r"^(?=== )", text, flags=re.M)
    parts = [part for part in parts if not part.startswith("== starter\n")]
    return "".join([head, f"== starter\n{edits}" + "\n" * bool(parts), *parts])


def room_of(word):
    """The room that is meant by 06, 6, 06_trim or, of a case, clinic-03 and the like."""
    given = re.fullmatch(r"(clinic[-/])?(\d+)(_\w+)?", word)
    rooms = ROOMS / "clinic" if given and given[1] else ROOMS
    name = f"{int(given[2]):02}{given[3] or '_*'}" if given else ""
    found = [path.relative_to(ROOMS).as_posix() for path in rooms.glob(name)] if name else []
    if not found:
        missing = f"LESSON={word}: there is no such lesson or case" if word else "LESSON is missing"
        raise Wrong(f"{missing}. Give the number of a lesson, as 06, or of a case, as clinic-03.")
    return found[0]


def new(word, kind, name, file=""):
    """Adds a variant to a room, with what its check says of the file."""
    room = room_of(word)
    if kind not in ("mutant", "style") or not re.fullmatch(r"\w+", name):
        raise Wrong(
            "make mutant LESSON=06 NAME=my_mistake FILE=mine.c: a name has letters, digits and _, "
            f"and KIND is mutant or style. Given were NAME={name} and KIND={kind}."
        )
    if any((each.kind, each.name) == (kind, name) for each in variants(room)):
        raise Wrong(f"{file_of(room)} already has a {kind} {name}.")
    program, file = program_of(room), file or program_of(room)
    before, after = text_of(program), text_of(file)
    if file == program:
        before = committed(program)
    if before == after:
        raise Wrong(
            f"{program} has no change: put the mistake into a copy of it, and name it: FILE=mine.c"
            if file == program
            else f"{file} is the same as {program}: put the mistake into it."
        )
    if difflib.SequenceMatcher(None, before.split("\n"), after.split("\n")).ratio() < 0.5:
        raise Wrong(f"FILE={file} has less than half of {program}: take a copy of that file.")
    lines = textwrap.wrap(f"== {kind} {name}: {asked(kind)}", 100, break_on_hyphens=False)
    missed = first_miss(room, file)
    if missed and kind == "mutant":
        words = missed["lines"][-1].removeprefix("Happened: ").removeprefix("Expected: ")
        lines.append(f"misses {missed['rule'].removeprefix('test_')}: {words}")
    elif missed:
        miss = "\n".join([missed["name"], *missed["lines"]])
        raise Wrong(f"{file} is no style, which meets every rule of {room}. It misses: {miss}")
    elif kind == "mutant":
        raise Wrong(
            f"{file} meets every rule of {room}, so no variant was written. Is it a mistake? Then "
            "the check needs a rule for it. Is it a right answer? Then give KIND=style, too."
        )
    added = "\n".join([*lines, edits_between(before, after)])
    replace(file_of(room), f"{text_of(file_of(room)).rstrip()}\n\n{added}")
    print(f"{file_of(room)} ends with this now:\n\n{added}")
    if lines[0].endswith(":"):
        print(f'Write a sentence about it after "{lines[0]}".')
    if missed:
        print("Of what the rule says a few words are enough: those that fit this mistake alone.")
    if file == program:
        print(f"{program} still has the change: git checkout {program}")


def committed(program):
    done = subprocess.run(
        ["git", "show", f"HEAD:./{program}"], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise Wrong(f"Git does not know {program} as it was; give FILE=COPY.c: {done.stderr}")
    return done.stdout


def asked(kind):
    """A sentence about the variant, if somebody gives one."""
    about = os.environ.get("ABOUT", "")
    if not about and sys.stdin.isatty():
        about = input("What does it get wrong? " if kind == "mutant" else "What is its style? ")
    return " ".join(about.split())


def first_miss(room, file):
    """The first rule that a file misses, as judge.py prints it, or None."""
    done = subprocess.run(
        [sys.executable, "-SB", "tests/grading/judge.py", room, file, "--form=json"],
        cwd=ROOT,
        env={"SEED": "1", **os.environ, "CHECK_FOLDER": f"build/check/new/{room}"},
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1):
        raise Wrong(done.stdout + done.stderr)
    found = json.loads(done.stdout)
    missed = next((rule for rule in found["rules"] if rule["result"] == "failed"), None)
    if found["status"] != "graded":
        raise Wrong("\n".join(missed["lines"]))
    return missed


def make(first, *others):
    for file in first, *others:
        replace(file, source(variant(file)))


def names(room, kind="mutant"):
    if kind not in KINDS:
        raise Wrong(f"There is no kind {kind}. The kinds are: {' '.join(KINDS)}")
    for each in variants(room):
        if each.kind == kind:
            print(each.name)


if __name__ == "__main__":
    from usage import call  # others import this file from another folder

    try:
        call({"make": make, "names": names, "starters": starters, "new": new}, sys.argv[1:])
    except UnicodeError as why:
        sys.exit(f"A file of C must be UTF-8 text: {why}")
