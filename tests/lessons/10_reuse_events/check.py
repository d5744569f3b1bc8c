"""Lesson 10: which event gives freed memory to another stream."""

import re

from check import COPY, MIB, RECORD, Journal, line_of, met_by_starter, miss

CALLED = """pipeline(rounds, mib, pool, results, reserved) and the streams load, work and store as
    they were at the start, and a pipeline that ends without an error."""
POLICIES = {
    "cudaMemPoolReuseFollowEventDependencies": ("follow event dependencies", 1),
    "cudaMemPoolReuseAllowOpportunistic": ("opportunistic reuse", 0),
    "cudaMemPoolReuseAllowInternalDependencies": ("internal dependencies", 0),
}


class Pipeline:
    """What the journal has of the pipeline that allocates from `pool`."""

    def __init__(self, journal, pool):
        made = journal.ok("cudaMallocFromPoolAsync").where(pool=pool)
        self.pool, self.made, self.journal = pool, made, journal
        calls = journal.of(made)
        self.calls = calls.that(lambda x: "result" in x)
        self.fills, self.adds = self.calls.calls("launch_fill"), self.calls.calls("launch_add")
        copies = self.calls.where(source_allocation=None).calls(*COPY)
        self.stores = copies.that(lambda x: x.get("kind") != "HostToDevice")
        self.frees = {x["allocation"]: x for x in self.calls.calls("cudaFreeAsync")}
        self.of = {"input": made.of(self.fills), "result": made.of(self.adds)}

    def streams(self):
        """The stages with the streams in which their calls are, of all rounds."""
        stages = {"load": self.fills, "work": self.adds, "store": self.stores}
        return {name: set(calls.column("stream")) for name, calls in stages.items()}

    def named(self, stream):
        names = [name for name, streams in self.streams().items() if stream in streams]
        return f"the {names[0]} stream" if names else f"stream {stream}"


def own_pipeline(check):
    """The pipeline that the lesson's main runs. Its pool is the last one."""
    journal = check.run().journal
    return Pipeline(journal, (journal.pools or [None])[-1])


def asked(check):
    """A run of two pipelines by the check, with other rounds than main's, and the (rounds, MiB,
    Pipeline) of each: of a size of which no second allocation fits into a segment next to the
    first, and of more bytes than an int can count."""
    rounds, mib = check.draw("rounds", 70, 100), check.draw("mib", 17, 300)
    large = check.draw("large", 2100, 6000)
    answers = check.ask_in_time(CALLED, rounds, mib, large)
    found = [Pipeline(answers.journal, pool) for pool in answers.journal.pools[-2:]]
    return answers, list(zip((rounds, 3), (mib, large), found))


def every(check):
    """The lesson's own pipeline, and those that the check runs, if they can be judged."""
    yield own_pipeline(check)
    if test_rounds in check.met:
        yield from (line for *_, line in asked(check)[1])


def come_after(journal, with_host=True):
    """{n of a call: the n of each call whose work is over before its own begins}: by the order of
    the streams, the events, and, if wanted, the waits of the host."""
    streams, records, host, before = {}, {}, set(), {}
    for call in journal.that(lambda x: "result" in x):
        name, event = call["call"], call.get("event")
        done = streams.setdefault(call.get("stream"), set())
        done |= host
        before[call["n"]] = set(done)
        if name in RECORD:
            records[event] = set(done)
        elif name == "cudaStreamWaitEvent":
            done |= records.get(event, set())
        elif call.get("acquired") and with_host:
            everything = set().union(*streams.values())
            host |= done if "stream" in call else records.get(event, everything)
        else:
            done.add(call["n"])
    return before


@met_by_starter
def test_streams(check):
    line = own_pipeline(check)
    streams = line.streams()
    used = set().union(*streams.values())
    if not all(streams.values()):  # the program ended there, or the memory is of another pool
        check.after(test_ordered if line.journal.hazards else test_rounds)
    if not all(streams.values()) or not len(used) == 3 == sum(map(len, streams.values())):
        found = [f"{name}: {len(x)} stream{'s' * (len(x) != 1)}" for name, x in streams.items()]
        miss(f"""three stages in three streams, the same in each round: launch_fill in load,
            launch_add in work, the copy to the host in store.
            Happened: {"; ".join(found)}. Together {len(used)}.""")


