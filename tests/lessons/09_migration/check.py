"""Lesson 09: a program moves from cudaMalloc to a pool of its own, in five steps.

A frame's number is what launch_add adds to its staging buffer. The library's scratch memory is
told from the frames' buffers by its size."""

import re

from check import MIB, SCHEDULES, SUCCESS, expect, visible

FRAMES, LIBRARY = 6, 20 * MIB
POOL_CALLS = ("cudaMallocAsync", "cudaMallocFromPoolAsync")
WORK = (
    "launch_fill",
    "launch_add",
    "cudaMemsetAsync",
    "cudaMemset",
    "cudaMemcpyAsync",
    "cudaMemcpy",
)
USES_TOO_EARLY = (
    "use before allocation",
    "allocation before the free",
    "use after free",
    "free before allocation",
    "free before the use ends",
)


def drawn(check):
    """(MiB of a frame, the journal) of one run: nothing ends before somebody waits for it, and
    segments are small, so that a pool's figures show each MiB."""
    mib = check.draw("size", 21, 31)
    run = check.run(mib, SIM_SCHEDULE="late", SIM_IDLE="off", SIM_SEGMENT="2")
    return mib, run.journal


def frames(mib, journal):
    """(number, bytes, lines) of each frame: what was called between two calls of the library."""
    ends = [x["n"] for x in journal if is_library(x)]
    sizes = [mib * MIB] * FRAMES + [(mib + 1) // 2 * MIB] * FRAMES
    for frame, (size, (begin, end)) in enumerate(zip(sizes, zip([0, *ends], ends))):
        yield frame % FRAMES + 1, size, type(journal)(x for x in journal if begin < x["n"] < end)


def is_library(line):
    return line.get("bytes") == LIBRARY and line.get("call") in POOL_CALLS


def buffers(size, lines):
    """The allocations of a frame: those of its size, the last two before the library is called."""
    calls = lines.ok("cudaMalloc", *POOL_CALLS).where(bytes=size)
    return [x["allocation"] for x in calls[-2:]]


def copies(size, lines):
    """(the copy from the staging buffer, the copy into the result), or None."""
    own = buffers(size, lines)
    found = [x for x in lines.ok("cudaMemcpyAsync", "cudaMemcpy") if x["bytes"] == size]
    load = [x for x in found if x.get("source_allocation") in own]
    work = [x for x in found if x["allocation"] in own]
    return (load[0] if load else None), (work[0] if work else None)


def hazards(check, *kinds):
    """The first line of the journal about a hazard of these kinds."""
    return [x for x in drawn(check)[1].where(did="hazard") if x["kind"] in kinds]


def frames_pool(mib, journal):
    """The pool of the frames' buffers, or None."""
    _, size, lines = next(frames(mib, journal))
    own = buffers(size, lines)
    return next((x.get("pool") for x in journal.ok(*POOL_CALLS) if x["allocation"] in own), None)


def test_frames(check):
    "two phases of six frames, each of which calls the library"
    _, journal = drawn(check)
    calls = [x for x in journal if is_library(x)]
    refused = [x for x in journal.calls(*POOL_CALLS) if x.get("result", SUCCESS) != SUCCESS]
    why = [f" {x['call']} of {x['bytes']} bytes returned {x['result']}." for x in refused[:1]]
    expect(
        len(calls) == 2 * FRAMES,
        f"two phases of {FRAMES} frames, as at the start.",
        f"the program ended in frame {len(calls) + 1}.{''.join(why)}",
    )


def test_replaced(check):
    "each frame takes its two buffers from a pool, and frees them with cudaFreeAsync"
    check.after(test_frames)
    freed = {x["allocation"] for x in drawn(check)[1].ok("cudaFreeAsync") if "pool" in x}
    for number, size, lines in frames(*drawn(check)):
        if number == 1:
            continue  # what was called before the loop is beside it
        old = lines.calls("cudaMalloc", "cudaFree")
        expect(
            not old,
            """no cudaMalloc and no cudaFree is left in a frame: they map memory and
               take it away again, and stop the host until the device is idle.""",
            f"frame {number} calls {' and '.join(sorted({x['call'] for x in old}))}.",
        )
        own = [x for x in lines.ok(*POOL_CALLS) if x["bytes"] == size]
        expect(
            len(own) == 2 and all(x["allocation"] in freed for x in own),
            """each frame allocates a staging buffer and a result from a pool, in a stream, and
               frees both with cudaFreeAsync. (The input lives as long as the program, so a pool
               makes it no cheaper.)""",
            f"frame {number} allocated {len(own)} buffers of its size from a pool, and "
            f"{sum(x['allocation'] in freed for x in own)} of them were freed there.",
        )


def test_streams(check):
    "load makes the input and work the result, in two streams, each in its own buffer"
    check.after(test_replaced)
    known = {
        x["stream"]
        for x in drawn(check)[1].ok("cudaStreamCreateWithFlags").where(kind="non-blocking")
    }
    for number, size, lines in frames(*drawn(check)):
        load, work = copies(size, lines)
        expect(
            load
            and work
            and load["allocation"] == work["source_allocation"]
            and load["stream"] != work["stream"]
            and {load["stream"], work["stream"]} <= known,
            """load copies from the staging buffer into the input, and work copies the input into
               the result. They stay two non-blocking streams.""",
            f"in frame {number} this is not so.",
        )
    early = hazards(check, *USES_TOO_EARLY)
    expect(
        not early,
        """each buffer is used after its allocation and before its free. Free it in
           the stream of its last use, or in one that waits for that.""",
        lambda: f"""the simulated
           device reports "{early[0]["kind"]}" ({early[0]["call"]}).""",
    )


def why_unordered(check):
    """What the program has in the place of the edge from load to work, in its second frame."""
    _, size, lines = list(frames(*drawn(check)))[1]
    load, work = copies(size, lines)
    waits = lines.ok("cudaStreamWaitEvent").where(stream=work["stream"]).before(work)
    if not waits:
        return "work waits for no event before it copies the input."
    records = lines.ok("cudaEventRecord").where(event=waits.last["event"])
    if not records.before(waits.last):
        return "work waits for an event before load records it: that is the frame before's record."
    if records.before(waits.last).last["n"] < load["n"]:
        return "the event that work waits for is recorded before the copy into the input."
    return "the event that work waits for is recorded in another stream than load."


def test_work(check):
    "work begins with a frame's input after load has made it"
    check.after(test_streams)
    expect(
        not hazards(check, "read not ordered after a write"),
        """an event that is recorded in
           load after its copy, and for which work waits before it copies the input.
           cudaFree(staging) had stopped the host until load was done, and only then did the host
           call for the work. cudaFreeAsync stops nobody.""",
        lambda: why_unordered(check),
    )


def host_waits(lines):
    """In words, where the host waited."""
    streams = [
        f"{x['call']}" + (f" of stream {x['stream']}" if "stream" in x else "")
        for x in lines.where(acquired=1)
    ]
    return ", ".join(streams) or "nowhere"


def test_answer(check):
    "the host reads the answer, and load begins the next frame, after the work"
    check.after(test_streams)
    found = hazards(
        check,
        "host access not ordered after a write",
        "unordered writes",
        "write not ordered after a read",
        "host write not ordered after a read",
    )
    lines = list(frames(*drawn(check)))[1][2]
    kinds = '" and "'.join(sorted({x["kind"] for x in found}))
    expect(
        not found,
        """before a frame returns its answer the host waits until the stream that
           makes it is done. cudaFree(result) had waited, for this and for the next frame's load,
           which writes to the same input.""",
        f"""the host waited so, from one digest to
           the next: {host_waits(lines)}. The simulated device reports "{kinds}".""",
    )
    more = check.draw("more", 1, 100000)
    answer = "run_frame returns the number that the library has written to *answer."
    run = check.ask(answer, 3, more, harness="ask_changed.h")
    correct = [x for x in run.output.splitlines() if re.search(r", \d+ of \d+ correct$", x)]
    expect(
        len(correct) == 2 and all(f", 0 of {FRAMES} " in x for x in correct),
        answer,
        f"where the library writes a number that is {more} larger, none of the frames is correct. "
        f"The program says: {visible('; '.join(correct))}.",
    )


def test_waits(check):
    "the host waits once in a frame, for one stream"
    check.after(test_answer)
    for number, _, lines in frames(*drawn(check)):
        waits = lines.where(acquired=1)
        if number == 1:
            continue
        expect(
            len(waits) == 1,
            """the host waits once in a frame, for its answer. Between load and
               work an event does it: the host goes on.""",
            f"from one digest to the next the host waited so: {host_waits(lines)}.",
        )
        expect(
            waits[0]["call"] != "cudaDeviceSynchronize",
            """the host waits for the stream that
               makes the answer.""",
            """it calls cudaDeviceSynchronize, which waits for every stream
               of the device as cudaFree did, also for those of others.""",
        )


def test_threshold(check):
    "the pool keeps its memory from frame to frame"
    check.after(test_work, test_answer)  # the pool of a host that never waits keeps everything
    for mib, journal in (drawn(check), (44, check.run(44).journal)):
        pool = frames_pool(mib, journal)
        set_to = journal.ok("cudaMemPoolSetAttribute").where(
            pool=pool, attribute="cudaMemPoolAttrReleaseThreshold"
        )
        threshold = set_to.last["value"] if set_to else 0
        for number, _, lines in frames(mib, journal):
            moved = [x for x in lines.where(pool=pool) if x.get("did") in ("grow", "release")]
            expect(
                number == 1 or not moved,
                """from the second frame of a phase on the pool takes
                   nothing from the device and returns nothing to it. The host waits in each frame,
                   and a pool then returns each whole segment above its release threshold.""",
                f"between frames {number - 1} and {number}, of {mib} MiB, the pool released "
                f"segments or grew. Its threshold is {threshold} bytes.",
            )


def test_numbers(check):
    "each frame writes its numbers, whatever the memory held before"
    check.after(test_frames)
    for number, size, lines in frames(*drawn(check)):
        load, _ = copies(size, lines)
        expect(load, "load copies the staging buffer into the input, as at the start.")
        uses = [x for x in lines.ok(*WORK) if x["allocation"] == load["source_allocation"]]
        first = uses[0] if uses else {"call": "no call"}
        expect(
            first["call"] != "launch_add" and first.get("bytes") == size,
            """a launch that writes every number of the staging buffer comes before anything is
               added to it. NVIDIA's reference says of cudaMalloc "The memory is not cleared": that
               it was zero was luck. A pool that keeps its memory ends the luck, because the next
               frame gets this one's numbers.""",
            f"the first use of frame {number}'s staging buffer is {first['call']}"
            + (f" of {first['bytes']} of {size} bytes." if "bytes" in first else "."),
        )
        value = sum(x.get("value", 0) for x in uses if x["call"].startswith("launch"))
        expect(
            value == number,
            f"the staging buffer of frame {number} holds {number} everywhere.",
            f"its launches wrote and added {value} in all.",
        )


def test_limit(check):
    "the frames have a pool of their own, which never holds more than limit"
    check.after(test_replaced)
    mib, journal = drawn(check)
    pool = frames_pool(*drawn(check))
    made = journal.ok("cudaMemPoolCreate").where(pool=pool).first
    expect(
        made,
        """the frames' buffers come from a pool that the program created, and not from the
           default pool, which the library shares and which has no limit.""",
        "they came from the default pool.",
    )
    limit, given = 2 * mib * MIB, made.get("max_size", 0)
    expect(
        given == limit,
        f"""maxSize of the program's pool is `limit` in bytes, {limit} for frames
           of {mib} MiB. A release threshold limits nothing.""",
        f"the pool was created with maxSize {given}.",
    )
    larger = [x for x in journal if x.get("bytes") == (2 * mib + 64) * MIB]
    expect(
        larger and larger[0].get("pool") == pool,
        """try_larger asks the program's own pool, too,
           which refuses it.""",
        f"it called {larger[0]['call']}, which returned {larger[0]['result']}."
        if larger
        else "it asked nobody.",
    )


def test_library(check):
    "the library allocates from the default pool, which keeps the threshold of its manual"
    check.after(test_frames)
    _, journal = drawn(check)
    pools = {x["pool"] for x in journal.ok(*POOL_CALLS) if x["bytes"] == LIBRARY}
    expect(
        pools == {0},
        """the library goes on allocating from the default pool. It takes the
           current pool of the device, so making the program's pool current sends the library
           there, and under the program's limit.""",
        f"its scratch memory came from pool {', '.join(map(str, sorted(pools)))}.",
    )
    values = [
        x["value"]
        for x in journal.ok("cudaMemPoolSetAttribute").where(
            pool=0, attribute="cudaMemPoolAttrReleaseThreshold"
        )
    ]
    expect(
        values[-1:] == [32 * MIB] and len({*values}) == 1,
        """the default pool keeps the
           threshold of 32 MiB that the library's manual asks for. The frames' pool has one of
           its own.""",
        f"the default pool's threshold was set to {', '.join(map(str, values))} bytes.",
    )
    trims = journal.ok("cudaMemPoolTrimTo").where(pool=0)
    expect(
        not trims,
        "nobody trims the default pool: what it keeps is the library's.",
        f"it was trimmed {len(trims)} times.",
    )


def test_trim(check):
    "at the end of each phase the pool returns all its memory"
    check.after(test_work)
    _, journal = drawn(check)
    pool = frames_pool(*drawn(check))
    lines = [x for x in journal.where(pool=pool) if "call" in x and "reserved" in x]
    starts = [x["n"] for x in journal.ok(*POOL_CALLS) if x.get("pool") == pool]
    second = starts[2 * FRAMES] if len(starts) > 2 * FRAMES else 0
    calls = journal.ok("cudaMemPoolGetAttribute").where(
        pool=pool, attribute="cudaMemPoolAttrReservedMemCurrent"
    )
    for phase, until in ((1, second), (2, 1 << 60)):
        left = [x["reserved"] for x in lines if x["n"] < until]
        trim = type(journal)(
            x for x in journal.ok("cudaMemPoolTrimTo").where(pool=pool) if x["n"] < until
        ).last
        happened = f"after phase {phase} it still had {left[-1] // MIB} MiB." if left else ""
        if trim and trim["keep"]:
            happened += f" The trim was told to keep {trim['keep']} bytes."
        elif trim:
            happened += """ A trim leaves memory whose free is pending: the host must have waited
                for the frees of both streams, or for an event that comes after them."""
        expect(
            calls and left[-1:] == [0], "the pool has nothing left when a phase is over.", happened
        )


def test_output(check):
    "it prints what a real device prints, under every schedule"
    check.after_the_rest()
    check.expect_right(check.run())
    check.expect_right(check.run(44), "44")
    for schedule in SCHEDULES[1:]:
        run = check.run(3, SIM_SCHEDULE=schedule)
        check.expect_clean(run)
        right = [x for x in run.output.splitlines() if x.endswith(f"{FRAMES} of {FRAMES} correct")]
        expect(
            len(right) == 2,
            f"both phases with {FRAMES} of {FRAMES} frames correct.",
            f"under the schedule {schedule} that is not so.",
            run,
        )
