/* The review of the book's fourth part (docs/rules/other_memory.rst): a pool of the host's memory
 * that is current, a graph with an allocation of its own, and who holds what in the end. */
#include "kernels.h"
#include "workbook.h"

static size_t for_graphs(void)
{
    uint64_t bytes = 0;
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &bytes));
    return bytes / MiB;
}

static cudaGraphExec_t capture(cudaStream_t stream, size_t mib)
{
    int *data;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&data, mib * MiB, stream));
    CHECK(launch_fill(data, 1, mib * MiB / sizeof(int), stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

int main(void)
{
    void *data;
    cudaMemPool_t host, pool;
    cudaStream_t stream;
    struct cudaPointerAttributes where;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeHost, 0}};
    struct cudaMemLocation place = {cudaMemLocationTypeHost, 0};
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemPoolCreate(&host, &props));
    CHECK(cudaMemSetMemPool(&place, cudaMemAllocationTypePinned, host));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);

    CHECK(cudaMallocAsync(&data, 64 * MiB, stream));
    CHECK(cudaPointerGetAttributes(&where, data));
    printf("cudaMallocAsync, the host pool current: memory of the %s\n",
           where.type == cudaMemoryTypeDevice ? "device" : "host");
    CHECK(cudaFreeAsync(data, stream));

    cudaGraphExec_t exec = capture(stream, 100);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("two launches         pool %3zu MiB, for graphs %3zu MiB\n", reserved_mib(pool),
           for_graphs());
    CHECK(cudaMemPoolTrimTo(pool, 0));
    printf("pool trimmed         pool %3zu MiB, for graphs %3zu MiB\n", reserved_mib(pool),
           for_graphs());
    CHECK(cudaGraphExecDestroy(exec));
    printf("graph destroyed      pool %3zu MiB, for graphs %3zu MiB\n", reserved_mib(pool),
           for_graphs());
    CHECK(cudaDeviceGraphMemTrim(0));
    printf("graph memory trimmed pool %3zu MiB, for graphs %3zu MiB\n", reserved_mib(pool),
           for_graphs());

    CHECK(cudaMemPoolDestroy(host));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
