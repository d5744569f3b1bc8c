/* 04 Release threshold
 *
 * Question: When does a pool return freed memory to the device, and how much does it keep?
 * Task (predict): write what a pool reserves after a free and after a synchronization, and decide
 *   the threshold of a pool. The check calls your rules with other segments and sizes.
 * Calls: none to add. pool_set of workbook.h, which the program has, makes this one:
 *        cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
 * Run:   make 04          Check: make check-04          Page: docs/04_release_threshold
 */
#include "kernels.h"
#include "workbook.h"

/* All sizes are in MiB, except where a call takes bytes. */

static size_t rounded_up(size_t size, size_t segment)
{
    return (size + segment - 1) / segment * segment;
}

/* YOUR WORK, 1 of 3. A pool reserved `reserved`. Now `freed` of it was freed: what does the pool
 * reserve? */
static size_t predict_freed(size_t reserved, size_t freed)
{
    (void)freed;
    return reserved; /* what was freed stays in the pool */
}

/* YOUR WORK, 2 of 3. Then the stream was synchronized: what does the pool reserve now? It reserved
 * `reserved` before. Allocations of `live` in all are still live, in the first segments. */
static size_t predict_synchronized(size_t segment, size_t reserved, size_t live, size_t threshold)
{
    size_t kept = threshold / segment * segment, needed = rounded_up(live, segment);
    if (kept < needed)
        kept = needed;
    return kept < reserved ? kept : reserved;
}

/* A row of the table, with a pool of its own. Returns the number of correct predictions. */
static int try_threshold(size_t threshold, size_t live, size_t mib, size_t segment,
                         cudaStream_t stream, cudaStream_t other)
{
    int *data;
    void *kept = NULL;
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, threshold * MiB);
    if (live > 0)
        CHECK(cudaMallocFromPoolAsync(&kept, live * MiB, pool, stream));
    CHECK(cudaMallocFromPoolAsync((void **)&data, mib * MiB, pool, stream));
    CHECK(launch_fill(data, 1, 1024, stream));
    size_t reserved = reserved_mib(pool);

    CHECK(cudaFreeAsync(data, stream));
    size_t freed = reserved_mib(pool);
    CHECK(cudaStreamSynchronize(other));
    size_t after_other = reserved_mib(pool);
    CHECK(cudaStreamSynchronize(stream));
    size_t synchronized = reserved_mib(pool);

    size_t prediction[] = {predict_freed(reserved, mib),
                           predict_synchronized(segment, reserved, live, threshold)};
    printf("%9zu %5zu %10zu %6zu %10zu %19zu %13zu %10zu\n", threshold, live, reserved, freed,
           prediction[0], after_other, synchronized, prediction[1]);

    if (live > 0) {
        CHECK(cudaFreeAsync(kept, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaMemPoolDestroy(pool));
    return (prediction[0] == freed) + (prediction[1] == synchronized);
}

/* A peak, and then a phase that needs `mib` on top of the `mib` that is always live. Returns
 * whether the pool kept what the phase needs, and no more. */
static int try_phase(size_t mib, size_t segment, cudaStream_t stream)
{
    void *kept, *data;
    cudaMemPool_t pool = pool_create();
    /* YOUR WORK, 3 of 3. Decide, from `mib` and `segment`, the threshold with which the pool keeps
     * what the phase needs, and nothing else of the peak. */
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, rounded_up(2 * mib, segment) * MiB);

    CHECK(cudaMallocFromPoolAsync(&kept, mib * MiB, pool, stream));
    CHECK(cudaMallocFromPoolAsync(&data, 4 * mib * MiB, pool, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    size_t reserved = reserved_mib(pool);
    CHECK(cudaMallocFromPoolAsync(&data, mib * MiB, pool, stream));
    printf("after a peak: reserved %zu MiB; with the next allocation: %zu MiB\n", reserved,
           reserved_mib(pool));
    int enough = reserved == reserved_mib(pool) && reserved == rounded_up(2 * mib, segment);

    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaFreeAsync(kept, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return enough;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 128);
    size_t rows[][2] = {{0, 0}, {48, 0}, {64, 0}, {256, 0}, {64, mib}, {160, mib}};
    int correct = 0, count = sizeof rows / sizeof *rows;
    void *byte;
    cudaStream_t stream, other;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));

    cudaMemPool_t pool = pool_create();
    CHECK(cudaMallocFromPoolAsync(&byte, 1, pool, stream));
    size_t segment = reserved_mib(pool); /* as in lesson 02 */
    CHECK(cudaFreeAsync(byte, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));

    printf("segment %zu MiB; an allocation of %zu MiB is freed. Reserved, in MiB:\n", segment, mib);
    printf("threshold  live  allocated  freed  predicted  other synchronized  synchronized  "
           "predicted\n");
    for (int i = 0; i < count; i++)
        correct += try_threshold(rows[i][0], rows[i][1], mib, segment, stream, other);
    printf("correct predictions  %d of %d\n", correct, 2 * count);
    int enough = try_phase(mib, segment, stream);

    CHECK(cudaStreamDestroy(other));
    CHECK(cudaStreamDestroy(stream));
    return correct == 2 * count && enough ? 0 : 1;
}
