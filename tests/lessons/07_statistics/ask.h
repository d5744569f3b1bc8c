/* Asks lesson 07's phase_need and reserve what the lesson's own run leaves open: another phase,
 * other sizes, what was used before and what is live. The arguments are in MiB.
 *
 * "need" LIVE BEFORE SIZE MORE asks three times, with two pools in turn: after BEFORE were used,
 * with nothing live; in the other pool while LIVE are live; and in the first, with both.
 * "reserve" LIVE SIZE LESS reserves SIZE in a pool with LIVE, and LESS in one that has nothing, and
 * then allocates as much. "holes" PIECE SIZE does that in a pool whose free memory is four holes of
 * PIECE each. What the pools did is in the journal: what is made before a question has 512 bytes
 * more than whole MiB, and the phase has 1024 at its peak. The stream is a non-blocking one, and
 * the pools do without opportunistic reuse: what is freed in another stream is not for this one. */

static size_t asked_more;

/* At its peak it uses mib + asked_more and 1024 bytes, in two allocations. */
static void asked_phase(cudaMemPool_t pool, cudaStream_t stream, size_t mib)
{
    void *first, *second;
    CHECK(cudaMallocFromPoolAsync(&first, mib * MiB, pool, stream));
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaMallocFromPoolAsync(&first, (mib - mib / 2) * MiB, pool, stream));
    CHECK(cudaMallocFromPoolAsync(&second, (mib / 2 + asked_more) * MiB + 1024, pool, stream));
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaFreeAsync(second, stream));
}

static void *asked_allocate(cudaMemPool_t pool, cudaStream_t stream, size_t mib)
{
    void *data;
    CHECK(cudaMallocFromPoolAsync(&data, mib * MiB + 512, pool, stream));
    return data;
}

static void asked_need(cudaMemPool_t pool, cudaStream_t stream, size_t live, size_t before,
                       size_t mib)
{
    void *other = live > 0 ? asked_allocate(pool, stream, live) : NULL;
    if (before > 0)
        CHECK(cudaFreeAsync(asked_allocate(pool, stream, before), stream));
    uint64_t need = phase_need(asked_phase, pool, stream, mib);
    printf("\nphase_need(phase, pool, stream, %zu) with %zu MiB live, after %zu MiB were used", mib,
           live, before);
    printf(" = %llu bytes\n", (unsigned long long)need);
    if (other != NULL)
        CHECK(cudaFreeAsync(other, stream));
}

static void asked_reserve(cudaMemPool_t pool, cudaStream_t stream, size_t mib)
{
    void *data;
    reserve(pool, stream, mib * MiB);
    CHECK(cudaMallocFromPoolAsync(&data, mib * MiB, pool, stream));
    CHECK(cudaFreeAsync(data, stream));
    printf("\nreserve(pool, stream, %zu MiB) = done\n", mib);
}

static void asked_in_holes(cudaMemPool_t pool, cudaStream_t stream, size_t piece, size_t mib)
{
    void *pieces[8];
    for (int i = 0; i < 8; i++)
        CHECK(cudaMallocFromPoolAsync(&pieces[i], piece * MiB, pool, stream));
    for (int i = 0; i < 8; i += 2)
        CHECK(cudaFreeAsync(pieces[i], stream));
    CHECK(cudaStreamSynchronize(stream));
    asked_reserve(pool, stream, mib);
    for (int i = 1; i < 8; i += 2)
        CHECK(cudaFreeAsync(pieces[i], stream));
}

int main(int argc, char **argv)
{
    size_t size[4] = {0};
    for (int i = 2; i < argc && i < 6; i++)
        size[i - 2] = strtoul(argv[i], NULL, 10);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaMemPool_t pool = pool_create(), other = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set(other, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(other, cudaMemPoolReuseAllowOpportunistic, 0);
    asked_more = size[3];
    if (strcmp(argv[1], "need") == 0) {
        asked_need(pool, stream, 0, size[1], size[2]);
        asked_need(other, stream, size[0], 0, size[2]);
        asked_need(pool, stream, size[0], size[1], size[2]);
    } else if (strcmp(argv[1], "holes") == 0) {
        asked_in_holes(pool, stream, size[0], size[1]);
    } else {
        void *live = asked_allocate(pool, stream, size[0]);
        asked_reserve(pool, stream, size[1]);
        asked_reserve(other, stream, size[2]);
        CHECK(cudaFreeAsync(live, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    return 0;
}
