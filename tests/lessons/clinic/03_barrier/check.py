"""Clinic, case 3: one stream waits for all workers, and the host for none."""

from check import expect


def test_ends_well(check):
    "no hazard, exit status 0 and nothing left, under five schedules"
    check.ends_well()


def test_host_goes_on(check):
    "the collecting stream waits at the barrier, and the host does not"
    run = check.run(SIM_SCHEDULE="late", SIM_IDLE="off")
    added = run.journal.ok("launch_add").last
    expect(added, "the workers add (launch_add), as at the start.", "nothing was added.", run)
    after = run.journal.after(added)
    copy = after.ok("cudaMemcpyAsync", "cudaMemcpy").first
    expect(
        copy,
        "what the workers added is copied to the host, as at the start.",
        "no copy came after the last addition.",
        run,
    )
    # A copy to ordinary memory makes the host wait: that is not the barrier's wait.
    waits = [x for x in after.before(copy) if x.get("acquired")]
    names = [x["call"] for x in after if "call" in x and "did" not in x][:6]
    expect(
        not waits,
        """between the last addition and the first copy no call in which the host waits: a barrier
        makes one stream wait.""",
        f"after the additions came {', '.join(names)}.",
        run,
    )


def test_output(check):
    "it prints what the repaired program printed on a device"
    check.after_the_rest()
    check.prints_what_is_right()
