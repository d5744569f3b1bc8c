"""Lesson 14: which GPU has an allocation, who may use it, how to copy it without access.

The two kernels without access run in processes of their own, each with a journal of its own. Each
faults, as it should, and the simulated device says so on stderr."""

from check import (
    ALLOCATE,
    COPY,
    HAZARD_FOUND,
    SUCCESS,
    expect_narrow_wait,
    hazard_words,
    line_of,
    met_by_starter,
    miss,
    read_journal,
    visible,
)

COUNT = 1 << 18
FAULT = "simulated device: illegal address: launch_add ("


def run_lesson(check, **environment):
    """A run, without the words about the two faults that belong to it."""
    run = check.run(**environment)
    run.errors = "\n".join(x for x in run.errors.splitlines() if not x.startswith(FAULT))
    return run


def changes(journal):
    return journal.calls("cudaMemPoolSetAccess")


def opened(journal):
    return changes(journal).that(lambda x: "opened" in x)


def listed(journal):
    def words(line):
        change = [f"GPU {gpu} gets access" for gpu in line.get("opened", [])]
        change += [f"GPU {gpu} loses it" for gpu in line.get("closed", [])]
        change = ", ".join(change) or "no change"
        result = line.get("result", "the program ended there")
        pool = line.get("pool", "NULL, which gpu0_pool is where main did not run")
        return f"pool {pool}, {change}" + f" ({result})" * (result != SUCCESS)

    found = "; ".join(map(words, changes(journal)))
    called = f"called{line_of(changes(journal)[0])} for: {found}" if found else "not called"
    return f"cudaMemPoolSetAccess was {called}."


def ask_access(check, owner, gpu, **environment):
    works = (
        "set_access(pool, owner, gpu, allowed) works for the pool and the GPUs that it is given."
    )
    return check.ask(works, "access", owner, gpu, **environment)


def set_access(owner, gpu, allowed=1):
    return f"set_access(default pool of GPU {owner}, {owner}, {gpu}, {allowed})"


def test_place(check):
    journal = run_lesson(check).journal
    gpus = {x["pool"]: x.get("device", 0) for x in journal.ok("cudaMemPoolCreate")}
    made = journal.ok(*ALLOCATE, "cudaMalloc").where(bytes=4 * COUNT)
    on = [gpus.get(x.get("pool"), x.get("pool")) for x in made]
    if 1 not in on or 0 not in on:
        where = (
            x["call"] + line_of(x) + (", in no pool" if gpu is None else f" on GPU {gpu}")
            for x, gpu in zip(made, on)
        )
        miss(f"""gpu1_data is on GPU 1. cudaMallocAsync takes the GPU of the stream, and
            cudaMallocFromPoolAsync that of the pool, whichever GPU is current (YOUR WORK, 3 of 3).
            Happened: the allocations are those of {", ".join(where) or "no call"}.""")


@met_by_starter
def test_processes(check):
    run = run_lesson(check)
    if "cudaErrorInitializationError" in run.errors:
        miss("""the program is started again for each of the two kernels. Happened:
            cudaErrorInitializationError. After a process has made a CUDA call, no CUDA call works
            in a child that it forks.""")
    kernels = []
    for path in run.files[1:]:
        lines = read_journal(path)
        peers = "with peers enabled " if lines.calls("cudaDeviceEnablePeerAccess") else ""
        faulted = lines.where(result="cudaErrorIllegalAddress")
        kernels.append(f"{peers}the kernel {'faulted' if faulted else 'ran'}")
    if sorted(kernels) != ["the kernel faulted", "with peers enabled the kernel faulted"]:
        miss(f"""GPU 1 runs two kernels without access, each in a process of its own: after a fault
            no call of its process works.
            Happened: in processes of their own: {", ".join(kernels) or "none"}.""")


