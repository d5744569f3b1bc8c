"""Lesson 03: a pool of the program's own, allocated from, limited by maxSize, destroyed with live
allocations."""

from check import ALLOCATE, COPY, MIB, Journal, expect_narrow_wait, miss, rounded_up

CURRENT = ("cudaDeviceSetMemPool", "cudaMemSetMemPool")
START = """data, count and empty_pool are what they were at the start: empty_pool returns how many
    allocations were usable."""


def in_second(journal):
    """The allocations that are made after the second pool was."""
    second = journal.ok("cudaMemPoolCreate")[1:].first
    return journal.allocations.after(second) if second else Journal()


def ended(run, sentence):
    """Says of a program that ended at a call that failed what it should have done."""
    if failed := run.failed:
        miss(f"{sentence} Happened: the program ended there: {failed}.")


def test_own(check):
    run = check.run()
    journal = run.journal
    if not journal.pools and run.failed.startswith("cudaMemPoolCreate"):
        miss(f"""each field of the properties for cudaMemPoolCreate is set or zero. A field of a
            local variable that the program does not set holds what was on the stack before: = {{0}}
            clears it.
            Happened: {run.failed}.""")
    made = journal.ok("cudaMemPoolCreate")
    if len(made) != 2 and not run.failed:
        miss(f"""the program creates two pools, one after the other, as at the start.
            Happened: it created {len(made)}.""")
    allocations = journal.allocations
    sentence = """every allocation comes from a pool that the program created. cudaMallocAsync
        allocates from the current pool, which is the default pool until the program makes another
        one current."""
    if not allocations:
        ended(run, sentence)
    if not allocations or allocations.where(pool=set(journal.pools)) != allocations:
        miss(f"""{sentence} Happened: {len(allocations.where(pool=0))} of {len(allocations)}
            allocations came from the default pool.""")
    named = journal.calls("cudaMallocFromPoolAsync")
    if named:
        miss(f"""the program allocates with cudaMallocAsync alone, as at the start. That call
            allocates from the current pool: the program makes each of its pools the current one.
            Happened: {len(named)} allocations were made with cudaMallocFromPoolAsync, and
            cudaDeviceSetMemPool was called {len(journal.ok(*CURRENT))} times.""")


def limited(run, mib):
    """The second pool has that maxSize, or what it is rounded up to."""
    journal = run.journal
    sizes = journal.ok("cudaMemPoolCreate").column("max_size")
    most = rounded_up(mib, 32) * MIB
    if len(sizes) != 2 or sizes[0] != 0 or sizes[1] not in (mib * MIB, most):
        miss(f"""the first pool is created with maxSize 0, the second with maxSize {mib} MiB, in
            bytes ({mib * MIB}). A release threshold limits nothing.
            Happened: the pools were created with maxSize {" and ".join(map(str, sizes))}.""")
    tries = journal.calls(*ALLOCATE).after(journal.ok("cudaMemPoolCreate")[1])
    refused = tries.where(result="cudaErrorMemoryAllocation")
    if len(refused) != 1 and set(in_second(journal).column("pool")) - {0}:
        miss(f"""the second pool refuses one allocation, with cudaErrorMemoryAllocation, when it has
            no room left.
            Happened: {len(refused)} allocations were refused.""")


def test_limit(check):
    run = check.run()
    if not run.journal.pools:
        check.after(test_own)
    check.expect_wide_values()
    environment = {}
    if run.failed and "cudaMemPool" not in run.failed:
        # With no allocation in the first pool, the program comes to the second.
        environment["SIM_FAIL"] = "cudaMallocAsync:1"
        run = check.run(**environment)
        if len(run.journal.pools) < 2:
            check.after(test_freed)
    sentence = """only maxSize limits a pool. It is a field of the properties with which the pool is
        created. No attribute limits a pool, and a destroyed pool has no attributes."""
    if not environment:
        ended(run, sentence)
    limited(run, 40)
    mib = check.draw("size", 4100, 30000)  # more bytes than 32 bits can count
    limited(check.run(mib, **environment), mib)


