/* Records what may still be added to a graph that has been instantiated: nodes and edges, in graphs
 * with memory nodes and without. */
#include "graphs.h"

static cudaGraph_t g;
static cudaGraphExec_t x;
static cudaGraphNode_t allocated, set, node;
static void *a;

/* A graph that allocates and sets, and has an executable graph. */
static void allocating(int with_free)
{
    g = new_graph();
    allocated = alloc_node(g, NULL, MiB, &a);
    struct cudaMemsetParams params = memset_params(a, 1, MiB);
    RECORD(cudaGraphAddMemsetNode(&set, g, &allocated, 1, &params));
    if (with_free)
        free_node(g, set, a);
    RECORD(cudaGraphInstantiate(&x, g, 0));
}

/* Adds one of each kind, the free last. */
static void add_all(void)
{
    struct cudaMemsetParams params = memset_params(m, 1, 4);
    struct cudaMemAllocNodeParams memory = {.poolProps = device_props(), .bytesize = MiB};
    cudaGraphNode_t first = NULL, second = NULL, copy;
    RECORD(cudaGraphAddEmptyNode(&first, g, NULL, 0));
    RECORD(cudaGraphAddEmptyNode(&second, g, NULL, 0));
    if (first && second)
        RECORD(cudaGraphAddDependencies(g, &first, &second, NULL, 1));
    RECORD(cudaGraphAddMemsetNode(&node, g, NULL, 0, &params));
    RECORD(cudaGraphAddMemcpyNode1D(&copy, g, NULL, 0, m, m, 4, cudaMemcpyDeviceToDevice));
    RECORD(cudaGraphAddMemAllocNode(&node, g, NULL, 0, &memory));
    NOTE("an address %d", memory.dptr != NULL);
}

CASE(to_allocation)
{
    allocating(0);
    RECORD(cudaGraphAddMemFreeNode(&node, g, &set, 1, a));
    add_all();
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
}

CASE(to_allocation_an_edge)
{
    cudaGraphNode_t other = NULL;
    g = new_graph();
    allocated = alloc_node(g, NULL, MiB, &a);
    RECORD(cudaGraphAddEmptyNode(&other, g, NULL, 0));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD(cudaGraphAddDependencies(g, &allocated, &other, NULL, 1));
}

CASE(to_allocation_and_free)
{
    allocating(1);
    add_all();
}

CASE(to_allocation_launched)
{
    allocating(0);
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
    RECORD(cudaGraphAddMemFreeNode(&node, g, &set, 1, a));
    add_all();
}

CASE(to_allocation_exec_destroyed)
{
    allocating(0);
    RECORD(cudaGraphExecDestroy(x));
    RECORD(cudaGraphAddMemFreeNode(&node, g, &set, 1, a));
    add_all();
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
}

CASE(to_plain)
{
    struct cudaMemsetParams params = memset_params(m, 1, 4);
    g = new_graph();
    RECORD(cudaGraphAddMemsetNode(&set, g, NULL, 0, &params));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    add_all();
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
}

CASE(captured_to_allocation)
{
    allocating(0);
    RECORD(cudaStreamBeginCaptureToGraph(s, g, &set, NULL, 1, RELAXED));
    RECORD(cudaMemsetAsync(m, 1, 4, s));
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaStreamEndCapture(s, &g));
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
