"""The notes about one driver, and the recordings that they show.

    .. recording:: one-gpu.txt
       :start-at: threshold 50331648
        lines of tests/hardware/facts/one-gpu.txt: a small table, with sizes in MiB, and the lines
        themselves folded below it. The options are those of literalinclude. More than SMALL lines
        are shown folded only.
    .. documented:: names only a trim
        what the documentation states about the note's subject: two to ten words, or nothing
    .. notes-summary::
        every note of docs/notes: its title, what is documented, the lessons that refer to it

Nothing is typed by hand that a recording has: the table is made from its lines.
"""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.directives.code import LiteralInclude, LiteralIncludeReader
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[3]
FACTS = "tests/hardware/facts"
SMALL = 10
MIB = 1 << 20
# Between what the program did and what was returned or measured: the first of these that is there.
GAP = re.compile(r"\s{2,}")  # the last one of a line
BETWEEN = (re.compile(r"\s*->\s*"), re.compile(r":\s+"), GAP)
FIGURE = re.compile(r"\s*(?P<name>[a-z][a-z ]*?) (?P<value>\d+)\b[,;]?")
NOTE = re.compile(
    r"^\.\. _(?P<label>note-[a-z-]+):\n\n(?P<title>.+)\n-+\n(?:\n\.\. documented::(?P<stated>.*))?",
    re.M,
)


def in_mib(text):
    """Sizes of a MiB and more, which a recording has in bytes."""

    def shown(match):
        value = int(match[0])
        if value == 2**64 - 1:
            return "the maximum"
        if value < MIB:
            return match[0]
        whole, more = divmod(value, MIB)
        if more > MIB // 2:
            whole, more = whole + 1, more - MIB
        return f"{whole:,} MiB" + (f" {'+' if more > 0 else '-'} {abs(more):,}" if more else "")

    return re.sub(r"(?<![\w.])\d{7,}(?![\w.])", shown, text)


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


def split_line(line):
    line = line.strip()
    for between in BETWEEN:
        found = list(between.finditer(line))
        if found:
            place = found[-1] if between is GAP else found[0]
            return line[: place.start()], line[place.end() :]
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


def cell(text):
    return nodes.entry("", nodes.paragraph(text=in_mib(text)))


def table(lines):
    head, rows = rows_of(lines)
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    group += nodes.thead("", nodes.row("", *map(cell, head)))
    group += nodes.tbody("", *(nodes.row("", *map(cell, row)) for row in rows))
    return nodes.table("", group, classes=["recorded"])


class Recording(SphinxDirective):
    required_arguments = 1
    option_spec = {
        name: LiteralInclude.option_spec[name]
        for name in ("start-at", "start-after", "end-at", "end-before", "lines")
    }

    def run(self):
        name = self.arguments[0]
        file = ROOT / FACTS / name
        self.env.note_dependency(str(file))
        try:
            reader = LiteralIncludeReader(str(file), dict(self.options), self.config)
            text, _ = reader.read()
        except (OSError, ValueError) as why:
            raise self.error(f"{FACTS}/{name}: {why}") from why
        lines = [line for line in text.splitlines() if line.strip()]
        found = [table(lines)] if len(lines) <= SMALL else []
        where = f"{len(lines)} line{'' if len(lines) == 1 else 's'} of {name}"
        fold = (
            f'<details class="recorded"><summary>As recorded: {where}</summary>'
            f"<pre>{escape(text.rstrip())}</pre></details>"
        )
        return [*found, nodes.raw("", fold, format="html")]


class Documented(SphinxDirective):
    """Shows nothing: the summary reads it."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        return []


class NotesSummary(SphinxDirective):
    def run(self):
        folder = ROOT / "docs"
        mentions = {}
        for page in sorted(folder.glob("[0-9][0-9]_*.rst")):
            self.env.note_dependency(str(page))
            for label in set(re.findall(r"\bnote-[a-z-]+", page.read_text(encoding="utf-8"))):
                mentions.setdefault(label, []).append(page.stem)
        found = []
        for name in re.findall(r"^   .*<(notes/\w+)>$", self.content_of_toctree(), re.M):
            page = folder / f"{name}.rst"
            self.env.note_dependency(str(page))
            text = page.read_text(encoding="utf-8")
            found += [
                f".. rubric:: {text.splitlines()[0].removeprefix('Driver notes: ').capitalize()}",
                "",
                *self.table(text, mentions),
            ]
        return self.parse_text_to_nodes("\n".join(found))

    def content_of_toctree(self):
        return Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")

    def table(self, text, mentions):
        lines = [".. list-table::", "   :header-rows: 1", "   :widths: 50 32 18", ""]
        lines += ["   * - the driver", "     - the documentation", "     - lessons"]
        for note in NOTE.finditer(text):
            if note["stated"] is None:
                raise self.error(f'{note["label"]}: its title is not followed by "documented::"')
            lessons = (f":doc:`{page[:2]} <{page}>`" for page in mentions.get(note["label"], []))
            lines += [
                f"   * - :ref:`{note['label']}`",
                f"     - {note['stated'].strip()}",
                f"     - {', '.join(lessons)}",
            ]
        return [*lines, ""]


def setup(app):
    app.add_directive("recording", Recording)
    app.add_directive("documented", Documented)
    app.add_directive("notes-summary", NotesSummary)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
