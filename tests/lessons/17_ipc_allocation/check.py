"""Lesson 17: two processes use one allocation, ordered by two events; who frees first.

Whether an access is ordered is judged by the hazards that the simulated device reports in each of
the two processes, so it does not matter by which streams and events a program orders it."""

import re

from check import Miss, expect, visible

ORDERING = (
    "launch_fill",
    "launch_add",
    "cudaMemcpyAsync",
    "cudaMemcpy",
    "cudaFreeAsync",
    "cudaEventRecord",
    "cudaEventRecordWithFlags",
    "cudaStreamWaitEvent",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaDeviceSynchronize",
    "cudaIpcGetEventHandle",
    "cudaIpcOpenEventHandle",
)
OTHER = {"exporter": "importer", "importer": "exporter"}


def ok(run, of, *calls):
    return run.journal.where(of=of).ok(*calls)


def opened(run, of):
    """The events of the other process that this one has opened."""
    return {x["event"] for x in ok(run, of, "cudaIpcOpenEventHandle")}


def sent(run, of):
    """The calls that gave a handle of an event of this process, to be sent."""
    return ok(run, of, "cudaIpcGetEventHandle")


def records(run, of):
    events = {x["event"] for x in sent(run, of)}
    return [
        x
        for x in ok(run, of, "cudaEventRecord", "cudaEventRecordWithFlags")
        if x["event"] in events
    ]


def hazards(run, of, *calls):
    found = run.journal.where(of=of, did="hazard")
    return [x for x in found if not calls or x.get("call") in calls]


def history(run, of):
    def words(line):
        event = line.get("event")
        whose = ""
        if event in opened(run, of):
            whose = f"the {OTHER[of]}'s event"
        elif event in {x["event"] for x in sent(run, of)}:
            whose = "its own event"
        elif event is not None:
            whose = "another event"
        more = [whose, f"stream {line['stream']}" if line.get("stream") else ""]
        more = ", ".join(word for word in more if word)
        return line["call"] + (f" ({more})" if more else "")

    calls = ", ".join(words(x) for x in ok(run, of, *ORDERING))
    return f"The {of} called, in this order: {calls or 'none of the calls that order work'}."


def first_number(lines):
    return lines[0]["n"] if lines else 0


def waited(run, of, until, sentence):
    """No call of this process before `until` taught its host that work is over."""
    found = [x for x in run.journal.where(of=of, acquired=1) if x["n"] < until]
    expect(
        not found,
        sentence,
        lambda: f"its host waited in {found[0]['call']}. {history(run, of)}",
        run,
    )


# ---- the rules ----


def test_shared(check):
    "two processes share an allocation and two events"
    run = check.run_both()
    if re.search("cudaIpcGetEventHandle.*cudaErrorInvalidResourceHandle", run.errors):
        raise Miss(
            "Expected: an event that another process can open: cudaEventCreateWithFlags "
            "with cudaEventInterprocess, which requires cudaEventDisableTiming.",
            "Happened: the program ended: cudaIpcGetEventHandle refused the event.",
            run=run,
        )
    exports = ok(run, "exporter", "cudaMemPoolExportPointer")
    imports = ok(run, "importer", "cudaMemPoolImportPointer")
    expect(
        len(exports) == len(imports) == 1,
        "one process exports an allocation, the other imports it, as in the starter.",
        f"exports: {len(exports)}, imports: {len(imports)}.",
        run,
    )
    found = [len(opened(run, of)) for of in OTHER]
    expect(
        found == [1, 1],
        "each process opens one event of the other.",
        f"events opened in the exporter: {found[0]}, in the importer: {found[1]}.",
        run,
    )


def test_recorded(check):
    "an event is recorded before it is sent"
    check.after(test_shared)
    run = check.run_both()
    for of, work, sentence in (
        (
            "exporter",
            ok(run, "exporter", "launch_fill"),
            """the exporter records its event after the
            fill, and sends it after that. A wait for an event that is not recorded yet waits for
            nothing.""",
        ),
        (
            "importer",
            [],
            """the importer records its event before it sends it. The exporter waits as
            soon as it receives the event, and a wait for an event that is not recorded yet waits
            for nothing.""",
        ),
    ):
        made = records(run, of)
        expect(
            made and first_number(work) < made[0]["n"] < first_number(sent(run, of)),
            sentence,
            lambda of=of: history(run, of),
            run,
        )


def test_hosts(check):
    "streams wait for events, and no host waits in between"
    run = check.run_both()
    waited(
        run,
        "exporter",
        first_number(sent(run, "exporter")),
        """the exporter's host does not
        wait for its fill: the event orders the work without that.""",
    )
    waited(
        run,
        "importer",
        first_number(sent(run, "importer")),
        """the importer's host waits
        neither for the fill nor for its add, in no call and in no loop of queries. A host wait
        orders the work as well, but the host can do nothing else meanwhile: make the stream wait
        for the event (cudaStreamWaitEvent).""",
    )
    again = ok(run, "exporter", "cudaMemcpyAsync", "cudaMemcpy", "cudaFreeAsync")
    waited(
        run,
        "exporter",
        again[0]["n"] if again else 1 << 60,
        """the exporter's host does not
        wait for the importer's event, in no call and in no loop of queries. That orders the work as
        well, but the host can do nothing else meanwhile: make the stream wait
        (cudaStreamWaitEvent).""",
    )


