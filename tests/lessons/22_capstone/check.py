"""Lesson 22: a caching allocator on top of one pool. The check calls the cache with walks of its
own (walks.py), and the program replays recorded traces. The figures come from the journal."""

import sys
from pathlib import Path

from check import MIB, ROOT, expect, visible

sys.path.insert(0, str(Path(__file__).parent))
import walks  # noqa: E402

GRAIN, STREAMS, ROUNDS = 512, 8, 5
OTHERS = """cache_take, cache_give and cache_trim can be called for other traces than those in
    tests/simulator/traces."""
GOES_ON = """the host waits for no stream in cache_take and cache_give, except where a piece is
    returned: cache_take records an event in the stream that returned the memory, and makes the
    other stream wait for it. To ask again and again (cudaStreamQuery in a loop) is to wait."""
EVERY_LAST_USE = """a stream waits for the last use of each part that lay where its new part lies"""


# ---- the check calls the cache ----


def numbers(check, mode):
    """What is drawn for a walk."""
    a = check.draw("a", 0, STREAMS - 1)
    others = [check.draw("b", 1, 3), check.draw("c", 4, 6), 7]
    used_in = [a, *((a + one) % STREAMS for one in others)]
    sizes = [GRAIN * check.draw(name, 60, 240) for name in ("left", "right", "guard")]
    given = {
        "turns": [*used_in, sizes[0]],
        "third": [*used_in, sizes[0]],
        "neighbors": [*used_in[:3], *sizes[:2]],
        "newer": [*used_in[:2], GRAIN * check.draw("spare", 8, 50), sizes[2], *sizes[:2]],
        "held": [*used_in[:2], sizes[0]],
    }
    return given.get(mode, [check.draw("seed", 1, 1000000)])


def walk(check, mode):
    """The figures of a walk, and its run."""
    run = check.ask(OTHERS, mode, *numbers(check, mode), hazards=True)
    if not hasattr(run, "figures"):
        run.figures = walks.figures(run, mode, numbers(check, mode))
    return run.figures, run


def place_of(figures):
    return f"the part of {figures.shown(figures.bad)}" if figures.bad is not None else ""


def test_places(check):
    "each part has its bytes in a piece of the pool, and shares none with another"
    for mode in ("turns", "random"):
        figures, run = walk(check, mode)
        expect(
            not figures.wrong,
            """a part lies in a piece of the pool, has the bytes that are
               asked for, and shares none with another part that is in use; cache_take, cache_give
               and cache_trim return to who called them.""",
            f"{figures.wrong}.",
            run,
        )


def test_grain(check):
    "each part begins at a multiple of GRAIN in its piece"
    check.after(test_places)
    figures, run = walk(check, "random")
    expect(
        not figures.askew,
        """a part begins at a multiple of GRAIN bytes in its piece, so that it
           can hold what an allocation of a pool can: sizes are rounded up to that.""",
        f"{figures.askew}.",
        run,
    )


def test_turns(check):
    "a stream that gets what another returned comes after its last use"
    check.after(test_places)
    figures, run = walk(check, "turns")
    if figures.bad is None:
        return
    expect(
        figures.waits,
        """memory that one stream returned goes to another only after the other
           waits for an event: the last use may be running.""",
        "memory went from stream to stream, and no event was waited for.",
        run,
    )
    expect(
        False,
        """the event that is waited for was recorded after the part's last use, so after
           its return: an event has the position at which it was recorded.""",
        f"{place_of(figures)} was used in another stream before, and the stream does not wait "
        "for that use.",
        run,
    )


def test_third(check):
    "a stream that gets what another took from a third comes after the third's use"
    check.after(test_turns)
    figures, run = walk(check, "third")
    expect(
        figures.bad is None,
        """order is handed on: when a part goes from one stream to a second
           and on to a third, the third waits for an event that is recorded in the second after the
           second's own wait. Also when the second stream used only one half of the part, and the
           third gets the other half.""",
        lambda: f"""{place_of(figures)} was used in the first stream
           before, and the third does not wait for that use. {figures.waits} waits were made in
           all.""",
        run,
    )


