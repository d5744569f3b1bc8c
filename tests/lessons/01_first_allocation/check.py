"""Lesson 01: allocate, use, free and allocate again in one stream, then wait."""

import re

from check import MIB, expect

COPIES = ("cudaMemcpyAsync", "cudaMemcpy")
USES = ("launch_fill", "launch_add", "cudaMemcpyAsync", "cudaMemsetAsync")
SHOWN = (
    *("launch_hold", "cudaMallocAsync", "cudaMemset", "cudaMemcpy", "cudaFreeAsync", "cudaFree"),
    *("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventRecord", "cudaEventSynchronize"),
    *USES,
)


def allocated(journal):
    """The two allocations of use_stream, data and again, which is None if it was not made."""
    found = journal.ok("cudaMallocAsync")
    expect(found, "cudaMallocAsync in use_stream, as at the start.", lambda: order(journal))
    return found[0], (found[1] if len(found) > 1 else None)


def copies(journal):
    return [x for x in journal.calls(*COPIES) if x.get("kind") != "HostToDevice"]


def order(journal):
    """The calls of a run that matter here, as a sentence."""
    names = dict(zip([x["allocation"] for x in journal.ok("cudaMallocAsync")], ("data", "again")))
    lines = []
    for x in [x for x in journal.calls(*SHOWN) if "did" not in x][:14]:
        name = x["call"]
        if name.startswith("cudaFree") and x.get("allocation") in names:
            name += f" of {names[x['allocation']]}"
        stream = x.get("stream")
        more = [f"{x['bytes']} bytes"] if "bytes" in x else []
        if stream:
            more.append("the legacy stream" if stream == "legacy" else f"stream {stream}")
        lines.append(name + (f" ({', '.join(more)})" if more else ""))
    return f"the calls were, in order: {', '.join(lines)}." if lines else "none of them was made."


def stands_still(run):
    """Did the run end at a wait behind the closed gate?"""
    return "hazard: waiting forever." in run.errors


def failed(run):
    """Did CHECK end the program, at a call that failed?"""
    return re.search(": cudaError", run.errors)


def goes_on(check):
    """What ended at a call that failed, because that came too late, says so once."""
    if failed(check.run()):
        check.after(test_freed)


def given(check):
    return check.draw("count", 1000, 900000), check.draw("first", 2, 39), check.draw("more", 3, 99)


def ask(check, count, first, more):
    """The check calls use_stream itself. There is no gate, but all work of that device is a second
    late, and a host that sleeps lets it do nothing. So a call that waits has acquired something."""
    return check.ask(
        """use_stream takes what it took at the start, and puts all its work into the stream that it
        is given.""",
        count,
        first,
        more,
        SIM_SCHEDULE="late",
        SIM_IDLE="off",
        SIM_CHECK="off",
    )


def whole(check):
    """The journal of the lesson's run; of a program that waits behind the closed gate the check's
    own, which has all that comes after the wait."""
    run = check.run()
    return (ask(check, *given(check)) if stands_still(run) else run).journal


def test_allocated(check):
    "memory is allocated twice while the stream holds at the gate"
    run = check.run()
    journal = run.journal
    data, again = allocated(journal)
    held = journal.ok("launch_hold").where(stream=data["stream"]).before(data)
    expect(
        held and data["bytes"] == 8 * MIB,
        """launch_hold, and then cudaMallocAsync of 8 MiB in the same stream. The program had both
        at the start.""",
        lambda: order(journal),
        run,
    )
    if failed(run) or stands_still(run):
        return  # it does not come to the second
    expect(
        again and again["stream"] == data["stream"] and again["bytes"] == data["bytes"],
        """use_stream allocates twice in its stream, the second time as much as the first. The
        program did so at the start.""",
        lambda: order(journal),
        run,
    )


def test_used(check):
    "the memory is filled, added to and copied in the stream that allocated it"
    check.after(test_allocated)
    journal = whole(check)
    data, _ = allocated(journal)
    here = dict(allocation=data["allocation"], stream=data["stream"], bytes=data["bytes"])
    fill = journal.ok("launch_fill").where(**here).first
    expect(
        fill,
        """launch_fill on every element of data, in the stream that allocated it (YOUR WORK, 1 of
        2). No wait is needed before it.""",
        lambda: order(journal),
    )
    add = journal.ok("launch_add").where(**here).after(fill).first
    expect(
        add,
        "launch_add on every element of data, after launch_fill, in the same stream.",
        lambda: order(journal),
    )
    # The device refuses a copy from memory that is freed: that is another rule's.
    copied = [
        x
        for x in copies(journal)
        if x["n"] > add["n"]
        and x.get("bytes") == add["bytes"]
        and (x.get("allocation") == add["allocation"] or x["result"] != "cudaSuccess")
        and (x.get("stream") == add["stream"] or x["call"] == "cudaMemcpy")
    ]
    expect(
        copied,
        "cudaMemcpyAsync of every element to the host, after launch_add, in the same stream.",
        lambda: order(journal),
    )


def test_freed(check):
    "the memory is freed in stream order: after its last use, before the next allocation"
    check.after(test_allocated)
    journal = whole(check)
    data, again = allocated(journal)
    own = journal.where(allocation=data["allocation"])
    frees = own.ok("cudaFreeAsync").where(stream=data["stream"])
    expect(
        len(frees) == 1,
        """cudaFreeAsync of data, once, in the stream that used it. cudaFree is not ordered in a
        stream: for memory of cudaMallocAsync it waits for nothing.""",
        lambda: order(journal),
    )
    # A copy from memory that is freed is refused, and names no allocation: a hazard does.
    late = [x for x in own.after(frees[0]) if x.get("call") in USES]
    expect(
        not late,
        """cudaFreeAsync comes after the last use of data: what is put into the stream after the
        free may no longer touch the memory.""",
        lambda: order(journal),
    )
    expect(
        again is None or frees[0]["n"] < again["n"],
        """cudaFreeAsync of data before the program allocates again: only freed memory can be
        allocated again.""",
        lambda: order(journal),
    )


