/* 06 The release threshold
 *
 * Shows  when a pool gives memory back. A free returns it to the pool, not to the device. A
 *        synchronise of the stream that freed lets the pool give back what lies above its release
 *        threshold, in whole steps of 32 MiB. The threshold is neither a maximum nor a size to
 *        start with.
 * Yours  predict: what does the pool hold after a free, what after a synchronise? Write rules; the
 *        check tries them on other sizes.
 * Run    make 06          check   make check-06          page   docs/06_release_threshold
 */
#include "kernels.h"
#include "workbook.h"

/* YOUR WORK, 1 of 2. The only block of a pool, of `mib` MiB, was freed: how many MiB does the pool
 * still hold? */
static size_t predict_freed(size_t mib) { return (mib + 31) / 32 * 32; }

/* YOUR WORK, 2 of 2. Then the stream was synchronised: how many now, with a release threshold of
 * `threshold` MiB? */
static size_t predict_synchronised(size_t mib, size_t threshold)
{
    size_t held = predict_freed(mib), kept = threshold / 32 * 32;
    return kept < held ? kept : held;
}

/* A new pool for each threshold: nothing that another one left behind plays a part. Answers the
 * right predictions. */
static int try_threshold(size_t mib, size_t threshold, cudaStream_t stream, cudaStream_t other)
{
    int *data;
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, threshold * MiB);

    CHECK(cudaMallocFromPoolAsync((void **)&data, mib * MiB, pool, stream));
    CHECK(launch_fill(data, 1, 1024, stream));
    printf("threshold %4zu MiB   block taken                               measured %4zu MiB\n",
           threshold, reserved_mib(pool));

    CHECK(cudaFreeAsync(data, stream));
    size_t freed = reserved_mib(pool), predicted = predict_freed(mib);
    int right = predicted == freed;
    printf("                     freed                predicted %4zu MiB, measured %4zu MiB\n",
           predicted, freed);

    CHECK(cudaStreamSynchronize(other));
    printf("                     other synchronised                        measured %4zu MiB\n",
           reserved_mib(pool));

    CHECK(cudaStreamSynchronize(stream));
    size_t synchronised = reserved_mib(pool);
    predicted = predict_synchronised(mib, threshold);
    right += predicted == synchronised;
    printf("                     synchronised         predicted %4zu MiB, measured %4zu MiB\n",
           predicted, synchronised);

    CHECK(cudaMemPoolDestroy(pool));
    return right;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 128), thresholds[] = {0, 48, 64, 256};
    int right = 0, count = sizeof thresholds / sizeof *thresholds;
    cudaStream_t stream, other;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));

    printf("one block of %zu MiB\n", mib);
    for (int i = 0; i < count; i++)
        right += try_threshold(mib, thresholds[i], stream, other);
    printf("right predictions    %d of %d\n", right, 2 * count);

    CHECK(cudaStreamDestroy(other));
    CHECK(cudaStreamDestroy(stream));
    return right == 2 * count ? 0 : 1;
}
