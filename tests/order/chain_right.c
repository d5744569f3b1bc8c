/* Streams a, b and c work on one block in turn: c waits for b and b waits for a, so c waits for a. a frees it at the
 * end. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t stream[3];
    cudaEvent_t event[3];
    for (int i = 0; i < 3; i++) {
        CHECK(cudaStreamCreate(&stream[i]));
        CHECK(cudaEventCreate(&event[i]));
    }
    CHECK(cudaMallocAsync((void **)&data, MiB, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));

    CHECK(launch_fill(data, 1, count, stream[0]));      /* one */
    CHECK(cudaEventRecord(event[0], stream[0]));
    CHECK(cudaStreamWaitEvent(stream[1], event[0], 0));
    CHECK(cudaEventRecord(event[1], stream[1]));
    CHECK(cudaStreamWaitEvent(stream[2], event[1], 0));
    CHECK(launch_add(data, 1, count, stream[2]));       /* other */
    CHECK(cudaEventRecord(event[2], stream[2]));
    CHECK(cudaStreamWaitEvent(stream[0], event[2], 0));
    CHECK(cudaFreeAsync(data, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));
    return 0;
}
