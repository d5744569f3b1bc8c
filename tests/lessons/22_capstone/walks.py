"""What ask.h asks: the journal must have each use of each part, in this order. And the figures of a
replay."""

from check import FREE, MIB, QUERY, SUCCESS

GRAIN, WHOLE, STREAMS = 512, 256 << 10, 8


class Walk:
    """The steps of ask.h: (is it taken, id of the part). words: what ask.h is given for them."""

    def __init__(self, mode, given):
        self.seed = given[0]
        self.bytes, self.stream, self.steps, self.live, self.words = [], [], [], [], []
        getattr(self, mode)(*given)
        words = [mode, *(given if mode == "long" else self.words)]
        while self.live:  # ask.h does that by itself
            self.give(0)
        self.words = words

    def below(self, most):
        self.seed = (self.seed * 1103 + 12345) % 1048576
        return self.seed // 7 % most

    def take(self, size, stream):
        one = len(self.bytes)
        self.bytes.append(size)
        self.stream.append(stream)
        self.steps.append((True, one))
        self.words += ["take", size, stream]
        self.live.append(one)
        return one

    def give(self, i):
        self.steps.append((False, self.live[i]))
        self.words += ["give", i]
        self.live[i] = self.live[-1]
        self.live.pop()

    def give_id(self, one):
        if one in self.live:
            self.give(self.live.index(one))

    def in_turn(self, size, streams):
        for stream in streams:
            self.take(size, stream)
            self.give(0)

    def trim(self):
        self.words.append("trim")

    def turns(self, a, b, c, _, size):
        """Memory goes from stream to stream."""
        self.in_turn(size, [a, b, c])
        self.trim()
        # c has waited for b more often than the fresh stream of `third` has returned a part, when b
        # hands on what it never used.
        self.in_turn(size, [b, b, b, b, c])
        self.trim()
        # A trim while the second part of a piece is in use, and the first is not.
        self.take(size, c)
        self.take(size, c)
        self.give(0)
        self.trim()
        self.give(0)
        self.trim()

    def third(self, a, b, c, fresh, size):
        """And then to a stream that had none."""
        self.turns(a, b, c, fresh, size)
        self.in_turn(2 * size, [fresh])
        self.take(size, b)
        self.take(size, c)
        self.give(0)
        self.give(0)
        self.trim()

    def neighbors(self, a, b, c, left, right):
        """Neighbors of two streams return, and their bytes are asked for together."""
        for i in range(6):
            self.take(left, a)
            self.take(right, b)
            self.give(i % 2)
            self.give(0)
            self.in_turn(left + right, [[a, b, c][i // 2]])
            self.trim()
        self.take(left, a)
        self.take(right, b)

    def newer(self, a, b, spare, guard, left, right):
        """One of two neighbors returns, the other stream waits for that as it takes the spare part,
        and the second neighbor returns: what is joined has a use that the other stream has not
        waited for. What lies around them stays in use."""
        for i in range(4):
            one, other = [(a, b), (b, a)][i // 2]
            first = self.take(spare, one)
            self.take(guard, one)
            pair = [self.take(left, one), self.take(right, one)]
            self.take(guard, one)
            self.give_id(first)
            self.give_id(pair[i % 2])
            self.take(spare, other)
            self.give_id(pair[1 - i % 2])
            self.take(left + right, other)
            while self.live:
                self.give(0)
            self.trim()

    def held(self, a, b, size):
        """A stream returned a part and is held: another one takes it, and the host goes on."""
        self.take(size, a)
        self.words += ["hold", a]
        self.give(0)
        self.take(size, b)
        self.words.append("open")

    def again(self, a, b, size):
        """A stream returned six parts, and another takes as many, a little smaller: one wait covers
        them all. The smallest, which fits best, was returned first."""
        for i in range(12):
            self.take(size + i * GRAIN, a)
        for i in range(6):  # the part beside each stays in use
            self.give_id(2 * i)
        for _ in range(6):
            self.take(size - GRAIN, b)

    def huge(self, a, size):
        """A part of 4 GiB or more is returned, and its piece after it. A small one was idle."""
        self.in_turn(GRAIN, [a])
        self.in_turn(size, [a, a])
        self.trim()

    def long(self, _):
        """ask.h takes 70,000 parts, and uses none."""

    def random(self, _, grain=GRAIN):
        """60 parts of ten sizes in five streams, and now and then a part that is larger than all
        before: a cache that returns idle pieces must then return pieces of several streams."""
        sizes = []
        for _ in range(10):
            sizes.append((1 + self.below(48)) * MIB)
            sizes[-1] -= self.below(1200) * grain
        while len(self.bytes) < 60:
            count = len(self.bytes)
            large = count % 12 == 11
            while large and self.live:
                self.give(self.below(len(self.live)))
            size = 600 * MIB + 4096 * count if large else sizes[self.below(10)]
            self.take(size, self.below(5))
            while len(self.live) > 6 or (self.live and self.below(3) == 0):
                self.give(self.below(len(self.live)))

    def ragged(self, seed):
        """The same with sizes that are rounded up."""
        self.random(seed, 4)

    def small(self, _):
        """One stream with 20 to 50 MiB live: 40 parts that stay, and in each of 12 steps eight that
        replace larger and larger ones, with three that end soon."""
        kept = {}
        for _ in range(40):
            self.take(4096 * (1 + self.below(400)), 0)
        for step in range(1, 13):
            for layer in range(8):
                new = self.take(65536 * (4 + step), 0)
                if step > 1:
                    self.give_id(kept[layer])
                kept[layer] = new
                for one in [self.take(516 * (1 + self.below(2000)), 0) for _ in range(3)]:
                    self.give_id(one)


class HostWaits:
    """The calls in which the host waited between two uses of parts, though no piece was returned
    there: without_return."""

    def __init__(self):
        self.waited, self.returned, self.without_return = [], False, []

    def read(self, line, pieces):
        call = line["call"]
        if call in ("launch_fill", "launch_add"):
            self.without_return += [] if self.returned else self.waited
            self.waited, self.returned = [], False
        elif call in FREE and line.get("allocation") in pieces:
            self.returned = True
        elif line.get("acquired") and call not in QUERY:
            self.waited.append(call)


class Peak:
    """What is reserved, in MiB, and what may be."""

    plain_peak = peak = largest = 0

    @property
    def bar(self):
        return self.plain_peak * 115 // 100


class Figures(Peak):
    """What a walk shows. wrong: a sentence about a part that is not where it may be, or ""; askew:
    the same of one that begins at no multiple of GRAIN; bad: the first part whose stream does not
    come after a use of its bytes, or None; before: by part, the streams of the parts that lay
    there."""

    def __init__(self, walk):
        self.walk, self.wrong, self.askew, self.bad = walk, "", "", None
        self.before, self.at, self.begin, self.used = {}, {}, {}, set()
        self.last_wait = self.freed_in_use = None  # a line of the stream of bad, a number
        self.left = 0
        self.taken = self.waits = self.most = self.moved = 0
        self.waiting = set()  # the streams that waited for an event
        self.host = HostWaits()

    def refuse(self, text):
        self.wrong = self.wrong or text

    def shown(self, one):
        return f"{self.walk.bytes[one]} bytes for streams[{self.walk.stream[one]}]"

    def placed(self, one, line, pieces):
        """A part is used for the first time: which parts lay there before, of which streams?"""
        size, stream = self.walk.bytes, self.walk.stream
        at, begin = line.get("allocation", -1), line.get("inner_offset", 0)
        self.at[one], self.begin[one] = at, begin
        if at not in pieces:
            self.refuse(f"the part of {self.shown(one)} does not come from the pool")
        elif begin + size[one] > pieces[at]:
            self.refuse(f"the part of {self.shown(one)} ends after its piece of {pieces[at]} bytes")
        elif begin % GRAIN and not self.askew:
            self.askew = (
                f"the part of {self.shown(one)} begins {begin} bytes after the beginning "
                f"of its piece, {begin % GRAIN} bytes after a multiple of {GRAIN}"
            )
        there = [
            i
            for i in range(one)
            if self.at.get(i) == at
            and self.begin[i] + size[i] > begin
            and begin + size[one] > self.begin[i]
        ]
        for i in there:
            if i in self.used:
                self.refuse(
                    f"the parts of {self.shown(i)} and of {self.shown(one)} overlap, both in use"
                )
        self.before[one] = sorted({stream[i] for i in there})
        self.moved += any(stream[i] != stream[one] for i in there)
        self.used.add(one)
        self.most = max(self.most, sum(self.at[i] == at for i in self.used))


def uses_of(walk):
    """(part, is it taken now, is this the first launch, launch, bytes, offset in the part)."""
    for taken, one in walk.steps:
        size = walk.bytes[one]
        yield one, taken, True, "launch_fill" if taken else "launch_add", min(size, WHOLE), 0
        if size > WHOLE:
            yield one, taken, False, "launch_add", 4, size - 4


class Reader:
    """Reads the lines of a walk's journal, one after the other."""

    def __init__(self, walk):
        self.walk, self.figures = walk, Figures(walk)
        self.expected, self.uses = list(uses_of(walk)), 0
        self.pools, self.streams, self.pieces, self.plain_takes = [], [], {}, []
        self.unordered, self.waits = False, {}  # the last one of each stream

    def did(self, line):
        if line["did"] == "exit":
            self.figures.left = line["live"]
        elif line["did"] == "hazard" and line["call"].startswith("launch_"):
            self.unordered = True
        elif line["did"] == "hazard" and line["call"].startswith("cudaFree"):
            self.figures.freed_in_use = self.figures.freed_in_use or line.get("later")

    def call(self, line):
        call, pool, figures = line["call"], line.get("pool"), self.figures
        figures.host.read(line, self.pieces)
        if call == "cudaStreamCreateWithFlags":
            self.streams.append(line["stream"])
        elif call == "cudaMemPoolCreate":
            self.pools.append(pool)
        elif pool in self.pools[:1]:
            figures.plain_peak = max(figures.plain_peak, line.get("reserved", 0) // MIB)
            if call == "cudaMallocFromPoolAsync":
                self.plain_takes.append(line["bytes"])
        elif pool in self.pools[1:2]:
            figures.peak = max(figures.peak, line.get("reserved", 0) // MIB)
            if call == "cudaMallocFromPoolAsync":
                figures.taken += 1
                self.pieces[line["allocation"]] = line["bytes"]
                figures.largest = max(figures.largest, line["bytes"] // MIB)
        elif call == "cudaStreamWaitEvent":
            figures.waits += 1
            self.waits[line["stream"]] = line
            if figures.bad is None and line["stream"] in self.streams:
                figures.waiting.add(self.streams.index(line["stream"]))
        elif call in ("launch_fill", "launch_add"):
            self.use(line)

    def use(self, line):
        figures, walk = self.figures, self.walk
        if self.uses == len(self.expected):
            figures.refuse("a kernel used memory after the last step")
            return
        one, taken, first, call, size, behind = self.expected[self.uses]
        self.uses += 1
        if not line.get("allocation"):
            figures.refuse(
                f"the part of {figures.shown(one)} is used after its piece was returned to the pool"
            )
        if taken and first:
            figures.placed(one, line, self.pieces)
        wanted = {"call": call, "value": one + 1, "stream": self.streams[walk.stream[one]]}
        wanted |= {"bytes": size, "allocation": figures.at.get(one)}
        wanted["inner_offset"] = figures.begin.get(one, 0) + behind
        if any(line.get(field, 0) != value for field, value in wanted.items()):
            figures.refuse(
                f"use {self.uses} is of the part of {figures.shown(one)}; another use of "
                "memory came in between"
            )
        if self.unordered and taken and figures.bad is None:
            figures.bad, figures.last_wait = one, self.waits.get(line["stream"])
        self.unordered = False
        if not taken and (walk.bytes[one] <= WHOLE or not first):
            figures.used.discard(one)


def figures(run, mode, given):
    walk = Walk(mode, given)
    reader = Reader(walk)
    for line in run.journal:
        if "did" in line:
            reader.did(line)
        elif line.get("result") == SUCCESS:
            reader.call(line)
    found = reader.figures
    if reader.uses < len(reader.expected):
        found.refuse(
            f"after {reader.uses} of {len(reader.expected)} uses of parts the program ended"
        )
    if mode == "small" and reader.plain_takes != walk.bytes:
        found.refuse("the plain pool was asked for other sizes than the cache")
    return found


class Replay(Peak):
    """What a replay shows: an allocation of the journal is a piece, and its uses say how many parts
    of it are in use."""

    end = left = 0
    taken = elsewhere = returned = records = waits = fills = adds = most = 0

    def __init__(self):
        self.host = HostWaits()


def replay_figures(run):
    found, pools, live = Replay(), [], {}
    for line in run.journal:
        call, pool = line.get("call"), line.get("pool")
        if "did" in line:
            found.left = line["live"] if line["did"] == "exit" else found.left
        if "did" in line or line.get("result") != SUCCESS:
            continue
        found.host.read(line, live)
        if call == "cudaMemPoolCreate":
            pools.append(pool)
        elif pool is not None and pool in pools[:1]:
            found.plain_peak = max(found.plain_peak, line.get("reserved", 0) // MIB)
        elif call in ("launch_fill", "launch_add"):
            count_use(found, line, live)
        else:
            count_call(found, line, pool in pools[1:2], live)
    return found


def count_use(found, line, live):
    piece = line.get("allocation")
    if piece not in live:
        return
    if line["call"] == "launch_fill" and line["value"]:
        found.fills += 1
        live[piece] += 1
        found.most = max(found.most, live[piece])
    else:
        found.adds += 1
        live[piece] -= 0.5


def count_call(found, line, own, live):
    call = line["call"]
    if own and "reserved" in line:
        found.end = line["reserved"] // MIB
        found.peak = max(found.peak, found.end)
    if call == "cudaMallocFromPoolAsync" and own:
        found.taken += 1
        found.largest = max(found.largest, line["bytes"] // MIB)
        live[line["allocation"]] = 0
    elif call.startswith("cudaMalloc"):
        found.elsewhere += 1
    found.returned += call in FREE and line.get("allocation") in live
    found.records += call == "cudaEventRecord"
    found.waits += call == "cudaStreamWaitEvent"
