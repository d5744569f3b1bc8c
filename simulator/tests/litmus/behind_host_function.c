/* Stream b waits for an event that is recorded after a's host function and a's write.
 *
 * WRONG: the event is recorded before the host function: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

static void nothing(void *unused) { (void)unused; }

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
#ifdef WRONG
    CHECK(cudaEventRecord(event, a));
#endif
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaEventRecord(event, a));
#endif
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
