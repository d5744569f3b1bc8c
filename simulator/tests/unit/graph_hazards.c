/* Graphs in correct or incorrect order, for the checker: graph_hazards CASE correct|incorrect. The
 * correct one ends with 0, and the incorrect one is reported. */
#include "expect.h"

#include "kernels.h"

static cudaStream_t s, t;
static cudaEvent_t event;
static cudaGraph_t graph;
static cudaGraphExec_t exec;
static int *data, *p, *result;
static int correct;
static const size_t COUNT = 1024;

static void fork_to(cudaStream_t from, cudaStream_t to)
{
    OK(cudaEventRecord(event, from));
    OK(cudaStreamWaitEvent(to, event, 0));
}

static void begin(void) { OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); }

static void run(void)
{
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
}

/* Two branches write the same bytes. */
CASE(branches)
{
    begin();
    OK(launch_fill(data, 0, 2 * COUNT, s));
    fork_to(s, t);
    OK(launch_add(data, 1, COUNT, s));
    OK(launch_add(correct ? data + COUNT : data, 2, COUNT, t));
    fork_to(t, s);
    run();
}

/* A branch reads what the other writes. */
CASE(reads)
{
    begin();
    OK(launch_fill(data, 0, COUNT, s));
    if (!correct)
        fork_to(s, t);
    OK(launch_add(data, 1, COUNT, s));
    if (correct)
        fork_to(s, t);
    OK(cudaMemcpyAsync(result, data, 4, cudaMemcpyDeviceToHost, t));
    fork_to(t, s);
    run();
}

/* A branch uses an allocation that the other branch makes. */
CASE(before_allocation)
{
    begin();
    if (!correct)
        fork_to(s, t);
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof *p, s));
    if (correct)
        fork_to(s, t);
    OK(launch_fill(p, 1, COUNT, t));
    fork_to(t, s);
    OK(cudaFreeAsync(p, s));
    run();
}

/* The free does not wait for the branch that uses the memory. */
CASE(free_early)
{
    begin();
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof *p, s));
    fork_to(s, t);
    OK(launch_fill(p, 1, COUNT, t));
    if (correct)
        fork_to(t, s);
    OK(cudaFreeAsync(p, s));
    if (!correct)
        fork_to(t, s);
    run();
}

/* A node uses memory that the graph has freed. */
CASE(after_free)
{
    begin();
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof *p, s));
    OK(launch_fill(p, 1, COUNT, s));
    if (!correct)
        OK(cudaFreeAsync(p, s));
    OK(launch_add(p, 1, COUNT, s));
    if (correct)
        OK(cudaFreeAsync(p, s));
    run();
}

/* A stale address, which the graph's second allocation has now. The branch that uses it is not
 * ordered after that allocation. */
CASE(stale)
{
    int *q;
    begin();
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof *p, s));
    fork_to(s, t);
    if (correct)
        OK(launch_fill(p, 1, COUNT, t));
    fork_to(t, s);
    OK(cudaFreeAsync(p, s));
    OK(cudaMallocAsync((void **)&q, COUNT * sizeof *q, s));
    if (!correct)
        OK(launch_fill(p, 1, COUNT, t));
    OK(launch_fill(q, 2, COUNT, s));
    fork_to(t, s);
    OK(cudaFreeAsync(q, s));
    SAME(1, p == q);
    run();
}

/* A node runs past the end of its allocation. */
CASE(outside)
{
    begin();
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof *p, s));
    OK(launch_fill(p, 1, correct ? COUNT : COUNT + 1, s));
    OK(cudaFreeAsync(p, s));
    run();
}

/* The stream of the launch afterwards, and another one that does not wait for it. */
CASE(beside_the_launch)
{
    begin();
    OK(launch_fill(data, 0, COUNT, s));
    run();
    if (correct)
        fork_to(s, t);
    OK(launch_add(data, 1, COUNT, t));
}

/* The same, with a branch that is not in the launch's own stream. */
CASE(beside_a_branch)
{
    begin();
    OK(launch_fill(data, 0, COUNT, s));
    fork_to(s, t);
    OK(launch_add(data, 1, COUNT, s));
    OK(launch_fill(data + COUNT, 0, COUNT, t));
    fork_to(t, s);
    run();
    if (correct)
        fork_to(s, t);
    OK(launch_add(data + COUNT, 1, COUNT, t));
}

/* An allocation that outlives its graph is freed in a stream that does not wait for the launch. */
CASE(outlives)
{
    begin();
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof *p, s));
    OK(launch_fill(p, 1, COUNT, s));
    run();
    if (correct)
        fork_to(s, t);
    OK(cudaFreeAsync(p, t));
}

