/* Calls lesson 11's take in situations that its main does not try, each with `mib` MiB (the
 * argument), of which a stream fills 1 KiB: the shared pool has room; the shared pool is full, the
 * spare one is free, the slow stream is held; both are full, and the slow stream ends; there is no
 * memory at all. The check puts the lesson in front of this file, its main renamed. It prints what
 * was expected and what happened, of the first that is wrong; nothing when all is correct. */

struct asked {
    cudaMemPool_t shared, spare;
    size_t mib;
    void *others; /* what keeps the spare pool full, or NULL */
    volatile int *gate;
};

/* The slow stream uses and frees `mib` MiB in the shared pool, whose limit is `limit` times
 * that. */
static struct asked asked_begin(size_t mib, size_t limit, int spare_is_full, int held)
{
    struct asked asked = {.shared = shared_pool(limit * mib), .spare = pool_limited(mib, 0)};
    int *memory;
    asked.mib = mib;
    asked.gate = gate_create();
    if (spare_is_full)
        CHECK(cudaMallocFromPoolAsync(&asked.others, mib * MiB, asked.spare, fast));
    CHECK(cudaMallocFromPoolAsync((void **)&memory, mib * MiB, asked.shared, slow));
    if (held)
        CHECK(launch_hold(asked.gate, slow));
    CHECK(launch_fill(memory, 1, 1024 / sizeof(int), slow));
    CHECK(cudaFreeAsync(memory, slow));
    return asked;
}

static void asked_end(struct asked *asked, cudaError_t result, int *memory)
{
    gate_open(asked->gate);
    if (result == cudaSuccess)
        CHECK(cudaFreeAsync(memory, fast));
    if (asked->others != NULL)
        CHECK(cudaFreeAsync(asked->others, fast));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(asked->shared));
    CHECK(cudaMemPoolDestroy(asked->spare));
    gate_destroy(asked->gate);
}

static int asked_wrong(const char *expected, const char *happened, size_t mib)
{
    printf("Expected: %s\nHappened: %s Each allocation has %zu MiB.\n", expected, happened, mib);
    return 1;
}

static int asked_room(size_t mib)
{
    int *memory = NULL;
    struct asked asked = asked_begin(mib, 2, 0, 1);
    cudaError_t result = take(&memory, mib * MiB, asked.shared, asked.spare);
    size_t shared = used_mib(asked.shared), spare = used_mib(asked.spare);
    asked_end(&asked, result, memory);
    if (result == cudaSuccess && shared == mib && spare == 0)
        return 0;
    return asked_wrong("while the shared pool can grow, take allocates from it. The spare pool is "
                       "for the case that the shared one has no memory.",
                       result != cudaSuccess
                           ? "the limit of the shared pool left room, and take returned an error."
                           : "the limit of the shared pool left room, and take allocated from the "
                             "spare one.",
                       mib);
}

static int asked_held(size_t mib)
{
    int *memory = NULL;
    struct asked asked = asked_begin(mib, 1, 0, 1);
    cudaError_t result = take(&memory, mib * MiB, asked.shared, asked.spare), state;
    if (result == cudaSuccess)
        CHECK(launch_fill(memory, 2, 1024 / sizeof(int), fast));
    state = cudaErrorNotReady;
    for (int i = 0; i < 20000 && state == cudaErrorNotReady; i++)
        state = cudaStreamQuery(fast);
    asked_end(&asked, result, memory);
    if (result == cudaSuccess && state == cudaSuccess)
        return 0;
    return asked_wrong("with the slow stream held and the spare pool free, take returns memory "
                       "that the fast stream can use at once.",
                       result != cudaSuccess ? "take returned an error."
                                             : "the fast stream waited for the slow one.",
                       mib);
}

static int asked_last(size_t mib)
{
    int *memory = NULL;
    struct asked asked = asked_begin(mib, 1, 1, 0);
    cudaError_t result = take(&memory, mib * MiB, asked.shared, asked.spare);
    asked_end(&asked, result, memory);
    if (result == cudaSuccess)
        return 0;
    return asked_wrong("with the spare pool full as well, take waits for the slow stream, which "
                       "comes to an end, and then allocates from the shared pool.",
                       "take returned an error.", mib);
}

static int asked_none(size_t mib)
{
    int *memory = NULL;
    struct asked asked = asked_begin(mib, 1, 1, 0);
    cudaError_t result = take(&memory, 2 * mib * MiB, asked.shared, asked.spare);
    asked_end(&asked, result, memory);
    if (result == cudaErrorMemoryAllocation)
        return 0;
    return asked_wrong(
        "for more than both pools may hold, take returns cudaErrorMemoryAllocation.",
        result == cudaSuccess ? "take returned cudaSuccess." : "take returned another error.", mib);
}

int main(int argc, char **argv)
{
    size_t mib = argc > 1 ? (size_t)atoi(argv[1]) : 0;
    if (mib == 0)
        return 2;
    CHECK(cudaStreamCreateWithFlags(&slow, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&fast, cudaStreamNonBlocking));
    if (!asked_room(mib) && !asked_held(mib) && !asked_last(mib))
        asked_none(mib);
    CHECK(cudaStreamDestroy(fast));
    CHECK(cudaStreamDestroy(slow));
    return 0;
}
