"""Lesson 13: a mutex orders the calls of two threads, and an event orders the work."""

from check import (
    FREE,
    LATE,
    OUTSIDE,
    Journal,
    expect_narrow_wait,
    hazard_words,
    line_of,
    met_by_starter,
    miss,
)

CALLED = """run_threads(work) with the struct work that it has at the start, and two threads that
    take turns and both come to an end."""
PAIRS = {
    "created": "two created streams",
    "per-thread": "the threads' own streams",
    "mixed": "the producer's own stream and a created one",
}
OF_FREES = {"free before the use ends", "use after free", "double free"}
OWN_HANDLE = """In the consumer's thread cudaStreamPerThread is the consumer's own stream, whoever
    the handle came from."""
ENDS = """in its last turn each thread waits for its stream: a thread that has allocated or freed in
    its own stream and ends with work pending there may hang."""


class Handover:
    """What the two threads did with one pool, in so many rounds."""

    def __init__(self, journal, pool, rounds):
        self.rounds = rounds
        self.created = journal.ok("cudaMemPoolCreate").where(pool=pool).first
        self.made = journal.ok("cudaMallocFromPoolAsync").where(pool=pool)
        own = journal.of(self.made)
        calls = own.that(lambda x: "result" in x)
        self.fills, self.adds = calls.ok("launch_fill"), calls.ok("launch_add")
        self.copies, self.frees = calls.copies, calls.frees
        # A thread may free in its last turn, in which it waits.
        used = calls.that(lambda x: x["call"] not in FREE)
        between = journal.between(used.first, used.last) if used else Journal()
        self.waits, self.asks = between.waits, between.queries


def places(calls):
    """The threads and the streams in which these calls were made."""
    return {(x.get("thread", 0), x.get("stream")) for x in calls}


def cannot_end(run):
    return run.journal.hazards.where(kind="a thread that cannot end")


def ended_by_free(run):
    return run.journal.hazards.where(kind={"use after free", "double free"})


def after_threads(check):
    """Work in another stream than its thread's explains what comes of it. What a free has ended,
    the rule about frees says."""
    if not ended_by_free(check.run(**LATE)):
        check.after(test_threads)


def own(check):
    """The three of the lesson's main."""
    journal = check.run(**LATE).journal
    return [Handover(journal, pool, 8) for pool in journal.pools[:3]]


def asked(check, pair):
    """The run of one pair of streams by the check, and what its threads did: of the rounds that are
    drawn, and of three."""
    rounds, size = check.draw(f"rounds {pair}", 34, 60), 4 * check.draw(f"size {pair}", 1, 200)
    answers = check.ask_in_time(CALLED, pair, rounds, size, hazards=True, early=True, **LATE)
    pools = zip(answers.journal.pools, (rounds, 3))
    found = [Handover(answers.journal, *each) for each in pools]
    return answers, rounds, size, found


def ended(check, pair):
    """The same, where the threads came to their end. Who asks the device in a loop may not."""
    found = asked(check, pair)
    if found[0].early:
        check.after(test_host)
        found[0].expect_return()
    return found


def asks(handover):
    """Do its threads ask the device again and again?"""
    return len(handover.asks) > 2 * len(handover.made) + 2


def listed(calls):
    found = (
        f"thread {thread} in " + (f"stream {stream}" if stream else "no stream (cudaFree)")
        for thread, stream in places(calls)
    )
    return ", ".join(sorted(found))


