"""Lesson 22: a caching allocator on top of one pool. The check calls the cache with walks of its
own (walks.py), and the program replays recorded traces. The figures come from the journal."""

import re
import sys
from pathlib import Path

from check import MIB, ROOT, Waits, line_of, met_by_starter, miss, rounded_up, section, visible

sys.path.insert(0, str(Path(__file__).parent))
import walks  # noqa: E402

GRAIN, STREAMS, ROUNDS = 512, 8, 5
OTHERS = """cache_take, cache_give and cache_trim can be called for other traces than those in
    lessons/traces."""
GOES_ON = """the host waits for no stream in cache_take and cache_give, except where a piece is
    returned: cache_take records an event in the stream that returned the memory, and makes the
    other stream wait for it. Asking again and again (cudaStreamQuery in a loop) is a wait, too."""
GOES_ON_LONG = """a cache that goes on: 70,000 parts are taken and returned, at most 12 of them at a
    time. What it keeps about a part is used again when the part is joined or has returned."""
AT_GRAIN = """a part begins at a multiple of GRAIN bytes in its piece, so that it can hold what an
    allocation of a pool can: sizes are rounded up to that."""
HUGE = """a part may have 4 GiB and more, more than an int or an unsigned int can count: its piece
    is returned as any other is."""
NO_WAIT = "lies where another stream's part lay, and the stream does not wait for that use."
EVERY_LAST_USE = """a stream waits for the last use of each part that lay where its new part lies"""


# ---- the check calls the cache ----


def numbers(check, mode):
    """What is drawn for a walk."""
    far = check.draw("far", 5, STREAMS - 1)  # it is none of the five that the traces have
    others = [check.draw("b", 1, 3), 0, check.draw("c", 4, 6), 7]
    used_in = [(far + one) % STREAMS for one in others]
    sizes = [GRAIN * check.draw(name, 60, 240) for name in ("left", "right", "guard")]
    given = {
        "turns": [*used_in, sizes[0]],
        "third": [*used_in, sizes[0]],
        "neighbors": [*used_in[:3], *sizes[:2]],
        "newer": [*used_in[:2], GRAIN * check.draw("spare", 8, 50), sizes[2], *sizes[:2]],
        "held": [*used_in[:2], sizes[0]],
        "again": [far, used_in[0], sizes[0]],
        "huge": [far, check.draw("huge", 1, 3) << 32],
    }
    return given.get(mode, [check.draw("seed", 1, 1000000)])


def ask_early(check, sentence, mode):
    """A run of a walk, as far as it came."""
    walk = walks.Walk(mode, numbers(check, mode)).words
    return check.ask(sentence, *walk, hazards=True, special=True, early=True)


def ask(check, sentence, mode):
    return ended(check, ask_early(check, sentence, mode))


def ended(check, run):
    """A run that came to its end. A part that lies askew may be what it died of."""
    if run.early and test_places in check.met:
        check.after(test_grain)
    run.expect_return()
    return run


def walk(check, mode, sentence=OTHERS):
    """What a walk shows: walks.Figures."""
    run = ask(check, sentence, mode)
    if not hasattr(run, "figures"):
        run.figures = walks.figures(run, mode, numbers(check, mode))
    return run.figures


def at_most(figures):
    return f"at most {figures.bar} MiB reserved, 1.15 times what cudaMallocAsync needs"


def expect_nothing_left(figures):
    if figures.left:
        miss(f"""at the end every part is idle, and cache_trim returns every piece to the pool, even
            a piece whose parts are idle in several streams.
            Happened: pieces left: {figures.left} of {figures.taken}.""")


def place_of(figures):
    waited = "which has waited for no event"
    if figures.last_wait:
        waited = f"whose last wait is{line_of(figures.last_wait)}"
    return f"the part of {figures.shown(figures.bad)} ({waited})"


@met_by_starter
@section(1)
def test_places(check):
    for mode in ("turns", "random"):
        figures = walk(check, mode)
        if figures.wrong:
            miss(f"""a part lies in a piece of the pool, has the bytes that are asked for, and
                shares none with another part that is in use; cache_take, cache_give and cache_trim
                return to their caller.
                Happened: {figures.wrong}.""")