def test_fetch(check):
    first, second = check.draw("first", 100, 1000000), check.draw("second", -1000000, -100)
    copies = "fetch copies gpu0_data to gpu1_data; it takes no argument."
    run = check.ask(copies, "fetch", first, second, hazards=True)
    peer = run.journal.calls("cudaMemcpyPeerAsync", "cudaMemcpyPeer")
    refused = peer.that(lambda x: x.get("result") not in (None, SUCCESS))
    if refused:
        miss(f"""cudaMemcpyPeerAsync takes the destination and its GPU, 1, then the source and its
            GPU, 0. The GPU that is named for an allocation must have access to it.
            Happened: {refused[0]["call"]} returned {refused[0]["result"]}.""")
    if opened(run.journal):
        miss(f"""fetch gives no access: there are copies that need none.
            Happened: {listed(run.journal)}""")
    if run.status == 3:
        miss(f"""the copy is ordered with the work before it and after it: all that the program does
            with gpu1_data is in stream[1].
            Happened: called by the check, {HAZARD_FOUND}: {hazard_words(run.errors)}""")
    wanted = {}
    for i in range(2):
        wanted[f"fetch {i + 1}"] = "cudaSuccess"
        for at in range(4):
            index = at // 2 * COUNT // 2 + at % 2 * (COUNT // 2 - 1)
            wanted[f"gpu1_data[{index}] after fetch {i + 1}"] = (second if at > 1 else first) + i
    own = run.journal.that(lambda x: x.get("file") != "ask.h")
    copied = own.calls(*COPY, "cudaMemcpyPeerAsync", "cudaMemcpyPeer").first
    if wrong := run.wrong(wanted):
        if copied:
            source = "gpu0_data" if copied.get("source_allocation") == 1 else "other memory"
            wrong += f""" It called {copied["call"]}{line_of(copied)}, for {copied["bytes"]} of
                {4 * COUNT} bytes, from {source}."""
        miss(f"""fetch copies all of gpu0_data to gpu1_data while GPU 1 has no access: with
            cudaMemcpyPeerAsync, which needs none, or through the host (YOUR WORK, 2 of 3). Here
            gpu0_data was filled with {first} and {second}, then with 1 more.
            Happened: {wrong}""")
    moved = own.ok("cudaSetDevice").last
    if moved and moved["device"] != 1:
        miss(f"""fetch leaves current the GPU that was, because its caller goes on with that.
            Happened: GPU 1 was current, and GPU {moved["device"]} is after
            cudaSetDevice{line_of(moved)}.""")
    if copied:
        fails = f"{copied['call']}:1"
        run = check.ask(copies, "fetch", first, second, hazards=True, early=True, SIM_FAIL=fails)
        if run.answer("fetch 1") == SUCCESS and run.wrong(wanted):
            miss(f"""fetch returns what its copy returned.
                Happened: {copied["call"]}{line_of(copied)} failed (SIM_FAIL={fails}), and fetch
                returned cudaSuccess, although gpu1_data had not been copied.""")
    journal = run_lesson(check).journal
    if len(opened(journal)) >= 2 and changes(journal).that(lambda x: "closed" in x):
        miss(f"access is given once, by try_all. The fetch needs none. Happened: {listed(journal)}")


def test_gives(check):
    run = ask_access(check, 0, 1, early=True)
    journal, made = run.journal, changes(run.journal)
    peers = journal.calls("cudaDeviceEnablePeerAccess", "cudaDeviceDisablePeerAccess")
    if peers:
        miss(f"""set_access changes the access of the pool. cudaDeviceEnablePeerAccess is for
            cudaMalloc memory and opens no pool: see the row "kernel, peers enabled" (YOUR WORK, 1
            of 3).
            Happened: {peers.names} was called. {listed(journal)}""")
    if made.where(result="cudaErrorNotSupported"):
        miss(f"""GPU 1 may read and write: cudaMemAccessFlagsProtReadWrite. A pool has no access for
            reading alone.
            Happened: {listed(journal)}""")
    grant = opened(journal).first
    if not grant or grant["pool"] != 0:
        miss(f"""the access of the pool that has the allocation changes, here the pool of GPU 0
            (cudaMemPoolSetAccess).
            Happened: {listed(journal)}""")
    if grant["opened"] != [1]:
        miss(f"""the location in cudaMemAccessDesc is the GPU that gets access, GPU 1. GPU 0 has
            access to its own memory without a call.
            Happened: {listed(journal)}""")
    run.expect_return()
    if wrong := run.wrong({set_access(0, 1): 1}):
        miss(f"""set_access returns 1 if the GPU can reach the memory of the owner. Happened:
            {wrong}""")


