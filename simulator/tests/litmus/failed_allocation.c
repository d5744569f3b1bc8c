/* An allocation in the legacy stream that fails queues nothing there: blocking stream b does not
 * wait for a, which is held, and the host can wait for b before it opens the gate.
 *
 * WRONG: b adds to what a has filled, as if the failed allocation ordered the two.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int), free_bytes, total_bytes;
    int *data, *other;
    void *refused;
    cudaStream_t a, b;
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMalloc((void **)&other, MiB));
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(launch_hold(gate, a));
    if (cudaMallocAsync(&refused, 2 * total_bytes, cudaStreamLegacy) != cudaErrorMemoryAllocation)
        return 1;
#ifdef WRONG
    CHECK(launch_add(data, 1, count, b)); /* access */
#else
    CHECK(launch_add(other, 1, count, b));
#endif
    CHECK(cudaStreamSynchronize(b));
    gate_open(gate);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFree(other));
    gate_destroy(gate);
    return 0;
}
