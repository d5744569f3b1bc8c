"""Lesson 04: the threshold decides how much a synchronization returns."""

from check import MIB, Journal, expect


def thresholds(journal):
    return journal.ok("cudaMemPoolSetAttribute").where(attribute="cudaMemPoolAttrReleaseThreshold")


def rows(journal):
    """(pool, its first free, where what belongs to the row ends): of the table's six pools."""
    frees, ends = journal.ok("cudaFreeAsync"), journal.ok("cudaMemPoolDestroy")
    for pool in [line["pool"] for line in thresholds(journal)[:6]]:
        own = frees.where(pool=pool)
        if own:
            later = [*frees[1:], *ends]
            until = [x["n"] for x in later if x.get("pool") == pool and x["n"] > own[0]["n"]]
            yield pool, own[0], min(until, default=1 << 60)


def returned(journal, pool, free, until):
    """MiB that the pool reserves after the row's synchronization."""
    given = [x for x in journal.where(why="synchronization", pool=pool) if x["n"] < until]
    return (given[-1] if given else free)["reserved"] // MIB


def drawn(check):
    """(segment, live, freed, threshold), all in MiB: a small segment and a large one."""
    for kind, scale in (("small", 1), ("large", 14)):
        least, most = 71 * scale, 900 * scale
        yield (
            check.draw(f"{kind} segment", 3 * scale, 70 * scale),
            check.draw(f"{kind} live", least, most),
            check.draw(f"{kind} freed", most + 1, 3000 * scale),
            check.draw(f"{kind} threshold", most + 1, 2000 * scale),
        )


def ask(check, sizes):
    return check.ask(
        """predict_freed and predict_synchronized take and return sizes in MiB, as they did at the
        start.""",
        *sizes,
    )


