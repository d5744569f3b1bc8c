"""Lesson 12: a wait that the driver inserts, or an error to act on."""

from check import MIB, expect

INTERNAL = "cudaMemPoolReuseAllowInternalDependencies"
CALLED = """take(memory, bytes, pool, spare), shared_pool(mib), pool_limited and the streams slow
    and fast are as they were at the start, and take returns in every situation."""
MEMORY = {
    "new": "new memory",
    "internal": "the memory of the slow stream, and the fast one waits for it",
    "synchronized": "memory that the host had synchronized",
    "opportunistic": "memory that the device had finished with",
    "event": "memory that an event had ordered",
}


def words(call):
    """What an allocation returned."""
    if call["result"] != "cudaSuccess":
        return call["result"]
    return MEMORY.get(call.get("from"), "its own memory")


def allocations(journal):
    """All that were requested of a pool, with those that failed."""
    found = journal.calls("cudaMallocFromPoolAsync", "cudaMallocAsync")
    return type(journal)(x for x in found if "result" in x)


def test_pools(check):
    "the first three lines show the inserted wait, the error without it, and growth"
    journal = check.run().journal
    pools = [x["pool"] for x in journal.ok("cudaMemPoolCreate")[1:4]]
    second = [
        made[1]
        for made in (allocations(journal).where(pool=pool) for pool in pools)
        if len(made) > 1
    ]
    expect(
        [(x["result"], x.get("from")) for x in second]
        == [
            ("cudaSuccess", "internal"),
            ("cudaErrorMemoryAllocation", None),
            ("cudaSuccess", "new"),
        ],
        """the first three lines try three pools, as in the starter: with a limit and the policy on
        the allocation gets the memory of the slow stream, with the policy off
        cudaErrorMemoryAllocation, without a limit new memory.""",
        f"the three pools returned {'; '.join(map(words, second))}.",
    )


def shared_pools(check):
    """(pool, its limit in MiB, the limit that was wanted) of those that shared_pool made: main's,
    and one of the check's."""
    journal = check.run().journal
    for made in journal.ok("cudaMemPoolCreate")[5:7]:
        yield journal, made, 64
    mib = 32 * check.draw("limit", 3, 300)
    asked = check.ask(CALLED, 5, mib).journal
    yield asked, asked.ok("cudaMemPoolCreate").last, mib


def test_limit(check):
    "the shared pool keeps its limit"
    for _, made, mib in shared_pools(check):
        size = made["max_size"] if made else None
        expect(
            size == mib * MIB,
            f"the shared pool holds {mib} MiB at most: its limit stays.",
            f"its maxSize was {size} bytes." if made else "it was not made.",
        )


def test_no_wait(check):
    "the shared pool inserts no wait"
    check.after(test_limit)
    for journal, made, _ in shared_pools(check):
        values = [
            x["value"]
            for x in journal.ok("cudaMemPoolSetAttribute").where(
                pool=made["pool"], attribute=INTERNAL
            )
        ]
        expect(
            values[-1:] == [0],
            """the shared pool inserts no wait: with internal dependencies on
            it gives the fast stream the memory of the slow one, and the fast stream waits without a
            call of the program.""",
            f"internal dependencies were set to {', then '.join(map(str, values))}."
            if values
            else "internal dependencies were not set: they are on at first.",
        )


