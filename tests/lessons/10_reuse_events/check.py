"""Lesson 10: which event gives freed memory to another stream."""

import re

from check import MIB, Miss, difference, expect

HOLD = "launch_hold"
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
        own = {x["allocation"] for x in made}
        self.calls = [x for x in journal if x.get("allocation") in own and "result" in x]
        self.fills = [x for x in self.calls if x["call"] == "launch_fill"]
        self.adds = [x for x in self.calls if x["call"] == "launch_add"]
        self.stores = [
            x
            for x in self.calls
            if x["call"].startswith("cudaMemcpy")
            and "source_allocation" not in x
            and x.get("kind") != "HostToDevice"
        ]
        self.frees = {x["allocation"]: x for x in self.calls if x["call"] == "cudaFreeAsync"}
        inputs, results = ({x["allocation"] for x in some} for some in (self.fills, self.adds))
        self.inputs = [x for x in made if x["allocation"] in inputs]
        self.results = [x for x in made if x["allocation"] in results]

    def streams(self):
        """The stages with the streams in which their calls are, of all rounds."""
        stages = {"load": self.fills, "work": self.adds, "store": self.stores}
        return {name: {x.get("stream") for x in calls} for name, calls in stages.items()}

    def named(self, stream):
        names = [name for name, streams in self.streams().items() if stream in streams]
        return f"the {names[0]} stream" if names else f"stream {stream}"


def own_pipeline(check):
    """That of the lesson's main: the last pool is its own."""
    journal = check.run().journal
    pools = journal.ok("cudaMemPoolCreate")
    return Pipeline(journal, pools.last["pool"] if pools else None)


def asked(check):
    """Two pipelines that the check runs, with other rounds than main's, and of a size of which no
    second allocation fits into a segment beside the first."""
    rounds, mib = check.draw("rounds", 25, 60), check.draw("mib", 17, 300)
    answers = check.ask(
        """pipeline(rounds, mib, pool, results, reserved) and the streams load, work
        and store as they were at the start, and a pipeline that ends without an error.""",
        rounds,
        mib,
    )
    found = [
        Pipeline(answers.journal, x["pool"]) for x in answers.journal.ok("cudaMemPoolCreate")[-2:]
    ]
    return answers, mib, list(zip((rounds, 3), found))


def every(check):
    """(pipeline, run): the lesson's own, and those that the check runs, if they can be judged."""
    yield own_pipeline(check), check.run()
    if test_rounds.__name__ in check.met:
        answers, _, pipelines = asked(check)
        yield from ((line, answers) for _, line in pipelines)


def come_after(journal, with_host=True):
    """{n of a call: the n of each call whose work is over before its own begins}: by the order of
    the streams, the events, and, if wanted, the waits of the host."""
    streams, records, host, before = {}, {}, set(), {}
    for call in [x for x in journal if "result" in x]:
        done, name, event = (
            streams.setdefault(call.get("stream"), set()),
            call["call"],
            call.get("event"),
        )
        done |= host
        before[call["n"]] = set(done)
        if name == "cudaEventRecord":
            records[event] = set(done)
        elif name == "cudaStreamWaitEvent":
            done |= records.get(event, set())
        elif call.get("acquired") and with_host:
            everything = set().union(*streams.values())
            host |= done if "stream" in call else records.get(event, everything)
        else:
            done.add(call["n"])
    return before


def test_streams(check):
    "three stages in three streams, and two allocations in each round"
    line = own_pipeline(check)
    streams = line.streams()
    used = set().union(*streams.values())
    expect(
        all(streams.values()) and len(used) == 3 == sum(map(len, streams.values())),
        """three stages in three streams, the same in each round: launch_fill in load, launch_add
           in work, the copy to the host in store.""",
        "; ".join(
            f"{name}: {len(each)} stream{'s' * (len(each) != 1)}" for name, each in streams.items()
        )
        + f". Together {len(used)}.",
    )
    counts = sorted(
        sum(x["stream"] == stream for x in line.made) for stream in {x["stream"] for x in line.made}
    )
    expect(
        counts == [8, 8],
        "each of the eight rounds allocates its input in one stream and its result in another.",
        f"the streams of the pipeline made {' and '.join(map(str, counts))} allocations.",
    )


def test_host(check):
    "the host waits nowhere in the pipeline"
    line = own_pipeline(check)
    expect(
        line.made,
        "a pipeline that allocates from its pool.",
        "the last pool that was created gave no memory.",
    )
    during = line.journal.after(line.made.first).before(line.made.last)
    waits = during.where(acquired=1)
    expect(
        not waits,
        """the host waits nowhere between the first and the last allocation of the
        pipeline: events order the streams.""",
        f"""the host called {", ".join(sorted({x["call"] for x in waits}))}, {len(waits)} times.""",
    )


