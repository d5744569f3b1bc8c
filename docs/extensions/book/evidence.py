"""Whose a rule is: what a document states of it, and what was measured on one driver.

    .. evidence::
       :documented: the :reference:`order in a stream <group__CUDART__STREAM>`
       :measured: :ref:`segments of 32 MiB <note-steps>`
        below the rule of a lesson, inside its fold where it is folded: one line, with at least one
        of the two. Each says which part of the rule it is about, and links to where that stands:
        an address or a page for a document; a note about the driver, or a file of recordings, for
        what was measured.

An option may go on in the next lines, which are indented further. A lesson's page has a rule, and
each rule its evidence before the next heading; a page that lacks either ends the build.
"""

import re

from docutils.parsers.rst import directives

from .page import BookDirective
from .runs import BookError

SHOWN = {
    "documented": "*Documented:*",
    "measured": "*Measured* on the :term:`recorded driver`:",
}
LINK = {
    "documented": (
        r"<https?://|:(?:reference|guide|doc|ref):",
        "an address, :reference:, :guide:, :doc:, or :ref:",
    ),
    "measured": (
        r":ref:`[^`]*note-|:path:`(simulator/)?tests/",
        "a :ref: to a note, or :path:`simulator/tests/...`",
    ),
}
RULE = re.compile(r"^(?:\*\*The rule\.\*\*|\.\. dropdown:: The rule$)", re.M)
HEADING = re.compile(r"^-{3,}$", re.M)


class Evidence(BookDirective):
    required_arguments = 0
    option_spec = {name: directives.unchanged_required for name in SHOWN}

    def run(self):
        if not self.options:
            raise self.error("evidence:: has :documented:, :measured:, or both")
        parts = []
        for name, shown in SHOWN.items():
            if name not in self.options:
                continue
            text = " ".join(self.options[name].split()).rstrip(".")
            pattern, wanted = LINK[name]
            if not re.search(pattern, text):
                raise self.error(f"evidence:: :{name}: links to where that stands: {wanted}")
            parts.append(f"{shown} {text}.")
        return self.lines([".. rst-class:: mark evidence", "", " ".join(parts)])


def expect_evidence(page, text):
    """Ends the build where the page of a lesson has no rule, or a rule has no evidence."""
    parts = RULE.split(text)[1:]
    if not parts:
        raise BookError(f"docs/{page}.rst has no rule: **The rule.** or .. dropdown:: The rule")
    for part in parts:
        if ".. evidence::" not in HEADING.split(part)[0]:
            raise BookError(
                f"docs/{page}.rst has a rule without evidence: write what is documented and what "
                "was measured below it, as docs/extensions/book/evidence.py describes."
            )


def read_page(app, page, source):
    if re.match(r"\d\d_", page):
        expect_evidence(page, source[0])


def setup(app):
    app.connect("source-read", read_page)
