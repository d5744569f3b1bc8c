"""Clinic, case 9: device 1 gets access to the pool of device 0."""

from check import met_by_starter, miss
from clinic import test_ends_well


@met_by_starter
def test_both_devices(case):
    journal = case.run().journal
    fills, made = journal.ok("launch_fill"), journal.allocations
    if not fills:
        case.after(test_ends_well)
    if len(made) < 2:
        miss("""the memory of each device comes from its pool, by cudaMallocAsync: the program has
            switched to pools, and a repair does not switch back.
            Happened: it came from other calls.""")
    pools = {x["pool"]: x.get("device", 0) for x in journal.ok("cudaMemPoolCreate")}
    device = {x["allocation"]: pools.get(x["pool"], x["pool"]) for x in made}
    streams = [str(x["stream"]) for x in fills]
    devices = [device.get(x["allocation"]) for x in fills]
    if len(fills) != 2 or len(set(streams)) != 1 or sorted(devices, key=str) != [0, 1]:
        miss(f"""the collective operation stays one of device 1: both fills in its stream, one of
            them into the memory of device 0.
            Happened: fills in the streams {", ".join(streams)}, into memory of the devices
            {", ".join(map(str, devices))}.""")
