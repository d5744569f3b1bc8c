/* A host function in a blocking stream comes after the legacy stream's work, even when that is over
 * at the call: through the function's flag the host acquires that work. */
#include "litmus.h"

static atomic_int flag;

static void set_flag(void *unused)
{
    (void)unused;
    atomic_store(&flag, 1);
}

LITMUS(stream)
{
    size_t count = MiB / sizeof(int), unused;
    int *data;
    CHECK(cudaMallocAsync((void **)&data, MiB, cudaStreamLegacy));
    CHECK(launch_fill(data, 1, count, cudaStreamLegacy));
    /* Calls that take time, so that the fill is over. */
    for (int i = 0; i < 100; i++)
        CHECK(cudaMemGetInfo(&unused, &unused));
    CHECK(cudaLaunchHostFunc(stream, set_flag, NULL));
    while (!atomic_load(&flag))
        usleep(1000);
    CHECK(cudaFree(data));
}
