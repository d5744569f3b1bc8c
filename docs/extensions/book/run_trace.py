"""A journal as a trace that Perfetto and chrome://tracing open: Chrome's trace event format.

Each journal is one process: its threads are the host's, the streams, and the pools. A call is a
slice of the host's thread, work is a slice of its stream, what takes no time there is an instant.
An arrow (flow) leads from a call to its work, and from a record to the wait for it. Each pool is a
counter with two series, used and reserved, in MiB. Times are microseconds of virtual time.
"""

from . import order_picture

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
