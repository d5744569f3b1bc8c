/* The reuse ladder, one line for each rung: when does a new allocation get the address of freed
 * memory?
 *
 * Each line has a pool of its own, with room for the first allocation kept (release threshold at
 * its maximum). The freeing stream is held at a closed gate wherever the line needs the free to be
 * pending. Of the policies opportunistic and internal dependencies only the one that the line
 * names is on. */
#include "kernels.h"
#include "workbook.h"

enum rung { SAME, NOTHING, EVENT, LEGACY, WAITED, FINISHED, INSERTED };

static const char *const names[] = {
    "the same stream",
    "another stream, nothing between",
    "another stream, after an event",
    "the legacy stream, after a blocking stream",
    "another stream, after a synchronization",
    "another stream, the free has finished",
    "another stream, and the pool is full",
};

static cudaMemPool_t pool_for(enum rung rung)
{
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = rung == INSERTED ? 64 * MiB : 0;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, rung == FINISHED);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, rung == INSERTED);
    return pool;
}

static void climb(enum rung rung, cudaStream_t blocking, cudaStream_t other)
{
    cudaStream_t next = rung == SAME ? blocking : rung == LEGACY ? cudaStreamLegacy : other;
    cudaMemPool_t pool = pool_for(rung);
    volatile int *gate = gate_create();
    cudaEvent_t event;
    void *first, *second;
    CHECK(cudaEventCreate(&event));

    CHECK(cudaMallocFromPoolAsync(&first, 64 * MiB, pool, blocking));
    CHECK(launch_hold(gate, blocking));
    CHECK(cudaFreeAsync(first, blocking));
    if (rung == EVENT) {
        CHECK(cudaEventRecord(event, blocking));
        CHECK(cudaStreamWaitEvent(next, event, 0));
    }
    if (rung == WAITED || rung == FINISHED)
        gate_open(gate);
    if (rung == WAITED)
        CHECK(cudaStreamSynchronize(blocking));
    while (rung == FINISHED && cudaStreamQuery(blocking) == cudaErrorNotReady)
        continue;
    CHECK(cudaMallocFromPoolAsync(&second, 64 * MiB, pool, next));
    printf("%-44s %s address   reserved %3zu MiB\n", names[rung],
           second == first ? "same " : "other", reserved_mib(pool));

    gate_open(gate);
    CHECK(cudaFreeAsync(second, next));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaEventDestroy(event));
    gate_destroy(gate);
}

int main(void)
{
    cudaStream_t blocking, other;
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (enum rung rung = SAME; rung <= INSERTED; rung++)
        climb(rung, blocking, other);
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaStreamDestroy(blocking));
    return 0;
}
