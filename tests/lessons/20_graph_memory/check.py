"""Lesson 20: a free node in the graph, and the trim that is for graphs.

What counts is what launches allocate, use and free, whichever calls made the nodes. The end is
judged under a schedule in which the device does nothing until somebody waits for it."""

import re

from check import MIB, expect

LATE = {"SIM_SCHEDULE": "late", "SIM_IDLE": "off"}


def launches(journal):
    """The launches, also those that were refused."""
    return journal.calls("cudaGraphLaunch")


def allocations(journal):
    """What launches allocated, each with the launch that freed it (0: a call of the program; None:
    nothing), and the kind and the bytes of the work on it."""
    frees = {x["allocation"]: x.get("launch", 0) for x in journal.where(did="free")}
    for call in journal.ok("cudaFreeAsync", "cudaFree"):
        frees.setdefault(call.get("allocation"), 0)
    for line in journal.where(did="allocate"):
        work = [
            (x["op"], x.get("bytes"))
            for x in journal.where(did="run", allocation=line["allocation"])
        ]
        yield dict(line, freed=frees.get(line["allocation"]), work=work)


def test_launches(check):
    "two graphs, one captured and one built by hand, each launched twice"
    journal = check.run(**LATE).journal
    captured = len(journal.ok("cudaStreamBeginCapture"))
    built = len(journal.ok("cudaGraphCreate"))
    expect(
        captured == built == 1,
        "the starter captures one graph, and builds one by hand.",
        f"{captured} captures, {built} graphs built by hand.",
    )
    of = sorted(x["graph"] for x in launches(journal))
    expect(
        of == [1, 1, 2, 2],
        "each of the two graphs is launched twice.",
        f"the graphs launched were, in order: {of}.",
    )
    late = [
        x["call"]
        for made in journal.ok("cudaGraphInstantiate")
        for x in journal.after(made)
        if x.get("graph") == made["graph"] and x.get("call", "").startswith("cudaGraphAdd")
    ]
    expect(
        not late,
        """the free node is in the graph before cudaGraphInstantiate: a launch runs the
        nodes that the graph had then.""",
        f"cudaGraphInstantiate came first, and then {', '.join(dict.fromkeys(late))}.",
    )
    refused = [x for x in launches(journal) if x["result"] != "cudaSuccess"]
    expect(
        not refused,
        """the built graph can be launched twice. A graph cannot be launched while
        what its last launch allocated is not freed.""",
        lambda: f"a launch of graph {refused[0]['graph']} returned {refused[0]['result']}.",
    )


def test_frees(check):
    "each launch frees what it allocates, after its last use"
    check.after(test_launches)
    run = check.run(**LATE)
    found = list(allocations(run.journal))
    expect(
        len(found) == 6,
        "the captured graph allocates twice in a launch, the built one once.",
        f"{len(found)} allocations were made in four launches.",
    )
    other = [x for x in found if x["freed"] != x["launch"]]
    by = {None: "by nothing", 0: "by a call of the program"}
    expect(
        not other,
        """each launch frees what it allocates: by a node of the same graph
        (cudaGraphAddMemFreeNode), not later and not by the next launch.""",
        lambda: f"""allocation {other[-1]["allocation"]} of launch {other[-1]["launch"]} was freed
        {by.get(other[-1]["freed"], f"in launch {other[-1]['freed']}")}.""",
    )
    of = {x["launch"]: x["graph"] for x in launches(run.journal)}
    unused = [x for x in found if of[x["launch"]] == 2 and x["work"] != [("memset", x["bytes"])]]
    expect(
        not unused,
        """the built graph sets all the memory that it allocates, as in the starter:
        memory that nobody uses could be freed at any time.""",
        lambda: f"""launch {unused[0]["launch"]} did this with its allocation:
        {", ".join(op for op, _ in unused[0]["work"]) or "nothing"}.""",
    )
    early = run.journal.where(did="hazard", kind="free before the use ends")
    expect(
        not early,
        """the free node comes after the last use of the memory: an edge leads from
        the memset node to the free node.""",
        "the free node of a launch may run before the memset has ended.",
    )


def ending(journal):
    """What follows the last launch."""
    return journal.after(launches(journal).last) if launches(journal) else journal


