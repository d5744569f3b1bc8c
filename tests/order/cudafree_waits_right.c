/* cudaFree of a block of cudaMalloc while work on it is pending: it waits for the device. */
#include "kernels.h"
#include "workbook.h"

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