def set_values(line):
    """{policy: the values to which the pool's was set, in their order}"""
    return {policy: line.journal.set_to(policy, pool=line.pool) for policy in POLICIES}


@met_by_starter
def test_policies(check):
    for policy, values in set_values(own_pipeline(check)).items():
        words, value = POLICIES[policy]
        if set(values) != {value}:
            miss(f"""the pool keeps its policies from its creation to its end: follow event
                dependencies on, and the other two off.
                Happened: {words} was set to {", then ".join(map(str, values)) or "nothing"}.""")


def after_policies(check):
    """Pools whose policies are never set explain more than the rule about policies."""
    if not all(set_values(own_pipeline(check)).values()):
        check.after(test_policies)


def cases(journal):
    """(first allocation, second allocation) of each pool of the table, to which the last pool, the
    pipeline's, does not belong."""
    every = [journal.ok("cudaMallocFromPoolAsync").where(pool=pool) for pool in journal.pools[:-1]]
    return [each for each in every if len(each) == 2]


@met_by_starter
def test_cases(check):
    after_policies(check)
    journal = check.run().journal
    found = cases(journal)
    rungs = [second["from"] for _, second in found]
    new, event = "new", "event"
    if rungs != [new, event, new, event, new, new, new, event, new]:
        miss(f"""nine cases, each with a pool of its own and two allocations from it, as the starter
            makes them in pool_following and try_case.
            Happened: {len(found)} pools gave two allocations each, {rungs.count("event")} of them
            by an event or the legacy stream.""")
    holds = [len(journal.ok("launch_hold").between(*pair)) for pair in found]
    if holds != [1] * 9:
        miss(f"""in each case the freeing stream holds at a closed gate when the second allocation
            is made, so that the free is pending: try_case of the starter launches launch_hold
            there.
            Happened: {len(journal.ok("launch_hold"))} calls of launch_hold.""")


@met_by_starter
def test_ordered(check):
    run = check.run()
    hazards, given = run.journal.hazards, run.journal.ok("cudaMallocAsync").last
    kept = given and not run.journal.frees.of(given) and run.journal.where(did="exit", live=1)
    # The rule about free_shared judges its memory.
    if not kept and (not hazards or hazards.of(given) != hazards):
        check.expect_ordered(run)


def computed(line, number, size):
    """Does round `number` compute on the device, from its own input, into its own result?"""
    inputs = set(line.fills.where(value=number, bytes=size).column("allocation"))
    copies = line.journal.ok("cudaMemcpyAsync").where(bytes=size, source_allocation=inputs)
    added = line.adds.where(value=1, bytes=size)
    stores = line.stores.of(copies).of(added)
    own = [x for x in stores if "host_allocation" in x and x.get("host_offset", 0) == 4 * number]
    return bool(own), bool(stores)


@met_by_starter
def test_rounds(check):
    answers, pipelines = asked(check)
    for rounds, mib, line in pipelines:
        name = f"pipeline of {rounds} rounds of {mib} MiB"
        if wrong := answers.wrong({f"{name}: results[{i}]": i + 1 for i in range(rounds)}):
            miss(f"""pipeline runs the rounds that it is given, and the result of each is its
                number: 1, 2, 3 and so on.
                Happened: {wrong}""")
        if len(line.made) != 2 * rounds:
            miss(f"""each round allocates its input and its result from the pool that pipeline is
                given.
                Happened: {len(line.made)} allocations of that pool in {rounds} rounds.""")
        for number in range(rounds):
            there, somewhere = computed(line, number, mib * MIB)
            if not there:
                elsewhere = f"the copy of round {number + 1} went to other memory of the host."
                missing = f"""in round {number + 1} one of these calls is missing, or is for other
                    memory or another value."""
                miss(f"""each round computes on the device, as in the starter: the input is filled
                    with the number of the round and copied to the result, 1 is added there, and the
                    last number of the result is copied to results[round].
                    Happened: {elsewhere if somewhere else missing}""")


