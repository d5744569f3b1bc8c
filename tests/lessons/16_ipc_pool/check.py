"""Lesson 16: a pool crosses to another process as a file descriptor, in a message that the student
writes. Each of the student's functions is judged beside a process of the check's own (ask.h), so
that one mistake does not hide another."""

import re

from check import Miss, Run, expect, visible

REFUSED = (
    "cudaMallocFromPoolAsync",
    "cudaDeviceSetMemPool",
    "cudaMemPoolExportToShareableHandle",
    "cudaMemPoolTrimTo",
    "cudaMemPoolGetAttribute",
    "cudaMemPoolSetAttribute",
)
READ_WRITE = 3


def both(run):
    """The same run with the journals of both processes."""
    return Run(run.folder, run.command, both=True)


def ask(check, sentence, *arguments, **environment):
    """A run, and why it ended early, else None: the cause is in its journals and words."""
    try:
        return both(check.ask(sentence, *arguments, **environment)), None
    except Miss as why:
        if "called by the check" not in str(why):
            raise
        return both(check.last), why


def stop(why):
    if why:
        raise why


def answer(run, question):
    return (run.answers.get(question) or ["nothing"])[0]


def wrote(run, pattern, sentence):
    """What a program wrote on its way, where a sentence of its own helps more than what follows."""
    line = re.search(rf"^.*{pattern}.*$", f"{run.output}\n{run.errors}", re.M)
    if line:
        raise Miss(
            f"Expected: {' '.join(sentence.split())}",
            f"Happened: the program ended: {line[0][:200]}",
            run=run,
        )


def grants(run, of):
    return run.journal.where(of=of, value=READ_WRITE).ok("cudaMemPoolSetAccess")


def import_data(check, **environment):
    """The student's importer; the number that fills the data of the check's exporter."""
    value = check.draw("value", 10, 1000000)
    run, why = ask(
        check,
        "importer imports the pool and the data, and uses both.",
        "import",
        value,
        **environment,
    )
    return run, why, value, run.journal.where(of="importer")


# ---- the rules ----


def test_created(check):
    "the pool is created for a file descriptor"
    run, why = ask(check, "create_pool returns a pool.", "pool")
    stop(why)
    got = answer(run, "export")
    expect(
        got != "cudaErrorNotPermitted",
        """handleTypes names one handle type. A pool for file
        descriptors and fabric handles is created, and on a machine that is part of no fabric it can
        be exported as neither: its creation proves nothing (lesson 15).""",
        f"cudaMemPoolExportToShareableHandle returned {got}.",
        run,
    )
    expect(
        got == "cudaSuccess",
        """the pool can be exported: the field handleTypes of
        cudaMemPoolProps names the handle type at creation. Later it cannot be added (YOUR WORK, 1
        of 4).""",
        f"cudaMemPoolExportToShareableHandle returned {got}.",
        run,
    )


def explain_message(run):
    """What a message that did not cross wrote on its way."""
    wrote(
        run,
        "sent another message",
        """the descriptor and the parcel in one message, the first
        one: the importer waits for no other.""",
    )
    wrote(
        run,
        "sendmsg: Bad file descriptor",
        """the descriptor is open when it is sent. Close it
        after that: a descriptor that is on its way stays open.""",
    )
    wrote(
        run,
        "sendmsg: ",
        """the control message is one that the operating system knows:
        cmsg_level SOL_SOCKET, cmsg_type SCM_RIGHTS, cmsg_len CMSG_LEN(sizeof(int)).""",
    )


