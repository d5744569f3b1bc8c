"""The book's tables.

.. rows:: 30 70
   :head: variable | what it sets
   :class: cards

   ``SIM_PEERS`` | whether each device can access the memory of all others, of none, or of those
      with lower numbers
    a table with these widths. A row is a line, with bars between its cells, and may go on in
    indented lines. The heads and the class may be absent
.. collected:: done-when
    how a reader of a lesson's page knows that the exercise is done, from its manifest
.. collected:: lessons course
    every lesson, from its manifest: course is the table of the first page, work that of
    teachers, truths a sentence for each
.. collected:: rules One stream
    the rules of the lessons of that part, with their evidence, as the lessons' pages have them
.. collected:: calls pools
    the calls of that group of docs/calls.txt: what was recorded of each, and its lessons
.. collected:: index
    every CUDA call, and the pages that show it
.. collected:: hazards
    the kinds of hazards, as simulator/base/hazards.def has them: their names, and what to do in
    general
.. collected:: entries
    the entries of the page, which have labels: a card for each section

How long a page takes: a lesson as its manifest says, another page as its own first lines state:
"About 25 minutes", "About three hours".

:minutes:`04_release_threshold`
    "25 min", or "3 hours"
:minutes:`01_first_allocation 02_default_pool`
    the sum of several; ``lessons`` stands for all of them
"""

import re
from itertools import groupby

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from . import calls, domain, manifest
from .page import BookDirective, list_table, row, table, texts
from .runs import ROOT, BookError, text_of


class Rows(BookDirective):
    has_content = True
    option_spec = texts("head", "class")

    def run(self):
        widths = self.arguments[0]
        lines = re.sub(r"\n +", " ", "\n".join(self.content)).splitlines()
        rows = [re.split(r" +\| +", line) for line in lines if line]
        head = " ".join(self.options.get("head", "").split())
        heads = head.split(" | ") if head else []
        for cells in filter(None, [heads, *rows]):
            if len(cells) != len(widths.split()):
                raise self.error(f"rows:: {widths}: a row has {len(cells)} cells: {cells[0]}")
        return self.lines(list_table(heads, widths, rows, self.options.get("class", "")))


class DoneWhen(BookDirective):
    required_arguments = 0

    def run(self):
        name = self.env.docname
        of, number = manifest.manifest(name), name[:2]
        rules = f"{of['rules']} rules"
        of_them = f"the delivered file meets {of['given']} of its {rules}" if of["given"] else ""
        words = f"**Done** when ``make check-{number}`` reports no MISS ({of_them or rules})."
        if number == "01":
            words = (
                f"{words} In each lesson ``make hint-NN`` prints the hints below one at a time, "
                "and ``make picture-NN`` draws the run of your file."
            )
        return self.lines([".. rst-class:: done-when", "", words])


class RulesOf(BookDirective):
    """What stands on the page of each lesson of a part from "The rule." to the end of the rule's
    evidence."""

    RULE = re.compile(
        r"^\*\*The rule\.\*\* (?P<rule>.*?\n)\n(?P<more>(?:(?!^---).)*?)"
        r"(?P<evidence>^\.\. evidence::\n(?:   [^\n]*\n)+)",
        re.M | re.S,
    )

    def run(self):
        part, lines = self.arguments[0], []
        for name in manifest.lessons():
            of = manifest.manifest(name)
            if of["part"] != part:
                continue
            page = f"docs/{name}.rst"
            found = self.RULE.search((ROOT / page).read_text(encoding="utf-8"))
            if not found:
                raise BookError(
                    f"{page} has no paragraph that begins with **The rule.**, or no evidence:: "
                    "below it, which says what is documented and what was measured."
                )
            lines += [f":doc:`{name}`", "", found["rule"], found["more"], found["evidence"], ""]
        if not lines:
            raise BookError(f"{self.env.docname}: no lesson's manifest has the part {part}.")
        # A page of another folder is named from the top.
        text = re.sub(r":doc:`([^`<]*<)?(?!/)(?=[\w/]+>?`)", r":doc:`\1/", "\n".join(lines))
        return self.lines(text.splitlines())


class Entries(BookDirective):
    required_arguments = 0
    HEADING = re.compile(r"^(?:\.\. _([\w-]+):\n\n)?(.+)\n(?:-{4,}|~{4,})$", re.M)

    def run(self):
        lines = [".. grid:: 1 2 3 3", "   :gutter: 4", "   :class-container: ways"]
        text = text_of(f"docs/{self.env.docname}.rst")
        for label, heading in self.HEADING.findall(text):
            if label:
                lines.append(f"      - :ref:`{label}`")
            else:
                lines += ["", f"   .. grid-item-card:: {heading}", ""]
        return self.lines(lines)


