/* Runs lesson 10's pipeline as its main does not: with other ROUNDS and another size (arguments
 * "rounds" ROUNDS MIB), or with the store stream held at a closed gate ("held" ROUNDS MIB). What
 * the pools did is in the journal: first one that holds the input and the result of a round, then
 * the pipeline's. The check puts the lesson in front of this file, its main renamed. */
#include <threads.h>

/* What a pool needs for one round. */
static void asked_minimum(size_t mib)
{
    void *input, *result;
    cudaMemPool_t pool = pool_create();
    CHECK(cudaMallocFromPoolAsync(&input, mib * MiB, pool, load));
    CHECK(cudaMallocFromPoolAsync(&result, mib * MiB, pool, load));
    CHECK(cudaFreeAsync(input, load));
    CHECK(cudaFreeAsync(result, load));
    CHECK(cudaStreamSynchronize(load));
    CHECK(cudaMemPoolDestroy(pool));
}

static void asked_run(int rounds, size_t mib, int held)
{
    int *results;
    size_t *reserved = calloc((size_t)rounds, sizeof *reserved);
    cudaMemPool_t pool = pool_create();
    volatile int *gate = gate_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    CHECK(cudaMallocHost((void **)&results, (size_t)rounds * sizeof *results));
    memset(results, 0, (size_t)rounds * sizeof *results);
    if (held)
        CHECK(launch_hold(gate, store));
    pipeline(rounds, mib, pool, results, reserved);
    if (held) { /* the device does all that waits for nothing held, by the next call */
        thrd_sleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        cudaStreamQuery(load);
    }
    gate_open(gate);
    CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < rounds; round++)
        printf("\npipeline of %d rounds of %zu MiB: results[%d] = %d\n", rounds, mib, round,
               results[round]);
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFreeHost(results));
    gate_destroy(gate);
    free(reserved);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&store, cudaStreamNonBlocking));
    asked_minimum(strtoul(argv[3], NULL, 10));
    asked_run(atoi(argv[2]), strtoul(argv[3], NULL, 10), strcmp(argv[1], "held") == 0);
    CHECK(cudaStreamDestroy(store));
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(load));
    return 0;
}
