/* Runs lesson 10's pipeline as its main does not: with other ROUNDS and another size, and then
 * three rounds more of a third size in a pool of their own (arguments ROUNDS MIB LARGE). "shared"
 * MIB calls free_shared twice, while the other stream is held in front of its use. What the pools
 * did is in the journal. */

static cudaMemPool_t asked_pool(void)
{
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    return pool;
}

static void asked_run(int rounds, size_t mib)
{
    int *results;
    size_t *reserved = calloc((size_t)rounds, sizeof *reserved);
    cudaMemPool_t pool = asked_pool();
    CHECK(cudaMallocHost((void **)&results, (size_t)rounds * sizeof *results));
    memset(results, 0, (size_t)rounds * sizeof *results);
    pipeline(rounds, mib, pool, results, reserved);
    CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < rounds; round++)
        printf("\npipeline of %d rounds of %zu MiB: results[%d] = %d\n", rounds, mib, round,
               results[round]);
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFreeHost(results));
    free(reserved);
}

/* Each stream uses a half of the memory, and no stream waits for the other. */
static void asked_shared(size_t mib, cudaStream_t one, cudaStream_t another)
{
    int *data, *next;
    size_t half = mib * MiB / sizeof *data / 2;
    cudaMemPool_t pool = asked_pool();
    volatile int *gate = gate_create();
    CHECK(cudaMallocFromPoolAsync((void **)&data, mib * MiB, pool, one));
    CHECK(launch_fill(data, 1, 2 * half, one));
    CHECK(cudaStreamSynchronize(one));
    CHECK(launch_hold(gate, another));
    CHECK(launch_add(data, 1, half, another));
    CHECK(launch_add(data + half, 1, half, one));
    free_shared(data, one, another);
    CHECK(cudaMallocFromPoolAsync((void **)&next, mib * MiB, pool, one));
    gate_open(gate);
    CHECK(launch_fill(next, 2, 2 * half, one));
    CHECK(cudaFreeAsync(next, one));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    gate_destroy(gate);
}

int main(int argc, char **argv)
{
    CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&store, cudaStreamNonBlocking));
    if (argc == 3) {
        asked_shared(strtoul(argv[2], NULL, 10), load, store);
        asked_shared(1, store, work);
    } else {
        asked_run(atoi(argv[1]), strtoul(argv[2], NULL, 10));
        asked_run(3, strtoul(argv[3], NULL, 10));
    }
    CHECK(cudaStreamDestroy(store));
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(load));
    return 0;
}
