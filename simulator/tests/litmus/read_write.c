/* Stream b waits for the copy in stream a that reads, before it writes.
 *
 * WRONG: b does not wait: no edge from a's read to b's write.
 * Kind: write not ordered after a read */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data, *result;
    cudaStream_t a, b;
    cudaEvent_t copied;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&copied));
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
    CHECK(cudaEventRecord(copied, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, copied, 0));
#endif
    CHECK(launch_fill(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
    return 0;
}
