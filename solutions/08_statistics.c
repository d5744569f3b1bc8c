/* 08 Statistics
 *
 * Shows  the four figures of a pool: reserved is what it holds of the device's memory, used is what
 *        its live blocks asked for, and each has a high-water mark. A mark is reset by writing 0 to
 *        it: it then takes the current figure. Nothing else can be written. cudaMemGetInfo sees
 *        what is reserved, not what is used.
 * Yours  fill: two functions, marked YOUR WORK.
 * Run    make 08          check   make check-08          page   docs/08_statistics
 */
#include "kernels.h"
#include "workbook.h"

struct pool_stats { /* all in bytes */
    uint64_t reserved, reserved_high, used, used_high;
};

/* YOUR WORK, 1 of 2. The pool's four figures, each from its attribute (pool_get of workbook.h reads
 * one). */
static struct pool_stats stats_read(cudaMemPool_t pool)
{
    struct pool_stats stats = {0};
    stats.reserved = pool_get(pool, cudaMemPoolAttrReservedMemCurrent);
    stats.reserved_high = pool_get(pool, cudaMemPoolAttrReservedMemHigh);
    stats.used = pool_get(pool, cudaMemPoolAttrUsedMemCurrent);
    stats.used_high = pool_get(pool, cudaMemPoolAttrUsedMemHigh);
    return stats;
}

/* YOUR WORK, 2 of 2. Both high-water marks start again at the current figures (pool_set writes an
 * attribute). */
static void marks_reset(cudaMemPool_t pool)
{
    pool_set(pool, cudaMemPoolAttrReservedMemHigh, 0);
    pool_set(pool, cudaMemPoolAttrUsedMemHigh, 0);
}

/* Prints the figures, and by how much the device's free memory changed since the last report. */
static void report(const char *what, cudaMemPool_t pool)
{
    static size_t free_before;
    size_t free_now, total;
    struct pool_stats stats = stats_read(pool);
    CHECK(cudaMemGetInfo(&free_now, &total));
    long long change =
        free_before == 0 ? 0 : ((long long)free_now - (long long)free_before) / (long long)MiB;
    free_before = free_now;
    printf("%-18s %5zu %5zu   %5zu %5zu   %+5lld\n", what, (size_t)(stats.reserved / MiB),
           (size_t)(stats.reserved_high / MiB), (size_t)(stats.used / MiB),
           (size_t)(stats.used_high / MiB), change);
}

static void try_to_set(const char *name, cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                       uint64_t value)
{
    printf("set %-19s %s\n", name,
           cudaGetErrorName(cudaMemPoolSetAttribute(pool, attribute, &value)));
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 256);
    int *small, *large;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaMemPool_t pool = pool_create();
    /* Only the trim gives memory back. */
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);

    printf("MiB             reserved  high    used  high   free on the device\n");
    CHECK(cudaMallocFromPoolAsync((void **)&small, 1 * MiB, pool, stream));
    CHECK(launch_fill(small, 1, 1 * MiB / sizeof(int), stream));
    CHECK(cudaStreamSynchronize(stream));
    report("small block", pool);
    CHECK(cudaMallocFromPoolAsync((void **)&large, mib * MiB, pool, stream));
    report("large block", pool);

    /* Ask before the free: afterwards the answer means nothing. */
    struct cudaPointerAttributes of_large;
    CHECK(cudaPointerGetAttributes(&of_large, large));
    CHECK(cudaFreeAsync(large, stream));
    CHECK(cudaStreamSynchronize(stream));
    report("large block freed", pool);
    marks_reset(pool);
    report("marks reset", pool);
    struct pool_stats reset = stats_read(pool);
    CHECK(cudaMemPoolTrimTo(pool, 0));
    report("trimmed", pool);

    try_to_set("ReservedMemCurrent", pool, cudaMemPoolAttrReservedMemCurrent, mib * MiB);
    try_to_set("UsedMemHigh, not 0", pool, cudaMemPoolAttrUsedMemHigh, mib * MiB);
    printf("the large block was %s of device %d\n",
           of_large.type == cudaMemoryTypeDevice ? "memory" : "no memory", of_large.device);

    CHECK(cudaFreeAsync(small, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    return reset.used == 1 * MiB && reset.used_high == reset.used
                && reset.reserved_high == reset.reserved
             ? 0
             : 1;
}
