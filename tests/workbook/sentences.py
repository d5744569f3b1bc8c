#!/usr/bin/env python3
"""The sentences of a page of the book: `sentences.py [--colons] PAGE...`.

Prints for each page its name and how many sentences it has, how many of them have a colon, and how
many give a reason. What is folded counts, too; code, output, headings and tables do not. With
--colons it prints the sentences that have a colon instead.
"""

import re
import sys
from pathlib import Path

# Directives whose body is no prose of the page, and options that are prose.
NO_PROSE = {"code-block", "literalinclude", "program-run", "program-source", "check-run"}
NO_PROSE |= {"command-run", "toctree", "list-table"}
PROSE_OPTIONS = {"why", "documented", "measured"}
DIRECTIVE = re.compile(r" *\.\. ([\w-]+)::\s*(.*)")
OPTION = re.compile(r" *:([a-z-]+):(?: +(.*)|)$")
ITEM = re.compile(r"(?:[-*]|\d\.|#\.) +")
UNDERLINE = re.compile(r"[-=^~]{3,}")
REASON = re.compile(
    r"\b(?:because|therefore|which means|that is why|for (?:that|this|the same) reason)\b"
    r"|^So\b|, so\b|; so\b|, since\b",
    re.I,
)


def paragraphs(text):
    """The prose of a page in reStructuredText: paragraphs, questions, options with a sentence."""
    hidden = None  # the indent of a directive whose body is no prose
    options = False  # in the lines of a directive before its first empty one
    skipped = False  # in a title or an option that is no prose
    kept = []
    for line in [*text.splitlines(), ""]:
        bare = line.strip()
        depth = len(line) - len(line.lstrip())
        if bare and hidden is not None:
            if depth > hidden:
                continue
            hidden = None
        directive = DIRECTIVE.match(line)
        option = OPTION.match(line) if options else None
        item = ITEM.match(bare)
        if not bare or directive or option or item:
            yield " ".join(kept)
            kept = []
        if not bare:
            options = skipped = False
        elif bare.startswith(".. ") and (not directive or directive[1] in NO_PROSE):
            hidden = depth
        elif directive:
            options, skipped = True, directive[1] != "predict"
            kept = [] if skipped else [directive[2]]
        elif option:
            skipped = option[1] not in PROSE_OPTIONS
            kept = [] if skipped else [option[2] or ""]
        elif UNDERLINE.fullmatch(bare):
            kept = []  # the line above it is a heading
        elif not skipped:
            kept.append(bare[item.end() :] if item else bare)


def paragraphs_of_markdown(text):
    for paragraph in text.split("\n\n"):
        if not re.match(r"#|\||!\[|    ", paragraph):
            yield re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))


def plain(text):
    """Without markup: a literal, a role or a link is what a reader sees of it."""
    text = re.sub(r"``.+?``", "Code", text)
    text = re.sub(r":[\w-]+:`([^`<]*?)(?: *<[^`]*>)?`", r"\1", text)
    text = re.sub(r"`([^`<]*?) *<[^`]*>`_{1,2}", r"\1", text)
    return re.sub(r"\*\*|\*|`", "", text)


def sentences(page):
    text = page.read_text(encoding="utf-8")
    for paragraph in (paragraphs_of_markdown if page.suffix == ".md" else paragraphs)(text):
        for sentence in re.split(r"(?<=[.?!])[\")]? +(?=[\"(]?[A-Z0-9])", plain(paragraph)):
            if re.search("[a-z]", sentence):
                yield sentence.strip()


def main(arguments):
    show = "--colons" in arguments
    for page in [each for each in arguments if each != "--colons"]:
        every = list(sentences(Path(page)))
        colons = [each for each in every if re.search(r":(?:\s|$)", each)]
        reasons = [each for each in every if REASON.search(each)]
        if show:
            print(*(f"{page}: {each}" for each in colons), sep="\n")
        else:
            print(page, len(every), len(colons), len(reasons))


if __name__ == "__main__":
    main(sys.argv[1:])
