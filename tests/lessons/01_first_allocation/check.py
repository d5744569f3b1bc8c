"""Lesson 01: allocate, use, free and allocate again in one stream, then wait."""

import re

from check import (
    COPY,
    LATE,
    MAY_WAIT,
    MIB,
    QUERY,
    SUCCESS,
    hazard_words,
    line_of,
    line_of_report,
    met_by_starter,
    miss,
)

TAKES = """use_stream takes what it took at the start, and puts all its work into the stream that it
    is given."""
USES = {"launch_fill", "launch_add", "cudaMemsetAsync", *COPY}
SHOWN = (
    *("launch_hold", "cudaMallocAsync", "cudaMemset", "cudaFreeAsync", "cudaFree"),
    *("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventRecord", "cudaEventSynchronize"),
    *USES,
)


def allocated(journal):
    """The two allocations of use_stream, data and again, which is None if it was not made. They
    have as many bytes, and data is what is filled and added to. Other memory is the student's."""
    made = journal.ok("cudaMallocAsync")
    if not made:
        miss(f"cudaMallocAsync in use_stream, as at the start. Happened: {order(journal)}")
    used = made.of(journal.ok("launch_add")) or made.of(journal.ok("launch_fill"))
    data = used.last or made.first
    after = made.after(data)
    return data, (after.where(bytes=data["bytes"]) or after).last


def copies(journal):
    return journal.calls(*COPY).that(lambda x: x.get("kind") != "HostToDevice")


def order(journal):
    """The calls of a run that matter here, as a sentence."""
    made = journal.ok("cudaMallocAsync")
    both = zip(allocated(journal), ("data", "again")) if made else ()
    names = {**dict.fromkeys(made.column("allocation"), "other memory")}
    names.update((line["allocation"], name) for line, name in both if line)
    lines = []
    for x in journal.calls(*SHOWN)[:14]:
        name, stream = x["call"], x.get("stream")
        if name.startswith("cudaFree") and x.get("allocation") in names:
            name += f" of {names[x['allocation']]}"
        more = ["to the device"] if name in COPY and x.get("kind") == "HostToDevice" else []
        more += [f"{x['bytes']} bytes"] if "bytes" in x else []
        if stream:
            more.append("the legacy stream" if stream == "legacy" else f"stream {stream}")
        if x.get("result", SUCCESS) != SUCCESS:
            more.append(f"it returned {x['result']}")
        lines.append(name + (f" ({', '.join(more)})" if more else ""))
    return f"the calls were, in order: {', '.join(lines)}." if lines else "none of them was made."


def happened(run):
    """The hazard with a free that ended the run, else the calls of the run."""
    freed = run.journal.hazards.where(kind={"double free", "use after free"})
    return freed and hazard_words(run.errors) or order(run.journal)


def failed(run):
    """Did the program end early, at a call that failed or that the device stopped?"""
    return run.failed or re.search(r"^hazard: (?!waiting forever)", run.errors, re.M)


def copied_elsewhere(run):
    """Does a copy that need not wait stand still? Then its destination is not page-locked."""
    return re.search(r"^hazard: waiting forever\. cudaMemcpy(2D)?Async ", run.errors, re.M)


def goes_on(check):
    """What ended at a call that failed, because that came too late, says so once."""
    if copied_elsewhere(check.run_as_far()):
        check.after(test_used)
    if failed(check.run_as_far()):
        check.after(test_freed)


def given(check):
    """(count, first, more); of one element, no copy to other memory ends the program."""
    count = 1 if copied_elsewhere(check.run_as_far()) else check.draw("count", 1000, 900000)
    return count, check.draw("first", 2, 39), check.draw("more", 3, 99)


def ask(check, count, first, more):
    """The check calls use_stream itself. There is no gate, but all work of that device is a second
    late, and a host that sleeps lets it do nothing. So a call that waits has acquired something."""
    return check.ask(TAKES, count, first, more, early=True, **LATE, SIM_CHECK="off")


def whole(check):
    """The lesson's run; of a program that waits while the gate is closed, the check's own, which
    has all that comes after the wait."""
    run = check.run_as_far()
    return ask(check, *given(check)) if run.stands_still else run