@met_by_starter
def test_host(check):
    for handover in own(check) + [x for pair in PAIRS for x in asked(check, pair)[3]]:
        if asks(handover):
            miss(f"""between the first fill of a buffer and the last copy no thread waits for the
                device: the streams wait for each other. Asking again and again whether the work is
                done is a wait, too.
                Happened: for {len(handover.made)} buffers the threads called {handover.asks.names}
                {len(handover.asks)} times, first{line_of(handover.asks[0])}.""")
        # With other rounds than its own it copies to other memory, where a copy waits.
        if handover.waits and len(handover.made) == handover.rounds:
            miss(f"""between the first fill of a buffer and the last copy no thread waits for the
                device, in however many rounds: the streams wait for each other.
                Happened: the threads called {handover.waits.names}, {len(handover.waits)} times,
                first{line_of(handover.waits[0])}.""")
    late = check.run(**LATE)
    for own_calls in by_thread(late.journal):
        if own_calls.waits and not own_calls.certain and not cannot_end(late):
            miss(f"""in its last turn each thread waits for its stream. A free of other memory may
                wait, but NVIDIA does not promise that.
                Happened: a thread waited in {own_calls.waits.names}, and in no other call.""")
    # Which thread ends with work pending, if any, depends on which one goes first, unless the
    # device is done at once.
    journal = check.run(SIM_SCHEDULE="instant").journal
    for own_calls in by_thread(journal):
        last = own_calls.that(lambda x: "call" in x).last
        over = journal.after(last).ok("cudaMemPoolDestroy")
        if over and not own_calls.certain and not own_calls.waits and not own_calls.queries:
            miss(f"""{ENDS}
                Happened: the thread whose last call is {last["call"]}{line_of(last)} waited for
                nothing.""")
    if cannot_end(late):
        miss(f"{ENDS} Happened: a thread ended with work pending in its own stream.")
    for own_calls in by_thread(late.journal):
        expect_narrow_wait(
            own_calls.after(own_calls.ok("launch_fill", "launch_add").last),
            "in its last turn each thread waits for its stream (cudaStreamSynchronize).",
        )


def by_thread(journal):
    return [journal.where(thread=thread) for thread in set(journal.column("thread")) - {None}]


@met_by_starter
def test_threads(check):
    found, run = own(check), check.run(**LATE)
    # What ends the program early is missed by another rule.
    if len(found) != 3 and not cannot_end(run) and not ended_by_free(run):
        miss(f"""three pairs of streams, each with a pool of its own.
            Happened: pools that were created: {len(found)}.""")
    for handover, name in zip(found, ("legacy", "per-thread", "created")):
        if not handover.made:
            check.after(test_rounds)  # no buffer of that pool
        used = handover.adds or handover.copies or handover.frees
        producer, consumer = places(handover.fills), places(used)
        threads, streams = ({place[i] for place in producer | consumer} for i in (0, 1))
        wanted = streams == {name} if name != "created" else len(streams) == 2
        if not (len(producer) == len(consumer) == 1 and len(threads) == 2 and wanted):
            if ended_by_free(run):
                check.after(test_free)
            miss(f"""with the {name} streams the producer fills the buffers in its thread and in the
                stream that it is given, and the consumer adds in its own.
                Happened: the fills were made by {listed(handover.fills) or "no thread"}, and what
                follows by {listed(used) or "no thread"}.""")


def why_not_recorded(journal, handover, hazard):
    """Why no record covers the fill of the hazard's buffer when the consumer uses it, or ""."""
    fill, use = handover.fills.of(hazard).first, handover.adds.of(hazard).first
    if not use:
        return ""
    if not fill or use["n"] < fill["n"]:
        return f"""{use["call"]}{line_of(use)} used a buffer that was not filled yet: the turn of
            the producer was over before its fill."""
    records = journal.between(handover.created, use).records
    waits = journal.before(use).ok("cudaStreamWaitEvent").where(stream=use["stream"])
    where = f"In round {fill['value'] + 1} "
    early = records.before(handover.fills.first)
    turn_over = journal.between(use, handover.made.after(use).first or {"n": 1 << 60}).records
    if turn_over.where(thread=fill.get("thread")) and not early and not records.after(fill):
        return f"""{where}the producer recorded the event after the fill, and too late: its turn was
            over, and the consumer had made its calls. A record comes before turn_end."""
    if not records and waits:
        return "A stream waited for an event that nobody had recorded: that waits for nothing."
    if not records:
        return "No event was recorded before the use, and the mutex orders the calls alone."
    if records.last.get("thread") != fill.get("thread"):
        return """The consumer's thread recorded the event, where the handle of the producer's
            stream names its own."""
    if early and not records.after(fill):
        return f"{where}the event was recorded before the fill, so it does not cover the fill."
    if not records.after(fill):
        return f"""{where}the event was not recorded after the fill until the buffer had been used:
            when stream {use["stream"]} waited, its newest record was that of a round before."""
    others = {x.get("stream") for x in records.after(fill)}
    if fill["stream"] not in others:
        return f"""{where}the event was recorded in stream {others.pop()}, and the fill is in stream
            {fill["stream"]}: a record covers what its own stream had before."""
    return ""


