/* A host function after a's write sets a flag. The host makes calls that take longer than the write
 * does, and then it asks stream c until the flag is set.
 *
 * WRONG: it asks once, and does not look at the flag: no edge from a's write to b's.
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
    int *data, *other;
    cudaStream_t a, b, c;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMalloc((void **)&other, MiB));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
    for (int i = 0; i < 10; i++) {
        CHECK(launch_fill(other, i, count, c));
        CHECK(cudaGetLastError());
    }
#ifdef WRONG
    (void)cudaStreamQuery(c);
#else
    while (!atomic_load(&flag))
        (void)cudaStreamQuery(c);
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFree(other));
    return 0;
}
