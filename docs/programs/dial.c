/* A loop that allocates 128 MiB, fills, frees and synchronizes, with ten release thresholds. The
 * first page takes from this run's journal what the calls of a loop's last round cost. */
#include "kernels.h"
#include "workbook.h"

#define BYTES (128 * MiB)

int main(void)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (size_t threshold = 0; threshold <= 144; threshold += 16) {
        cudaMemPool_t pool = pool_create();
        pool_set(pool, cudaMemPoolAttrReleaseThreshold, threshold * MiB);
        for (int round = 1; round <= 4; round++) {
            int *data;
            CHECK(cudaMallocFromPoolAsync((void **)&data, BYTES, pool, stream));
            CHECK(launch_fill(data, round, BYTES / sizeof *data, stream));
            CHECK(cudaFreeAsync(data, stream));
            CHECK(cudaStreamSynchronize(stream));
        }
        printf("threshold %3zu MiB: %3zu MiB reserved after a round\n", threshold,
               reserved_mib(pool));
        CHECK(cudaMemPoolDestroy(pool));
    }
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
