/* Stream b copies results into a pinned buffer after it has waited for the upload from it. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *up, *down, *buffer;
    cudaStream_t a, b;
    cudaEvent_t uploaded;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&uploaded));
    CHECK(cudaMallocHost((void **)&buffer, MiB));
    CHECK(cudaMalloc((void **)&up, MiB));
    CHECK(cudaMalloc((void **)&down, MiB));

    CHECK(cudaMemcpyAsync(up, buffer, MiB, cudaMemcpyHostToDevice, a));         /* one */
    CHECK(cudaEventRecord(uploaded, a));
    CHECK(cudaStreamWaitEvent(b, uploaded, 0));
    CHECK(cudaMemcpyAsync(buffer, down, MiB, cudaMemcpyDeviceToHost, b));       /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(up));
    CHECK(cudaFree(down));
    CHECK(cudaFreeHost(buffer));
    return 0;
}
