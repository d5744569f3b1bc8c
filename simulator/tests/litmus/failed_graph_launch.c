/* The launch of a graph for whose memory the device has too little queues nothing in the legacy
 * stream: blocking stream b does not wait for a, which is held, and the host can wait for b before
 * it opens the gate.
 *
 * WRONG: b adds to what a has filled, as if the failed launch ordered the two.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int), free_bytes, total_bytes;
    int *data, *other;
    cudaStream_t a, b;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    struct cudaMemAllocNodeParams large = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice, .id = 0}}};
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMalloc((void **)&other, MiB));
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    large.bytesize = total_bytes;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &large));
    CHECK(cudaGraphAddMemFreeNode(&node, graph, &node, 1, large.dptr));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(launch_hold(gate, a));
    if (cudaGraphLaunch(exec, cudaStreamLegacy) != cudaErrorMemoryAllocation)
        return 1;
#ifdef WRONG
    CHECK(launch_add(data, 1, count, b)); /* access */
#else
    CHECK(launch_add(other, 1, count, b));
#endif
    CHECK(cudaStreamSynchronize(b));
    gate_open(gate);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
    CHECK(cudaFree(other));
    gate_destroy(gate);
    return 0;
}