@met_by_starter
@section(1)
def test_grain(check):
    check.after(test_places)
    run = ask_early(check, AT_GRAIN, "ragged")
    if askew := walks.figures(run, "ragged", numbers(check, "ragged")).askew:
        miss(f"{AT_GRAIN} Happened: {askew}.")
    run.expect_return()


@section(1)
def test_turns(check):
    check.after(test_places)
    figures = walk(check, "turns")
    if figures.bad is None:
        return
    if not figures.waits:
        miss("""memory that one stream returned goes to another only after the other waits for an
            event, because the last use may still be running.
            Happened: memory went from stream to stream, and no event was waited for.""")
    taking = figures.walk.stream[figures.bad]
    if taking not in figures.waiting:
        who = " and ".join(f"streams[{one}]" for one in sorted(figures.waiting))
        waits = f"{who} waited for an event, and streams[{taking}] for none"
        waits = waits if who else "No stream had waited for an event"
        miss(f"""the stream that gets the part waits: cudaStreamWaitEvent(streams[stream], ...) is
            given the stream that asks for memory, and the event is recorded in the stream that
            returned it.
            Happened: {place_of(figures)} was used in another stream before.
            {waits}.""")
    miss(f"""the event that is waited for was recorded after the part's last use, so after its
        return, and in the stream of that use: an event has the position at which it was recorded.
        (Is that stream the part's, also after a hand-over?)
        Happened: {place_of(figures)} was used in another stream before, and the stream does not
        wait for that use.""")


@section(4)
def test_third(check):
    check.after(test_turns)
    figures = walk(check, "third")
    if figures.bad is not None:
        miss(f"""order is handed on: when a part goes from one stream to a second and on to a third,
            the third waits for an event that is recorded in the second after the second's own wait.
            This holds even if the second stream used only one half of the part, and the third gets
            the other half.
            Happened: {place_of(figures)} was used in the first stream before, and the third does
            not wait for that use. {figures.waits} waits were made in all.""")


@section(4)
def test_neighbors(check):
    check.after(test_turns, test_third)
    figures = walk(check, "neighbors")
    if figures.bad is None:
        return
    before = figures.before[figures.bad]
    if len(before) <= 1:
        miss(f"""{EVERY_LAST_USE}.
            Happened: {place_of(figures)} {NO_WAIT}""")
    miss(f"""two idle neighbors are joined when they belong to one stream; those of two streams only
        when one stream has waited for the other. A joined part has one stream: a stream that takes
        it waits for that stream alone, or for none.
        Happened: {place_of(figures)} was joined of parts of
        {" and ".join(f"streams[{one}]" for one in before)}, and its stream does not wait for all of
        them. Look at where parts are joined: in cache_give?""")


@section(4)
def test_newer(check):
    check.after(test_turns, test_third, test_neighbors)
    figures = walk(check, "newer")
    if figures.bad is not None:
        miss(f"""{EVERY_LAST_USE}. When a part that returned early is joined with a neighbor that
            returned later, another stream may have waited for the early one already. For the joined
            part it must wait once more: it has the later number of the two.
            Happened: {place_of(figures)} was joined of two parts of one stream, left and right. The
            stream that takes it had waited for the first of their returns, and does not wait for
            the second.""")


