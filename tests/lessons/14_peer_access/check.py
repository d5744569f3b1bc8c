"""Lesson 14: which GPU has an allocation, who may use it, how to copy it without access.

The two kernels without access run in processes of their own, each with a journal of its own. Each
faults, as it should, and the simulated device says so on stderr."""

from check import Miss, expect, read_journal, visible

READ_WRITE, COUNT = 3, 1 << 18
FAULT = "simulated device: illegal address: a kernel (add, "


def run_lesson(check, **environment):
    """A run, without the words about the two faults that belong to it."""
    run = check.run(**environment)
    run.errors = "\n".join(x for x in run.errors.splitlines() if not x.startswith(FAULT))
    return run


def changes(journal):
    return journal.calls("cudaMemPoolSetAccess")


def listed(journal):
    def words(line):
        what = "no change"
        if "device" in line:
            what = f"GPU {line['device']} " + (
                "gets access" if line["value"] == READ_WRITE else "loses it"
            )
        failed = line.get("result", "the program ended there")
        return f"pool {line.get('pool')}, {what}" + (
            "" if failed == "cudaSuccess" else f" ({failed})"
        )

    found = "; ".join(words(line) for line in changes(journal))
    return (
        f"cudaMemPoolSetAccess was called for: {found}."
        if found
        else ("cudaMemPoolSetAccess was not called.")
    )


def ask_access(check, owner, gpu, **environment):
    return check.ask(
        """set_access(pool, owner, gpu, allowed) works for the pool and the GPUs that
        it is given.""",
        "access",
        owner,
        gpu,
        **environment,
    )


def ask_to_the_end(check, owner, gpu, **environment):
    """The same, and why it ended early, else None: its journal shows the cause."""
    try:
        return ask_access(check, owner, gpu, **environment), None
    except Miss as why:
        if "called by the check" not in str(why):
            raise
        return check.last, why


def answer(run, pool, owner, gpu, allowed):
    question = f"set_access({pool} pool of GPU {owner}, {owner}, {gpu}, {allowed})"
    return question, (run.answers.get(question) or ["no answer"])[0]


# ---- the rules ----


def test_place(check):
    "each allocation is on its GPU"
    journal = run_lesson(check).journal
    gpus = {x["pool"]: x.get("device", 0) for x in journal.ok("cudaMemPoolCreate")}
    made = journal.ok("cudaMallocAsync", "cudaMallocFromPoolAsync").where(bytes=4 * COUNT)
    on = [gpus.get(x["pool"], x["pool"]) for x in made]
    expect(
        1 in on and 0 in on,
        """gpu1_data is on GPU 1. cudaMallocAsync takes the GPU of the
        stream, whichever GPU is current (YOUR WORK, 3 of 3).""",
        f"the allocations are on GPUs {', '.join(map(str, on)) or 'none'}, in their order.",
    )


def test_processes(check):
    "each kernel without access has a process of its own"
    run = run_lesson(check)
    if "cudaErrorInitializationError" in run.errors:
        raise Miss(
            "Expected: a program that is started again for each of the two kernels.",
            "Happened: cudaErrorInitializationError. In a child of fork no CUDA call works "
            "once its parent has made one.",
            run=run,
        )
    kernels = []
    for path in run.files[1:]:
        lines = read_journal(path)
        peers = "with peers enabled " if lines.calls("cudaDeviceEnablePeerAccess") else ""
        faulted = lines.where(result="cudaErrorIllegalAddress")
        kernels.append(f"{peers}the kernel {'faulted' if faulted else 'ran'}")
    expect(
        sorted(kernels) == ["the kernel faulted", "with peers enabled the kernel faulted"],
        """GPU 1 runs two kernels without access, each in a process of its own: after a fault no
           call of its process works.""",
        f"in processes of their own: {', '.join(kernels) or 'none'}.",
        run,
    )


def test_fetch(check):
    "the fetch copies without access"
    first, second = check.draw("first", 100, 1000000), check.draw("second", -1000000, -100)
    run = check.ask(
        "fetch copies gpu0_data to gpu1_data; it takes no argument.",
        "fetch",
        first,
        second,
        hazards=True,
    )
    peer = run.journal.calls("cudaMemcpyPeerAsync", "cudaMemcpyPeer")
    refused = [x for x in peer if x.get("result") not in (None, "cudaSuccess")]
    expect(
        not refused,
        """cudaMemcpyPeerAsync takes the destination and its GPU, 1, then the source
        and its GPU, 0. The GPU that is named for an allocation must have access to it.""",
        lambda: f"{refused[0]['call']} returned {refused[0]['result']}.",
        run,
    )
    expect(
        run.status != 3,
        """the copy is ordered with the work before it and after it: all that
        the program does with gpu1_data is in stream[1].""",
        "called by the check, it had a hazard.",
        run,
    )
    grants = changes(run.journal).where(value=READ_WRITE)
    expect(
        not grants,
        "fetch gives no access: there are copies that need none.",
        lambda: listed(run.journal),
        run,
    )
    wanted = {}
    for i in range(2):
        wanted[f"fetch {i + 1}"] = "cudaSuccess"
        for at in range(4):
            index = at // 2 * COUNT // 2 + at % 2 * (COUNT // 2 - 1)
            wanted[f"gpu1_data[{index}] after fetch {i + 1}"] = (second if at > 1 else first) + i
    check.expect_answers(
        f"""fetch copies all of gpu0_data to gpu1_data while GPU 1 has no access:
        with cudaMemcpyPeerAsync, which needs none, or through the host (YOUR WORK, 2 of 3). Here
        gpu0_data was filled with {first} and {second}, then with 1 more.""",
        run,
        wanted,
    )
    journal = run_lesson(check).journal
    grants = changes(journal).where(value=READ_WRITE, result="cudaSuccess")
    expect(
        len(grants) < 2,
        "access is given once, by try_all. The fetch needs none.",
        lambda: listed(journal),
        check.last,
    )


