"""Lesson 16: a pool crosses to another process as a file descriptor, in a message that the student
writes. Each of the student's functions is judged next to a process of the check's own (ask.h), so
that one mistake does not hide another."""

import errno
import os
import re

from check import (
    SUCCESS,
    expect_narrow_wait,
    hazard_words,
    line_of,
    met_by_starter,
    miss,
    visible,
)

REFUSED = [
    *("cudaMallocFromPoolAsync", "cudaDeviceSetMemPool", "cudaMemPoolExportToShareableHandle"),
    *("cudaMemPoolTrimTo", "cudaMemPoolGetAttribute", "cudaMemPoolSetAttribute"),
]
BY_DESCRIPTOR = 1


def ask(check, sentence, *arguments, both=True, **environment):
    """A run of both processes. Why one ended early is in its journals and words."""
    return check.ask(sentence, *arguments, both=both, early=True, **environment)


def import_data(check, **environment):
    """The student's importer, its journal, and the number that fills the data of the check's
    exporter."""
    value = check.draw("value", 10, 1000000)
    uses = "importer imports the pool and the data, and uses both."
    run = ask(check, uses, "import", value, **environment)
    return run, run.journal.where(of="importer"), value


def test_created(check):
    run = ask(check, "create_pool returns a pool.", "pool")
    skipped = run.line("skipped:")
    if skipped == "nothing":
        run.expect_return()
    got = run.answer("export")
    if got == "cudaErrorNotPermitted":
        miss(f"""handleTypes names one handle type. A pool for both file descriptors and fabric
            handles can be created, but on a machine without a fabric it cannot be exported as
            either of them (lesson 15).
            Happened: cudaMemPoolExportToShareableHandle returned {got}.""")
    if got != "cudaSuccess":
        created = f"""handleTypes was {run.answer("handleTypes")} where the pool was created (0:
            none; {BY_DESCRIPTOR}: a descriptor), and cudaMemPoolExportToShareableHandle returned
            {got}"""
        miss(f"""the pool can be exported as a file descriptor: the field handleTypes of
            cudaMemPoolProps names that handle type at creation. It cannot be added later (YOUR
            WORK, 1 of 4).
            Happened: {created if skipped == "nothing" else visible(skipped)}.""")


REFUSED_SEND = {
    errno.EBADF: """the int after the header of the control message is the parcel's descriptor
        itself, which is open here.""",
    errno.EINVAL: """the control message is one that the operating system knows: cmsg_level
        SOL_SOCKET, cmsg_type SCM_RIGHTS, cmsg_len CMSG_LEN(sizeof(int)).""",
}
CLOSED = """the descriptor is open when it is sent. Close it after that: a descriptor that is on its
    way stays open."""


def control(run):
    """What the control message of the first message was."""
    if "control" not in run.answers:
        return "The message had no control message."
    return f"The control message had {run.answer('control')}."


def expect_whole(missing):
    if missing != "0":
        miss(f"""the message has all bytes of the parcel: iov_len is sizeof *parcel, and sizeof
            parcel is the size of a pointer.
            Happened: {missing} bytes of the parcel did not come.""")


def expect_sent(run):
    """A message that the operating system refused, and why; or that nobody sent."""
    if run.early and run.answer("not sent").isdecimal():
        expect_whole(run.answer("not sent"))
    code = int(run.answer("sendmsg")) if "sendmsg" in run.answers else 0
    if not code and run.answer("messages") != "0":
        return
    expected = REFUSED_SEND.get(code, "send_parcel sends the parcel to the socket `other`.")
    if code == errno.EBADF and run.answer("open") == "0":
        expected = CLOSED
    reason = f"""sendmsg failed, {errno.errorcode[code]}: {os.strerror(code)}. perror prints that.
        {control(run)[:-1]}"""
    miss(f"""{expected}
        Happened: {reason if code else "called by the check, send_parcel sent nothing"}.""")


