"""Lesson 15: what a program finds out about pools, and what it does without them. It is judged on
several devices, whose variables are in docs/simulator.rst."""

import re

from check import MIB, Miss, expect

BEFORE_POOLS = (10000, 10010, 10020, 11000)
WITH_HANDLE_TYPES = (11040, 11080, 12000, 12040, 12080)
ATTRIBUTES = {115: "MemoryPoolsSupported", 119: "MemoryPoolSupportedHandleTypes"}
EXPORT_FAILS = "cudaMemPoolExportToShareableHandle:1"


def history(run):
    def words(line):
        asked = line.get("attribute")
        what = f"({ATTRIBUTES.get(asked, asked)})" if "DeviceGetAttribute" in line["call"] else ""
        failed = line.get("result", "the program ended there")
        return line["call"] + what + ("" if failed == "cudaSuccess" else f": {failed}")

    calls = [
        words(x)
        for x in run.journal
        if re.search(
            "Attribute|Properties|Version|Pool|Malloc|Free|LastError|Synchronize|Query",
            x.get("call", ""),
        )
    ]
    return f"the calls were, in order: {', '.join(calls[:20]) or 'none'}."


def for_pools(run):
    return [
        x
        for x in run.journal
        if re.search("MemPool|FromPool|cudaMallocAsync|cudaFreeAsync", x.get("call", ""))
    ]


def support(check, sentence, pools=None, sharing=None, **environment):
    """support_find on such a device. sentence: why it finds what it should find there."""
    where = " ".join(f"{name}={value}" for name, value in environment.items())
    shown = f"{sentence} ({where})" if where else sentence
    try:
        run = check.ask(shown, "support", **environment)
    except Miss as why:
        if "called by the check" in str(why):
            why.lines.append(f"({history(check.last)[:-1]})")
        raise
    for question, right in (("pools", pools), ("sharing", sharing)):
        got = run.answers.get(question, [])
        expect(
            right is None or got == [str(right)],
            shown,
            lambda q=question,
            g=got,
            r=right,
            found=run: f"support_find found {q} = {', '.join(g)}. It is {r}: {history(found)}",
            run,
        )
    return run


def memory(check, pools, sentence, **environment):
    """take and give_back, on two allocations: the run, and how many bytes they have."""
    sizes = [check.draw(name, 1, 40) * MIB for name in ("first", "second")]
    run = check.ask(
        sentence,
        "memory",
        pools,
        *sizes,
        SIM_SCHEDULE="late",
        SIM_IDLE="off",
        hazards=True,
        **environment,
    )
    return run, sizes


# ---- the rules ----


def test_before_pools(check):
    "drivers before 11.2: no pools, and no error is left"
    for version in (11010, check.choose("old", BEFORE_POOLS)):
        run = support(
            check,
            """a driver before 11.2 has no pools, and no attribute about them: a
            query returns cudaErrorInvalidValue. cudaDriverGetVersion returns how old the driver is;
            cudaRuntimeGetVersion does not.""",
            pools=0,
            sharing=0,
            SIM_DRIVER_VERSION=version,
        )
        expect(
            run.answers.get("error left") == ["cudaSuccess"],
            """no error is left behind. A query
            that an old driver does not know leaves one for the next cudaGetLastError: look at the
            version first, or clear the error.""",
            lambda run=run: f"cudaGetLastError returned {run.answers.get('error left')[0]}; "
            + history(run),
            run,
        )
        expect(
            not for_pools(run),
            "a program on such a driver makes no call that needs pools.",
            lambda run=run: history(run),
            run,
        )


def test_no_pools(check):
    "a new driver and a device without pools (SIM_POOLS=off): the attribute decides"
    version = check.choose("new", (11020, *WITH_HANDLE_TYPES))
    run = support(
        check,
        """the version of the driver decides which attributes can be queried, and
        cudaDevAttrMemoryPoolsSupported whether this device has pools.""",
        pools=0,
        sharing=0,
        SIM_POOLS="off",
        SIM_DRIVER_VERSION=version,
    )
    expect(
        not for_pools(run),
        """the device is asked, and no call that needs pools is made only to
        see whether it fails: such a call may fail for other reasons.""",
        lambda: history(run),
        run,
    )


def test_versions(check):
    "driver 11.2 has pools, and no attribute for handle types; a later one has both"
    for version in (11020, 11030, check.choose("later", WITH_HANDLE_TYPES)):
        run = support(
            check,
            """this driver has pools. It is cudaDevAttrMemoryPoolsSupported that
            came with 11.2, and cudaDevAttrMemoryPoolSupportedHandleTypes that came with 11.3.""",
            pools=1,
            SIM_DRIVER_VERSION=version,
        )
        expect(
            run.answers.get("error left") == ["cudaSuccess"],
            "no error is left behind by a query that this driver does not know.",
            lambda run=run: f"cudaGetLastError returned {run.answers.get('error left')[0]}; "
            + history(run),
            run,
        )


def test_exports(check):
    "where an export succeeds a pool can be shared, and that is tried"
    run = support(check, "this device has pools, and they can be shared.", pools=1, sharing=1)
    expect(
        run.journal.ok("cudaMemPoolExportToShareableHandle"),
        """that a pool can be shared is
        found out by creating one and exporting it (cudaMemPoolExportToShareableHandle), as a file
        descriptor.""",
        lambda: history(run),
        run,
    )
    check.after(test_versions)
    support(
        check,
        """with driver 11.2 nothing is promised, and the export succeeds: so a pool can
        be shared.""",
        pools=1,
        sharing=1,
        SIM_DRIVER_VERSION=11020,
    )


