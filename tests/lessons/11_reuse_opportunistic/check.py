"""Lesson 11: finished or not matters if the policy is on; a synchronization matters in any case."""

import re
from collections import Counter

from check import Journal, hazard_words, line_of, met_by_starter, miss

OPPORTUNISTIC = "cudaMemPoolReuseAllowOpportunistic"
INTERNAL = "cudaMemPoolReuseAllowInternalDependencies"
ASKED = """serve(pool, bytes, earlier, stream), with a pool of server_pool, returns in every
    situation: while the earlier request is pending, and when it has finished."""
CERTAIN = ("same stream", "synchronized", "event")


class Case:
    """The first two allocations of a pool, and what was called between the free of the first and
    the second. opened: when the gate did at which the first stream held, or None; pending: the
    second allocation came before that."""

    def __init__(self, journal, pool, first, second, *_):
        self.pool, self.first, self.second = pool, first, second
        free = journal.ok("cudaFreeAsync").of(first).first
        used = journal.ok("launch_fill").of(second).first or second
        self.between = journal.between(free or first, used)
        holds = journal.where(did="run", op="hold", stream=first["stream"])
        self.opened = holds.after(first).first
        self.pending = self.opened and self.opened["n"] > second["n"]


def parts(check):
    """The journal, the six cases, the pool of the batch with its allocations, and the two cases of
    the server."""
    journal = check.run_as_far().journal
    made = [journal.ok("cudaMallocFromPoolAsync").where(pool=pool) for pool in journal.pools]
    table, server = (
        [Case(journal, one[0]["pool"], *one) for one in some if len(one) > 1]
        for some in (made[:6], made[7:])
    )
    return journal, table, (made[6] if len(made) > 6 else Journal()), server


def history(calls):
    """What the host called between a free and the allocation after it."""
    wanted = re.compile("Synchronize|Query|EventRecord|WaitEvent|TrimTo|SetAttribute|Memcpy$")
    words = Counter(
        x["call"] + (f" of stream {x['stream']}" if x.get("stream") else "") + f": {x['result']}"
        for x in calls
        if "result" in x and (x.get("acquired") or wanted.search(x["call"]))
    )
    found = [f"{words[each]} x {each}" for each in sorted(words)]
    return ", ".join(found) or "no synchronization and no query"


def policy(journal, pool):
    """Opportunistic reuse of a pool, in words."""
    return "off" if journal.set_to(OPPORTUNISTIC, pool=pool)[-1:] == [0] else "on"


@met_by_starter
def test_cases(check):
    journal, table, *_ = parts(check)
    if len(table) < 6:
        check.last.expect_return()
    rungs = [case.second["from"] for case in table]
    wanted = ["new", "opportunistic", "synchronized", "new", "new", "synchronized"]
    if rungs != wanted and all(case.opened for case in table):
        miss(f"""six cases, each with a pool of its own and two allocations from it, as the starter
            makes them in pool_for and try_case.
            Happened: {len(table)} pools gave two allocations each; the second had its memory from:
            {", ".join(rungs)}.""")
    if not all(case.pending for case in table[0::3]):
        miss(f"""in the cases "pending" the gate opens after the second allocation.
            Happened: {len(journal.ok("launch_hold"))} calls of launch_hold.""")
    for case in table[1::3]:
        if not case.between.ok("cudaStreamQuery").where(stream=case.first["stream"]):
            miss(f"""in the cases "finished" the host queries the freeing stream until cudaSuccess:
                a sleep proves nothing.
                Happened: between free and allocation: {history(case.between)}.""")


def before_phase(journal, phases, i):
    """What the host called between the free of the phase before and the allocation of phase i;
    None: the phase before had not freed its memory."""
    free = journal.ok("cudaFreeAsync").of(phases[i - 1]).first
    if free is None or free["n"] > phases[i]["n"]:
        return None
    early = journal.between(phases[i - 1], free).certain.last
    early = f" {early['call']}{line_of(early)} came before that free." if early else ""
    return f"""Between the free of phase {i} and this allocation:
        {history(journal.between(free, phases[i]))}.{early}"""


