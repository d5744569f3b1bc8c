/* One allocation, used in two streams. An event orders the second stream after the first. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    cudaStream_t s, t;
    cudaEvent_t filled;
    int *data;
    size_t count = 2 * MiB;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&filled));

    CHECK(cudaMallocAsync((void **)&data, count * sizeof *data, s));
    CHECK(launch_fill(data, 40, count, s));
    CHECK(cudaEventRecord(filled, s));
    CHECK(cudaStreamWaitEvent(t, filled, 0));
    CHECK(launch_add(data, 2, count, t));
    CHECK(cudaFreeAsync(data, t));
    CHECK(cudaStreamSynchronize(t));

    CHECK(cudaEventDestroy(filled));
    CHECK(cudaStreamDestroy(t));
    CHECK(cudaStreamDestroy(s));
    return 0;
}