def before_its_add(journal, handover, hazard):
    """A sentence about a use or a free of a buffer to which nothing was added yet, or ""."""
    fill, call = handover.fills.of(hazard).first, journal.numbered.get(hazard.get("later"))
    if not fill or not call or journal.part(fill, call).calls("launch_add"):
        return ""
    if call["call"] in ("launch_fill", "launch_add"):
        return ""
    return f"""{call["call"]}{line_of(call)} came before the add to the same buffer. Is the turn of
        its thread over there? Then shared.data may be the next buffer already."""


def why_not_waited(journal, handover, hazard):
    """Why the stream that uses the hazard's buffer does not come after the record, or ""."""
    if early := before_its_add(journal, handover, hazard):
        return early
    fill, use = handover.fills.of(hazard).first, handover.adds.of(hazard).first
    record = fill and use and journal.between(fill, use).records.last
    if not record:
        return ""
    where, stream = f"In round {fill['value'] + 1} ", f"stream {use['stream']}"
    copy = handover.copies.of(hazard).first
    if hazard.get("earlier_call") == "launch_add" and copy:
        return f"{where}{stream} adds and stream {copy['stream']} copies, in no order."
    waits = journal.before(use).ok("cudaStreamWaitEvent").where(stream=use["stream"])
    if waits.after(record):
        return f"{where}{stream} waited for another event than the one that was recorded there."
    where += f"the event was recorded after the fill, but {stream}, which uses the buffer, "
    if waits.after(fill):
        return f"{where}waited before that record: it waited for the record of a round before."
    if other := journal.between(record, use).ok("cudaStreamWaitEvent").first:
        return f"{where}did not wait for it: stream {other['stream']} did."
    late = journal.after(use).ok("cudaStreamWaitEvent").where(stream=use["stream"])
    late = late.before(journal.after(use).where(call="launch_add").first or {"n": 1 << 60})
    return f"{where}did not wait for it{' until after the use' if late else ' at all'}."


def expect_filled(check, pair, sentence, *reasons):
    """No hazard but those about a free, about a call that waits, and about a new fill of a used
    buffer, which other rules miss. Of functions that say what is missing, the first that knows it;
    with one alone, it must."""
    answers, _, _, found = asked(check, pair)
    if answers.early and not any(map(asks, found)):
        ended(check, pair)
    if cannot_end(answers):
        check.after(test_host)
    calls = answers.journal.numbered
    hazard = answers.journal.hazards.that(
        lambda x: x["kind"] not in OF_FREES
        and x["call"] != "launch_fill"
        and not calls.get(x.get("later"), {}).get("acquired")
    ).first
    why = hazard and [reason(answers.journal, x, hazard) for reason in reasons for x in found]
    if hazard and (any(why) or len(reasons) > 1):
        if answers.journal.where(did="hazard", kind=OUTSIDE):
            check.after(test_rounds)  # it may lie in the next buffer
        after_threads(check)
        miss(f"""with {PAIRS[pair]}, the consumer's work on a buffer comes after the producer's fill
            on the device, too: {sentence}
            Happened: {hazard.get("call")} and {hazard.get("earlier_call", "an earlier call")} have
            an order on the host, and none on the device ({hazard["kind"]}).
            {next(filter(None, why), "")}""")


RECORDS = "the producer records an event in its stream, after its fill."
WAITS = """the producer records an event after its fill, and the consumer's stream waits for that
    before it uses the buffer."""


def test_recorded(check):
    expect_filled(check, "created", RECORDS, why_not_recorded)


