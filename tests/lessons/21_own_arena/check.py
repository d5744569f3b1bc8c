"""Lesson 21: an arena that is reset in every frame while two streams still work in it.

arena_want is asked with sizes, limits and alignments of the check's own. What arena_reset and
arena_commit order is judged by frames of the harness, in which one stream follows the other, and in
which nothing moves until somebody waits."""

from check import (
    ALLOCATE,
    LATE,
    Journal,
    expect_no_asking,
    expect_streams,
    line_of,
    met_by_starter,
    miss,
    rounded_up,
)

SIZE_MAX = (1 << 64) - 1
RETURNS = """arena_want, arena_commit and arena_reset return for each arena, and the struct arena
    and arena_new are those of the starter."""


# ---- requests ----


def want(check):
    """(pairs of an alignment and a limit, a size that is odd and so needs padding, the run)."""
    alignments = [
        check.choose("power", [8, 16, 32, 64, 128, 512, 1024, 4096]),
        check.choose("no power", [24, 48, 96, 100, 384, 768, 1000, 5000]),
    ]
    limits = [check.draw("limit", 300000, 900000), check.draw("large limit", 300000, 1 << 20) << 20]
    size = 2 * check.draw("size", 5000, 90000) + 1
    run = check.ask(RETURNS, "want", *alignments, *limits, size)
    return list(zip(alignments, limits)), size, run


def question(limit, alignment, size, needed, more="3 requests"):
    asked = f"arena_want for {size} bytes, with {needed} of {limit} needed by {more}"
    return f"{asked}, alignment {alignment}"


def test_places(check):
    arenas, size, run = want(check)
    for alignment, _ in arenas:
        needed, answers = 0, {}
        for number in range(16):
            wanted = 1 + number * size % (3 * alignment)
            offset = rounded_up(needed, alignment)
            needed = offset + wanted
            name = f"request {number + 1}, for {wanted} bytes, in an arena with an alignment of"
            answers[f"{name} {alignment}"] = f"1 at {offset}, needed {needed}, count {number + 1}"
        if wrong := run.wrong(answers):
            if any(run.answer(asked).startswith("0 ") for asked in answers):
                check.after(test_limit)
            ends = {asked: run.answer(asked).split(",")[0] for asked in answers}
            if all(ends[asked] == answer.split(",")[0] for asked, answer in answers.items()):
                miss(f"""after a request, needed is the end of that request, offset + bytes, without
                    rounding: only the offset of the next request is rounded up. Each offset is
                    right.
                    Happened: {wrong}""")
            miss(f"""a request begins at the next multiple of arena->alignment: the offset is
                rounded up before the request is placed, and needed is its end. 256 is the alignment
                of the lesson's own arenas, but another arena may have another alignment at the same
                time.
                Happened: {wrong}""")


def unpadded(limit, size):
    """(does it fit, why, the request) of each request that needs no padding."""
    ends = """a request that would end past the limit does not fit. What is needed already counts
        toward the limit, too."""
    largest = """a request of SIZE_MAX bytes does not fit. Compare without a sum: past SIZE_MAX,
        offset + bytes wraps around to a small number."""
    many = "an arena takes REQUESTS requests. One more is refused, however few bytes it is for."
    committed = """after the commit there is no room to place anything: a request is refused until
        the reset."""
    return [
        (0, ends, (limit - 100, size)),
        (1, "a request that ends exactly at the limit fits.", (limit, 0, "0 requests")),
        (1, "a request for no bytes fits wherever another begins within the limit.", (0, size)),
        (0, largest, (SIZE_MAX, size)),
        (0, many, (1, size, "16 requests")),
        (0, committed, (1, size, "3 requests, committed")),
    ]


def padded(limit, alignment, size):
    """The same of those that need padding, which depends on where the arena aligns."""
    past = """a request that would begin past the limit does not fit. Compare the offset with the
        limit first, because otherwise limit - offset wraps around to a huge number."""
    rest = limit - rounded_up(size, alignment)
    return [
        (1, "a request that ends exactly at the limit fits, padding included.", (rest, size)),
        (0, "the padding in front of a request counts toward the limit, too.", (rest + 1, size)),
        (0, past, (size, limit - 1)),
        (0, past, (1, limit)),
    ]