@met_by_starter
def test_allocated(check):
    run = check.run_as_far()
    journal = run.journal
    if not journal.ok("cudaMallocAsync"):
        run.expect_return()  # it asks without end before the lesson's first call
    data, again = allocated(journal)
    held = journal.ok("launch_hold").where(stream=data["stream"]).before(data)
    if not held or data["bytes"] != 8 * MIB:
        miss(f"""launch_hold, and then cudaMallocAsync of 8 MiB in the same stream. The program had
            both at the start.
            Happened: {order(journal)}""")
    if failed(run) or run.stands_still:
        return  # it does not come to the second
    if not again or again["stream"] != data["stream"] or again["bytes"] != data["bytes"]:
        miss(f"""use_stream allocates twice in its stream, the second time as much as the first. The
            program did so at the start.
            Happened: {order(journal)}""")


def test_used(check):
    check.after(test_allocated)
    if copied_elsewhere(check.run_as_far()):
        where = line_of_report(check.run_as_far().errors)
        miss(f"""the copy goes to result, the page-locked memory that use_stream is given. The
            pointer itself is the destination: result, and not &result.
            Happened: the cudaMemcpyAsync{where} waits while the gate is closed. A copy to
            page-locked memory makes the host wait for nothing, so this one goes to other memory of
            the host.""")
    run = whole(check)
    journal = run.journal
    data, _ = allocated(journal)
    size = data["bytes"]
    here = dict(allocation=data["allocation"], stream=data["stream"])
    fill = journal.ok("launch_fill").where(**here)
    if not fill.covers(size):
        miss(f"""launch_fill on every element of data, in the stream that allocated it (YOUR WORK, 1
            of 2). No wait is needed before it.
            Happened: {happened(run)}""")
    add = journal.ok("launch_add").where(**here).after(fill.first)
    if not add.covers(size):
        miss(f"""launch_add on every element of data, after launch_fill, in the same stream.
            Happened: {happened(run)}""")
    # The device refuses a copy from memory that is freed: that is another rule's.
    copied = copies(journal).after(add.first)
    copied = copied.that(
        lambda x: (x.get("allocation") == data["allocation"] or x["result"] != SUCCESS)
        and (x.get("stream") == data["stream"] or x["call"] in ("cudaMemcpy", "cudaMemcpy2D"))
    )
    if not copied.covers(size):
        miss(f"""cudaMemcpyAsync of every element to the host, after launch_add, in the same stream.
            Happened: {happened(run)}""")


def test_freed(check):
    check.after(test_allocated)
    run = whole(check)
    journal = run.journal
    data, again = allocated(journal)
    own = journal.of(data)
    # Uses in another stream are missed above, and the free may come after them there.
    streams = {data["stream"], (own.ok(*USES).last or data).get("stream")}
    frees = own.ok("cudaFreeAsync").where(stream=streams)
    if journal.hazards.where(kind="double free"):
        miss(f"""memory is freed once, with cudaFreeAsync in the stream that used it.
            Happened: {happened(run)}""")
    if len(frees) != 1:
        miss(f"""cudaFreeAsync of data, once, in the stream that used it. cudaFree is not ordered
            with the stream, and for pool memory it waits for nothing.
            Happened: {happened(run)}""")
    # A copy from memory that is freed is refused, and names no allocation: a hazard does.
    if own.after(frees[0]).where(call=USES):
        miss(f"""cudaFreeAsync comes after the last use of data: what is put into the stream after
            the free may no longer touch the memory.
            Happened: {happened(run)}""")
    if again and not frees.before(again):
        miss(f"""cudaFreeAsync of data before the program allocates again: only freed memory can be
            allocated again.
            Happened: {happened(run)}""")


