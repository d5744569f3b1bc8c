"""Lesson 09: a program moves from cudaMalloc to a pool of its own, in five steps.

A frame's number is what launch_add adds to its staging buffer. The library's scratch memory is
told from the frames' buffers by its size."""

import re

from check import (
    ALLOCATE,
    COPY,
    MEMSET,
    MIB,
    OUTSIDE,
    SCHEDULES,
    SUCCESS,
    Waits,
    expect_narrow_wait,
    expect_no_asking,
    hazard_words,
    line_of,
    met_by_starter,
    miss,
    visible,
)

FRAMES, LIBRARY = 6, 20 * MIB
THRESHOLD = "cudaMemPoolAttrReleaseThreshold"
WORK = ("launch_fill", "launch_add", *MEMSET, *COPY)
TOO_EARLY = {
    *("use before allocation", "allocation before the free", "use after free"),
    *("free before allocation", "free before the use ends"),
}
ANSWER_TOO_EARLY = {
    *("host access not ordered after a write", "unordered writes"),
    *("write not ordered after a read", "host write not ordered after a read"),
}


def drawn(check):
    """(MiB of a frame, the journal) of one run: nothing ends before somebody waits for it, and
    segments are small, so that a pool's figures show each MiB. Where another limit stops a program,
    a segment has room for all, and the limit is rounded up to one."""
    mib = check.draw("size", 21, 31)
    journal = check.run_late(mib, SIM_SEGMENT="2").journal
    if refused(journal) and not is_limited(mib, journal):
        journal = check.run_late(mib, SIM_SEGMENT="512").journal
    return mib, journal


