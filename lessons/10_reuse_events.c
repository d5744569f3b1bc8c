/* 10 Reuse: events
 *
 * Question: One stream frees memory, another allocates, and the device has not reached the
 *   free. After which event may the allocation take the freed memory? The first part of the program
 *   tries nine cases. The second part is a pipeline of three streams.
 * Task (fix): the pool of the pipeline grows with every round. Move calls of `pipeline`, or change
 *   their streams, until all rounds run in the memory of the first. The host waits nowhere in the
 *   pipeline, the policies of the pool stay, and the load of a round does not wait for the store of
 *   the round before. Then repair `free_shared`, which the check calls for other streams.
 * Calls: cudaFreeAsync(void *ptr, cudaStream_t stream)
 *        cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
 *        cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
 * Run:   make 10          Check: make check-10          Page: docs/10_reuse_events
 */
#include "kernels.h"
#include "workbook.h"

#define ROUNDS 8

/* The three stages of the pipeline. */
static cudaStream_t load, work, store;

/* A pool that follows event dependencies or does not; the two other policies are off. */
static cudaMemPool_t pool_following(int follow)
{
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseFollowEventDependencies, follow);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    return pool;
}

/* One case. `calls` are the calls between the last use of the first allocation and the second
 * allocation: F frees the first one, R records an event in the freeing stream, W makes the
 * allocating stream wait for the event. The freeing stream is held, so the free is pending. */
static void try_case(const char *calls, int follow, size_t mib, cudaStream_t freeing,
                     cudaStream_t allocating)
{
    int *first, *second;
    size_t count = mib * MiB / sizeof(int);
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    volatile int *gate = gate_create();
    cudaMemPool_t pool = pool_following(follow);

    CHECK(cudaMallocFromPoolAsync((void **)&first, mib * MiB, pool, freeing));
    CHECK(launch_hold(gate, freeing));
    CHECK(launch_fill(first, 1, count, freeing));
    for (const char *call = calls; *call != '\0'; call++) {
        if (*call == 'F')
            CHECK(cudaFreeAsync(first, freeing));
        else if (*call == 'R')
            CHECK(cudaEventRecord(event, freeing));
        else
            CHECK(cudaStreamWaitEvent(allocating, event, 0));
    }
    CHECK(cudaMallocFromPoolAsync((void **)&second, mib * MiB, pool, allocating));
    printf("%-4s  %-20s  policy %-3s  %s address  reserved %4zu MiB\n", calls,
           allocating == cudaStreamLegacy ? "in the legacy stream" : "in another stream",
           follow ? "on" : "off", second == first ? "same " : "other", reserved_mib(pool));

    gate_open(gate);
    CHECK(launch_fill(second, 2, count, allocating));
    CHECK(cudaFreeAsync(second, allocating));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaEventDestroy(event));
    gate_destroy(gate);
}

/* YOUR WORK, 1 of 2. Each round loads an input, makes a result of it and stores the result's last
 * number in results[round]. reserved[round] is what the pool has reserved by then, in MiB. */
static void pipeline(int rounds, size_t mib, cudaMemPool_t pool, int *results, size_t *reserved)
{
    size_t bytes = mib * MiB, count = bytes / sizeof(int);
    cudaEvent_t loaded, worked, stored;
    CHECK(cudaEventCreate(&loaded));
    CHECK(cudaEventCreate(&worked));
    CHECK(cudaEventCreate(&stored));

    for (int round = 0; round < rounds; round++) {
        int *input, *result;
        CHECK(cudaMallocFromPoolAsync((void **)&input, bytes, pool, load));
        CHECK(launch_fill(input, round, count, load));
        CHECK(cudaEventRecord(loaded, load));

        CHECK(cudaStreamWaitEvent(work, loaded, 0));
        CHECK(cudaMallocFromPoolAsync((void **)&result, bytes, pool, work));
        CHECK(cudaMemcpyAsync(result, input, bytes, cudaMemcpyDeviceToDevice, work));
        CHECK(launch_add(result, 1, count, work));
        CHECK(cudaEventRecord(worked, work));
        CHECK(cudaFreeAsync(input, work)); /* "The event is at the last use: that is enough." */

        CHECK(cudaStreamWaitEvent(store, worked, 0));
        CHECK(cudaMemcpyAsync(results + round, result + count - 1, sizeof *results,
                              cudaMemcpyDeviceToHost, store));
        CHECK(cudaFreeAsync(result, store));
        CHECK(cudaEventRecord(stored, store));

        /* "An event for the input, one for the result, and a wait for each: any will do." */
        CHECK(cudaStreamWaitEvent(load, worked, 0));
        CHECK(cudaStreamWaitEvent(store, stored, 0));
        reserved[round] = reserved_mib(pool);
    }
    CHECK(cudaEventDestroy(loaded));
    CHECK(cudaEventDestroy(worked));
    CHECK(cudaEventDestroy(stored));
}

/* YOUR WORK, 2 of 2. Frees memory that two streams use, neither of which waits for the other. The
 * next allocation in `one` gets the memory at once, and the host does not wait. */
static void free_shared(int *data, cudaStream_t one, cudaStream_t other)
{
    (void)other; /* "A free in a stream that uses the memory comes after its uses." */
    CHECK(cudaFreeAsync(data, one));
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 64), reserved[ROUNDS];
    const char *cases[] = {"F", "FRW", "RFW", "RFRW", "FWR", "RWFR"};
    int *results, correct = 0;
    cudaStream_t blocking;
    CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&store, cudaStreamNonBlocking));
    CHECK(cudaStreamCreate(&blocking));

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        try_case(cases[i], 1, mib, load, work);
    try_case("FRW", 0, mib, load, work);
    try_case("F", 1, mib, blocking, cudaStreamLegacy);
    try_case("F", 0, mib, blocking, cudaStreamLegacy);

    CHECK(cudaMallocHost((void **)&results, ROUNDS * sizeof *results));
    cudaMemPool_t pool = pool_following(1);
    pipeline(ROUNDS, mib, pool, results, reserved);
    CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < ROUNDS; round++)
        correct += results[round] == round + 1;
    printf("pipeline: correct results %d of %d\n", correct, ROUNDS);
    printf("pipeline: reserved %4zu MiB after round 1, %4zu MiB after round %d\n", reserved[0],
           reserved[ROUNDS - 1], ROUNDS);

    CHECK(cudaMemPoolDestroy(pool));

    int *shared; /* both work and store use it, here one after the other */
    CHECK(cudaMallocAsync((void **)&shared, mib * MiB, work));
    CHECK(launch_fill(shared, 1, mib * MiB / sizeof(int), work));
    CHECK(cudaStreamSynchronize(work));
    CHECK(launch_add(shared, 1, mib * MiB / sizeof(int), store));
    free_shared(shared, store, work);
    CHECK(cudaFreeHost(results));
    CHECK(cudaStreamDestroy(store));
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(load));
    CHECK(cudaStreamDestroy(blocking));
    return correct == ROUNDS && reserved[ROUNDS - 1] == reserved[0] ? 0 : 1;
}
