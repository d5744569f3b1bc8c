/* Asks lesson 07's phase_need and reserve what the lesson's own run leaves open: another phase,
 * other sizes, what was used before and what is live. Arguments: "need" LIVE BEFORE SIZE MORE, or
 * "reserve" LIVE SIZE, in MiB. "need" asks twice, with a pool each: after BEFORE were used, with
 * nothing live; and while LIVE are live. "reserve" then allocates as much. What the pools did is in
 * the journal. The check puts the lesson in front of this file, its main renamed. */

static size_t asked_more;

/* At its peak it uses mib + asked_more, in two allocations. */
static void asked_phase(cudaMemPool_t pool, cudaStream_t stream, size_t mib)
{
    void *first, *second;
    CHECK(cudaMallocFromPoolAsync(&first, mib * MiB, pool, stream));
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaMallocFromPoolAsync(&first, (mib - mib / 2) * MiB, pool, stream));
    CHECK(cudaMallocFromPoolAsync(&second, (mib / 2 + asked_more) * MiB, pool, stream));
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaFreeAsync(second, stream));
}

static void asked(const char *what, cudaStream_t stream, size_t live, size_t before, size_t size)
{
    void *other = NULL, *data;
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    if (live > 0)
        CHECK(cudaMallocFromPoolAsync(&other, live * MiB, pool, stream));
    if (before > 0) {
        CHECK(cudaMallocFromPoolAsync(&data, before * MiB, pool, stream));
        CHECK(cudaFreeAsync(data, stream));
    }
    if (strcmp(what, "reserve") == 0) {
        reserve(pool, stream, size * MiB);
        CHECK(cudaMallocFromPoolAsync(&data, size * MiB, pool, stream));
        CHECK(cudaFreeAsync(data, stream));
        printf("\nreserve(pool, stream, %zu MiB) = done\n", size);
    } else {
        uint64_t need = phase_need(asked_phase, pool, stream, size);
        printf("\nphase_need(phase, pool, stream, %zu) with %zu MiB live, after %zu MiB were used",
               size, live, before);
        printf(" = %.6g MiB\n", (double)need / (double)MiB);
    }
    if (live > 0)
        CHECK(cudaFreeAsync(other, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
}

int main(int argc, char **argv)
{
    size_t size[4] = {0};
    if (argc < 4)
        return 2;
    for (int i = 2; i < argc && i < 6; i++)
        size[i - 2] = strtoul(argv[i], NULL, 10);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    if (strcmp(argv[1], "reserve") == 0) {
        asked("reserve", stream, size[0], 0, size[1]);
    } else {
        asked_more = size[3];
        asked("need", stream, 0, size[1], size[2]);
        asked("need", stream, size[0], 0, size[2]);
    }
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
