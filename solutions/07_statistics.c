/* 07 Statistics
 *
 * Question: Which figures of a pool show what one phase of a program needed, and which of them can
 *   a program set?
 * Task (fix): phase_need and reserve, marked YOUR WORK: their comments say what their author
 *   believed. Decide where a watermark is reset, and how a pool gets memory in advance.
 * Calls: cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value) and
 *        cudaMemPoolSetAttribute with the same arguments: pool_get and pool_set of workbook.h
 *        cudaMallocFromPoolAsync(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
 *        cudaFreeAsync(void *ptr, cudaStream_t stream)
 * Run:   make 07          Check: make check-07          Page: docs/07_statistics
 */
#include "kernels.h"
#include "workbook.h"

/* A phase allocates in a stream, and frees in that stream what it has allocated. */
typedef void phase(cudaMemPool_t pool, cudaStream_t stream, size_t mib);

/* YOUR WORK, 1 of 2. Runs the phase in `pool`, once, and returns what it needed, in bytes: the most
 * that its own allocations used at one time. The pool has been used before, and other allocations
 * are live. */
static uint64_t phase_need(phase *run, cudaMemPool_t pool, cudaStream_t stream, size_t mib)
{
    pool_set(pool, cudaMemPoolAttrUsedMemHigh, 0);
    uint64_t before = pool_get(pool, cudaMemPoolAttrUsedMemHigh);
    run(pool, stream, mib);
    return pool_get(pool, cudaMemPoolAttrUsedMemHigh) - before;
}

/* YOUR WORK, 2 of 2. Afterwards the pool has `bytes` unused bytes in one piece, so that an
 * allocation of that size in this stream need not make it grow. It has grown by no more than that
 * takes. Its threshold is the maximum. */
static void reserve(cudaMemPool_t pool, cudaStream_t stream, size_t bytes)
{
    void *data;
    CHECK(cudaMallocFromPoolAsync(&data, bytes, pool, stream));
    CHECK(cudaFreeAsync(data, stream));
}

/* Prints the figures, and by how much the device's free memory changed since the last report. */
static void report(const char *what, cudaMemPool_t pool)
{
    static size_t free_before;
    size_t free_now, total;
    CHECK(cudaMemGetInfo(&free_now, &total));
    long long change =
        free_before == 0 ? 0 : ((long long)free_now - (long long)free_before) / (long long)MiB;
    free_before = free_now;
    printf("%-23s %5zu %5zu   %5zu %5zu   %+5lld\n", what, reserved_mib(pool),
           (size_t)pool_get(pool, cudaMemPoolAttrReservedMemHigh) / MiB, used_mib(pool),
           (size_t)pool_get(pool, cudaMemPoolAttrUsedMemHigh) / MiB, change);
}

static void try_to_set(const char *name, cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    uint64_t value = 64 * MiB;
    printf("set %-19s %s\n", name,
           cudaGetErrorName(cudaMemPoolSetAttribute(pool, attribute, &value)));
}

/* The figures of one large allocation, while a small one is live. */
static void show_figures(cudaMemPool_t pool, cudaStream_t stream, size_t mib)
{
    int *large;
    printf("MiB                  reserved  high    used  high   free on the device\n");
    report("1 MiB allocated", pool);
    CHECK(cudaMallocFromPoolAsync((void **)&large, mib * MiB, pool, stream));
    CHECK(launch_fill(large, 1, mib * MiB / sizeof *large, stream));
    report("large allocation", pool);
    CHECK(cudaFreeAsync(large, stream));
    CHECK(cudaStreamSynchronize(stream));
    report("that freed", pool);
    pool_set(pool, cudaMemPoolAttrReservedMemHigh, 0);
    pool_set(pool, cudaMemPoolAttrUsedMemHigh, 0);
    report("0 written to watermarks", pool);
    CHECK(cudaMemPoolTrimTo(pool, 0));
    report("trimmed to 0", pool);
    try_to_set("ReservedMemCurrent", pool, cudaMemPoolAttrReservedMemCurrent);
    try_to_set("UsedMemHigh, not 0", pool, cudaMemPoolAttrUsedMemHigh);
}

/* At its peak this phase uses `mib` MiB and a quarter of that. */
static void work(cudaMemPool_t pool, cudaStream_t stream, size_t mib)
{
    void *input, *output;
    CHECK(cudaMallocFromPoolAsync(&input, mib * MiB, pool, stream));
    CHECK(cudaMallocFromPoolAsync(&output, mib * MiB / 4, pool, stream));
    CHECK(cudaFreeAsync(input, stream));
    CHECK(cudaFreeAsync(output, stream));
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 256);
    void *small;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaMemPool_t pool = pool_create();
    /* Only a trim returns memory. */
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    CHECK(cudaMallocFromPoolAsync(&small, MiB, pool, stream));
    show_figures(pool, stream, mib);

    /* Two phases, and memory for the second one before it begins. */
    uint64_t first = phase_need(work, pool, stream, mib);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    reserve(pool, stream, 64 * MiB); /* more than phase 2 needs */
    size_t reserved = reserved_mib(pool);
    uint64_t second = phase_need(work, pool, stream, 48);
    size_t grown = reserved_mib(pool) - reserved;
    printf("phase 1 needed %zu MiB, phase 2 needed %zu MiB and made the pool grow by %zu MiB\n",
           (size_t)(first / MiB), (size_t)(second / MiB), grown);

    CHECK(cudaFreeAsync(small, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    return first / MiB == mib + mib / 4 && second == 60 * MiB && grown == 0 ? 0 : 1;
}
