/* 08 Stream order
 *
 * Question: Which streams wait for each other, and what must a program add where they do not? When
 *   may memory be freed in another stream than the one that used it?
 * Task (fix): the program is incorrect in four places: its comments say what its author believed.
 *   It may print the correct numbers, but the simulated device reports each place. Repair them with
 *   events (as many as you need), and one by moving a line. The streams stay what they are, and the
 *   host waits no more often than at the start: twice after the first fill.
 * Calls: cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
 *        cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
 *        cudaEventCreate(cudaEvent_t *event), cudaEventDestroy(cudaEvent_t event)
 *        cudaStreamSynchronize(cudaStream_t stream)
 * Run:   make 08          Check: make check-08          Page: docs/08_stream_order
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

/* One stream holds at a closed gate, until gate_open(). Which other streams and calls wait? */
static void hold_one(const char *kind, unsigned flags, cudaStream_t worker)
{
    int *memory;
    cudaStream_t held;
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreateWithFlags(&held, flags));
    CHECK(cudaMallocAsync((void **)&memory, MiB, worker));

    CHECK(launch_hold(gate, held));
    printf("%-12s held:  legacy stream %-17s", kind,
           cudaGetErrorName(cudaStreamQuery(cudaStreamLegacy)));
    CHECK(cudaMemsetAsync(memory, 1, MiB, worker));
    CHECK(cudaStreamSynchronize(worker));
    printf("  worker %s", cudaGetErrorName(cudaStreamQuery(worker)));
    CHECK(cudaFree(memory));
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
    /* The default pool keeps freed memory, so a late use prints a wrong number and is no fault. */
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    CHECK(cudaMallocAsync((void **)&data, bytes, cudaStreamLegacy));

    hold_one("blocking", cudaStreamDefault, worker);
    hold_one("non-blocking", cudaStreamNonBlocking, worker);

    /* One allocation, three streams: allocated and filled in the legacy stream, added to in the
     * worker, copied in the reader, freed in the worker. */
    CHECK(launch_fill(data, 40, count, cudaStreamLegacy));
    CHECK(cudaEventRecord(filled, cudaStreamLegacy));
    CHECK(cudaStreamWaitEvent(worker, filled, 0));
    CHECK(launch_add(data, 2, count, worker));
    CHECK(cudaEventRecord(added, worker));
    CHECK(cudaStreamWaitEvent(reader, added, 0));
    CHECK(cudaMemcpyAsync(result, data, bytes, cudaMemcpyDeviceToHost, reader));
    CHECK(cudaEventRecord(copied, reader));
    CHECK(cudaStreamWaitEvent(worker, copied, 0));
    CHECK(cudaFreeAsync(data, worker));
    CHECK(cudaStreamSynchronize(reader));
    size_t correct = count_of(42, result, count);
    printf("three streams, cudaFreeAsync:  42 in %zu of %zu elements\n", correct, count);

    /* Another allocation, one stream, and cudaFree. */
    CHECK(cudaMallocAsync((void **)&scratch, bytes, worker));
    CHECK(launch_fill(scratch, 7, count, worker));
    CHECK(cudaMemcpyAsync(result, scratch, bytes, cudaMemcpyDeviceToHost, worker));
    CHECK(cudaStreamSynchronize(worker)); /* cudaFree does not wait */
    CHECK(cudaFree(scratch));
    correct += count_of(7, result, count);
    printf("one stream, cudaFree:          7 in %zu of %zu elements\n", count_of(7, result, count),
           count);

    CHECK(cudaEventDestroy(copied));
    CHECK(cudaEventDestroy(added));
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaStreamDestroy(reader));
    CHECK(cudaStreamDestroy(worker));
    CHECK(cudaFreeHost(result));
    return correct == 2 * count ? 0 : 1;
}
