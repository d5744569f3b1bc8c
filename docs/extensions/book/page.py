"""What every directive of the book builds on: text to parse, and text for HTML.

Sphinx translates a text that is a node and has a source: `sphinx-build -b gettext` writes it into a
.pot with its file and line. Therefore text from an option or a generated line gets its directive's
place, and words inside data or SVG, which have no nodes in HTML, are nodes until HTML is written.
What programs printed, code and the words drawn in a picture have no source and stay as they are.
"""

import shlex
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList, string2lines
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective


def block(text, language="text", kind=""):
    return [
        f".. code-block:: {language}",
        *([f"   :class: {kind}"] if kind else []),
        "",
        *("   " + line for line in text.rstrip("\n").splitlines()),
        "",
    ]


def indent(lines, by=3):
    return [" " * by + line if line else line for line in lines]


def shortened(text, length=150):
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0] + " ..."


def in_html(content):
    """For the HTML pages alone: a book in one file has no scripts."""
    node = content if isinstance(content, nodes.Node) else nodes.raw("", content, format="html")
    return addnodes.only("", node, expr="builder_html")


def write_static(app, name, text):
    """A file of the book's _static; its name may have a folder in front."""
    file = Path(app.outdir) / "_static" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


class written(nodes.General, nodes.Element):
    """HTML that node["write"] makes from {text: how this book shows it} of the node's texts."""


class said(nodes.General, nodes.TextElement):
    """One of these texts."""


class WriteTexts(SphinxPostTransform):
    """A question's number comes before its text here: in a translation it would begin a list."""

    default_priority = 10
    formats = ("html",)

    def run(self, **more):
        for node in list(self.document.findall(written)):
            html = node["write"]({text["said"]: text.astext() for text in node})
            node.replace_self(nodes.raw("", html, format="html"))
        for node in self.document.findall(nodes.paragraph):
            if "number" in node:
                node.insert(0, nodes.Text(f"{node['number']}. "))


def row(cells):
    """A row of a table. A cell is a node, or a text."""
    texts = (nodes.paragraph(text=cell) if isinstance(cell, str) else cell for cell in cells)
    return nodes.row("", *(nodes.entry("", text) for text in texts))


def table(heads, rows, *title, **attributes):
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in heads), cols=len(heads))
    group += nodes.thead("", row(heads))
    group += nodes.tbody("", *rows)
    return nodes.table("", *title, group, **attributes)


def list_table(heads, widths, rows, kind=""):
    """The lines of a table whose cells have markup, with or without heads."""
    lines = [".. list-table::", f"   :header-rows: {len(heads) and 1}", f"   :widths: {widths}"]
    lines += [f"   :class: {kind}", ""] if kind else [""]
    for first, *others in filter(None, [heads, *rows]):
        lines += [f"   * - {first}", *(f"     - {other}" for other in others)]
    return [*lines, ""]


def texts(*names):
    """The specification of options that have a text."""
    return dict.fromkeys(names, directives.unchanged_required)


class BookDirective(SphinxDirective):
    """A directive whose text is parsed, with the place of the directive."""

    required_arguments = 1
    final_argument_whitespace = True

    def lines(self, lines):
        source, line = self.get_source_info()
        lines = string2lines("\n".join(lines), convert_whitespace=True)
        items = [(source, line - 1)] * len(lines)
        return self.parse_text_to_nodes(StringList(lines, items=items))

    def words(self, text, node):
        """The node with this text, which may have inline markup."""
        text = " ".join(text.split())
        node.rawsource = text
        node += self.parse_inline(text)[0]
        self.set_source_info(node)
        return node

    def parts_of(self, option):
        """The words of an option, as a shell reads them."""
        return tuple(shlex.split(self.options.get(option, "")))

    def written(self, write, *texts):
        return written("", *(self.words(text, said(said=text)) for text in texts), write=write)


def setup(app):
    app.add_node(written)
    app.add_node(said)
    app.add_post_transform(WriteTexts)
