"""Clinic, case 7: the graph frees its scratch memory, after the forked stream."""

from check import miss


def test_ends_well(case):
    "no hazard, exit status 0 and nothing left, under five schedules"
    case.ends_well()


def test_graph_frees(case):
    "the graph frees both of its allocations"
    done = [x["did"] for x in case.run().journal if "launch" in x and "did" in x]
    taken, freed = done.count("allocate"), done.count("free")
    if (taken, freed) != (2, 2):
        miss(f"""a graph with two allocation nodes, and a free node for each: a graph that leaves
            memory allocated cannot be launched again before that is freed.
            Happened: in its launch the graph allocated {taken} times and freed {freed} times.""")


def test_output(case):
    "it prints what the repaired program printed on a device"
    case.after(test_ends_well)
    case.prints_what_is_right("filled with")
