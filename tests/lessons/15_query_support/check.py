"""Lesson 15: what a program finds out about pools, and what it does without them. It is judged on
several devices, whose variables are in docs/simulator_reference.rst."""

import re

from check import (
    LATE,
    MADE,
    MAY_WAIT,
    MIB,
    SUCCESS,
    expect_narrow_wait,
    hazard_words,
    met_by_starter,
    miss,
    visible,
)

BEFORE_POOLS = (10000, 10010, 10020, 11000)
WITH_HANDLE_TYPES = (11040, 11080, 12000, 12040, 12080)
ATTRIBUTES = {115: "MemoryPoolsSupported", 119: "MemoryPoolSupportedHandleTypes"}
EXPORT_FAILS = "cudaMemPoolExportToShareableHandle:1"


SHOWN = re.compile("Attribute|Properties|Version|Pool|Malloc|Free|LastError|Synchronize|Query")
FOR_POOLS = re.compile("MemPool|FromPool|cudaMallocAsync|cudaFreeAsync")


def history(run):
    def words(line):
        asked = line.get("attribute")
        what = f"({ATTRIBUTES.get(asked, asked)})" if "DeviceGetAttribute" in line["call"] else ""
        result = line.get("result", "the program ended there")
        return line["call"] + what + ("" if result == SUCCESS else f": {result}")

    calls = [words(x) for x in run.journal if SHOWN.search(x.get("call", ""))]
    return f"the calls were, in order: {', '.join(calls[:20]) or 'none'}."


def for_pools(run):
    return [x for x in run.journal if FOR_POOLS.search(x.get("call", ""))]


def support(check, sentence, how="support", pools=None, sharing=None, **environment):
    """support_find on such a device. sentence: why it finds what it should find there."""
    where = " ".join(f"{name}={value}" for name, value in environment.items())
    shown = f"{sentence} ({where})" if where else sentence
    run = check.ask(shown, how, early=True, special=True, **environment)
    run.expect_return(f"({history(run)[:-1]})")
    for question, right in (("pools", pools), ("sharing", sharing)):
        got = run.answers.get(question, [])
        if right is not None and got != [str(right)]:
            miss(f"""{shown}
                Happened: support_find found {question} = {", ".join(got)} instead of {right}:
                {history(run)}""")
    return run


def memory(check, pools, sentence, **environment):
    """take and give_back, on two allocations: the run, and how many bytes they have."""
    sizes = [check.draw("first", 2049, 4000) * MIB, check.draw("second", 4097, 8000) * MIB]
    run = check.ask(sentence, "memory", pools, *sizes, **LATE, hazards=True, **environment)
    return run, sizes


def expect_no_error(run, sentence):
    left = run.answer("error left")
    if left != SUCCESS:
        miss(f"{sentence} Happened: cudaGetLastError returned {left}; {history(run)}")


def expect_ordered(run):
    if run.status == 3:
        found = hazard_words(run.errors)
        miss(f"every use of the memory comes before its free. Happened: {found}")


def test_before_pools(check):
    for version in (11010, check.choose("old", BEFORE_POOLS)):
        sentence = """a driver before 11.2 has no pools, and no attribute about them: a query
            returns cudaErrorInvalidValue. cudaDriverGetVersion returns how old the driver is;
            cudaRuntimeGetVersion does not."""
        run = support(check, sentence, pools=0, sharing=0, SIM_DRIVER_VERSION=version)
        left = """no error is left behind. A query that an old driver does not know leaves one for
            the next cudaGetLastError: look at the version first, or clear the error."""
        expect_no_error(run, left)
        if for_pools(run):
            miss(f"""a program on such a driver makes no call that needs pools.
                Happened: {history(run)}""")


@met_by_starter
def test_no_pools(check):
    sentence = """the version of the driver decides which attributes can be queried, and
        cudaDevAttrMemoryPoolsSupported whether this device has pools."""
    device = {"SIM_POOLS": "off", "SIM_DRIVER_VERSION": check.choose("new", WITH_HANDLE_TYPES)}
    run = support(check, sentence, pools=0, sharing=0, **device)
    if for_pools(run):
        miss(f"""the program queries the device. It makes no call that needs pools only to see
            whether the call fails, because it may fail for other reasons.
            Happened: {history(run)}""")


def test_versions(check):
    for version in (11020, 11030, check.choose("later", WITH_HANDLE_TYPES)):
        sentence = """this driver has pools. cudaDevAttrMemoryPoolsSupported came with 11.2, and
            cudaDevAttrMemoryPoolSupportedHandleTypes came with 11.3."""
        run = support(check, sentence, pools=1, SIM_DRIVER_VERSION=version)
        left = "no error is left behind by a query that this driver does not know."
        if run.answer("error left") != SUCCESS:
            check.after(test_before_pools)
        expect_no_error(run, left)
        promised = run.line("descriptors")
        if version >= 11030 and "promised nothing" in promised:
            miss(f"""a driver from 11.3 on is asked what it promises (SIM_DRIVER_VERSION={version}).
                Happened: {history(run)}""")
        if version < 11030 and "promised nothing" not in promised:
            miss(f"""a driver without the attribute promises nothing, neither yes nor no: `promised`
                stays -1 (SIM_DRIVER_VERSION={version}).
                Happened: it printed: {visible(promised)}""")


def test_exports(check):
    run = support(check, "this device has pools, and they can be shared.", pools=1, sharing=1)
    if not run.journal.ok("cudaMemPoolExportToShareableHandle"):
        miss(f"""to find out whether a pool can be shared, the program creates a pool and exports it
            (cudaMemPoolExportToShareableHandle), as a file descriptor.
            Happened: {history(run)}""")
    check.after(test_no_pools, test_versions)
    sentence = (
        "with driver 11.2 nothing is promised, and the export succeeds: so a pool can be shared."
    )
    support(check, sentence, pools=1, sharing=1, SIM_DRIVER_VERSION=11020)
    sentence = """the attribute promises no handle type, and the export succeeds: so a pool can be
        shared. Only an export proves it, whatever the attribute says."""
    support(check, sentence, "unpromised", pools=1, sharing=1)


