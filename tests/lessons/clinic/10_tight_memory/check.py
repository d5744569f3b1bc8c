"""Clinic, case 10: the third stream gets the memory that two others freed."""

from check import MIB, Journal, expect_streams, met_by_starter, miss


def whole(journal):
    """The tries to allocate all that the pool may hold."""
    return journal.calls("cudaMallocAsync", "cudaMallocFromPoolAsync").where(bytes=128 * MIB)


def gets_all(run):
    return any(x["result"] == "cudaSuccess" for x in whole(run.journal))


def waited_for(journal):
    """The streams whose events the third stream waits for before its first try."""
    first = whole(journal).first
    found = set()
    for wait in journal.ok("cudaStreamWaitEvent").where(stream=first["stream"]).before(first):
        records = journal.calls("cudaEventRecord").where(event=wait["event"]).before(wait)
        found |= {x["stream"] for x in records[-1:]}
    return found


def why_refused(journal):
    tries = whole(journal)
    if not tries:
        asked = journal.calls("cudaMallocAsync", "cudaMallocFromPoolAsync").column("bytes")
        return f"""the largest allocation that was requested has {max(asked, default=0) // MIB} MiB.
            The third stream needs all of it in one range: parts of it are no repair."""
    if len(waited_for(journal)) > 1:
        why = """Events do not help: the halves were freed in two streams, so they stay two ranges
            of 64 MiB, and an allocation takes one range. They become one when the host has
            synchronized, or when one stream frees both."""
    else:
        why = """Both halves are freed, and neither is free for another stream yet: after which call
            of the host are they?"""
    times = "the one try" if len(tries) == 1 else f"each of the {len(tries)} tries"
    return f"{times} returned cudaErrorMemoryAllocation. {why}"


def test_gets_all(case):
    for run in case.each():
        if not gets_all(run):
            miss(f"""an allocation of 128 MiB succeeds, at the first try or at a second one.
                Happened: {why_refused(run.journal)}""")


@met_by_starter
def test_tight(case):
    most = max((x.get("reserved", 0) for x in case.run().journal), default=0)
    if most != 128 * MIB:
        miss(f"""memory stays tight: the pool reserves 128 MiB and no more.
            Happened: the pool reserved up to {most // MIB} MiB.""")
    made = case.run().journal.ok("cudaMalloc", "cudaMallocAsync", "cudaMallocFromPoolAsync")
    elsewhere = made.that(lambda x: not x.get("pool"))
    if elsewhere:
        miss(f"""memory stays tight: all of it comes from the program's pool, which may hold 128
            MiB.
            Happened: {elsewhere[0]["call"]} gave memory that is not of this pool.""")

    too_much = "allocate returns NULL if a wait does not help, either: the pool never has 256 MiB."
    asked, _ = case.asked(too_much)
    if asked and asked.answer("256 MiB") == "memory":
        miss(f"""{too_much}
            Happened: it returned memory.""")


@met_by_starter
def test_not_undone(case):
    expect_streams(case.run().journal, 2 + gets_all(case.run()))


@met_by_starter
def test_waits(case):
    journal = case.run().journal
    first = whole(journal).first or case.after(test_gets_all)
    early = Journal(x for x in journal.before(first) if x.get("acquired"))
    if early:
        miss(f"""the host waits only where the program would have ended: before the second try. If
            the first try succeeds, the repair costs nothing.
            Happened: the host waited in {early[0]["call"]} before the first try, whether or not
            there was memory.""")


def test_last_error(case):
    case.after(test_gets_all)
    asked, _ = case.asked()
    left = asked and asked.answer("the last error")
    if asked and left != "cudaSuccess":
        miss(f"""an error that was handled is no longer the last error: the code that handles it
            calls cudaGetLastError once. Otherwise the next check after a launch finds it, and takes
            it for an error of that launch.
            Happened: when the pool is destroyed, cudaGetLastError returns {left}.""")
