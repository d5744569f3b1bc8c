/* cudaMemcpy from pageable memory waits for the legacy stream, and so for the blocking streams,
 * before it copies.
 *
 * WRONG: cudaMemcpyAsync from pageable memory may wait, and a large one does, but no program may
 * count on that: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

static int source[4 * MiB / sizeof(int)];

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data, *other;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMalloc((void **)&other, sizeof source));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifdef WRONG
    CHECK(cudaMemcpyAsync(other, source, sizeof source, cudaMemcpyHostToDevice, a));
#else
    CHECK(cudaMemcpy(other, source, sizeof source, cudaMemcpyHostToDevice));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFree(other));
    return 0;
}
