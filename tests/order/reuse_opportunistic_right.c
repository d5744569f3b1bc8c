/* Stream b gets memory that stream a freed, because a has got there. b uses that memory only. */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <unistd.h>

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *other, *freed, *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&other, MiB));

    CHECK(launch_fill(other, 1, count, a));             /* one */
    CHECK(cudaMallocAsync((void **)&freed, MiB, a));
    CHECK(launch_fill(freed, 1, count, a));
    CHECK(cudaFreeAsync(freed, a));
    usleep(30000);
    CHECK(cudaMallocAsync((void **)&data, MiB, b));
    CHECK(launch_fill(data, 2, count, b));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(other));
    return 0;
}