def test_neighbors(check):
    "neighbors of two streams are joined only in order"
    check.after(test_turns, test_third)
    figures, run = walk(check, "neighbors")
    if figures.bad is None:
        return
    before = figures.before[figures.bad]
    expect(
        len(before) > 1,
        f"{EVERY_LAST_USE}.",
        f"{place_of(figures)} lies where another stream's "
        "part lay, and the stream does not wait for that use.",
        run,
    )
    expect(
        False,
        """two idle neighbors are joined when they belong to one stream; those of two
           streams only when one stream has waited for the other. A joined part has one stream: who
           takes it waits for that stream alone, or for none.""",
        f"{place_of(figures)} was joined of "
        f"parts of {' and '.join(f'streams[{one}]' for one in before)}, and its stream does not "
        "wait for all of them. Look at where parts are joined: in cache_give?",
        run,
    )


def test_newer(check):
    "a joined part is as new as the newest of its halves"
    check.after(test_turns)
    figures, run = walk(check, "newer")
    expect(
        figures.bad is None,
        f"""{EVERY_LAST_USE}. When a part that returned early is joined with
           a neighbor that returned later, another stream may have waited for the early one already.
           For the joined part it must wait once more: it has the later number of the two.""",
        lambda: f"""{place_of(figures)} was joined of two parts of one stream, left and right. The
           stream that takes it had waited for the first of their returns, and does not wait for
           the second.""",
        run,
    )


def test_hand_over(check):
    "memory goes from stream to stream, and the host does not wait"
    check.after(test_places)
    figures, run = walk(check, "turns")
    expect(
        figures.moved,
        """memory that one stream returned serves another stream, too, which waits
           for an event first.""",
        """three streams needed the same number of bytes in turn, and none
           got what another had returned.""",
        run,
    )
    if not figures.waits:  # who hands memory on and never waits, as the starter does
        check.after(test_turns)
    one, other, _ = numbers(check, "held")
    run = check.ask(GOES_ON, "held", *numbers(check, "held"), hazards=True)
    stuck = "waiting forever" in run.errors
    expect(
        not stuck,
        GOES_ON,
        f"streams[{one}] returned a part and is held by a kernel; the host "
        f"waits for it before streams[{other}] has a part.",
        run,
    )
    journal = run.journal
    held = journal.ok("launch_hold").first
    taken = held and journal.after(held).ok("launch_fill").first
    expect(taken, "the harness holds a stream, and another takes a part.", "it did not.", run)
    between = journal.after(held).before(taken)
    asked = [x["call"] for x in between.calls("cudaStreamQuery", "cudaEventQuery")]
    expect(
        len(asked) <= STREAMS,
        GOES_ON,
        f"before streams[{other}] had a part the cache called "
        f"{asked[0] if asked else ''} {len(asked)} times: to ask for a while is to wait for a "
        "while.",
        run,
    )


def test_trim(check):
    "trim: a piece is returned after every use of its parts"
    check.after(test_turns, test_neighbors)
    for mode in ("neighbors", "random"):
        figures, run = walk(check, mode)
        if mode == "random" and (figures.freed_in_use or figures.bad is not None):
            check.after(test_third, test_newer)  # what these report may be the cause here, too
        expect(
            not figures.freed_in_use,
            """before a piece is returned to the pool in one stream, that stream waits for every
               other stream that used a part of it.""",
            """a piece was freed in one stream, and another stream could still be using a part of
               it.""",
            run,
        )
        expect(
            figures.bad is None or mode == "neighbors",
            f"""{EVERY_LAST_USE}, also for those that are joined before a new piece is taken.""",
            f"{place_of(figures)} lies where another stream's part lay, and the stream does not "
            "wait for that use.",
            run,
        )
        expect(
            not figures.left,
            """at the end every part is idle, and cache_trim returns every piece to the pool; also a
               piece whose parts are idle in several streams.""",
            f"pieces left: {figures.left} of {figures.taken}.",
            run,
        )