class LessonsTable(BookDirective):
    """The lessons, from their manifests. ``course`` is the table of the first page, part by part;
    ``work`` that of teachers; ``truths`` a sentence for each lesson."""

    def run(self):
        rows = {"course": self.course, "work": self.work, "truths": self.truths}
        return self.lines(list(rows[self.arguments[0]]()))

    def course(self):
        heads = ("lesson", "time", "level", "easily believed", "the question")
        for part, names in groupby(
            manifest.lessons(), lambda name: manifest.manifest(name)["part"]
        ):
            rows = []
            for name in names:
                of = manifest.manifest(name)
                times = (f":doc:`{name}`", f":minutes:`{name}`")
                rows.append([*times, of["level"], f'"{of["belief"]}"', of["question"]])
            yield from (f".. rubric:: {part}", "")
            yield from list_table(heads, "24 10 10 24 32", rows, "lessons cards")

    def work(self):
        rows = []
        for name in manifest.lessons():
            of = manifest.manifest(name)
            text = text_of(f"lessons/{name}.c")
            work = re.search(r"^ \* Task \(\w+\): (.*?)^ \* [A-Z]", text, re.M | re.S)
            if not work:
                raise self.error(
                    f"lessons/{name}.c: its heading says what the student does, after "
                    "Task (fill):, Task (fix): or Task (predict):"
                )
            words = " ".join(work[1].replace("\n *", " ").split()).replace("_", "\\_")
            rows.append((f":doc:`{name}`", of["kind"], words, of["rules"] - of["given"]))
        return list_table(("lesson", "kind", "the student's work", "points"), "27 10 53 10", rows)

    def truths(self):
        for name in manifest.lessons():
            yield f"- (:doc:`{name[:2]} <{name}>`) {manifest.manifest(name)['truth']}"


class CallTable(BookDirective):
    """A group of docs/calls.txt, with what was recorded of its calls."""

    def run(self):
        group = self.arguments[0]
        is_calls = group != "attributes"
        found = self.lines(calls.call_table(group) if is_calls else calls.attribute_table(group))
        domain.name_calls(self.env, "call" if is_calls else "attribute", found)
        return found


class CallIndex(BookDirective):
    """Every CUDA call, and the pages that show it."""

    required_arguments = 0

    def run(self):
        return self.lines(calls.call_index())


HAZARDS = "simulator/base/hazards.def"
HAZARD = re.compile(r'^HAZARD\(\w+, "([^"]*)",\s*"([^"]*)"\)$', re.M)


def hazard_kinds():
    """[(name, advice)] in the order of the list."""
    text = (ROOT / HAZARDS).read_text()
    found = HAZARD.findall(text)
    if len(found) != len(re.findall(r"^HAZARD\(", text, re.M)):
        raise ValueError(f"{HAZARDS} has a line that is not HAZARD(ID, name, advice).")
    return found


class HazardKinds(BookDirective):
    required_arguments = 0

    def run(self):
        return [table(("a report begins with", "what to do"), map(row, hazard_kinds()))]


STATED = re.compile(r"\bAbout\s+(\w+)\s+(minute|hour)s?\b")
WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}


def minutes(page):
    if page in manifest.lessons():
        return manifest.manifest(page)["minutes"]
    text = (ROOT / f"docs/{page}.rst").read_text(encoding="utf-8")
    found = STATED.search(text[:1500])
    if not found:
        raise ValueError(f"docs/{page}.rst does not begin with how long it takes: About N minutes")
    number = WORDS.get(found[1]) or int(found[1])
    return number * (60 if found[2] == "hour" else 1)


class Minutes(SphinxRole):
    def run(self):
        try:
            pages = [
                page
                for word in self.text.split()
                for page in (manifest.lessons() if word == "lessons" else [word])
            ]
            total = sum(map(minutes, pages))
        except (OSError, ValueError) as why:
            problem = self.inliner.reporter.error(str(why), line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, problem)], [problem]
        hours, rest = divmod(total, 60) if total >= 120 else (0, total)
        parts = ([f"{hours} hours"] if hours else []) + ([f"{rest} min"] if rest else [])
        return [nodes.Text(" ".join(parts))], []


def setup(app):
    app.add_role("minutes", Minutes())
