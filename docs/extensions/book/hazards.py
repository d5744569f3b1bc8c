"""The kinds of hazards, as simulator/base/hazards.def has them.

.. collected:: hazards
    a table of their names, and of what to do in general
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

LIST = "simulator/base/hazards.def"
ROOT = Path(__file__).resolve().parents[3]
KIND = re.compile(r'^HAZARD\(\w+, "([^"]*)",\s*"([^"]*)"\)$', re.M)


def hazard_kinds():
    """[(name, advice)] in the order of the list."""
    text = (ROOT / LIST).read_text()
    found = KIND.findall(text)
    if len(found) != len(re.findall(r"^HAZARD\(", text, re.M)):
        raise ValueError(f"{LIST} has a line that is not HAZARD(ID, name, advice).")
    return found


def row(*texts):
    return nodes.row("", *(nodes.entry("", nodes.paragraph(text=text)) for text in texts))


class HazardKinds(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(ROOT / LIST))
        group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in range(2)), cols=2)
        group += nodes.thead("", row("a report begins with", "what to do"))
        group += nodes.tbody("", *(row(*kind) for kind in hazard_kinds()))
        return [nodes.table("", group)]
