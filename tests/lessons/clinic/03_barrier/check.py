"""Clinic, case 3: one stream waits for all workers, and the host for none."""

from check import LATE, met_by_starter, miss


def test_ends_well(check):
    check.ends_well()


@met_by_starter
def test_host_goes_on(check):
    run = check.run(**LATE)
    added = run.journal.ok("launch_add").last
    if not added:
        miss("the workers add (launch_add), as at the start. Happened: nothing was added.")
    after = run.journal.after(added)
    copy = after.copies.first
    if not copy:
        miss("""what the workers added is copied to the host, as at the start.
            Happened: no copy came after the last addition.""")
    # A copy to ordinary memory makes the host wait: that is not the barrier's wait.
    waits = [x for x in after.before(copy) if x.get("acquired")]
    names = [x["call"] for x in after if "call" in x and "did" not in x][:6]
    if waits:
        miss(f"""between the last addition and the first copy no call in which the host waits: a
            barrier makes one stream wait.
            Happened: after the additions came {", ".join(names)}.""")


def test_output(check):
    check.after()
    check.prints_what_is_right()
