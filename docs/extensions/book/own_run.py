#!/usr/bin/env python3
"""The pictures or the trace of one run, for tools/picture.sh: the standard library, and QuickJS for
the picture of memory.

own_run.py picture|trace TITLE OUTPUT JOURNAL...

A picture is an HTML file that needs nothing else: memory over time, and stream order with what the
checker reported, of each process. A trace is a JSON file for Perfetto. Exit status 1: a sentence on
stderr says why nothing was drawn.
"""

import json
import sys
from html import escape
from pathlib import Path

from . import fonts, memory_picture, order_picture, run_trace
from .runs import BookError

WIDE, NARROW = 720, 356
# More than so many columns of a pool or calls of the host are a trace's business.
MOST_MOMENTS, MOST_CALLS, MOST_POOLS = 120, 120, 12
STYLES = Path(__file__).resolve().parents[2] / "_static"
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
body {{ font: 16px var(--sans); max-width: 720px; margin: 16px auto; padding: 0 16px;
    background: var(--paper); color: var(--ink); }}
{style}</style></head><body><h1>{title}</h1>
{body}</body></html>
"""


def both_forms(identity, title, draw):
    """A run with many streams may have no narrow form; then the wide one is scaled."""
    wide = draw(WIDE).svg(f"{identity}-wide", title, title)
    try:
        narrow = draw(NARROW).svg(f"{identity}-narrow", title, title)
        forms = f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'
    except ValueError:
        forms = wide
    return f'<h2>{escape(title)}</h2><div class="picture">{forms}</div>\n'


def pictures_of(journal, number, name):
    """The pictures of one process; a program may have nothing for one of them."""
    found = []
    try:
        pools = memory_picture.chosen(journal, most=MOST_MOMENTS)
        left_out = len(pools) - MOST_POOLS
        title = f"Memory over time{name}"
        if left_out > 0:
            title += f": {MOST_POOLS} of {len(pools)} pools"
        found.append(
            both_forms(
                f"memory-{number}",
                title,
                lambda width: memory_picture.draw(pools[:MOST_POOLS], width),
            )
        )
    except (ValueError, BookError) as error:
        why = str(error).removesuffix(".")
        found.append(f"<p>No picture of memory{escape(name)}: {escape(why)}.</p>\n")
    try:
        missing = order_picture.unordered(journal)
        order = order_picture.read(journal, most=MOST_CALLS, missing=missing)
        found.append(
            both_forms(
                f"order-{number}",
                f"Stream order{name}",
                lambda width: order_picture.draw(order, width),
            )
        )
    except ValueError as error:
        found.append(f"<p>No picture of the order{escape(name)}: {escape(str(error))}.</p>\n")
    return "".join(found)


def main(what, title, output, *files):
    journals = [
        [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
        for file in files
    ]
    journals = [journal for journal in journals if any("result" in line for line in journal)]
    if not journals:
        sys.exit(f"{title} made no CUDA call, so there is nothing to draw.")
    if what == "trace":
        text = json.dumps(run_trace.trace(journals))
    else:
        several = len(journals) > 1
        body = "".join(
            pictures_of(journal, number, f", process {number}" if several else "")
            for number, journal in enumerate(journals, 1)
        )
        sheets = ("colors.css", "pictures.css")
        style = fonts.style() + "".join(
            (STYLES / name).read_text(encoding="utf-8") for name in sheets
        )
        text = PAGE.format(title=escape(title), style=style, body=body)
    Path(output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
