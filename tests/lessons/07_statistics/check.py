"""Lesson 07: what one phase needed, from a watermark, and memory in advance."""

from check import MIB, expect

ASKED = """phase_need and reserve as the rest of the lesson calls them, and CUDA calls in them that
    succeed."""
HIGH = "cudaMemPoolAttrUsedMemHigh"


def refused(journal):
    """The attributes whose writing was refused, in order."""
    return [
        x["attribute"][len("cudaMemPoolAttr") :]
        for x in journal.calls("cudaMemPoolSetAttribute")
        if x["result"] != "cudaSuccess"
    ]


def made(journal):
    return journal.ok("cudaMallocFromPoolAsync", "cudaMallocAsync")


# ---- phase_need ----


def ask_need(check):
    live, before = check.draw("live", 2, 500), check.draw("before", 4000, 9000)
    size, more = check.draw("size", 40, 900), check.draw("more", 1, 500)
    more += (size + more) % 32 == 0  # a phase that no whole number of segments is the need of
    return live, before, size, more, check.ask(ASKED, "need", live, before, size, more)


def why_wrong(got, live, before, size, more):
    """What a wrong answer, in MiB, has probably mistaken."""
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
    return """phase_need returns the most that the allocations of the phase used at one time,
        whichever phase it runs: the watermark of what is used, from a reset on."""


def expect_need(run, live, before, size, more):
    question = (
        f"phase_need(phase, pool, stream, {size}) with {live} MiB live, after {before} MiB "
        "were used"
    )
    got = run.answers.get(question, [])
    expect(
        len(got) == 1,
        "phase_need returns to its caller, and prints nothing.",
        f"the check called {question}.",
    )
    number = int(got[0].split()[0])
    expect(
        number == size + more,
        why_wrong(number, live, before, size, more),
        lambda: f"{question} returned {number} MiB. It is {size + more} MiB. "
        f"The figures that were read: {', '.join(read_figures(run))}.",
    )


def read_figures(run):
    names = {x["attribute"] for x in run.journal.ok("cudaMemPoolGetAttribute")}
    return sorted(name[len("cudaMemPoolAttr") :] for name in names) or ["none"]


def expect_measured(run, size, more):
    """Each of the three questions ran the phase in its pool, between a reset and a reading."""
    journal = run.journal
    sizes = [x * MIB for x in (size, size - size // 2, size // 2 + more)]
    calls = [x for x in made(journal) if x["bytes"] in sizes]
    expect(
        [x["bytes"] for x in calls] == 3 * sizes,
        "phase_need runs the phase once.",
        f"called three times, it ran the phase {len(calls) // 3} times.",
    )
    pools = [x["pool"] for x in made(journal) if x["bytes"] % MIB == 512]
    own = [pools[0], pools[1], pools[0]] if len(pools) == 4 else []
    expect(
        [x["pool"] for x in calls] == [pool for pool in own for _ in sizes],
        """the phase runs in
        the pool that phase_need is given: what a pool needs for it depends on that pool, and its
        watermark is to show it.""",
        "phase_need ran it in another pool.",
    )
    for i, pool in enumerate(own):
        begin, end = calls[3 * i], calls[3 * i + 2]
        last = calls[3 * i - 1]["n"] if i else 0
        following = calls[3 * i + 3]["n"] if i < 2 else 1 << 60
        figures = journal.where(pool=pool, attribute=HIGH)
        sets = [x for x in figures.ok("cudaMemPoolSetAttribute") if last < x["n"] < begin["n"]]
        reads = [x for x in figures.ok("cudaMemPoolGetAttribute") if end["n"] < x["n"] < following]
        expect(
            sets and reads,
            """what the phase needed is measured: the watermark of the pool is
            reset before the phase and read after it.""",
            "phase_need returned the number without that.",
        )


# ---- the rules ----


def test_figures(check):
    "the figures are shown, and two of them cannot be set"
    found = refused(check.run().journal)
    expect(
        found[:2] == ["ReservedMemCurrent", "UsedMemHigh"],
        """the program tries to set
        ReservedMemCurrent, and a watermark to another value than 0. Both are refused. The starter
        has the two calls of try_to_set in show_figures.""",
        f"refused: {', '.join(found) or 'nothing'}.",
    )


def test_before(check):
    "phase_need does not count what the pool used before"
    again = refused(check.run().journal).count("UsedMemHigh") - 1
    expect(
        again < 1,
        """a watermark is reset by writing 0, as a uint64_t. Any other value is
        refused, also that of the current figure.""",
        f"writing UsedMemHigh was refused {again} times in phase_need.",
    )
    _, before, size, more, run = ask_need(check)
    expect_need(run, 0, before, size, more)
    expect_measured(run, size, more)


def test_live(check):
    "phase_need does not count what is live already"
    live, before, size, more, run = ask_need(check)
    expect_need(run, live, 0, size, more)
    if test_before.__name__ in check.met:
        expect_need(run, live, before, size, more)


def expect_reserved(run, size, segment, used):
    """What reserve did to the pool in which the check then allocated as much."""
    expect(
        run.answers.get(f"reserve(pool, stream, {size} MiB)") == ["done"],
        "reserve returns to its caller.",
        "it did not.",
    )
    pool = made(run.journal).first["pool"]
    again = made(run.journal).where(pool=pool).last
    more = (again["used"] - again["bytes"]) // MIB
    expect(
        more == used,
        "after reserve nothing more is in use than before.",
        f"{used} MiB were used before, and {more} MiB after.",
    )
    figures = [
        x
        for x in run.journal.before(again)
        if "call" in x and x.get("pool") == pool and "reserved" in x
    ]
    had = figures[-1]["reserved"]
    expect(
        again["from"] != "new",
        """after reserve the pool has the memory, in one piece: the
        driver gives it to a pool for an allocation of that size, and the pool keeps it after the
        free.""",
        lambda: f"""after a reserve of {size} MiB, an allocation of {size} MiB made the
        pool grow by {(again["reserved"] - had) // MIB} MiB.""",
    )


def test_reserve(check):
    "reserve gives the pool memory that is not in use, as much as it is asked"
    live, size = check.draw("live", 2, 500), check.draw("reserve", 300, 3000)
    less = check.draw("reserve less", 33, 250)
    run = check.ask(ASKED, "reserve", live, size, less)
    expect_reserved(run, size, 32, live)
    first, other = dict.fromkeys(x["pool"] for x in made(run.journal))
    for pool, there, asked in ((first, live, size), (other, 0, less)):
        of_pool = run.journal.where(pool=pool)
        most = max(x["reserved"] for x in of_pool if "reserved" in x) // MIB
        needed = -(-there // 32) * 32 + -(-asked // 32) * 32 + 64
        expect(
            most <= needed,
            """reserve makes the pool grow by what it is asked for, in whole
            segments, and by no more: others use the device, too.""",
            f"""with {there} MiB live, and
            {asked} MiB to reserve, the pool reserved {most} MiB.""",
        )


def test_piece(check):
    "reserve gives one piece, also to a pool whose free memory is in pieces"
    check.after(test_reserve)
    piece = check.draw("piece", 60, 250)
    size = check.draw("of the piece", piece + 1, 2 * piece - 2)
    run = check.ask(ASKED, "holes", piece, size, SIM_SEGMENT=2 * piece)
    expect_reserved(run, size, 2 * piece, 4 * piece)


def test_output(check):
    "it prints what a real device prints"
    check.after_the_rest()
    check.expect_right(check.run())
