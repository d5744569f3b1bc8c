"""Lesson 18: pieces take turns in two streams, and pinning pays after some copies.

Judges no times but the sums made of them. process is called under a schedule in which the device
does nothing until somebody waits for it, so a sleep hides no wait."""

from check import LATE, Journal, expect_narrow_wait, line_of, met_by_starter, miss, times

TAKES = "process takes and returns what it did in the starter, and its CUDA calls succeed."
TIMES = "copies_to_pay takes three times and returns a number of copies, as in the starter."


def ask_process(check):
    """A run in which the harness calls process for pinned and then for managed memory."""
    size = 4 * check.draw("kib", 500, 3000)
    return check.ask(TAKES, "process", size, hazards=True, **LATE)


def memory(run):
    """(host, device) of the two calls of process: the harness allocates first."""
    journal = run.journal
    hosts = journal.ok("cudaMallocHost").first, journal.ok("cudaMallocManaged").first
    return list(zip(hosts, journal.ok("cudaMalloc")))


def work(run, which):
    """The copies and kernels of one call of process, each with its number among the pieces, its
    kind and, for memory whose place the journal has, what is at the host's end of a copy."""
    host, own = memory(run)[which]
    found, device = Journal(), own["allocation"]
    for line in run.journal.ok("cudaMemcpyAsync", "cudaMemcpy2DAsync", "launch_add"):
        ends = (line.get("allocation"), line.get("source_allocation"))
        if device not in ends:
            continue
        kind = "add"
        if line["call"] != "launch_add":
            kind = "down" if ends[1] == device or line["kind"] == "DeviceToHost" else "up"
        other = next((end for end in ends if end not in (device, None)), None)
        piece = line.get("inner_offset", 0) / (host["bytes"] / 4)
        part = 4 * line["bytes"] / host["bytes"]
        call = dict(line, kind=kind, other=other, piece=piece, part=part)
        same = ("kind", "stream", "piece", "part")
        if kind == "add" and found and all(call[x] == found[-1][x] for x in same):
            call["value"] += found.pop()["value"]  # two kernels that add 1 are one that adds 2
        found.append(call)
    return found


def listed(run):
    """What process put where, in a sentence."""
    names = {"add": "kernel", "up": "copy up", "down": "copy down"}
    words = [
        f"{names[x['kind']]} of piece {int(x['piece']) + 1} in stream {x['stream']}"
        for x in work(run, 0)
    ]
    blocking = run.journal.calls("cudaMemcpy").that(lambda x: x["file"] != "ask.h")
    more = f" cudaMemcpy{line_of(blocking[0])} is in none of these streams." if blocking else ""
    return f"in this order: {', '.join(words[:12])}.{more}" if words else "it made no such call."


def added(kernels):
    words = (
        f"{x['value']} to {x['bytes'] // 4} elements from element {x.get('inner_offset', 0) // 4}"
        for x in kernels[:8]
    )
    return ", then ".join(words) or "nothing on the device"


def four_kernels(run):
    """The kernels of the first call, by their place, or None."""
    adds = sorted(work(run, 0).where(kind="add"), key=lambda x: x["piece"])
    right = [(x["piece"], x["part"], x["value"]) for x in adds] == [(i, 1, 2) for i in range(4)]
    return adds if right else None