/* ... or not at all. */
CASE(leak)
{
    begin();
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof *p, s));
    OK(launch_fill(p, 1, COUNT, s));
    run();
    if (correct)
        OK(cudaFreeAsync(p, s));
}

/* A block of the graph is used after the launch that freed it. */
CASE(after_the_launch)
{
    begin();
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof *p, s));
    OK(launch_fill(p, 1, COUNT, s));
    if (!correct)
        OK(cudaFreeAsync(p, s));
    run();
    OK(launch_add(p, 1, COUNT, s));
    if (correct)
        OK(cudaFreeAsync(p, s));
}

/* Memory of the program is freed between capture and launch. */
CASE(freed_before_launch)
{
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof *p, s));
    begin();
    OK(launch_fill(p, 1, COUNT, s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    if (correct)
        OK(cudaGraphLaunch(exec, s));
    OK(cudaFreeAsync(p, s));
    if (!correct)
        OK(cudaGraphLaunch(exec, s));
}

/* ... and another block has its address by then. */
CASE(taken_over)
{
    int *q;
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof *p, s));
    if (correct)
        OK(cudaFreeAsync(p, s));
    if (correct)
        OK(cudaMallocAsync((void **)&q, COUNT * sizeof *q, s));
    begin();
    OK(launch_fill(p, 1, COUNT, s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    if (!correct)
        OK(cudaFreeAsync(p, s));
    if (!correct)
        OK(cudaMallocAsync((void **)&q, COUNT * sizeof *q, s));
    SAME(1, p == q);
    OK(launch_fill(q, 2, COUNT, s));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaFreeAsync(q, s));
}

/* A graph built by hand, with and without the edge. */
CASE(by_hand)
{
    struct cudaMemsetParams m = {.dst = data, .elementSize = 4, .width = COUNT, .height = 1};
    cudaGraphNode_t one, other;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&one, graph, NULL, 0, &m));
    OK(cudaGraphAddMemcpyNode1D(&other, graph, NULL, 0, result, data, 4, cudaMemcpyDeviceToHost));
    if (correct)
        OK(cudaGraphAddDependencies(graph, &one, &other, NULL, 1));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
}

/* Work before the launch, in its stream or in another. Two nodes of the graph come first. */
CASE(before_the_launch)
{
    struct cudaMemsetParams m = {.dst = data, .elementSize = 4, .width = COUNT, .height = 1};
    cudaGraphNode_t one, other;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&one, graph, NULL, 0, &m));
    m.dst = data + COUNT;
    OK(cudaGraphAddMemsetNode(&other, graph, NULL, 0, &m));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(launch_fill(data + COUNT, 1, COUNT, s));
    OK(cudaGraphLaunch(exec, correct ? s : t));
}

/* Two launches of one executable graph, in two streams, are always ordered. Launches of two
 * executable graphs are not. */
CASE(launched_twice)
{
    cudaGraphExec_t second;
    begin();
    OK(launch_add(data, 1, COUNT, s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphInstantiate(&second, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaGraphLaunch(correct ? exec : second, t));
    OK(cudaGraphExecDestroy(second));
}

/* A free node that no path of edges orders after the allocation. */
CASE(free_first)
{
    struct cudaMemAllocNodeParams m;
    cudaGraphNode_t allocated, freed;
    memset(&m, 0, sizeof m);
    m.poolProps.allocType = cudaMemAllocationTypePinned;
    m.poolProps.location.type = cudaMemLocationTypeDevice;
    m.bytesize = COUNT;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&allocated, graph, NULL, 0, &m));
    OK(cudaGraphAddMemFreeNode(&freed, graph, NULL, 0, m.dptr));
    if (correct)
        OK(cudaGraphAddDependencies(graph, &allocated, &freed, NULL, 1));
    else
        OK(cudaGraphAddDependencies(graph, &freed, &allocated, NULL, 1));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
}

int main(int argc, char **argv)
{
    correct = argc > 2 && !strcmp(argv[2], "correct");
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaMalloc((void **)&data, 2 * COUNT * sizeof *data));
    OK(cudaMallocHost((void **)&result, sizeof *result));
    for (const struct named_case *one = named_cases; one; one = one->next) {
        if (argc < 2)
            puts(one->name);
        else if (!strcmp(argv[1], one->name))
            one->run();
    }
    OK(cudaDeviceSynchronize());
    if (exec)
        OK(cudaGraphExecDestroy(exec));
    if (graph)
        OK(cudaGraphDestroy(graph));
    OK(cudaFree(data));
    OK(cudaFreeHost(result));
    return wrong;
}
