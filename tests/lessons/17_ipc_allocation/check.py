"""Lesson 17: two processes use one allocation, ordered by two events; who frees first.

Whether an access is ordered is judged by the hazards that the simulated device reports in each of
the two processes, so it does not matter by which streams and events a program orders it."""

import re

from check import (
    COPY,
    FREE,
    QUERY,
    RECORD,
    expect_narrow_wait,
    expect_no_legacy,
    line_of,
    met_by_starter,
    miss,
    visible,
)

GOES_ON = """the exporter goes on when the importer's event has arrived, and waits for no other
    message: the messages stay as they are. A message for which the importer's host has waited
    orders the work as well, but both hosts stand still for it."""
DESTROYED = """an event is destroyed after the other process has used it: the exporter's when the
    importer's has come, and the importer's when the exporter's last message has come, which says
    that the exporter's stream has passed its wait."""
BOTH = (("exporter", "importer"), ("importer", "exporter"))
NO_ORDER = "none of the calls that order work"
ORDERING = (
    *("launch_fill", "launch_add", *COPY, "cudaFreeAsync", *RECORD, "cudaStreamWaitEvent"),
    *("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize"),
    *("cudaIpcGetEventHandle", "cudaIpcOpenEventHandle"),
)


class Process:
    """What one of the two processes did. opened: the events of the other that it has opened; sent:
    the calls that gave a handle of an event of its own, to be sent; records: of these events;
    waits_for: the waits of its streams for the other's event."""

    def __init__(self, run, name, other):
        self.name, self.other = name, other
        self.journal = journal = run.journal.where(of=name)
        self.opened = set(journal.ok("cudaIpcOpenEventHandle").column("event"))
        self.sent = journal.ok("cudaIpcGetEventHandle")
        self.own = set(self.sent.column("event"))
        self.records = journal.records.where(event=self.own)
        self.waits_for = journal.ok("cudaStreamWaitEvent").where(event=self.opened)
        self.destroyed = journal.ok("cudaEventDestroy").where(event=self.own)
        self.frees = journal.ok("cudaFreeAsync")
        self.hazards = journal.hazards

    def in_words(self, call):
        event, words = call.get("event"), [f"line {call['line']}"] if "line" in call else []
        if event in self.opened:
            words.append(f"the {self.other}'s event")
        elif event is not None:
            words.append("its own event" if event in self.own else "another event")
        if call.get("stream"):
            words.append(f"stream {call['stream']}")
        return call["call"] + (f" ({', '.join(words)})" if words else "")

    @property
    def unordered(self):
        """The hazards of its work with the data, but for its free."""
        return self.hazards.that(lambda x: x.get("call") not in FREE)

    @property
    def waited(self):
        """Did the stream of its add wait for the other's event before that?"""
        add = self.journal.ok("launch_add").first
        return add and self.waits_for.before(add).where(stream=add["stream"])

    @property
    def history(self):
        calls = ", ".join(map(self.in_words, self.journal.ok(*ORDERING)))
        return f"The {self.name} called, in this order: {calls or NO_ORDER}."

    def expect_no_wait(self, until, sentence):
        """No call before `until` made its host wait, and no loop of queries."""
        calls = self.journal.part(None, until)
        waits = calls.waits.that(lambda x: x["call"] not in QUERY)
        if waits or len(calls.queries) > 2:
            found = (waits or calls.queries)[0]
            miss(f"""{sentence}
                Happened: its host waited in {found["call"]}{line_of(found)}. {self.history}""")

    def expect_only_waits(self):
        """A hazard is not due to a record of the other's event, which moves it to another place."""
        again = self.journal.records.where(event=self.opened).first
        if self.hazards and again:
            miss(f"""the {self.other} records its event, and the {self.name} only waits for it.
                Happened: {again["call"]}{line_of(again)} records the {self.other}'s event again, in
                a stream of the {self.name}: the wait is for that stream's own work.
                {self.history}""")


def processes(check):
    run = check.run_both()
    return [Process(run, *names) for names in BOTH]


