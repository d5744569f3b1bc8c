"""Lesson 11: finished or not matters if the policy is on; a synchronization matters in any case."""

import re
from collections import Counter
from types import SimpleNamespace

from check import Miss, difference, expect

OPPORTUNISTIC = "cudaMemPoolReuseAllowOpportunistic"
INTERNAL = "cudaMemPoolReuseAllowInternalDependencies"
CERTAIN = ("same stream", "synchronized", "event")


def case_of(journal, pool):
    """The first two allocations of a pool, and the free of the first; None: it gave fewer."""
    made = journal.ok("cudaMallocFromPoolAsync").where(pool=pool)
    if len(made) < 2:
        return None
    free = journal.ok("cudaFreeAsync").where(allocation=made[0]["allocation"]).first
    freed = free["n"] if free else made[0]["n"]
    between = type(journal)(x for x in journal if freed < x["n"] < made[1]["n"])
    opened = journal.where(did="run", op="hold", stream=made[0]["stream"]).after(made[0]).first
    return SimpleNamespace(
        pool=pool,
        first=made[0],
        second=made[1],
        between=between,
        opened=opened["n"] if opened else None,
    )


def parts(check):
    """The journal, the six cases, the pool of the batch with its allocations, and the two cases of
    the server."""
    journal = check.run().journal
    pools = [x["pool"] for x in journal.ok("cudaMemPoolCreate")]
    batch = pools[6] if len(pools) > 6 else None
    table, server = (
        [case for case in (case_of(journal, pool) for pool in some) if case]
        for some in (pools[:6], pools[7:])
    )
    return journal, table, journal.ok("cudaMallocFromPoolAsync").where(pool=batch), server


def history(calls):
    """What the host called between a free and the allocation after it."""
    wanted = re.compile("Synchronize|Query|EventRecord|WaitEvent")
    words = Counter(
        x["call"] + (f" of stream {x['stream']}" if x.get("stream") else "") + f": {x['result']}"
        for x in calls
        if "result" in x and (x.get("acquired") or wanted.search(x["call"]))
    )
    return ", ".join(f"{words[each]} x {each}" for each in sorted(words)) or (
        "no synchronization and no query"
    )


def values(journal, pool, policy):
    return [
        x["value"] for x in journal.ok("cudaMemPoolSetAttribute").where(pool=pool, attribute=policy)
    ]


def policy(journal, pool):
    """Opportunistic reuse of a pool, in words."""
    return "off" if values(journal, pool, OPPORTUNISTIC)[-1:] == [0] else "on"


def test_cases(check):
    "the six cases are as they were"
    journal, table, *_ = parts(check)
    rungs = [case.second["from"] for case in table]
    expect(
        rungs == ["new", "opportunistic", "synchronized", "new", "new", "synchronized"]
        or not all(case.opened for case in table),
        """six cases, each with a pool of its own,
        whose policies it has, and two allocations from it: the starter makes them in pool_for and
        try_case.""",
        f"""{len(table)} pools gave two allocations each; the second had its memory
        from: {", ".join(rungs)}.""",
    )
    expect(
        all(case.opened and case.opened > case.second["n"] for case in table[0::3]),
        'in the cases "pending" the gate opens after the second allocation.',
        f"{len(journal.ok('launch_hold'))} calls of launch_hold.",
    )
    for case in table[1::3]:
        asked = case.between.ok("cudaStreamQuery").where(stream=case.first["stream"])
        expect(
            asked,
            """in the cases "finished" the host queries the freeing stream until
            cudaSuccess: a sleep proves nothing.""",
            f"between free and allocation: {history(case.between)}.",
        )


def before_phase(journal, phases, i):
    """What the host called between the free of the phase before and the allocation of phase i;
    None: the phase before had not freed its memory."""
    free = journal.ok("cudaFreeAsync").where(allocation=phases[i - 1]["allocation"]).first
    if free is None or free["n"] > phases[i]["n"]:
        return None
    return f"""Between the free of phase {i} and this allocation:
        {history(journal.after(free).before(phases[i]))}."""


