"""Lesson 04: the threshold decides how much a synchronization returns."""

from check import MIB, Journal, line_of, met_by_starter, miss, rounded_up

NAMES = ("the other stream", "the stream of the free")
SIZES = """predict_freed and predict_synchronized take and return sizes in MiB, as they did at the
    start."""


def thresholds(journal):
    return journal.ok("cudaMemPoolSetAttribute").where(attribute="cudaMemPoolAttrReleaseThreshold")


def rows(journal):
    """(pool, its first free, where what belongs to the row ends, or None): of the table's six."""
    frees, ends = journal.ok("cudaFreeAsync"), journal.ok("cudaMemPoolDestroy")
    for pool in thresholds(journal)[:6].column("pool"):
        own = frees.where(pool=pool).first
        if own:
            later = Journal([*frees[1:], *ends]).where(pool=pool).after(own)
            yield pool, own, min(later, key=lambda x: x["n"], default=None)


def returned(journal, pool, free, until):
    """MiB that the pool reserves after the row's synchronization."""
    given = journal.where(why="synchronization", pool=pool).part(None, until).last
    return (given or free)["reserved"] // MIB


def drawn(check):
    """(segment, reserved, freed, edges, the run that asks about them), all in MiB: of a small
    segment and of a large one. edges: {what is live: the thresholds that are asked about}"""
    for kind, scale in (("small", 1), ("large", 100)):
        least, most = 71 * scale, 900 * scale
        segment = check.draw(f"{kind} segment", 3 * scale, 70 * scale)
        live = check.draw(f"{kind} live", least, most)
        freed = check.draw(f"{kind} freed", most + 1, 3000 * scale)
        threshold = check.draw(f"{kind} threshold", most + 1, 2000 * scale)
        reserved = rounded_up(live + freed, segment)
        edges = {
            0: (0, 3 * segment, 3 * segment - 1, reserved + segment, threshold),
            live: (0, threshold, live + segment, live, reserved - 1, reserved + 1000 * segment),
        }
        pairs = [number for used in edges for limit in edges[used] for number in (used, limit)]
        yield (
            segment,
            reserved,
            freed,
            edges,
            check.ask(SIZES, segment, reserved, freed, *pairs, early=True),
        )


def rules_call(check):
    """The CUDA calls that the two rules made, in words: the harness makes none."""
    runs = [run for *_, run in drawn(check) if run.files]
    return runs and runs[0].journal.that(lambda x: "did" not in x and "call" in x).names


def expect_computed(check):
    """In a run in which the two rules make CUDA calls, theirs are not told from the program's."""
    if rules_call(check):
        check.after(test_synchronized)


def test_freed(check):
    for _, reserved, freed, _, answers in drawn(check):
        if wrong := answers.wrong({f"predict_freed({reserved}, {freed})": reserved}):
            answers.expect_return()
            miss(f"""predict_freed(reserved, freed) is what the pool reserves right after a free. A
                free returns memory to the pool, not to the device.
                Happened: {wrong}""")