def in_order(journal):
    names = [x["call"] for x in ending(journal) if "call" in x and "Get" not in x["call"]]
    return f"after the last launch the calls were, in order: {', '.join(names)}."


def test_pool(check):
    "at the end a synchronization, and then a trim of the pool that returns all of it"
    journal = check.run(**LATE).journal
    trims = ending(journal).ok("cudaMemPoolTrimTo").where(pool=0, keep=0)
    expect(
        trims,
        """at the end cudaMemPoolTrimTo for the default pool, to 0: its threshold keeps
        the memory at every synchronization.""",
        lambda: in_order(journal),
    )
    waits = ending(journal).where(acquired=1)
    expect(
        waits and waits[0]["n"] < trims[0]["n"],
        """after the last launch first a
        synchronization, then the trims: a trim of a pool leaves what was freed and not
        synchronized. A query is a wait if it is asked until it succeeds, a sleep is none.""",
        lambda: in_order(journal),
    )
    expect(
        trims[0]["reserved"] == 0,
        """the trim of the pool returns all that the pool reserves:
        what was freed before a synchronization.""",
        f"{trims[0]['reserved'] // MIB} MiB stayed in the pool.",
    )


def test_trim(check):
    "then the memory of graphs is returned, after the report of what the pool's trim leaves"
    journal = check.run(**LATE).journal
    trims = ending(journal).ok("cudaDeviceGraphMemTrim").where(device=0)
    expect(
        trims,
        """at the end cudaDeviceGraphMemTrim, which returns the memory of graphs. No trim
        of a pool returns it, and destroying a graph returns nothing.""",
        lambda: in_order(journal),
    )
    reports = ending(journal).calls("cudaDeviceGetGraphMemAttribute").before(trims[0])
    pool = ending(journal).ok("cudaMemPoolTrimTo").first
    expect(
        pool and reports.after(pool) and reports.last["value"],
        """the trim for graphs comes
        after the report "pool trimmed": that line shows what the trim of the pool leaves.""",
        lambda: in_order(journal),
    )
    check.after(test_pool)
    if any(x["freed"] is None for x in allocations(journal)):
        check.after(test_frees)
    expect(
        trims[0]["reserved"] == 0,
        """the trim for graphs returns all that was reserved for them:
        it leaves what a launch is using.""",
        f"{trims[0]['reserved'] // MIB} MiB stayed reserved for graphs.",
    )


def test_once(check):
    "the host waits once, and no call is made twice"
    check.after(test_pool)
    journal = check.run(**LATE).journal
    first = launches(journal).first
    waits = [x["call"] for x in journal.after(first) if "Synchronize" in x.get("call", "")]
    expect(
        len(waits) < 2,
        """no call is made twice: the stream orders the launches, and one wait
        after the last is all that the trims need.""",
        f"from the first launch on the host waited {len(waits)} times: {', '.join(waits)}.",
    )
    trims = ending(journal).calls("cudaMemPoolTrimTo", "cudaDeviceGraphMemTrim")
    expect(
        len(trims) < 3,
        """no call is made twice: each kind of memory has its trim, and the first
        one after the synchronization returns all of it.""",
        lambda: f"{len(trims)} trims; {in_order(journal)}",
    )


def test_prints(check):
    "it prints what a real device prints"
    check.after_the_rest()
    check.expect_right(check.run())
    check.expect_right(check.run(100), "100")


def test_sizes(check):
    "each line prints what is reserved, for any size"
    check.after_the_rest()
    for mib in (check.draw("small", 2, 31), check.draw("large", 129, 200)):
        run = check.run(mib)
        check.expect_clean(run)
        other = [x["bytes"] for x in run.journal.where(did="allocate") if x["bytes"] != mib * MIB]
        expect(
            not other,
            f"with {mib} MiB each allocation in a graph is of that size.",
            f"a launch allocated {other[:1]} bytes.",
            run,
        )
        printed = re.findall(r" for graphs +(\d+) MiB ", run.output)
        reserved = [
            str(x["value"] // MIB) for x in run.journal.calls("cudaDeviceGetGraphMemAttribute")
        ]
        expect(
            printed == reserved,
            f"""for graphs, with {mib} MiB: {" ".join(reserved)} MiB, one
            figure for each report.""",
            f"printed were {' '.join(printed)}.",
            run,
        )
