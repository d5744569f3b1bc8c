"""Lesson 07: what one phase needed, from a watermark, and memory in advance."""

from check import (
    MIB,
    SUCCESS,
    expect_narrow_wait,
    line_of,
    met_by_starter,
    miss,
    rounded_up,
    times,
)

ASKED = """phase_need and reserve as the rest of the lesson calls them, and CUDA calls in them that
    succeed."""
HIGH = "cudaMemPoolAttrUsedMemHigh"
MOST_MIB = 1 << 40  # a difference below 0 is larger


def refused(journal):
    """The attributes whose writing was refused, in order."""
    sets = journal.calls("cudaMemPoolSetAttribute").that(lambda x: x["result"] != SUCCESS)
    return [name[len("cudaMemPoolAttr") :] for name in sets.column("attribute")]


# ---- phase_need ----


def ask_need(check):
    live, before = check.draw("live", 4100, 9000), check.draw("before", 9100, 20000)
    size, more = check.draw("size", 4100, 8000), check.draw("more", 1, 500)
    more += (size + more) % 32 == 0  # a phase that no whole number of segments is the need of
    return live, before, size, more, check.ask(ASKED, "need", live, before, size, more)


def why_wrong(got, live, before, size, more, read):
    """What a wrong answer, in MiB, has probably mistaken. read: the figures that were read."""
    if (got == 0 or got > MOST_MIB) and {*read} == {"UsedMemHigh"}:
        return """phase_need resets the watermark UsedMemHigh, and subtracts what is live then. The
            watermark from before the reset shows what the pool used earlier."""
    if got == 0:
        return """phase_need returns the most that was used at one time. That is in the watermark,
            UsedMemHigh: the current figure falls at each free, and what is reserved counts whole
            segments."""
    if before and got in (before, before + live):
        return """phase_need returns what the phase needed: what the pool used before does not
            count, so the watermark is reset before the phase."""
    if live and got == live + size + more:
        return """phase_need returns what the phase needed itself: a watermark that is reset takes
            the current figure, which counts what is live already."""
    if got == size + more:
        return """phase_need returns the need to the byte. used_mib of workbook.h counts whole
            MiB: pool_get has the figure in bytes."""
    if got % 4096 == (size + more) % 4096:
        return """the figures of a pool are numbers of 8 bytes (uint64_t). An int counts less than
            2 GiB, and an unsigned int less than 4 GiB."""
    return """phase_need returns the most that the allocations of the phase used at one time,
        whichever phase it runs: reset the watermark UsedMemHigh before the phase, and read it after
        the phase."""