def test_numbers(check):
    "use_stream uses the numbers that it is given"
    check.after(test_used)
    goes_on(check)
    for count, first, more in (given(check), (1, check.draw("other", -90, -2), 1)):
        run = ask(check, count, first, more)
        data, _ = allocated(run.journal)
        calls = [
            (name, run.journal.ok(name).where(allocation=data["allocation"]).first)
            for name in ("launch_fill", "launch_add")
        ]
        values = [call and call["value"] for _, call in calls]
        words = [
            f"{name} was given {call['value']}" if call else f"{name} was not called"
            for name, call in calls
        ]
        expect(
            values == [first, more],
            "launch_fill sets every element to first, and launch_add adds more: the device adds.",
            f"""called by the check with first = {first} and more = {more},
            {" and ".join(words)}.""",
            run,
        )
        check.expect_answers(
            f"with first = {first} and more = {more} each element of result is their sum.",
            run,
            {f"result[{i}]": first + more for i in (0, count // 2, count - 1)},
        )


def never_returns(run):
    """The sentences about a wait behind the closed gate."""
    found = re.search(r"^hazard: waiting forever\. (\w+) waits ", run.errors, re.M)
    line = re.search(r"^  called  *at .*:(\d+)$", run.errors, re.M)
    where = (found[1] if found else "a wait") + (f" in line {line[1]}" if line else "")
    expect(
        False,
        """no wait while the gate is closed. None of the four calls of YOUR WORK, 1 of 2 needs one:
        the stream itself keeps its work in order. The wait of YOUR WORK, 2 of 2 comes after
        gate_open.""",
        f"""{where} never returns: it waits for the stream, the stream holds at the gate, and the
        gate would be opened only after that line.""",
        run,
    )


def test_no_wait(check):
    "use_stream waits for nothing: the stream itself keeps its work in order"
    check.after(test_used)
    goes_on(check)
    run = check.run()
    if stands_still(run) and allocated(run.journal)[1] is None:
        never_returns(run)
    run = ask(check, *given(check))
    data, again = allocated(run.journal)
    expect(
        again,
        "no wait between the two allocations.",
        "called by the check, use_stream ended before its second allocation.",
    )
    waits = {x["call"] for x in run.journal.after(data).before(again).where(acquired=1)}
    expect(
        not waits,
        "no wait between the two allocations: the stream itself keeps its work in order.",
        f"{', '.join(sorted(waits))} waited there for the work of the stream.",
    )
    before = run.answers.get("result[0] when use_stream returns", [])
    expect(
        before == ["0"],
        """the device writes result. When use_stream returns it has not copied anything yet, so
        result is as it was before. The host writes nothing into it.""",
        f"result[0] was {', '.join(before) or 'not to be read'} then, and 0 before.",
    )


def test_wait(check):
    "the host waits for the copy, after gate_open, and only then reads the result"
    check.after(test_allocated)
    if test_used.__name__ in check.met and stands_still(check.run()):
        check.after(test_no_wait)  # the same wait is not reported twice
        never_returns(check.run())
    goes_on(check)
    run = check.run(SIM_SCHEDULE="late", SIM_IDLE="off")
    journal = run.journal
    copied = copies(journal)
    done = {x["of"]: x["finish"] for x in journal.where(did="run", op="copy")}
    waits = [x for x in journal.where(acquired=1) if x["call"] != "cudaFreeHost"]
    waited = copied and all(
        any(done.get(x["number"], 1 << 62) <= wait["end"] for wait in waits) for x in copied
    )
    early = journal.where(did="hazard", kind="host access not ordered after a write")
    expect(
        waited,
        """a call in which the host waits for the copy (YOUR WORK, 2 of 2): only then is the result
        on the host.""",
        lambda: order(journal) + why_no_wait(journal),
        run,
    )
    expect(
        not early,
        """the result is read behind that wait, or while the gate is closed, when the copy cannot
        have begun. So gate_open comes after use_stream.""",
        "result was read while the copy might write it.",
        run,
    )


def why_no_wait(journal):
    """What of the calls looks like a wait and is none."""
    copy = min((x["n"] for x in copies(journal)), default=1 << 60)
    recorded = [x for x in journal.ok("cudaEventRecord") if x["n"] < copy]
    asked = [x for x in journal.calls("cudaStreamQuery", "cudaEventQuery") if x["n"] > copy]
    if recorded and journal.ok("cudaEventSynchronize"):
        return " The event was recorded before the copy, so it does not stand for the copy."
    if len(asked) > 3:
        return (
            f" Behind the copy it queried {len(asked)} times, and the last answer was"
            f" {asked[-1]['result']}: a query waits for nothing, and neither does a sleep."
        )
    return ""


def test_output(check):
    "it prints what a real device prints, also for other sizes"
    check.after_the_rest()
    check.expect_right(check.run())
    mib = check.draw("mib", 2, 7)
    run = check.run(mib, SIM_IDLE="off")
    check.expect_clean(run)
    count = mib * MIB // 4
    last = (run.output.splitlines() or [""])[-1]
    expect(
        re.fullmatch(rf"synchronized     42 in {count} of {count} elements .*", last),
        f"with {mib} MiB, 42 in each of {count} elements.",
        f'it printed "{last[:200]}".',
        run,
    )
