"""Lesson 05: a pool that keeps its memory, and requests that wait for no other stream."""

from check import (
    ALLOCATE,
    MEMSET,
    MIB,
    Journal,
    expect_no_asking,
    line_of,
    line_of_report,
    met_by_starter,
    miss,
)

WRITE = ("launch_fill", "launch_add", *MEMSET)
THRESHOLD = "cudaMemPoolAttrReleaseThreshold"
MOST = 1100  # ask.h has room for as many answers
ASKED = """serve as the rest of the lesson calls it, and CUDA calls in it that succeed."""
KEEPS = "keep_memory sets the release threshold of the pool that it is given."
REQUEST = """request i fills its memory with i on the device (launch_fill), and the last int of that
    memory is copied from there to answers[i] (cudaMemcpyAsync): the device answers."""


def test_keeps(check):
    check.expect_wide_values()
    gib = check.draw("gib", 3, 200)
    journal = check.ask(KEEPS, "keep", SIM_MEMORY=f"{gib}G", special=True).journal
    returned = journal.where(did="release", why="synchronization")
    if returned:
        threshold = "it set no threshold"
        sets = journal.ok("cudaMemPoolSetAttribute").where(attribute=THRESHOLD)
        sets = sets.before(returned[-1])
        if sets:
            pool = "the default pool" if sets.last["pool"] == 0 else "another pool"
            threshold = f"it set the threshold of {pool} to {sets.last['value']} bytes"
        miss(f"""after keep_memory, the pool that it was given keeps all its memory at each
            synchronization, whatever the size of its allocations (YOUR WORK, 1 of 2). The threshold
            is in bytes.
            Happened: on a device with {gib} GiB, nearly all of it in one allocation, a
            synchronization left {returned[-1]["reserved"] // MIB} MiB in the pool: {threshold}.""")
    other = check.last.answer("threshold of another pool")
    if not other.isdigit() or int(other) < gib << 30:
        miss(f"""{KEEPS}
            Happened: the check gave it a pool of its own, and after the call the threshold of that
            pool is {other} bytes.""")


@met_by_starter
def test_loops(check):
    run = check.run(early=True)
    journal = run.journal
    loops = journal.part(None, journal.ok("cudaMallocHost").first)
    pairs = [len(loops.ok(name)) for name in ("cudaMallocAsync", "cudaFreeAsync", "cudaFree")]
    if any(number < wanted for number, wanted in zip(pairs, (9 * 501, 9 * 501, 3 * 501))):
        if not given_answers(journal):  # the program ended before that
            check.after(test_keeps)
        run.expect_return()
        miss("""print_costs makes 501 pairs of each size in each of its four ways, as in the
            starter.
            Happened: its loops made fewer allocations or frees.""")
    returned = len(journal.where(did="release", why="synchronization"))
    if returned < 3 * 501:
        miss(f"""in the way "pool, default, synchronized each time", the host synchronizes after
            each free, as in the starter, and the pool returns its memory.
            Happened: memory was returned at {returned} synchronizations, and the way has 1503
            frees.""")


def few(check):
    """(requests, bytes) of a serve that the check calls."""
    return check.draw("few", 40, 80), MIB // 4


def many(check):
    return check.draw("requests", 300, 1000), 4 * check.draw("ints", 2, 20000)


def asked(check):
    """The calls of a serve that the check called, for a few requests."""
    run = check.ask(ASKED, "serve", *few(check), SIM_IDLE="off", hazards=True)
    return calls_of_serve(run.journal)


def given_answers(journal):
    """Where the lesson's main (16 requests), or the check, allocates the answers for serve."""
    return journal.ok("cudaMallocHost").where(bytes={4 * 16, 4 * MOST})


def calls_of_serve(journal):
    begin = given_answers(journal).last
    end = journal.after(begin).calls("cudaFreeHost").of(begin).first
    return journal.part(begin, end).that(lambda x: begin and "result" in x)


def held(check):
    """The run in which other streams hold, and the call that waits for one of them, or None."""
    run = check.ask(REQUEST, "held", *few(check), hazards=True, special=True)
    return run, run.journal.hazards.where(kind="waiting forever").first


def test_no_other_stream(check):
    run, forever = held(check)
    if forever:
        calls = run.journal.after(run.journal.ok("launch_hold").last)
        work = calls.where(call="launch_fill").first or {}
        legacy = """The legacy stream, in which serve works, waits for every blocking stream."""
        miss(f"""no call of serve waits for another stream, whose work has nothing to do with the
            requests (YOUR WORK, 2 of 2).
            Happened: the check called serve while two other streams could not go on.
            {forever["call"]}{line_of_report(run.errors)} waited for one of them, and never
            returned.
            {legacy if work.get("stream") == "legacy" else ""}""")


def test_from_the_pool(check):
    check.after(test_no_other_stream)
    fills = asked(check).where(call="launch_fill")
    made = check.last.journal.that(lambda x: "alloc" in x.get("call", "").lower())
    # One call may keep memory for the next.
    fills = [(made.of(x).last or {"call": "elsewhere"})["call"] for x in fills]
    other = [call for call in fills if call not in ALLOCATE]
    if other:
        miss(f"""serve takes the memory for its requests from the pool (cudaMallocAsync), which
            already has it. cudaMalloc has to get memory from the device each time.
            Happened: the memory of {len(other)} of {len(fills)} requests came from {other[0]}.""")