def test_limit(check):
    arenas, size, run = want(check)
    for asked, answers in run.answers.items():
        if asked.startswith("request ") and answers[0].startswith("0 "):
            if changed(check):
                check.after(test_kept)
            miss(f"""an arena takes REQUESTS requests, and all that fit its limit, which is SIZE_MAX
                bytes here. Happened: {asked} was refused, in an arena with room for it.""")
    for alignment, limit in arenas:
        for requests in (unpadded(limit, size), padded(limit, alignment, size)):
            for answer, why, request in requests:
                if wrong := run.wrong({question(limit, alignment, *request): answer}):
                    if answer:
                        check.after(test_places)  # who needs more than a request has room for less
                    miss(f"{why} Happened: {wrong}")
            check.after(test_places)  # who aligns in another way has another padding
        if wrong := run.wrong({question(SIZE_MAX, alignment, 1, SIZE_MAX - 3): 0}):
            miss(f"""a request whose offset would be rounded up past SIZE_MAX does not fit: the sum
                wraps around there, so the rounded offset is below needed.
                Happened: {wrong}""")


def changed(check):
    """A sentence about a refused request that has changed the arena, or ""."""
    arenas, size, run = want(check)
    for alignment, limit in arenas:
        for answer, _, request in unpadded(limit, size) + padded(limit, alignment, size):
            asked = question(limit, alignment, *request)
            if answer or run.answers.get(asked) == ["1"]:
                continue  # it was placed, rightly or not
            count = request[2].split()[0] if len(request) > 2 else "3"
            kept = {f"reading needed and count after {asked}": f"{request[1]} and {count}"}
            if wrong := run.wrong(kept):
                return wrong
    return ""


@met_by_starter
def test_kept(check):
    if wrong := changed(check):
        miss(f"""a refused request changes nothing in the arena: make every comparison before the
            first change.
            Happened: {wrong}""")


# ---- frames ----


def frames(check, scene, *more):
    """(the run of a scene of frames, whose hazards the rule judges, two numbers of ints)."""
    small = check.draw("first", 300, 50000)
    large = small + check.draw("more", 1000, 90000)
    limit = check.draw("room", 2, 40) << 20
    given = [scene, small, large, limit, *more]
    return check.ask(RETURNS, *given, hazards=True, **LATE), small, large


@met_by_starter
def test_kept_memory(check):
    huge = check.draw("more than 4 GiB", 1 << 30, 3 << 29)  # no int and no unsigned holds its bytes
    run, small, large = frames(check, "commit", huge)
    journal = run.journal
    for kind, calls, more in (
        ("device", (*ALLOCATE, "cudaMalloc"), huge),
        ("pinned", ("cudaMallocHost", "cudaHostAlloc"), 0),
    ):
        needed = [rounded_up(4 * size, 256) + 400 for size in (small, large + more)]
        made = journal.ok(*calls).column("bytes")
        if made != needed:
            miss(f"""an arena of {kind} memory allocates {needed[0]} bytes for its first frame,
                nothing for the second, which needs less, and {needed[1]} bytes for the third.
                Happened: it allocated {", ".join(map(str, made)) or "nothing"} bytes.""")
    if run.answer("pointers that a reset has left") != "0":
        miss("""arena_reset sets each pointer that it knows to NULL, as at the start: what it points
            at belongs to other requests from then on.
            Happened: a pointer still had its old value after arena_reset.""")
    if journal.ok("cudaMalloc"):
        miss("""device memory comes from a pool, with cudaMallocAsync, as in the starter.
            Happened: it came from cudaMalloc.""")


def stream_of(line):
    """The stream of a call as the harness passes it, or the host."""
    number = line.get("stream")
    return f"stream[{number - 1}]" if isinstance(number, int) else number or "the host"


def hazard_words(run):
    """The first hazard, and what the later stream had waited for."""
    hazard = run.journal.hazards.first
    if hazard is None:
        return ""
    calls = run.journal.numbered
    ends = [calls[hazard[end]] for end in ("earlier", "later") if end in hazard]
    words = " and ".join(f"{x['call']} in {stream_of(x)}" for x in ends)
    waited = []
    for line in run.journal.ok("cudaStreamWaitEvent").between(ends[0], ends[-1]):
        record = run.journal.ok("cudaEventRecord").where(event=line["event"]).before(line).last
        if record and stream_of(line) == stream_of(ends[-1]):
            waited.append(stream_of(record))
    events = f"an event of {' and of '.join(waited)}" if waited else "no event"
    return f"""{hazard["kind"]}: {words}; between them {stream_of(ends[-1])} was made to wait for
        {events}."""


