/* Calls lesson 10's free_shared twice, of MIB and of 1 MiB, while the other stream is held in front
 * of its use (argument MIB). What was freed, and what came before it, is in the journal. */

/* Each stream uses a half of the memory, and no stream waits for the other. */
static void asked_shared(size_t mib, cudaStream_t one, cudaStream_t another)
{
    int *data, *next;
    size_t half = mib * MiB / sizeof *data / 2;
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
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
    cudaStream_t streams[3];
    asked_streams(streams, 3);
    asked_shared(strtoul(argv[argc - 1], NULL, 10), streams[0], streams[2]);
    asked_shared(1, streams[2], streams[1]);
    for (int i = 0; i < 3; i++)
        CHECK(cudaStreamDestroy(streams[i]));
    return 0;
}
