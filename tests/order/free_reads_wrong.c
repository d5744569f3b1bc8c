/* The free of a block that two streams read waits for one of them.
 * Kind: free before the use ends */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *host;
    cudaStream_t a, b, c;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaStreamCreate(&c));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMallocHost((void **)&host, 2 * MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(cudaStreamWaitEvent(c, event, 0));
    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, b));     /* one */
    CHECK(cudaMemcpyAsync((char *)host + MiB, data, MiB, cudaMemcpyDeviceToHost, c));
    CHECK(cudaEventRecord(event, c));
    CHECK(cudaStreamWaitEvent(a, event, 0));
    CHECK(cudaFreeAsync(data, a));                      /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(host));
    return 0;
}