def set_values(line):
    """{policy: the values to which the pool's was set, in their order}"""
    sets = line.journal.ok("cudaMemPoolSetAttribute").where(pool=line.pool)
    return {policy: [x["value"] for x in sets.where(attribute=policy)] for policy in POLICIES}


def test_policies(check):
    "the policies of the pipeline's pool stay"
    for policy, values in set_values(own_pipeline(check)).items():
        words, value = POLICIES[policy]
        expect(
            set(values) == {value},
            """the policies of the pool stay, from its creation to its
            end: follow event dependencies on, the two others off.""",
            f"{words} was set to {', then '.join(map(str, values)) or 'nothing'}.",
        )


def after_policies(check):
    """Pools whose policies are never set explain more than the rule about policies."""
    if not all(set_values(own_pipeline(check)).values()):
        check.after(test_policies)


def cases(journal):
    """(first allocation, second allocation) of each pool of the table."""
    made = journal.ok("cudaMallocFromPoolAsync")
    every = [made.where(pool=x["pool"]) for x in journal.ok("cudaMemPoolCreate")]
    return [each for each in every if len(each) == 2]


def test_cases(check):
    "the nine cases are as they were"
    check.after(test_streams)
    after_policies(check)
    journal = check.run().journal
    found = cases(journal)
    rungs = [second["from"] for _, second in found]
    new, event = "new", "event"
    expect(
        rungs == [new, event, new, event, new, new, new, event, new],
        """nine cases, each with a
        pool of its own, whose policies it has, and two allocations from it: the starter makes them
        in pool_following and try_case.""",
        f"{len(found)} pools gave two allocations each, {rungs.count('event')} of them by an "
        "event or the legacy stream.",
    )
    holds = [len(journal.ok(HOLD).after(first).before(second)) for first, second in found]
    expect(
        holds == [1] * 9,
        """in each case the freeing stream holds at a closed gate when the
        second allocation is made, so that the free is pending: try_case of the starter launches
        launch_hold there.""",
        f"{len(journal.ok(HOLD))} calls of launch_hold.",
    )


def test_ordered(check):
    "every access is ordered, and everything is freed"
    run = check.run()
    last = run.journal.last
    if last.get("did") != "exit" or last["hazards"] or last["live"] or run.status not in (0, 1):
        check.expect_clean(run)


def computed(line, number, size):
    """Does round `number` compute on the device, from its own input, into its own result?"""
    inputs = {x["allocation"] for x in line.fills if x["value"] == number and x["bytes"] == size}
    copies = line.journal.ok("cudaMemcpyAsync").where(bytes=size)
    results = {x["allocation"] for x in copies if x.get("source_allocation") in inputs}
    added = {x["allocation"] for x in line.adds if x["value"] == 1 and x["bytes"] == size}
    stores = [x for x in line.stores if x["allocation"] in results & added]
    own = [x for x in stores if "host_allocation" in x and x.get("host_offset", 0) == 4 * number]
    return bool(own), bool(stores)


def test_rounds(check):
    "each of the rounds that it is given computes on the device"
    answers, mib, pipelines = asked(check)
    for rounds, line in pipelines:
        check.expect_answers(
            """pipeline runs the rounds that it is given, and the result of each is
            its number: 1, 2, 3 and so on.""",
            answers,
            {
                f"pipeline of {rounds} rounds of {mib} MiB: results[{number}]": number + 1
                for number in range(rounds)
            },
        )
        expect(
            len(line.made) == 2 * rounds,
            """each round allocates its input and its result from the pool that pipeline is
               given.""",
            f"{len(line.made)} allocations of that pool in {rounds} rounds.",
            answers,
        )
        for number in range(rounds):
            there, somewhere = computed(line, number, mib * MIB)
            expect(
                there,
                """each round computes on the device, as in
                the starter: the input is filled with the number of the round and copied to the
                result, 1 is added there, and the last number of the result is copied to
                results[round].""",
                f"the copy of round {number + 1} went to other memory of the host."
                if somewhere
                else f"""in round {number + 1} one of these calls is missing, or is for other
                memory or another value.""",
                answers,
            )


def why_not(line, free, new):
    """Why the allocation `new` does not come after the free of the round before."""
    if free is None or free["n"] > new["n"]:
        return "What the round before had allocated was not freed by then."
    where = line.named(free["stream"])
    between = line.journal.after(free).before(new)
    record = between.ok("cudaEventRecord").where(stream=free["stream"]).last
    text = f"The memory of the round before had been freed in {where}, "
    if record is None:
        return (
            text
            + """but no event was recorded there between the free and this allocation: the
            newest record came before the free."""
        )
    waits = between.after(record).ok("cudaStreamWaitEvent").where(event=record["event"])
    waited = sorted({line.named(x["stream"]) for x in waits})
    text += f"""and an event was recorded there after the free. Waiting for that record before the
        allocation: {", ".join(waited) or "no stream"}."""
    early = (
        line.journal.after(free)
        .before(record)
        .ok("cudaStreamWaitEvent")
        .where(event=record["event"], stream=new["stream"])
    )
    return text + (
        f""" Before the record {line.named(new["stream"])} had waited for the event: that
        is a wait for the record of the round before."""
        if early
        else ""
    )


