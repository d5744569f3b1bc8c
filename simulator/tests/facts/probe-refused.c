/* Records what a call that is refused, or has nothing to do, leaves in the streams of two GPUs: a
 * blocking stream is held, the call is made in the legacy stream, and another blocking stream gets
 * a memset. When that is over while the first is held, the call has queued nothing. */
#include "graphs.h"
#include "workbook.h"

static cudaStream_t held, beside;
static void *far_memory, *refused;
static cudaGraphExec_t large;

static void set_up(void)
{
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&far_memory, MiB));
    CHECK(cudaSetDevice(0));
    set_up_process();
    CHECK(cudaMalloc(&m, MiB));
    CHECK(cudaMallocHost((void **)&host, MiB));
    CHECK(cudaStreamCreate(&held));
    CHECK(cudaStreamCreate(&beside));
}

#define BETWEEN(call)                                                                   \
    do {                                                                                \
        hold(held);                                                                     \
        record(#call, (call));                                                          \
        CHECK(cudaMemsetAsync((char *)m + MiB / 2, 0, 4096, beside));                   \
        NOTE("the other stream is %s", soon_over(beside) ? "done" : "behind the hold"); \
        open_gate();                                                                    \
        CHECK(cudaDeviceSynchronize());                                                 \
    } while (0)

int main(void)
{
    size_t free_bytes, total;
    void *memory;
    set_up();
    CHECK(cudaMemGetInfo(&free_bytes, &total));

    /* A graph for whose memory the device has too little. */
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t allocation = alloc_node(graph, NULL, total, &memory);
    free_node(graph, allocation, memory);
    CHECK(cudaGraphInstantiate(&large, graph, 0));

    BETWEEN(cudaGetLastError());
    BETWEEN(cudaMemsetAsync(m, 0, 4096, 0));
    BETWEEN(cudaMemsetAsync(m, 0, 0, 0));
    BETWEEN(cudaMemsetAsync(m, 0, 2 * MiB, 0));
    BETWEEN(cudaMemcpyAsync(m, host, 0, cudaMemcpyHostToDevice, 0));
    BETWEEN(cudaMemcpyAsync(m, host, 2 * MiB, cudaMemcpyHostToDevice, 0));
    BETWEEN(cudaMallocAsync(&refused, 0, 0));
    BETWEEN(cudaMallocAsync(&refused, 2 * total, 0));
    BETWEEN(cudaFreeAsync(NULL, 0));
    BETWEEN(cudaFreeAsync((char *)m + 512, 0));
    BETWEEN(cudaGraphUpload(large, 0));
    BETWEEN(cudaGraphLaunch(large, 0));
    BETWEEN(cudaMemcpyPeerAsync(far_memory, 1, m, 0, 2 * MiB, 0));
    BETWEEN(cudaMemcpyPeer(far_memory, 1, m, 0, 0));
    BETWEEN(cudaMemcpyPeer(far_memory, 1, m, 0, 2 * MiB));
    return 0;
}
