/* 11 Reuse: internal dependencies
 *
 * Shows  a pool that cannot grow may give a stream the memory that another stream is not done with:
 *        it lets the one wait for the other, and tells nobody. So reuse can cost parallelism. With
 *        that policy off the allocation fails instead, and the program decides. With opportunistic
 *        reuse off as well, it goes the same way each time.
 * Yours  fix: the last two lines: the quick stream is to be done while the slow one holds, and to
 *        get its block in the same way when the slow one has finished. The program is wrong in two
 *        places: its comments say what its author believed. Repair it; the limit of the pool stays.
 * Run    make 11          check   make check-11          page   docs/11_reuse_internal
 */
#include "kernels.h"
#include "workbook.h"

/* A pool that holds `mib` MiB at most, or any amount for 0, with opportunistic reuse and internal
 * waits on or off. */
static cudaMemPool_t pool_limited(size_t mib, int opportunistic, int internal)
{
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = mib * MiB;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseFollowEventDependencies, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, opportunistic);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, internal);
    return pool;
}

/* A block for `stream` from `pool`, or from `spare`, where there is one, if the pool refuses. */
static cudaError_t block_take(int **block, size_t bytes, cudaMemPool_t pool, cudaMemPool_t spare,
                              cudaStream_t stream)
{
    /* Never needed: a pool that may reuse its memory refuses nothing. */
    (void)spare;
    return cudaMallocFromPoolAsync((void **)block, bytes, pool, stream);
}

/* The slow stream frees a block that fills the pool, and holds or has finished. The quick stream
 * has nothing to do with it; it takes a block and uses it. Answers whether it was done, with a
 * block that is not the slow stream's. */
static int try_pool(const char *name, cudaMemPool_t pool, cudaMemPool_t spare, size_t bytes,
                    int holds)
{
    int *first, *second = NULL, value = 0;
    size_t count = bytes / sizeof(int);
    cudaStream_t slow, quick;
    CHECK(cudaStreamCreateWithFlags(&slow, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&quick, cudaStreamNonBlocking));
    volatile int *gate = gate_create();

    CHECK(cudaMallocFromPoolAsync((void **)&first, bytes, pool, slow));
    CHECK(launch_hold(gate, slow));
    CHECK(launch_fill(first, 1, count, slow));
    CHECK(cudaFreeAsync(first, slow));
    if (!holds)
        gate_open(gate);
    while (!holds && cudaStreamQuery(slow) == cudaErrorNotReady)
        continue;

    cudaError_t answer = block_take(&second, bytes, pool, spare, quick);
    if (answer == cudaSuccess)
        CHECK(cudaMemsetAsync(second, 2, bytes, quick));
    cudaError_t state = cudaStreamQuery(quick);
    while (state == cudaErrorNotReady && !(holds && second == first))
        state = cudaStreamQuery(
            quick); /* its own work comes to an end; a wait for the slow stream does not */
    printf("%-28s %-25s  block %-7s  quick stream %s\n", name, cudaGetErrorName(answer),
           answer != cudaSuccess ? "none"
           : second == first     ? "same"
                                 : "another",
           cudaGetErrorName(state));

    gate_open(gate);
    if (answer == cudaSuccess) {
        CHECK(cudaMemcpyAsync(&value, second + count - 1, sizeof value, cudaMemcpyDeviceToHost,
                              quick));
        CHECK(cudaFreeAsync(second, quick));
    }
    CHECK(cudaStreamSynchronize(slow));
    CHECK(cudaStreamSynchronize(quick));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(quick));
    CHECK(cudaStreamDestroy(slow));
    gate_destroy(gate);
    return value == 0x02020202 && state == cudaSuccess && second != first;
}

int main(int argc, char **argv)
{
    /* Whole steps: such a block fills the pool. */
    size_t mib = (mib_argument(argc, argv, 64) + 31) / 32 * 32;
    cudaMemPool_t spare = pool_limited(0, 0, 0);

    try_pool("limit, internal waits on", pool_limited(mib, 0, 1), NULL, mib * MiB, 1);
    try_pool("limit, internal waits off", pool_limited(mib, 0, 0), NULL, mib * MiB, 1);
    try_pool("no limit, internal waits on", pool_limited(0, 0, 1), NULL, mib * MiB, 1);

    int opportunistic = 1, internal = 1; /* the more reuse the better: it costs nothing */
    int done = try_pool("yours, slow stream holds", pool_limited(mib, opportunistic, internal),
                        spare, mib * MiB, 1)
             + try_pool("yours, slow stream finished", pool_limited(mib, opportunistic, internal),
                        spare, mib * MiB, 0);
    printf("done with another block      %d of 2\n", done);

    CHECK(cudaMemPoolDestroy(spare));
    return done == 2 ? 0 : 1;
}
