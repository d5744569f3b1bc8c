/* Streams come and go. What a destroyed stream has freed is used by the next, which takes its
 * slot. */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t stream;
    for (int i = 0; i < 8; i++) {
        CHECK(
            cudaStreamCreateWithFlags(&stream, i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
        CHECK(cudaMallocAsync((void **)&data, MiB, stream));
        CHECK(launch_fill(data, i, count, stream));
        CHECK(cudaFreeAsync(data, stream));
        if (i % 3)
            CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