def test_gives(check):
    "set_access gives GPU 1 access to the pool of GPU 0"
    run, why = ask_to_the_end(check, 0, 1)
    journal, made = run.journal, changes(run.journal)
    expect(
        not journal.calls("cudaDeviceEnablePeerAccess"),
        """set_access changes the access of the
        pool. cudaDeviceEnablePeerAccess is for memory of cudaMalloc, and for no pool: see the row
        "kernel, peers enabled" (YOUR WORK, 1 of 3).""",
        lambda: "cudaDeviceEnablePeerAccess was called. " + listed(journal),
        run,
    )
    expect(
        not made.where(result="cudaErrorNotSupported"),
        """GPU 1 may read and write:
        cudaMemAccessFlagsProtReadWrite. A pool has no access for reading alone.""",
        lambda: listed(journal),
        run,
    )
    grants = made.where(value=READ_WRITE)
    expect(
        grants.first and grants.first["pool"] == 0,
        """the pool whose access changes is the one
        that has the allocation, here the pool of GPU 0 (cudaMemPoolSetAccess).""",
        lambda: listed(journal),
        run,
    )
    expect(
        grants.first["device"] == 1,
        """the location in cudaMemAccessDesc is the GPU that gets
        access, GPU 1. GPU 0 has access to its own memory without a call.""",
        lambda: listed(journal),
        run,
    )
    if why:
        raise why
    question, got = answer(run, "default", 0, 1, 1)
    expect(
        got == "1",
        "set_access returns 1 where the GPU can reach the memory of the owner.",
        f"{question} returned {visible(got)}.",
        run,
    )


def test_takes(check):
    "set_access(..., 0) takes the access away"
    check.after(test_gives)
    run = ask_access(check, 0, 1)
    last = changes(run.journal).where(pool=0, device=1).last
    expect(
        last["value"] == 0,
        """with allowed 0 set_access takes the access away:
        cudaMemPoolSetAccess for GPU 1 with cudaMemAccessFlagsProtNone.""",
        lambda: listed(run.journal),
        run,
    )


def test_others(check):
    "set_access serves other GPUs and other pools, too"
    check.after(test_gives, test_takes)
    gpu = check.choose("gpu", (0, 2, 3))  # main has GPU 1
    owner = check.choose("owner", [x for x in (0, 2, 3) if x != gpu])
    run = ask_access(check, owner, gpu, SIM_DEVICES=4)
    wanted = [(owner, gpu, READ_WRITE), (4, gpu, READ_WRITE), (owner, gpu, 0)]
    made = [(x["pool"], x.get("device"), x.get("value")) for x in changes(run.journal)]
    expect(
        made == wanted,
        f"""of two pools of GPU {owner}, {owner} (its default pool) and 4, first
        one and then the other is opened to GPU {gpu}, and then the first is closed: set_access
        changes the pool that it is given, for the GPU that it is given.""",
        lambda: listed(run.journal),
        run,
    )
    expect(
        not [x for x in changes(run.journal) if x["result"] != "cudaSuccess"],
        "each change of access succeeds.",
        lambda: listed(run.journal),
        run,
    )


def test_reach(check):
    "where GPU 1 cannot reach GPU 0 (SIM_PEERS=off) set_access returns 0"
    run, why = ask_to_the_end(check, 0, 1, SIM_PEERS="off")
    asked = run.journal.calls("cudaDeviceCanAccessPeer")
    expect(
        asked,
        "set_access calls cudaDeviceCanAccessPeer: only the device reports what it can reach.",
        "cudaDeviceCanAccessPeer was not called.",
        run,
    )
    expect(
        asked.where(device=1, peer=0),
        """cudaDeviceCanAccessPeer takes the GPU that is to have
        access first, here GPU 1, and then the one whose memory it is: the answer is about one
        direction.""",
        lambda: f"""it was called for GPU {asked[0]["device"]} and the memory of GPU
        {asked[0]["peer"]}.""",
        run,
    )
    made = changes(run.journal)
    expect(
        not made,
        """set_access calls cudaDeviceCanAccessPeer first, and gives no access where it
        reports 0.""",
        lambda: listed(run.journal)
        + " cudaDeviceCanAccessPeer "
        + (
            "had reported 0 before that."
            if asked[0]["n"] < made[0]["n"]
            else "was called after that."
        ),
        run,
    )
    if why:
        raise why
    for owner, gpu in ((0, 1), (1, 0)):  # SIM_PEERS=lower: GPU 1 reaches GPU 0 alone
        run = ask_access(check, owner, gpu, SIM_PEERS="lower")
        question, got = answer(run, "default", owner, gpu, 1)
        right = int(gpu > owner)
        expect(
            got == str(right),
            """where only one of two GPUs reaches the other
            (SIM_PEERS=lower), set_access goes by the direction that it is asked about.""",
            f"{question} returned {visible(got)}. It is {right}.",
            run,
        )
    check.expect_status(
        run_lesson(check, SIM_PEERS="off"),
        77,
        "without access the lesson ends as skipped: exit status 77.",
    )


def test_output(check):
    "it prints what two real GPUs print"
    check.after_the_rest()
    check.expect_right(run_lesson(check))


def test_one_gpu(check):
    "with one GPU it says why it is skipped, and ends with status 77"
    run = run_lesson(check, SIM_DEVICES=1)
    check.expect_status(run, 77, "with one GPU the lesson is skipped: exit status 77.")
    expect(
        run.output.startswith("skipped:"),
        'a line that begins with "skipped:".',
        visible(run.output),
        run,
    )
