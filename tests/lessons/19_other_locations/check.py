"""Lesson 19: an allocation of a host pool on which host and device work.

The program runs under a schedule in which the device does nothing until somebody waits for it, so
a sleep hides no wait."""

from collections import Counter

from check import LATE, SUCCESS, expect_narrow_wait, expect_no_asking, line_of, met_by_starter, miss

TAKES = """work_together takes a pool, an allocation of it, its number of ints and the stream of the
    allocation, and returns"""
NO_WAIT = "waited for nothing"
WAITS = "A sleep is no wait, and neither is a query."


def own_pool(journal):
    """The host pool that the program creates, and the allocation from it."""
    pool = journal.ok("cudaMemPoolCreate").where(device=-1).first
    data = pool and journal.ok("cudaMallocFromPoolAsync").where(pool=pool["pool"]).first
    return pool, data


def found(check):
    """(the journal, the allocation, the kernel on it or None); the rule waits for an allocation."""
    journal = check.run(**LATE).journal
    _, data = own_pool(journal)
    if not data:
        check.after(test_around)
    return journal, data, journal.ok("launch_add").of(data).first


def added(adds, ints=0):
    """What kernels added to one allocation between them: (how many ints, how much), in the order of
    their places. ints: the ints of the allocation, or as many as the kernels reach."""
    steps, stretches, total = Counter({0: 0, ints: 0}), [], 0
    for add in adds:
        begin = add.get("inner_offset", 0) // 4
        steps[begin] += add["value"]
        steps[begin + add["bytes"] // 4] -= add["value"]
    ends = sorted(steps)
    for begin, end in zip(ends, ends[1:]):
        total += steps[begin]
        before = stretches.pop()[0] if stretches and stretches[-1][1] == total else 0
        stretches.append((before + end - begin, total))
    return stretches


def listed(stretches):
    return " and ".join(f"{value} to {ints} ints" for ints, value in stretches) or "nothing"


@met_by_starter
def test_around(check):
    journal = check.run(**LATE).journal
    asked = [(x["location"], x["type"]) for x in journal.ok("cudaMemGetDefaultMemPool")]
    if asked[:3] != [("device", "pinned"), ("host", "pinned"), ("device", "managed")]:
        miss(f"""show requests the default pools of device, host and managed memory, as in the
            starter.
            Happened: it requested: {", ".join(" ".join(x) for x in asked)}.""")
    pool, data = own_pool(journal)
    if not data:
        devices = journal.calls("cudaMemPoolCreate").column("device")
        places = ", ".join("the host" if x == -1 else f"device {x}" for x in devices)
        miss(f"""main creates a pool with the location cudaMemLocationTypeHost and allocates from
            it, as in the starter.
            Happened: pools were created on: {places}""")
    if refused_access(journal) or journal.where(result="cudaErrorIllegalAddress"):
        return  # the program ended there; another rule says so
    current = journal.ok("cudaMemSetMemPool").where(pool=pool["pool"], location="host")
    if len(current) != 1:
        miss("""main makes the host pool current for host memory with cudaMemSetMemPool, as in the
            starter.
            Happened: it made none current, or another.""")
    if not journal.ok("cudaMallocAsync").where(pool=0).after(current[0]):
        miss("""and then main calls cudaMallocAsync, as in the starter.
            Happened: it did not, or that took memory of another pool.""")


def refused_access(journal):
    calls = journal.calls("cudaMemPoolSetAccess")
    return calls.that(lambda x: x.get("result", SUCCESS) != SUCCESS)


def set_on_what(journal):
    if journal.calls("cudaDeviceEnablePeerAccess"):
        return "cudaDeviceEnablePeerAccess was called; it gives access to no pool."
    if set_for := journal.calls("cudaMemPoolSetAccess").first:
        return f"cudaMemPoolSetAccess{line_of(set_for)} was called for another pool."
    return "cudaMemPoolSetAccess was not called before the kernel ran."


def test_access(check):
    journal, data, kernel = found(check)
    refused = refused_access(journal)
    if refused:
        miss(f"""cudaMemPoolSetAccess gets a location of type cudaMemLocationTypeDevice with the
            number 0, and cudaMemAccessFlagsProtReadWrite: the kernel reads and writes.
            Happened: it returned {", ".join(sorted(set(refused.column("result"))))}.""")
    if not kernel:
        check.after(test_kernel)
    grants = journal.ok("cudaMemPoolSetAccess").where(pool=data["pool"])
    if not grants:
        miss(f"""the pool gives access: cudaMemPoolSetAccess. A host pool begins with access for the
            host and for no device, and a kernel without access faults.
            Happened: {set_on_what(journal)}""")
    given = grants.that(lambda x: 0 in x.get("opened", []))
    if not given:
        names = [f"device {device}" for x in grants for device in x.get("opened", [])]
        miss(f"""the location in cudaMemAccessDesc is the device that gets access, here device 0,
            with cudaMemAccessFlagsProtReadWrite. The host has access to its pool already.
            Happened: cudaMemPoolSetAccess{line_of(grants[0])} gave access to
            {", ".join(names) or "no device"}.""")
    if not given.before(kernel):
        miss(f"""access comes before the kernel that needs it. If it is given later, it may come too
            late.
            Happened: cudaMemPoolSetAccess{line_of(given[0])} was called after
            launch_add{line_of(kernel)}.""")


def test_kernel(check):
    journal, data, kernel = found(check)
    later = journal.after(data)
    copies = later.that(lambda x: x.get("call", "").startswith("cudaMemcpy"))
    copies += later.ok("cudaMalloc", "cudaMallocHost", "cudaHostAlloc")
    if copies:
        names = [x["call"] + line_of(x) for x in copies]
        miss(f"""nothing is copied. Memory of a host pool has one address, good for the host and,
            with access, for the device.
            Happened: after the allocation the program called: {", ".join(names)}.""")
    if refused_access(journal):
        check.after(test_access)
    if not kernel:
        miss("""the device adds 2 to each int of the allocation: launch_add(data, 2, count, stream).
            Happened: launch_add was not called for this allocation.""")
    ints = data["bytes"] // 4
    stretches = added(journal.ok("launch_add").of(data), ints)
    if stretches != [(ints, 2)]:
        miss(f"""the host writes 40 into each of the {ints} ints, and the device adds 2 to it: both
            work on the same memory.
            Happened: launch_add added {listed(stretches)}.""")
    check.after(test_access)  # without access it added nothing


def touched(journal, how):
    """The host touched the memory too early."""
    return journal.hazards.where(kind=f"host access {how}")


def waited(journal, start, end):
    """With which calls the host waited, or asked, between two lines."""
    names = []
    for line in journal.between(start, end).that(lambda x: "call" in x):
        if line.get("acquired") or "Synchronize" in line["call"] or "Query" in line["call"]:
            of = [f" for {word} {line[word]}" for word in ("stream", "event") if word in line]
            names.append(line["call"] + "".join(of[:1]))
    return "the host " + (f"called {', '.join(dict.fromkeys(names))}" if names else NO_WAIT)


def test_allocated(check):
    journal, data, kernel = found(check)
    if touched(journal, "before allocation"):
        miss(f"""the host waits for the allocation before it writes: the pointer is known at once,
            but the memory may be touched only after the stream has reached the allocation. {WAITS}
            Happened: the allocation is in stream {data["stream"]}; between it and launch_add
            {waited(journal, data, kernel)}.""")


def test_waited(check):
    journal, data, kernel = found(check)
    if not kernel:
        check.after(test_kernel)
    if touched(journal, "not ordered after a write"):
        miss(f"""the host waits for the device before it reads. A load is not a call, so no stream
            orders it: the host itself has to wait. {WAITS}
            Happened: launch_add is in stream {kernel["stream"]}; between it and the end of
            work_together {waited(journal, kernel, journal.ok("cudaMemSetMemPool").first)}.""")
    expect_narrow_wait(
        journal.after(data), f"the host waits for the stream of the allocation, in a call. {WAITS}"
    )


def test_host(check):
    journal, data, kernel = found(check)
    if not kernel:
        check.after(test_kernel)
    ran = journal.where(did="run", allocation=data["allocation"])
    others = [journal.numbered[x["of"]] for x in ran if x["op"] != "add"]
    if others:
        check.after(test_kernel)
        miss(f"""the host writes 40 into each int: host and device work on the same memory, and each
            does its half.
            Happened: the device wrote it, with {others[0]["call"]}{line_of(others[0])}.""")
    check.after(test_allocated, test_waited, test_kernel)
    count = check.draw("changed", 2000, 90000)
    place = check.draw("place", 0, count - 1)
    run = check.ask(f"{TAKES}.", count, place, harness="ask_changed.h", **LATE)
    if wrong := run.wrong({f"work_together with {count} ints, one of them not 42,": count - 1}):
        miss(f"""work_together returns how many of the ints that it is given are 42: the host looks
            at each. The check's own launch_add had changed one of them.
            Happened: {wrong}""")


def test_others(check):
    check.after(test_kernel, test_access)
    count = check.draw("count", 1000, 2000000)
    half = count // 2 + 1
    run = check.ask(f"{TAKES}, for every host pool.", count, hazards=True, **LATE)
    adds = run.journal.ok("launch_add")
    memories = dict.fromkeys(adds.column("allocation"))
    stretches = [each for x in memories for each in added(adds.where(allocation=x))]
    if stretches != [(count, 2), (half, 2)]:
        miss(f"""work_together uses the count that it is given: the device adds 2 to that many ints.
            Happened: with {count} and {half} ints the device added {listed(stretches)}.""")
    hazard = run.journal.hazards.that(lambda x: x["kind"].startswith("host access")).first
    if hazard:
        check.after(test_allocated, test_waited)
        data = run.journal.ok("cudaMallocFromPoolAsync").of(hazard).first
        miss(f"""the host waits for the stream that it is given, before it writes and before it
            reads, even if it is a non-blocking stream. {WAITS}
            Happened: {hazard["kind"]}. The allocation and launch_add are in stream
            {data["stream"]}; from the allocation until this access
            {waited(run.journal, data, hazard)}.""")
    if test_waited in check.met:
        expect_no_asking(run.journal, f"the host waits for the stream that it is given. {WAITS}")
    filled = run.journal.ok("launch_fill").where(bytes=4).column("value")
    if filled != [count, half]:
        miss(f"""work_together uses the pool, the stream and the count that it is given: every int
            is 42 afterwards.
            Happened: with {count} and {half} ints, so many were 42:
            {" and ".join(map(str, filled))}.""")


def test_prints(check):
    check.after()
    check.expect_recorded(96)
    check.expect_read("every int", "takes #", arguments=[2])
