/* The legacy stream writes, and a non-blocking stream goes on. These two do not wait for each other.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, 0));              /* one */
    CHECK(launch_add(data, 1, count, a));               /* other */
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_add(data, 1, count, 0));
    CHECK(cudaFree(data));
    return 0;
}
