/* 07 Trim
 *
 * Shows  a program that runs in phases gives memory back between them with cudaMemPoolTrimTo(pool,
 *        keep): the pool keeps at least `keep` bytes, in whole steps of 32 MiB. Trim knows no
 *        threshold: it also takes what a threshold protects from every synchronise. And it does
 *        nothing for a free that is still pending.
 * Yours  fix: after phase 1 and after phase 2 the program is wrong: its comments say what its
 *        author believed. Phase 2 needs half as much as phase 1 and must find it in the pool; at
 *        the end nothing is left. The threshold stays.
 * Run    make 07          check   make check-07          page   docs/07_trim
 */
#include "kernels.h"
#include "workbook.h"

static size_t report(const char *what, cudaMemPool_t pool)
{
    size_t reserved = reserved_mib(pool);
    printf("%-30s  used %4zu MiB   reserved %4zu MiB\n", what, used_mib(pool), reserved);
    return reserved;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 96), keep = (mib + 1) / 2,
           count = keep * MiB / sizeof(int);
    int *data, value = -1;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    volatile int *gate = gate_create();
    cudaMemPool_t pool = pool_create();
    /* No synchronise gives anything back. */
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);

    /* Phase 1, then a trim while its free is pending: the stream holds at the gate, so the device
     * cannot reach it. */
    CHECK(cudaMallocFromPoolAsync((void **)&data, mib * MiB, pool, stream));
    CHECK(launch_fill(data, 1, mib * MiB / sizeof(int), stream));
    report("phase 1", pool);
    CHECK(launch_hold(gate, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    report("free pending, trimmed to 0", pool);
    gate_open(gate);

    /* Between the phases: first the free must have happened, then trim keeps what phase 2 needs. */
    CHECK(cudaStreamSynchronize(stream));
    report("synchronised", pool);
    CHECK(cudaMemPoolTrimTo(pool, keep * MiB));
    size_t kept = report("trimmed for phase 2", pool);

    /* Phase 2 */
    CHECK(cudaMallocFromPoolAsync((void **)&data, keep * MiB, pool, stream));
    size_t grown = report("phase 2", pool);
    CHECK(launch_fill(data, 6, count, stream));
    CHECK(launch_add(data, 1, count, stream));
    CHECK(cudaMemcpyAsync(&value, data + count - 1, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(data, stream));

    /* The end: the pool lives on in a real program, so it gives everything back. */
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    size_t left = report("trimmed at the end", pool);
    printf("phase 2: the pool grew by %zu MiB, the last element is %d\n", grown - kept, value);

    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    gate_destroy(gate);
    return grown == kept && left == 0 && value == 7 ? 0 : 1;
}
