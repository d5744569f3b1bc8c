"""The notes about one driver, and the recordings that they show.

    .. recorded:: one-gpu.txt
       :start-at: threshold 50331648
        lines of simulator/tests/facts/one-gpu.txt as a small table, with sizes in MiB, and a link
        to the place in the file. More than SMALL lines are shown as they are, in a fold. The
        options are those of literalinclude.
    .. recorded:: probe-misuse.txt free_twice
       :lines: 2, 4-6
        these lines from "== free_twice" on; without the option, all up to the next case
    .. documented:: only a trim gets it back
        below the note's title: what the documentation states about its subject, if it does
    .. collected:: notes
        every note of docs/notes: its title, what is documented, the lessons that refer to it

Nothing is typed by hand that a recording has: the table is made from its lines.
"""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.directives.code import LiteralInclude, LiteralIncludeReader
from sphinx.util import parselinenos
from sphinx.util.docutils import SphinxDirective

from .page import BookDirective, list_table, row, table
from .runs import ROOT
from .sources import file_reference

FACTS = "simulator/tests/facts"
SMALL = 10
MIB = 1 << 20
NOTHING = re.compile(r"\s*(\[\w+\] )?end|rc 0")  # a process that ended as it should
# Between what the program did and what was returned or measured: the first of these that is there.
GAP = re.compile(r"\s{2,}")
# A gap comes first before numbered figures; one space alone must do where a line fills its column.
BETWEEN = (
    re.compile(r"\s*->\s*"),
    re.compile(r"\s{2,}(?=1: \S+ 2: )"),
    re.compile(r":\s+"),
    GAP,
    re.compile(r" (?=(?:used|reserved) \d+ high )"),
    re.compile(r" (?=cuda(?:Success|Error\w+)$)"),
)
SPEAKER = re.compile(r"(\[\w+\]|importer|exporter)\s{2,}")
FIGURE = re.compile(r"\s*(?P<name>[a-z][a-z ]*?) (?P<value>\d+)\b[,;]?")
NOTE = re.compile(
    r"^\.\. _(?P<label>note-[a-z-]+):\n\n(?P<title>.+)\n-+\n"
    r"(?:\n\.\. documented::(?P<stated>.*(?:\n   .*)*))?",
    re.M,
)


def in_mib(text):
    """Sizes of a MiB and more, which a recording has in bytes."""

    def shown(match):
        value = int(match[0].removesuffix(" bytes"))
        if value == 2**64 - 1:
            return "the maximum"
        if value < MIB:
            return match[0]
        whole, more = divmod(value, MIB)
        if more > MIB // 2:
            whole, more = whole + 1, more - MIB
        return f"{whole:,} MiB" + (f" {'+' if more > 0 else '-'} {abs(more):,}" if more else "")

    return re.sub(r"(?<![\w.])\d{7,}(?![\w.])( bytes\b)?", shown, text)


def figures(result):
    """[(name, value)] of what consists of such pairs alone, else nothing.

    "reserved 32 used 1 | after a 2nd: reserved 64" has three; "stream sync: 32" is one as well.
    """
    found = []
    for part in result.split(" | "):
        label, _, pairs = part.rpartition(": ")
        if pairs.strip().isdigit() and label:
            found.append((label, pairs.strip()))
            continue
        if not pairs or FIGURE.sub("", pairs).strip():
            return []
        found += [
            (f"{label}: {m['name']}" if label else m["name"], m["value"])
            for m in FIGURE.finditer(pairs)
        ]
    return found


def join(result):
    """Columns in one: a word and its number stay together."""
    return GAP.sub(", ", re.sub(r"(?<=[a-z])\s{2,}(?=\d)", " ", result))


def split_line(line):
    line = line.strip()
    if speaker := SPEAKER.match(line):
        did, result = split_line(line[speaker.end() :])
        return (f"{speaker[1]} {did}", result) if result else (speaker[1], did)
    for between in BETWEEN:
        found = list(between.finditer(line))
        if found:
            result = line[found[0].end() :]
            return line[: found[0].start()], join(result) if between is GAP else result
    return line, ""


def rows_of(lines):
    """A head and rows: a column for each figure where all lines have the same, else two."""
    split = [split_line(line) for line in lines]
    found = [figures(result) for _, result in split]
    names = [name for name, _ in found[0]]
    if all([name for name, _ in each] == names for each in found) and len(names) in range(1, 8):
        head = ["the program", *names]
        return head, [[did, *(v for _, v in each)] for (did, _), each in zip(split, found)]
    return ["the program", "returned or measured"], [list(pair) for pair in split]


