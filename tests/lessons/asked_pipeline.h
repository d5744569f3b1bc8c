/* Runs lesson 09's pipeline as its main does not: with another number of rounds and another size
 * (arguments "rounds" ROUNDS MIB); with the store stream held at a closed gate (arguments "held"
 * MIB). The check puts the lesson in front of this file, its main renamed. It prints what was
 * expected and what happened, of the first that is wrong; nothing when all is correct. */

/* What a pool reserves for the input and the result of one round. */
static size_t asked_minimum(size_t mib)
{
    void *input, *result;
    cudaMemPool_t pool = pool_create();
    CHECK(cudaMallocFromPoolAsync(&input, mib * MiB, pool, load));
    CHECK(cudaMallocFromPoolAsync(&result, mib * MiB, pool, load));
    size_t reserved = reserved_mib(pool);
    CHECK(cudaFreeAsync(input, load));
    CHECK(cudaFreeAsync(result, load));
    CHECK(cudaStreamSynchronize(load));
    CHECK(cudaMemPoolDestroy(pool));
    return reserved;
}

static cudaMemPool_t asked_pool(void)
{
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    return pool;
}

static void asked_rounds(int rounds, size_t mib, int *results, size_t *reserved)
{
    size_t minimum = asked_minimum(mib), most;
    cudaMemPool_t pool = asked_pool();
    pipeline(rounds, mib, pool, results, reserved);
    most = (size_t)pool_get(pool, cudaMemPoolAttrReservedMemHigh) / MiB;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    for (int round = 0; round < rounds; round++)
        if (results[round] != round + 1) {
            printf("Expected: the result of round %d is %d.\nHappened: in %d rounds of %zu MiB it "
                   "was %d.\n",
                   round + 1, round + 1, rounds, mib, results[round]);
            return;
        }
    if (most > minimum)
        printf("Expected: %d rounds of %zu MiB run in the memory of one input and one result, for "
               "which a pool reserves %zu MiB.\nHappened: the pool reserved %zu MiB.\n",
               rounds, mib, minimum, most);
}

/* The store stream holds until the load stream has had time for all that it need not wait for; the
 * check reads in the journal what ran before the gate opened. */
static void asked_held(size_t mib, int *results, size_t *reserved)
{
    cudaMemPool_t pool = asked_pool();
    volatile int *gate = gate_create();
    CHECK(launch_hold(gate, store));
    pipeline(2, mib, pool, results, reserved);
    for (int i = 0; i < 2000 && cudaStreamQuery(load) == cudaErrorNotReady; i++)
        continue;
    gate_open(gate);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    gate_destroy(gate);
}

int main(int argc, char **argv)
{
    int *results;
    size_t reserved[64];
    if (argc < 3)
        return 2;
    CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&store, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&results, sizeof reserved));
    memset(results, 0, sizeof reserved);
    if (strcmp(argv[1], "held") == 0)
        asked_held((size_t)atoi(argv[2]), results, reserved);
    else
        asked_rounds(atoi(argv[2]), (size_t)atoi(argv[3]), results, reserved);
    CHECK(cudaFreeHost(results));
    CHECK(cudaStreamDestroy(store));
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(load));
    return 0;
}
