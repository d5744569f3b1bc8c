/* Never makes the pools current. Caught by: "every block comes from a pool that the program created" */
#include "kernels.h"
#include "workbook.h"

enum { TRIES = 33 };

/* Takes blocks of an eighth of `mib` from a new pool until it refuses one or TRIES are taken. Destroys the pool, then
 * uses and frees the blocks. Answers whether the pool refused a block and every block was usable. */
static int fill_pool(const char *name, const struct cudaMemPoolProps *props, size_t mib, cudaStream_t stream)
{
    int *block[TRIES], taken = 0, usable = 0;
    size_t piece = (mib + 7) / 8;
    cudaError_t answer = cudaSuccess;
    cudaMemPool_t pool, current, standard;
    CHECK(cudaMemPoolCreate(&pool, props));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, mib * MiB);

    while (taken < TRIES && answer == cudaSuccess) {
        answer = cudaMallocAsync((void **)&block[taken], piece * MiB, stream);
        if (answer == cudaSuccess) {
            CHECK(launch_fill(block[taken], taken, 1, stream));
            taken++;
        }
    }
    printf("%s %zu MiB: %d blocks of %zu MiB, the last answer %s\n", name, mib, taken, piece,
           cudaGetErrorName(answer));
    printf("    reserved           %zu MiB\n", reserved_mib(pool));

    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaDeviceGetMemPool(&current, 0));
    CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));
    for (int i = 0; i < taken; i++) {
        int value = -1;
        CHECK(launch_add(block[i], 1000, 1, stream));
        CHECK(cudaMemcpyAsync(&value, block[i], sizeof value, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(block[i], stream)); /* the pool is gone, its live blocks are not */
        CHECK(cudaStreamSynchronize(stream));
        usable += value == 1000 + i;
    }
    printf("    after its destroy  %d of %d blocks usable, current pool: %s\n", usable, taken,
           current == standard ? "the default pool" : "another pool");
    return answer == cudaErrorMemoryAllocation && usable == taken;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 40);
    cudaStream_t stream;
    cudaMemPool_t standard;
    CHECK(cudaStreamCreate(&stream));

    struct cudaMemPoolProps props = {0};        /* every field that is not named stays zero: the call insists on it */
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    fill_pool("threshold", &props, mib, stream);

    props.maxSize = mib * MiB;                  /* this pool must refuse what goes past `mib` */
    int refused = fill_pool("maxSize", &props, mib, stream);

    CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));
    size_t high = (size_t)pool_get(standard, cudaMemPoolAttrReservedMemHigh) / MiB;
    printf("default pool: never more than %zu MiB\n", high);
    CHECK(cudaStreamDestroy(stream));
    return refused && high == 0 ? 0 : 1;
}
