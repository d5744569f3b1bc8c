/* Of 300 streams, stream d waits for the last one, and then for b, which has waited for c. Stream a
 * is the first, and d waits for it too.
 *
 * WRONG: d does not wait for a.
 * Kind: unordered writes */
#include "litmus.h"

static cudaStream_t make_stream(void)
{
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

static void wait_for(cudaStream_t waiting, cudaStream_t awaited)
{
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventRecord(event, awaited));
    CHECK(cudaStreamWaitEvent(waiting, event, 0));
    CHECK(cudaEventDestroy(event));
}

int main(void)
{
    size_t count = 1024;
    int *data;
    cudaStream_t a = make_stream(), b = make_stream(), c = make_stream(), last = NULL;
    for (int i = 0; i < 300; i++)
        last = make_stream();
    cudaStream_t d = make_stream();
    CHECK(cudaMalloc((void **)&data, count * sizeof(int)));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    wait_for(b, c);
    wait_for(d, last);
    wait_for(d, b);
#ifndef WRONG
    wait_for(d, a);
#endif
    CHECK(launch_add(data, 1, count, d)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