def reserved_for(segment, live, freed):
    return -(-(live + freed) // segment) * segment


def test_freed(check):
    "predict_freed holds: what is reserved right after a free"
    for segment, live, freed, threshold in drawn(check):
        reserved = reserved_for(segment, live, freed)
        check.expect_answers(
            """predict_freed(reserved, freed) is what the pool reserves right after a free. A free
            returns memory to the pool, not to the device.""",
            ask(check, (segment, live, freed, threshold)),
            {f"predict_freed({reserved}, {freed})": reserved},
        )


def test_synchronized(check):
    "predict_synchronized holds for other segments, sizes and thresholds"
    for sizes in drawn(check):
        synchronized_holds(check, *sizes)


def synchronized_holds(check, segment, live, freed, threshold):
    reserved = reserved_for(segment, live, freed)
    answers = ask(check, (segment, live, freed, threshold))

    def right(used, limits):
        under = -(-used // segment) * segment
        return {
            f"predict_synchronized({segment}, {reserved}, {used}, {limit})": min(
                max(limit // segment * segment, under), reserved
            )
            for limit in limits
        }

    check.expect_answers(
        """predict_synchronized(segment, reserved, 0, threshold), with nothing live, is as many
        whole segments as fit under the threshold, for segments of any size. It is never more than
        the pool reserved: a threshold takes no memory from the device.""",
        answers,
        right(0, [0, 3 * segment, 3 * segment - 1, reserved + segment, threshold]),
    )
    check.expect_answers(
        """predict_synchronized(segment, reserved, live, threshold): the threshold is for all that
        the pool reserves, also under live allocations. It adds nothing to them, and a live
        allocation keeps its segments.""",
        answers,
        right(live, [0, threshold, live + segment, live, reserved - 1, reserved + 1000 * segment]),
    )


def keeps(run, mib, segment):
    """The seventh pool keeps what the phase needs."""
    needed, found = -(-2 * mib // segment) * segment, thresholds(run.journal)
    own = Journal(found[6:])
    expect(
        own and all(x["pool"] == own[0]["pool"] for x in own),
        "try_phase sets the threshold of its pool.",
        f"{len(found)} thresholds were set, six of them in the table.",
        run,
    )
    phase = run.journal.where(pool=own[0]["pool"])
    free = phase.ok("cudaFreeAsync").first
    reads = phase.where(attribute="cudaMemPoolAttrReservedMemCurrent")
    read = free and reads.after(free).first
    expect(
        read,
        "try_phase frees the peak, and then reads what its pool reserves, as at the start.",
        "it did not.",
        run,
    )
    kept, value = read["value"] // MIB, own.before(read).last["value"]
    words = "the maximum as its threshold" if value > 1e18 else f"a threshold of {value} bytes"
    expect(
        kept == needed,
        f"""after the peak the pool keeps what the phase needs, and no more: {mib} MiB that are live
        and {mib} MiB that it allocates next, in whole segments (here of {segment} MiB). A threshold
        is in bytes.""",
        f"with {words} the pool kept {kept} MiB.",
        run,
    )
    sizes = [x["bytes"] // MIB for x in phase.where(call="cudaMallocFromPoolAsync")]
    expect(
        sizes == [mib, 4 * mib, mib],
        f"the phase allocates {mib}, then {4 * mib}, then {mib} MiB, as at the start.",
        "",
        run,
    )
    pools = len(run.journal.ok("cudaMemPoolCreate").after(found[5]))
    expect(
        pools == 1,
        """the threshold is decided from the sizes: try_phase creates one pool, and tries nothing in
        another.""",
        f"it created {pools}.",
        run,
    )


def drawn_size(check):
    return 16 * check.draw("size", 9, 50) + 1


def drawn_run(check):
    """A run of a drawn size on a device with larger segments, in which other thresholds are needed
    than in segments of 32 MiB; and the size of those segments."""
    needed, segment = 2 * drawn_size(check), check.draw("segment", 65, 300)
    while -needed % segment < 32:
        segment += 1
    return check.run(drawn_size(check), SIM_SEGMENT=segment), segment


def test_phase(check):
    "the third threshold keeps what the phase needs, and nothing else of the peak"
    keeps(check.run(), 128, 32)
    keeps(check.run(drawn_size(check)), drawn_size(check), 32)
    run, segment = drawn_run(check)
    keeps(run, drawn_size(check), segment)


def test_bytes(check):
    "each threshold is set in bytes, on the pool of the allocation, before the free"
    journal = check.run().journal
    found = thresholds(journal)
    expect(
        [x["value"] for x in found[:6]] == [x * MIB for x in (0, 48, 64, 256, 64, 160)],
        "the table sets the thresholds 0, 48, 64, 256, 64 and 160 MiB, in bytes, in this order.",
        f"the thresholds were set to {', '.join(str(x['value']) for x in found)} bytes.",
    )
    frees = [free["n"] for _, free, _ in rows(journal)]
    expect(
        len(frees) == 6 and all(x["n"] < n for x, n in zip(found, frees)),
        """after each threshold is set, an allocation of that same pool is freed: the threshold of
        one pool has no effect on another.""",
        f"thresholds were set on pools {[x['pool'] for x in found]}, allocations freed in pools "
        f"{sorted({x['pool'] for x in journal.ok('cudaFreeAsync')})}.",
    )


def test_streams(check):
    "after each free another stream is synchronized, then the stream of the free"
    journal = check.run().journal
    syncs = [
        [
            x["stream"] == free["stream"]
            for x in journal.ok("cudaStreamSynchronize")
            if free["n"] < x["n"] < until
        ]
        for _, free, until in rows(journal)
    ]
    names = {False: "the other stream", True: "the stream of the free"}
    expect(
        len(syncs) < 6 or syncs == [[False, True]] * 6,
        """each row of the table synchronizes the other stream after the free, and then the stream
        of the free.""",
        lambda: "after the free the rows synchronized "
        + "; ".join(sorted({" and ".join(names[one] for one in row) or "nothing" for row in syncs}))
        + ".",
    )
    trims = journal.ok("cudaMemPoolTrimTo")
    expect(
        not trims,
        "the program trims nothing: it shows what a synchronization alone returns.",
        f"{len(trims)} trims.",
    )


def predictions_hold(run, mib):
    table = [
        line.split()
        for line in run.output.splitlines()
        if line[:1] == " " and line.split()[0].isdigit()
    ]
    found = list(rows(run.journal))
    expect(
        len(table) == len(found) == 6,
        f"both predictions of each row, for {mib} MiB.",
        "the table does not have one row for each pool.",
        run,
    )
    for cells, (pool, free, until) in zip(table, found):
        for when, cell, right in (
            ("free", cells[4], free["reserved"] // MIB),
            ("synchronization", cells[7], returned(run.journal, pool, free, until)),
        ):
            expect(
                int(cell) == right,
                f"both predictions of each row of the table hold, for an allocation of {mib} MiB.",
                f"after the {when} with a threshold of {cells[0]} MiB "
                f"and {cells[1]} MiB live you predicted {cell} MiB, the pool reserved {right}.",
                run,
            )


def test_predictions(check):
    "the predictions hold for 128 and 300 MiB, and for a size and a segment that are drawn"
    check.after(test_freed, test_synchronized, test_bytes, test_streams)
    for mib in (128, 300, drawn_size(check)):
        predictions_hold(check.run(mib) if mib != 128 else check.run(), mib)
    run, _ = drawn_run(check)
    predictions_hold(run, drawn_size(check))


def test_output(check):
    "it prints what a real device prints, for 128 and 300 MiB"
    check.after_the_rest()
    check.expect_right(check.run())
    check.expect_right(check.run(300), "300")
    check.expect_clean(drawn_run(check)[0])