def expect_handed_over(line, made, kind):
    """Each allocation comes after the free of that of the round before."""
    before = come_after(line.journal)
    for number, (last, new) in enumerate(zip(made, made[1:]), 2):
        free, stream = line.frees.get(last["allocation"]), line.named(new["stream"])
        ordered = free and free["n"] in before[new["n"]]
        expect(
            ordered,
            f"""the {kind} of a round is freed, then an event is recorded in the stream
            that freed it, and then {stream} waits for that record, before it allocates the next
            {kind}: F, R, W.""",
            ""
            if ordered
            else f"round {number} allocates its {kind} in {stream}. {why_not(line, free, new)}",
        )


def test_input(check):
    "the memory of an input is handed on to the next input: free, record, wait"
    check.after(test_streams)
    line = own_pipeline(check)
    expect_handed_over(line, line.inputs, "input")


def test_result(check):
    "the memory of a result is handed on to the next result: free, record, wait"
    check.after(test_streams)
    line = own_pipeline(check)
    expect_handed_over(line, line.results, "result")


def why_new(line, new):
    """Why an allocation that comes after the free of the round before took new memory."""
    same = [x for x in line.made.before(new) if x["stream"] == new["stream"]]
    if not same:
        return ""
    memory, free = same[-1], line.frees.get(same[-1]["allocation"])
    neighbors = [
        x["allocation"]
        for x in line.made
        if x["offset"] in (memory["offset"] - x["bytes"], memory["offset"] + memory["bytes"])
    ]
    record = line.journal.ok("cudaEventRecord").where(stream=free["stream"]).before(new).last
    later = [
        x
        for x in line.frees.values()
        if x["allocation"] in neighbors
        and record
        and x["stream"] == free["stream"]
        and record["n"] < x["n"] < new["n"]
    ]
    return (
        f""" After the record {line.named(free["stream"])} also freed the neighbor of this
        memory, and neighbors that one stream frees become one range: it counts as freed with the
        last of them, behind the record."""
        if later
        else ""
    )


def expect_reuse(check, kind):
    """No allocation of that kind takes new memory after the first, in any pipeline."""
    for line, run in every(check):
        made = line.inputs if kind == "input" else line.results
        new = next((x for x in made[1:] if x["from"] == "new"), None)
        if new is not None:
            expect(
                False,
                f"from round 2 on each {kind} is allocated in memory that was freed.",
                f"""the {kind} of round {made.index(new) + 1} took new memory, in
                   {line.named(new["stream"])}.{why_new(line, new)}""",
                run,
            )


def test_load(check):
    "from the second round on no input takes new memory"
    check.after(test_streams, test_input)
    expect_reuse(check, "input")


def test_work(check):
    "from the second round on no result takes new memory"
    check.after(test_streams, test_result)
    expect_reuse(check, "result")


def test_ahead(check):
    "the load of a round does not wait for the store of the round before"
    check.after(test_streams)
    for line, run in every(check):
        # That the host waits is missed already.
        before = come_after(line.journal, with_host=False)
        for number, (store, fill) in enumerate(zip(line.stores, line.fills[1:]), 2):
            expect(
                store["n"] not in before[fill["n"]],
                f"""the load of round {number} does not wait
                for the store of round {number - 1}. The load stream needs the memory that the work
                stream freed, and nothing of the store stream.""",
                """an event or a call makes the
                load stream wait for the store stream, directly or through the work stream.""",
                run,
            )


def test_prints(check):
    "it prints what a real device prints, and the same with another size"
    after_policies(check)
    check.after(test_ordered, test_input, test_result, test_load, test_work)
    check.expect_right(check.run())
    # Two allocations of such a size fit into one segment, so each figure is that of a segment.
    mib = check.draw("size", 2, 9)
    run = check.run(mib)
    check.expect_clean(run)
    lines = difference(
        *(
            re.sub(r"\d+ MiB", "32 MiB", re.sub(" +", " ", text)).splitlines()
            for text in (check.expected_file().read_text(), run.output)
        )
    )
    if lines:
        raise Miss(
            f"Expected: with {mib} MiB the same lines, with 32 MiB for each figure.",
            *lines,
            run=run,
        )
