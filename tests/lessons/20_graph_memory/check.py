"""Lesson 20: a free node in the graph, and the trim that is for graphs.

What counts is what launches allocate, use and free, whichever calls made the nodes. The end is
judged under a schedule in which the device does nothing until somebody waits for it."""

import re

from check import LATE, MIB, QUERY, SUCCESS, Journal, line_of, miss

REPORT = "cudaDeviceGetGraphMemAttribute"
BUILT = "main comes to its end when the graph that it builds is repaired."


def launches(journal):
    """The launches, also those that were refused."""
    return journal.calls("cudaGraphLaunch")


def allocations(journal):
    """What launches allocated, each with the launch that freed it (0: a call of the program; None:
    nothing), and the kind and the bytes of the work on it."""
    frees = {x["allocation"]: x.get("launch", 0) for x in journal.where(did="free")}
    for call in journal.frees:
        frees.setdefault(call.get("allocation"), 0)
    for line in journal.where(did="allocate"):
        ran = journal.where(did="run", allocation=line["allocation"])
        work = list(zip(ran.column("op"), ran.column("bytes")))
        yield dict(line, freed=frees.get(line["allocation"]), work=work)


def test_launches(check):
    journal = check.run(**LATE).journal
    captured = len(journal.ok("cudaStreamBeginCapture"))
    built = len(journal.ok("cudaGraphCreate"))
    if not captured == built == 1:
        miss(f"""the starter captures one graph, and builds one by hand.
            Happened: {captured} captures, {built} graphs built by hand.""")
    late = Journal(
        x
        for made in journal.ok("cudaGraphInstantiate")
        for x in journal.after(made).where(graph=made["graph"])
        if x.get("call", "").startswith("cudaGraphAdd")
    )
    if late:
        results = ", ".join(x["result"] for x in late)
        miss(f"""the free node is in the graph before cudaGraphInstantiate: a launch runs the nodes
            that the graph had then.
            Happened: cudaGraphInstantiate came first, and then {late.names}, which returned
            {results}.""")
    of = [graph or "none" for graph in launches(journal).column("graph")]
    if sorted(of, key=str) != [1, 1, 2, 2]:
        miss(f"""each of the two graphs is launched twice.
            Happened: the graphs launched were, in order: {", ".join(map(str, of)) or "none"}.""")
    refused = launches(journal).that(lambda x: x["result"] != SUCCESS)
    if refused:
        miss(f"""the built graph can be launched twice. A graph cannot be launched again before the
            memory of its last launch is freed.
            Happened: a launch of graph {refused[0]["graph"]} returned {refused[0]["result"]}.""")


def test_frees(check):
    check.after(test_launches)
    run = check.run(**LATE)
    found = list(allocations(run.journal))
    if len(found) != 6:
        miss(f"""the captured graph allocates twice in a launch, the built one once.
            Happened: {len(found)} allocations were made in four launches.""")
    other = [x for x in found if x["freed"] != x["launch"]]
    if other:
        last, by = other[-1], {None: "by nothing", 0: "by a call of the program"}
        how = by.get(last["freed"], f"in launch {last['freed']}")
        miss(f"""each launch frees what it allocates: by a node of the same graph
            (cudaGraphAddMemFreeNode), not later and not by the next launch.
            Happened: allocation {last["allocation"]} of launch {last["launch"]} was freed
            {how}.""")
    late = {
        "free before the use ends": "the free node of a launch may run before the memset has ended",
        "use after free": "an edge leads from the free node to the memset node",
    }
    if hazard := run.journal.hazards.where(kind=set(late)).first:
        miss(f"""the free node comes after the last use of the memory: an edge leads from the memset
            node to the free node.
            Happened: {late[hazard["kind"]]}.""")
    of = {x["launch"]: x["graph"] for x in launches(run.journal)}
    for x in found:
        written = sum(size for op, size in x["work"] if op in ("memset", "fill"))
        if of[x["launch"]] == 2 and written < x["bytes"]:
            work = [f"{op} of {size} bytes" for op, size in x["work"]]
            miss(f"""the built graph sets all the memory that it allocates, as in the starter:
                memory that nobody uses could be freed at any time.
                Happened: launch {x["launch"]} did this with its allocation of {x["bytes"]} bytes:
                {", ".join(work) or "nothing"}.""")


def ending(journal):
    """What follows the last launch."""
    return journal.after(launches(journal).last) if launches(journal) else journal


