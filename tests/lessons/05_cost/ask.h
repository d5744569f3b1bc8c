/* Calls lesson 05's functions with arguments of the check's own. "keep" calls keep_memory while
 * half of the device's memory is taken, and then allocates nearly all of it. "serve" REQUESTS BYTES
 * calls serve, first for one request of one int; "held" instead calls it while the stream `busy`
 * and a blocking stream, for which the legacy stream waits, hold at a closed gate, so that who
 * waits for one of them waits forever. What the calls did is in the journal, and the answers are
 * printed as the host finds them when serve returns, with some behind the last. */

enum { ASKED_MOST = 1100 };

static void asked_keep(void)
{
    void *data, *half;
    size_t free_bytes, total_bytes;
    cudaMemPool_t pool;
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMalloc(&half, free_bytes / 2));
    keep_memory(pool);
    CHECK(cudaFree(half));
    CHECK(cudaMallocAsync(&data, free_bytes - 512 * MiB, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    pool = pool_create(); /* and another pool */
    keep_memory(pool);
    printf("\nthreshold of another pool = %llu\n",
           (unsigned long long)pool_get(pool, cudaMemPoolAttrReleaseThreshold));
    CHECK(cudaMemPoolDestroy(pool));
}

static void asked_serve(int requests, size_t bytes, volatile int *gate)
{
    int *answers;
    CHECK(cudaMallocHost((void **)&answers, ASKED_MOST * sizeof *answers));
    memset(answers, -1, ASKED_MOST * sizeof *answers);
    serve(answers, requests, bytes);
    printf("\nserve(answers, %d, %zu) =", requests, bytes);
    for (int i = 0; i < ASKED_MOST; i++)
        printf(" %d", answers[i]);
    printf("\n");
    gate_open(gate);
    CHECK(cudaFreeHost(answers));
}

int main(int argc, char **argv)
{
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking));
    if (argc < 4) {
        asked_keep();
        return 0;
    }
    cudaStream_t blocking;
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&blocking));
    if (strcmp(argv[1], "held") == 0) {
        CHECK(launch_hold(gate, busy));
        CHECK(launch_hold(gate, blocking));
    } else
        asked_serve(1, sizeof(int), gate);
    asked_serve(atoi(argv[2]), strtoul(argv[3], NULL, 10), gate);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