def test_created(check):
    if test_recorded not in check.met:
        # The other half of the order is judged alone.
        answers, _, _, found = asked(check, "created")
        waits = answers.journal.ok("cudaStreamWaitEvent")
        for made, use in (pair for one in found for pair in zip(one.made, one.adds)):
            if not waits.between(made, use).where(stream=use["stream"]):
                check.after(test_recorded)
        return
    expect_filled(check, "created", WAITS, why_not_recorded, why_not_waited)


def test_per_thread(check):
    check.after(test_threads, test_recorded, test_created)
    for pair in ("per-thread", "mixed"):
        expect_filled(check, pair, f"{WAITS} {OWN_HANDLE}", why_not_recorded, why_not_waited)


def test_free(check):
    for pair in PAIRS:
        answers, _, _, found = ended(check, pair)
        if cannot_end(answers):
            continue
        sentence = """each buffer is freed once, in a stream that comes after its last use: the
            stream of that use, or one that waits for it."""
        hazard = answers.journal.hazards.where(kind=OF_FREES).first
        if hazard and found:
            if hazard["kind"] == "free before the use ends":
                after_threads(check)
                if places(found[0].adds) != places(found[0].copies):
                    check.after(test_created)
            if "launch_fill" in (hazard["call"], hazard.get("earlier_call")):
                check.after(test_recorded, test_created)
            at = line_of(answers.journal.numbered.get(hazard.get("later"), {}))
            used = f"The use is by {listed(found[0].adds)}, the" if found[0].adds else "The"
            miss(f"""{sentence}
                Happened: with {PAIRS[pair]}: {hazard["kind"]}, by {hazard["call"]}{at}.
                {used} free is by {listed(found[0].frees)}.
                {before_its_add(answers.journal, found[0], hazard)}""")
        for handover in found:
            if len(handover.frees) != len(handover.made):
                miss(f"""{sentence}
                    Happened: {len(handover.made)} allocations, and {len(handover.frees)} frees.""")


@met_by_starter
def test_rounds(check):
    for pair in PAIRS:
        answers, rounds, size, found = ended(check, pair)
        if cannot_end(answers):
            continue
        if ended_by_free(answers):
            check.after(test_free)
        if answers.journal.where(did="hazard", kind=OUTSIDE):
            miss(f"""each round uses the numbers of its buffer, and no more: count in struct work.
                Happened: {hazard_words(answers.errors)}""")
        for count, handover in zip((rounds, 3), found):
            other = answers.journal.allocations
            if other and not handover.made:
                miss(f"""the buffer of each round comes from the pool of struct work.
                    Happened: {other[0]["call"]}{line_of(other[0])} takes it from another pool.""")
            used = (handover.fills, handover.adds.where(value=1), handover.copies)
            filled, added, copied = (calls.column("allocation") for calls in used)
            values, numbers = handover.fills.column("value"), list(range(count))
            same = filled == added == copied and len(set(filled)) == count
            if values != numbers or not same:
                miss(f"""each round allocates a buffer, fills it with the number of the round, adds
                    1, and copies the last number to the host, as at the start.
                    Happened: in {count} rounds {len(set(filled))} buffers were filled,
                    {len(set(added))} were added to, and {len(set(copied))} were copied.""")
            results = [x.get("host_offset", 0) // 4 for x in handover.copies]
            own = all("host_allocation" in x for x in handover.copies)
            if results != numbers or not own:
                check.after(test_host)  # who waits for a copy to a variable copies that
                miss(f"""each round copies the last number of its buffer to its own results[round].
                    Happened: in {count} rounds {len(set(results) & set(numbers))} results were
                    copied to: the host wrote others.""")
            question = f"{count} rounds of {size * 256} numbers: results"
            wrong = answers.wrong({f"{question}[{i}]": i + 1 for i in range(count)})
            if wrong and not answers.journal.hazards:
                check.after(test_host)
                miss(f"""the result of each round is its number: 1, 2, 3 and so on.
                    Happened: {wrong}""")


def test_prints(check):
    check.after()
    check.expect_right(check.run())
    check.expect_right(check.run(check.draw("printed", 1, 3), **LATE))
    check.expect_read("correct results #", "reserved #")