def test_sent(check):
    "the descriptor arrives as a descriptor, in one message with the parcel"
    wrote(
        check.run(),
        "cudaErrorInitializationError",
        """the second process is made before the
        first CUDA call. After one, no CUDA call works in a child; an inherited descriptor does not
        help.""",
    )
    count = check.draw("count", 1000, 1000000)
    run, why = ask(
        check,
        """send_parcel sends the parcel that it is given, and the open file behind
        its descriptor.""",
        "send",
        count,
    )
    explain_message(run)
    stop(why)
    expect(
        answer(run, "a descriptor came") == "1",
        """the message with the parcel carries the
        descriptor itself, as a control message: cmsg_level SOL_SOCKET, cmsg_type SCM_RIGHTS, the
        int behind its header, and msg_control and msg_controllen of the message name it (YOUR
        WORK, 2 of 4). The number alone means nothing: each process has
        a table of open files of its own.""",
        "a number came, and no descriptor.",
        run,
    )
    kind = (run.journal.calls("cudaMemPoolImportFromShareableHandle").first or {}).get("descriptor")
    expect(
        kind == "a pool",
        """the descriptor that is sent is the one of the parcel, which
        cudaMemPoolExportToShareableHandle returned.""",
        f"the import was by {kind or 'no descriptor'}.",
        run,
    )
    check.expect_answers("the parcel arrives whole.", run, {"count": count})
    expect(
        answer(run, "closed here") == "1",
        """the exporter closes its descriptor when it is sent:
        a process may have only so many open files, and has no use for this one any more.""",
        "it was still open after send_parcel.",
        run,
    )


def test_imported(check):
    "the importer imports the pool by the descriptor that came"
    run, _, _, journal = import_data(check, SIM_DEVICES=1)
    imports = journal.calls("cudaMemPoolImportFromShareableHandle")
    wrote(
        run,
        r"ImportFromShareableHandle\([^,]+, *(\(void ?\*\) ?)?&[^,]+, .*cudaError",
        """the
        import gets the descriptor itself, converted to void *, and not the address of the int that
        holds it. (The export does take an address.)""",
    )
    first = imports.first or {"result": "nothing: there was none"}
    expect(
        first.get("descriptor") != "closed",
        """the importer keeps the descriptor open until the
        import is done. The pool does not need it after that.""",
        "the first import was by a closed descriptor.",
        run,
    )
    expect(
        first.get("result") == "cudaSuccess",
        "the importer imports the pool.",
        f"the first import returned {first['result']}.",
        run,
    )
    data = journal.ok("cudaMemPoolImportPointer")
    expect(
        len(data) == 1,
        """the importer imports one allocation of the imported pool
        (cudaMemPoolImportPointer).""",
        f"it imported {len(data)}.",
        run,
    )


def test_access(check):
    "GPU 1 has access in the importer"
    check.after(test_imported)
    run, why, value, journal = import_data(check)
    pool = journal.ok("cudaMemPoolImportFromShareableHandle")[0]["pool"]
    data = journal.ok("cudaMemPoolImportPointer")[0]["allocation"]
    given = grants(run, "importer").where(device=1, pool=pool)
    adds = journal.calls("launch_add").where(allocation=data)
    expect(adds, "the importer adds 1 to the data.", "no launch of add touched the data.", run)
    made = journal.ok("cudaStreamCreate", "cudaStreamCreateWithFlags").where(
        stream=adds[0].get("stream")
    )
    gpu = journal.ok("cudaSetDevice").before(made[0]).last if made else None
    expect(
        gpu and gpu["device"] == 1,
        """GPU 1 adds: cudaSetDevice makes it current before the
        stream of the add is created, as in the starter.""",
        "another GPU was current when the stream of launch_add was created.",
        run,
    )
    expect(
        given and given[0]["n"] < adds[0]["n"],
        """the importer gives GPU 1 access to the
        imported pool (cudaMemPoolSetAccess), before GPU 1 adds. Access that the exporter gives does
        not cross to another process (YOUR WORK, 3 of 4).""",
        f"""{"the program died of an illegal address; " * ("IllegalAddress" in run.errors)}calls
           that gave access in the importer: {len(grants(run, "importer"))}, before the add:
           {len([x for x in given if x["n"] < adds[0]["n"]])}.""",
        run,
    )
    if not why:
        check.expect_answers(
            f"""the importer adds 1 to the data. Here it was {value} before.""",
            run,
            {"the data": value + 1},
        )