def expect_reuse(journal, phases):
    grown = next((i for i in range(1, len(phases)) if phases[i]["from"] == "new"), None)
    if grown is not None:
        said = before_phase(journal, phases, grown)
        state = policy(journal, phases[0]["pool"])
        expect(
            False,
            "every phase after the first runs in memory that was freed.",
            f"phase {grown + 1} took new memory. "
            + (
                f"Opportunistic reuse was {state}. {said}"
                if said
                else f"Phase {grown} had not freed its memory."
            ),
        )


def after_policies(check, pool):
    """A pool whose policies are never set explains more than the rule about the cases."""
    if not values(parts(check)[0], pool, OPPORTUNISTIC):
        check.after(test_cases)


def test_batch(check):
    "each phase of the batch has a stream of its own, and runs in the memory of the first"
    journal, _, phases, _ = parts(check)
    streams = {x["stream"] for x in phases}
    expect(
        len(phases) == len(streams) == 4,
        """the batch has four phases; each allocates and frees
        its memory, in a stream of its own.""",
        f"""the pool of the batch gave {len(phases)}
        allocations, in {len(streams)} streams.""",
    )
    after_policies(check, phases[0]["pool"])
    expect_reuse(journal, phases)


def test_ordered(check):
    "every access is ordered, and everything is freed"
    check.after(test_batch)
    run = check.run()
    last = run.journal.last
    # Who waits forever is told so by the rule about the server.
    if "hazard: waiting forever" not in run.errors and (
        last.get("did") != "exit" or last["hazards"] or last["live"] or run.status not in (0, 1)
    ):
        check.expect_clean(run)


def test_certain(check):
    "the batch reuses by a rule that is certain, however fast the device is"
    check.after(test_batch, test_ordered)
    journal, _, phases, _ = parts(check)
    for i, phase in enumerate(phases):
        expect(
            i == 0 or phase["from"] != "opportunistic",
            """the batch reuses by a rule that is
            certain. With the policy on, a phase gets the memory if the device happens to be far
            enough when it allocates; after a synchronization it gets it in any case.""",
            f"""phase {i + 1} got its memory by opportunistic reuse.
               {before_phase(journal, phases, i) if i else ""}""",
        )
        expect(
            i == 0 or phase["from"] in CERTAIN,
            """the batch decides between a call and the
            policy. A pool that inserts a wait, because it may not grow, has decided by itself.""",
            f"phase {i + 1} got memory for which the pool made its stream wait.",
        )
    for schedule in ("instant", "late"):
        mib = check.draw("size", 17, 300)
        run = check.run(mib, SIM_SCHEDULE=schedule)
        pools = [x["pool"] for x in run.journal.ok("cudaMemPoolCreate")]
        expect(
            len(pools) > 6,
            "a batch with a pool of its own, whatever the size.",
            "the program ended before.",
        )
        expect_reuse(run.journal, run.journal.ok("cudaMallocFromPoolAsync").where(pool=pools[6]))


ASKED = """serve(pool, bytes, earlier, stream), with a pool of server_pool, returns in every
    situation: while the earlier request is pending, and when it has finished."""


def served(check, situation):
    """The journal, the allocation that serve made in one situation of the check's, and that of the
    earlier request."""
    answers = check.ask(ASKED, check.draw("served", 1, 100))

    def made(value):
        fill = answers.journal.ok("launch_fill").where(value=value).first
        return (
            fill
            and answers.journal.ok("cudaMallocFromPoolAsync", "cudaMallocAsync")
            .where(allocation=fill["allocation"])
            .first
        )

    return answers, made(10 + situation), made(situation)


def is_memory_of(made, earlier):
    """Do two allocations have a byte in common? (A small one may be in the same segment.)"""
    begin, end = (
        max(x["offset"] for x in (made, earlier)),
        min(x["offset"] + x["bytes"] for x in (made, earlier)),
    )
    return made["pool"] == earlier["pool"] and begin < end


