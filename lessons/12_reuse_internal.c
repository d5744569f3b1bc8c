/* 12 Reuse: internal dependencies
 *
 * Question: A pool may not grow, and a slow stream has not finished with its memory. What
 *   does an allocation for a fast stream return, and does any stream wait for it? The first
 *   part of the program tries three pools. Then a function `take` allocates for the fast
 *   stream twice.
 * Task (fix): decide the policy of `shared_pool`, and what `take` does when the pool has no memory:
 *   the spare pool, a synchronization, or both. The limit of the pool stays. The page lists what
 *   must hold.
 * Calls: cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t pool, cudaStream_t stream)
 *        cudaStreamSynchronize(cudaStream_t stream)
 *        cudaGetLastError(void)
 * Run:   make 12          Check: make check-12          Page: docs/12_reuse_internal
 */
#include "kernels.h"
#include "workbook.h"

static cudaStream_t slow, fast;

/* A pool that holds `mib` MiB at most; with 0 the driver sets the limit. Internal dependencies are
 * on or off; the two other policies are off. */
static cudaMemPool_t pool_limited(size_t mib, int internal)
{
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = mib * MiB;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseFollowEventDependencies, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, internal);
    return pool;
}

/* YOUR WORK, 1 of 2. The pool that both streams share. */
static cudaMemPool_t shared_pool(size_t mib)
{
    return pool_limited(mib, 1); /* "The more reuse the better: it costs nothing." */
}

/* YOUR WORK, 2 of 2. Memory for the fast stream, from `pool` if it has any. Only if `spare` has
 * none either may the host wait, for the slow stream alone. Returns cudaErrorMemoryAllocation if
 * there is no memory at all. An error that it has handled is not left for cudaGetLastError. */
static cudaError_t take(int **memory, size_t bytes, cudaMemPool_t pool, cudaMemPool_t spare)
{
    (void)spare; /* "A pool that may reuse its memory always has some." */
    return cudaMallocFromPoolAsync((void **)memory, bytes, pool, fast);
}

/* The slow stream, which may be held, fills the pool and frees the memory. The fast stream
 * allocates as much, from the pool alone or with `take`, and uses it. Returns whether the fast
 * stream has finished its own work while the slow stream may still be held. */
static int try_pool(const char *name, cudaMemPool_t pool, cudaMemPool_t spare, size_t mib, int held)
{
    int *first, *second = NULL, value = 0;
    size_t bytes = mib * MiB, count = bytes / sizeof(int);
    volatile int *gate = gate_create();
    CHECK(cudaMallocFromPoolAsync((void **)&first, bytes, pool, slow));
    if (held)
        CHECK(launch_hold(gate, slow));
    CHECK(launch_fill(first, 1, count, slow));
    CHECK(cudaFreeAsync(first, slow));

    cudaError_t result = spare == NULL
                           ? cudaMallocFromPoolAsync((void **)&second, bytes, pool, fast)
                           : take(&second, bytes, pool, spare);
    if (result == cudaSuccess)
        CHECK(cudaMemsetAsync(second, 2, bytes, fast));
    cudaError_t state = cudaStreamQuery(fast);
    /* The fast stream's own work ends, but a wait for the held stream does not. */
    while (state == cudaErrorNotReady && !(held && second == first))
        state = cudaStreamQuery(fast);
    printf("%-28s %-25s %-13s  fast stream: %s\n", name, cudaGetErrorName(result),
           result != cudaSuccess ? "no memory"
           : second == first     ? "same address"
                                 : "other address",
           cudaGetErrorName(state));

    gate_open(gate);
    if (result == cudaSuccess) {
        value = last_of(second, count, fast);
        CHECK(cudaFreeAsync(second, fast));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    gate_destroy(gate);
    return value == 0x02020202 && state == cudaSuccess;
}

/* The size of a segment: what a pool reserves for one byte. Whole segments fill a limit. */
static size_t segment_mib(void)
{
    void *byte;
    cudaMemPool_t pool = pool_limited(0, 0);
    CHECK(cudaMallocFromPoolAsync(&byte, 1, pool, slow));
    size_t mib = reserved_mib(pool);
    CHECK(cudaFreeAsync(byte, slow));
    CHECK(cudaStreamSynchronize(slow));
    CHECK(cudaMemPoolDestroy(pool));
    return mib;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 64);
    void *others;
    CHECK(cudaStreamCreateWithFlags(&slow, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&fast, cudaStreamNonBlocking));
    size_t segment = segment_mib();
    mib = (mib + segment - 1) / segment * segment;

    try_pool("limit, policy on", pool_limited(mib, 1), NULL, mib, 1);
    try_pool("limit, policy off", pool_limited(mib, 0), NULL, mib, 1);
    try_pool("no limit, policy on", pool_limited(0, 1), NULL, mib, 1);

    cudaMemPool_t spare = pool_limited(mib, 0);
    int done = try_pool("take, slow held", shared_pool(mib), spare, mib, 1);
    CHECK(cudaMallocFromPoolAsync(&others, mib * MiB, spare, fast));
    done += try_pool("take, slow ends, spare full", shared_pool(mib), spare, mib, 0);
    printf("fast stream finished        %d of 2\n", done);

    CHECK(cudaFreeAsync(others, fast));
    CHECK(cudaStreamSynchronize(fast));
    CHECK(cudaMemPoolDestroy(spare));
    CHECK(cudaStreamDestroy(fast));
    CHECK(cudaStreamDestroy(slow));
    return done == 2 ? 0 : 1;
}
