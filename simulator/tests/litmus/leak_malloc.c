/* Memory of cudaMalloc is freed before the program ends.
 *
 * WRONG: it is never freed.
 * Kind: leak */
#include "litmus.h"

int main(void)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, MiB)); /* allocation */
    CHECK(launch_fill(data, 1, MiB / sizeof(int), 0));
    CHECK(cudaDeviceSynchronize());
#ifndef WRONG
    CHECK(cudaFree(data));
#endif
    return 0;
}