def test_server_waits(check):
    "the server waits for nothing"
    journal, _, _, server = parts(check)
    pending = server[0] if server else None
    if pending:
        after_policies(check, pending.pool)
    if pending and not (pending.opened and pending.opened > pending.second["n"]):
        check.after(test_cases)
    expect(
        len(server) == 2 and pending.opened and pending.opened > pending.second["n"],
        """the server gets memory while the earlier request is pending: the gate is still closed,
           so a host that waits for the earlier stream waits forever.""",
        f"""the server got
           {len(server)} of 2 allocations, and then the program ended."""
        if len(server) < 2
        else "the gate was open: the starter launches the hold in try_case.",
    )
    expect(
        pending.second["from"] == "new",
        """while the earlier request is pending, the server gets
        new memory: with memory of the earlier request its stream would have to wait.""",
        f"""it got
        memory of the earlier request, and its stream waits. Between free and allocation:
        {history(pending.between)}.""",
    )
    queries = pending.between.calls("cudaStreamQuery", "cudaEventQuery")
    expect(
        len(queries) <= 1,
        """serve does not wait: to ask again and again whether a request has
        finished is a wait, too.""",
        f"""while the earlier request was pending serve asked
        {len(queries)} times.""",
    )
    for case in server:
        set_to = values(journal, case.pool, INTERNAL)
        expect(
            set_to[-1:] == [0],
            """in a full pool the server does not wait either: internal
            dependencies stay off, since they put a wait into its stream.""",
            f"""internal
            dependencies were set to {", then ".join(map(str, set_to)) or "nothing"}.""",
        )
    answers, made, earlier = served(check, 1)
    expect(
        made and not is_memory_of(made, earlier),
        """called by the check while the earlier request is
        pending, serve returns other memory.""",
        "it returned memory of the earlier request.",
        answers,
    )


def finished(check):
    """The case of the server in which the earlier request has finished, and what happened there."""
    if "hazard: waiting forever" in check.run().errors:
        check.after(test_server_waits)
    journal, _, _, server = parts(check)
    case = server[1] if len(server) > 1 else None
    expect(
        case,
        "when the earlier request has finished, the server takes its memory.",
        "the server made no second allocation.",
    )
    return (
        case,
        f"""Opportunistic reuse was {policy(journal, case.pool)}; between free and
        allocation: {history(case.between)}.""",
    )


def test_server_takes(check):
    "the server takes memory that the device has finished with"
    case, happened = finished(check)
    expect(
        case.second["from"] != "new",
        """when the earlier request has finished, the server takes
        its memory. The pool looks for finished frees if opportunistic reuse is on; a query changes
        nothing in the pool.""",
        f"it took new memory. {happened}",
    )


def test_server_policy(check):
    "the server leaves that to the policy of its pool, and synchronizes nothing"
    check.after(test_server_takes)
    case, happened = finished(check)
    expect(
        case.second["from"] != "synchronized",
        """the host synchronizes nothing in serve, not
        even a stream that has finished: a server leaves it to the pool to see what the device has
        finished with.""",
        f"the memory was synchronized. {happened}",
    )
    if test_server_waits.__name__ not in check.met:
        return
    for situation, words in (
        (2, "the earlier request has finished"),
        (3, "the earlier request is pending, and a third stream's has finished"),
    ):
        answers, made, _ = served(check, situation)
        expect(
            made and made["from"] == "opportunistic",
            f"""called by the check when {words}, serve
            returns memory that the device has finished with: the policy of the pool decides, for
            every stream.""",
            "it returned new memory."
            if made and made["from"] == "new"
            else "it returned other memory.",
            answers,
        )


def test_prints(check):
    "it prints what a real device prints, and the same with another size and schedule"
    check.after(
        test_cases,
        test_batch,
        test_ordered,
        test_certain,
        test_server_waits,
        test_server_takes,
        test_server_policy,
    )
    check.expect_right(check.run())
    mib = check.draw("printed", 17, 32)
    run = check.run(mib, SIM_SCHEDULE="late")
    check.expect_clean(run)
    wanted = (
        check.expected_file().read_text().replace("64 MiB", "32 MiB").replace("128 MiB", "64 MiB")
    )
    lines = difference(*(re.sub(" +", " ", text).splitlines() for text in (wanted, run.output)))
    if lines:
        raise Miss(
            f"Expected: with {mib} MiB the same lines, with half of each figure.", *lines, run=run
        )