def expect_reuse(journal, phases):
    new = phases[1:].where(from_="new").first
    if new:
        grown = phases.index(new)
        happened = f"Phase {grown} had not freed its memory."
        if said := before_phase(journal, phases, grown):
            happened = f"Opportunistic reuse was {policy(journal, new['pool'])}. {said}"
        miss(f"""every phase after the first runs in memory that was freed. With opportunistic reuse
            off, the pool knows that a free is over when the host has synchronized after it. A query
            answers the program, and not the pool.
            Happened: phase {grown + 1} took new memory. {happened}""")


def after_policies(check, pool):
    """A pool whose policies are never set explains more than the rule about the cases."""
    if not check.run_as_far().journal.set_to(OPPORTUNISTIC, pool=pool):
        check.after(test_cases)


def test_batch(check):
    journal, _, phases, _ = parts(check)
    if len(phases) < 4:
        check.last.expect_return()
    streams = set(phases.column("stream"))
    if not len(phases) == len(streams) == 4:
        miss(f"""the batch has four phases; each allocates and frees its memory, in a stream of its
            own.
            Happened: allocations from the pool of the batch: {len(phases)}; their streams:
            {len(streams)}.""")
    after_policies(check, phases[0]["pool"])
    expect_reuse(journal, phases)


def after_batch(check):
    """What went wrong after the batch, which has the seventh pool, in words, or ""."""
    run = check.run_as_far()
    destroyed = run.journal.ok("cudaMemPoolDestroy").where(pool=set(run.journal.pools[6:7])).last
    if not destroyed or run.journal.hazards.before(destroyed):
        return ""
    return hazard_words(run.errors) or run.failed


def test_ordered(check):
    check.after(test_batch)
    run = check.run_as_far()
    if not run.stands_still and not after_batch(check):  # the rules about the server say that
        check.expect_ordered(run)


def test_certain(check):
    check.after()
    journal, _, phases, _ = parts(check)
    for i, phase in enumerate(phases[1:], 1):
        if phase["from"] == "opportunistic":
            miss(f"""the batch reuses memory by a rule that is certain. With the policy on, a phase
                gets the memory only if the device happens to have reached the free; after a
                synchronization, a phase always gets the memory.
                Happened: phase {i + 1} got its memory by opportunistic reuse.
                {before_phase(journal, phases, i)}""")
        if phase["from"] not in CERTAIN:
            miss(f"""the batch chooses between a synchronization and the policy. A pool that may not
                grow chooses by itself: it inserts a wait.
                Happened: phase {i + 1} got memory for which the pool made its stream wait.""")
    for schedule in ("instant", "late"):
        size = check.draw("size", 2100, 6000)
        journal = check.run(size, early=True, SIM_SCHEDULE=schedule).journal
        if len(journal.pools) <= 6:
            miss("""a batch with a pool of its own, whatever the size.
                Happened: the program ended before.""")
        batch = journal.ok("cudaMallocFromPoolAsync").where(pool=journal.pools[6])
        expect_reuse(journal, batch)


def served(check, situation):
    """The allocation that serve made in one situation of the check's, and that of the earlier
    request."""
    journal = check.ask(ASKED, check.draw("served", 2100, 6000)).journal
    fills = [journal.ok("launch_fill").where(value=x).first for x in (10 + situation, situation)]
    return [journal.allocations.of(fill).first for fill in fills]


def is_memory_of(made, earlier):
    """Do two allocations have a byte in common? (A small one may be in the same segment.)"""
    begin = max(made["offset"], earlier["offset"])
    end = min(x["offset"] + x["bytes"] for x in (made, earlier))
    return made["pool"] == earlier["pool"] and begin < end


