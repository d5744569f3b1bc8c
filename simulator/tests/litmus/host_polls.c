/* The host polls pinned memory that a kernel writes. */
#include "litmus.h"

LITMUS(a)
{
    volatile int *flag;
    flag = gate_create();
    CHECK(launch_fill((int *)flag, 1, 1, a));
    while (!*flag)
        (void)cudaStreamQuery(cudaStreamPerThread);
    CHECK(cudaStreamSynchronize(a));
    gate_destroy(flag);
}