def is_case(line):
    return line.startswith(("== ", "## "))


def small(lines):
    """The lines that a table shows, or [] where they are too many: a process of the program begins
    with "== its name", which is shown where there are several, as is "## " and a heading."""
    lines = [line for line in lines if not NOTHING.fullmatch(line)]
    if sum(map(is_case, lines)) < 2:
        lines = [line for line in lines if not is_case(line)]
    return lines if len(lines) <= SMALL + sum(map(is_case, lines)) else []


def table_of(lines):
    head, rows = rows_of([line for line in lines if not is_case(line)])
    rows = map(row, ([in_mib(text) for text in cells] for cells in rows))

    def case(line):
        name = nodes.paragraph(text=in_mib(line[3:]))
        return nodes.row("", nodes.entry("", name, morecols=len(head) - 1), classes=["case"])

    shown = (case(line) if is_case(line) else next(rows) for line in lines)
    return table([in_mib(text) for text in head], shown, classes=["recorded"])


class Recording(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {
        name: LiteralInclude.option_spec[name]
        for name in ("start-at", "start-after", "end-at", "end-before", "lines")
    }

    def run(self):
        name, *case = self.arguments[0].split()
        file = ROOT / FACTS / name
        try:
            if case:
                self.choose(file.read_text(encoding="utf-8").splitlines(), f"== {case[0]}")
            reader = LiteralIncludeReader(str(file), dict(self.options), self.config)
            text, _ = reader.read()
        except (OSError, ValueError) as why:
            raise self.error(f"{FACTS}/{name}: {why}") from why
        lines = [line for line in text.splitlines() if line.strip()]
        few = small(lines)
        many = sum(not is_case(line) for line in few) or len(lines)
        count = f"{many} line{'' if many == 1 else 's'} of "
        if few:
            source = nodes.paragraph(classes=["recorded"])
            source += nodes.Text(count)
            source += file_reference(f"{FACTS}/{name}", name, self.first_line(file))
            return [table_of(few), source]
        fold = (
            f'<details class="recorded"><summary>{count}{name}</summary>'
            f"<pre>{escape(text.rstrip())}</pre></details>"
        )
        return [nodes.raw("", fold, format="html")]

    def choose(self, lines, heading):
        """Gives the options that choose the case with this heading."""
        self.options["start-at"] = heading
        later = [line for line in lines[lines.index(heading) + 1 :] if line.startswith("== ")]
        if later and "lines" not in self.options:
            self.options["end-before"] = later[0]

    def first_line(self, file):
        """The number of the first line that is shown."""
        options = dict(self.options)
        first = parselinenos(options.pop("lines", "1"), 1 << 20)[0]
        reader = LiteralIncludeReader(str(file), {**options, "lineno-match": None}, self.config)
        reader.read()
        return reader.lineno_start + first


class Documented(BookDirective):
    required_arguments = 0
    has_content = True

    def run(self):
        return self.lines([".. rst-class:: mark", "", f"*Documented:* {' '.join(self.content)}."])


class NotesSummary(BookDirective):
    required_arguments = 0

    def run(self):
        folder = ROOT / "docs"
        mentions = {}
        for page in sorted(folder.glob("[0-9][0-9]_*.rst")):
            for label in set(re.findall(r"\bnote-[a-z-]+", page.read_text(encoding="utf-8"))):
                mentions.setdefault(label, []).append(page.stem)
        found = []
        toctree = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        for name in re.findall(r"^   .*<(notes/\w+)>$", toctree, re.M):
            page = folder / f"{name}.rst"
            text = page.read_text(encoding="utf-8")
            found += [
                f".. rubric:: {text.splitlines()[0].removeprefix('Driver notes: ').capitalize()}",
                "",
                *self.table(text, mentions),
            ]
        return self.lines(found)

    def table(self, text, mentions):
        rows = []
        for note in NOTE.finditer(text):
            lessons = (f":doc:`{page[:2]} <{page}>`" for page in mentions.get(note["label"], []))
            stated = " ".join((note["stated"] or "").split())
            rows.append((f":ref:`{note['label']}`", stated, ", ".join(lessons)))
        return list_table(("the driver", "the documentation", "lessons"), "50 32 18", rows)
