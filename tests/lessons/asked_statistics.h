/* Asks lesson 08's phase_need and reserve what the lesson's own run leaves open: another phase,
 * other sizes, what was used before and what is live. Arguments: "need" or "reserve", then three
 * sizes in MiB: what is live, what the pool used before, and the phase or the memory in advance.
 * The check puts the lesson in front of this file, its main renamed. It prints what was expected
 * and what happened; nothing when all is as it should be. "need" has two parts, with a pool each:
 * "before", with nothing live, and "live" (tests/lessons/asked.bash). */

static int asked_runs;

/* At its peak it uses mib + 3 MiB, in two allocations. */
static void asked_phase(cudaMemPool_t pool, cudaStream_t stream, size_t mib)
{
    void *first, *second;
    asked_runs++;
    CHECK(cudaMallocFromPoolAsync(&first, mib * MiB, pool, stream));
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaMallocFromPoolAsync(&first, (mib - mib / 2) * MiB, pool, stream));
    CHECK(cudaMallocFromPoolAsync(&second, (mib / 2 + 3) * MiB, pool, stream));
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaFreeAsync(second, stream));
}

static void asked_need(const char *part, const char *expected, cudaMemPool_t pool,
                       cudaStream_t stream, size_t live, size_t before, size_t size)
{
    asked_runs = 0;
    uint64_t need = phase_need(asked_phase, pool, stream, size);
    if (asked_runs != 1)
        printf("\n%s:\nExpected: phase_need runs the phase once.\nHappened: it ran it %d times.\n",
               part, asked_runs);
    else if (need != (size + 3) * MiB)
        printf("\n%s:\nExpected: %s\nHappened: the pool had used up to %zu MiB, %zu MiB were live, "
               "and the phase needed %zu MiB: phase_need returned %.6g MiB.\n",
               part, expected, live + before, live, size + 3, (double)need / (double)MiB);
}

static void asked_reserve(cudaMemPool_t pool, cudaStream_t stream, size_t live, size_t size)
{
    void *data;
    reserve(pool, stream, size * MiB);
    size_t used = used_mib(pool), reserved = reserved_mib(pool);
    CHECK(cudaMallocFromPoolAsync(&data, size * MiB, pool, stream));
    size_t grown = reserved_mib(pool) - reserved;
    if (used != live) {
        printf("Expected: after reserve nothing more is in use than before.\nHappened: %zu MiB "
               "were used before, and %zu MiB after.\n",
               live, used);
        asked_leave();
    }
    if (grown)
        printf("Expected: after reserve the pool has the memory: the driver gives it to a pool for "
               "an allocation, and the pool keeps it after the free.\nHappened: after a reserve of "
               "%zu MiB, an allocation of %zu MiB made the pool grow by %zu MiB.\n",
               size, size, grown);
    CHECK(cudaFreeAsync(data, stream));
}

/* One part, with a pool of its own. */
static void asked(const char *part, cudaStream_t stream, size_t live, size_t before, size_t size)
{
    void *other = NULL, *earlier;
    cudaMemPool_t pool = pool_create();
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    if (live > 0)
        CHECK(cudaMallocFromPoolAsync(&other, live * MiB, pool, stream));
    if (before > 0) {
        CHECK(cudaMallocFromPoolAsync(&earlier, before * MiB, pool, stream));
        CHECK(cudaFreeAsync(earlier, stream));
    }
    if (strcmp(part, "reserve") == 0)
        asked_reserve(pool, stream, live, size);
    else if (strcmp(part, "before") == 0)
        asked_need(part,
                   "phase_need returns what the phase needed: what the pool used before does not "
                   "count, so the watermark is reset before the phase.",
                   pool, stream, live, before, size);
    else
        asked_need(part,
                   "phase_need returns what the phase needed itself: a watermark that is reset "
                   "takes the current figure, which counts what is live already.",
                   pool, stream, live, before, size);
    if (live > 0)
        CHECK(cudaFreeAsync(other, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    size_t live = strtoul(argv[2], NULL, 10), before = strtoul(argv[3], NULL, 10),
           size = strtoul(argv[4], NULL, 10);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    if (strcmp(argv[1], "reserve") == 0) {
        asked("reserve", stream, live, 0, size);
    } else {
        asked("before", stream, 0, before, size);
        asked("live", stream, live, 0, size);
    }
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
