"""Whose a rule is: what a document states of it, and what was measured on one driver.

    .. evidence::
       :documented: the :reference:`order in a stream <group__CUDART__STREAM>`
       :measured: :ref:`segments of 32 MiB <note-steps>`
        below the rule of a lesson, inside its fold where it is folded: one line, with at least one
        of the two. Each says which part of the rule it is about, and links to where that stands:
        an address or a page for a document; a note about the driver, or a file of recordings, for
        what was measured.

An option may go on in the next lines, which are indented further. A lesson without a rule, or whose
rule has no evidence, ends the build: RulesOf in tables.py collects both.
"""

import re

from .page import BookDirective, texts

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


class Evidence(BookDirective):
    required_arguments = 0
    option_spec = texts(*SHOWN)

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
