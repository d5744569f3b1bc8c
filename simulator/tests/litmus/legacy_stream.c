/* The legacy stream writes, then a blocking stream: each waits for the other.
 *
 * WRONG: the other stream is a non-blocking one, which does not wait for the legacy stream: no edge
 * between the two writes.
 * Kind: unordered writes */
#include "litmus.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
#ifdef WRONG
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
#else
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamDefault));
#endif
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, 0)); /* previous access */
    CHECK(launch_add(data, 1, count, a));  /* access */
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_add(data, 1, count, 0));
    CHECK(cudaFree(data));
    return 0;
}