@section(4)
def test_hand_over(check):
    check.after(test_places)
    figures = walk(check, "turns")
    if not figures.moved:
        miss("""memory that one stream returned serves another stream, too, which waits for an event
            first.
            Happened: three streams needed the same number of bytes in turn, and none got what
            another had returned.""")
    if not figures.waits:  # who hands memory on and never waits, as the starter does
        check.after(test_turns)
    one, other, between = taken_again(check)
    if between.ok("cudaMallocFromPoolAsync"):
        why = ""
        if asked := between.queries.first:
            why = f""" {asked["call"]}{line_of(asked)} asked whether the device is done with it:
                what is not done serves as well, behind a wait for an event."""
        miss(f"""a stream that has no part that fits takes one that another stream returned,
            whichever two of the {STREAMS} streams they are, and cuts it where it is larger.
            Happened: streams[{one}] had returned 6 parts, and a new piece was taken for smaller
            ones of streams[{other}].{why}""")
    one, other, _ = numbers(check, "held")
    run = ask(check, GOES_ON, "held")
    if "waiting forever" in run.errors:
        miss(f"""{GOES_ON}
            Happened: streams[{one}] returned a part and is held by a kernel; the host waits for it
            before streams[{other}] has a part.""")
    journal = run.journal
    held = journal.ok("launch_hold").first
    taken = held and journal.after(held).ok("launch_fill").first
    if not taken:
        miss("the harness holds a stream, and another takes a part. Happened: it did not.")
    asked = journal.part(held, taken).queries
    if len(asked) > STREAMS:
        miss(f"""{GOES_ON}
            Happened: before streams[{other}] had a part the cache called {asked[0]["call"]}
            {len(asked)} times: a loop of queries is a wait, too.""")
    for mode in ("random", "small"):
        expect_no_host_wait(walk(check, mode))
    expect_no_host_wait(replay(check, "resnet50-train")[0])


def expect_no_host_wait(figures):
    found = figures.host.without_return
    if found:
        miss(f"""{GOES_ON}
            Happened: between two uses of parts the host waited in {", ".join(sorted(set(found)))},
            {len(found)} times in all, and no piece was returned there.""")


@section(5)
def test_trim(check):
    check.after(test_turns, test_neighbors)
    for mode in ("neighbors", "random"):
        figures = walk(check, mode)
        if mode == "random" and (figures.freed_in_use or figures.bad is not None):
            check.after(test_third, test_newer)  # what these report may be the cause here, too
        if figures.freed_in_use:
            check.after(test_small, test_training)  # a hazard there names the line of the free
            freed = ask(check, OTHERS, mode).journal.numbered.get(figures.freed_in_use, {})
            miss(f"""before a piece is returned to the pool in one stream, that stream waits for
                every other stream that used a part of it.
                Happened: a piece was freed in one stream{line_of(freed)}, and another stream could
                still be using a part of it.""")
        if figures.bad is not None and mode != "neighbors":
            miss(f"""{EVERY_LAST_USE}, also for those that are joined before a new piece is taken.
                Happened: {place_of(figures)} {NO_WAIT}""")
        expect_nothing_left(figures)
    figures = walk(check, "huge", HUGE)
    if figures.wrong or figures.left or figures.taken > 2:
        lines = f"pieces taken for one such part in turn: {figures.taken - 1}, left: {figures.left}"
        miss(f"""{HUGE}
            Happened: {figures.wrong or lines}.""")


@section(3)
def test_small_program(check):
    check.after(test_places)
    figures = walk(check, "small")
    if figures.peak <= figures.bar:
        return
    happened = f"{figures.peak} MiB reserved; pieces taken: {figures.taken}"
    if figures.most <= 1:
        check.after(test_few_calls)
        miss(f"""large pieces are cut into parts: {at_most(figures)}.
            Happened: {happened}; no piece ever had two parts in use.""")
    if figures.largest > 64:
        miss(f"""a small program needs few pieces, and small ones: {at_most(figures)}. Take pieces
            of one segment, 32 MiB, at first, and larger ones when the cache has more.
            Happened: {happened}; the largest piece has {figures.largest} MiB.""")
    miss(f"""idle memory is found again: {at_most(figures)}. Join neighbors, take the smallest part
        that fits, and round sizes up to multiples of 512 bytes, not to powers of two.
        Happened: {happened}.""")


@section(3)
def test_long(check):
    # A cache that joins nothing searches longer and longer lists.
    check.after(test_small_program, test_few_calls)
    run = ask(check, GOES_ON_LONG, "long")
    taken = len(run.journal.ok("cudaMallocFromPoolAsync"))
    if taken > 40:
        miss(f"""12 parts of at most 1 MiB need few pieces, however often they are taken.
            Happened: {taken} pieces were taken.""")
    lost = run.answer("bytes of host memory that 50,000 more parts took")
    if not lost.isdecimal() or int(lost) > 400000:
        miss(f"""{GOES_ON_LONG} The struct of a part that was joined to its neighbor is freed, or
            kept for the next part.
            Happened: 50,000 parts more left {lost} bytes of host memory that nobody freed.""")


