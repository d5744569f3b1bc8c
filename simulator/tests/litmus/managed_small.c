/* The host waits for the kernel before it reads a small managed array, much less than a page.
 * Prints: summed
 *
 * WRONG: the host does not wait: no edge from the kernel's write to the host's read.
 * Kind: host access not ordered after a write */
#include "litmus.h"

int main(void)
{
    size_t count = 100;
    int *data, sum = 0;
    CHECK(cudaMallocManaged((void **)&data, count * sizeof(int), cudaMemAttachGlobal));
    for (size_t i = 0; i < count; i++)
        data[i] = (int)i;

    CHECK(launch_add(data, 1, count, 0)); /* previous access */
#ifndef WRONG
    CHECK(cudaDeviceSynchronize());
#endif
    for (size_t i = 0; i < count; i++)
        sum += data[i]; /* access */
    printf("%s\n", sum > 0 ? "summed" : "nothing");
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
