/* Stream s counts to twenty in an allocation, and stream t reads the number twice: first with
 * nothing between the two streams, then after an event. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    const size_t bytes = 64 * MiB, count = bytes / sizeof(int);
    cudaStream_t s, t;
    cudaEvent_t counted;
    int *data, *read;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&counted, cudaEventDisableTiming));
    CHECK(cudaMallocHost((void **)&read, 2 * sizeof *read));
    CHECK(cudaMallocAsync((void **)&data, bytes, s));
    CHECK(launch_fill(data, 0, count, s));
    CHECK(cudaStreamSynchronize(s));

    for (int i = 0; i < 20; i++)
        CHECK(launch_add(data, 1, count, s));
    CHECK(cudaMemcpyAsync(&read[0], data, sizeof *read, cudaMemcpyDeviceToHost, t));
    CHECK(cudaEventRecord(counted, s));
    CHECK(cudaStreamWaitEvent(t, counted, 0));
    CHECK(cudaMemcpyAsync(&read[1], data, sizeof *read, cudaMemcpyDeviceToHost, t));
    CHECK(cudaFreeAsync(data, t));
    CHECK(cudaStreamSynchronize(t));
    printf("~ t read %d without an edge\n", read[0]);
    printf("t read %d after the event\n", read[1]);

    CHECK(cudaFreeHost(read));
    CHECK(cudaEventDestroy(counted));
    CHECK(cudaStreamDestroy(t));
    CHECK(cudaStreamDestroy(s));
    return 0;
}