@met_by_starter
def test_host(check):
    for line in every(check):
        if not line.made:
            check.after(test_rounds)
            miss("""a pipeline that allocates from its pool.
                Happened: the last pool that was created gave no memory.""")
        destroyed = line.journal.ok("cudaMemPoolDestroy").where(pool=line.pool).first
        during = line.journal.part(line.made.first, destroyed)
        waits = during.synchronizations
        # The last wait, if it comes after the pipeline, is its caller's.
        if waits.after(line.made.last):
            waits = waits[:-1]
        if waits:
            miss(f"""the host waits nowhere in the pipeline, not even at its end: events order the
                streams, and the caller of pipeline waits.
                Happened: in a pipeline of {len(line.of["input"])} rounds the host waited in
                {waits.names}{line_of(waits[0])}; calls that wait: {len(waits)}.""")


def why_not(line, free, new):
    """Why the allocation `new` does not come after the free of the round before."""
    if free is None or free["n"] > new["n"]:
        return "What the round before had allocated was not freed by then."
    where = line.named(free["stream"])
    between = line.journal.between(free, new)
    record = between.records.where(stream=free["stream"]).last
    text = f"The memory of the round before had been freed in {where}, "
    if record is None:
        return f"""{text}but no event was recorded there between the free and this allocation: the
            newest record came before the free."""
    waits = between.ok("cudaStreamWaitEvent").where(event=record["event"])
    waited = sorted({line.named(x["stream"]) for x in waits.after(record)})
    text += f"""and an event was recorded there after the free. Waiting for that record before the
        allocation: {", ".join(waited) or "no stream"}."""
    if waits.before(record).where(stream=new["stream"]):
        text += f""" Before the record {line.named(new["stream"])} had waited for the event: that
            is a wait for the record of the round before."""
    return text


def expect_handed_over(check, kind):
    """Each allocation of that kind comes after the free of that of the round before."""
    line = own_pipeline(check)
    if len(line.made) != 16:
        check.after(test_rounds)
    before, made = come_after(line.journal), line.of[kind]
    for number, (last, new) in enumerate(zip(made, made[1:]), 2):
        free, stream = line.frees.get(last["allocation"]), line.named(new["stream"])
        if not free or line.journal.hazards.of(made):
            check.after(test_ordered)  # it is never freed, or allocated in another stream
        if not free or free["n"] not in before[new["n"]]:
            miss(f"""the {kind} of a round is freed, then an event is recorded in the stream that
                freed it, and then {stream} waits for that record, before it allocates the next
                {kind}: F, R, W.
                Happened: round {number} allocates its {kind} in {stream}.
                {why_not(line, free, new)}""")


def test_input(check):
    expect_handed_over(check, "input")


def test_result(check):
    expect_handed_over(check, "result")


def why_new(line, new):
    """Why an allocation that comes after the free of the round before took new memory."""
    memory = line.made.before(new).where(stream=new["stream"]).last
    if not memory:
        return ""
    free = line.frees.get(memory["allocation"])
    beside = [
        line.frees.get(x["allocation"])
        for x in line.made
        if x["offset"] in (memory["offset"] - x["bytes"], memory["offset"] + memory["bytes"])
    ]
    record = line.journal.records.where(stream=free["stream"]).before(new).last
    freed = Journal(x for x in beside if x and x["stream"] == free["stream"])
    if not record or not freed.between(record, new):
        return ""
    return f""" After the record {line.named(free["stream"])} also freed the neighbor of this
        memory, and neighbors that one stream frees become one range, which counts as freed with the
        last of them, after the record."""


def expect_reuse(check, kind, handed_over):
    """No allocation of that kind takes new memory after the first, in any pipeline."""
    check.after(test_ordered)
    made = own_pipeline(check).made
    if len(made) == 16:
        check.after(handed_over)
    if not made:
        check.after(test_rounds)  # where there is no round, none takes new memory
    for line in every(check):
        made = line.of[kind]
        new = made[1:].where(from_="new").first
        if new:
            miss(f"""from round 2 on, each {kind} is allocated in memory that was freed.
                Happened: the {kind} of round {made.index(new) + 1} took new memory, in
                {line.named(new["stream"])}.{why_new(line, new)}""")


def test_load(check):
    expect_reuse(check, "input", test_input)


def test_work(check):
    expect_reuse(check, "result", test_result)


