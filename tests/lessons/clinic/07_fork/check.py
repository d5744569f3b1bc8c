"""Clinic, case 7: the graph frees its scratch memory, after the forked stream."""

from check import expect_streams, met_by_starter, miss
from clinic import test_ends_well


@met_by_starter
def test_graph_frees(case):
    done = [x["did"] for x in case.run().journal if "launch" in x and "did" in x]
    taken, freed = done.count("allocate"), done.count("free")
    if (taken, freed) != (2, 2):
        miss(f"""a graph with two allocation nodes, and a free node for each: a graph that leaves
            memory allocated cannot be launched again before that is freed.
            Happened: in its launch the graph allocated {taken} times and freed {freed} times.""")
    calls = case.run().journal
    second = calls.ok("cudaMallocAsync").last
    if not calls.ok("cudaGraphAddMemFreeNode", "cudaFreeAsync").before(second):
        miss("""the scratch memory is freed where its last use is captured, as at the start, and
            then the table is allocated: so the graph need not hold both.
            Happened: nothing was freed before the second allocation.""")


@met_by_starter
def test_not_undone(case):
    expect_streams(case.run().journal, 2)


def test_called(case):
    case.after(test_ends_well)
    case.expect_called(
        sentence="""memory is freed after its last use, in whichever stream that was. The check uses
        it last in the capturing stream, which has joined the forked stream before."""
    )


def test_output(case):
    case.after(test_ends_well)
    case.prints_what_is_right("filled with")
