/* A producer and a consumer share a pool of 128 MiB whose release threshold is 64 MiB. The consumer
 * is late: it has received three allocations and freed each, after a gate that is still closed.
 * What does the pool reserve after each round? */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = 0},
                                     .maxSize = 128 * MiB};
    cudaStream_t producer, consumer;
    cudaEvent_t produced;
    cudaMemPool_t pool;
    CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&produced, cudaEventDisableTiming));
    CHECK(cudaMemPoolCreate(&pool, &props));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, 64 * MiB);
    volatile int *gate = gate_create();

    CHECK(launch_hold(gate, consumer));
    for (int round = 1; round <= 3; round++) {
        int *data;
        CHECK(cudaMallocFromPoolAsync((void **)&data, 64 * MiB, pool, producer));
        CHECK(launch_fill(data, round, 64 * MiB / sizeof *data, producer));
        CHECK(cudaEventRecord(produced, producer));
        CHECK(cudaStreamWaitEvent(consumer, produced, 0));
        CHECK(launch_add(data, 1, 64 * MiB / sizeof *data, consumer));
        CHECK(cudaFreeAsync(data, consumer));
        printf("round %d                 reserved %3zu MiB\n", round, reserved_mib(pool));
    }
    gate_open(gate);
    CHECK(cudaStreamSynchronize(consumer));
    printf("consumer synchronized   reserved %3zu MiB\n", reserved_mib(pool));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    printf("trimmed to 0            reserved %3zu MiB\n", reserved_mib(pool));

    gate_destroy(gate);
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaEventDestroy(produced));
    CHECK(cudaStreamDestroy(consumer));
    CHECK(cudaStreamDestroy(producer));
    return 0;
}
