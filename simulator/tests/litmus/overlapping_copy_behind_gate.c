/* A copy behind a closed gate moves the first half of an allocation to the second; the two ranges
 * do not overlap.
 *
 * WRONG: the copy moves the bytes by four. The ranges overlap. No wait of the host makes that
 * correct, so the report does not wait for the gate, which never opens.
 * Kind: overlapping copy */
#include "litmus.h"

LITMUS(a)
{
    static int gate;
    char *data;
    CHECK(cudaHostRegister(&gate, sizeof gate, 0));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(launch_hold(&gate, a));
#ifdef WRONG
    /* access */
    CHECK(cudaMemcpyAsync(data + 4, data, MiB - 4, cudaMemcpyDeviceToDevice, a));
#else
    CHECK(cudaMemcpyAsync(data + MiB / 2, data, MiB / 2, cudaMemcpyDeviceToDevice, a));
#endif
    CHECK(cudaFreeAsync(data, a));
}
