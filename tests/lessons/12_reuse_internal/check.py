"""Lesson 12: a wait that the driver inserts, or an error to act on."""

from check import (
    ALLOCATE,
    LAST_ERROR,
    MIB,
    QUERY,
    SUCCESS,
    hazard_words,
    line_of,
    line_of_report,
    met_by_starter,
    miss,
    signal_words,
    times,
)

INTERNAL = "cudaMemPoolReuseAllowInternalDependencies"
CALLED = """take(memory, bytes, pool, spare), shared_pool(mib), pool_limited and the streams slow
    and fast are as they were at the start, and take returns in every situation."""
TOO_MUCH = """for more than both pools may hold, take returns cudaErrorMemoryAllocation: after one
    wait for the slow stream a further try finds no more memory."""
SHOWN = [(SUCCESS, "internal"), ("cudaErrorMemoryAllocation", None), (SUCCESS, "new")]
MEMORY = {
    "new": "new memory",
    "internal": "the memory of the slow stream, and the fast one waits for it",
    "synchronized": "memory that the host had synchronized",
    "opportunistic": "memory that the device had finished with",
    "event": "memory that an event had ordered",
}


def words(call):
    """What an allocation returned."""
    if call["result"] != SUCCESS:
        return call["result"]
    return MEMORY.get(call.get("from"), "its own memory")


def allocations(journal):
    """All that were requested of a pool, with those that failed."""
    return journal.calls(*ALLOCATE).that(lambda x: "result" in x)


@met_by_starter
def test_pools(check):
    journal = check.run().journal
    made = [allocations(journal).where(pool=pool) for pool in journal.pools[1:4]]
    second = [one[1] for one in made if len(one) > 1]
    if [(x["result"], x.get("from")) for x in second] != SHOWN:
        miss(f"""the first three lines try three pools, as in the starter: with a limit and the
            policy on, the allocation gets the slow stream's memory; with a limit and the policy
            off, it returns cudaErrorMemoryAllocation; without a limit, it gets new memory.
            Happened: the three pools returned {"; ".join(map(words, second))}.""")


def shared_pools(check):
    """(pool, its limit in MiB, the limit that was wanted) of those that shared_pool made: main's,
    and one of the check's."""
    journal = check.run().journal
    for made in journal.ok("cudaMemPoolCreate")[5:7]:
        yield journal, made, 64
    mib = 32 * check.draw("limit", 3, 300)
    asked = check.ask(CALLED, 5, mib).journal
    yield asked, asked.ok("cudaMemPoolCreate").last, mib


@met_by_starter
def test_limit(check):
    for _, made, mib in shared_pools(check):
        size = made and made["max_size"]
        if size != mib * MIB:
            happened = f"its maxSize was {size} bytes (0: no limit)" if made else "it was not made"
            miss(f"""the shared pool keeps its limit of {mib} MiB: what it refuses, take gets
                elsewhere.
                Happened: {happened}.""")


def test_no_wait(check):
    check.after(test_limit)
    for journal, made, _ in shared_pools(check):
        values = journal.set_to(INTERNAL, pool=made["pool"])
        if values[-1:] != [0]:
            happened = "not set: they are on at first"
            if values:
                happened = f"set to {', then '.join(map(str, values))}"
            miss(f"""the shared pool inserts no wait. While internal dependencies are on, the pool
                gives the slow stream's memory to the fast stream and makes the fast stream wait,
                although no call of the program asks for that.
                Happened: internal dependencies were {happened}.""")


class Taken:
    """What take did in a situation of the check's."""

    def __init__(self, check, situation):
        segments = 32 * check.draw("segments", 1, 300)
        sentence = TOO_MUCH if situation == 4 else CALLED
        self.run = check.ask(
            sentence, situation, segments, hazards=True, early=True, special=situation == 4
        )
        journal, names = self.run.journal, ("the shared pool", "the spare pool")
        self.names = dict(zip(journal.pools[:2], names))
        begin, end = (journal.calls("launch_fill").where(value=x).first for x in (30, 40))
        self.calls = journal.part(begin, end)
        fill = journal.ok("launch_fill").where(value=20).first
        self.made = self.calls.of(fill).where(result=SUCCESS).first
        self.of = self.names.get(self.made.get("pool"), "another pool") if self.made else None
        self.forever = journal.hazards.where(kind="waiting forever").first
        self.filled = fill and journal.where(did="run", of=fill["number"]).first
        slow, fast = [*journal.ok("cudaStreamCreateWithFlags").column("stream"), None, None][:2]
        self.opened = journal.where(did="run", op="hold", stream=slow).first
        self.nothing = self.returned == SUCCESS and not self.tried.where(result=SUCCESS)
        if self.run.status == 3 and not self.forever and not self.nothing:
            if self.made and self.made["stream"] != fast:
                miss(f"""take allocates in the fast stream, which uses the memory: what another
                    stream allocates is ready for the fast stream only after a wait.
                    Happened: {self.made["call"]}{line_of(self.made)} allocates in stream
                    {self.made["stream"]}, and the fast stream is stream {fast}.""")
            miss(f"""{CALLED}
                Happened: called by the check: {hazard_words(self.run.errors)}""")
        # In take itself that is what take did; elsewhere it is no rule's.
        if not self.tried or self.run.ended or self.returned == SUCCESS and self.made:
            self.run.expect_return()

    tried = property(lambda self: allocations(self.calls))
    returned = property(lambda self: self.run.answer("take"))
    waits = property(lambda self: self.calls.waits.that(lambda x: x["call"] not in QUERY))

    @property
    def stood_still(self):
        where = f"{self.forever['call']}{line_of_report(self.run.errors)}"
        return f"the host waited in {where} for a stream that is held: that never returns."

    def step(self, call):
        """What one call of take did, or "" where it says nothing about memory or order."""
        if call in self.tried:
            pool = self.names.get(call.get("pool"), "another pool")
            return f"{pool if 'pool' in call else call['call']} returned {words(call)}"
        if call in self.waits:
            return f"the host waited in {call['call']}{line_of(call)}"
        said = "result" in call and call["call"] not in (*LAST_ERROR, *QUERY)
        return f"{call['call']} was called{line_of(call)}" if said else ""

    def last_read(self):
        """Where take read the last error, which it did too early or not at all."""
        reads = self.calls.calls(*LAST_ERROR)
        for read in reversed(reads.that(lambda x: x["file"] != "ask.h")):
            if read["call"] == "cudaPeekAtLastError":
                return f"cudaPeekAtLastError{line_of(read)} reads the error, and leaves it."
            failed = self.tried.after(read).first
            return f"take read it{line_of(read)}, before the failure{line_of(failed or {})}."
        return "take did not call cudaGetLastError after the failure."

    def history(self):
        done = [step for step in map(self.step, self.calls) if step]
        waits = ""
        if self.calls.queries and not self.waits:
            waits += f""" take called {self.calls.queries.names}
                {times(len(self.calls.queries))}{line_of(self.calls.queries[0])}: a query is no
                synchronization, so the pool still does not give away the memory of another
                stream."""
        if self.run.early and not self.forever and "take" not in self.run.answers:
            ended = "ended in take, at a CHECK: take returns the error instead."
            died = signal_words(self.run)
            waits += f" Then the program {f'died of {died}' if died else ended}"
        elif self.nothing:
            waits += " Then take returned cudaSuccess, but no memory of a pool."
        elif self.returned not in (SUCCESS, "nothing") and self.tried.where(result=SUCCESS):
            waits += f""" Then take returned {self.returned}, although it had memory. take must
                return what its last allocation returned, and not what cudaGetLastError returns: an
                earlier error stays there until it is read."""
        if self.forever and "take" not in self.run.answers:
            waits += f" Then {self.stood_still}"
        elif len(self.tried) == 1 and self.returned not in (SUCCESS, "nothing"):
            waits += " take tried no other pool."
        more = ", and so on" * (len(done) > 8)
        return f"{', then '.join(done[:8] or ['take tried no pool'])}{more}.{waits}"