def test_promise(check):
    sentence = """the attribute promises file descriptors, but no pool can be created for them:
        there are pools, but sharing does not work."""
    types = check.choose("types", (0, 2))
    run = support(check, sentence, pools=1, sharing=0, SIM_HANDLE_TYPES=types)
    if not run.journal.calls("cudaMemPoolCreate"):
        miss(f"""a pool is created for file descriptors and exported, because only a successful
            export is a proof.
            Happened: {history(run)}""")


def test_refused(check):
    check.after(test_exports, test_promise)
    sentence = """a pool was created for file descriptors and its export failed, so sharing does not
        work. But there are pools."""
    run = support(check, sentence, pools=1, sharing=0, SIM_FAIL=EXPORT_FAILS)
    if not run.journal.calls("cudaMemPoolExportToShareableHandle"):
        miss(f"the pool is exported. Happened: {history(run)}")


def test_clean(check):
    check.after(test_exports)
    for environment in ({}, {"SIM_FAIL": EXPORT_FAILS}, {"SIM_HANDLE_TYPES": 0}):
        run = support(check, "support_find returns, also where sharing fails.", **environment)
        journal = run.journal
        made = len(journal.ok(*MADE["cudaMemPoolDestroy"][1]))
        gone = len(journal.ok("cudaMemPoolDestroy"))
        where = "".join(f" ({k}={v})" for k, v in environment.items())
        if made != gone:
            miss(f"""a pool that was created only to see whether it can be shared is destroyed,
                after a failed export, too{where}.
                Happened: {made} created, {gone} destroyed.""")
        open_ones = sum(x.get("descriptors", 0) for x in journal)
        if open_ones:
            miss(f"""the descriptor that the export returned is closed (close): it is the program's
                own, and stays open when the pool is destroyed.
                Happened: descriptors open at the end of the program: {open_ones}.""")
        if run.answer("stdin open") != "1":
            miss(f"""only the descriptor that an export has returned is closed{where}.
                Happened: stdin was closed, which is descriptor 0.""")
        left = run.answer("error left")
        if left != SUCCESS:
            miss(f"""an expected error is cleared (cudaGetLastError), because otherwise the next
                check of the last error finds it{where}.
                Happened: cudaGetLastError returned {left}; {history(run)}""")


def test_fallback(check):
    sentence = """without pools, take and give_back use cudaMalloc and cudaFree."""
    run, sizes = memory(check, 0, sentence, SIM_POOLS="off")
    journal = run.journal
    if for_pools(run):
        miss(f"""with pools = 0, take and give_back make no call that needs pools, because such a
            call returns cudaErrorNotSupported on that device.
            Happened: {history(run)}""")
    if journal.ok("cudaMalloc").column("bytes") != sizes:
        miss(f"""{sentence} Here {sizes[0]} and then {sizes[1]} bytes are wanted.
            Happened: {history(run)}""")
    expect_ordered(run)
    frees = journal.ok("cudaFree")
    if len(frees) != 2:
        miss(f"each allocation of cudaMalloc is freed with cudaFree. Happened: {history(run)}")
    if early := journal.where(call=MAY_WAIT).waits:
        miss(f"""the host waits for the stream before it calls cudaFree, with cudaStreamSynchronize.
            NVIDIA does not promise that cudaFree waits, and a sleep is no wait.
            Happened: the host waited in {early.names}, while the stream still used the memory;
            {history(run)}""")
    expect_narrow_wait(
        journal,
        """before it frees, the host waits for the stream that used the
        memory (cudaStreamSynchronize).""",
    )
    run, _ = memory(check, 0, sentence)
    if for_pools(run):
        miss(f"""with pools = 0, take and give_back use no pools, even on a device that has them.
            Happened: {history(run)}""")


@met_by_starter
def test_pools(check):
    run, sizes = memory(check, 1, "with pools, take and give_back use them.")
    made, freed = run.journal.allocations, run.journal.ok("cudaFreeAsync")
    if made.column("bytes") != sizes:
        miss(f"""with pools, the memory comes from cudaMallocAsync. Here {sizes[0]} and then
            {sizes[1]} bytes are wanted.
            Happened: {history(run)}""")
    if freed.column("stream") != made.column("stream")[::-1]:
        miss(f"""the memory is allocated and freed in the stream that take and give_back are given.
            Happened: the streams of the allocations are
            {" and ".join(map(str, made.column("stream")))}, those of the frees
            {" and ".join(map(str, freed.column("stream"))) or "none"}.""")
    expect_ordered(run)
    calls = run.journal.before(freed[-1])
    waits = calls.waits or calls.certain
    if waits:
        miss(f"""with pools, the host does not wait before the free, because the stream orders it.
            Happened: the host waited in {waits[0]["call"]}; {history(run)}""")


def test_output(check):
    check.after()
    check.expect_right(check.run())
    check.expect_read("last element")
    for memory_of, name, value in (
        ("cudaMalloc", "SIM_DRIVER_VERSION", 11010),
        ("cudaMalloc", "SIM_POOLS", "off"),
        ("cudaMallocAsync", "SIM_HANDLE_TYPES", 0),
    ):
        run = check.run(check.draw("size", 9, 15), **{name: value})
        check.expect_clean(run)
        line = f"last element  42, in memory of {memory_of}"
        if line not in run.lines:
            miss(f"the last line: {line}. Happened: it printed: {run.output}")