@met_by_starter
def test_shared(check):
    run = check.run_both()
    if re.search("cudaIpcGetEventHandle.*cudaErrorInvalidResourceHandle", run.errors):
        miss("""an event that another process can open: cudaEventCreateWithFlags with
            cudaEventInterprocess, which requires cudaEventDisableTiming.
            Happened: the program ended: cudaIpcGetEventHandle refused the event.""")
    exporter, importer = processes(check)
    exports = exporter.journal.ok("cudaMemPoolExportPointer")
    imports = importer.journal.ok("cudaMemPoolImportPointer")
    if not len(exports) == len(imports) == 1:
        miss(f"""one process exports an allocation, the other imports it, as in the starter.
            Happened: exports: {len(exports)}, imports: {len(imports)}.""")
    # Who ends before sending an event has made another mistake.
    found = [len(exporter.opened), len(importer.opened)]
    if found != [len(importer.sent) and 1, 1]:
        miss(f"""each process opens one event of the other.
            Happened: events opened in the exporter: {found[0]}, in the importer: {found[1]}.""")


@met_by_starter
def test_recorded(check):
    check.after(test_shared)
    exporter, importer = processes(check)
    fill = exporter.journal.ok("launch_fill").first
    first = exporter.records.first
    if not exporter.records[:1].after(fill) or not exporter.sent[:1].after(first):
        miss(f"""the exporter records its event after the fill, and sends it after that. A wait for
            an event that is not recorded yet waits for nothing.
            Happened: {exporter.history}""")
    if importer.sent and not importer.records.before(importer.sent.first):
        miss(f"""the importer records its event before it sends it. The exporter waits as soon as it
            receives the event, and a wait for an event that is not recorded yet waits for nothing.
            Happened: {importer.history}""")


@met_by_starter
def test_destroyed(check):
    check.after(test_shared)
    exporter = processes(check)[0]
    came = exporter.journal.ok("cudaIpcOpenEventHandle").first
    if early := exporter.destroyed.before(came).first:
        miss(f"""{DESTROYED}
            Happened: the exporter destroyed its event{line_of(early)}, before the importer's event
            had come.""")
    stopped = check.ask("both processes call split.", "stop", both=True, hazards=True, early=True)
    sender, importer = (Process(stopped, *names) for names in BOTH)
    if early := importer.destroyed.first:
        miss(f"""{DESTROYED}
            Happened: where the exporter ends without its last message, the importer has destroyed
            its event{line_of(early)}.""")
    waited = sender.journal.after(sender.waits_for.last).synchronizations
    if exporter.waits_for and not waited and not stopped.failed:
        miss(f"""{DESTROYED}
            Happened: the exporter sent its last message before its host had waited for its stream,
            which waits for the importer's event.""")


@met_by_starter
def test_hosts(check):
    exporter, importer = processes(check)
    filled = """the exporter's host does not wait for its fill: the event orders the work without
        that."""
    added = """the importer's host waits neither for the fill nor for its add, in no call and in no
        loop of queries. A host wait orders the work as well, but the host can do nothing else
        meanwhile: make the stream wait for the event (cudaStreamWaitEvent)."""
    again = """the exporter's host does not wait for the importer's event, in no call and in no loop
        of queries. That orders the work as well, but the host can do nothing else meanwhile: make
        the stream wait (cudaStreamWaitEvent)."""
    for process, sentence in ((exporter, filled), (importer, added)):
        if process.sent:
            process.expect_no_wait(process.sent.first, sentence)
    exporter.expect_no_wait(exporter.journal.ok(*COPY, "cudaFreeAsync").first, again)


def test_fill(check):
    check.after(test_shared)
    _, importer = processes(check)
    whole = sum(importer.journal.ok("cudaMemPoolImportPointer").column("bytes"))
    added = sum(importer.journal.ok("launch_add").column("bytes"))
    if added < whole:
        miss(f"""the importer adds 1 to the whole allocation, which has {whole} bytes.
            Happened: it added to {added} bytes. {importer.history}""")
    importer.expect_only_waits()
    if importer.unordered and importer.waited:
        check.after(test_recorded)  # else the exporter did not wait, see test_finished
    elif importer.unordered:
        miss(f"""the stream that adds waits for the exporter's event first (cudaStreamWaitEvent).
            The message only means that the fill is in a stream: it may still run (YOUR WORK, 1 of
            3).
            Happened: {importer.history}""")
    add = importer.journal.ok("launch_add").first
    before = importer.journal.that(lambda x: add and x["n"] <= add["n"])
    expect_no_legacy(before, "the stream that adds waits for the exporter's event itself.")


