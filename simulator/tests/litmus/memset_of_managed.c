/* cudaMemset of managed memory is over when it returns.
 * Prints: 0 */
#include "litmus.h"

NONBLOCKING_LITMUS(a)
{
    int *data;
    CHECK(cudaMallocManaged((void **)&data, MiB, cudaMemAttachGlobal));
    data[0] = 5;

    CHECK(cudaMemset(data, 0, MiB));
    printf("%d\n", data[0]);
    CHECK(launch_add(data, 1, count, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
