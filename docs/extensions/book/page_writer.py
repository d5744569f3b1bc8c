"""How a node becomes HTML on the book's pages, where Sphinx's own way is not enough.

- A node has attributes of HTML in node["html"]: what shows the meaning of a word (every_page), and
  the name of its column for a cell of a table whose rows are cards on a narrow screen.
- In a table of cards a long name of a call may be broken between its words.
- In a block, "lessons/08_stream_order.c:46" is a link to that line (sources.link_block).
"""

import re

from docutils import nodes
from sphinx.writers.html5 import HTML5Translator

from .sources import link_block

BETWEEN_WORDS = re.compile("(?<!^cu)(?<!^cuda)(?<=[a-z])(?=[A-Z])")


def label_cells(doctree):
    """Each cell of a table of cards gets the name of its column."""
    for table in doctree.findall(nodes.table):
        if "cards" not in table["classes"]:
            continue
        for row in table.findall(nodes.row):
            heads = [cell.astext() for cell in next(iter(table.findall(nodes.thead)))[0]]
            if isinstance(row.parent, nodes.tbody):
                for cell, head in zip(row, heads):
                    cell["html"] = {"data-label": head}
                    for name in cell.findall(nodes.literal):
                        name["breaks"] = True


class PageTranslator(HTML5Translator):
    def starttag(self, node, tagname, suffix="\n", empty=False, **attributes):
        more = node.get("html", {}) if isinstance(node, nodes.Element) else {}
        return super().starttag(node, tagname, suffix, empty, **more, **attributes)

    def visit_Text(self, node):
        if isinstance(node.parent, nodes.literal) and node.parent.get("breaks"):
            words = BETWEEN_WORDS.sub("<wbr>", self.encode(node.astext()))
            self.body.append(f'<span class="pre">{words}</span>')
        else:
            super().visit_Text(node)

    def visit_literal_block(self, node):
        try:
            super().visit_literal_block(node)
        except nodes.SkipNode:
            self.body[-1] = link_block(self.builder, self.docnames[0], self.body[-1])
            raise


def setup(app):
    app.set_translator("html", PageTranslator)
    app.connect(
        "doctree-resolved",
        lambda app, doctree, page: label_cells(doctree) if app.builder.name == "html" else None,
    )
