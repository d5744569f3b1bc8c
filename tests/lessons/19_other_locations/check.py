"""Lesson 19: an allocation of a host pool on which host and device work.

The program runs under a schedule in which the device does nothing until somebody waits for it, so
a sleep hides no wait."""

from check import SUCCESS, expect

LATE = {"SIM_SCHEDULE": "late", "SIM_IDLE": "off"}


def own_pool(journal):
    """The host pool that the program creates, and the allocation from it."""
    pool = journal.ok("cudaMemPoolCreate").where(device=-1).first
    data = pool and journal.ok("cudaMallocFromPoolAsync").where(pool=pool["pool"]).first
    return pool, data


def the_data(check, journal):
    """The allocation, where the program made it; else the rule waits."""
    _, data = own_pool(journal)
    if not data:
        check.after(test_around)
    return data


def kernel_on(journal, data):
    return journal.ok("launch_add").where(allocation=data["allocation"]).first


def needed_kernel(check, journal, data):
    """The same, where there is one; else the rule waits."""
    return kernel_on(journal, data) or check.after(test_kernel)


def test_around(check):
    "three default pools, a host pool of its own, and what main asks about it, as in the starter"
    journal = check.run(**LATE).journal
    asked = [(x["location"], x["type"]) for x in journal.ok("cudaMemGetDefaultMemPool")]
    expect(
        asked[:3] == [("device", "pinned"), ("host", "pinned"), ("device", "managed")],
        """show requests the default pools of device, host and managed memory, as in the
           starter.""",
        f"it requested: {', '.join(' '.join(x) for x in asked)}.",
    )
    pool, data = own_pool(journal)
    made = journal.calls("cudaMemPoolCreate")
    expect(
        data,
        """main creates a pool with the location cudaMemLocationTypeHost and allocates from
        it, as in the starter.""",
        "pools were created on: "
        + ", ".join(
            "the host" if x.get("device") == -1 else f"device {x.get('device')}" for x in made
        ),
    )
    if refused_access(journal) or journal.where(result="cudaErrorIllegalAddress"):
        return  # the program ended there; another rule says so
    current = journal.ok("cudaMemSetMemPool").where(pool=pool["pool"], location="host")
    expect(
        len(current) == 1,
        """main makes the host pool current for host memory with
        cudaMemSetMemPool, as in the starter.""",
        "it made none current, or another.",
    )
    expect(
        journal.ok("cudaMallocAsync").where(pool=0).after(current[0]),
        """and then main calls
        cudaMallocAsync, as in the starter.""",
        "it did not, or that took memory of another pool.",
    )


def refused_access(journal):
    return [x for x in journal.calls("cudaMemPoolSetAccess") if x.get("result", SUCCESS) != SUCCESS]


def set_on_what(journal):
    if journal.calls("cudaDeviceEnablePeerAccess"):
        return "cudaDeviceEnablePeerAccess was called; it gives access to no pool."
    if journal.calls("cudaMemPoolSetAccess"):
        return "cudaMemPoolSetAccess was called for another pool."
    return "cudaMemPoolSetAccess was not called."


def test_access(check):
    "the device is given access to the pool, before its kernel"
    journal = check.run(**LATE).journal
    data = the_data(check, journal)
    refused = refused_access(journal)
    expect(
        not refused,
        """cudaMemPoolSetAccess gets a location of type cudaMemLocationTypeDevice
        with the number 0, and cudaMemAccessFlagsProtReadWrite: the kernel reads and writes.""",
        f"it returned {', '.join(sorted({x['result'] for x in refused}))}.",
    )
    kernel = needed_kernel(check, journal, data)
    grants = journal.ok("cudaMemPoolSetAccess").where(pool=data["pool"])
    expect(
        grants,
        """the pool gives access: cudaMemPoolSetAccess. A host pool begins with access
        for the host and for no device, and a kernel without access faults.""",
        lambda: set_on_what(journal),
    )
    names = [
        "the host" if x.get("device") is None else f"device {x['device']} to {x['value']}"
        for x in grants
    ]
    given = grants.where(device=0, value=3)
    expect(
        given,
        """the location in cudaMemAccessDesc is the device that gets access, with
        cudaMemAccessFlagsProtReadWrite. The host has access to its pool already.""",
        f"access was set for {', '.join(names)}.",
    )
    expect(
        given.before(kernel),
        """access comes before the kernel that needs it. Given later, it
        may come in time or not.""",
        "cudaMemPoolSetAccess was called after launch_add.",
    )


def test_kernel(check):
    "the device adds 2 to each int, in the memory of the host pool"
    journal = check.run(**LATE).journal
    data = the_data(check, journal)
    later = journal.after(data)
    copies = [x["call"] for x in later if x.get("call", "").startswith("cudaMemcpy")]
    copies += [x["call"] for x in later.ok("cudaMalloc", "cudaMallocHost", "cudaHostAlloc")]
    expect(
        not copies,
        """nothing is copied. Memory of a host pool has one address, good for the
        host and, with access, for the device.""",
        f"after the allocation the program called: {', '.join(copies)}.",
    )
    if refused_access(journal):
        check.after(test_access)
    kernel = kernel_on(journal, data)
    expect(
        kernel and kernel["bytes"] == data["bytes"],
        """the device adds 2 to each int of the
        allocation: launch_add(data, 2, count, stream).""",
        lambda: f"""launch_add worked on
        {kernel["bytes"]} of {data["bytes"]} bytes."""
        if kernel
        else "launch_add was not called for this allocation.",
    )
    expect(
        kernel["value"] == 2,
        """the host writes 40, and the device adds 2 to it: both work on
        the same memory.""",
        f"""launch_add added {kernel["value"]}: the host had written what was
        to come out.""",
    )
    check.after(test_access)  # without access it added nothing


