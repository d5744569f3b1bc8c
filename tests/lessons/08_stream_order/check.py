"""Lesson 08: every use after the allocation and before the free, whatever the streams."""

import re
from copy import copy

from check import (
    FREE,
    HAZARD_FOUND,
    MIB,
    Journal,
    Miss,
    hazard_words,
    line_of,
    met_by_starter,
    miss,
    one_line,
)

SHOWN = re.compile("launch|Memcpy|Record|WaitEvent|Synchronize|cudaFreeAsync|cudaFree$")


def of_pool(journal):
    return journal.allocations.where(bytes=MIB)


def data_of(journal):
    """The allocation that three streams use."""
    return of_pool(journal).where(stream="legacy").first


def use(journal, call, allocation):
    """The first call of this name that uses an allocation."""
    return journal.ok(call).of(allocation).first


def scratch_of(journal):
    """The allocation that cudaFree frees."""
    fill = use(journal, "launch_fill", data_of(journal))
    later = of_pool(journal).after(fill) if fill else Journal()
    return later.that(lambda x: x["stream"] != "legacy").first


def own_streams(journal):
    """The worker and the reader, which are the first two non-blocking streams."""
    return journal.ok("cudaStreamCreateWithFlags").where(kind="non-blocking").column("stream")


def who(journal, stream):
    worker, reader = [*own_streams(journal), None, None][:2]
    names = {worker: "the worker", reader: "the reader", "legacy": "the legacy stream"}
    return names.get(stream, f"stream {stream}")


def history(journal):
    fill = use(journal, "launch_fill", data_of(journal))
    said = []
    for x in ([fill] if fill else []) + journal.part(fill, None):
        if "did" not in x and SHOWN.search(x["call"]):
            event = f" of event {x['event']}" if "event" in x else ""
            stream = f" ({who(journal, x['stream'])})" if "stream" in x else ""
            said.append(x["call"] + event + stream)
    return f"the calls (and their streams) were, in order: {', '.join(said[:18])}."


# ---- what the simulated device reports ----


def reports(errors):
    """stderr in pieces: a line that is not indented, with those after it that are."""
    return re.split(r"\n(?! )", errors)


def report_about(check, errors, call):
    """The first report about a call, without its advice when the check misses first."""
    about = rf"hazard:.*\. {call} \("
    report = next((x for x in reports(errors) if re.match(about, x)), "")
    advice = r"\n  To do:.*(\n(?!  [A-Z]).*)*"
    return re.sub(advice, "", report) if check.tries < 2 else report


def quiet(check, **environment):
    """A run without the reports but of a second free, which ends the program: the rules that ask
    for it are about something else."""
    run = check.last = copy(check.run(**environment))
    other = r"hazard:(?! double free)"
    run.errors = "\n".join(x for x in reports(run.errors) if not re.match(other, x))
    return run


def early_wait(journal, of):
    """A sentence about a wait for an event that is not recorded yet, in the stream of a call."""
    for wait in journal.ok("cudaStreamWaitEvent").before(of):
        records = journal.records.before(wait)
        if wait["stream"] == of["stream"] and not records.where(event=wait["event"]):
            return f"""{who(journal, wait["stream"])} waits for event {wait["event"]} before that
                event is recorded. Such a wait succeeds, and waits for nothing."""
    return ""


def why_unordered(journal, first, then):
    """What the program has in the place of an edge from one call to another, in words, or ""."""
    if not first or not then or then["call"] == "cudaFree":
        return ""
    if early := early_wait(journal, then):
        return early
    one, other = who(journal, first["stream"]), who(journal, then["stream"])
    after = f"{first['call']}{line_of(first)}"
    records = journal.records.between(first, then)
    own = records.where(stream=first["stream"])
    if not own:
        early = journal.records.before(first).where(stream=first["stream"]).last
        if found := early or records.last:
            where = f"before {after}" if early else f"in {who(journal, found['stream'])}"
            return f"""event {found["event"]} is recorded{line_of(found)} {where}. After that no
                event is recorded in {one}."""
        return f"between {after} and {then['call']}{line_of(then)} no event is recorded in {one}."
    waits = journal.ok("cudaStreamWaitEvent").after(own.first).where(event=set(own.column("event")))
    if late := waits.where(stream=then["stream"]).first:
        if late["n"] < then["n"]:
            last = journal.records.before(late).where(event=late["event"]).last
            if last in own:
                return ""  # the order is there, and something else is wrong
            return f"""the last record of event {last["event"]} before {other} waits for it is
                that{line_of(last)}, in {who(journal, last["stream"])}."""
        return f"{other} waits for event {late['event']} only{line_of(late)}, after {then['call']}."
    if waits:
        return f"""{who(journal, waits[0]["stream"])} waits for event {waits[0]["event"]}, and
            {other} does not."""
    return f"{other} does not wait for event {own.last['event']}, which {one} has recorded."


def not_reported(check, call, sentence, before=None):
    """The program makes this call, and the simulated device reports nothing about it. before: the
    call after which it has to come."""
    run = check.run()
    journal, memory = run.journal, "scratch" if call == "cudaFree" else "data"
    allocation = scratch_of(journal) if call == "cudaFree" else data_of(journal)
    used = use(journal, call, allocation)
    report = report_about(check, run.errors, call)
    if used and not journal.hazards.of(allocation).where(call=call):
        report = ""  # it is about the other memory
    if not used and call in FREE:
        quiet(check)
        freed = journal.frees.of(allocation).first
        freed = f"{freed['call']}{line_of(freed)} frees it" if freed else "nothing frees it"
        miss(f"{call} of {memory}. The program had it at the start. Happened: {freed}.")
    if not report and not used:
        quiet(check)
        miss(f"{call} of {memory}. The program had it at the start. Happened: {history(journal)}")
    if not report:
        if "hazard:" not in run.errors and run.ends() == "hazard":
            miss("what the simulated device reports can be read: stderr stays open.")
        return
    found = f"{HAZARD_FOUND} (the worker is stream 1, the reader 2): {hazard_words(run.errors)}"
    why = why_unordered(journal, use(journal, before, allocation), used)
    advice = "What to do about it is shown when the check misses again."
    raise Miss(
        f"Expected: {one_line(sentence)}",
        f"Happened: {one_line(why or found)}",
        advice if check.tries < 2 else "",
        errors=report,
    )


