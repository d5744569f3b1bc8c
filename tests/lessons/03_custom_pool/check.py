"""Lesson 03: a pool of the program's own, allocated from, limited by maxSize, destroyed with live
allocations."""

import re

from check import MIB, expect

ALLOCATE = ("cudaMallocAsync", "cudaMallocFromPoolAsync")
CURRENT = ("cudaDeviceSetMemPool", "cudaMemSetMemPool")


def number_of(journal, call, which):
    """The number of the line of the call with that index; without one a very large number."""
    found = journal.ok(call)
    return found[which]["n"] if len(found) > which else 1 << 60


def in_second(journal):
    """The allocations that are made after the second pool was."""
    second = number_of(journal, "cudaMemPoolCreate", 1)
    return [x for x in journal.ok(*ALLOCATE) if x["n"] > second]


def freed(journal):
    """{allocation: the number of the line of its free}"""
    return {x["allocation"]: x["n"] for x in journal.ok("cudaFreeAsync", "cudaFree")}


def failure(run):
    """The call at which CHECK ended the program, or ""."""
    found = re.search(r"^(.*):(\d+): (.*): (cudaError\w+) \(", run.errors, re.M)
    return f"{found[3]} in line {found[2]} of {found[1]} returned {found[4]}" if found else ""


def ended(run, sentence):
    """Says of a program that ended at a call that failed what it should have done."""
    expect(not failure(run), sentence, lambda: f"the program ended there: {failure(run)}.", run)


def test_own(check):
    "every allocation comes from the program's own pools, each of which it makes the current one"
    run = check.run()
    journal = run.journal
    made = journal.ok("cudaMemPoolCreate")
    expect(
        len(made) == 2 or failure(run),
        "the program creates two pools, one after the other, as at the start.",
        f"it created {len(made)}.",
    )
    own, allocations = {x["pool"] for x in made}, journal.ok(*ALLOCATE)
    expect(
        allocations and all(x["pool"] in own for x in allocations),
        """every allocation comes from a pool that the program created. cudaMallocAsync allocates
        from the current pool, which is the default pool until the program makes another one
        current.""",
        f"""of {len(allocations)} allocations {len(allocations.where(pool=0))} came from the default
        pool.""",
    )
    named = journal.calls("cudaMallocFromPoolAsync")
    expect(
        not named,
        """the program allocates with cudaMallocAsync alone, as at the start. That call allocates
        from the current pool: the program makes each of its pools the current one.""",
        f"""{len(named)} allocations were made with cudaMallocFromPoolAsync, and
        cudaDeviceSetMemPool was called {len(journal.ok(*CURRENT))} times.""",
    )


