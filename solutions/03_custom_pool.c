/* 03 Custom pool
 *
 * Question: How does cudaMallocAsync allocate from a pool that the program created? What limits
 *   such a pool? What becomes of its allocations when it is destroyed?
 * Task (fix): the program is incorrect in three places. A comment there, in quotation marks, is
 *   what its author believed. The program goes on allocating with cudaMallocAsync alone. The check
 *   calls empty_pool, too.
 * Calls: cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
 *        cudaFreeAsync(void *ptr, cudaStream_t stream)
 *        and a field of struct cudaMemPoolProps
 * Run:   make 03          Check: make check-03          Page: docs/03_custom_pool
 */
#include "kernels.h"
#include "workbook.h"

enum { TRIES = 33 };

static int *data[TRIES], count;

/* Creates a pool and makes allocations of an eighth of `mib`, until one fails or there are TRIES of
 * them. */
static cudaMemPool_t fill_pool(const char *name, const struct cudaMemPoolProps *props, size_t mib,
                               cudaStream_t stream)
{
    size_t piece = (mib + 7) / 8;
    cudaError_t result = cudaSuccess;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, props));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, mib * MiB);
    CHECK(cudaDeviceSetMemPool(0, pool)); /* cudaMallocAsync now allocates from this pool */

    count = 0;
    while (count < TRIES && result == cudaSuccess) {
        result = cudaMallocAsync((void **)&data[count], piece * MiB, stream);
        if (result == cudaSuccess) {
            CHECK(launch_fill(data[count], count, 1, stream));
            count++;
        }
    }
    printf("%s %zu MiB: %d allocations of %zu MiB, the last result %s\n", name, mib, count, piece,
           cudaGetErrorName(result));
    printf("    reserved               %zu MiB\n", reserved_mib(pool));
    return pool;
}

/* Uses and frees the allocations. Returns how many were usable. */
static int empty_pool(cudaStream_t stream)
{
    int usable = 0;
    for (int i = 0; i < count; i++) {
        int value = -1;
        CHECK(launch_add(data[i], 1000, 1, stream));
        CHECK(cudaMemcpyAsync(&value, data[i], sizeof value, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(data[i], stream)); /* also after the pool was destroyed */
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

    /* Memory that does not migrate, on device 0. The fields that are not named must be zero. */
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    pool = fill_pool("threshold", &props, mib, stream);
    empty_pool(stream);
    CHECK(cudaMemPoolDestroy(pool));

    props.maxSize = mib * MiB; /* this pool must not exceed `mib` */
    pool = fill_pool("maxSize", &props, mib, stream);
    CHECK(cudaMemPoolDestroy(pool)); /* while its allocations are live */
    CHECK(cudaDeviceGetMemPool(&current, 0));
    int usable = empty_pool(stream);
    printf("    after its destruction  %d of %d allocations usable, current pool: %s\n", usable,
           count, current == standard ? "the default pool" : "another pool");

    size_t high = (size_t)pool_get(standard, cudaMemPoolAttrReservedMemHigh) / MiB;
    printf("default pool: reserved at most %zu MiB\n", high);
    CHECK(cudaStreamDestroy(stream));
    return usable == count && count < TRIES && high == 0 ? 0 : 1;
}
