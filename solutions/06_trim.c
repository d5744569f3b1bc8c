/* 06 Trim
 *
 * Question: A program works in phases, which need different amounts of memory. What does
 *   cudaMemPoolTrimTo(pool, keep) return to the device, and what prevents it?
 * Task (fix): three places, marked YOUR WORK. Decide where the host synchronizes, what a trim
 *   keeps, and in which order phase 3 allocates. The threshold stays at its maximum, and the
 *   program creates no other pools to try things out in.
 * Calls: cudaStreamSynchronize(cudaStream_t stream)
 *        cudaMemPoolTrimTo(cudaMemPool_t pool, size_t minBytesToKeep)
 * Run:   make 06          Check: make check-06          Page: docs/06_trim
 */
#include "kernels.h"
#include "workbook.h"

enum { PIECES = 4 };

static size_t report(const char *what, cudaMemPool_t pool)
{
    size_t reserved = reserved_mib(pool);
    printf("%-29s  used %4zu MiB   reserved %4zu MiB\n", what, used_mib(pool), reserved);
    return reserved;
}

static void *allocate(size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    void *data;
    CHECK(cudaMallocFromPoolAsync(&data, bytes, pool, stream));
    return data;
}

/* No synchronization returns memory of this pool. */
static cudaMemPool_t keeping_pool(void)
{
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    return pool;
}

/* What a pool reserves for its smallest allocation. */
static size_t measure_segment(cudaStream_t stream)
{
    cudaMemPool_t pool = pool_create();
    void *smallest = allocate(1, pool, stream);
    size_t segment = (size_t)pool_get(pool, cudaMemPoolAttrReservedMemCurrent);
    CHECK(cudaFreeAsync(smallest, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return segment;
}

/* Phase 3: results, which stay, and scratch memory, which does not. Each takes half a segment. */
static int share_segments(cudaStream_t stream)
{
    size_t bytes = measure_segment(stream) / 2;
    cudaMemPool_t pool = keeping_pool();
    void *result[PIECES], *scratch[PIECES];
    /* YOUR WORK, 3 of 3. After the scratch memory is freed, a trim returns all of it. */
    for (int i = 0; i < PIECES; i++)
        result[i] = allocate(bytes, pool, stream);
    for (int i = 0; i < PIECES; i++)
        scratch[i] = allocate(bytes, pool, stream);
    report("phase 3", pool);
    for (int i = 0; i < PIECES; i++)
        CHECK(cudaFreeAsync(scratch[i], stream));
    CHECK(cudaStreamSynchronize(stream));
    void *larger = allocate(bytes + MiB, pool, stream);
    report("scratch freed, one larger", pool);
    CHECK(cudaFreeAsync(larger, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    size_t left = report("that freed, trimmed to 0", pool), used = used_mib(pool);
    for (int i = 0; i < PIECES; i++)
        CHECK(cudaFreeAsync(result[i], stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    return left == used;
}

int main(int argc, char **argv)
{
    size_t first = mib_argument(argc, argv, 96) * MiB, second = (first / MiB + 1) / 2 * MiB;
    size_t count = second / sizeof(int);
    int value = -1;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    volatile int *gate = gate_create();
    cudaMemPool_t pool = keeping_pool();

    /* Phase 1, and a trim while its free is pending: the stream holds at the gate. */
    int *data = allocate(first, pool, stream);
    CHECK(launch_fill(data, 1, first / sizeof *data, stream));
    report("phase 1", pool);
    CHECK(launch_hold(gate, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    report("free pending, trimmed to 0", pool);
    gate_open(gate);

    /* YOUR WORK, 1 of 3. One trim leaves the pool what phase 2 needs, and no segment more. */
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, second));
    size_t kept = report("trimmed for phase 2", pool);
    data = allocate(second, pool, stream);
    size_t grown = report("phase 2", pool);
    CHECK(launch_fill(data, 6, count, stream));
    CHECK(launch_add(data, 1, count, stream));
    CHECK(cudaMemcpyAsync(&value, data + count - 1, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(data, stream));

    /* YOUR WORK, 2 of 3. After phase 2 a trim leaves this pool nothing. */
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    size_t left = report("trimmed after phase 2", pool);
    int shared = share_segments(stream);
    printf("in phase 2 the pool grew by %zu MiB, the last element is %d\n", grown - kept, value);

    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    gate_destroy(gate);
    return grown == kept && left == 0 && shared && value == 7 ? 0 : 1;
}
