"""Random programs with mistakes inside their kernels, as text that a person can read.

random_inside.py SEED COUNT >FILE     writes programs for simulator/tests/unit/kernels/scripted.cu
random_inside.py judge FILE OUTPUT    compares what scripted printed with what each must have

The first word of a line says what it does; numbers count ints:

    program NAME                    the next program
    memory a 64 cudaMalloc|pool     allocates `a`, 64 ints; free a: frees it
    memset a 0 64                   writes 64 ints, from the first on; so does send, from the host
    copy a 0 b 8 16                 copies 16 ints from b[8] to a[0]; fetch a 0 64: to the host
    launch 2 64                     a kernel of 2 blocks of 64 threads; to "end", its steps:
      write s[t+1] by t<32              threads below 32 write the shared int of the next thread
      read a[g+0] by all                each thread reads the int of its number in the grid
      add b[0+5] by t%2                 threads with even numbers add to the int 5, atomically
      barrier by all                    __syncthreads(); syncwarp, and shuffle of whole warps
    poke a 70 b                     a kernel that is given a and b writes a[70]; -: a alone

Whether a program is incorrect follows from the rules of CUDA, which this file has, too. Two kinds
stay open, because a report would be in doubt: writes and atomic operations of one warp, and reads
of what another thread writes unordered."""

import random
import re
import sys

INIT, RACE, BLOCKS = "uninitialized read", "race in a block", "race between blocks"
# What a write beyond an allocation meets: another allocation, the rest of a page, or nothing.
MET = {"use of memory that is not allocated", "use after free"}
BARRIER, ABSENT, BEYOND = "divergent barrier", "absent threads", "access outside the allocation"
NO, YES, PERHAPS = range(3)
WARP = 32
SHARED = 256
STEP = re.compile(r"  (\w+) (?:(\w)\[(\w)\+(\d+)\] )?by (\w+)(?:([<=%])(\d+))?")


def index(base, offset, block, thread, threads):
    numbers = {"t": thread, "r": threads - 1 - thread, "g": block * threads + thread, "b": block}
    return numbers.get(base, 0) + offset


def takes(who, operator, value, block, thread, threads):
    if who == "all":
        return True
    n = {"t": thread, "b": block, "g": block * threads + thread}[who]
    return {"<": n < value, "=": n == value, "%": value and n % value == 0}[operator]


class Access:
    """What a thread does to an int in one step."""

    def __init__(self, verb, step, thread, interval, synced, shuffles):
        self.verb, self.step, self.thread = verb, step, thread
        self.interval, self.synced, self.shuffles = interval, synced, shuffles

    def is_before(self, other):
        """Whether a barrier, a __syncwarp(), or a shuffle of both is between, or the thread's own
        order."""
        if self.thread == other.thread:
            return self.step < other.step
        if self.interval < other.interval:
            return True
        if self.thread // WARP != other.thread // WARP or self.interval != other.interval:
            return False
        return self.synced < other.synced or any(
            self.step < n < other.step and self.thread in those and other.thread in those
            for n, those in self.shuffles
        )