def test_promise(check):
    "the attribute promises too much (SIM_HANDLE_TYPES=0): pools, and no sharing"
    types = check.choose("types", (0, 2))
    run = support(
        check,
        """the attribute promises file descriptors, and no pool can be created for
        them: there are pools, and sharing does not work.""",
        pools=1,
        sharing=0,
        SIM_HANDLE_TYPES=types,
    )
    expect(
        run.journal.calls("cudaMemPoolCreate"),
        """a pool is created for file descriptors: only
        that, and its export, proves anything.""",
        lambda: history(run),
        run,
    )


def test_refused(check):
    "the pool is created and its export fails (SIM_FAIL=...): pools, and no sharing"
    run = support(
        check,
        """a pool was created for file descriptors and its export failed, so
        sharing does not work. The pools are there all the same.""",
        pools=1,
        sharing=0,
        SIM_FAIL=EXPORT_FAILS,
    )
    expect(
        run.journal.calls("cudaMemPoolExportToShareableHandle"),
        "the pool is exported.",
        lambda: history(run),
        run,
    )


def test_clean(check):
    "finding out leaves nothing behind: no pool, no descriptor, no error"
    check.after(test_exports)
    for environment in ({}, {"SIM_FAIL": EXPORT_FAILS}, {"SIM_HANDLE_TYPES": 0}):
        run = support(check, "support_find returns, also where sharing fails.", **environment)
        journal = run.journal
        made, gone = len(journal.ok("cudaMemPoolCreate")), len(journal.ok("cudaMemPoolDestroy"))
        where = " ".join(f"({k}={v})" for k, v in environment.items())
        expect(
            made == gone,
            f"""a pool that was created only to see whether it can be shared is
            destroyed, after a failed export, too {where}.""",
            f"{made} created, {gone} destroyed.",
            run,
        )
        open_ones = sum(x.get("descriptors", 0) for x in journal)
        expect(
            not open_ones,
            """the descriptor that the export returned is closed (close): it is
            the program's own, and stays open when the pool is destroyed.""",
            f"at the end of the program {open_ones} was open.",
            run,
        )
        left = run.answers.get("error left", ["nothing"])[0]
        expect(
            left == "cudaSuccess",
            f"""a refusal that was expected is cleared (cudaGetLastError),
            or whoever asks next takes it for an error of their own {where}.""",
            f"cudaGetLastError returned {left}.",
            run,
        )


def test_fallback(check):
    "without pools the memory is cudaMalloc's, and the host waits before cudaFree"
    sentence = """where there are no pools take and give_back use cudaMalloc and cudaFree."""
    run, sizes = memory(check, 0, sentence, SIM_POOLS="off")
    journal = run.journal
    expect(
        not for_pools(run),
        """with pools = 0 take and give_back make no call that needs pools:
        it returns cudaErrorNotSupported on such a device.""",
        lambda: history(run),
        run,
    )
    expect(
        [x["bytes"] for x in journal.ok("cudaMalloc")] == sizes,
        f"{sentence} Here {sizes[0]} and then {sizes[1]} bytes are wanted.",
        lambda: history(run),
        run,
    )
    expect(
        run.status != 3, "every use of the memory comes before its end.", "it had a hazard.", run
    )
    frees = journal.ok("cudaFree")
    expect(
        len(frees) == 2,
        "each allocation of cudaMalloc is freed with cudaFree.",
        lambda: history(run),
        run,
    )
    expect(
        not frees.where(acquired=1),
        """the host waits for the stream before it calls cudaFree,
        with cudaStreamSynchronize. That cudaFree waits itself is not promised, and a sleep is no
        wait.""",
        lambda: "cudaFree was called while the stream still used the memory; " + history(run),
        run,
    )
    run, _ = memory(check, 0, sentence)
    expect(
        not for_pools(run),
        "pools = 0 is what counts, also on a device that has them.",
        lambda: history(run),
        run,
    )


def test_pools(check):
    "with pools the memory is the pool's, and no host waits"
    run, sizes = memory(check, 1, "where there are pools take and give_back use them.")
    made = run.journal.ok("cudaMallocAsync", "cudaMallocFromPoolAsync")
    freed = run.journal.ok("cudaFreeAsync")
    expect(
        [x["bytes"] for x in made] == sizes,
        f"""where there are pools the memory comes from
        cudaMallocAsync. Here {sizes[0]} and then {sizes[1]} bytes are wanted.""",
        lambda: history(run),
        run,
    )
    expect(
        [x["stream"] for x in freed] == [x["stream"] for x in made][::-1],
        """the memory is
        allocated and freed in the stream that take and give_back are given.""",
        lambda: history(run),
        run,
    )
    expect(
        run.status != 3, "every use of the memory comes before its end.", "it had a hazard.", run
    )
    waits = [x for x in run.journal.where(acquired=1) if x["n"] < freed[-1]["n"]]
    expect(
        not waits,
        "with pools nobody waits before the free: its stream orders it.",
        lambda: f"the host waited in {waits[0]['call']}; {history(run)}",
        run,
    )


def test_output(check):
    "it prints what a real device prints, and ends well without pools, too"
    check.after_the_rest()
    check.expect_right(check.run())
    for environment in (
        {"SIM_DRIVER_VERSION": 11010},
        {"SIM_POOLS": "off"},
        {"SIM_HANDLE_TYPES": 0},
    ):
        run = check.run(check.draw("size", 9, 15), **environment)
        check.expect_clean(run)
        memory_of = "cudaMallocAsync" if "SIM_HANDLE_TYPES" in environment else "cudaMalloc"
        expect(
            f"last element  42, in memory of {memory_of}" in run.output.splitlines(),
            f"the last line: last element  42, in memory of {memory_of}.",
            f"it printed: {run.output}",
            run,
        )