@met_by_starter
def test_room(check):
    taken = Taken(check, 1)
    if taken.of != "the shared pool" or taken.made["from"] != "new":
        miss(f"""while the shared pool can grow, take allocates from it, and tries it first. The
            spare pool is for when the shared pool has no memory.
            Happened: {taken.history()}""")


def test_spare(check):
    taken = Taken(check, 2)
    sentence = """the shared pool is full, the slow stream is held, and the spare pool has memory:
        take returns that at once, and the fast stream fills it before the gate opens. Neither the
        host nor the fast stream waits for the slow one, and the host waits for no other."""
    if taken.of != "the spare pool":
        check.after(test_room)  # it may wait, or try another pool, before every try
        miss(f"{sentence} Happened: {taken.history()}")
    queries = taken.calls.queries
    if len(queries) > 1:
        miss(f"""{sentence}
            Happened: take asked {len(queries)} times whether the slow stream has finished, which is
            a wait, too.""")
    opened = taken.opened["finish"] if taken.opened else float("inf")
    if not taken.filled or taken.filled["start"] >= opened:
        miss(f"{sentence} Happened: the fast stream waited for the slow one.")
    if wrong := taken.run.wrong({"take, a second time": SUCCESS}):
        miss(f"""what take has returned is freed, and the slow stream is still held: take returns
            memory of the spare pool again.
            Happened: {taken.stood_still if taken.forever else wrong}""")


def test_last_resort(check):
    taken = Taken(check, 3)
    sentence = """both pools are full, and the slow stream comes to an end: take waits for that
        stream, and for no other one, and then allocates from the shared pool."""
    # The same mistake is not reported twice.
    check.after(test_room)
    if taken.of == "another pool" or taken.of != "the shared pool" and not taken.waits:
        check.after(test_spare)
    if taken.returned not in (SUCCESS, "nothing") and taken.tried.where(result=SUCCESS):
        check.after(test_spare)
    # After the wait the memory may go back to the device first: then what it gets is new.
    waited = taken.made and (taken.made.get("from") == "synchronized" or taken.calls.waits)
    if taken.of != "the shared pool" or not waited:
        miss(f"{sentence} Happened: {taken.history()}")


def test_no_memory(check):
    taken = Taken(check, 4)
    if len(set(taken.tried.column("pool"))) < 2:
        check.after(test_spare)  # who tries one pool returns its error as the starter does
    if taken.returned == SUCCESS:
        check.after(test_last_resort)  # who takes it from elsewhere has it there, too
    if wrong := taken.run.wrong({"take": "cudaErrorMemoryAllocation"}):
        miss(f"{TOO_MUCH} Happened: {wrong}")


def test_last_error(check):
    check.after(test_spare)
    for situation in (2, 3):
        taken = Taken(check, situation)
        wrong = taken.run.wrong({"cudaGetLastError after take": SUCCESS})
        if wrong and taken.run.answers.get("take") == [SUCCESS]:
            miss(f"""when take has succeeded, cudaGetLastError returns cudaSuccess. A failed
                allocation stays the last error until someone reads it: a later check after a
                correct launch would report it. Code that has handled an error calls
                cudaGetLastError once.
                Happened: {wrong} {taken.last_read()}""")


def test_prints(check):
    check.after(test_pools, test_limit, test_no_wait, test_spare, test_last_resort)
    check.expect_right(check.run())
    check.expect_read("finished #")
    # The program prints no size.
    check.expect_right(check.run(check.draw("size", 1, 300)))
