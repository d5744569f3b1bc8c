/* Stream b waits for a's write before its own is queued.
 *
 * WRONG: b waits after its write was queued: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t written;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaEventRecord(written, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, written, 0));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
#ifdef WRONG
    CHECK(cudaStreamWaitEvent(b, written, 0));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