def in_order(journal):
    names = []
    for call in ending(journal).that(lambda x: "call" in x):
        name = call["call"]
        if name == REPORT:
            names.append("a report")
        elif name == "cudaMemPoolTrimTo":
            names.append(f"{name} to {call.get('keep')} bytes")
        elif name == "cudaDeviceGraphMemTrim":
            names.append(f"{name} of device {call.get('device')}")
        elif "Get" not in name and (name not in QUERY or names[-1:] != [name]):
            names.append(name)
    return f"after the last launch the calls were, in order: {', '.join(names)}."


def at_the_end(check):
    """The journal of a program that came to its end. Where it ended at a call that failed, another
    run repairs what it built."""
    run = check.run(**LATE)
    if ": cudaError" in run.errors and test_launches not in check.met:
        run = check.ask(BUILT, harness="ask_end.h", hazards=True, early=True, **LATE)
        if run.early or not ending(run.journal):
            check.after(test_launches)
    return run.journal


def test_pool(check):
    journal = at_the_end(check)
    trims = ending(journal).ok("cudaMemPoolTrimTo").where(pool=0, keep=0)
    if not trims:
        miss(f"""at the end, cudaMemPoolTrimTo of the default pool to 0: the pool's threshold keeps
            the memory at every synchronization.
            Happened: {in_order(journal)}""")
    if not ending(journal).before(trims.first).waits:
        miss(f"""after the last launch, first a synchronization, then the trims: a trim of a pool
            leaves what was freed but not synchronized. Neither a query nor a sleep is a
            synchronization.
            Happened: {in_order(journal)}""")
    if trims[0]["reserved"] != 0:
        miss(f"""the trim of the pool returns all that the pool reserves: what was freed before a
            synchronization.
            Happened: {trims[0]["reserved"] // MIB} MiB stayed in the pool; {in_order(journal)}""")


def test_trim(check):
    journal = at_the_end(check)
    trims = ending(journal).ok("cudaDeviceGraphMemTrim").where(device=0)
    if not trims:
        miss(f"""at the end, cudaDeviceGraphMemTrim, which returns the memory of graphs. No trim of
            a pool returns it, and destroying a graph returns nothing.
            Happened: {in_order(journal)}""")
    check.after(test_pool)
    reports = ending(journal).calls(REPORT).before(trims[0])
    pool = ending(journal).ok("cudaMemPoolTrimTo").first
    if not reports.after(pool) or not reports.last["value"]:
        miss(f"""the report "pool trimmed" comes after the trim of the pool, and the trim for graphs
            after the report: that line shows what the trim of the pool leaves.
            Happened: {in_order(journal)}""")
    if any(x["freed"] is None for x in allocations(journal)):
        check.after(test_frees)
    if trims[0]["reserved"] != 0:
        miss(f"""the trim for graphs returns all that was reserved for them: it leaves only what a
            launch is still using.
            Happened: {trims[0]["reserved"] // MIB} MiB stayed reserved for graphs.""")


def test_once(check):
    check.after(test_pool, test_trim)
    journal = at_the_end(check)
    first = launches(journal).first
    waits = journal.after(first).that(lambda x: "Synchronize" in x.get("call", ""))
    if len(waits) >= 2:
        miss(f"""no call is made twice: the stream orders the launches, and one wait after the last
            is all that the trims need.
            Happened: from the first launch on the host waited {len(waits)} times:
            {", ".join(x["call"] + line_of(x) for x in waits)}.""")
    trims = ending(journal).calls("cudaMemPoolTrimTo", "cudaDeviceGraphMemTrim")
    if len(trims) >= 3:
        miss(f"""no call is made twice: each kind of memory has its trim, and the first one after
            the synchronization returns all of it.
            Happened: {len(trims)} trims; {in_order(journal)}""")


def test_prints(check):
    check.after()
    check.expect_recorded(100)
    check.expect_read("graphs #", "default pool #", "counted to")


def test_sizes(check):
    check.after()
    for name, least, most in (("small", 1, 31), ("middle", 32, 128), ("large", 129, 2000)):
        mib = check.draw(name, least, most)
        run = check.run(mib)
        check.expect_clean(run)
        sizes = run.journal.where(did="allocate").column("bytes")
        other = [size for size in sizes if size != mib * MIB]
        if other:
            miss(f"""with {mib} MiB each allocation in a graph is of that size.
                Happened: a launch allocated {other[0]} bytes.""")
        printed = re.findall(r" for graphs +(\d+) MiB ", run.output)
        reports = run.journal.calls(REPORT).column("value")
        reserved = [str(value // MIB) for value in reports]
        read = iter(reserved)  # a program may read the figure more often than it prints one
        if len(printed) != 5 or not all(figure in read for figure in printed):
            miss(f"""for graphs, with {mib} MiB: {" ".join(reserved)} MiB, one figure for each of
                five reports.
                Happened: it printed {" ".join(printed)}.""")
