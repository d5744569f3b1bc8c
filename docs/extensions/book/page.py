"""What every directive of the book builds on: its dependencies on files, and text to parse."""

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from .runs import LIBRARY, ROOT, BookError, sources_of


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


def in_html(text):
    """For the HTML pages alone: a book in one file has no scripts."""
    return addnodes.only("", nodes.raw("", text, format="html"), expr="builder_html")


class BookDirective(SphinxDirective):
    """A directive that depends on files: the page is read again when one of them changes."""

    required_arguments = 1
    final_argument_whitespace = True

    def depend(self, *files):
        for file in files:
            self.env.note_dependency(str(ROOT / file))

    def depend_on_program(self, program):
        sources = sources_of(program)
        for source in sources:
            if not (ROOT / source).exists():
                raise BookError(f"{self.env.docname}: {source} is not there.")
        self.depend(
            *sources,
            "lessons/workbook.h",
            "lessons/processes.h",
            "lessons/kernels.h",
            LIBRARY,
            "docs/extensions/book/runs.py",
            "docs/extensions/book/programs.py",
        )

    def lines(self, lines):
        return self.parse_text_to_nodes("\n".join(lines))
