/* A host function after a's write sets a flag, and the host waits for the flag.
 *
 * WRONG: the host does not look at the flag. By the time of its next calls the function may have
 * run, but the host does not know that: no edge from a's write to b's.
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
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
#ifndef WRONG
    while (!atomic_load(&flag))
        usleep(1000);
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    return 0;
}