class Model:
    """What the rules say of the lines so far."""

    def __init__(self):
        self.written = {}
        self.must, self.may = set(), set()

    def found(self, kind, sure=YES):
        if sure:
            (self.must if sure == YES else self.may).add(kind)

    def line(self, line):
        words = line.split()
        verb, name, numbers = words[0], words[1], words[2:]
        if verb == "memory":
            self.written[name] = [NO] * int(numbers[0])
        elif verb in ("memset", "send"):
            start, count = map(int, numbers)
            self.written[name][start : start + count] = [YES] * count
        elif verb == "copy":
            start, there, count = int(numbers[0]), int(numbers[2]), int(numbers[3])
            source = self.written[numbers[1]][there : there + count]
            self.written[name][start : start + count] = source
        elif verb == "fetch":
            start, count = map(int, numbers)
            part = self.written[name][start : start + count]
            if YES not in part:
                self.found(INIT, PERHAPS if PERHAPS in part else YES)
        elif verb == "poke" and int(numbers[0]) >= len(self.written[name]):
            self.found(BEYOND, YES if numbers[1] == "-" else PERHAPS)

    def launch(self, blocks, threads, steps):
        must_before, self.must = self.must, set()
        everywhere, every_shared, first = {}, [], None
        for block in range(blocks):
            everywhere_here, shared = self.block(block, threads, steps)
            for place, accesses in everywhere_here.items():
                everywhere.setdefault(place, {})[block] = accesses
            every_shared += shared.values()
            first = everywhere_here if first is None else first
        # Where a barrier is missing, a read may only have come too early.
        races = [self.race(accesses) for accesses in every_shared]
        for accesses in every_shared:
            self.reads(accesses, PERHAPS if any(races) else NO, False)
        after = {}
        for place, by_block in everywhere.items():
            name, i = place
            verbs = {b: {a.verb for a in accesses} for b, accesses in by_block.items()}
            for b in verbs:
                for c in verbs:
                    if b < c and "write" in verbs[b] | verbs[c]:
                        self.found(BLOCKS)
            before = self.written[name][i]
            for b, accesses in by_block.items():
                others = any(v - {"read"} for c, v in verbs.items() if c != b)
                self.reads(accesses, before, others)
            if any("write" in v for v in verbs.values()):
                after[place] = YES
            elif any("add" in v for v in verbs.values()) and before != YES:
                after[place] = PERHAPS
        for (name, i), state in after.items():
            self.written[name][i] = state
        # In device memory, the threads of the first block are compared, too. What they do is
        # reported if two blocks do not race.
        for accesses in first.values():
            self.race(accesses, {"read", "add"}, BLOCKS not in self.must)
        # Then the steps that follow are not ordered as it seems.
        if BARRIER in self.must:
            self.must = {BARRIER}
        self.must |= must_before

    def block(self, block, threads, steps):
        """Returns the accesses of a block to each int of device and of shared memory."""
        device, shared, interval, synced, shuffles = {}, {}, 0, 0, []
        for n, (verb, space, base, offset, *who) in enumerate(steps):
            those = [t for t in range(threads) if takes(*who, block, t, threads)]
            if verb == "barrier":
                if those and len(those) < threads:
                    self.found(BARRIER)
                    self.may |= {RACE, INIT, BLOCKS, ABSENT}
                interval += len(those) == threads
            elif verb == "syncwarp":
                synced += 1
            elif verb == "shuffle":
                shuffles.append((n, set(those)))
                warps = {t // WARP for t in those}
                if any(t not in those for t in range(threads) if t // WARP in warps):
                    # Threads that have exited are not absent. Those that wait at a barrier are.
                    later = [s for s in steps[n:] if s[0] == "barrier" and s[4] == "all"]
                    self.found(ABSENT, YES if later else PERHAPS)
                    # A shuffle gives an undefined value for an absent thread.
                    self.found(INIT, PERHAPS)
            else:
                for t in those:
                    at = index(base, offset, block, t, threads)
                    of = shared if space == "s" else device
                    place = at if space == "s" else (space, at)
                    of.setdefault(place, []).append(Access(verb, n, t, interval, synced, shuffles))
        return device, shared

    def race(self, accesses, allowed=None, is_reported=True):
        """Returns whether there is one, for sure or perhaps. `allowed`: two verbs that may meet."""
        found = False
        for n, a in enumerate(accesses):
            for b in accesses[n + 1 :]:
                if a.verb == b.verb != "write" or {a.verb, b.verb} == allowed:
                    continue
                if a.is_before(b) or b.is_before(a):
                    continue
                # Threads of a warp write with one instruction of scripted.cu, as if at once, and
                # what hides the atomic operation of one of them hides the others' race with it.
                same_warp = a.thread // WARP == b.thread // WARP
                at_once = same_warp and (a.verb == b.verb or "add" in (a.verb, b.verb))
                self.found(RACE, PERHAPS if at_once or not is_reported else YES)
                found = True
        return found

    def reads(self, accesses, before, others):
        """Judges reads of an int that was in this state before the launch."""
        if before == YES:
            return
        for a in accesses:
            if a.verb == "write":
                continue
            writes = [w for w in accesses if w.verb != "read" and w is not a]
            if any(w.verb == "write" and w.is_before(a) for w in writes):
                continue
            doubt = others or before == PERHAPS or any(not a.is_before(w) for w in writes)
            self.found(INIT, PERHAPS if doubt else YES)


class Writer:
    """Makes the lines of one program."""

    def __init__(self, rng, name):
        self.rng, self.lines, self.model = rng, [f"program {name}"], Model()

    def add(self, line):
        self.lines.append(line)
        self.model.line(line)

    def who(self, threads):
        rng = self.rng
        return rng.choice(
            [
                "all",
                "all",
                "all",
                f"t<{rng.randrange(1, threads + 1)}",
                f"t%{rng.choice([2, 3, 8])}",
            ]
            + [
                f"t={rng.randrange(threads)}",
                f"b={rng.randrange(2)}",
                f"g={rng.randrange(threads)}",
            ]
        )

    def step(self, blocks, threads):
        rng = self.rng
        verb = rng.choice(["write"] * 5 + ["read"] * 5 + ["add"])
        space = rng.choice(["s"] * 4 + list(self.model.written))
        size = SHARED if space == "s" else len(self.model.written[space])
        base = rng.choice("tttr0" if space == "s" else "ggggtb0")
        most = {"t": threads, "r": threads, "g": blocks * threads, "b": blocks}.get(base, 1)
        if most > size:
            return []
        room = size - most
        offset = rng.choice([0, 0, 0, min(1, room), min(WARP, room), rng.randrange(room + 1)])
        return [f"  {verb} {space}[{base}+{offset}] by {self.who(threads)}"]

    def launch(self):
        rng = self.rng
        blocks, threads = rng.choice([1, 1, 2, 3]), rng.choice([32, 40, 64, 96, 128])
        lines = [f"  write s[t+{n}] by all" for n in range(0, SHARED - threads, threads)]
        lines = lines[: rng.randrange(len(lines) + 2)] + ["  barrier by all"]
        barriers, shuffles = 1, 0
        for _ in range(rng.randrange(1, 9)):
            kind = rng.randrange(40)
            if kind < 10 and barriers < 7:
                barriers += 1
                lines.append("  barrier by " + ("all" if rng.randrange(25) else self.who(threads)))
            elif kind < 16:
                lines.append("  syncwarp by all")
            elif kind < 18 and not shuffles:
                shuffles = 1
                lines.append("  shuffle by " + rng.choice(["all", self.who(threads)]))
            else:
                tries = 0
                while tries < 6:
                    step = self.step(blocks, threads)
                    copy = self.of(lines + step, blocks, threads)
                    tries += 1
                    if rng.randrange(12) == 0 or not copy.must | copy.may:
                        lines += step
                        break
        self.lines += [f"launch {blocks} {threads}", *lines, "end"]
        self.model.launch(blocks, threads, steps_of(lines))

    def of(self, lines, blocks, threads):
        """Returns a model with only this launch."""
        model = Model()
        model.written = {name: list(states) for name, states in self.model.written.items()}
        model.launch(blocks, threads, steps_of(lines))
        return model

    def program(self):
        rng = self.rng
        for name in "abcd"[: rng.randrange(1, 5)]:
            self.add(
                f"memory {name} {rng.choice([32, 64, 200, 512])} "
                + rng.choice(["cudaMalloc", "pool"])
            )
            if rng.randrange(4):
                size = len(self.model.written[name])
                count = size if rng.randrange(4) else rng.randrange(1, size + 1)
                self.add(f"{rng.choice(['memset', 'send'])} {name} 0 {count}")
        for _ in range(rng.randrange(1, 6)):
            self.something()
        return self.lines

    def something(self):
        rng, written = self.rng, self.model.written
        name, other = rng.choice(list(written)), rng.choice(list(written))
        most = min(len(written[name]), len(written[other]))
        count = rng.randrange(1, most + 1)
        kind = rng.randrange(16)
        if kind == 0:
            self.add(f"free {name}")
            self.add(f"memory {name} {len(written[name])} {rng.choice(['cudaMalloc', 'pool'])}")
        elif kind == 1 and name != other:
            self.add(f"copy {name} 0 {other} {rng.randrange(most - count + 1)} {count}")
        elif kind == 2:
            self.add(f"fetch {name} {rng.randrange(most - count + 1)} {count}")
        elif kind == 3:
            self.add(f"send {name} {rng.randrange(most - count + 1)} {count}")
        else:
            self.launch()

    def end(self):
        rng, written = self.rng, self.model.written
        if rng.randrange(8) == 0:
            name, other = rng.choice(list(written)), rng.choice([*written, "-", "-"])
            past = len(written[name])
            self.add(f"poke {name} {rng.choice([past - 1, past, past + 200])} {other}")
        else:
            for name in list(written):
                self.add(f"free {name}")


def steps_of(lines):
    steps = []
    for line in lines:
        verb, space, base, offset, who, operator, value = STEP.fullmatch(line).groups()
        steps.append((verb, space, base, int(offset or 0), who, operator, int(value or 0)))
    return steps


def judge(programs, output):
    """Compares; returns how many were silent and reported as they must be, and the others."""
    with open(output) as file:
        printed = dict(line.split(":", 1) for line in file)
    with open(programs) as file:
        lines = iter([*file, "program -\n"])
    silent = reported = wrong = 0
    name, model = None, None
    for line in lines:
        if line.startswith("program"):
            if name:
                said = {kind.strip() for kind in printed.get(name, "nothing;").split(";")} - {""}
                if BEYOND in model.must | model.may and said & MET:
                    said = said - MET | {BEYOND}
                # One mistake of this kind is reported for a launch.
                if said & {BARRIER, ABSENT}:
                    said |= model.must & {BARRIER, ABSENT}
                if model.must <= said <= model.must | model.may:
                    silent, reported = silent + (not said), reported + bool(said)
                else:
                    wrong += 1
                    print(
                        f"{name}: reported {sorted(said)}, must {sorted(model.must)}, "
                        f"may {sorted(model.may)}"
                    )
            name, model = line.split()[1], Model()
        elif line.startswith("launch"):
            steps = []
            while (step := next(lines)) != "end\n":
                steps.append(step.rstrip("\n"))
            model.launch(*map(int, line.split()[1:]), steps_of(steps))
        elif line.strip() and not line.startswith("#"):
            model.line(line)
    print(f"{silent} silent and {reported} reported, as they must be; {wrong} others")
    return wrong or not silent or not reported


def main():
    if sys.argv[1] == "judge":
        sys.exit(bool(judge(*sys.argv[2:])))
    first, count = map(int, sys.argv[1:])
    for seed in range(first, first + count):
        writer = Writer(random.Random(seed), f"seed-{seed}")
        writer.program()
        writer.end()
        print("\n".join(writer.lines))


main()
