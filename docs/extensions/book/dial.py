"""A loop whose release threshold the reader drags.

.. bench:: dial docs/programs/dial

   Words beside it, with {slow} and {fast}, a round's microseconds for the first and the last
   threshold, and links, which are a list.

What the calls of a round cost comes from the journal of the program's run: of each pool the last
round. docs/_static/dial.js shows it. Without script and on paper its place has a table of all.
"""

import json
from html import escape

from docutils import nodes

from .page import BookDirective, in_html, row, table
from .runs import BookError, run_program

MIB = 1 << 20
CALLS = ("cudaMallocFromPoolAsync", "launch_fill", "cudaFreeAsync", "cudaStreamSynchronize")
HEADS = ("release threshold", "a round", "kept after it")


def rows_of(journal):
    """[[threshold in MiB, [microseconds of each call of the last round], MiB kept after it]]"""
    rows, costs, reserved = [], {}, 0
    for line in journal:
        if "reserved" in line:
            reserved = line["reserved"] // MIB
        if "did" in line:
            continue
        if line.get("attribute") == "cudaMemPoolAttrReleaseThreshold" and "value" in line:
            rows.append([line["value"] // MIB, [], 0])
        elif line["call"] in CALLS and rows:
            costs[line["call"]] = (line["end"] - line["t"]) / 1000
            rows[-1][1:] = [round(costs.get(call, 0), 2) for call in CALLS], reserved
    return rows


def row_of(threshold, costs, kept):
    return f"{threshold} MiB", f"{sum(costs):.0f} µs", f"{kept} MiB"


class ThresholdDial(BookDirective):
    has_content = True

    def run(self):
        program = self.arguments[0]
        rows = rows_of(run_program(program).journal)
        if len(rows) < 2 or sum(rows[0][1]) < 2 * sum(rows[-1][1]):
            raise BookError(f"{self.env.docname}: {program} shows no two costs of a round: {rows}")
        slow, fast = (f"{sum(one[1]):.0f}" for one in (rows[0], rows[-1]))
        for place, text in enumerate(self.content):
            self.content[place] = text.replace("{slow}", slow).replace("{fast}", fast)
        words = nodes.container("", *self.parse_content_to_nodes(), classes=["dial-words"])
        live = f'<div class="dial-live" data-rows="{escape(json.dumps(rows))}"></div>'
        heads = [self.words(head, nodes.paragraph()) for head in HEADS]
        figures = table(heads, [row(row_of(*one)) for one in rows])
        costs = nodes.container("", figures, classes=["dial-table"])
        return [nodes.container("", words, in_html(live), costs, classes=["dial"])]
