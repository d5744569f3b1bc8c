"""Lesson 08: every use after the allocation and before the free, whatever the streams."""

import re

from check import MIB, Journal, Miss, expect, one_line

SHOWN = re.compile("launch|Memcpy|Record|WaitEvent|Synchronize|cudaFreeAsync|cudaFree$")


def of_pool(journal):
    return journal.ok("cudaMallocAsync", "cudaMallocFromPoolAsync").where(bytes=MIB)


def data_of(journal):
    """The allocation that three streams use."""
    return of_pool(journal).where(stream="legacy").first


def use(journal, call, allocation):
    """The first call of this name that uses an allocation."""
    return allocation and journal.ok(call).where(allocation=allocation["allocation"]).first


def scratch_of(journal):
    """The allocation that cudaFree frees."""
    fill = use(journal, "launch_fill", data_of(journal))
    later = of_pool(journal).after(fill) if fill else []
    return next((x for x in later if x["stream"] != "legacy"), None)


def own_streams(journal):
    """The worker and the reader, which are the first two non-blocking streams."""
    return [x["stream"] for x in journal.ok("cudaStreamCreateWithFlags").where(kind="non-blocking")]


def who(journal, stream):
    worker, reader = [*own_streams(journal), None, None][:2]
    names = {worker: "the worker", reader: "the reader", "legacy": "the legacy stream"}
    return names.get(stream, f"stream {stream}")


def history(journal):
    fill = use(journal, "launch_fill", data_of(journal)) or {"n": 0}
    said = []
    for x in journal:
        if x["n"] >= fill["n"] and "did" not in x and SHOWN.search(x["call"]):
            event = f" of event {x['event']}" if "event" in x else ""
            stream = f" ({who(journal, x['stream'])})" if "stream" in x else ""
            said.append(x["call"] + event + stream)
    return "the calls (and their streams) were, in order: " + ", ".join(said[:18]) + "."


# ---- what the simulated device reports ----


def report_about(check, errors, call):
    """The first report about a call, without its advice when the check misses first."""
    found, on, hidden = [], False, False
    for line in errors.splitlines():
        if not line.startswith(" "):
            on = not found and line.startswith("hazard:") and f". {call} (" in line
            hidden = False
        if re.match("  [A-Z]", line):
            hidden = check.tries < 2 and line.startswith("  To do:")
        if on and not hidden:
            found.append(line)
    return "\n".join(found)


def without_reports(errors):
    """What stderr has besides reports: the rules about order show those."""
    kept, on = [], True
    for line in errors.splitlines():
        if not line.startswith(" "):
            on = not line.startswith("hazard:")
        if on:
            kept.append(line)
    return "\n".join(kept)


def expect_part(true, sentence, run, happened):
    """As expect, but the order of the work is not what is wrong."""
    if not true:
        raise Miss(
            f"Expected: {one_line(sentence)}",
            f"Happened: {happened}",
            run=run,
            errors=without_reports(run.errors),
        )


def early_wait(journal, of):
    """A sentence about a wait for an event that is not recorded yet, in the stream of a call."""
    for wait in journal.ok("cudaStreamWaitEvent").before(of):
        records = journal.ok("cudaEventRecord", "cudaEventRecordWithFlags").before(wait)
        if wait["stream"] == of["stream"] and not records.where(event=wait["event"]):
            return (
                f"Happened: {who(journal, wait['stream'])} waits for event {wait['event']} "
                "before that event is recorded. Such a wait succeeds, and waits for nothing."
            )
    return ""


def not_reported(check, call, sentence):
    """The program makes this call, and the simulated device reports nothing about it."""
    run = check.run()
    journal, memory = run.journal, "scratch" if call == "cudaFree" else "data"
    used = use(journal, call, scratch_of(journal) if call == "cudaFree" else data_of(journal))
    report = report_about(check, run.errors, call)
    if not report:
        expect_part(
            used, f"{call} of {memory}. The program had it at the start.", run, history(journal)
        )
        expect(
            "hazard:" in run.errors or run.ends() != "hazard",
            "what the simulated device reports can be read: stderr stays open.",
        )
        return
    early = early_wait(journal, used) if used and call != "cudaFree" else ""
    advice = "What to do about it is shown when the check misses again."
    raise Miss(
        f"Expected: {one_line(sentence)}",
        early
        or """Happened: the simulated device reports
        a hazard (the worker is stream 1, the reader 2).""".replace("\n        ", " "),
        advice if check.tries < 2 and not early else "",
        run=run,
        errors="" if early else report,
    )


# ---- the rules ----