def asked(check, **more):
    """A call of empty_pool by the check, of which one allocation holds another value: how many are
    usable, and the run."""
    count = check.draw("count", 2, 33)
    return count - 1, check.ask(START, count, check.draw("which", 0, count - 1), **more)


def test_freed(check):
    run = check.run()
    if run.failed and not run.journal.allocations:
        _, run = asked(check)
    elif not run.journal.pools:
        check.after(test_own)  # nothing is freed that came from a pool of the program's
    journal = run.journal
    sentence = """every call of the program succeeds, except the allocation that the limit refuses.
        An allocation is freed once, after its last use: no later call may touch it."""
    allocations, frees = journal.allocations, journal.frees
    if "cudaMemPool" not in run.failed:
        ended(run, sentence)
    elif allocations.of(frees) != allocations:
        check.after(test_limit)
    if not allocations or allocations.of(frees) != allocations:
        miss(f"""every allocation is freed, even if its pool has been destroyed, because destroying
            a pool does not free its live allocations.
            Happened: {len(frees)} of {len(allocations)} allocations were freed.""")
    called = asked(check, hazards=True)[1].journal
    if called.allocations.of(called.frees) != called.allocations:
        miss(f"""empty_pool frees what it has used, whoever calls it.
            Happened: called by the check with {len(called.allocations)} allocations, it freed
            {len(called.frees)}.""")
    expect_narrow_wait(
        journal.before(journal.copies.last),
        """the host waits for the stream that copies (cudaStreamSynchronize), as at the start.""",
    )


def test_live(check):
    check.after(test_freed)
    if check.run().failed:
        check.after(test_limit)
    journal = check.run().journal
    destroyed = journal.ok("cudaMemPoolDestroy")
    if len(destroyed) != 2:
        miss(f"""each of the two pools is destroyed once, with cudaMemPoolDestroy.
            Happened: {len(destroyed)} of 2 were destroyed.""")
    last = in_second(journal)
    early = journal.frees.before(destroyed[1]).of(last)
    if early:
        miss(f"""the second pool is destroyed while its allocations are live: none of them is freed
            before cudaMemPoolDestroy.
            Happened: {len(early)} of {len(last)} were freed before it.""")
    added = journal.ok("launch_add").after(destroyed[1])
    if last.of(added) != last:
        miss(f"""every allocation of the second pool is used (launch_add) after the pool was
            destroyed, as at the start.
            Happened: of {len(last)} allocations {len(last.of(added))} were used then.""")
    copies = journal.calls(*COPY).that(lambda x: x.get("kind") != "HostToDevice")
    copied = added.that(lambda x: copies.after(x).of(x))
    if last.of(copied) != last:
        miss(f"""every allocation of the second pool is copied to the host after launch_add, as at
            the start: only a value that came back shows that the allocation is usable.
            Happened: of {len(last)} allocations {len(last.of(copied))} were copied to the host.""")
    usable, answers = asked(check, hazards=True)
    if wrong := answers.wrong({"empty_pool(stream)": usable}):
        miss(f"""empty_pool counts the allocations whose value it has read. The check called it with
            {usable + 1}, of which one holds another value.
            Happened: {wrong}""")


def test_output(check):
    check.after()
    check.expect_recorded(100)
    check.expect_read("allocations usable", "reserved #", "at most #")
    journal = check.run().journal
    current = journal.ok("cudaDeviceGetMemPool", "cudaMemGetMemPool")
    if not current.after(journal.ok("cudaMemPoolDestroy")[1]):
        miss("""the line before the last says which pool is current after the second pool is
            destroyed. As at the start, the program asks that with cudaDeviceGetMemPool.
            Happened: the program printed the line without asking.""")