def test_sent(check):
    count = check.draw("count", 1000, 1000000)
    sends = (
        "send_parcel sends the parcel that it is given, and the open file behind its descriptor."
    )
    run = ask(check, sends, "send", count, both=False)
    expect_sent(run)
    run.expect_return()
    number = run.answer("descriptors")
    if number == "0":
        miss(f"""the message with the parcel carries the descriptor itself, as a control message:
            cmsg_level SOL_SOCKET, cmsg_type SCM_RIGHTS, the int after its header, and msg_control
            and msg_controllen of the message name it (YOUR WORK, 2 of 4). The number alone means
            nothing: each process has a table of open files of its own.
            Happened: a number came, and no descriptor. {control(run)}""")
    more = run.answer("bytes more than the parcel")
    if more.startswith("-"):
        expect_whole(more[1:])
    if more != "0":
        miss(f"""the descriptor and the parcel in one message, the first one: the importer waits for
            no other.
            Happened: messages: {run.answer("messages")}, with more bytes than the parcel has:
            {more}.""")
    if number != "1":
        miss(f"""one descriptor arrives. cmsg_len is CMSG_LEN(sizeof(int)), which counts the header
            and one int. CMSG_SPACE counts the padding after it, too, and the zero there is a
            second descriptor: number 0 is this process's stdin.
            Happened: {number} descriptors came.""")
    kind = (run.journal.calls("cudaMemPoolImportFromShareableHandle").first or {}).get("descriptor")
    if kind != "a pool":
        miss(f"""the descriptor that is sent is the one of the parcel, which
            cudaMemPoolExportToShareableHandle returned.
            Happened: the import was by {kind or "no descriptor"}. {control(run)}""")
    if wrong := run.wrong({"count": count}):
        part = "the first message had only a part of it."
        miss(f"the parcel arrives whole. Happened: {wrong if 'count' in run.answers else part}")
    if run.answer("left open") == "1":
        miss("""the exporter closes its descriptor after sending it: the exporter has no use for it
            any more, and a process may have only so many open files.
            Happened: send_parcel left its descriptor open.""")
    if (again := run.answer("closed in vain")) != "0":
        miss(f"""a descriptor is closed once. A second close fails, or closes what another thread
            has opened since, which may have the same number.
            Happened: calls of close in send_parcel that failed: {again}.""")
    if "InitializationError" in (failed := check.run().failed):
        miss(f"""the second process is made before the first CUDA call. After one, no CUDA call
            works in a child; an inherited descriptor does not help. Happened: {failed}.""")


@met_by_starter
def test_imported(check):
    run, journal, _ = import_data(check, SIM_DEVICES=1)
    imports = journal.calls("cudaMemPoolImportFromShareableHandle")
    if re.search(r"ImportFromShareableHandle\([^,]+, *(\(void ?\*\) ?)?&", run.failed):
        miss(f"""the import gets the descriptor itself, converted to void *, and not the address of
            the int that holds it. (The export does take an address.) Happened: {run.failed}.""")
    if waited := re.search("second process: the first one has .*", run.errors):
        check.after(test_sent)  # the importer waits for what send_parcel sends
        miss(f"""the importer waits for one message, the parcel.
            Happened: called by the check, it wrote: {waited[0]}""")
    first = imports.first or {"result": "nothing: there was none"}
    if first.get("descriptor") == "closed":
        miss("""the importer keeps the descriptor open until the import is done. The pool does not
            need it after that.
            Happened: the first import was by a closed descriptor.""")
    if first.get("result") != "cudaSuccess":
        miss(f"""the importer imports the pool.
            Happened: the first import returned {first["result"]}.""")
    data = journal.ok("cudaMemPoolImportPointer")
    if len(data) != 1:
        miss(f"""the importer imports one allocation of the imported pool
            (cudaMemPoolImportPointer).
            Happened: it imported {len(data)}.""")


def test_access(check):
    check.after(test_imported)
    exporter = check.run_both(early=True).journal.where(of="exporter")
    run, journal, value = import_data(check)
    pool = journal.ok("cudaMemPoolImportFromShareableHandle")[0]["pool"]
    data = journal.ok("cudaMemPoolImportPointer")[0]["allocation"]
    grants = journal.that(lambda x: "opened" in x)
    adds = journal.calls("launch_add").where(allocation=data)
    if not adds:
        miss("the importer adds 1 to the data. Happened: no launch of add touched it.")
    streams = journal.ok("cudaStreamCreate", "cudaStreamCreateWithFlags")
    made = streams.where(stream=adds[0].get("stream")).first
    gpu = made and journal.ok("cudaSetDevice").before(made).last
    if not gpu or gpu["device"] != 1:
        miss("""GPU 1 adds: cudaSetDevice makes it current before the stream of the add is created,
            as in the starter.
            Happened: another GPU was current when the stream of launch_add was created.""")
    given = grants.where(pool=pool).that(gives_gpu1).before(adds[0])
    if not given:
        why = ""
        if peers := journal.calls("cudaDeviceEnablePeerAccess").first:
            why = f"""cudaDeviceEnablePeerAccess{line_of(peers)} is for cudaMalloc memory, and opens
                no pool (lesson 14)."""
        elif other := exporter.that(gives_gpu1):
            why = f"The exporter gave it{line_of(other[0])}."
        miss(f"""the importer gives GPU 1 access to the imported pool (cudaMemPoolSetAccess), before
            GPU 1 adds. Access that the exporter gives does not cross to another process (YOUR WORK,
            3 of 4).
            Happened: calls that gave access in the importer: {len(grants)}, of these to the
            imported pool before the add: 0. {why}""")
    if refused := refused_access(import_data(check, SIM_DEVICES=1)[1]):
        miss(f"""the GPU that gets access is the one that adds: `gpu`. On a machine with one GPU
            that is GPU 0, which has access without a call.
            Happened: on a machine with one GPU, cudaMemPoolSetAccess{line_of(refused)} returned
            {refused["result"]}.""")
    expect_narrow_wait(
        journal,
        """the importer waits for the stream that adds. Access needs no
        wait: it counts for what is called after it.""",
    )
    wrong = run.wrong({"the data": value + 1})
    if wrong and not run.early:
        miss(f"the importer adds 1 to the data. Here it was {value} before. Happened: {wrong}")


