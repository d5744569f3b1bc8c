/* 11 Reuse: opportunistic
 *
 * Question: One stream frees memory, another allocates. When may the allocation take the freed
 *   memory: while the free is pending, when the device has finished, or when the host has
 *   synchronized? And what does the policy change? The first part of the program tries six cases.
 *   Then it runs a batch of four phases, and a server twice.
 * Task (fix): two functions expect reuse where there is none. `batch` runs its phases in the memory
 *   of one phase, by reuse that is certain, however fast the device is. `serve` takes memory that
 *   the device has finished with, and the host synchronizes no stream there, not even one that has
 *   finished. For each, decide between a call and the policy.
 * Calls: cudaStreamSynchronize(cudaStream_t stream)
 *        cudaStreamQuery(cudaStream_t stream)
 * Run:   make 11          Check: make check-11          Page: docs/11_reuse_opportunistic
 */
#include "kernels.h"
#include "workbook.h"

#define PHASES 4

enum state { PENDING, FINISHED, SYNCHRONIZED };

static const char *const names[] = {"pending", "finished", "synchronized"};

static cudaStream_t streams[PHASES];

/* A pool with opportunistic reuse on or off; the two other policies are off. */
static cudaMemPool_t pool_for(int opportunistic)
{
    cudaMemPool_t pool = pool_create();
    /* A synchronization returns no memory to the device. */
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseFollowEventDependencies, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, opportunistic);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    return pool;
}

static int *allocate(cudaMemPool_t pool, size_t bytes, cudaStream_t stream)
{
    int *memory;
    CHECK(cudaMallocFromPoolAsync((void **)&memory, bytes, pool, stream));
    return memory;
}

/* Frees in streams[0] and brings the free into `state`. */
static void free_in_state(int *memory, enum state state, volatile int *gate)
{
    CHECK(cudaFreeAsync(memory, streams[0]));
    if (state != PENDING)
        gate_open(gate);
    while (state == FINISHED && cudaStreamQuery(streams[0]) == cudaErrorNotReady)
        continue;
    if (state == SYNCHRONIZED)
        CHECK(cudaStreamSynchronize(streams[0]));
}

/* YOUR WORK, 1 of 2. Four phases, each in a stream of its own; the host reads the result of
 * each before it begins the next. reserved[phase] is what the pool has reserved by then, in MiB. */
static int batch(size_t bytes, int *result, size_t *reserved)
{
    int sum = 0;
    cudaMemPool_t pool = pool_for(0); /* no reuse by luck: each run takes the same memory */
    for (int phase = 0; phase < PHASES; phase++) {
        int *memory = allocate(pool, bytes, streams[phase]);
        CHECK(launch_fill(memory, phase, bytes / sizeof(int), streams[phase]));
        CHECK(cudaMemcpyAsync(result, memory, sizeof(int), cudaMemcpyDeviceToHost, streams[phase]));
        CHECK(cudaFreeAsync(memory, streams[phase]));
        CHECK(cudaStreamSynchronize(streams[phase])); /* now its memory is for every stream */
        sum += *result;
        reserved[phase] = reserved_mib(pool);
    }
    CHECK(cudaMemPoolDestroy(pool));
    return sum;
}

/* YOUR WORK, 2 of 2. A pool for a server. */
static cudaMemPool_t server_pool(void)
{
    return pool_for(1); /* what has finished is reused, without a call of the host */
}

/* Memory for a request in `stream`, after a request in `earlier` has freed its memory. The
 * host synchronizes no stream here. */
static int *serve(cudaMemPool_t pool, size_t bytes, cudaStream_t earlier, cudaStream_t stream)
{
    (void)earlier;
    return allocate(pool, bytes, stream);
}

/* One case: streams[0] frees, streams[1] allocates. Returns whether the address is the same. */
static int try_case(const char *name, cudaMemPool_t pool, enum state state, size_t mib, int serving)
{
    volatile int *gate = gate_create();
    int *first = allocate(pool, mib * MiB, streams[0]);
    CHECK(launch_hold(gate, streams[0]));
    CHECK(launch_fill(first, 1, mib * MiB / sizeof(int), streams[0]));
    free_in_state(first, state, gate);
    int *second = serving ? serve(pool, mib * MiB, streams[0], streams[1])
                          : allocate(pool, mib * MiB, streams[1]);
    printf("%-11s %-13s %s address  reserved %4zu MiB\n", name, names[state],
           second == first ? "same " : "other", reserved_mib(pool));

    gate_open(gate);
    CHECK(launch_fill(second, 2, mib * MiB / sizeof(int), streams[1]));
    CHECK(cudaFreeAsync(second, streams[1]));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    gate_destroy(gate);
    return second == first;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 64), reserved[PHASES];
    int *result;
    for (int i = 0; i < PHASES; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&result, sizeof *result));

    for (enum state state = PENDING; state <= SYNCHRONIZED; state++)
        try_case("policy on", pool_for(1), state, mib, 0);
    for (enum state state = PENDING; state <= SYNCHRONIZED; state++)
        try_case("policy off", pool_for(0), state, mib, 0);

    int sum = batch(mib * MiB, result, reserved);
    printf("batch: sum %d, reserved %4zu MiB after phase 1, %4zu MiB after phase %d\n", sum,
           reserved[0], reserved[PHASES - 1], PHASES);
    int pending = try_case("server", server_pool(), PENDING, mib, 1);
    int finished = try_case("server", server_pool(), FINISHED, mib, 1);

    CHECK(cudaFreeHost(result));
    for (int i = 0; i < PHASES; i++)
        CHECK(cudaStreamDestroy(streams[i]));
    return sum == 6 && reserved[PHASES - 1] == reserved[0] && !pending && finished ? 0 : 1;
}
