/* Calls lesson 11's serve in three situations, each with `bytes` (the argument) and a pool that
 * server_pool has made: 1 the earlier request is pending; 2 it has finished; 3 it is pending, but a
 * third stream has finished with memory of the pool. In situation N the memory that was freed holds
 * N (the third stream's holds 20 + N), and what serve returned is filled with 10 + N: the journal
 * shows where that is. */

static void asked_finish(cudaStream_t stream)
{
    while (cudaStreamQuery(stream) == cudaErrorNotReady)
        continue;
}

static void asked_in(int situation, size_t bytes, const cudaStream_t *asked)
{
    int *first, *third;
    size_t count = bytes / sizeof(int);
    cudaMemPool_t pool = server_pool();
    volatile int *gate = gate_create();
    CHECK(cudaMallocFromPoolAsync((void **)&first, bytes, pool, asked[0]));
    if (situation == 3)
        CHECK(cudaMallocFromPoolAsync((void **)&third, bytes, pool, asked[2]));
    CHECK(launch_hold(gate, asked[0]));
    CHECK(launch_fill(first, situation, count, asked[0]));
    CHECK(cudaFreeAsync(first, asked[0]));
    if (situation == 2) {
        gate_open(gate);
        asked_finish(asked[0]);
    } else if (situation == 3) {
        CHECK(launch_fill(third, 20 + situation, count, asked[2]));
        CHECK(cudaFreeAsync(third, asked[2]));
        asked_finish(asked[2]);
    }
    int *served = serve(pool, bytes, asked[0], asked[1]);
    CHECK(launch_fill(served, 10 + situation, count, asked[1]));
    gate_open(gate);
    CHECK(cudaFreeAsync(served, asked[1]));
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    cudaStream_t asked[3];
    asked_streams(asked, 3);
    for (int situation = 1; situation <= 3; situation++)
        asked_in(situation, strtoul(argv[1], NULL, 10) * MiB, asked);
    return 0;
}
