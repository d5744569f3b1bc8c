/* A host function after a's write sets a flag, and the host makes no call while it waits for the
 * flag. */
#include "litmus.h"

static atomic_int flag;

static void set_flag(void *unused)
{
    (void)unused;
    atomic_store(&flag, 1);
}

LITMUS(a, b)
{
    int *data;
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
    while (!atomic_load(&flag))
        ;
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}
