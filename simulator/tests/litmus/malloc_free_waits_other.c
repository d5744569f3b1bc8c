/* cudaFree of any memory of cudaMalloc waits for the device: what comes before happens before what
 * comes after. */
#include "litmus.h"

NONBLOCKING_LITMUS(a, b)
{
    int *data, *any;
    CHECK(cudaMalloc((void **)&any, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaFree(any));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}
