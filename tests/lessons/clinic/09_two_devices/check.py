"""Clinic, case 9: device 1 gets access to the pool of device 0."""

from check import met_by_starter, miss


@met_by_starter
def test_both_devices(case):
    fills = case.run().journal.ok("launch_fill")
    streams = [str(x["stream"]) for x in fills]
    memory = {x["allocation"] for x in fills}
    if (len(fills), len(set(streams)), len(memory)) != (2, 1, 2):
        miss(f"""the collective operation stays one of device 1: both fills in its stream, one of
            them into the memory of device 0.
            Happened: fills in the streams {", ".join(streams)}.""")
