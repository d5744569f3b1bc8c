"""Lesson 06: trim after the free has finished, keep what the next phase needs, put together what
stays."""

from check import MIB, QUERY, line_of, met_by_starter, miss, rounded_up

MOST = (1 << 64) - 1
SYNCHRONIZE = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
PENDING = """after phase 1, a trim returns memory. It returns nothing for a free that the host has
    not waited for. So before the trim the host synchronizes the stream, the device, or an event
    after the free; a query is not enough."""


def mib(size):
    if size == MOST:
        return "its maximum"
    if 0 < size < MIB:
        return f"{size} bytes"
    return f"{size / MIB:.2f} MiB" if size % MIB else f"{size // MIB} MiB"


def allocations(journal):
    return journal.ok("cudaMallocFromPoolAsync")


def first_pool(journal):
    return (allocations(journal).first or {}).get("pool")


def history(lines, pool):
    """What was done to a pool, in words."""
    said = []
    for x in lines.that(lambda x: "call" in x):
        call, words = x["call"], ""
        if call == "cudaMemPoolTrimTo" and x["pool"] == pool:
            words = f"cudaMemPoolTrimTo to {mib(x['keep'])}{line_of(x)}"
            words += f", which left {mib(x['reserved'])}"
        elif call in (*SYNCHRONIZE, *QUERY, "cudaFree"):
            words = call
        elif call == "cudaMemPoolSetAttribute" and x["value"] < MOST:
            words = f"the threshold set to {mib(x['value'])}"
        elif call == "cudaMemPoolDestroy" and x["pool"] == pool:
            words = "the pool destroyed"
        if words and words not in said[-1:]:
            said.append(words)
    if not said:
        return "neither a synchronization nor a trim"
    return ", then ".join(said[:8]) + (", and so on" if len(said) > 8 else "")


def two_phases(journal, check=None):
    """(allocation of phase 1, its free, allocation of phase 2, its free), of the first pool. Phase
    1 fills its memory, and phase 2 also adds to it: what nobody fills is the student's own. A rule
    that gives its check leaves it to the first rule to say that one is missing."""
    frees = {x.get("allocation"): x for x in journal.ok("cudaFreeAsync")}
    own = allocations(journal).where(pool=first_pool(journal))
    second = own.of(journal.ok("launch_add")).last
    first = own.part(None, second).of(journal.ok("launch_fill")).first
    missing = [i for i, x in ((1, first), (2, second)) if not x or x["allocation"] not in frees]
    if missing:
        if check:
            check.after(test_pending)
        miss(f"""phases 1 and 2 take their memory from the first pool, use it, and free it with
            cudaFreeAsync, as at the start.
            Happened: phase {" and phase ".join(map(str, missing))} did not.""")
    return [first, frees[first["allocation"]], second, frees[second["allocation"]]]


def drawn(check, which="size"):
    """A run with another size, on a device with other segments. Of the larger one a MiB less would
    keep a segment less."""
    segment = segment_of(check, which)
    size = check.draw("size", 97, 500)
    if which == "larger":
        size = 2 * segment * check.draw("segments", 82, 180) + 1
    return check.run(size, early=True, SIM_SEGMENT=segment)


def run_to_the_end(check, run=None):
    """A run, else the lesson's own. The rule about the first trim says of one that trims without
    end why."""
    run = run or check.run_as_far()
    if run.early:
        check.after(test_between)
        run.expect_return()
    return run


def segment_of(check, which):
    return check.draw(f"segment for {which}", *((5, 90) if which == "size" else (50, 90)))


