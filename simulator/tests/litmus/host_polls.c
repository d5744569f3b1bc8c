/* The host polls pinned memory that a kernel writes. */
#include "litmus.h"

int main(void)
{
    volatile int *flag;
    cudaStream_t a;
    CHECK(cudaStreamCreate(&a));
    flag = gate_create();
    CHECK(launch_fill((int *)flag, 1, 1, a));
    while (!*flag)
        (void)cudaStreamQuery(cudaStreamPerThread);
    CHECK(cudaStreamSynchronize(a));
    gate_destroy(flag);
    return 0;
}
