/* What compute-sanitizer makes of a pool that is destroyed with live blocks, and of the next pool: pools BLOCKS [kernel]
 *
 * The documentation allows it: such a pool goes when its last block is freed. On a device alone the program ends well. */
#include "kernels.h"
#include "workbook.h"

enum { MOST = 64 };

int main(int argc, char **argv)
{
    int *block[MOST], blocks = argc > 1 ? atoi(argv[1]) : 0;
    cudaStream_t stream;
    if (blocks < 1 || blocks > MOST)
        return fprintf(stderr, "%s: give the number of blocks, 1 to %d\n", argv[0], MOST), 2;
    CHECK(cudaStreamCreate(&stream));
    for (int round = 0; round < 2; round++) {
        cudaMemPool_t pool = pool_create();
        for (int i = 0; i < blocks; i++) {
            CHECK(cudaMallocFromPoolAsync((void **)&block[i], 5 * MiB, pool, stream));
            if (argc > 2)
                CHECK(launch_fill(block[i], i, 1, stream));
        }
        CHECK(cudaMemPoolDestroy(pool));
        for (int i = 0; i < blocks; i++) {
            CHECK(cudaFreeAsync(block[i], stream));
            CHECK(cudaStreamSynchronize(stream));
        }
    }
    CHECK(cudaStreamDestroy(stream));
    puts("two pools done");
    return 0;
}