class Taken:
    """What take did in a situation of the check's."""

    def __init__(self, check, situation):
        self.run = check.ask(CALLED, situation, 32 * check.draw("segments", 1, 300), hazards=True)
        journal, names = self.run.journal, ("the shared pool", "the spare pool")
        pools = [x["pool"] for x in journal.ok("cudaMemPoolCreate")][:2]
        self.names = dict(zip(pools, names))
        begin = journal.calls("launch_fill").where(value=30).first or {"n": 0}
        end = journal.calls("launch_fill").where(value=40).first or {"n": 1 << 60}
        self.calls = journal.after(begin).before(end)
        fill = journal.ok("launch_fill").where(value=20).first
        self.made = (
            fill and self.calls.where(allocation=fill["allocation"], result="cudaSuccess").first
        )
        self.of = self.names.get(self.made.get("pool"), "another pool") if self.made else None
        self.forever = "hazard: waiting forever" in self.run.errors
        self.filled = fill and journal.where(did="run", of=fill["number"]).first
        self.opened = journal.where(did="run", op="hold").first
        if self.run.status == 3 and not self.forever:
            expect(
                False, CALLED, "called by the check, the simulated device found a hazard.", self.run
            )

    def history(self):
        tried = [
            f"{self.names.get(x.get('pool'), 'another pool')} returned {words(x)}"
            for x in allocations(self.calls)
        ]
        waits = self.calls.where(acquired=1)
        return ", then ".join(tried or ["take tried no pool"]) + (
            f". Waits of the host: {len(waits)}." if waits else "."
        )


def test_room(check):
    "while the shared pool has room, take allocates from it"
    taken = Taken(check, 1)
    expect(
        taken.of == "the shared pool" and taken.made["from"] == "new",
        """while the shared pool
        can grow, take allocates from it, and tries it first. The spare pool is for the case that
        the shared one has no memory.""",
        taken.history(),
        taken.run,
    )


def test_spare(check):
    "with the slow stream held, take returns memory of the spare pool at once"
    taken = Taken(check, 2)
    sentence = """the shared pool is full, the slow stream is held, and the spare pool has memory:
        take returns that at once, and the fast stream fills it before the gate opens. Neither the
        host nor the fast stream waits for the slow one."""
    expect(
        not taken.forever,
        sentence,
        f"""{taken.history()} With the slow stream held, a
        synchronization with it never returns.""",
        taken.run,
    )
    expect(taken.of == "the spare pool", sentence, taken.history(), taken.run)
    queries = taken.calls.calls("cudaStreamQuery", "cudaEventQuery")
    expect(
        len(queries) <= 1,
        sentence,
        f"""take asked {len(queries)} times whether the slow stream
        has finished, which is a wait, too.""",
        taken.run,
    )
    expect(
        taken.filled and taken.filled["start"] < taken.opened["finish"],
        sentence,
        "the fast stream waited for the slow one.",
        taken.run,
    )


def test_last_resort(check):
    "with both pools full the host waits for the slow stream, and then allocates"
    taken = Taken(check, 3)
    sentence = """both pools are full, and the slow stream comes to an end: take waits for that
        stream, and for no other one, and then allocates from the shared pool."""
    expect(
        not taken.forever,
        sentence,
        f"""{taken.history()} A third stream was held, and the host
        waited for it as well.""",
        taken.run,
    )
    if taken.of == "another pool":
        check.after(test_spare)
    expect(
        taken.of == "the shared pool" and taken.made["from"] == "synchronized",
        sentence,
        taken.history(),
        taken.run,
    )


def test_no_memory(check):
    "for more than both pools may hold take returns the error"
    check.after(test_spare)
    taken = Taken(check, 4)
    check.expect_answers(
        "for more than both pools may hold, take returns cudaErrorMemoryAllocation.",
        taken.run,
        {"take": "cudaErrorMemoryAllocation"},
    )


def test_last_error(check):
    "an error that take has handled does not remain the last error"
    check.after(test_spare)
    for situation in (2, 3):
        taken = Taken(check, situation)
        if taken.run.answers.get("take") == ["cudaSuccess"]:
            check.expect_answers(
                """when take has succeeded, cudaGetLastError returns cudaSuccess. A
                failed allocation stays the last error until someone reads it: a later check behind
                a correct launch would report it. Who handles an error calls cudaGetLastError
                once.""",
                taken.run,
                {"cudaGetLastError after take": "cudaSuccess"},
            )


def test_prints(check):
    "it prints what a real device prints, and the same with another size"
    check.after(test_pools, test_limit, test_no_wait, test_spare, test_last_resort)
    check.expect_right(check.run())
    # The program prints no size.
    check.expect_right(check.run(check.draw("size", 1, 300)))
