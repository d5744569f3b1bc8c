"""Lesson 02: the default pool grows in whole segments, whose size is measured."""

import re

from check import MIB, Journal, met_by_starter, miss, rounded_up

TAKE = """measure_segment and predict_reserved take what they took at the start, and return a size
    in MiB."""
PREDICTION = r"allocation.*used +(\d+) MiB.*predicted +(\d+) MiB"
CHANGES = ("cudaMemPoolSetAttribute", "cudaDeviceSetMemPool", "cudaMemPoolCreate")


def own(journal):
    """The four allocations of the program: those of measure_segment are smaller than a MiB."""
    return journal.allocations.that(lambda x: x["bytes"] >= MIB)


def measurement(journal):
    """(the allocation of measure_segment, its free before the four, each or None)"""
    before = journal.part(None, own(journal).first)
    byte = before.allocations.first
    return byte, before.frees.of(byte).first


def measuring(check):
    """A run of measure_segment: the lesson's own, of a program that asks without end as far as it
    came; of one that died, the call of the check."""
    run = check.run(early=True)
    if run.failed:
        check.expect_wide_values()
    if run.early and run.ended != "flood":
        check.last = run = ask(check)[1]
        return run.journal.after(run.journal.frees.first)
    if not run.journal.allocations:
        run.expect_return()  # it asks without end before it measures
    return run.journal


def reserved(journal):
    """Where the program reads what the default pool reserves, or reserved at most."""
    reads = journal.ok("cudaMemPoolGetAttribute").where(pool=0)
    return reads.that(lambda x: x["attribute"].startswith("cudaMemPoolAttrReservedMem"))


def drawn(check):
    """(segment, used): segments of any device, and sizes of which some are on the edges of one."""
    for name, least, most in (("small", 3, 70), ("large", 1001, 1024)):
        segment = check.draw(name, least, most)
        used = check.draw(f"used {name}", 1 << 16, 90000)
        edge = check.draw(f"many {name}", 3, 60) * segment
        for size in (used, 1, segment, edge - 1, edge, edge + 1, 0, segment << 16):
            yield segment, size


def ask(check):
    """What the student's functions return, on a device with another segment."""
    other = check.draw("other", 33, 900)
    numbers = [number for pair in drawn(check) for number in pair]
    return other, check.ask(TAKE, *numbers, hazards=True, early=True, SIM_SEGMENT=other)


def test_byte(check):
    journal = measuring(check)
    byte, free = measurement(journal)
    first = journal.allocations.first or {"bytes": 0, "pool": 0}
    if not byte or byte["pool"] != 0:
        miss(f"""measure_segment allocates 1 byte from the default pool before the program allocates
            anything else.
            Happened: the first allocation was of {first["bytes"]} bytes, from
            {"the default" if first["pool"] == 0 else "another"} pool.""")
    meanwhile = journal.after(byte).part(None, free or own(journal).first)
    if not reserved(meanwhile):
        asked = meanwhile.ok("cudaMemPoolGetAttribute", "cudaMemGetInfo")
        asked = ", ".join(x.get("attribute", x["call"]) for x in asked)
        if reserved(journal).before(byte):
            asked = asked or "that only before the byte was allocated"
        elif free:
            asked = asked or "nothing of the pool before the byte was freed"
        miss(f"""measure_segment reads what the pool reserves while its byte is allocated. At that
            time the pool consists of one segment.
            Happened: it read {asked or "nothing of the pool"}.""")


def test_measured(check):
    check.after(test_byte)
    other, answers = ask(check)
    if check.run(early=True).early:
        check.after(test_empty)  # it ended there
    answers.expect_return()
    if wrong := answers.wrong({"measure_segment(pool, stream)": other}):
        miss(f"""measure_segment returns what it has measured: what the pool reserves for 1 byte. On
            a device with segments of {other} MiB (SIM_SEGMENT={other}) that is {other}, even in a
            pool that reserved more before.
            Happened: {wrong}""")