def test_parts(check):
    "the parts are there: one allocation in three streams, another in one"
    run = check.run()
    journal = run.journal
    data, scratch = data_of(journal), scratch_of(journal)
    fill, add, copy, free = (
        use(journal, call, data)
        for call in ("launch_fill", "launch_add", "cudaMemcpyAsync", "cudaFreeAsync")
    )
    ready = fill and add and copy and free
    streams = own_streams(journal)
    expect_part(
        ready
        and fill["stream"] == "legacy"
        and free["stream"] == add["stream"]
        and {add["stream"], copy["stream"]} == set(streams[:2]),
        """data is filled in the
        legacy stream, added to in the worker, copied in the reader, freed in the worker. Worker and
        reader stay two non-blocking streams, as at the start. (Freed in the reader it would be
        correct, too, but would not need the last of the three events.)""",
        run,
        history(journal),
    )
    expect_part(
        all(use(journal, call, scratch) for call in ("launch_fill", "cudaMemcpyAsync", "cudaFree")),
        "scratch is filled and copied in the worker, and freed with cudaFree, as at the start.",
        run,
        history(journal),
    )


def test_add(check):
    "the worker's add comes after the legacy stream's fill"
    not_reported(
        check,
        "launch_add",
        """an event recorded in the legacy stream after launch_fill,
        for which the worker waits before launch_add. The worker is a non-blocking stream: the
        legacy stream does not make it wait.""",
    )


def test_copy(check):
    "the reader's copy comes after the worker's add"
    not_reported(
        check,
        "cudaMemcpyAsync",
        """the reader waits for an event that was recorded in the
        worker after launch_add (which comes after the fill). An event stands for the work that was
        in its stream when it was recorded, and for no later work.""",
    )


def test_free(check):
    "the worker's free comes after the reader's copy"
    not_reported(
        check,
        "cudaFreeAsync",
        """an event recorded in the reader after the copy, for
        which the worker waits before cudaFreeAsync. The free is ordered only in the stream that it
        is given; the allocator has no record of other uses.""",
    )


def test_plain_free(check):
    "cudaFree comes after the host's wait for the worker"
    not_reported(
        check,
        "cudaFree",
        """the host waits for the worker (cudaStreamSynchronize), and
        then frees with cudaFree. cudaFree of an allocation of a pool waits for nothing.""",
    )


def host_waits(journal):
    """The calls from the fill of data to the clean-up in which the host waits. A synchronization
    that finds all its work done already counts too, unless nothing is waited for behind it."""
    later = journal.after(use(journal, "launch_fill", data_of(journal)) or {"n": 0})
    later = later.before(journal.ok("cudaFreeHost").last or {"n": 1 << 60})
    acquired = [x for x in later if x.get("acquired")]
    last = acquired[-1]["n"] if acquired else 0
    return Journal(
        x
        for x in later
        if x.get("acquired")
        or ("call" in x and x["call"].endswith("Synchronize") and x["n"] < last)
    )


def test_events(check):
    "events do it: the host waits no more often than at the start"
    run = check.run(SIM_IDLE="off")
    waits = host_waits(run.journal)
    queries = [x["call"] for x in waits if x["call"].endswith("Query")]
    asked = len(run.journal.calls(*queries))
    expect_part(
        not queries,
        """no loop of queries after the fill of data: a host that asks until
        the work is done waits for it. The streams wait for each other, the host goes on.""",
        run,
        f"{queries and queries[0]} was called {asked} times, until it returned cudaSuccess.",
    )
    expect_part(
        len(waits) <= 2,
        """after the fill of data the host waits twice, as at the start:
        before it reads what came from data, and before it reads what came from scratch. Between the
        streams events do it: the streams wait for each other, the host goes on.""",
        run,
        f"the host waited {len(waits)} times, in {', '.join(x['call'] for x in waits)}.",
    )
    copy = use(run.journal, "cudaMemcpyAsync", data_of(run.journal)) or {"n": 0}
    early = waits.before(copy)
    expect_part(
        not early,
        """an event orders the add after the fill, and another the copy after the
        add. The host does not wait before it has queued the copy.""",
        run,
        f"before the copy the host waited in {', '.join(x['call'] for x in early)}.",
    )


def test_output(check):
    "it prints what a real device prints, under every schedule, also with another size"
    check.after_the_rest()
    check.expect_right(check.run())
    for schedule in ("late", "instant"):
        check.expect_right(check.run(SIM_SCHEDULE=schedule, SIM_IDLE="off"))
    mib = check.draw("mib", 2, 40)
    run = check.run(mib, SIM_SCHEDULE="random:1")
    check.expect_clean(run)
    count = mib * MIB // 4
    right = [x for x in run.output.splitlines() if x.endswith(f" in {count} of {count} elements")]
    expect(
        len(right) == 2,
        f"with {mib} MiB, two lines with {count} correct elements.",
        lambda: f'it printed "{run.output.splitlines()[-1:]}".',
    )