def test_own(check):
    "the importer's copy is in memory of its own"
    check.after(test_imported)
    run, why, value, journal = import_data(check, SIM_DEVICES=1)
    wrote(
        run,
        r":\d+: .*cudaMallocFromPoolAsync\(.*cudaError",
        """the importer's copy is in memory of the
        importer, such as cudaMallocAsync returns. An imported pool allocates nothing: only the
        process that created it does (YOUR WORK, 4 of 4).""",
    )
    data = journal.ok("cudaMemPoolImportPointer")[0]["allocation"]
    copies = journal.where(kind="DeviceToDevice", source_allocation=data).ok(
        "cudaMemcpyAsync", "cudaMemcpy"
    )
    frees = journal.ok("cudaFreeAsync", "cudaFree")
    expect(
        copies and copies[0]["n"] < (frees.where(allocation=data).first or {"n": 0})["n"],
        "the importer copies the data into memory of its own before it frees its import.",
        f"copies of the data: {len(copies)}.",
        run,
    )
    stop(why)
    line = next((x for x in run.output.splitlines() if "its own copy" in x), "nothing")
    expect(
        re.search(rf"\b{value + 1}$", line),
        f"""the importer prints the last int of its own
        copy. Here that is {value + 1}.""",
        f"it printed: {visible(line)}.",
        run,
    )


def test_refused(check):
    "the importer tries what an imported pool cannot do, and frees its import"
    check.after(test_imported, test_own)
    run, why, _, journal = import_data(check, SIM_DEVICES=1)
    stop(why)
    refused = journal.where(result="cudaErrorInvalidValue").calls(*REFUSED)
    expect(
        [x["call"] for x in refused] == list(REFUSED),
        """the importer tries six calls on its
        pool, and each is refused: the starter has them behind the copy.""",
        f"refused were: {', '.join(x['call'] for x in refused) or 'none'}.",
        run,
    )
    data = journal.ok("cudaMemPoolImportPointer")[0]["allocation"]
    frees = journal.ok("cudaFreeAsync", "cudaFree").where(allocation=data)
    expect(
        len(frees) == 1,
        "the importer frees its import, once.",
        f"frees of the import: {len(frees)}.",
        run,
    )


def test_owner(check):
    "the exporter waits for the importer's message, then frees and trims"
    check.after(test_created, test_sent)
    run, why = ask(check, "exporter sends, and waits.", "export", 0)
    expect(
        why and "exporter  the data is" not in run.output,
        """the exporter goes on when the
        importer's message has come, and not before: a sleep is no message. Here the importer ended
        without it.""",
        "it went on without the message.",
        run,
    )
    value = check.draw("add", 2, 1000000)
    run, why = ask(check, "exporter sends, waits, and reads the data.", "export", value)
    stop(why)
    journal = run.journal.where(of="exporter")
    line = next((x for x in run.output.splitlines() if "the data is" in x), "nothing")
    expect(
        re.search(rf"\b{7 + value}\b", line),
        f"""the exporter prints what the data is when the
        importer is done. Here the importer added {value}, so it is {7 + value}.""",
        f"it printed: {visible(line)}.",
        run,
    )
    frees, trims = journal.ok("cudaFreeAsync"), journal.ok("cudaMemPoolTrimTo")
    expect(
        len(frees) == 1 and trims and trims[0]["n"] > frees[0]["n"] and trims[0]["reserved"] == 0,
        """the exporter frees its allocation and trims its pool
        after that, and the pool then reserves nothing.""",
        f"frees: {len(frees)}, bytes reserved after each trim: "
        f"{', '.join(str(x['reserved']) for x in trims) or 'no trim'}.",
        run,
    )


def test_output(check):
    "it prints what a real device prints, also for a size that takes one segment"
    check.after_the_rest()
    check.expect_right(check.run_both())
    check.expect_right(check.run_both(check.draw("one segment", 1, 9)), "24")


def test_skipped(check):
    "where no pool can be shared (SIM_HANDLE_TYPES=0) it prints why, and ends with status 77"
    check.after(test_created)
    check.expect_skipped()
