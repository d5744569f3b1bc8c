/* The host reads a buffer while a copy from it is pending, and writes it after an event that is
 * recorded after the copy.
 *
 * WRONG: the host does not wait for the event: no edge from the copy's read to the host's write.
 * Kind: host write not ordered after a read */
#include "litmus.h"

int main(void)
{
    int *data, *source;
    cudaStream_t a;
    cudaEvent_t copied;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaEventCreate(&copied));
    CHECK(cudaMallocHost((void **)&source, 2 * MiB));
    CHECK(cudaMallocAsync((void **)&data, 2 * MiB, a));
    memset(source, 1, 2 * MiB);
    CHECK(cudaMemcpyAsync(data, source, 2 * MiB, cudaMemcpyHostToDevice, a)); /* previous access */
    CHECK(cudaEventRecord(copied, a));
    if (source[0] != 0x01010101)
        return 1;
#ifndef WRONG
    CHECK(cudaEventSynchronize(copied));
#endif
    memset(source, 2, 2 * MiB);
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(source));
    return 0;
}
