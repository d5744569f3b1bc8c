/* Runs lesson 10's pipeline as its main does not: with other ROUNDS and another size, and then
 * three rounds more of a third size in a pool of their own (arguments ROUNDS MIB LARGE). What the
 * pools did is in the journal. */

static void asked_run(int rounds, size_t mib)
{
    int *results;
    size_t *reserved = calloc((size_t)rounds, sizeof *reserved);
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    CHECK(cudaMallocHost((void **)&results, (size_t)rounds * sizeof *results));
    memset(results, 0, (size_t)rounds * sizeof *results);
    pipeline(rounds, mib, pool, results, reserved);
    CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < rounds; round++)
        printf("\npipeline of %d rounds of %zu MiB: results[%d] = %d\n", rounds, mib, round,
               results[round]);
    CHECK(cudaMemPoolDestroy(pool));
}

int main(int argc, char **argv)
{
    CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&store, cudaStreamNonBlocking));
    asked_run(atoi(argv[1]), strtoul(argv[2], NULL, 10));
    asked_run(3, strtoul(argv[3], NULL, 10));
    return 0;
}
