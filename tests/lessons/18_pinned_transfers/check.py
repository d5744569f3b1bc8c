"""Lesson 18: pieces take turns in two streams, and pinning pays after some copies.

Judges no times but the sums made of them. process is called under a schedule in which the device
does nothing until somebody waits for it, so a sleep hides no wait."""

from check import expect

UP_ADD_DOWN = ["up", "add", "down"]


def ask_process(check):
    """A run in which the harness calls process for pinned and then for managed memory."""
    return check.ask(
        "process takes and returns what it did in the starter, and its CUDA calls succeed.",
        "process",
        4 * check.draw("kib", 500, 3000),
        hazards=True,
        SIM_SCHEDULE="late",
        SIM_IDLE="off",
    )


def memory(run):
    """(host, device, bytes) of the two calls of process: the harness allocates first."""
    journal = run.journal
    hosts = [journal.ok("cudaMallocHost")[0], journal.ok("cudaMallocManaged")[0]]
    return [
        (host["allocation"], device["allocation"], host["bytes"])
        for host, device in zip(hosts, journal.ok("cudaMalloc"))
    ]


def work(run, which):
    """The copies and kernels of one call of process, each with its number among the pieces, its
    kind and, for memory whose place the journal has, what is at the host's end of a copy."""
    host, device, whole = memory(run)[which]
    found = []
    for line in run.journal.ok("cudaMemcpyAsync", "launch_add"):
        ends = (line.get("allocation"), line.get("source_allocation"))
        if device not in ends:
            continue
        kind = "add"
        if line["call"] == "cudaMemcpyAsync":
            kind = "down" if ends[1] == device or line["kind"] == "DeviceToHost" else "up"
        other = next((end for end in ends if end not in (device, None)), None)
        found.append(
            dict(
                line,
                kind=kind,
                other=other,
                host=host,
                piece=line.get("inner_offset", 0) / (whole / 4),
                part=4 * line["bytes"] / whole,
            )
        )
    return found


def listed(run):
    """What process put where, in a sentence."""
    names = {"add": "kernel", "up": "copy up", "down": "copy down"}
    words = [
        f"{names[x['kind']]} of piece {int(x['piece']) + 1} in stream {x['stream']}"
        for x in work(run, 0)
    ]
    return f"in this order: {', '.join(words[:12])}." if words else "it made no such call."


def four_kernels(run):
    """The kernels of the first call, by their place, or None."""
    adds = sorted((x for x in work(run, 0) if x["kind"] == "add"), key=lambda x: x["piece"])
    right = [(x["piece"], x["part"], x["value"]) for x in adds] == [(i, 1, 2) for i in range(4)]
    return adds if right else None