def limited(run, mib):
    """The second pool has that maxSize, or what it is rounded up to."""
    journal = run.journal
    sizes = [x["max_size"] for x in journal.ok("cudaMemPoolCreate")]
    most = -(-mib // 32) * 32 * MIB
    expect(
        len(sizes) == 2 and sizes[0] == 0 and mib * MIB <= sizes[1] <= most,
        f"""the first pool is created with maxSize 0, the second with maxSize {mib} MiB, in bytes
        ({mib * MIB}). A release threshold limits nothing.""",
        f"the pools were created with maxSize {' and '.join(str(x) for x in sizes)}.",
        run,
    )
    second = number_of(journal, "cudaMemPoolCreate", 1)
    refused = [
        x
        for x in journal.calls(*ALLOCATE)
        if x["n"] > second and x["result"] == "cudaErrorMemoryAllocation"
    ]
    elsewhere = all(x["pool"] == 0 for x in in_second(journal))
    expect(
        len(refused) == 1 or elsewhere,
        """the second pool refuses one allocation, with cudaErrorMemoryAllocation, when it has no
        room left.""",
        f"{len(refused)} allocations were refused.",
        run,
    )


def test_limit(check):
    "maxSize limits the second pool, to any size"
    run = check.run()
    if failure(run) and "cudaMemPool" not in failure(run):
        check.after(test_freed)
    ended(
        run,
        """only maxSize limits a pool, a field of the properties with which it is created. No
        attribute does, and a pool that is destroyed has none.""",
    )
    limited(run, 40)
    mib = check.draw("size", 1, 900)
    limited(check.run(mib), mib)


def test_freed(check):
    "every allocation is freed after its last use, also after its pool was destroyed"
    run = check.run()
    journal = run.journal
    if "cudaMemPool" in failure(run):
        check.after(test_limit)
    if not journal.ok("cudaMemPoolCreate"):
        check.after(test_own)  # nothing is freed that came from a pool of the program's
    ended(
        run,
        """every call of the program succeeds, but for the allocation that the limit refuses. An
        allocation is freed behind its last use: no later call may touch it.""",
    )
    allocations, frees = journal.ok(*ALLOCATE), freed(journal)
    expect(
        allocations and all(x["allocation"] in frees for x in allocations),
        """every allocation is freed, also after its pool was destroyed: a pool that is destroyed
        does not free its live allocations.""",
        f"of {len(allocations)} allocations {len(frees)} were freed.",
        run,
    )


def values_read(journal, destroyed):
    """The allocations that are added to, and then copied to the host."""
    copies = [
        x for x in journal.calls("cudaMemcpyAsync", "cudaMemcpy") if x.get("kind") != "HostToDevice"
    ]
    added = [x for x in journal.ok("launch_add") if x["n"] > destroyed]
    return {x["allocation"] for x in added}, {
        x["allocation"]
        for x in added
        for copy in copies
        if copy["n"] > x["n"] and copy.get("allocation") == x["allocation"]
    }


def test_live(check):
    "the second pool is destroyed with live allocations, which are used afterwards"
    check.after(test_freed)
    journal = check.run().journal
    gone = len(journal.ok("cudaMemPoolDestroy"))
    expect(
        gone == 2,
        "each of the two pools is destroyed once, with cudaMemPoolDestroy.",
        f"{gone} were destroyed.",
    )
    destroyed, frees = number_of(journal, "cudaMemPoolDestroy", 1), freed(journal)
    last = {x["allocation"] for x in in_second(journal)}
    early = [x for x in last if frees.get(x, destroyed) < destroyed]
    expect(
        not early,
        """the second pool is destroyed while its allocations are live: none of them is freed before
        cudaMemPoolDestroy.""",
        f"{len(early)} of {len(last)} were freed before it.",
    )
    added, copied = values_read(journal, destroyed)
    expect(
        last <= added,
        """every allocation of the second pool is used (launch_add) after the pool was destroyed, as
        at the start.""",
        f"of {len(last)} allocations {len(added)} were used then.",
    )
    expect(
        last <= copied,
        """every allocation of the second pool is copied to the host after launch_add, as at the
        start: only a value that came back shows that the allocation is usable.""",
        f"of {len(last)} allocations {len(copied)} were copied to the host.",
    )
    usable(check)


def usable(check):
    """empty_pool is called with an allocation that holds another value."""
    count = check.draw("count", 2, 33)
    answers = check.ask(
        """data, count and empty_pool are what they were at the start: empty_pool returns how many
        allocations were usable.""",
        count,
        check.draw("which", 0, count - 1),
        hazards=True,
    )
    check.expect_answers(
        f"""empty_pool counts the allocations whose value it has read. The check called it with
        {count}, of which one holds another value.""",
        answers,
        {"empty_pool(stream)": count - 1},
    )


def test_output(check):
    "it prints what a real device prints"
    check.after_the_rest()
    check.expect_right(check.run())
    check.expect_right(check.run(100), "100")
    journal = check.run().journal
    asked = journal.ok("cudaDeviceGetMemPool", "cudaMemGetMemPool")
    high = journal.ok("cudaMemPoolGetAttribute").where(pool=0)
    expect(
        asked.last
        and asked.last["n"] > number_of(journal, "cudaMemPoolDestroy", 1)
        and high.where(attribute="cudaMemPoolAttrReservedMemHigh"),
        """the last lines print what the program has read: which pool is current when the second is
        destroyed, and what the default pool reserved at most (cudaMemPoolAttrReservedMemHigh), as
        at the start.""",
        "the program printed them and did not read that.",
    )
