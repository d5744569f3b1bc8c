"""Lesson 02: the default pool grows in whole segments, whose size is measured."""

import re

from check import MIB, expect

CHANGES = ("cudaMemPoolSetAttribute", "cudaDeviceSetMemPool", "cudaMemPoolCreate")


def allocations(journal):
    return journal.ok("cudaMallocAsync", "cudaMallocFromPoolAsync")


def own(journal):
    """The four allocations of the program: those of measure_segment are smaller than a MiB."""
    return [x for x in allocations(journal) if x["bytes"] >= MIB]


def begin(journal):
    """The number of the line with which the four allocations begin."""
    return min((x["n"] for x in own(journal)), default=1 << 60)


def measurement(journal):
    """(the allocation of measure_segment, its free or None); None for both without one."""
    byte = next((x for x in allocations(journal) if x["n"] < begin(journal)), None)
    frees = journal.ok("cudaFreeAsync", "cudaFree")
    return byte, byte and frees.where(allocation=byte["allocation"]).first


def reserved(journal):
    """Where the program reads what the default pool reserves, or reserved at most."""
    reads = journal.ok("cudaMemPoolGetAttribute").where(pool=0)
    return [x for x in reads if x["attribute"].startswith("cudaMemPoolAttrReservedMem")]


def drawn(check):
    """(segment, used, many): sizes of any device, and how many segments the edges are about."""
    for segment, least, most in (("small", 3, 70), ("large", 500, 1024)):
        size = check.draw(segment, least, most)
        yield size, check.draw(f"used {segment}", most, 90000), check.draw(f"many {segment}", 3, 60)


def ask(check):
    """What the student's functions return, on a device with another segment."""
    other = check.draw("other", 33, 900)
    numbers = [number for numbers in drawn(check) for number in numbers]
    return other, check.ask(
        """measure_segment and predict_reserved take what they took at the start, and return a size
        in MiB.""",
        *numbers,
        hazards=True,
        SIM_SEGMENT=other,
    )


def test_byte(check):
    "the segment is measured: 1 byte is allocated, and reserved is read while it is"
    journal = check.run().journal
    byte, free = measurement(journal)
    first = allocations(journal).first or {"bytes": 0, "pool": 0}
    expect(
        byte and byte["pool"] == 0,
        """measure_segment allocates 1 byte from the default pool before the program allocates
        anything else.""",
        f"""the first allocation was of {first["bytes"]} bytes, from
        {"the default" if first["pool"] == 0 else "another"} pool.""",
    )
    until = min(free["n"] if free else 1 << 60, begin(journal))
    reads = [x for x in reserved(journal) if byte["n"] < x["n"] < until]
    early = [x for x in reserved(journal) if x["n"] < byte["n"]]
    expect(
        reads,
        """measure_segment reads what the pool reserves while its byte is allocated. At that time
        the pool consists of one segment.""",
        f"""what the pool reserves was read
        {"before the byte was allocated, and " if early else ""}not between its allocation and its
        free.""",
    )


def test_measured(check):
    "measure_segment returns what it has measured, on any device"
    check.after(test_byte)
    other, answers = ask(check)
    check.expect_answers(
        f"""measure_segment returns what it has measured: what the pool reserves for 1 byte. On a
        device with segments of {other} MiB (SIM_SEGMENT={other}) that is {other}, also in a pool
        that reserved more before.""",
        answers,
        {"measure_segment(pool, stream)": other},
    )


def test_empty(check):
    "the pool is empty again before the program allocates anything else"
    check.after(test_byte)
    run = check.run()
    journal = run.journal
    _, free = measurement(journal)
    expect(
        free and free["n"] < begin(journal),
        "measure_segment frees its byte before the program allocates anything else.",
        "the byte was still allocated then.",
    )
    unordered = journal.where(did="hazard", allocation=free["allocation"])
    expect(
        not unordered,
        """the byte is freed in the order of its stream, with cudaFreeAsync. The host has not waited
        for its allocation, so cudaFree might come before that.""",
        f"{free['call']} freed it, and nothing orders that after the allocation.",
        run,
    )
    before = [x["value"] // MIB for x in reserved(journal) if x["n"] < begin(journal)]
    expect(
        before[-1] == 0,
        """the pool is empty again before the program allocates anything else: the pool returns its
        segment when the stream that freed the byte is synchronized.""",
        f"the pool still reserved {before[-1]} MiB.",
    )


def test_rule(check):
    "predict_reserved holds for other segments and sizes"
    _, answers = ask(check)
    check.expect_answers(
        """predict_reserved(segment, used) is the rule for any segment and any size, in MiB: as many
        whole segments as the allocations need, and no more. It makes no CUDA call.""",
        answers,
        {
            f"predict_reserved({segment}, {size})": -(-size // segment) * segment
            for segment, used, many in drawn(check)
            for size in (
                used,
                1,
                segment,
                many * segment - 1,
                many * segment,
                many * segment + 1,
                0,
            )
        },
    )


def test_allocations(check):
    "four allocations of the given size come from the default pool, which is not changed"
    journal = check.run().journal
    found = [(x["call"], x["pool"], x["bytes"]) for x in own(journal)]
    expect(
        found == [("cudaMallocAsync", 0, 20 * MIB)] * 4,
        """four cudaMallocAsync of 20 MiB each, from the default pool of device 0. The program had
        them at the start.""",
        f"the allocations were of {', '.join(str(x[2] // MIB) for x in found)} MiB.",
    )
    changes = [*journal.ok(*CHANGES)]
    changes += [x for x in journal.ok("cudaMemPoolTrimTo") if x["n"] > begin(journal)]
    expect(
        not changes,
        """the program changes nothing about the default pool: only measure_segment and
        predict_reserved are yours to write.""",
        f"it called {', '.join(sorted({x['call'] for x in changes}))}.",
    )


def predictions_hold(run, mib):
    """Every line that the program printed with a prediction: is it what the journal has?"""
    measured = [x["reserved"] // MIB for x in own(run.journal)]
    lines = [
        re.match(r"allocation.*used +(\d+) MiB.*predicted +(\d+) MiB", line)
        for line in run.output.splitlines()
    ]
    printed = [(int(line[1]), int(line[2])) for line in lines if line]
    sentence = f"""the predictions hold for allocations of {mib} MiB, which follow each other
        without gaps."""
    expect(
        len(printed) == len(measured) == 4,
        sentence,
        "the output does not have one prediction for each allocation.",
        run,
    )
    for (used, predicted), right in zip(printed, measured):
        expect(
            predicted == right,
            sentence,
            f"with {used} MiB used you predicted {predicted} MiB, the pool reserved {right} MiB.",
            run,
        )


def test_predictions(check):
    "the predictions hold for allocations of 20 MiB, of a whole segment, and of other sizes"
    check.after(test_byte, test_rule, test_allocations)
    for mib in (20, 32, 33, check.draw("mib", 34, 400)):
        predictions_hold(check.run(mib), mib)


def test_output(check):
    "it prints what a real device prints, for 20, 32 and 33 MiB"
    check.after_the_rest()
    check.expect_right(check.run())
    check.expect_right(check.run(32), "32")
    check.expect_right(check.run(33), "33")