# ---- the program replays recorded traces ----


def trace_of(name):
    """(what, id, size, stream) of each step of a trace."""
    text = (ROOT / f"lessons/traces/{name}.csv").read_text()
    return [line.split(",") for line in text.splitlines()[1:] if line]


def replay(check, trace, **environment):
    """(figures, run) of a replay: the first pool is the plain one, the second the cache's. The code
    below END OF YOUR WORK uses every part."""
    name = "" if trace == "small" else trace
    run = ended(check, check.run(*name.split(), early=True, **environment))
    if not hasattr(run, "figures"):
        run.figures = walks.replay_figures(run)
    figures = run.figures
    figures.pairs = pairs = sum(step[0] == "a" for step in trace_of(trace))
    if (figures.fills, figures.adds) != (pairs, 2 * pairs):
        miss(f"""the cache's parts come from its pool and are used by a kernel when they are taken
            and by two before they return: {pairs} parts. The code below END OF YOUR WORK does that:
            leave it as it is.
            Happened: {figures.fills} first and {figures.adds} last uses.""")
    if figures.elsewhere:
        miss(f"""all memory comes from the cache's one pool.
            Happened: {figures.elsewhere} allocations came from elsewhere.""")
    wanted, got = check.expected_file(name).read_text().splitlines()[:2], run.lines[:2]
    if wanted != got:
        miss(f"""the first two lines print what the trace has and what a plain pool needs, as
            recorded on a real device: {"; ".join(" ".join(x.split()) for x in wanted)}.
            Happened: {"; ".join(" ".join(visible(x).split()) for x in got)}""")
    return figures, run


