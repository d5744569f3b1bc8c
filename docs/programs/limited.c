/* A part of a program has a pool of its own, which may not exceed 64 MiB; the rest allocates from
 * the default pool. The book's page docs/03_custom_pool.rst draws its run. */
#include "workbook.h"

enum { ROUNDS = 4 };

int main(void)
{
    void *rest[ROUNDS], *part[ROUNDS];
    int count = 0;
    cudaError_t result = cudaSuccess;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    props.maxSize = 64 * MiB;
    cudaMemPool_t own;
    CHECK(cudaMemPoolCreate(&own, &props));

    for (int i = 0; i < ROUNDS; i++) {
        CHECK(cudaMallocAsync(&rest[i], 24 * MiB, stream));
        if (result == cudaSuccess)
            result = cudaMallocFromPoolAsync(&part[count], 24 * MiB, own, stream);
        count += result == cudaSuccess;
    }
    printf("the part: %d allocations of 24 MiB, then %s\n", count, cudaGetErrorName(result));
    cudaGetLastError(); /* the refusal is no error any more */

    for (int i = 0; i < ROUNDS; i++)
        CHECK(cudaFreeAsync(rest[i], stream));
    while (count > 0)
        CHECK(cudaFreeAsync(part[--count], stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(own));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
