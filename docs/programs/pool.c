/* A pool: four allocations, and what two frees and a synchronization change of its whole segments.
 * The book's page docs/model.rst draws its run. */
#include "workbook.h"

int main(void)
{
    const size_t sizes[] = {24, 40, 20, 28};
    void *memory[4];
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, 96 * MiB);
    for (int i = 0; i < 4; i++)
        CHECK(cudaMallocFromPoolAsync(&memory[i], sizes[i] * MiB, pool, stream));
    for (int i = 2; i < 4; i++)
        CHECK(cudaFreeAsync(memory[i], stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 2; i++)
        CHECK(cudaFreeAsync(memory[i], stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