@met_by_starter
def test_pieces(check):
    run = ask_process(check)
    if not four_kernels(run):
        miss(f"""process adds 2 to each element, in four pieces: four kernels, of a quarter of the
            elements each.
            Happened: process added {added(work(run, 0).where(kind="add"))}.""")
    for which, (host, _) in enumerate(memory(run)):
        calls = work(run, which)
        for add in calls.where(kind="add"):
            near = calls.where(stream=add["stream"], piece=add["piece"])
            if short := near.that(lambda x, part=add["part"]: x["part"] != part).first:
                miss(f"""each copy has the bytes of its piece: count / PIECES * sizeof(int).
                    Happened: a copy {short["kind"]} of piece {int(add["piece"]) + 1} has
                    {short["bytes"]} bytes, and its kernel adds to {add["bytes"]}.""")
            piece = calls.where(**{field: add[field] for field in ("stream", "piece", "part")})
            if piece.column("kind") != ["up", "add", "down"]:
                miss(f"""each piece is copied up, added to and copied down in one stream: the order
                    of that stream is all that the piece needs.
                    Happened: {listed(run)}""")
            copies = piece.where(kind={"up", "down"})
            stray = copies.that(lambda x, own=host: x["other"] != own["allocation"]).first
            if which and stray:  # the journal has no place of pinned memory
                miss(f"""each piece is copied up from `host`, and down to where it was in `host`:
                    the device adds, and the host does not.
                    Happened: a copy {stray["kind"]} had other memory at its host's end.""")
    ints = [host["bytes"] // 4 for host, _ in memory(run)]
    question = "process of {} ints of {} memory, increased by 2".format
    wanted = {question(count, kind): count for count, kind in zip(ints, ("pinned", "managed"))}
    if wrong := run.wrong(wanted):
        miss(f"""after process and a synchronization, 2 has been added to every element.
            Happened: {wrong}""")


def test_turns(check):
    run = ask_process(check)
    adds = four_kernels(run) or check.after(test_pieces)
    if any(len(set(work(run, 0).where(piece=x["piece"]).column("stream"))) > 1 for x in adds):
        check.after(test_pieces)  # a piece in two streams
    streams, given = [x["stream"] for x in adds], run.journal.ok("cudaStreamCreateWithFlags")[:2]
    if not set(streams) <= set(given.column("stream")):
        miss(f"""the pieces are in the two streams that process is given: its caller orders other
            work by these.
            Happened: they are in streams {" and ".join(sorted({str(x) for x in streams}))}, and it
            was given {" and ".join(str(x) for x in given.column("stream"))}.""")
    if streams[0] == streams[1] or streams[:2] != streams[2:]:
        miss(f"""the pieces take turns: the first and the third in one stream, the second and the
            fourth in the other (YOUR WORK, 1 of 2).
            Happened: {listed(run)}""")


def ask_working(check):
    """The run of ask_process, in which process has copied and added."""
    run = ask_process(check)
    if not work(run, 0):
        miss("""process copies and adds with cudaMemcpyAsync and launch_add, on the device memory
            that it is given.
            Happened: it made no such call.""")
    return run


def test_queued(check):
    run = ask_working(check)
    calls = work(run, 0)
    pins = run.journal.calls("cudaHostRegister", "cudaMallocHost", "cudaHostAlloc")
    if pinned := pins.that(lambda x: x["file"] != "ask.h").first:
        miss(f"""process pins nothing. Pinning pays after several copies, so it is for the caller,
            who knows how many there will be.
            Happened: process called {pinned["call"]}{line_of(pinned)}.""")
    waits = run.journal.between(calls.first, calls.last).waits
    if waits.calls("cudaMemcpy"):
        check.after(test_pieces)  # a copy in no stream
    if waits:
        miss(f"""the host waits for nothing before the last copy is in its stream: a stream keeps
            its own order. A call that returns when work is over is a wait, whatever it is for.
            Happened: between the first copy and the last the host waited in
            {waits[0]["call"]}{line_of(waits[0])}, {times(len(waits))} in all.""")


def test_beside(check):
    check.after(test_pieces, test_turns, test_queued)
    run, spans = ask_process(check), {}
    ran = run.journal.ran
    for line in work(run, 0):
        one = ran[line["number"]]
        spans.setdefault(line["piece"], []).append((one["start"], one["finish"]))
    calls = work(run, 0)
    waits = run.journal.between(calls.first, calls.last).ok("cudaStreamWaitEvent")
    sentence = """a piece in one stream runs alongside the next piece, in the other: no stream
        waits for the other."""
    for piece in range(1, 4):
        if not any(a[0] < b[1] and b[0] < a[1] for a in spans[piece - 1] for b in spans[piece]):
            miss(f"""{sentence}
                Happened: piece {piece + 1} began when piece {piece} had ended, though the host had
                queued both: a stream was made to wait for an event {times(len(waits))}.""")
    if waits:
        miss(f"""{sentence}
            Happened: cudaStreamWaitEvent{line_of(waits[0])} makes stream {waits[0]["stream"]} wait
            between the first piece and the last, {len(waits)} times in all.""")


@met_by_starter
def test_end(check):
    run = ask_working(check)
    early = run.journal.hazards.that(lambda x: x["kind"].startswith("host access"))
    if early:
        check.after(test_turns)  # other streams than those that it is given
        calls, after = run.journal.numbered, run.journal.after(work(run, 0).last)
        waits = after.certain.that(lambda x: x["file"] != "ask.h")
        in_what = "it did not wait" + "; a query did not succeed" * bool(after.queries)
        if waits:
            in_what = f"it waited in {waits[0]['call']}{line_of(waits[0])}"
        streams = sorted({str(calls[x["earlier"]]["stream"]) for x in early if x.get("earlier")})
        miss(f"""when process returns, the host has waited for the last copy of each of the two
            streams: before that the result is not on the host. A sleep is no wait, and neither is
            a query.
            Happened: nothing made the host wait for the last copy of stream
            {" and of stream ".join(streams)}: {in_what}.""")
    end = run.journal.after(work(run, 0).last)
    end = end.part(None, end.calls("cudaStreamCreateWithFlags").first)
    returned = end.calls("cudaDeviceSynchronize").last  # that is the check's own
    end = end.part(None, returned)
    if end.waits and not end.certain:
        miss(f"""when process returns, the host has waited for the last copy of each of the two
            streams. A free of other memory may wait, but NVIDIA does not promise that.
            Happened: the host waited in {end.waits.names}, and in no other call.""")
    expect_narrow_wait(
        run.journal.between(work(run, 0).first, returned),
        "the host waits for the two streams that process is given, at its end.",
    )


def pays(check):
    """(why, the times that pinning, a pageable and a pinned copy take, in eighths of a microsecond,
    the copies that pay) of each question to copies_to_pay: first those in which pinned copies are
    faster."""
    pinned, saved = check.draw("pinned", 100, 3000), check.draw("saved", 200, 9000)
    copies = check.draw("copies", 5, 90)
    if pinned / 2 < saved < 2 * pinned:
        saved += 2 * pinned  # so that no other quotient is right by luck
    least = """copies_to_pay returns the least number of copies that together save as much time as
        pinning takes."""
    more = f"{least} If only a fraction of a microsecond is missing, it takes another copy."
    part = "copies_to_pay computes with fractions of a microsecond: a copy saves 1.5 here."
    exact = "copies_to_pay counts no further copy if the copies save exactly what pinning takes."
    same = """copies_to_pay returns 0 if a pinned copy takes as long as a pageable one. A division
        by what it saves is then a division by 0."""
    slower = "copies_to_pay returns 0 if a pinned copy takes longer than a pageable one."
    pinning, pageable = saved * copies, pinned + saved
    return [
        (least, (pinning + saved // 3, pageable, pinned), copies + 1),
        (least, (pinning + saved - 1, pageable, pinned), copies + 1),
        (more, (pinning + 1, pageable, pinned), copies + 1),
        (exact, (pinning, pageable, pinned), copies),
        (least, (saved // 2, pageable, pinned), 1),
        (part, (12 * 200, 12 + pinned, pinned), 200),
        (same, (pinning, pinned, pinned), 0),
        (slower, (pinning, pinned, pageable), 0),
    ]


def expect_pays(check, faster):
    run = check.ask(TIMES, "pay", *(time for _, taken, _ in pays(check) for time in taken))
    for why, taken, copies in pays(check):
        question = f"copies_to_pay({', '.join(f'{time / 8:.3f}' for time in taken)})"
        wrong = run.wrong({question: copies})
        if wrong and faster == (copies > 0):
            miss(f"{why} Happened: {wrong}")


def test_pays(check):
    expect_pays(check, faster=True)


def test_never(check):
    check.after(test_pays)
    expect_pays(check, faster=False)


def test_prints(check):
    check.after()
    run = check.run()
    check.expect_right(run)
    check.expect_read("beside the hold", "42 in", arguments=[2])
    if '\n~ device "Simulated' not in run.output or 'figures are "modeled"\n' not in run.output:
        miss("""on the simulated device the program prints that its figures are modeled: the starter
            calls say_device for that.
            Happened: it printed no such line.""")
    mib = check.draw("mib", 2, 12)
    # A device that copies in no time.
    check.expect_elements(check.run(mib, SIM_SCHEDULE="instant"), mib, 2)