def expect_need(run, live, before, size, more):
    question = f"phase_need(phase, pool, stream, {size}) with {live} MiB live, after {before} MiB"
    question += " were used"
    got = run.answers.get(question, [])
    if len(got) != 1:
        miss(f"""phase_need returns to its caller, and prints nothing.
            Happened: {run.wrong({question: f"{size} MiB and more"})}""")
    number = int(got[0].split()[0])
    need = (size + more) * MIB + 1024
    if number != need:
        names = {x["attribute"] for x in run.journal.ok("cudaMemPoolGetAttribute")}
        read = sorted(name.removeprefix("cudaMemPoolAttr") for name in names) or ["none"]
        why = why_wrong(number // MIB, live, before, size, more, read)
        if number == need // MIB:
            why = "phase_need returns bytes, and not MiB."
        miss(f"""{why}
            Happened: {question} returned {number} bytes instead of {need} bytes. The figures that
            were read: {", ".join(read)}.""")


def expect_measured(run, size, more):
    """Each of the three questions ran the phase in its pool, between a reset and a reading."""
    journal = run.journal
    sizes = [size * MIB, (size - size // 2) * MIB, (size // 2 + more) * MIB + 1024]
    calls = journal.allocations.where(bytes=set(sizes))
    if calls.column("bytes") != 3 * sizes:
        miss(f"""phase_need runs the phase once.
            Happened: called three times, it ran the phase {len(calls) // 3} times.""")
    pools = [x["pool"] for x in journal.allocations if x["bytes"] % MIB == 512]
    own = [pools[0], pools[1], pools[0]] if len(pools) == 4 else []
    if calls.column("pool") != [pool for pool in own for _ in sizes]:
        miss("""the phase runs in the pool that phase_need is given, because the need depends on the
            pool, and only that pool's watermark shows it.
            Happened: phase_need ran it in another pool.""")
    expect_narrow_wait(
        journal,
        """phase_need needs no wait at all, because a watermark changes when a call is made.""",
    )
    for i, pool in enumerate(own):
        figures, phase = journal.where(pool=pool, attribute=HIGH), calls[3 * i : 3 * i + 3]
        before = calls.before(phase.first).last
        after = calls.after(phase.last).first
        sets = figures.ok("cudaMemPoolSetAttribute").part(before, phase.first)
        reads = figures.ok("cudaMemPoolGetAttribute").part(phase.last, after)
        if not sets or not reads:
            miss("""what the phase needed is measured: the watermark of the pool is reset before the
                phase and read after it.
                Happened: phase_need returned the number without that.""")


@met_by_starter
def test_figures(check):
    found = refused(check.run().journal)
    if found[:2] != ["ReservedMemCurrent", "UsedMemHigh"]:
        miss(f"""the program tries to set ReservedMemCurrent, and a watermark to another value than
            0. Both are refused. The starter has the two calls of try_to_set in show_figures.
            Happened: refused: {", ".join(found) or "nothing"}.""")


def test_before(check):
    again = refused(check.run().journal).count("UsedMemHigh") - 1
    if again >= 1:
        miss(f"""a watermark is reset by writing 0, as a uint64_t. Any other value is refused, even
            the current figure.
            Happened: writing UsedMemHigh was refused {times(again)} in phase_need.""")
    _, before, size, more, run = ask_need(check)
    expect_need(run, 0, before, size, more)
    expect_measured(run, size, more)


def test_live(check):
    check.after(test_before)
    live, before, size, more, run = ask_need(check)
    expect_need(run, live, 0, size, more)
    expect_need(run, live, before, size, more)


def after_reserve(run, pool):
    """(the pool's reserved bytes after each call until reserve returns, the allocation that the
    check made then)"""
    own = run.journal.where(pool=pool)
    again = own.allocations.last
    lines = own.before(again).that(lambda x: "call" in x and "reserved" in x)
    return lines.column("reserved"), again


def expect_unused(run, size, used):
    if run.answers.get(f"reserve(pool, stream, {size} MiB)") != ["done"]:
        miss("reserve returns to its caller. Happened: it did not.")
    _, again = after_reserve(run, run.journal.allocations.first["pool"])
    more = (again["used"] - again["bytes"]) // MIB
    if more != used:
        miss(f"""after reserve nothing more is in use than before.
            Happened: {used} MiB was used before, and {more} MiB after.""")


def expect_reserved(run, size, there):
    """The check then allocated as much. there: how many allocations of that pool it had made."""
    pool = run.journal.allocations.first["pool"]
    had, again = after_reserve(run, pool)
    if again["from"] == "new":
        made = run.journal.allocations.where(pool=pool)[there:-1]
        own = ", ".join(f"{x['bytes'] / MIB:.6g}" for x in made[:8])
        own += f", and so on, {len(made)} allocations" if len(made) > 8 else ""
        miss(f"""after reserve, the pool has the memory in one piece, for the stream that reserve is
            given. A pool gets that memory by an allocation of that size, and keeps it after the
            free.
            Happened: after a reserve of {size} MiB, an allocation of {size} MiB made the pool grow
            by {(again["reserved"] - had[-1]) // MIB} MiB. There reserve had allocated, in MiB:
            {own or "nothing"}.""")


def test_reserve(check):
    live, size = check.draw("live", 2, 500), check.draw("reserve", 4100, 9000)
    less = check.draw("reserve less", 33, 250)
    run = check.ask(ASKED, "reserve", live, size, less)
    expect_unused(run, size, live)
    first, other = run.journal.pools[:2]
    if stray := run.journal.allocations.that(lambda x: x["pool"] not in (first, other)).first:
        miss(f"""reserve names the pool that it is given in its allocation: that pool has to grow.
            Happened: {stray["call"]}{line_of(stray)} allocated from another pool.""")
    for pool, there, asked in ((first, live, size), (other, 0, less)):
        most = max(after_reserve(run, pool)[0], default=0) // MIB
        if most > rounded_up(there, 32) + rounded_up(asked, 32):
            miss(f"""reserve makes the pool grow by what it is asked for, in whole segments, and by
                no more: others use the device, too.
                Happened: with {there} MiB live, and {asked} MiB to reserve, the pool reserved
                {most} MiB.""")
    expect_reserved(run, size, 1)
    lowered = min(run.journal.set_to("cudaMemPoolAttrReleaseThreshold"))
    if lowered != (1 << 64) - 1:
        miss(f"""the threshold of the pool stays at its maximum, or the next synchronization may
            take what was reserved.
            Happened: reserve set it to {lowered} bytes.""")
    expect_narrow_wait(
        run.journal,
        """reserve allocates and frees in one stream: it needs no
        wait, or at most one for that stream.""",
    )


def test_piece(check):
    check.after(test_reserve)
    piece = check.draw("piece", 60, 250)
    size = check.draw("of the piece", piece + 1, 2 * piece - 2)
    run = check.ask(ASKED, "holes", piece, size, SIM_SEGMENT=2 * piece)
    expect_unused(run, size, 4 * piece)
    expect_reserved(run, size, 8)


def test_output(check):
    check.after()
    check.expect_right(check.run())
    check.expect_read("  #", "needed #", "grow by #")