def test_fill(check):
    "the importer's stream waits for the fill"
    check.after(test_shared)
    run = check.run_both()
    expect(
        ok(run, "importer", "launch_add"),
        "the importer adds 1 to the allocation.",
        lambda: history(run, "importer"),
        run,
    )
    expect(
        not hazards(run, "importer"),
        """the stream that adds waits for the exporter's event
        first (cudaStreamWaitEvent). The message only means that the fill is in a stream: it may
        still run (YOUR WORK, 1 of 3).""",
        lambda: history(run, "importer"),
        run,
    )


def test_free(check):
    "the importer frees, and records its event after the free"
    check.after(test_shared)
    run = check.run_both()
    frees, handle = ok(run, "importer", "cudaFreeAsync"), first_number(sent(run, "importer"))
    expect(
        len(frees) == 1,
        """each process that imports an allocation frees its import:
        cudaFreeAsync in the importer.""",
        lambda: history(run, "importer"),
        run,
    )
    expect(
        frees[0]["n"] < handle,
        """the importer frees first: its free is in its stream before it
        sends its event.""",
        lambda: history(run, "importer"),
        run,
    )
    made = records(run, "importer")
    last = ([x for x in made if x["n"] < handle] or made or [{"n": 0}])[-1]
    # A free that alone is not ordered: what the event covers is the add, and not the import's free.
    alone = waits_for(run, "exporter") and hazards(run, "exporter", "cudaFreeAsync")
    alone = alone and not hazards(run, "exporter", "cudaMemcpyAsync", "cudaMemcpy")
    expect(
        frees[0]["n"] < last["n"] and not alone,
        """the importer's event covers its free, too: the record comes after the free, in the same
        stream. The exporter may free only after that (YOUR WORK, 2 of 3).""",
        lambda: history(run, "importer"),
        run,
    )


def waits_for(run, of):
    """The waits of this process's streams for the other's event."""
    return [x for x in ok(run, of, "cudaStreamWaitEvent") if x["event"] in opened(run, of)]


def test_finished(check):
    "the exporter's stream waits for the importer's event, then uses and frees the data"
    check.after(test_shared, test_recorded)
    run = check.run_both()
    copies = ok(run, "exporter", "cudaMemcpyAsync", "cudaMemcpy").where(kind="DeviceToHost")
    frees = ok(run, "exporter", "cudaFreeAsync")
    expect(
        copies and frees and copies[0]["n"] < frees[0]["n"],
        """the exporter reads the data with
        cudaMemcpyAsync before it frees it, as in the starter.""",
        lambda: history(run, "exporter"),
        run,
    )
    bad = hazards(run, "exporter", "cudaMemcpyAsync", "cudaMemcpy")
    late = hazards(run, "exporter") and not waits_for(run, "exporter")
    expect(
        waits_for(run, "exporter") or not (bad or late),
        """the exporter's stream waits for the
        importer's event (cudaStreamWaitEvent). The message only means that the add is in a stream
        (YOUR WORK, 3 of 3).""",
        lambda: history(run, "exporter"),
        run,
    )
    expect(
        not bad,
        """the stream that copies and frees the data is the one that waits for the
        importer's event, and it waits first.""",
        lambda: history(run, "exporter"),
        run,
    )


def test_message(check):
    "the exporter needs no other message, and prints what the importer made of the data"
    check.after(test_shared, test_recorded, test_finished)
    if not waits_for(check.run_both(), "exporter"):
        check.after(test_hosts)  # another importer's host does not wait
    value = check.draw("value", 2, 1000000)
    run = check.ask(
        """the exporter goes on when the importer's event has arrived, and waits for no
        other message: the messages stay as they are. A message for which the importer's host has
        waited orders the work as well, but both hosts stand still for it.""",
        value,
        hazards=True,
    )
    line = next((x for x in run.output.splitlines() if "the data is" in x), "nothing")
    expect(
        re.search(rf"\b{7 + value}\b", line),
        f"""the exporter prints what it has copied. Here
        the importer added {value}, so the data is {7 + value}.""",
        f"it printed: {visible(line)}.",
        run,
    )


def test_output(check):
    "it prints what a real device prints, also under other schedules and with another size"
    check.after_the_rest()
    check.expect_right(check.run_both())  # the program prints no size
    check.expect_right(check.run_both(SIM_SCHEDULE="late"))
    check.expect_right(check.run_both(check.draw("size", 2, 7), SIM_SCHEDULE="random:1"))


def test_skipped(check):
    "where no pool can be shared (SIM_HANDLE_TYPES=0) it prints why, and ends with status 77"
    check.expect_skipped()
