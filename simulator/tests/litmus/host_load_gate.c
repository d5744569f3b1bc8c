/* Two copies write the same pinned bytes. The host waits for the first before it reads; the second
 * is behind a gate that the host has yet to open.
 *
 * WRONG: the host does not wait for the first copy: no edge from that to the host's read.
 * Kind: host access not ordered after a write */
#include "litmus.h"

int main(void)
{
    int *data, *back, sum = 0;
    cudaStream_t stream;
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost((void **)&back, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, stream));
    CHECK(cudaMemsetAsync(data, 0, MiB, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpyAsync(back, data, MiB, cudaMemcpyDeviceToHost, stream)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(stream));
#endif
    CHECK(launch_hold(gate, stream));
    CHECK(cudaMemcpyAsync(back, data, MiB, cudaMemcpyDeviceToHost, stream));
    sum += back[MiB / sizeof(int) / 2]; /* access */
    gate_open(gate);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(back));
    gate_destroy(gate);
    return sum;
}
