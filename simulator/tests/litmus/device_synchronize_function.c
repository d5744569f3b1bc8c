/* Stream b's add is behind a host function that waits for nothing, and behind a's fill by an event.
 *
 * WRONG: there is no event. That the host waits for both streams at once orders nothing between
 * them.
 * Kind: unordered writes */
#include "litmus.h"

static void nothing(void *unused) { (void)unused; }

LITMUS(b, a)
{
    int *data;
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMalloc((void **)&data, MiB));
    for (int i = 0; i < 30; i++)
        CHECK(cudaLaunchHostFunc(b, nothing, NULL));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a)); /* previous access */
#ifndef WRONG
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
#endif
    CHECK(launch_add(data, 1, MiB / sizeof(int), b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
