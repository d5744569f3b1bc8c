/* 20 Graph memory
 *
 * Question: One graph is captured from a stream, another is built node by node, and both allocate.
 *   When does a launch take memory from the device, who frees it, and which call returns it?
 * Task (fix): two places, marked YOUR WORK. A node frees what the built graph allocates. At the end
 *   nothing is reserved, neither for graphs nor in the pool. The comments in quotation marks are
 *   what the author believed.
 * Calls: cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph,
 *                                const cudaGraphNode_t *after, size_t count, void *memory),
 *        or cudaGraphAddNode, which adds nodes of every kind;
 *        cudaStreamSynchronize(cudaStream_t stream); cudaDeviceGraphMemTrim(int device)
 * Run:   make 20          Check: make check-20          Page: docs/20_graph_memory
 */
#include "kernels.h"
#include "workbook.h"

static size_t report(const char *what, cudaMemPool_t pool)
{
    uint64_t graphs = 0;
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &graphs));
    printf("%-24s for graphs %4zu MiB   default pool %4zu MiB\n", what, (size_t)graphs / MiB,
           reserved_mib(pool));
    return (size_t)graphs / MiB + reserved_mib(pool);
}

/* Six nodes, in the order of the calls. The addresses are known at once. */
static cudaGraphExec_t capture(int *counter, size_t mib, cudaStream_t stream)
{
    int *first, *second;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&first, mib * MiB, stream));
    CHECK(launch_fill(first, 1, mib * MiB / sizeof(int), stream));
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaMallocAsync((void **)&second, mib * MiB, stream));
    /* Memory of the pool, allocated before the launches and freed after them. */
    CHECK(launch_add(counter, 1, 1, stream));
    CHECK(cudaFreeAsync(second, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    printf("captured: the second allocation has %s address\n",
           first == second ? "the same" : "another");
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph)); /* the executable graph stays */
    return exec;
}

/* By hand: each call names the nodes that the new node comes after. */
static cudaGraphExec_t build(size_t mib)
{
    struct cudaMemAllocNodeParams memory = {0};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.poolProps.location.id = 0;
    memory.bytesize = mib * MiB;
    cudaGraph_t graph;
    cudaGraphNode_t allocated, set;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, NULL, 0, &memory));
    struct cudaMemsetParams zero = {
        .dst = memory.dptr, .elementSize = 1, .width = mib * MiB, .height = 1};
    CHECK(cudaGraphAddMemsetNode(&set, graph, &allocated, 1, &zero));
    /* YOUR WORK, 1 of 2. "What a launch allocates is freed when the launch ends." */
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 64);
    int *counter, value = -1;
    cudaStream_t stream;
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    /* A synchronization returns nothing of the pool. */
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    CHECK(cudaMallocAsync((void **)&counter, sizeof *counter, stream));
    CHECK(cudaMemsetAsync(counter, 0, sizeof *counter, stream));

    cudaGraphExec_t captured = capture(counter, mib, stream), built = build(mib);
    report("instantiated", pool);
    CHECK(cudaGraphLaunch(captured, stream));
    report("captured graph launched", pool);
    CHECK(cudaGraphLaunch(built, stream));
    report("built graph launched", pool);
    CHECK(cudaGraphLaunch(captured, stream));
    CHECK(cudaMemcpyAsync(&value, counter, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(counter, stream));
    cudaError_t again = cudaGraphLaunch(built, stream);
    printf("built graph launched again: %s\n", cudaGetErrorName(again));

    /* YOUR WORK, 2 of 2. "One trim returns all memory that the device reserves, and takes what is
     * free without a synchronization." The line "pool trimmed" must show what the trim of the
     * pool leaves. The host waits once, and no call is made twice. */
    CHECK(cudaMemPoolTrimTo(pool, 0));
    report("pool trimmed", pool);
    CHECK(cudaStreamSynchronize(stream));
    size_t left = report("at the end", pool);
    printf("the captured graph counted to %d\n", value);

    CHECK(cudaGraphExecDestroy(captured));
    CHECK(cudaGraphExecDestroy(built));
    CHECK(cudaStreamDestroy(stream));
    return again == cudaSuccess && value == 2 && left == 0 ? 0 : 1;
}