def test_empty(check):
    journal = measuring(check)
    byte, free = measurement(journal)
    if not byte or byte["pool"] != 0:
        check.after(test_byte)
    if not free:
        miss("""measure_segment frees its byte before the program allocates anything else.
            Happened: the byte was still allocated then.""")
    if journal.hazards.of(free):
        miss(f"""the byte is freed in the order of its stream, with cudaFreeAsync. The host has not
            waited for its allocation, so cudaFree might come before that.
            Happened: {free["call"]} freed it, and nothing orders that after the allocation.""")
    behind = journal.part(free, own(journal).first)
    if not behind.where(did="release", pool=0):
        asked = behind.ok("cudaMemPoolGetAttribute")
        endless = (
            f", and the program asked {len(asked)} times, without end" if check.last.early else ""
        )
        left = [x["reserved"] for x in journal.part(None, own(journal).first) if "reserved" in x]
        miss(f"""the pool is empty again before the program allocates anything else: the pool
            returns its segment when the stream that freed the byte is synchronized.
            Happened: the pool still reserved {left[-1] // MIB} MiB{endless}.""")


def test_rule(check):
    _, answers = ask(check)
    for segment, size in drawn(check):
        right = {f"predict_reserved({segment}, {size})": rounded_up(size, segment)}
        if wrong := answers.wrong(right, segment):
            miss(f"""predict_reserved(segment, used) is the rule for any segment and any size, in
                MiB: as many whole segments as the allocations need, and no more. It makes no CUDA
                call.
                Happened: {wrong}""")


@met_by_starter
def test_allocations(check):
    run = check.run(early=True)
    if run.early or not own(run.journal):
        check.after(test_byte, test_empty, test_measured, test_rule)
        check.run()
    journal, program = run.journal, own(run.journal)
    if not {test_byte, test_empty} <= check.met:  # they judge what comes before the program's own
        program = program[-4:]
        journal = journal.part(program.first, None)
    found = [(x["call"], x["pool"], x["bytes"]) for x in program]
    if found != [("cudaMallocAsync", 0, 20 * MIB)] * 4:
        miss(f"""four cudaMallocAsync of 20 MiB each, from the default pool of device 0. The program
            had them at the start.
            Happened: the allocations were of {", ".join(str(x[2] // MIB) for x in found) or "0"}
            MiB.""")
    trims = journal.ok("cudaMemPoolTrimTo").after(program.first)
    changes = Journal([*journal.ok(*CHANGES), *trims])
    if changes:
        miss(f"""the program changes nothing about the default pool: only measure_segment and
            predict_reserved are yours to write.
            Happened: it called {changes.names}.""")


def predictions_hold(run, mib):
    """Every line that the program printed with a prediction: is it what the journal has?"""
    measured = [x["reserved"] // MIB for x in own(run.journal)]
    lines = [re.match(PREDICTION, line) for line in run.lines]
    printed = [(int(line[1]), int(line[2])) for line in lines if line]
    sentence = f"""the predictions hold for allocations of {mib} MiB, which follow each other
        without gaps."""
    if not len(printed) == len(measured) == 4:
        miss(f"{sentence} Happened: the output does not have one prediction for each allocation.")
    for (used, predicted), right in zip(printed, measured):
        if predicted != right:
            miss(f"""{sentence}
                Happened: with {used} MiB used you predicted {predicted} MiB, the pool reserved
                {right} MiB.""")


def test_predictions(check):
    check.after()
    for mib in (20, 32, 33, check.draw("mib", 34, 400)):
        predictions_hold(check.run(mib), mib)


def test_output(check):
    check.after()
    check.expect_recorded(32, 33)
    check.expect_read("threshold #", "dependencies #", "opportunistic #", "internal #")
    check.expect_read("segment #", "used #", "reserved #", "predicted #", "measured #", "correct")