@met_by_starter
def test_ahead(check):
    check.after(test_streams)
    for line in every(check):
        # If the host waits, another rule has been missed already.
        before = come_after(line.journal, with_host=False)
        for number, (store, fill) in enumerate(zip(line.stores, line.fills[1:]), 2):
            if store["n"] in before[fill["n"]]:
                miss(f"""the load of round {number} does not wait for the store of round
                    {number - 1}. The load stream needs the memory that the work stream freed, and
                    nothing of the store stream.
                    Happened: an event or a call makes the load stream wait for the store stream,
                    directly or through the work stream.""")


def shared(check):
    """The two calls of free_shared by the check: of each the lines from the hold to the next
    allocation."""
    sentence = "free_shared(data, one, other) frees any memory that any two streams use."
    mib = check.draw("shared", 2, 90)
    run = check.ask(sentence, mib, harness="ask_shared.h", hazards=True)
    journal = run.journal
    holds, made = journal.ok("launch_hold"), journal.ok("cudaMallocFromPoolAsync")
    return [journal.part(hold, made.after(hold).first) for hold in holds]


def why_early(lines, add, free):
    """What does not put a free in the stream `free` after the work of the stream `add`."""
    records = lines.records.where(stream=add["stream"]).after(add)
    if not records:
        stray = lines.records.after(add).first
        own = stray and stray["stream"] == free["stream"]
        where = "that frees" if own else "that free_shared was not given"
        stray = f" An event{line_of(stray)} was recorded in the stream {where}." if stray else ""
        return f"No event was recorded in the other stream.{stray}"
    waits = lines.ok("cudaStreamWaitEvent").where(event=records[0]["event"])
    waits = waits.where(stream=free["stream"])
    if early := waits.before(records[0]).first:
        return f"The wait{line_of(early)} comes before the record, so it waits for nothing."
    if not waits:
        return "The stream that frees did not wait for the event that was recorded in the other."
    return "The stream that frees waited for the event of the other after the free."


def test_shared(check):
    calls = shared(check)
    for lines in calls:
        waits = lines.synchronizations
        forever = lines.hazards.where(kind="waiting forever")
        if waits or forever:
            miss(f"""free_shared makes a stream wait, and not the host, which may have other work
                (YOUR WORK, 2 of 2).
                Happened: {(waits or forever)[0]["call"]} waited in the host.""")
        held, one = (lines.ok("launch_add") + [None, None])[:2]
        frees = lines.ok("cudaFreeAsync").of(held)
        if len(frees) != 1 or lines.ok("cudaFree"):
            miss(f"""free_shared frees the memory once, in a stream (cudaFreeAsync).
                Happened: calls of cudaFreeAsync: {len(frees)}; of cudaFree:
                {len(lines.ok("cudaFree"))}.""")
        other = one if frees[0]["stream"] == held["stream"] else held
        if other["n"] not in come_after(lines)[frees[0]["n"]]:
            miss(f"""the free comes after the uses in both streams: an event is recorded in the
                stream that does not free, and the stream that frees waits for it before the free. A
                free is ordered in its own stream only.
                Happened: {why_early(lines, other, frees[0])}""")
        records = lines.records.where(stream=frees[0]["stream"]).after(frees[0])
        waits = lines.ok("cudaStreamWaitEvent").where(stream=one["stream"])
        handed_back = any(waits.where(event=x["event"]).after(x) for x in records)
        if frees[0]["stream"] != one["stream"] and not handed_back:
            miss("""free_shared frees in `one`, so that the next allocation there gets the memory at
                once: memory that another stream freed needs an event after the free, too.
                Happened: it freed in `other`.""")
    if len(calls) != 2:
        miss("""free_shared returns to its caller.
            Happened: called by the check, it did not return.""")
    check.expect_destroyed(check.last)


def test_prints(check):
    after_policies(check)
    judged = (test_ordered, test_rounds, test_input, test_result, test_load, test_work, test_shared)
    check.after(*judged)
    check.expect_right(check.run())
    check.expect_read("correct results", "reserved #", "round 1, #")
    # Two allocations of such a size fit into one segment, so each figure is that of a segment.
    mib = check.draw("size", 2, 9)
    run = check.run(mib)
    check.expect_clean(run)
    figures = [
        re.sub(r"\d+ MiB", "32 MiB", text)
        for text in (check.expected_file().read_text(), run.output)
    ]
    check.expect_same(f"with {mib} MiB the same lines, with 32 MiB for each figure.", *figures)