@met_by_starter
def test_server_waits(check):
    journal, _, _, server = parts(check)
    pending = server[0] if server else None
    if pending:
        after_policies(check, pending.pool)
    if pending and not pending.pending:
        check.after(test_cases)
    if len(server) != 2 or not pending.pending:
        happened = "the gate was open: the starter launches the hold in try_case."
        elsewhere = journal.allocations.that(lambda x: x["pool"] not in journal.pools).first
        if elsewhere and not server:
            miss(f"""server_pool creates a pool of its own and decides its reuse policies
                (pool_for): the default pool is everybody's.
                Happened: {elsewhere["call"]}{line_of(elsewhere)} took the server's memory from a
                pool that the program did not create.""")
        if len(server) < 2:
            why = after_batch(check).rstrip(".")
            if not why and journal.hazards:
                check.after(test_ordered)  # the batch ended the program
            why = why or "without an error"
            happened = f"""the server got {len(server)} of 2 allocations, and then the program
                ended: {why}."""
        if check.last.ended == "flood":
            last = journal.queries.last
            asked = journal.after(journal.allocations.last).queries
            happened = f"{last['call']}{line_of(last)} asked {len(asked)} times, and never ended."
        miss(f"""the server gets memory while the earlier request is pending: the gate is still
            closed, so a host that waits for the earlier stream waits forever.
            Happened: {happened}""")
    for case in server:
        fill = journal.ok("launch_fill").of(case.second).first
        if fill and fill["stream"] != case.second["stream"]:
            miss(f"""serve allocates in the stream of the new request, which uses the memory.
                Happened: it allocated in stream {case.second["stream"]}, and the new request is in
                stream {fill["stream"]}.""")
    if pending.second["from"] != "new":
        miss(f"""while the earlier request is pending, the server gets new memory: with memory of
            the earlier request its stream would have to wait.
            Happened: it got memory of the earlier request, and its stream waits. Between free and
            allocation: {history(pending.between)}.""")
    queries = pending.between.queries
    if len(queries) > 1:
        miss(f"""serve does not wait: asking again and again whether a request has finished is a
            wait, too.
            Happened: while the earlier request was pending serve asked {len(queries)} times.""")
    for case in server:
        if wait := case.between.ok("cudaStreamWaitEvent").first:
            miss(f"""a request does not wait for the request in another stream: it takes memory that
                the device has finished with, or new memory.
                Happened: {wait["call"]}{line_of(wait)} makes its stream wait.""")
        set_to = journal.set_to(INTERNAL, pool=case.pool)
        if set_to[-1:] != [0]:
            miss(f"""in a full pool the server does not wait either: internal dependencies stay off,
                since they put a wait into its stream.
                Happened: internal dependencies were
                {"set to " + ", then ".join(map(str, set_to)) if set_to else "left on"}.""")
    made, earlier = served(check, 1)
    if not made or is_memory_of(made, earlier):
        miss("""called by the check while the earlier request is pending, serve returns other
            memory.
            Happened: it returned memory of the earlier request.""")


def test_server_takes(check):
    check.after(test_server_waits)
    journal, _, _, (_, case) = parts(check)
    if case.second["from"] == "new":
        miss(f"""when the earlier request has finished, the server takes its memory. The pool looks
            for finished frees if opportunistic reuse is on; a query changes nothing in the pool.
            Happened: it took new memory. Opportunistic reuse was {policy(journal, case.pool)};
            between free and allocation: {history(case.between)}.""")


def test_server_policy(check):
    check.after(test_server_takes)
    called = Journal(x for each in parts(check)[3] for x in each.between)
    called = called.that(lambda x: x.get("call", "").endswith("Synchronize"))
    if called:
        miss(f"""the host synchronizes nothing in serve, not even a stream that has finished: a
            server leaves it to the pool to see what the device has finished with.
            Happened: the host called {called.names}{line_of(called[0])}.""")
    for situation, words in (
        (2, "the earlier request has finished"),
        (3, "the earlier request is pending, and a third stream's has finished"),
    ):
        made, _ = served(check, situation)
        if not made or made["from"] != "opportunistic":
            memory = "new" if made and made["from"] == "new" else "other"
            miss(f"""called by the check when {words}, serve returns memory that the device has
                finished with: the policy of the pool decides, for every stream.
                Happened: it returned {memory} memory.""")


def test_prints(check):
    check.after()
    check.expect_right(check.run())
    check.expect_read("batch: sum #", "reserved #", "phase 1, #")
    mib = check.draw("printed", 17, 32)
    run = check.run(mib, SIM_SCHEDULE="late")
    check.expect_clean(run)
    text = check.expected_file().read_text()
    half = text.replace("64 MiB", "32 MiB").replace("128 MiB", "64 MiB")
    check.expect_same(f"with {mib} MiB the same lines, with half of each figure.", half, run.output)