def test_takes(check):
    check.after(test_gives)
    run = ask_access(check, 0, 1)
    if not changes(run.journal).where(pool=0).last.get("closed"):
        miss(f"""with allowed 0, set_access takes the access away: cudaMemPoolSetAccess for GPU 1
            with cudaMemAccessFlagsProtNone.
            Happened: {listed(run.journal)}""")
    if wrong := run.wrong({set_access(0, 1, 0): 1}):
        miss(f"""set_access returns 1 if the GPU can reach the memory of the owner, even when it
            takes the access away.
            Happened: {wrong}""")


def test_others(check):
    check.after(test_gives, test_takes)
    gpu = check.choose("gpu", (0, 2, 3))  # main has GPU 1
    owner = check.choose("owner", [x for x in (0, 2, 3) if x != gpu])
    run = ask_access(check, owner, gpu, SIM_DEVICES=4)
    wanted = [(owner, [gpu], None), (4, [gpu], None), (owner, None, [gpu])]
    made = [(x["pool"], x.get("opened"), x.get("closed")) for x in changes(run.journal)]
    if made != wanted:
        miss(f"""set_access changes the pool that it is given, for the GPU that it is given. Here
            GPU {owner} has two pools, {owner} (its default pool) and 4. Both are opened to GPU
            {gpu}, first {owner} and then 4, and then {owner} is closed.
            Happened: {listed(run.journal)}""")
    if set(changes(run.journal).column("result")) != {SUCCESS}:
        miss(f"each change of access succeeds. Happened: {listed(run.journal)}")


def expect_asked(calls, owner, gpu):
    if not calls.where(device=gpu, peer=owner):
        miss(f"""cudaDeviceCanAccessPeer takes the GPU that is to have access first, here GPU {gpu},
            and then the one whose memory it is: the answer is about one direction.
            Happened: it was called for GPU {calls[0]["device"]} and the memory of GPU
            {calls[0]["peer"]}.""")


def test_reach(check):
    run = ask_access(check, 0, 1, early=True, SIM_PEERS="off")
    asked = run.journal.calls("cudaDeviceCanAccessPeer")
    if not asked:
        late = ask_access(check, 0, 1, early=True).journal.calls("cudaDeviceCanAccessPeer")
        happened = f"called{line_of(late[0])}, after the change of access" if late else "not called"
        miss(f"""set_access calls cudaDeviceCanAccessPeer first: only the device reports what it can
            reach.
            Happened: cudaDeviceCanAccessPeer was {happened}.""")
    expect_asked(asked, 0, 1)
    check.after(test_gives)
    made = changes(run.journal)
    if made:
        before = "had reported 0 before that" if asked.before(made[0]) else "was called after that"
        miss(f"""set_access calls cudaDeviceCanAccessPeer first, and gives no access if that reports
            0.
            Happened: {listed(run.journal)} cudaDeviceCanAccessPeer {before}.""")
    run.expect_return()
    for owner, gpu in ((0, 1), (1, 0)):  # SIM_PEERS=lower: GPU 1 reaches GPU 0 alone
        run = ask_access(check, owner, gpu, early=True, SIM_PEERS="lower")
        expect_asked(run.journal.calls("cudaDeviceCanAccessPeer"), owner, gpu)
        run.expect_return()
        if wrong := run.wrong({set_access(owner, gpu): int(gpu > owner)}):
            miss(f"""if only one of two GPUs can reach the other (SIM_PEERS=lower), set_access asks
                about the right direction.
                Happened: {wrong}""")
    run = run_lesson(check, SIM_PEERS="off")
    if run.status in (1, 3):  # it found itself incorrect before it came to that
        check.after(test_place, test_processes, test_fetch)
    check.expect_status(run, 77, "without access the lesson ends as skipped: exit status 77.")


def test_output(check):
    check.after()
    run = run_lesson(check)
    check.expect_right(run)
    expect_narrow_wait(
        run.journal, "the program waits for its two streams alone, as at the start, in try_use."
    )
    check.expect_read("fetch copied #", "with access #")


@met_by_starter
def test_one_gpu(check):
    run = run_lesson(check, SIM_DEVICES=1)
    check.expect_status(run, 77, "with one GPU the lesson is skipped: exit status 77.")
    if not run.output.startswith("skipped:"):
        miss(f'a line that begins with "skipped:". Happened: {visible(run.output)}')