def test_small_program(check):
    "a program with little memory: at most 1.15 times what cudaMallocAsync reserves"
    check.after(test_places)
    figures, run = walk(check, "small")
    bar = figures.plain_peak * 115 // 100
    happened = f"{figures.peak} MiB reserved; pieces taken: {figures.taken}"
    if figures.peak <= bar:
        return
    expect(
        figures.most > 1,
        f"""large pieces are cut into parts: at most {bar} MiB reserved, 1.15
           times what cudaMallocAsync needs.""",
        f"{happened}; no piece ever had two parts in use.",
        run,
    )
    expect(
        figures.largest <= 64,
        f"""a small program needs few pieces, and small ones: at most {bar}
           MiB reserved, 1.15 times what cudaMallocAsync needs. Take pieces of one segment, 32 MiB,
           at first, and larger ones when the cache has more.""",
        f"{happened}; the largest piece has {figures.largest} MiB.",
        run,
    )
    expect(
        False,
        f"""idle memory is found again: at most {bar} MiB reserved, 1.15 times what
           cudaMallocAsync needs. Join neighbors, take the smallest part that fits, and round sizes
           up to multiples of 512 bytes, not to powers of two.""",
        f"{happened}.",
        run,
    )


def test_long(check):
    "a long program: 70,000 parts, of which few are live"
    check.after(test_places)
    run = check.ask(
        """a cache that goes on: 70,000 parts are taken and returned, at most 12 of them
        at a time. What it keeps about a part is used again when the part is joined or has
        returned.""",
        "long",
        *numbers(check, "long"),
        hazards=True,
    )
    taken = len(run.journal.ok("cudaMallocFromPoolAsync"))
    expect(
        taken <= 100,
        "12 parts of at most 1 MiB need few pieces, however often they are taken.",
        f"{taken} pieces were taken.",
        run,
    )


# ---- the program replays recorded traces ----


def pairs_of(trace):
    text = (ROOT / f"tests/simulator/traces/{trace}.csv").read_text()
    return [line.split(",") for line in text.splitlines()[1:] if line]


def replay(check, trace, **environment):
    """(figures, number of allocations, run) of a replay: the first pool is the plain one, the
    second the cache's. The code below END OF YOUR WORK uses every part."""
    run = check.run(*([] if trace == "small" else [trace]), **environment)
    if not hasattr(run, "figures"):
        run.figures = walks.replay_figures(run)
    figures, pairs = run.figures, sum(op[0] == "a" for op in pairs_of(trace))
    expect(
        (figures.fills, figures.adds) == (pairs, 2 * pairs),
        f"""the cache's parts come from its
           pool and are used by a kernel when they are taken and by two before they return: {pairs}
           parts. The code below END OF YOUR WORK does that: leave it as it is.""",
        f"{figures.fills} first and {figures.adds} last uses.",
        run,
    )
    expect(
        not figures.elsewhere,
        "all memory comes from the cache's one pool.",
        f"{figures.elsewhere} allocations came from elsewhere.",
        run,
    )
    path = check.expected_file("" if trace == "small" else trace)
    wanted, got = path.read_text().splitlines()[:2], run.output.splitlines()[:2]
    expect(
        wanted == got,
        f"""the first two lines print what the trace has and what a plain pool
           needs, as recorded on a real device:
           {"; ".join(" ".join(x.split()) for x in wanted)}.""",
        "; ".join(" ".join(visible(x).split()) for x in got),
        run,
    )
    return figures, pairs, run


def expect_nothing_left(figures, run):
    expect(
        not figures.left,
        """at the end every part is idle, and cache_trim returns every piece to
           the pool; also a piece whose parts are idle in several streams.""",
        f"pieces left: {figures.left} of {figures.taken}.",
        run,
    )


def power_of_two(size):
    return max(GRAIN, 1 << (size - 1).bit_length())


def peak_of_powers(trace):
    """MiB that are live at most when each size is rounded up to a power of two."""
    now = most = 0
    for what, _, size, _ in pairs_of(trace):
        now += power_of_two(int(size)) * (1 if what == "a" else -1)
        most = max(most, now)
    return most // MIB