def test_free(check):
    check.after(test_shared)
    exporter, importer = processes(check)
    free, handle = importer.frees.first, importer.sent.first
    imported = importer.journal.ok("cudaMemPoolImportPointer")
    if now := importer.journal.ok("cudaFree").of(imported).first:
        miss(f"""the importer's free is in its stream, after its add: cudaFreeAsync.
            Happened: cudaFree{line_of(now)} is a call of the host, and in no stream. On an H200 it
            waited for nothing.""")
    if not importer.records:
        check.after(test_recorded)
    if len(importer.frees) != 1:
        miss(f"""each process that imports an allocation frees its import: cudaFreeAsync in the
            importer.
            Happened: {importer.history}""")
    if not importer.sent[:1].after(free):
        miss(f"""the importer frees first: its free is in its stream before it sends its event.
            Happened: {importer.history}""")
    if importer.hazards.where(kind="use after free"):
        miss(f"""the importer's free comes after its add, in the order of its stream, too.
            Happened: {importer.history}""")
    # A free that alone is not ordered: what the event covers is the add, and not the import's free.
    alone = exporter.waits_for and exporter.hazards.where(call="cudaFreeAsync")
    alone = alone and not exporter.hazards.where(call=set(COPY))
    covering = (importer.records.before(handle) or importer.records)[-1:]
    if not covering.after(free) or alone:
        miss(f"""the importer's event covers its free, too: the record comes after the free, in the
            same stream. The exporter may free only after that (YOUR WORK, 2 of 3).
            Happened: {importer.history}""")
    behind = importer.journal.after(importer.journal.ok("launch_add").first)
    expect_no_legacy(behind, "the importer records its event in the stream that adds and frees.")


def test_finished(check):
    check.after(test_shared, test_recorded)
    exporter, importer = processes(check)
    copies = exporter.journal.copies.where(kind="DeviceToHost")
    if not importer.sent:
        check.after(test_free)
    if not exporter.frees:
        miss(f"""each process frees what it has: the importer its import, and the exporter the
            allocation itself, in its stream, after the wait for the importer's event.
            Happened: the exporter never frees it. {exporter.history}""")
    if not copies.before(exporter.frees.first):
        miss(f"""the exporter reads the data with cudaMemcpyAsync before it frees it, as in the
            starter.
            Happened: {exporter.history}""")
    if exporter.hazards and not exporter.waits_for:
        miss(f"""the exporter's stream waits for the importer's event (cudaStreamWaitEvent). The
            message only means that the add is in a stream (YOUR WORK, 3 of 3).
            Happened: {exporter.history}""")
    exporter.expect_only_waits()
    # No hazard is reported of an early copy that has ended when the importer comes to its add.
    early = copies.after(exporter.sent.first).before(exporter.waits_for.first)
    if early or exporter.hazards.where(call=set(COPY)) or importer.unordered and importer.waited:
        check.after(test_free)  # a record before the add covers neither it nor the free
        miss(f"""the stream that copies and frees the data is the one that waits for the importer's
            event, and it waits first.
            Happened: {exporter.history}""")
    expect_no_legacy(
        exporter.journal, "the stream that copies and frees waits for the importer's event itself."
    )


def test_message(check):
    check.after(test_shared, test_recorded, test_destroyed, test_finished)
    if not processes(check)[0].waits_for:
        check.after(test_hosts)  # another importer's host does not wait
    value = check.draw("value", 2, 1000000)
    run = check.ask(GOES_ON, value, hazards=True, special=True)
    line = run.line("the data is")
    if not re.search(rf"\b{7 + value}\b", line):
        miss(f"""the exporter prints what it has copied. Here the importer added {value}, so the
            data is {7 + value}.
            Happened: it printed: {visible(line)}.""")


def test_output(check):
    check.after()
    run = check.run_both()  # the program prints no size
    check.expect_right(run)
    at_end = "at its end each host waits for its own stream, as at the start."
    expect_narrow_wait(run.journal, at_end)
    check.expect_right(check.run_both(SIM_SCHEDULE="late"))
    check.expect_right(check.run_both(check.draw("size", 2, 7), SIM_SCHEDULE="random:1"))
    check.expect_read("the data is #", "after its free: #")


@met_by_starter
def test_skipped(check):
    check.expect_skipped()