def test_numbers(check):
    if not copied_elsewhere(check.run_as_far()):
        check.after(test_used)
    for count, first, more in (given(check), (1, check.draw("other", -90, -2), 1)):
        run = ask(check, count, first, more)
        data, _ = allocated(run.journal)
        own = run.journal.of(data)
        calls = {name: own.ok(name).last for name in ("launch_fill", "launch_add")}
        values = [call and call["value"] for call in calls.values()]
        added = sum(own.ok("launch_add").column("value"))  # in several steps
        if values != [first, more] and (values[0], added) != (first, more):
            if None in values:
                run.expect_return()
            words = [
                f"{name} was given {call['value']}" if call else f"{name} was not called"
                for name, call in calls.items()
            ]
            miss(f"""launch_fill sets every element to first, and launch_add adds more: the device
                adds.
                Happened: called by the check with first = {first} and more = {more},
                {" and ".join(words)}.""")
        if failed(check.run_as_far()) or copied_elsewhere(check.run_as_far()):
            return  # the numbers are right; what became of the copy another rule says
        run.expect_return()
        if wrong := run.wrong({f"result[{i}]": first + more for i in (0, count // 2, count - 1)}):
            miss(f"""with first = {first} and more = {more}, each element of result is their sum.
                Happened: {wrong}""")


def never_returns(run):
    """The sentences about a wait while the gate is closed."""
    found = re.search(r"^hazard: waiting forever\. (\w+) waits ", run.errors, re.M)
    where = (found[1] if found else "a wait") + line_of_report(run.errors)
    if run.ended == "flood":
        last = run.journal.queries.last or {"call": "a loop"}
        where = f"the loop that asks again and again ({last['call']}{line_of(last)})"
    miss(f"""no wait while the gate is closed. None of the four calls of YOUR WORK, 1 of 2 needs
        one: the stream itself keeps its work in order. The wait of YOUR WORK, 2 of 2 comes after
        gate_open.
        Happened: {where} never returns: it waits for the stream, the stream holds at the gate, and
        the gate would be opened only after that line.""")


def test_no_wait(check):
    check.after(test_used)
    goes_on(check)
    run = check.run_as_far()
    if run.stands_still and allocated(run.journal)[1] is None:
        never_returns(run)
    run = ask(check, *given(check))
    run.expect_return()
    data, again = allocated(run.journal)
    if not again:
        miss("""no wait between the two allocations.
            Happened: called by the check, use_stream ended before its second allocation.""")
    waits = run.journal.between(data, again).waits
    if waits:
        miss(f"""no wait between the two allocations: the stream itself keeps its work in order.
            Happened: {waits.names} waited there for the work of the stream.""")
    asked = len(run.journal.between(data, again).queries)
    if asked > 2:  # use_stream prints the answers of two
        miss(f"""no wait between the two allocations: the stream itself keeps its work in order. A
            sleep is a wait, too, and so is a loop that asks whether the stream is done.
            Happened: use_stream asked {asked} times (cudaStreamQuery), and the starter asks twice,
            to print the answers.""")
    before = run.answers.get("result[0] when use_stream returns", [])
    if before != ["0"]:
        miss(f"""the device writes result. When use_stream returns, the device has not copied
            anything yet, so result is as it was before. The host writes nothing into it.
            Happened: result[0] was {", ".join(before) or "not to be read"} then, and 0 before.""")


def test_wait(check):
    check.after(test_allocated)
    if test_used in check.met and check.run_as_far().stands_still:
        check.after(test_no_wait)  # the same wait is not reported twice
        never_returns(check.run_as_far())
    goes_on(check)
    run = check.run(**LATE)
    journal = run.journal
    done = {x["of"]: x["finish"] for x in journal.where(did="run")}
    work = copies(journal) or journal.calls(*USES)  # that there is no copy is missed above
    waits = journal.certain
    if not work:
        work = journal.calls("launch_hold")
        waits = waits.that(lambda x: x["call"] not in QUERY)
    last = max((done.get(x["number"], 1 << 62) for x in work), default=1 << 62)
    waited = any(last <= wait["end"] for wait in waits)
    if not waited:
        miss(f"""a call in which the host waits for the copy (YOUR WORK, 2 of 2): only then is the
            result on the host.
            Happened: {order(journal)}{why_no_wait(check, journal)}""")
    if journal.hazards.where(kind="host access not ordered after a write"):
        check.after(test_no_wait)
        miss("""the result is read after that wait, or while the gate is closed, when the copy
            cannot have begun. So gate_open comes after use_stream.
            Happened: result was read while the copy might write it.""")


def why_no_wait(check, journal):
    """What of the calls looks like a wait and is none."""
    copy = copies(journal).first
    recorded = journal.records.before(copy)
    if recorded and journal.ok("cudaEventSynchronize"):
        return " The event was recorded before the copy, so it does not stand for the copy."
    other = journal.waits.after(copy).that(
        lambda x: copy
        and x["call"] in MAY_WAIT
        and x.get("allocation") != copy.get("host_allocation")
    )
    if other:
        return f" {other[0]['call']} of other memory may wait, but NVIDIA does not promise that."
    asked = journal.queries.after(copy) if copy else []
    if len(asked) > 3:
        return f""" After the copy it queried {len(asked)} times, and the last answer was
            {asked[-1]["result"]}: a query waits for nothing, and neither does a sleep."""
    if check.sleeps:
        return f" It calls {check.sleeps}: a sleep waits for nothing, however long it is."
    return ""


def test_output(check):
    check.after()
    check.expect_right(check.run_as_far())
    check.expect_read("synchronized     42")
    for mib in (1, check.draw("mib", 9, 40)):
        check.expect_elements(check.run(mib, SIM_IDLE="off"), mib, 1)