@met_by_starter
def test_pending(check):
    # Nothing but the gate holds a stream of this device.
    journal = run_to_the_end(check, check.run(early=True, SIM_SCHEDULE="instant")).journal
    first, freed, taken, _ = two_phases(journal)
    sizes = [x["bytes"] // MIB for x in (first, taken)]
    done = journal.between(freed, taken)
    happened = f"between the phases: {history(done, taken['pool'])}."
    if sizes != [96, 48]:
        miss(f"""phase 1 allocates 96 MiB and phase 2 allocates 48 MiB, both from the first pool of
            the program.
            Happened: they allocate {sizes[0]} and {sizes[1]} MiB.""")
    first = done.calls("cudaMemPoolTrimTo").where(pool=taken["pool"]).first or {}
    held = journal.where(did="run", op="hold").after(first)
    if (first.get("keep"), first.get("reserved")) != (0, 96 * MIB) or not held:
        miss(f"""the first trim, to 0, comes while the free is pending, as at the start: it shows
            that a trim returns nothing for a pending free.
            Happened: {happened}{" The gate was open before that trim." * (not held)}""")


def test_threshold(check):
    values = check.run_as_far().journal.set_to("cudaMemPoolAttrReleaseThreshold")
    if not values or set(values) != {MOST}:
        miss(f"""the release threshold is set to its maximum (UINT64_MAX) and left there: only a
            trim returns memory of these pools.
            Happened: the threshold was set to
            {", then to ".join(map(mib, values)) or "nothing"}.""")


def test_between(check):
    for which in ("size", "larger"):
        run = drawn(check, which)
        if run.ended == "flood" and len(run.journal.calls("cudaMemPoolTrimTo")) > 9:
            done = history(run.journal, first_pool(run.journal))
            miss(f"{PENDING} Happened: the program trims without end: {done}.")
        run.expect_return()
        keeps_what_is_needed(check, run.journal, segment_of(check, which) * MIB)


def keeps_what_is_needed(check, journal, segment):
    _, freed, taken, _ = two_phases(journal, check)
    done, pool, size = journal.between(freed, taken), taken["pool"], taken["bytes"]
    happened = f"between the phases: {history(done, pool)}."
    releases = done.where(did="release", pool=pool)
    if releases.where(why="synchronization"):
        check.after(test_threshold)
    trims = done.calls("cudaMemPoolTrimTo").where(pool=pool)
    waited = trims and done.before(trims.last).where(call=set(SYNCHRONIZE)).waits
    if trims and not waited and not releases:
        miss(f"{PENDING} Happened: {happened}")
    needs = f"phase 2 needs {mib(size)}"
    if taken["from"] == "new":
        check.after(test_pending)
        miss(f"""phase 2 finds its memory in the pool: the trim keeps what phase 2 needs, in bytes,
            whatever the argument of the program is.
            Happened: {needs}, and the pool grew. B{happened[1:]}""")
    if taken["reserved"] != rounded_up(size, segment):
        miss(f"""the trim keeps what phase 2 needs, and no segment more, whatever the argument of
            the program is.
            Happened: {needs}, and the pool held {mib(taken["reserved"])}. B{happened[1:]}""")
    if len(trims) > 3 or len(releases) != 1:
        miss(f"""one trim returns all but what phase 2 needs. It is given the number of bytes that
            phase 2 needs, which the pool rounds up to whole segments, so no second trim is needed.
            Happened: {len(trims) - 1} trims after that of the pending free. B{happened[1:]}""")
    large = done.that(lambda x: x.get("bytes", 0) > segment)
    others = [x for x in large if "Malloc" in x.get("call", "")]
    if others:
        miss(f"""the program knows how many bytes the trim must keep, so it needs no trial in other
            memory.
            Happened: between the phases the program allocated {mib(others[0]["bytes"])}
            elsewhere.""")


def test_end(check):
    journal = run_to_the_end(check, drawn(check)).journal
    freed = two_phases(journal, check)[3]
    done, pool = journal.part(freed, allocations(journal).after(freed).first), freed["pool"]
    if not done.where(pool=pool, did="release", why="trim", reserved=0):
        if done.where(pool=pool, did="release", why="synchronization"):
            check.after(test_threshold)
        miss(f"""after phase 2, a trim of the same pool returns everything. The last free must not
            be pending then. The wait for the copy does not include the free, which comes after the
            copy.
            Happened: after the free of phase 2: {history(done, pool)}.""")


def test_phase_3(check):
    run = run_to_the_end(check)
    journal = run.journal
    pieces = allocations(journal).where(bytes=16 * MIB)
    pools = set(pieces.column("pool"))
    if not pieces and (run.stands_still or run.failed):
        check.after(test_pending, test_between)
    if len(pieces) != 8 or len(pools) != 1 or first_pool(journal) in pools:
        miss(f"""phase 3 makes eight allocations of half a segment from one pool of its own, four
            results and four pieces of scratch memory. Only their order is yours.
            Happened: allocations of half a segment: {len(pieces)}; their pools: {len(pools)}.""")
    pool = pieces[0]["pool"]
    larger = allocations(journal).where(pool=pool).last
    if larger["from"] == "new":
        miss("""after the scratch memory is freed, an allocation that is 1 MiB larger than a piece
            finds room: free memory with live allocations in between is not contiguous.
            Happened: the pool grew for it, although half of its memory was free.""")
    trim = journal.ok("cudaMemPoolTrimTo").where(pool=pool).last
    if not trim or trim["reserved"] != 64 * MIB:
        happened = "the pool of phase 3 was not trimmed."
        if trim:
            left = mib(trim["reserved"])
            happened = f"{mib(trim['used'])} were used, and the trim left {left}."
        miss(f"""the last trim returns the scratch memory. A segment with a live allocation stays.
            Happened: {happened}""")


def test_output(check):
    check.after()
    check.expect_right(check.run())
    check.expect_read("used #", "reserved #", "grew by #", "the last element is #")
    check.expect_clean(drawn(check))
