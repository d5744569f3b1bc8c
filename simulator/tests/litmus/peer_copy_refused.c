/* cudaMemcpyPeer is ordered with all streams of its devices. One that is refused, because it is
 * longer than its memory, orders nothing: stream b does not wait for a, which is held, and the host
 * can wait for b before it opens the gate.
 * Devices: 2
 *
 * WRONG: b adds to what a has filled, as if the refused copy ordered the two.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data, *other, *far_away;
    cudaStream_t a, b;
    volatile int *gate = gate_create();
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc((void **)&far_away, MiB));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMalloc((void **)&other, MiB));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(launch_hold(gate, a));
    if (cudaMemcpyPeer(far_away, 1, other, 0, 2 * MiB) != cudaErrorInvalidValue)
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
    CHECK(cudaFree(far_away));
    gate_destroy(gate);
    return 0;
}