@met_by_starter
def test_parts(check):
    journal = quiet(check).journal
    data, scratch = data_of(journal), scratch_of(journal)
    names = ("launch_fill", "launch_add", "cudaMemcpyAsync", "cudaFreeAsync")
    fill, add, copied, free = uses = [use(journal, name, data) for name in names]
    if (
        not all(uses[:3])  # another rule looks for the free
        or fill["stream"] != "legacy"
        or (free or add)["stream"] != add["stream"]
        or {add["stream"], copied["stream"]} != set(own_streams(journal)[:2])
    ):
        miss(f"""data is filled in the legacy stream, added to in the worker, copied in the reader,
            freed in the worker. Worker and reader stay two non-blocking streams, as at the start.
            (A free in the reader would be correct, too, but would not need the last of the three
            events.)
            Happened: {history(journal)}""")
    names = ("launch_fill", "cudaMemcpyAsync")  # another rule looks for cudaFree
    if not all(use(journal, name, scratch) for name in names):
        miss(f"""scratch is filled and copied in the worker, as at the start.
            Happened: {history(journal)}""")


def test_add(check):
    sentence = """an event recorded in the legacy stream after launch_fill, for which the worker
        waits before launch_add. The worker is a non-blocking stream: the legacy stream does not
        make it wait."""
    not_reported(check, "launch_add", sentence, "launch_fill")


def test_copy(check):
    sentence = """the reader waits for an event that was recorded in the worker after launch_add
        (which comes after the fill). An event stands for the work that was in its stream when it
        was recorded, and for no later work."""
    not_reported(check, "cudaMemcpyAsync", sentence, "launch_add")


def test_free(check):
    sentence = """an event recorded in the reader after the copy, for which the worker waits before
        cudaFreeAsync. The free is ordered only in the stream that it is given; the allocator has no
        record of other uses."""
    journal = quiet(check).journal
    copied, free = [use(journal, x, data_of(journal)) for x in ("cudaMemcpyAsync", "cudaFreeAsync")]
    if not copied or (free and free["stream"] not in own_streams(journal)[:2]):
        check.after(test_parts)  # a free after no copy is no order, and that stream is told there
    not_reported(check, "cudaFreeAsync", sentence, "cudaMemcpyAsync")


def test_plain_free(check):
    sentence = """the host waits for the worker (cudaStreamSynchronize), and then frees with
        cudaFree. cudaFree of an allocation of a pool waits for nothing."""
    not_reported(check, "cudaFree", sentence)
    journal = quiet(check, SIM_IDLE="off").journal
    copied, free = [use(journal, x, scratch_of(journal)) for x in ("cudaMemcpyAsync", "cudaFree")]
    between = journal.between(copied, free)
    if between.waits and not between.certain:
        miss(f"""{sentence} A free of other memory may wait, but NVIDIA does not promise that.
            Happened: before cudaFree the host waited in {between.waits.names}, and in no other
            call.""")


def host_waits(journal):
    """The calls from the fill of data to the clean-up in which the host waits. A synchronization
    that finds all its work done already counts too, unless nothing is waited for after it."""
    fill = use(journal, "launch_fill", data_of(journal))
    later = journal.part(fill, journal.ok("cudaFreeHost").last)
    if not later.waits:
        return later.waits
    last = later.waits.last
    return later.that(
        lambda x: x.get("acquired")
        or (x.get("call", "").endswith("Synchronize") and x["n"] < last["n"])
    )


@met_by_starter
def test_events(check):
    journal = quiet(check, SIM_IDLE="off").journal
    waits = host_waits(journal)
    query = waits.that(lambda x: x["call"].endswith("Query")).first
    if query:
        asked = len(journal.calls(query["call"]))
        miss(f"""no loop of queries after the fill of data: a host that asks until the work is done
            waits for it. Use events: then the streams wait for each other while the host goes on.
            Happened: {query["call"]} was called {asked} times, until it returned cudaSuccess.""")
    if len(waits) > 2:
        if len(waits.after(use(journal, "cudaMemcpyAsync", scratch_of(journal)))) > 1:
            check.after(test_plain_free)  # one of them is for something else, and missed there
        miss(f"""after the fill of data the host waits twice, as at the start: before it reads what
            came from data, and before it reads what came from scratch. Between the streams, use
            events: then the streams wait for each other while the host goes on.
            Happened: the host waited {len(waits)} times, in {", ".join(waits.column("call"))}.""")
    copied = use(journal, "cudaMemcpyAsync", data_of(journal))
    early = waits.before(copied) if copied else Journal()
    if early:
        miss(f"""one event orders the add after the fill, and another event orders the copy after
            the add. The host does not wait before it has queued the copy.
            Happened: before the copy the host waited in {", ".join(early.column("call"))}.""")


def test_output(check):
    check.after()
    check.expect_right(check.run())
    check.expect_read("42 in", "7 in")
    for schedule in ("late", "instant"):
        check.expect_right(check.run(SIM_SCHEDULE=schedule, SIM_IDLE="off"))
    mib = check.draw("mib", 2, 40)
    check.expect_elements(check.run(mib, SIM_SCHEDULE="random:1"), mib, 2)