def gives_gpu1(line):
    return 1 in line.get("opened", [])


def refused_access(journal):
    return journal.calls("cudaMemPoolSetAccess").that(lambda x: x.get("result") != SUCCESS).first


def test_own(check):
    check.after(test_imported)
    run, journal, value = import_data(check, SIM_DEVICES=1)
    if refused_access(journal):
        check.after(test_access)
    if run.failed.startswith("cudaMallocFromPoolAsync"):
        miss(f"""the importer's copy is in memory of the importer, such as cudaMallocAsync returns.
            An imported pool allocates nothing: only the process that created it does (YOUR WORK, 4
            of 4). Happened: {run.failed}.""")
    imported = journal.ok("cudaMemPoolImportPointer")[0]
    data, whole = imported["allocation"], imported["bytes"]
    copies = journal.copies.where(kind="DeviceToDevice", source_allocation=data)
    free = journal.frees.where(allocation=data).first
    copied = sum(copies.part(None, free).column("bytes"))
    if not free or copied < whole:
        ended = " It did not free its import." * (not free)
        elsewhere = journal.copies.where(kind="DeviceToHost", allocation=data, bytes=whole)
        if elsewhere:
            ended = f""" {elsewhere[0]["call"]}{line_of(elsewhere[0])} copied them to the host's
                memory, and not on the device."""
        miss(f"""the importer copies the data, all of it, into memory of its own before it frees its
            import.
            Happened: copies of the data: {len(copies)}, of {copied} bytes in all. The data has
            {whole}.{ended}""")
    if "another process" in (early := hazard_words(run.errors)):
        miss(f"""the importer's one byte says that it has used its import and freed it: it is sent
            after that.
            Happened: when it had come, the check's exporter went on, and there was a hazard:
            {early}""")
    run.expect_return()
    line = run.line("its own copy")
    if not re.search(rf"\b{value + 1}$", line):
        miss(f"""the importer prints the last int of its own copy. Here that is {value + 1}.
            Happened: it printed: {visible(line)}.""")


def test_refused(check):
    check.after(test_imported, test_own)
    run, journal, _ = import_data(check, SIM_DEVICES=1)
    run.expect_return()
    refused = journal.where(result="cudaErrorInvalidValue").calls(*REFUSED)
    if refused.column("call") != REFUSED:
        miss(f"""the importer tries six calls on its pool, and each is refused: the starter has them
            after the copy.
            Happened: these were refused: {", ".join(refused.column("call")) or "none"}.""")


def test_left(check):
    check.after(test_imported, test_own)
    run, journal, _ = import_data(check, SIM_DEVICES=1)
    run.expect_return()
    data = journal.ok("cudaMemPoolImportPointer")[0]["allocation"]
    frees = journal.frees.where(allocation=data)
    if len(frees) != 1:
        miss(f"the importer frees its import, once. Happened: frees of the import: {len(frees)}.")
    if run.answer("left open") == "1":
        miss("""the importer closes the descriptor that came when it has imported the pool, which
            no longer needs it.
            Happened: the descriptor was open at the end of importer.""")
    if (more := run.answer("bytes after the last message")) != "0":
        miss(f"the importer sends one byte, and nothing after it. Happened: it sent {more} more.")


def test_owner(check):
    check.after(test_created, test_sent)
    run = ask(check, "exporter sends, and waits.", "export", 0)
    if not run.early or "exporter  the data is" in run.output:
        miss("""the exporter goes on when the importer's message has come, and not before: a sleep
            is no message. Here the importer ended without it.
            Happened: it went on without the message.""")
    value = check.draw("add", 2, 1000000)
    run = ask(check, "exporter sends, waits, and reads the data.", "export", value)
    run.expect_return()
    journal = run.journal.where(of="exporter")
    line = run.line("the data is")
    if not re.search(rf"\b{7 + value}\b", line):
        miss(f"""the exporter prints what the data is when the importer is done. Here the importer
            added {value}, so it is {7 + value}.
            Happened: it printed: {visible(line)}.""")
    frees, trims = journal.ok("cudaFreeAsync"), journal.ok("cudaMemPoolTrimTo")
    if len(frees) != 1 or not trims.after(frees[0]) or trims[0]["reserved"] != 0:
        miss(f"""the exporter frees its allocation and trims its pool after that, and the pool then
            reserves nothing.
            Happened: frees: {len(frees)}, bytes reserved after each trim:
            {", ".join(str(x["reserved"]) for x in trims) or "no trim"}.""")


def test_output(check):
    check.after()
    check.expect_right(check.run_both())
    check.expect_right(check.run_both(check.draw("one segment", 1, 9)), "24")
    check.expect_read("is #", "then #", "reserved #", "TrimTo #", arguments=[1])


def test_skipped(check):
    check.after(test_created)
    check.expect_skipped()