def expect_peak(check, figures, trace):
    if figures.peak <= figures.bar:
        return
    happened = f"{figures.peak} MiB, with {figures.taken} pieces."
    if figures.most <= 1:
        check.after(test_few_calls)
    largest = max(int(size) for _, _, size, _ in trace_of(trace))
    if figures.largest > max(rounded_up(largest, 32 * MIB) // MIB, 128):
        miss(f"""a new piece has what is asked for, or a third of what the cache holds, but not more
            than 128 MiB then: {at_most(figures)}. The last piece is seldom needed as a whole.
            Happened: the largest piece has {figures.largest} MiB, the largest allocation of the
            trace {rounded_up(largest, MIB) // MIB} MiB; {happened}""")
    miss(f"""idle memory is found again: {at_most(figures)}. Join neighbors, take the smallest part
        that fits, return idle pieces before a new one is taken, and round sizes up to multiples of
        512 bytes, not to powers of two.
        Happened: {happened}""")


def expect_few_pieces(figures):
    if figures.taken > figures.pairs // 10:
        if figures.most <= 1:
            miss(f"""large pieces are cut into parts, so that a piece serves many allocations.
                Happened: no piece ever had two parts in use, and {figures.taken} were taken.""")
        miss(f"""a piece serves many allocations, and is kept: at most {figures.pairs // 10} pieces
            for the {ROUNDS * figures.pairs} allocations of all rounds.
            Happened: {figures.taken} pieces were taken.""")


@met_by_starter
@section(3)
def test_small(check):
    check.after(test_places)
    figures, run = replay(check, "small")
    expect_nothing_left(figures)
    check.expect_clean(run)
    if figures.peak > figures.bar:
        check.after(test_small_program)
    expect_peak(check, figures, "small")


@section(3)
def test_training(check):
    check.after(test_places)
    figures, run = replay(check, "resnet50-train")
    if figures.peak > figures.bar:
        check.after(test_small_program, test_small)
    expect_peak(check, figures, "resnet50-train")
    expect_nothing_left(figures)
    check.expect_clean(run)


@section(2)
def test_few_calls(check):
    check.after(test_places)
    figures, _ = replay(check, "resnet50-train")
    expect_few_pieces(figures)
    if figures.records > figures.pairs // 10:
        if any(walk(check, mode).bad is not None for mode in ("third", "neighbors")):
            raise Waits("first repair the order below: that may move the record, too")
        miss(f"""one stream needs no events. An event at each return costs more time than the rest
            of the cache: record one when memory changes its stream.
            Happened: {figures.records} events were recorded for {ROUNDS * figures.pairs}
            allocations.""")


@section(6)
def test_four_streams(check):
    check.after(test_hand_over, test_turns, test_third, test_neighbors, test_newer, test_trim)
    figures, run = replay(check, "four-streams")
    late, _ = replay(check, "four-streams", SIM_SCHEDULE="late")
    if (late.peak, late.taken) != (figures.peak, figures.taken):
        check.after(test_counts)
        asked = run.journal.queries.first
        by = f" It asked in {asked['call']}{line_of(asked)}." if asked else ""
        miss(f"""what the cache reserves depends on what it is asked for, and not on how far the
            device is: a cache that asks (cudaStreamQuery, cudaEventQuery) and takes what happens to
            be finished needs more on another day.
            Happened: {figures.peak} MiB in {figures.taken} pieces, and {late.peak} MiB in
            {late.taken} pieces where the device does its work later.{by}""")
    expect_peak(check, figures, "four-streams")
    expect_few_pieces(figures)
    allocations = ROUNDS * figures.pairs
    if figures.waits > allocations // 2:
        miss(f"""a stream waits when it takes what another one returned, and for that stream alone:
            at most {allocations // 2} waits for the {allocations} allocations of all rounds.
            Happened: {figures.waits} waits.""")
    replay(check, "tangle")
    expect_each_wait_once(check)


def taken_again(check):
    """Two streams, and what the cache called from the return of six parts by the first one until
    the other one had six."""
    one, other, _ = numbers(check, "again")
    journal = ask(check, OTHERS, "again").journal
    returned = journal.ok("launch_add")[:6].last
    taken = journal.ok("launch_fill").after(returned)[:6].last
    return one, other, journal.between(returned, taken)


def expect_each_wait_once(check):
    one, other, between = taken_again(check)
    waits = between.ok("cudaStreamWaitEvent")
    if len(waits) > 1:
        miss(f"""a stream does not wait again for what it has waited for: one wait covers all that
            the other stream had returned by then. Number the returns of each stream, keep for each
            pair of streams the last number that was waited for (not the part's, but that of the
            other stream's last return), and wait only for a later one.
            Happened: streams[{one}] had returned 6 parts, and streams[{other}] took 6 and waited
            for it {len(waits)} times. Each further wait is a record and a wait of the driver for
            nothing, and holds the stream until everything is done that was put into the other
            stream since then.""")


@section(5)
def test_counts(check):
    check.after(test_hand_over, test_turns, test_third, test_neighbors, test_newer, test_trim)
    figures, run = replay(check, "four-streams")
    expect_nothing_left(figures)
    line = run.line("pieces taken")
    counted = [int(word) for word in re.split("[ ,;]", line) if word.isdecimal()]
    wanted = [ROUNDS, figures.taken, figures.returned, figures.waits, figures.end]
    if counted != wanted:
        miss(f"""count says what the cache did: {figures.taken} pieces taken, {figures.returned}
            given back, {figures.waits} events waited for; at the end {figures.end} MiB reserved.
            Happened: the line is: {visible(line)}.""")
    if figures.end != 0:
        journal = run.journal
        trim = journal.ok("cudaMemPoolTrimTo").last
        freed = journal.before(trim).frees.where(pool=trim["pool"]).last if trim else None
        between = journal.between(freed, trim).that(lambda x: "Synchronize" in x.get("call", ""))
        why = """ Between the last free of a piece and that trim the host synchronized with no
            stream: a pool returns only what a synchronization after the free has covered."""
        miss(f"""the last trim of the pool leaves nothing in it: cache_trim calls
            cudaStreamSynchronize after each cudaFreeAsync.
            Happened: {figures.end} MiB is still reserved.{why * (not between)}""")
    check.expect_clean(run)
    check.expect_read("the cache reserved at most #", "then reserved #")
    _, run = replay(check, "four-streams", SIM_SCHEDULE="late")
    check.expect_clean(run)
