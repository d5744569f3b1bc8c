/* Runs lesson 13's threads as its main does not, twice: with other rounds, another size, and one
 * pair of streams. The arguments: the pair, the rounds, and the size in KiB. In the pair "mixed"
 * the producer has its thread's own stream, and the consumer a created one. What the threads did is
 * in the journal.
 *
 * A record takes its time: who records after the end of the turn comes after the other thread. */
#define cudaStreamPerThread ((cudaStream_t)0x2)

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);

cudaError_t asked_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    for (volatile int asked_i = 0; asked_i < 300000; asked_i++)
        continue;
    return cudaEventRecord(event, stream);
}

static void asked_run(cudaStream_t producing, cudaStream_t consuming, int rounds, size_t count)
{
    struct work work = {.pool = pool_create(),
                        .producing = producing,
                        .consuming = consuming,
                        .rounds = rounds,
                        .count = count};
    pool_set(work.pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(work.pool, cudaMemPoolReuseAllowOpportunistic, 0);
    CHECK(cudaMallocHost((void **)&work.results, (size_t)rounds * sizeof(int)));
    memset(work.results, 0, (size_t)rounds * sizeof(int));
    run_threads(&work);
    for (int round = 0; round < rounds; round++)
        printf("\n%d rounds of %zu numbers: results[%d] = %d\n", rounds, count, round,
               work.results[round]);
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    cudaStream_t created[2], producing, consuming;
    int rounds = atoi(argv[2]);
    size_t count = strtoul(argv[3], NULL, 10) * 1024 / sizeof(int);
    asked_streams(created, 2);
    producing = strcmp(argv[1], "created") == 0 ? created[0] : cudaStreamPerThread;
    consuming = strcmp(argv[1], "per-thread") == 0 ? cudaStreamPerThread : created[1];
    asked_run(producing, consuming, rounds, count);
    asked_run(producing, consuming, 3, count);
    return 0;
}
