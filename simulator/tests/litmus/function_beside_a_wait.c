/* A host function after a's write does nothing that the host looks at. The host waits for stream a
 * before it uses the bytes in stream b.
 *
 * WRONG: it waits for stream c instead. That the function may have run by then is no wait for a: no
 * edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

static void nothing(void *unused) { (void)unused; }

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
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    CHECK(launch_fill(other, 1, count, c));
#ifdef WRONG
    CHECK(cudaStreamSynchronize(c));
#else
    CHECK(cudaStreamSynchronize(a));
#endif
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    CHECK(cudaFree(other));
    return 0;
}
