/* Calls lesson 05's functions with arguments of the check's own: "keep" and the MiB of an
 * allocation for keep_memory; "serve", a number of requests and their bytes for serve. What the
 * pool returned and what serve did is in the journal. There a kernel also writes down each answer,
 * as the host found it when serve returned, and some behind the last. The check puts the lesson in
 * front of this file, its main renamed. */

enum { ASKED_MOST = 64 };

static void asked_keep(size_t mib)
{
    void *data;
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    keep_memory(pool);
    CHECK(cudaMallocAsync(&data, mib * MiB, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static void asked_serve(int requests, size_t bytes)
{
    int *answers, *answer;
    CHECK(cudaMalloc((void **)&answer, sizeof *answer));
    CHECK(cudaMallocHost((void **)&answers, ASKED_MOST * sizeof *answers));
    memset(answers, -1, ASKED_MOST * sizeof *answers);
    serve(answers, requests, bytes);
    for (int i = 0; i < ASKED_MOST; i++)
        CHECK(launch_fill(answer, answers[i], 1, stream));
    CHECK(cudaDeviceSynchronize());
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
    return 0;
}
