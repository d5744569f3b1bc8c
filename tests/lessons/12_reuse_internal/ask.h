/* Calls lesson 12's functions in one situation that its main does not try. The arguments: its
 * number, and what a stream fills a pool with, in MiB.
 *
 *   1  the shared pool has room, the slow stream is held
 *   2  the shared pool is full, the spare one is free, the slow stream is held; and once more, when
 *      what take returned has been freed
 *   3  both are full, and the slow stream ends; a third stream is held
 *   4  for more than both may hold, and the slow stream ends
 *   5  shared_pool alone
 *
 * The pools of 1 to 4 insert no wait. In 2 and 3 the fast stream is held until take returns. The
 * first pool is the shared one, the second the spare one. The calls of take are between two fills
 * with 30 and 40, and what it returned is filled with 20. */

/* Fills a pool of `limit` times `mib` MiB by the slow stream, which frees; then take allocates
 * `wanted` times as much. */
static void asked_in(int situation, size_t mib, size_t limit, size_t wanted)
{
    int *memory = NULL, *mark;
    void *others = NULL;
    cudaStream_t third;
    volatile int *gate = gate_create(), *own = gate_create();
    cudaMemPool_t shared = pool_limited(limit * mib, 0), spare = pool_limited(mib, 0);
    CHECK(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
    CHECK(cudaMallocAsync((void **)&mark, sizeof *mark, third));
    if (situation > 2)
        CHECK(cudaMallocFromPoolAsync(&others, mib * MiB, spare, fast));
    CHECK(cudaMallocFromPoolAsync((void **)&memory, mib * MiB, shared, slow));
    if (situation < 4)
        CHECK(launch_hold(gate, situation == 3 ? third : slow));
    if (situation == 2 || situation == 3)
        CHECK(launch_hold(own, fast));
    CHECK(launch_fill(memory, 10, 256, slow));
    CHECK(cudaFreeAsync(memory, slow));

    cudaGetLastError();
    memory = NULL;
    CHECK(launch_fill(mark, 30, 1, third));
    cudaError_t result = take(&memory, wanted * mib * MiB, shared, spare),
                last = cudaGetLastError();
    CHECK(launch_fill(mark, 40, 1, third));
    printf("\ntake = %s\n", cudaGetErrorName(result));
    printf("\ncudaGetLastError after take = %s\n", cudaGetErrorName(last));
    gate_open(own);
    if (result == cudaSuccess)
        CHECK(launch_fill(memory, 20, 256, fast));
    /* What waits for nothing that is held ends while the host asks. */
    for (int i = 0; i < 500 && cudaStreamQuery(fast) == cudaErrorNotReady; i++)
        continue;
    if (situation == 2 && result == cudaSuccess) {
        CHECK(cudaFreeAsync(memory, fast));
        memory = NULL;
        result = take(&memory, wanted * mib * MiB, shared, spare);
        printf("\ntake, a second time = %s\n", cudaGetErrorName(result));
    }
    gate_open(gate);
    if (result == cudaSuccess)
        CHECK(cudaFreeAsync(memory, fast));
    if (others != NULL)
        CHECK(cudaFreeAsync(others, fast));
    CHECK(cudaFreeAsync(mark, third));
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    int situation = atoi(argv[1]);
    size_t mib = strtoul(argv[2], NULL, 10);
    CHECK(cudaStreamCreateWithFlags(&slow, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&fast, cudaStreamNonBlocking));
    if (situation == 5)
        (void)shared_pool(mib);
    else
        asked_in(situation, mib, situation == 1 ? 2 : 1, situation == 4 ? 2 : 1);
    return 0;
}
