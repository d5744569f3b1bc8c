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

from . import fonts, memory_picture, order_picture
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

    def of_memory():
        pools = memory_picture.chosen(journal, most=MOST_MOMENTS)
        title = f"Memory over time{name}"
        if len(pools) > MOST_POOLS:
            title += f": {MOST_POOLS} of {len(pools)} pools"
        return title, lambda width: memory_picture.draw(pools[:MOST_POOLS], width)

    def of_order():
        missing = order_picture.unordered(journal)
        order = order_picture.read(journal, most=MOST_CALLS, missing=missing)
        return f"Stream order{name}", lambda width: order_picture.draw(order, width)

    found = ""
    for what, draw, words in (("memory", of_memory, "memory"), ("order", of_order, "the order")):
        try:
            found += both_forms(f"{what}-{number}", *draw())
        except (ValueError, BookError) as error:
            why = str(error).removesuffix(".")
            found += f"<p>No picture of {words}{escape(name)}: {escape(why)}.</p>\n"
    return found


# ---- a trace, in Chrome's trace event format, which Perfetto and chrome://tracing open ----
#
# Each journal is one process: its threads are the host's, the streams, and the pools. A call is a
# slice of the host's thread, work is a slice of its stream, what takes no time there is an instant.
# An arrow (flow) leads from a call to its work, and from a record to the wait for it. Each pool is
# a counter with two series, used and reserved, in MiB. Times are microseconds of virtual time.

MIB = 1 << 20
# Threads in the order in which a viewer shows them: the host's first, then the streams.
HOST, STREAM = 1, 1000


def events_of(journal, process):
    """The trace events of one journal."""
    streams = []
    found = [
        {"ph": "M", "pid": process, "name": "process_name", "args": {"name": f"process {process}"}}
    ]

    def thread_of(stream):
        if stream not in streams:
            streams.append(stream)
        return STREAM + streams.index(stream)

    def event(phase, name, time, thread, **more):
        found.append(
            {"ph": phase, "name": name, "ts": time / 1000, "pid": process, "tid": thread, **more}
        )

    def facts(line):
        left_out = ("t", "end", "call", "did")
        return {key: value for key, value in line.items() if key not in left_out}

    def flow(number, source, target):
        arrow = {"cat": "order", "id": f"{process}.{number}"}
        event("s", "after", *source, **arrow)
        event("f", "after", *target, bp="e", **arrow)

    pieces = order_picture.pieces_of([dict(line) for line in journal])
    hosts = {}
    for line in journal:
        if "call" in line and "did" not in line:
            thread = HOST + line.get("thread", 0)
            hosts[thread] = line.get("thread", 0)
            took = (line["end"] - line["t"]) / 1000
            event("X", line["call"], line["t"], thread, cat="call", dur=took, args=facts(line))
        elif line.get("did") == "hazard":
            event("i", f"hazard: {line['kind']}", line["t"], HOST, s="p", args=facts(line))
        if "pool" in line and "reserved" in line:
            figures = {name: line[name] / MIB for name in ("used", "reserved") if name in line}
            time = line.get("end", line["t"])
            event("C", f"pool {line['pool']}, MiB", time, HOST, args=figures)
    for number, piece in sorted(pieces.items()):
        thread, call = thread_of(piece.column), piece.call
        name = piece.words or call["call"]
        time, took = piece.start[0], piece.finish[0] - piece.start[0]
        if piece.kind == "point":
            event("i", name, time, thread, s="t", args={"n": call["n"]})
        else:
            event("X", name, time, thread, cat="work", dur=took / 1000, args={"n": call["n"]})
        if piece.kind != "point":
            flow(number, (call["t"], HOST + call.get("thread", 0)), (time, thread))
        for kind, source in piece.edges:
            flow(f"{number}.{kind}", (source.start[0], thread_of(source.column)), (time, thread))
    names = [(thread, f"host, thread {one}" if one else "host") for thread, one in hosts.items()]
    for stream in streams:
        names.append((thread_of(stream), order_picture.svg.stream_name(stream)))
    for thread, name in names:
        about = {"ph": "M", "pid": process, "tid": thread}
        found.append({**about, "name": "thread_name", "args": {"name": name}})
        found.append({**about, "name": "thread_sort_index", "args": {"sort_index": thread}})
    return found


def trace(journals):
    events = [
        one for number, journal in enumerate(journals, 1) for one in events_of(journal, number)
    ]
    return {"displayTimeUnit": "ns", "traceEvents": events}


def main(what, title, output, *files):
    journals = [
        [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
        for file in files
    ]
    journals = [journal for journal in journals if any("result" in line for line in journal)]
    if not journals:
        sys.exit(f"{title} made no CUDA call, so there is nothing to draw.")
    if what == "trace":
        text = json.dumps(trace(journals))
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