def frames(mib, journal):
    """(number, bytes, lines) of each frame: what was called between two calls of the library."""
    ends = journal.that(is_library)
    if not ends and journal.hazards.where(kind=TOO_EARLY):
        ends = journal[-1:]  # the program ended in the first
    sizes = [mib * MIB] * FRAMES + [(mib + 1) // 2 * MIB] * FRAMES
    for frame, (size, begin, end) in enumerate(zip(sizes, [None, *ends], ends)):
        yield frame % FRAMES + 1, size, journal.part(begin, end)


def later_frames(check):
    """The frames after the first of a phase, next to which what main calls stands; of a program
    that ended in the first, that one, from its first allocation on."""
    found = list(frames(*drawn(check)))
    if len(found) != 1:
        return [frame for frame in found if frame[0] != 1]
    number, size, lines = found[0]
    first = lines.allocations.where(bytes=size).first
    return [(number, size, lines.that(lambda x: first and x["n"] >= first["n"]))]


def expect_a_frame(check):
    """Waits for the frames where not even one came to its digest."""
    if not later_frames(check):
        check.after(test_frames)


def refused(journal):
    """The first allocation that failed before the program asked for too much, or None."""
    calls = journal.calls("cudaMalloc", *ALLOCATE)
    return calls.that(lambda x: x.get("result", SUCCESS) != SUCCESS).first


def is_limited(mib, journal):
    """Is the limit of each pool that the program created the one that it is to have?"""
    return set(journal.ok("cudaMemPoolCreate").column("max_size")) <= {2 * mib * MIB}


def is_library(line):
    return line.get("bytes") == LIBRARY and line.get("call") in ALLOCATE


def buffers(size, lines):
    """The allocations of a frame: those of its size, the last two before the library is called."""
    return lines.ok("cudaMalloc", *ALLOCATE).where(bytes=size)[-2:].column("allocation")


def copies(size, lines):
    """(the copy from the staging buffer, the copy into the result), or None."""
    own, found = set(buffers(size, lines)), lines.copies.where(bytes=size)
    return found.where(source_allocation=own).first, found.where(allocation=own).first


def hazards(check, kinds):
    return drawn(check)[1].hazards.where(kind=kinds)


def frames_pool(mib, journal):
    """The pool of the frames' buffers, which is the default pool (0) if one of them is from there,
    or None."""
    for _, size, lines in frames(mib, journal):
        made = journal.allocations.where(allocation=set(buffers(size, lines)))
        return min(made.column("pool"), default=None)


@met_by_starter
def test_frames(check):
    mib, journal = drawn(check)
    calls = journal.that(is_library)
    if len(calls) == 2 * FRAMES:
        return
    if hazards(check, TOO_EARLY):
        raise Waits("the program ended where memory was used that is not allocated, see below")
    if drawn(check)[1].where(did="hazard", kind=OUTSIDE):
        check.after(test_numbers)
    why = refused(journal)
    if why and len(journal.frees) < len(journal.allocations):
        check.after(test_replaced)  # the limit is reached by what nobody frees
    why = f" {why['call']}{line_of(why)} returned {why['result']}." if why else ""
    behind = ", after the allocation of the library" if calls else ""
    miss(f"""two phases of {FRAMES} frames, as at the start.
        Happened: the program ended in frame {max(1, len(calls))}{behind}.{why}""")


def test_replaced(check):
    expect_a_frame(check)
    frees = drawn(check)[1].ok("cudaFreeAsync").that(lambda x: "pool" in x)
    for number, size, lines in later_frames(check):
        old = lines.calls("cudaMalloc", "cudaFree")
        if old:
            miss(f"""no cudaMalloc and no cudaFree is left in a frame: they map memory and take it
                away again, and stop the host until the device is idle.
                Happened: frame {number} calls {" and ".join(sorted({x["call"] for x in old}))}.""")
        own = lines.allocations.where(bytes=size)
        freed = own.of(frees)
        if len(own) != 2 or freed != own and not hazards(check, TOO_EARLY):
            miss(f"""each frame allocates a staging buffer and a result from a pool, in a stream,
                and frees both with cudaFreeAsync. (The input lives as long as the program, so a
                pool makes it no cheaper.)
                Happened: frame {number} allocated {len(own)} buffers of its size from a pool, and
                {len(freed)} of them were freed there.""")


def test_streams(check):
    check.after(test_replaced)
    early = hazards(check, TOO_EARLY)
    if early:
        told = hazard_words(check.last.errors)
        if not told.startswith(early[0]["kind"]):  # another hazard came before
            told = f"{early[0]['kind']} ({early[0]['call']})."
        miss(f"""each buffer is used after its allocation and before its free. Free it in the stream
            of its last use, or in one that waits for that.
            Happened: the simulated device reports {told}""")
    streams = drawn(check)[1].ok("cudaStreamCreateWithFlags").where(kind="non-blocking")
    known = set(streams.column("stream"))
    for number, size, lines in frames(*drawn(check)):
        load, work = copies(size, lines)
        used = load and work and {load["stream"], work["stream"]}
        own = used and load["allocation"] == work["source_allocation"]
        if not own or len(used) != 2 or not used <= known:
            if not load or not work:
                what = "staging buffer" if not load else "input"
                why = f"no copy {'out of the staging buffer' if not load else 'into the result'}"
                why = f"there is {why} of the frame's size: the {what} was not copied as a whole."
            elif not own:
                why = "the copy into the result reads other memory than load's copy has written."
            elif len(used) != 2:
                why = f"both copies are in one stream, {load['stream']}."
            else:
                why = "one of the copies is in a blocking stream or in the legacy stream."
            miss(f"""load copies from the staging buffer into the input, and work copies the input
                into the result. They stay two non-blocking streams.
                Happened: in frame {number} {why}""")


def why_unordered(check):
    """What the program has in the place of the edge from load to work, in its second frame."""
    _, size, lines = list(frames(*drawn(check)))[1]
    load, work = copies(size, lines)
    waits = lines.ok("cudaStreamWaitEvent").where(stream=work["stream"]).before(work)
    if not waits:
        late = lines.ok("cudaStreamWaitEvent").last
        if not late:
            return "work waits for no event before it copies the input."
        if late["stream"] == work["stream"]:
            return f"work waits for an event{line_of(late)}, only after it copies the input."
        return f"load waits for an event{line_of(late)}, and work waits for none."
    records = lines.records.where(event=waits.last["event"]).before(waits.last)
    if not records:
        return "work waits for an event before load records it: that is the frame before's record."
    if records.last["n"] < load["n"]:
        return "the event that work waits for is recorded before the copy into the input."
    return "the event that work waits for is recorded in a stream other than load."


def test_work(check):
    check.after(test_streams)
    if hazards(check, {"read not ordered after a write"}):
        miss(f"""an event that is recorded in load after its copy, and for which work waits before
            it copies the input. cudaFree(staging) used to stop the host until load was done, and
            the host queued the work only after that. cudaFreeAsync does not stop the host.
            Happened: {why_unordered(check)}""")


def host_waits(lines):
    """In words, where the host waited."""
    waits = lines.synchronizations
    waits = [x["call"] + (f" of stream {x['stream']}" if "stream" in x else "") for x in waits]
    return ", ".join(waits) or "no call"


def test_answer(check):
    check.after(test_streams)
    found = hazards(check, ANSWER_TOO_EARLY)
    if found:
        lines = list(frames(*drawn(check)))[1][2]
        kinds = '" and "'.join(sorted(set(found.column("kind"))))
        miss(f"""before a frame returns its answer, the host waits for the stream that makes the
            answer. cudaFree(result) used to wait for it. That wait also kept the next frame's load,
            which writes to the same input, from coming too early.
            Happened: from one digest to the next the host waited in {host_waits(lines)}. The
            simulated device reports "{kinds}".""")
    more = check.draw("more", 1, 100000)
    answer = "run_frame returns the number that the library has written to *answer."
    run = check.ask(answer, 3, more, harness="ask_changed.h", early=True)
    if run.early:
        check.after(test_work, test_numbers)
        run.expect_return()
    correct = [x for x in run.lines if re.search(r", \d+ of \d+ correct$", x)]
    if len(correct) != 2 or not all(f", 0 of {FRAMES} " in x for x in correct):
        miss(f"""{answer}
            Happened: where the library writes a number that is {more} larger, none of the frames is
            correct. The program says: {visible("; ".join(correct))}.""")


def test_waits(check):
    check.after(test_answer)
    for _, _, lines in later_frames(check):
        waits = lines.synchronizations
        expect_no_asking(lines, "the host waits once in a frame, in a call that synchronizes.")
        if len(waits) != 1:
            miss(f"""the host waits once in a frame, for its answer. Between load and work, use an
                event, so that the host goes on.
                Happened: from one digest to the next the host waited in {host_waits(lines)}.""")
        if not lines.certain:
            miss(f"""the host waits for the stream that makes the answer. A free of other memory may
                wait, but NVIDIA does not promise that.
                Happened: from one digest to the next the host waited in {host_waits(lines)}.""")
        expect_narrow_wait(
            lines, "the host waits for the stream that makes the answer, and not as cudaFree did."
        )


def test_threshold(check):
    check.expect_wide_values()
    check.after(test_work, test_answer)  # the pool of a host that never waits keeps everything
    runs = [drawn(check)]
    if drawn(check)[1].pools and frames_pool(*drawn(check)) == 0:
        check.after(test_limit)  # the program does not allocate from its own pool
    if is_limited(*drawn(check)):
        runs.append((44, check.run(44).journal))
    for mib, journal in runs:
        pool = frames_pool(mib, journal)
        for number, _, lines in frames(mib, journal):
            moved = lines.where(pool=pool, did={"grow", "release"}).first
            if number != 1 and moved:
                threshold = [0, *journal.before(moved).set_to(THRESHOLD, pool=pool)][-1]
                miss(f"""after the first frame of a phase, the pool takes nothing from the device
                    and returns nothing to it. Because the host waits in each frame, the pool would
                    otherwise return each whole segment above its release threshold.
                    Happened: between frames {number - 1} and {number}, of {mib} MiB, the pool
                    released segments or grew. {why_not_kept(journal, pool, threshold, lines)}""")

    mib, journal = drawn(check)
    if not journal.ok("cudaMallocFromPoolAsync").where(pool=frames_pool(mib, journal)):
        return  # the large run ends at that call
    large, run = large_run(check)
    limited = run.journal.ok("cudaMemPoolCreate").where(max_size=2 * large * MIB).first or {}
    values = run.journal.set_to(THRESHOLD, pool=limited.get("pool"))
    if values and values[-1] < large * MIB:
        miss(f"""the pool keeps the memory of a frame, whatever the argument of the program is.
            Happened: with frames of {large} MiB its threshold is {values[-1]} bytes.""")


def large_run(check):
    """The size of a frame that has more bytes than 32 bits can count, and a run up to its first
    allocation, so that no byte is used."""
    large = check.draw("large", 2100, 9000)
    return large, check.run(large, SIM_FAIL="cudaMallocFromPoolAsync:1")


def why_not_kept(journal, pool, threshold, lines):
    """Why the frames' pool grew, or returned memory, in the frame that has these lines."""
    if trims := lines.ok("cudaMemPoolTrimTo").where(pool=pool):
        return (
            f"The program called cudaMemPoolTrimTo there: a trim to {trims[0]['keep']} returns it."
        )
    grown = lines.where(pool=pool, did="grow").first
    if grown and threshold:
        # Of the frees before it, those that no record and no wait of the host has covered.
        for free in reversed(journal.before(grown).frees.where(pool=pool)):
            behind = journal.between(free, grown)
            covered = behind.records.where(stream=free["stream"]) or behind.certain.where(
                stream=free["stream"]
            )
            if not covered:
                return f"""It grew, because the memory of the frame before was not free yet: it is
                    freed in stream {free["stream"]} after the record of the event, so a wait for
                    that event does not include the free."""
    other = "" if threshold else other_threshold(journal)
    most = max((x["reserved"] for x in lines.where(pool=pool) if "reserved" in x), default=0) // MIB
    return f"Its threshold was {threshold} bytes, and it had {most} MiB in whole segments.{other}"


def other_threshold(journal):
    """Says that the program has set that of the library's pool, where the frames have their own."""
    values = journal.set_to(THRESHOLD, pool=0)
    return f" The default pool's was set to {values[-1]} bytes." if len({*values}) > 1 else ""


def test_numbers(check):
    expect_a_frame(check)
    for number, size, lines in frames(*drawn(check)):
        load, _ = copies(size, lines)
        if not load:
            check.after(test_streams)
            miss(f"""load copies the staging buffer into the input, as at the start.
                Happened: in frame {number} no copy of {size} bytes reads the staging buffer.""")
        uses = lines.ok(*WORK).where(allocation=load["source_allocation"])
        held = uses.values(size)
        if not held or None in held:
            first = uses.first or {"call": "no call"}
            of = f" of {first['bytes']} of {size} bytes" if "bytes" in first else ""
            miss(f"""before anything is added to the staging buffer, a launch writes every number of
                it. NVIDIA's reference says of cudaMalloc: "The memory is not cleared." So it was
                luck that the memory was zero. A pool that keeps its memory ends that luck, because
                the next frame gets this frame's numbers.
                Happened: the first use of frame {number}'s staging buffer is
                {first["call"]}{of}.""")
        if set(held) != {number}:
            found = ", ".join(map(str, sorted(set(held))))
            miss(f"""the staging buffer of frame {number} holds {number} everywhere.
                Happened: after what its launches wrote and added it holds {found}.""")


def test_limit(check):
    mib, journal = drawn(check)
    pool = frames_pool(mib, journal)
    if pool is None:
        check.after(test_replaced)
    made = journal.ok("cudaMemPoolCreate").where(pool=pool).first
    if not made:
        miss("""the frames' buffers come from a pool that the program created, and not from the
            default pool, which the library shares and which has no limit.
            Happened: a buffer came from the default pool.""")
    limit, given = 2 * mib * MIB, made.get("max_size", 0)
    if given != limit:
        miss(f"""maxSize of the program's pool is `limit` in bytes, {limit} for frames of {mib} MiB.
            A release threshold limits nothing.
            Happened: the pool was created with maxSize {given}.""")
    if test_frames not in check.met:
        return  # the program did not come to the rest
    larger = journal.where(bytes=(2 * mib + 64) * MIB).first
    if not larger or larger.get("pool") != pool:
        called = larger and f"called {larger['call']}, which returned {larger['result']}"
        miss(f"""try_larger asks the program's own pool, too, which refuses it.
            Happened: it {called or "asked no pool"}.""")
    roomy = check.run_late(mib, SIM_SEGMENT="512").journal
    given = roomy.allocations.where(bytes=larger["bytes"]).first
    if given and not roomy.ok("cudaFreeAsync").of(given):
        how = "by cudaFree" if roomy.ok("cudaFree").of(given) else "by no call"
        miss(f"""try_larger frees what it gets by cudaFreeAsync.
            Happened: with segments of 512 MiB, to which the limit is rounded up, it got the buffer,
            which was freed {how}.""")
    large, ended = large_run(check)
    limit = 2 * large * MIB
    given = ended.journal.ok("cudaMemPoolCreate").column("max_size")
    if limit not in given:
        miss(f"""maxSize of the program's pool is `limit` in bytes, {limit} for frames of {large}
            MiB.
            Happened: the pool was created with maxSize {", ".join(map(str, given))}.""")


@met_by_starter
def test_library(check):
    expect_a_frame(check)
    mib, journal = drawn(check)
    pools = set(journal.allocations.where(bytes=LIBRARY).column("pool"))
    if not pools:
        check.after(test_streams)  # the program ended before it came to the library
    if pools != {0}:
        miss(f"""the library goes on allocating from the default pool. It takes the current pool of
            the device. So if you make the program's pool current, the library allocates there,
            under the program's limit.
            Happened: its scratch memory came from pool {", ".join(map(str, sorted(pools)))}.""")
    values = journal.set_to(THRESHOLD, pool=0)
    if frames_pool(mib, journal) == 0:
        check.after(test_limit)  # who has no pool of their own sets the threshold of this one
    elif other_threshold(journal) and not journal.set_to(THRESHOLD, pool=frames_pool(mib, journal)):
        check.after(test_threshold)  # it was set there instead
    if values[-1:] != [32 * MIB] or len({*values}) != 1:
        miss(f"""the default pool keeps the threshold of 32 MiB that the library's manual asks for.
            The frames' pool has one of its own.
            Happened: the default pool's threshold was set to {", ".join(map(str, values))}
            bytes.""")
    trims = journal.ok("cudaMemPoolTrimTo").where(pool=0)
    if trims:
        miss(f"""the program does not trim the default pool, because what that pool keeps is the
            library's.
            Happened: it was trimmed {len(trims)} times.""")


def test_trim(check):
    check.after(test_frames, test_work)
    mib, journal = drawn(check)
    pool = frames_pool(mib, journal)
    if pool == 0:
        check.after(test_limit)
    if journal.that(is_library).where(pool=pool):
        check.after(test_library)  # what the library keeps is in it, too
    own = journal.where(pool=pool)
    larger = journal.where(bytes=(2 * mib + 64) * MIB).first
    second = own.allocations[2 * FRAMES :].first or own.first
    asked = own.ok("cudaMemPoolGetAttribute").where(attribute="cudaMemPoolAttrReservedMemCurrent")
    for phase, until in ((1, second), (2, larger)):
        done = own.part(None, until)
        left = done.that(lambda x: "call" in x and "reserved" in x).column("reserved")
        if asked and left[-1:] == [0]:
            continue
        trim = done.after(done.allocations.last).ok("cudaMemPoolTrimTo").last
        if journal.ok("cudaMemPoolTrimTo").where(pool=0):
            check.after(test_library)  # the wrong pool was trimmed
        if not trim and len(journal.set_to(THRESHOLD, pool=pool)) > 1:
            check.after(test_threshold)  # it was lowered instead
        happened = f"after phase {phase} it still had {left[-1] // MIB} MiB." if left else ""
        if not trim:
            happened += " cudaMemPoolTrimTo was not called for it."
        elif trim["keep"]:
            happened += f" The trim was told to keep {trim['keep']} bytes."
        else:
            check.after(test_threshold)
            happened += """ A trim leaves memory whose free is pending: the host must have waited
                for the frees of both streams, or for an event that comes after them."""
        miss(f"the pool has nothing left when a phase is over. Happened: {happened}")


RESERVES = r"the pool reserves +(\d+) MiB after the frames"


def expect_kept(check, *argument):
    """The recorded output. A pool that reserves less after its frames than the recorded one keeps
    its memory, too: one that allocates the result after the wait needs half."""
    name = "".join(argument)
    run = check.run(*argument)
    wanted = check.expected_file(name).read_text()
    figures = [int(x) for x in re.findall(RESERVES, run.output)]
    recorded = [int(x) for x in re.findall(RESERVES, wanted)]
    held = {x // MIB for x in run.journal.column("reserved") if x}
    better = [0 < new <= old and new in held for new, old in zip(figures, recorded)]
    if len(figures) != len(recorded) or not all(better) or figures == recorded:
        check.expect_right(run, name)
        return
    check.expect_clean(run)
    same = "the pool reserves N MiB after the frames"
    texts = (re.sub(RESERVES, same, text).splitlines() for text in (wanted, run.output))
    wanted, got = ([line if line[:1] != "~" else "~" for line in lines] for lines in texts)
    check.expect_same("the lines of a real device.", "\n".join(wanted), "\n".join(got))


def test_output(check):
    check.after()
    expect_kept(check)
    expect_kept(check, "44")
    check.expect_read("of 6 correct", "reserves #", "frames, #", arguments=[3])
    check.expect_read("at most #", "threshold #", arguments=[3])
    for schedule in SCHEDULES[1:]:
        run = check.run(3, SIM_SCHEDULE=schedule)
        check.expect_clean(run)
        right = [x.endswith(f"{FRAMES} of {FRAMES} correct") for x in run.lines]
        if sum(right) != 2:
            miss(f"""both phases with {FRAMES} of {FRAMES} frames correct.
                Happened: under the schedule {schedule} they were not.""")
