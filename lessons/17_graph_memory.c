/* 17 Graph memory
 *
 * Shows  while a stream is captured, cudaMallocAsync and cudaFreeAsync only add nodes to a graph.
 *        Each launch of it allocates and frees; the address stays. The memory is no pool's: the
 *        device keeps it apart for all graphs, launches in one stream share it, and
 *        cudaDeviceGraphMemTrim gives it back.
 * Yours  fix: two comments say what the author believed, about the end of a launch and about
 *        trimming. Both are wrong. The built graph must run twice, and at the end nothing may be
 *        reserved, neither for graphs nor in the pool.
 * Run    make 17          check   make check-17          page   docs/17_graph_memory
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

/* Captured: six nodes. Nothing is allocated yet, but the addresses are known. */
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
    /* The pool's block: there before and after each launch. */
    CHECK(launch_add(counter, 1, 1, stream));
    CHECK(cudaFreeAsync(second, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    printf("captured: the second block lies at %s address\n",
           first == second ? "the first one's" : "another");
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph)); /* the executable graph lives on */
    return exec;
}

/* By hand: each node is told which one it comes after. */
static cudaGraphExec_t build(size_t mib)
{
    struct cudaMemAllocNodeParams block = {0};
    block.poolProps.allocType = cudaMemAllocationTypePinned;
    block.poolProps.location.type = cudaMemLocationTypeDevice;
    block.poolProps.location.id = 0;
    block.bytesize = mib * MiB;
    cudaGraph_t graph;
    cudaGraphNode_t allocated, set;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, NULL, 0, &block));
    struct cudaMemsetParams zero = {
        .dst = block.dptr, .elementSize = 1, .width = mib * MiB, .height = 1};
    CHECK(cudaGraphAddMemsetNode(&set, graph, &allocated, 1, &zero));
    /* What a launch allocates is freed when the launch ends. */
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
    /* No synchronise gives anything back. */
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

    /* One trim is for all memory that the device has reserved, and it needs no wait: it takes what
     * is free. */
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
