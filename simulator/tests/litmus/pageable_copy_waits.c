/* An asynchronous copy to ordinary memory of the host has waited for its stream when it returns
 * (measured; documented up to CUDA 11, "might" since), so stream b comes after a's work.
 *
 * WRONG: the copy is to pinned memory, and waits for nothing: no edge from it to the add.
 * Kind: write not ordered after a read */
#include "litmus.h"

LITMUS(a, b)
{
    static int ordinary[1024];
    int *data, *pinned;
    CHECK(cudaMallocHost((void **)&pinned, sizeof ordinary));
    CHECK(cudaMalloc((void **)&data, sizeof ordinary));
    CHECK(launch_fill(data, 1, 1024, a));
#ifdef WRONG
    CHECK(cudaMemcpyAsync(pinned, data, 4096, cudaMemcpyDefault, a)); /* previous access */
#else
    CHECK(cudaMemcpyAsync(ordinary, data, 4096, cudaMemcpyDefault, a));
#endif
    CHECK(launch_add(data, 1, 1024, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(pinned));
}
