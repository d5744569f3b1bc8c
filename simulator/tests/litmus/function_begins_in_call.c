/* A host function after a's write sets a flag. The host makes a call that takes long, and then it
 * waits for the flag.
 *
 * WRONG: it does not wait. The function begins while the host makes the next call, which cannot
 * come from what the function did: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

static atomic_int flag;

static void set_flag(void *unused)
{
    (void)unused;
    atomic_store(&flag, 1);
}

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data, *large;
    cudaStream_t a, b, c;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
    CHECK(cudaMallocAsync((void **)&large, 1024 * MiB, c));
#ifndef WRONG
    while (!atomic_load(&flag))
        usleep(1000);
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaFreeAsync(large, c));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
