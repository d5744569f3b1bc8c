/* A host function looks in a loop for what the host has yet to say, and the host makes calls before it says so. */
#include "kernels.h"
#include "workbook.h"

#include <stdatomic.h>

static atomic_int began, said;

static void look(void *unused)
{
    (void)unused;
    atomic_store(&began, 1);
    while (!atomic_load(&said)) continue;
}

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data, *more;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaLaunchHostFunc(a, look, NULL));
    CHECK(cudaFreeAsync(data, a));
    while (!atomic_load(&began)) (void)cudaStreamQuery(b);
    CHECK(cudaMallocAsync((void **)&more, MiB, b));
    CHECK(cudaFreeAsync(more, b));
    atomic_store(&said, 1);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
