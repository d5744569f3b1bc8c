/* 05 A custom pool
 *
 * Shows  a program may make pools of its own, with properties that no attribute changes later.
 *        cudaMallocAsync takes from such a pool once it is the device's current pool. The release
 *        threshold is not a limit: maxSize is one, in whole steps of 32 MiB. A destroyed pool's
 *        live blocks stay usable until they are freed.
 * Yours  fix: the program is wrong in three places: its comments say what its author believed.
 *        Repair it.
 * Run    make 05          check   make check-05          page   docs/05_custom_pool
 */
#include "kernels.h"
#include "workbook.h"

enum { TRIES = 33 };

static int *block[TRIES], taken;

/* Makes a pool and takes blocks of an eighth of `mib` from it, until it refuses one or TRIES are
 * taken. */
static cudaMemPool_t fill_pool(const char *name, const struct cudaMemPoolProps *props, size_t mib,
                               cudaStream_t stream)
{
    size_t piece = (mib + 7) / 8;
    cudaError_t answer = cudaSuccess;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, props));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, mib * MiB);
    /* From here on cudaMallocAsync takes from this pool. */
    CHECK(cudaDeviceSetMemPool(0, pool));

    taken = 0;
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
    return pool;
}

/* Uses and frees the blocks. Answers how many were usable. */
static int empty_pool(cudaStream_t stream)
{
    int usable = 0;
    for (int i = 0; i < taken; i++) {
        int value = -1;
        CHECK(launch_add(block[i], 1000, 1, stream));
        CHECK(cudaMemcpyAsync(&value, block[i], sizeof value, cudaMemcpyDeviceToHost, stream));
        /* Also when the pool is gone: its live blocks are not. */
        CHECK(cudaFreeAsync(block[i], stream));
        CHECK(cudaStreamSynchronize(stream));
        usable += value == 1000 + i;
    }
    return usable;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 40);
    cudaStream_t stream;
    cudaMemPool_t pool, current, standard;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));

    /* Every field that is not named stays zero: the call insists on it. */
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    pool = fill_pool("threshold", &props, mib, stream);
    empty_pool(stream);
    CHECK(cudaMemPoolDestroy(pool));

    props.maxSize = mib * MiB; /* this pool must refuse what goes past `mib` */
    pool = fill_pool("maxSize", &props, mib, stream);
    CHECK(cudaMemPoolDestroy(pool)); /* while its blocks are live */
    CHECK(cudaDeviceGetMemPool(&current, 0));
    int usable = empty_pool(stream);
    printf("    after its destroy  %d of %d blocks usable, current pool: %s\n", usable, taken,
           current == standard ? "the default pool" : "another pool");

    size_t high = (size_t)pool_get(standard, cudaMemPoolAttrReservedMemHigh) / MiB;
    printf("default pool: never more than %zu MiB\n", high);
    CHECK(cudaStreamDestroy(stream));
    return usable == taken && taken < TRIES && high == 0 ? 0 : 1;
}
