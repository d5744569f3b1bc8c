/* 03 Stream order
 *
 * Shows  a block may be used and freed in other streams than its own, if events put each use after
 *        the allocation and before the free. Nothing else does it, short of a wait of the host. The
 *        legacy stream and the blocking streams wait for each other; non-blocking streams wait only
 *        for events. cudaFree of a pool's block waits for nothing.
 * Yours  fix: the program is wrong in four places: its comments say what its author believed. It
 *        may print the right numbers all the same; the simulated device names each place. Repair
 *        them with events and by moving a line. The streams stay what they are, and the host waits
 *        no more often.
 * Run    make 03          check   make check-03          page   docs/03_stream_order
 */
#include "kernels.h"
#include "workbook.h"

static size_t count_of(int wanted, const int *values, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += values[i] == wanted;
    return found;
}

/* One stream holds. Who waits for it? A call that waited, too, would not return before the gate
 * opens: never. */
static void hold_one(const char *kind, unsigned flags, cudaStream_t other)
{
    int *block;
    cudaStream_t held;
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreateWithFlags(&held, flags));
    CHECK(cudaMallocAsync((void **)&block, MiB, other));

    CHECK(launch_hold(gate, held));
    printf("%-12s stream holds:  legacy stream %-17s", kind,
           cudaGetErrorName(cudaStreamQuery(cudaStreamLegacy)));
    CHECK(cudaMemsetAsync(block, 1, MiB, other));
    CHECK(cudaStreamSynchronize(other));
    printf("  non-blocking stream %s", cudaGetErrorName(cudaStreamQuery(other)));
    CHECK(cudaFree(block));
    printf("  cudaFree returned\n");
    gate_open(gate);

    CHECK(cudaStreamSynchronize(held));
    CHECK(cudaStreamDestroy(held));
    gate_destroy(gate);
}

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 1) * MiB, count = bytes / sizeof(int);
    int *data, *scratch, *result;
    cudaStream_t worker, reader;
    cudaEvent_t filled, added, copied;
    CHECK(cudaMallocHost((void **)&result, bytes));
    CHECK(cudaStreamCreateWithFlags(&worker, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&filled));
    CHECK(cudaEventCreate(&added));
    CHECK(cudaEventCreate(&copied));
    cudaMemPool_t pool = pool_create();
    /* Freed memory stays: a late use is no fault. */
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);

    hold_one("blocking", cudaStreamDefault, worker);
    hold_one("non-blocking", cudaStreamNonBlocking, worker);

    /* One block, three streams: filled in the legacy stream, added to in the worker, copied in the
     * reader. */
    CHECK(cudaMallocFromPoolAsync((void **)&data, bytes, pool, cudaStreamLegacy));
    CHECK(launch_fill(data, 40, count, cudaStreamLegacy));
    /* all streams wait for the legacy stream */
    /* The reader will wait for it: any place before the wait will do. */
    CHECK(cudaEventRecord(added, worker));
    CHECK(launch_add(data, 2, count, worker));
    CHECK(cudaStreamWaitEvent(reader, added, 0));
    CHECK(cudaMemcpyAsync(result, data, bytes, cudaMemcpyDeviceToHost, reader));
    /* the allocator knows who uses a block, and lets the free wait */
    CHECK(cudaFreeAsync(data, worker));
    CHECK(cudaStreamSynchronize(reader));
    size_t right = count_of(42, result, count);
    printf("three streams, cudaFreeAsync:  42 in %zu of %zu elements\n", right, count);

    /* Another block, one stream, and cudaFree. */
    CHECK(cudaMallocFromPoolAsync((void **)&scratch, bytes, pool, worker));
    CHECK(launch_fill(scratch, 7, count, worker));
    CHECK(cudaMemcpyAsync(result, scratch, bytes, cudaMemcpyDeviceToHost, worker));
    /* cudaFree waits for the device, as it always did. */
    CHECK(cudaFree(scratch));
    CHECK(cudaStreamSynchronize(worker));
    right += count_of(7, result, count);
    printf("one stream, cudaFree:          7 in %zu of %zu elements\n", count_of(7, result, count),
           count);

    CHECK(cudaEventDestroy(copied));
    CHECK(cudaEventDestroy(added));
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaStreamDestroy(reader));
    CHECK(cudaStreamDestroy(worker));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFreeHost(result));
    return right == 2 * count ? 0 : 1;
}