def crossed(check, early):
    """Of three pairs of frames stream[early] works in the first, the other stream in the second."""
    run, *_ = frames(check, "cross", early)
    if run.journal.hazards:
        miss(f"""what stream[{early}] did in a frame comes before what stream[{1 - early}] does in
            the next: the arena hands out the same bytes. An event that arena_reset records in a
            stream says what that stream had to do until then, and another stream can wait for the
            event.
            Happened: {hazard_words(run)}""")


def test_second_first(check):
    crossed(check, 1)


def test_first_second(check):
    check.after(test_second_first)  # one event for both streams is one mistake
    crossed(check, 0)


def test_grow(check):
    check.after(test_second_first, test_first_second)
    run, *_ = frames(check, "grow")
    if run.journal.hazards:
        miss(f"""arena_grow frees the old memory in stream[0], so stream[0] must have waited for
            what stream[1] did with it, before the free and not after it.
            Happened: {hazard_words(run)}""")


def test_host(check):
    run, *_ = frames(check, "host")
    hazards = run.journal.hazards
    if run.journal.ok("cudaEventSynchronize"):
        check.after(test_second_first, test_first_second)  # the host waits: for which records?
    if hazards:
        earlier = set(hazards.column("earlier"))
        read = run.journal.ok("cudaMemcpyAsync").where(number=earlier)
        streams = " and of ".join(sorted(set(map(stream_of, read)))) or "no stream"
        miss(f"""after the commit of pinned memory the host writes there. A store is no call, and no
            stream orders it: the host itself waits for both events, in arena_commit.
            Happened: the host wrote while the copy of {streams} could still be reading.""")


def marked(journal, number):
    """What comes after the harness's mark, a memset of so many bytes."""
    return journal.after(journal.ok("cudaMemsetAsync").where(bytes=number, stream=3).first)


def test_waits(check):
    check.after(test_second_first, test_first_second, test_host)
    journal = frames(check, "cross", 1)[0].journal
    fills = journal.ok("launch_fill")
    pairs = zip(fills[0:6:2], fills[1:6:2])
    found = Journal(x for pair in pairs for x in journal.between(*pair).waits)
    grows = frames(check, "grow")[0].journal
    fills = grows.ok("launch_fill")
    found += grows.between(fills[1], fills[2]).waits if len(fills) > 2 else []
    if found:
        miss(f"""for device memory the host waits neither in arena_reset nor in arena_commit: a
            stream can wait for the other one.
            Happened: the host waited in {found.names}{line_of(found[0])}.""")
    journal = frames(check, "host")[0].journal
    reset = marked(journal, 1)
    commit = marked(reset, 2)
    found = reset.before(commit[0]).waits
    if found:
        miss(f"""arena_reset does not make the host wait. If the work is not over, the host waits at
            the commit.
            Happened: in arena_reset the host waited in {found.names}{line_of(found[0])}.""")
    found = commit.before(marked(commit, 3)[0]).waits
    if found:
        miss(f"""the commit of an arena waits for what the streams had to do when that arena was
            reset, not for the frame of another arena: with two in turn, the host is a frame ahead.
            Happened: the host waited in {found.names}{line_of(found[0])}, at the first commit of
            a second arena of pinned memory.""")
    expect_no_asking(journal, "arena_commit waits for both events, in a call.")
    check.after(test_kept_memory)
    run = frames(check, "beside")[0]
    ran, fills = run.journal.ran, run.journal.ok("launch_fill")
    for last, new in zip(fills, fills[1:]):
        at_reset = last["bytes"] == 8 != new["bytes"]
        if at_reset and ran[new["number"]]["start"] >= ran[last["number"]]["finish"]:
            miss(f"""after the reset, a stream gets work that does not use the arena. The other
                stream does not wait for that work. Record the events in arena_reset.
                Happened: the frame in {stream_of(new)} began only when that work had ended.""")


def test_prints(check):
    check.after()
    check.expect_recorded(3)
    check.expect_read("numbers are correct")
    run = check.run(SIM_SCHEDULE="late")
    check.expect_clean(run)
    frames = run.journal.before(run.journal.ok("launch_add").last)
    expect_streams(frames, 2)
    if wait := frames.calls("cudaStreamSynchronize", "cudaDeviceSynchronize").first:
        miss(f"""a frame leaves its work in both streams, as at the start, and the next one begins:
            the events of the arena order them.
            Happened: between two frames the host waited in {wait["call"]}{line_of(wait)}.""")
