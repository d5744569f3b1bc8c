/* A pipeline over two buffers: stream a uploads, stream b computes. Each upload waits for the last
 * use of its buffer.
 *
 * WRONG: uploads do not wait: no edge from b's use of a buffer to the next upload into it.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *host, *buffer[2];
    cudaEvent_t uploaded[2], computed[2];
    CHECK(cudaMallocHost((void **)&host, MiB));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventCreate(&uploaded[i]));
        CHECK(cudaEventCreate(&computed[i]));
        CHECK(cudaMallocAsync((void **)&buffer[i], MiB, a));
    }

    for (int i = 0; i < 6; i++) {
        int k = i % 2;
#ifndef WRONG
        CHECK(cudaStreamWaitEvent(a, computed[k], 0));
#endif
        CHECK(cudaMemcpyAsync(buffer[k], host, MiB, cudaMemcpyHostToDevice, a)); /* access */
        CHECK(cudaEventRecord(uploaded[k], a));
        CHECK(cudaStreamWaitEvent(b, uploaded[k], 0));
        CHECK(launch_add(buffer[k], i, MiB / sizeof(int), b)); /* previous access */
        CHECK(cudaEventRecord(computed[k], b));
    }
    for (int i = 0; i < 2; i++)
        CHECK(cudaFreeAsync(buffer[i], b));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFreeHost(host));
}