def test_once(check):
    # Whether a cudaFree waits depends on other streams: the rule about those judges it.
    drawn = [(few(check)[0], asked(check))]
    run = check.ask(ASKED, "serve", *many(check), SIM_IDLE="off", hazards=True, early=True)
    if not run.early:
        drawn += [(many(check)[0], calls_of_serve(run.journal))]
    for number, calls in drawn:
        waits = calls.synchronizations.that(lambda x: x["call"] != "cudaFree")
        if len(waits) > 1:
            _, forever = held(check)
            if forever and len(waits) - len(waits.calls(forever["call"])) <= 1:
                check.after(test_no_other_stream)  # that call is missed there
            miss(f"""the host waits once, after the last request: memory of the pool may be used and
                freed in the stream before that.
                Happened: serve waited {len(waits)} times for {number} requests, in {waits.names},
                first{line_of(waits[0])}.""")
        expect_no_asking(calls, "the host waits once, after the last request, for its stream.")


def answered(calls, size, answers=None):
    """The requests that had filled their memory when the last int of it was copied. With the number
    of the allocation `answers`: those for which it was copied to their answer."""
    found, uses = set(), {}
    for call in calls:
        written = uses.setdefault(call.get("allocation"), Journal())
        if call["call"] in WRITE:
            written.append(call)
        rows = call.get("rows", 1)  # a copy in rows takes the last int of each request
        if call.get("kind") != "DeviceToHost" or call["bytes"] != 4 * rows:
            continue
        for row in range(rows):
            end = call.get("inner_offset", 0) + 4 + row * size
            to = (call.get("host_allocation"), call.get("host_offset", 0) // 4 + row)
            values = set(written.values(size, end - size) or ())
            found |= {
                i for i in values if values == {i} and (answers is None or to == (answers, i))
            }
    return found


@met_by_starter
def test_device(check):
    journal = check.run().journal
    calls = calls_of_serve(journal)
    answers = given_answers(journal).first
    if not answers:
        check.after(test_keeps, test_loops)
        miss(f"{REQUEST} Happened: the program ended before it called serve.")
    answers = answers["allocation"]
    missing = sorted(set(range(16)) - answered(calls, 4 * MIB, answers))
    if missing and (failed := check.last.failed):
        miss(f"""{REQUEST} Its memory is freed after that.
            Happened: the program ended in request {missing[0]}: {failed}.""")
    if missing:
        asked(check)  # what ended the program there is the cause here, too
        fills = calls.where(call="launch_fill", bytes=4 * MIB)
        filled = {i for i in fills.column("value") if i in range(16)}
        copied = len(answered(calls, 4 * MIB).intersection(missing))
        if copied:
            check.after(test_no_other_stream, test_once)  # where a copy goes decides who waits
        elsewhere = f"{copied} copies of these ints went to other memory of the host. "
        miss(f"""{REQUEST}
            Happened: {elsewhere * (copied > 0)}{len(filled)} of 16 requests filled {4 * MIB} bytes
            with their number, and {16 - len(missing)} copied the last int of them to their answer.
            The first that did not is request {missing[0]}.""")


@met_by_starter
def test_answers(check):
    check.after(test_device)
    drawn = many(check)
    sentence = f"""serve answers as many requests as it is asked, of any size, here {drawn[0]} of
        {drawn[1]} bytes."""
    run = check.ask(sentence, "serve", *drawn, SIM_IDLE="off", hazards=True, early=True)
    if held(check)[1] and run.journal.hazards:
        check.after(test_no_other_stream)  # what waits for other streams may not wait for its own
    run = check.ask(sentence, "serve", *drawn, SIM_IDLE="off", special=True)
    for number, size in ((1, 4), drawn):
        got = run.answers.get(f"serve(answers, {number}, {size})", [""])
        got = got[0].split() if len(got) == 1 else []
        if len(got) != MOST:
            miss(f"""serve returns to its caller, and prints nothing.
                Happened: {run.wrong({f"serve(answers, {number}, {size})": "all answers"})}""")
        wanted = [str(i) for i in range(number)] + ["-1"] * (MOST - number)
        wrong = [i for i in range(MOST) if got[i] != wanted[i]]
        if not wrong:
            continue
        happened = f"""of {number} request{"s" * (number > 1)} of {size} bytes, answers[{wrong[0]}]
            was {got[wrong[0]]} when serve returned (-1: not written)."""
        calls = run.journal.that(lambda x: "result" in x)
        late = {i for i in wrong if got[i] == "-1"}
        if late & answered(calls, size):
            if held(check)[1]:
                check.after(test_no_other_stream)  # it waited for another stream instead
            miss(f"""serve returns when every answer has arrived: it waits for the last copy.
                Happened: {happened}""")
        miss(f"""serve answers as many requests as it is asked: answers[i] is i for each request,
            and no other answer is written.
            Happened: {happened}""")
    made = run.journal.allocations
    if (left := len(made) - len(made.of(run.journal.frees))) > 1:  # one may be kept for later
        miss(f"""serve frees the memory of each request.
            Happened: of {1 + drawn[0]} requests, {left} left theirs allocated.""")


def test_output(check):
    check.after()
    check.expect_right(check.run())
    check.expect_read("correct answers")