def expect_peak(figures, trace, run):
    bar, peak = figures.plain_peak * 115 // 100, figures.peak
    if peak <= bar:
        return
    happened, bound = f"{peak} MiB, with {figures.taken} pieces.", peak_of_powers(trace)
    expect(
        figures.most > 1,
        f"""large pieces are cut into parts: at most {bar} MiB reserved, 1.15
           times what cudaMallocAsync needs.""",
        f"no piece ever had two parts in use; {happened}",
        run,
    )
    largest = max(int(size) for _, _, size, _ in pairs_of(trace))
    needed = -(-largest // (32 * MIB)) * 32
    expect(
        figures.largest <= max(needed, 128),
        f"""a new piece has what is asked for, or a third of
           what the cache holds, but not more than 128 MiB then: at most {bar} MiB reserved, 1.15
           times what cudaMallocAsync needs. The last piece is seldom needed as a whole.""",
        f"the largest piece has {figures.largest} MiB, the largest allocation of the trace "
        f"{-(-largest // MIB)} MiB; {happened}",
        run,
    )
    expect(
        peak < bound or bound <= bar,
        f"""a part has few bytes more than the trace requests: at
           most {bar} MiB reserved, 1.15 times what cudaMallocAsync needs. Sizes rounded up to
           powers
           of two need {bound} MiB, however well they are packed.""",
        happened,
        run,
    )
    expect(
        False,
        f"""idle memory is found again: at most {bar} MiB reserved, 1.15 times what
           cudaMallocAsync needs. Join neighbors, take the smallest part that fits, and return idle
           pieces before a new one is taken.""",
        happened,
        run,
    )


def expect_few_pieces(figures, pairs, run):
    expect(
        figures.taken <= pairs // 10,
        f"""a piece serves many allocations, and is kept: at most
           {pairs // 10} pieces for the {ROUNDS * pairs} allocations of all rounds.""",
        f"{figures.taken} pieces were taken.",
        run,
    )


def test_small(check):
    "small: nothing is left, and little is reserved"
    check.after(test_places)
    figures, _, run = replay(check, "small")
    expect_nothing_left(figures, run)
    check.expect_clean(run)
    expect_peak(figures, "small", run)


def test_training(check):
    "resnet50-train: at most 1.15 times what cudaMallocAsync reserves"
    check.after(test_places)
    figures, _, run = replay(check, "resnet50-train")
    expect_peak(figures, "resnet50-train", run)
    expect_nothing_left(figures, run)
    check.expect_clean(run)


def test_few_calls(check):
    "resnet50-train: few calls, so little time"
    check.after(test_places)
    figures, pairs, run = replay(check, "resnet50-train")
    expect_few_pieces(figures, pairs, run)
    expect(
        figures.records <= pairs // 10,
        """one stream needs no events. An event at each return
           costs more time than the rest of the cache: record one when memory changes its
           stream.""",
        f"{figures.records} events were recorded for {ROUNDS * pairs} allocations.",
        run,
    )


def test_four_streams(check):
    "four-streams: four streams need little more than one, and few waits"
    check.after(test_hand_over)
    figures, pairs, run = replay(check, "four-streams")
    expect_peak(figures, "four-streams", run)
    expect_few_pieces(figures, pairs, run)
    most = ROUNDS * pairs // 2
    expect(
        figures.waits <= most,
        f"""a stream waits when it takes what another one returned, for
           that stream alone, and not again for what it waited for before: at most {most} waits for
           the {ROUNDS * pairs} allocations of all rounds.""",
        f"{figures.waits} waits.",
        run,
    )
    replay(check, "tangle")


def test_counts(check):
    "four-streams: what the cache counts is what it did, and nothing is left at the end"
    check.after(test_hand_over, test_turns, test_third, test_neighbors, test_newer, test_trim)
    figures, _, run = replay(check, "four-streams")
    expect_nothing_left(figures, run)
    line = next((x for x in run.output.splitlines() if "pieces taken" in x), "nothing")
    counted = [
        int(word) for word in line.replace(",", " ").replace(";", " ").split() if word.isdecimal()
    ]
    wanted = [ROUNDS, figures.taken, figures.returned, figures.waits, figures.end]
    expect(
        counted == wanted,
        f"""count has what the cache did: {figures.taken} pieces taken,
           {figures.returned} given back, {figures.waits} events waited for; at the end
           {figures.end}
           MiB reserved.""",
        f"the line is: {visible(line)}.",
        run,
    )
    expect(
        figures.end == 0,
        "the last trim of the pool leaves nothing in it.",
        f"{figures.end} MiB are still reserved.",
        run,
    )
    check.expect_clean(run)
    _, _, run = replay(check, "four-streams", SIM_SCHEDULE="late")
    check.expect_clean(run)
