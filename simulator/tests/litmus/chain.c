/* Streams a, b and c: c waits for b and b for a, so a's write happens before c's. a frees at the
 * end.
 *
 * WRONG: b does not wait for a, so the chain is broken: no edge from a's write to c's.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t stream[3];
    cudaEvent_t event[3];
    for (int i = 0; i < 3; i++) {
        CHECK(cudaStreamCreate(&stream[i]));
        CHECK(cudaEventCreate(&event[i]));
    }
    CHECK(cudaMallocAsync((void **)&data, MiB, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));

    CHECK(launch_fill(data, 1, count, stream[0])); /* previous access */
    CHECK(cudaEventRecord(event[0], stream[0]));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(stream[1], event[0], 0));
#endif
    CHECK(cudaEventRecord(event[1], stream[1]));
    CHECK(cudaStreamWaitEvent(stream[2], event[1], 0));
    CHECK(launch_add(data, 1, count, stream[2])); /* access */
    CHECK(cudaEventRecord(event[2], stream[2]));
    CHECK(cudaStreamWaitEvent(stream[0], event[2], 0));
    CHECK(cudaFreeAsync(data, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));
    return 0;
}
