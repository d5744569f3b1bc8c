/* Pinned memory is freed once.
 *
 * WRONG: it is freed twice.
 * Kind: double free */
#include "litmus.h"

int main(void)
{
    int *data;
    CHECK(cudaMallocHost((void **)&data, MiB));
    CHECK(cudaFreeHost(data)); /* free */
#ifdef WRONG
    (void)cudaFreeHost(data); /* free */
#endif
    return 0;
}
