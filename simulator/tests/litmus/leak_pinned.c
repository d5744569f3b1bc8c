/* Pinned memory is freed before the program ends.
 *
 * WRONG: it is never freed.
 * Kind: leak */
#include "litmus.h"

int main(void)
{
    int *buffer;
    CHECK(cudaMallocHost((void **)&buffer, MiB)); /* allocation */
    *buffer = 1;
#ifndef WRONG
    CHECK(cudaFreeHost(buffer));
#endif
    return 0;
}
