/* Calls lesson 19's functions with arguments of the check's own: "keep" and the MiB of an
 * allocation for keep_memory; "serve", a number of requests and their bytes for serve. The check
 * puts the lesson in front of this file, its main renamed. It prints what was expected and what
 * happened; nothing when all is as it should be. */

enum { ASKED_MOST = 64 };

static void asked_keep(size_t mib)
{
    void *data;
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    keep_memory(pool);
    CHECK(cudaMallocAsync(&data, mib * MiB, stream));
    size_t reserved = reserved_mib(pool);
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    size_t kept = reserved_mib(pool);
    if (kept < reserved)
        printf(
            "Expected: after keep_memory the default pool keeps all its memory at each "
            "synchronization, whatever the size of its allocations (YOUR WORK, 1 of 2). The "
            "threshold is in bytes.\nHappened: after keep_memory, with an allocation of %zu MiB, "
            "a synchronization left %zu of %zu MiB.\n",
            mib, kept, reserved);
}

static void asked_serve(int requests, size_t bytes)
{
    int *answers, wrong = -1, answer = -1;
    CHECK(cudaMallocHost((void **)&answers, ASKED_MOST * sizeof *answers));
    memset(answers, -1, ASKED_MOST * sizeof *answers);
    serve(answers, requests, bytes);
    for (int i = ASKED_MOST; i-- > 0;)
        if (answers[i] != (i < requests ? i : -1))
            wrong = i;
    if (wrong >= 0)
        answer = answers[wrong];
    CHECK(cudaDeviceSynchronize());
    if (wrong >= 0)
        printf("Expected: serve returns with answers[i] == i for each request, whatever their "
               "number and size, and no other answer is written.\nHappened: of %d requests of %zu "
               "bytes, answers[%d] was %d (-1: not written) when serve returned, and %d after the "
               "next synchronization.\n",
               requests, bytes, wrong, answer, answers[wrong]);
    CHECK(cudaFreeHost(answers));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
    if (strcmp(argv[1], "keep") == 0)
        asked_keep(strtoul(argv[2], NULL, 10));
    else if (argc > 3)
        asked_serve(atoi(argv[2]), strtoul(argv[3], NULL, 10));
    CHECK(cudaStreamDestroy(busy));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
