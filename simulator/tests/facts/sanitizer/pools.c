/* What compute-sanitizer makes of a pool that is destroyed with live allocations, and of the next
 * pool: pools ALLOCATIONS [kernel]
 *
 * The documentation allows it: such a pool goes when its last allocation is freed. On a device
 * alone the program ends well. */
#include "kernels.h"
#include "workbook.h"

enum { MOST = 64 };

int main(int argc, char **argv)
{
    int *allocation[MOST], count = argc > 1 ? atoi(argv[1]) : 0;
    cudaStream_t stream;
    if (count < 1 || count > MOST) {
        fprintf(stderr, "%s: give the number of allocations, 1 to %d\n", argv[0], MOST);
        return 2;
    }
    CHECK(cudaStreamCreate(&stream));
    for (int round = 0; round < 2; round++) {
        cudaMemPool_t pool = pool_create();
        for (int i = 0; i < count; i++) {
            CHECK(cudaMallocFromPoolAsync((void **)&allocation[i], 5 * MiB, pool, stream));
            if (argc > 2)
                CHECK(launch_fill(allocation[i], i, 1, stream));
        }
        CHECK(cudaMemPoolDestroy(pool));
        for (int i = 0; i < count; i++) {
            CHECK(cudaFreeAsync(allocation[i], stream));
            CHECK(cudaStreamSynchronize(stream));
        }
    }
    CHECK(cudaStreamDestroy(stream));
    puts("two pools done");
    return 0;
}