def test_pieces(check):
    "each of the four pieces is copied up from host, added to, and copied down to where it was"
    run = ask_process(check)
    expect(
        four_kernels(run),
        """process adds 2 to each element, in four pieces: four kernels, of a
        quarter of the elements each.""",
        lambda: f"""process launched
        {sum(x["kind"] == "add" for x in work(run, 0))} kernels that add to parts of its device
        memory.""",
        run,
    )
    for which in (0, 1):
        for add in (x for x in work(run, which) if x["kind"] == "add"):
            piece = [
                x
                for x in work(run, which)
                if x["stream"] == add["stream"]
                and (x["piece"], x["part"]) == (add["piece"], add["part"])
            ]
            expect(
                [x["kind"] for x in piece] == UP_ADD_DOWN,
                """each piece is copied up, added to
                and copied down in one stream: the order of that stream is all that the piece
                needs.""",
                lambda: listed(run),
                run,
            )
            stray = [
                x["kind"] for x in piece if which and x["kind"] != "add" and x["other"] != x["host"]
            ]
            expect(
                not stray,
                """each piece is copied up from `host`, and down to where it was in
                `host`: the device adds, and the host does not.""",
                f"a copy {''.join(stray[:1])} had other memory at its host's end.",
                run,
            )
    ints = [bytes_ // 4 for _, _, bytes_ in memory(run)]
    check.expect_answers(
        "after process and a synchronization 2 was added to every element.",
        run,
        {
            f"process of {count} ints of {kind} memory, increased by 2": count
            for count, kind in zip(ints, ("pinned", "managed"))
        },
    )


def test_turns(check):
    "the pieces take turns in two streams"
    run = ask_process(check)
    streams = [x["stream"] for x in four_kernels(run) or check.after(test_pieces)]
    expect(
        streams[0] != streams[1] and streams[:2] == streams[2:],
        """the pieces take turns: the
        first and the third in one stream, the second and the fourth in the other (YOUR WORK, 1 of
        2).""",
        lambda: listed(run),
        run,
    )


def waits(run):
    """The calls with which the host waited between the first copy of process and its last."""
    calls = work(run, 0)
    return run.journal.where(acquired=1).after(calls[0]).before(calls[-1]) if calls else []


def ask_working(check):
    """The run of ask_process, in which process has copied and added."""
    run = ask_process(check)
    expect(
        work(run, 0),
        """process copies and adds with cudaMemcpyAsync and launch_add, on the
        device memory that it is given.""",
        "it made no such call.",
        run,
    )
    return run


def test_queued(check):
    "the host waits for nothing while it puts the pieces into the streams"
    run = ask_working(check)
    names = [x["call"] for x in waits(run)]
    expect(
        not names,
        """the host waits for nothing before the last copy is in its stream: a stream
        keeps its own order. A call that returns when work is over is a wait, whatever it is
        for.""",
        "between the first copy and the last the host waited in "
        + ", ".join(f"{name}, {names.count(name)} times" for name in dict.fromkeys(names))
        + ".",
        run,
    )


def test_beside(check):
    "each piece runs beside the one before it"
    check.after(test_pieces, test_turns, test_queued)
    run, spans = ask_process(check), {}
    ran = {x["of"]: x for x in run.journal.where(did="run")}
    for line in work(run, 0):
        one = ran[line["number"]]
        spans.setdefault(line["piece"], []).append((one["start"], one["finish"]))
    for piece in range(1, 4):
        beside = any(a[0] < b[1] and b[0] < a[1] for a in spans[piece - 1] for b in spans[piece])
        events = len(run.journal.ok("cudaStreamWaitEvent"))
        expect(
            beside,
            """a piece in one stream runs beside the next piece, in the other: no stream
            waits for the other.""",
            f"""piece {piece + 1} began when piece {piece} had ended,
            though the host had queued both: {events} times a stream was made to wait for an
            event.""",
            run,
        )


def test_end(check):
    "the host waits at the end, for the work of both streams"
    run = ask_working(check)
    early = [x for x in run.journal.where(did="hazard") if x["kind"].startswith("host access")]
    calls = {x["number"]: x for x in run.journal if "number" in x}
    streams = sorted({str(calls[x["earlier"]]["stream"]) for x in early if x.get("earlier")})
    asked = run.journal.after(work(run, 0)[-1]).calls("cudaStreamQuery", "cudaEventQuery")
    expect(
        not early,
        """when process returns, the host has waited for the last copy of each of the
        two streams: before that the result is not on the host. A sleep is no wait, and a query is
        one if it is asked until it succeeds.""",
        f"""nothing made the host wait for the last copy
        of stream {" and of stream ".join(streams)}{"; a query did not succeed" * bool(asked)}.""",
        run,
    )


def ask_pay(check):
    """copies_to_pay with times of the check's own: (saved, copies, pageable, pinned, a function
    that expects one answer)."""
    pinned, saved = check.draw("pinned", 100, 3000), check.draw("saved", 200, 9000)
    copies = check.draw("copies", 5, 90)
    if pinned / 2 < saved < 2 * pinned:
        saved += 2 * pinned  # so that no other quotient is right by luck
    run = check.ask(
        """copies_to_pay takes three times and returns a number of copies, as in the
        starter.""",
        "pay",
        pinned,
        saved,
        copies,
    )

    def pays(sentence, pinning, pageable, pinned_, answer):
        question = f"copies_to_pay({pinning}, {pageable}, {pinned_})"
        check.expect_answers(sentence, run, {question: answer})

    return saved, copies, pinned + saved, pinned, pays


def test_pays(check):
    "pinning pays when it has saved what it took"
    saved, copies, pageable, pinned, pays = ask_pay(check)
    least = """copies_to_pay returns the least number of copies that together save as much time as
        pinning takes."""
    pinning = saved * copies
    pays(least, pinning + saved // 3, pageable, pinned, copies + 1)
    pays(least, pinning + saved - 1, pageable, pinned, copies + 1)
    pays(
        least + " Also a microsecond that is missing takes another copy.",
        pinning + 1,
        pageable,
        pinned,
        copies + 1,
    )
    pays(
        "copies_to_pay counts no copy more if the copies save exactly what pinning takes.",
        pinning,
        pageable,
        pinned,
        copies,
    )
    pays(least, saved // 2, pageable, pinned, 1)


def test_never(check):
    "when pinned copies are no faster, pinning never pays"
    saved, copies, pageable, pinned, pays = ask_pay(check)
    pays(
        """copies_to_pay returns 0 if a pinned copy takes as long as a pageable one. A division by
        what it saves is then a division by 0.""",
        saved * copies,
        pinned,
        pinned,
        0,
    )
    pays(
        "copies_to_pay returns 0 if a pinned copy takes longer than a pageable one.",
        saved * copies,
        pinned,
        pageable,
        0,
    )


def test_prints(check):
    "it prints what a real device prints, and is right with another size"
    check.after_the_rest()
    run = check.run()
    check.expect_right(run)
    expect(
        '\n~ device "Simulated' in run.output and 'figures are "modeled"\n' in run.output,
        """on the simulated device the program prints that its figures are modeled: the starter
           calls say_device for that.""",
        "it printed no such line.",
        run,
    )
    mib = check.draw("mib", 2, 12)
    run = check.run(mib, SIM_SCHEDULE="instant")  # a device that copies in no time
    check.expect_clean(run)
    count = mib << 18
    lines = [x for x in run.output.splitlines() if x.startswith("process,")]
    expect(
        sum(x.endswith(f"42 in {count} of {count} elements") for x in lines) == 2,
        f"with {mib} MiB, 42 in each of {count} elements, twice.",
        f"it printed {lines[:1]}.",
        run,
    )