def touched(journal, how):
    """The host touched the memory too early."""
    return journal.where(did="hazard", kind=f"host access {how}")


def waited(journal, start, end):
    """With which calls the host waited, or asked, between two lines."""
    calls = [x for x in journal.after(start) if "call" in x and (not end or x["n"] < end["n"])]
    names = []
    for line in calls:
        if line.get("acquired") or "Synchronize" in line["call"] or "Query" in line["call"]:
            of = [f" for {word} {line[word]}" for word in ("stream", "event") if word in line]
            names.append(line["call"] + "".join(of[:1]))
    return (
        "the host called " + ", ".join(dict.fromkeys(names))
        if names
        else "the host waited for nothing"
    )


WAITS = "A sleep is no wait, and a query is one if it is asked until it succeeds."


def test_allocated(check):
    "the host waits for the allocation before it writes"
    journal = check.run(**LATE).journal
    data = the_data(check, journal)
    expect(
        not touched(journal, "before allocation"),
        f"""the host waits for the allocation before
        it writes: the pointer is known at once, the memory may be touched when the stream has
        reached the allocation. {WAITS}""",
        lambda: f"""the allocation is in stream
        {data["stream"]}; between it and launch_add
        {waited(journal, data, kernel_on(journal, data))}.""",
    )


def test_waited(check):
    "the host waits for the device before it reads"
    journal = check.run(**LATE).journal
    data = the_data(check, journal)
    kernel = needed_kernel(check, journal, data)
    expect(
        not touched(journal, "not ordered after a write"),
        f"""the host waits for the device
        before it reads. A load is no call: no stream orders it, only the host can. {WAITS}""",
        lambda: f"""launch_add is in stream {kernel["stream"]}; between it and the end of
        work_together
        {waited(journal, kernel, journal.ok("cudaMemSetMemPool").first)}.""",
    )


def test_host(check):
    "the host writes the 40 and counts the 42, and leaves neither to the device"
    journal = check.run(**LATE).journal
    data = the_data(check, journal)
    kernel = needed_kernel(check, journal, data)
    if kernel["bytes"] != data["bytes"]:
        check.after(test_kernel)
    ran = journal.where(did="run", allocation=data["allocation"])
    calls = {x["number"]: x["call"] for x in journal if "number" in x}
    others = [calls[x["of"]] for x in ran if x["op"] != "add"]
    expect(
        not others,
        """the host writes 40 into each int: host and device work on the same
        memory, and each does its half.""",
        f"the device wrote it, with {', '.join(others)}.",
    )
    check.after(test_allocated, test_waited)
    count = check.draw("changed", 2000, 90000)
    run = check.ask(
        """work_together takes a pool, an allocation of it, its number of ints and the
        stream of the allocation, and returns.""",
        count,
        check.draw("place", 0, count - 1),
        harness="ask_changed.h",
        **LATE,
    )
    check.expect_answers(
        """work_together returns how many of the ints that it is given are 42: the
        host looks at each. The check's own launch_add had made one of them another number.""",
        run,
        {f"work_together with {count} ints, of which one is not 42": count - 1},
    )


def test_others(check):
    "work_together works with other host pools and sizes"
    check.after(test_kernel, test_access)
    count = check.draw("count", 1000, 2000000)
    half = count // 2 + 1
    run = check.ask(
        """work_together takes a pool, an allocation of it, its number of ints and the
        stream of the allocation, and returns, for every host pool.""",
        count,
        hazards=True,
        **LATE,
    )
    adds = [(x["value"], x["bytes"] // 4) for x in run.journal.ok("launch_add")]
    shown = " and ".join(f"{value} to {ints}" for value, ints in adds) or "nothing"
    expect(
        adds == [(2, count), (2, half)],
        """work_together uses the count that it is given: the
        device adds 2 to so many ints.""",
        f"with {count} and {half} ints the device added {shown}.",
        run,
    )
    if test_allocated.__name__ in check.met:
        expect(
            not touched(run.journal, "before allocation"),
            f"""the host waits for the allocation,
            also where its stream has something to do before it. {WAITS}""",
            "the host touched the memory before the stream had come to the allocation.",
            run,
        )
    filled = [x["value"] for x in run.journal.ok("launch_fill").where(bytes=4)]
    expect(
        filled == [count, half],
        """work_together uses the pool, the stream and the count that it
        is given: every int is 42 afterwards.""",
        f"""with {count} and {half} ints, so many were 42:
        {" and ".join(map(str, filled))}.""",
        run,
    )


def test_prints(check):
    "it prints what a real device prints"
    check.after_the_rest()
    check.expect_right(check.run())
    check.expect_right(check.run(96), "96")