def test_synchronized(check):
    nothing = """predict_synchronized(segment, reserved, 0, threshold), with nothing live, is as
        many whole segments as fit under the threshold, for segments of any size. It is never more
        than the pool reserved: a threshold takes no memory from the device."""
    some = """predict_synchronized(segment, reserved, live, threshold): the threshold counts all
        that the pool reserves, including what the live allocations need. But a live allocation
        always keeps its segments."""
    if calls := rules_call(check):
        miss(f"""predict_synchronized computes what it returns from what it is given, which may be
            of another device. It makes no CUDA call.
            Happened: called by the check, it made {calls}.""")
    for segment, reserved, _, edges, answers in drawn(check):
        answers.expect_return()
        for used, limits in edges.items():
            for limit in limits:
                kept = max(limit // segment * segment, rounded_up(used, segment))
                question = f"predict_synchronized({segment}, {reserved}, {used}, {limit})"
                if wrong := answers.wrong({question: min(kept, reserved)}, segment):
                    miss(f"{some if used else nothing} Happened: {wrong}")


def keeps(run, mib, segment):
    """The seventh pool keeps what the phase needs."""
    own, made = thresholds(run.journal)[6:], run.journal.pools[7:]
    needed = rounded_up(2 * mib, segment)
    if len(made) != 1 or set(own.column("pool")) != set(made):
        there = len(own.where(pool=set(made)))
        miss(f"""try_phase creates one pool and sets its threshold, decided from the sizes. It tries
            nothing in another pool.
            Happened: it created {len(made)}, and set {there} thresholds there and
            {len(own) - there} elsewhere.""")
    phase = run.journal.where(pool=own[0]["pool"])
    free = phase.ok("cudaFreeAsync").first
    reads = phase.where(attribute="cudaMemPoolAttrReservedMemCurrent")
    read = free and reads.after(free).first
    if not read:
        miss("""try_phase frees the peak, and then reads what its pool reserves, as at the start.
            Happened: it did not.""")
    kept, wait = read["value"] // MIB, run.journal.between(free, read).certain.last
    set_before = own.before(wait or read).last
    words = "its threshold set only after the synchronization"
    if set_before:
        value = set_before["value"]
        words = "the maximum as its threshold" if value > 1e18 else f"a threshold of {value} bytes"
    if kept != needed:
        miss(f"""after the peak the pool keeps what the phase needs, and no more: {mib} MiB of live
            memory and the {mib} MiB that it allocates next, together in whole segments of {segment}
            MiB, here {needed} MiB. A threshold is in bytes.
            Happened: with {words} the pool kept {kept} MiB.""")
    sizes = phase.where(call="cudaMallocFromPoolAsync").column("bytes")
    if sizes != [mib * MIB, 4 * mib * MIB, mib * MIB]:
        miss(f"""the phase allocates {mib}, then {4 * mib}, then {mib} MiB, as at the start.
            Happened: it allocated, in MiB: {", ".join(f"{size / MIB:g}" for size in sizes)}.""")


def drawn_size(check):
    """A size of which two are more bytes than 32 bits can count. Segments of 32 MiB for one are
    enough for less than a segment more: two sizes that are rounded up are too many."""
    return 32 * check.draw("size", 65, 200) + 1


def drawn_run(check):
    """A run of a drawn size on a device with larger segments, in which other thresholds are needed
    than in segments of 32 MiB; and the size of those segments. There, one size that is rounded up
    and one that is not are too few."""
    size, segment = drawn_size(check), check.draw("segment", 65, 300)
    while not segment < 2 * (size % segment) <= 2 * segment - 32:
        segment += 1
    return check.run(size, SIM_SEGMENT=segment), segment


def test_phase(check):
    expect_computed(check)
    check.expect_wide_values()
    keeps(check.run(), 128, 32)
    keeps(check.run(drawn_size(check)), drawn_size(check), 32)
    run, segment = drawn_run(check)
    keeps(run, drawn_size(check), segment)


@met_by_starter
def test_bytes(check):
    expect_computed(check)
    journal = check.run().journal
    found = thresholds(journal)
    if found[:6].column("value") != [x * MIB for x in (0, 48, 64, 256, 64, 160)]:
        miss(f"""the table sets the thresholds 0, 48, 64, 256, 64 and 160 MiB, in bytes, in this
            order.
            Happened: the thresholds were set to {", ".join(map(str, found.column("value")))}
            bytes.""")
    frees = [free["n"] for _, free, _ in rows(journal)]
    if len(frees) != 6 or not all(x["n"] < n for x, n in zip(found, frees)):
        miss(f"""after each threshold is set, an allocation of that same pool is freed: the
            threshold of one pool has no effect on another.
            Happened: of {len(found)} thresholds so many were set before such a free:
            {sum(x["n"] < n for x, n in zip(found, frees))}.""")


@met_by_starter
def test_streams(check):
    expect_computed(check)
    journal = check.run().journal
    synchronizations = journal.ok("cudaStreamSynchronize")
    said = [
        [NAMES[x["stream"] == free["stream"]] for x in synchronizations.part(free, until)]
        for _, free, until in rows(journal)
    ]
    if len(said) >= 6 and said != [list(NAMES)] * 6:
        words = sorted({" and ".join(row) or "nothing" for row in said})
        miss(f"""each row of the table synchronizes the other stream after the free, and then the
            stream of the free.
            Happened: after the free the rows synchronized {"; ".join(words)}.""")
    trims = journal.ok("cudaMemPoolTrimTo")
    if trims:
        miss(f"""the program trims nothing: it shows what a synchronization alone returns.
            Happened: it trims{line_of(trims[0])}.""")


def predictions_hold(run, mib):
    table = [line.split() for line in run.lines if line[:1] == " " and line.split()[0].isdigit()]
    found = list(rows(run.journal))
    if not len(table) == len(found) == 6:
        miss(f"""both predictions of each row, for {mib} MiB.
            Happened: the table does not have one row for each pool.""")
    for cells, (pool, free, until) in zip(table, found):
        for when, cell, right in (
            ("free", cells[4], free["reserved"] // MIB),
            ("synchronization", cells[7], returned(run.journal, pool, free, until)),
        ):
            if int(cell) != right:
                miss(f"""both predictions of each row of the table hold, for an allocation of {mib}
                    MiB.
                    Happened: after the {when} with a threshold of {cells[0]} MiB and {cells[1]} MiB
                    live you predicted {cell} MiB, the pool reserved {right}.""")


def test_predictions(check):
    check.after(test_freed, test_synchronized, test_bytes, test_streams)
    predictions_hold(check.run(), 128)
    for mib in (300, drawn_size(check)):
        predictions_hold(check.run(mib), mib)
    run, _ = drawn_run(check)
    predictions_hold(run, drawn_size(check))


def test_output(check):
    check.after()
    check.expect_recorded(300)
    check.expect_read("segment #", "correct", "reserved #", "next allocation: #")
    check.expect_clean(drawn_run(check)[0])
