/* cudaFree of cudaMalloc's memory while work on it is pending: the call waits for the device. */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));

    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count / 2, a));
    CHECK(launch_fill(data + count / 2, 1, count / 2, b));
    CHECK(cudaFree(data));
    return 0;
}
