/* A host function spins until the host sets a flag, and the host makes calls before it does.
 * Schedules: measured late */
#include "litmus.h"

static atomic_int began, released;

static void spin(void *unused)
{
    (void)unused;
    atomic_store(&began, 1);
    while (!atomic_load(&released))
        continue;
}

LITMUS(a, b)
{
    int *data, *more;
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaLaunchHostFunc(a, spin, NULL));
    CHECK(cudaFreeAsync(data, a));
    while (!atomic_load(&began))
        (void)cudaStreamQuery(b);
    CHECK(cudaMallocAsync((void **)&more, MiB, b));
    CHECK(cudaFreeAsync(more, b));
    atomic_store(&released, 1);
    CHECK(cudaDeviceSynchronize());
}
