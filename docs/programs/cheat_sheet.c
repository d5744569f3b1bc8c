/* The pieces of code of the cheat sheet, in one program that runs while the book is built: so each
 * compiles, and nothing is reported of it. The sheet has no room for checks of errors: after each
 * piece the program looks for one. Its lines are short, for a narrow column. */
#include "kernels.h"
#include "workbook.h"

static cudaStream_t s, t;
static size_t bytes = 8 * MiB, count = 8 * MiB / sizeof(int);

/* clang-format off */

static void set_threshold(int device)
{
    /* [threshold */
    cudaMemPool_t pool;
    uint64_t keep = UINT64_MAX;   /* bytes */
    cudaDeviceGetDefaultMemPool(&pool, device);
    cudaMemPoolSetAttribute(pool,
        cudaMemPoolAttrReleaseThreshold, &keep);
    /* threshold] */
    CHECK(cudaGetLastError());
}

static void run_round(void)
{
    void *data, *result = malloc(bytes);
    /* [round */
    cudaMallocAsync(&data, bytes, s);
    launch_fill(data, 7, count, s); /* your kernel */
    cudaMemcpyAsync(result, data, bytes,
        cudaMemcpyDeviceToHost, s);
    cudaFreeAsync(data, s);     /* last use: s */
    cudaStreamSynchronize(s);   /* now read it */
    /* round] */
    CHECK(cudaGetLastError());
    printf("a round: the last number is %d\n", ((int *)result)[count - 1]);
    free(result);
}

static void pass_on(cudaEvent_t used, cudaEvent_t freed)
{
    void *data, *next;
    CHECK(cudaMallocAsync(&data, bytes, s));
    CHECK(launch_fill(data, 1, count, s));
    /* [order */
    cudaEventRecord(used, s);
    cudaStreamWaitEvent(t, used, 0);
    cudaFreeAsync(data, t);
    cudaEventRecord(freed, t);  /* AFTER it */
    cudaStreamWaitEvent(s, freed, 0);
    cudaMallocAsync(&next, bytes, s);
    /* order] */
    CHECK(cudaGetLastError());
    printf("used, freed, wanted again: %s address\n", data == next ? "the same" : "another");
    CHECK(cudaFreeAsync(next, s));
}

/* A pool of one segment: t has freed it, and without its policies s may not have it yet. */
static void ask_again(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeDevice, 0},
                                     .maxSize = 32 * MiB};
    cudaMemPool_t before, pool;
    void *data;
    CHECK(cudaMemPoolCreate(&pool, &props));
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    CHECK(cudaDeviceGetMemPool(&before, 0));
    CHECK(cudaDeviceSetMemPool(0, pool));
    CHECK(cudaMallocAsync(&data, 4 * bytes, t));
    CHECK(launch_fill(data, 1, count, t));
    CHECK(cudaFreeAsync(data, t));
    cudaError_t result = cudaMallocAsync(&data, bytes, s);
    printf("refused: %s", cudaGetErrorName(result));
    /* [refused */
    if (result == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        cudaDeviceSynchronize(); /* all that freed */
        result = cudaMallocAsync(&data, bytes, s);
    }
    /* refused] */
    CHECK(cudaGetLastError());
    printf(", and then %s\n", cudaGetErrorName(result));
    CHECK(cudaFreeAsync(data, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaDeviceSetMemPool(0, before));
    CHECK(cudaMemPoolDestroy(pool));
}

static void measure_phase(cudaMemPool_t pool)
{
    /* [measure */
    uint64_t value = 0;      /* resets it */
    cudaDeviceSynchronize();
    cudaMemPoolTrimTo(pool, 0);
    cudaMemPoolSetAttribute(pool,
        cudaMemPoolAttrReservedMemHigh, &value);
    run_round();             /* the phase */
    cudaMemPoolGetAttribute(pool,
        cudaMemPoolAttrReservedMemHigh, &value);
    /* measure] */
    CHECK(cudaGetLastError());
    printf("a phase: reserved at most %zu MiB\n", (size_t)value / MiB);
}

/* clang-format on */

int main(void)
{
    cudaEvent_t used, freed;
    cudaMemPool_t pool;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&freed, cudaEventDisableTiming));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));

    set_threshold(0);
    run_round();
    pass_on(used, freed);
    ask_again();
    measure_phase(pool);

    CHECK(cudaEventDestroy(used));
    CHECK(cudaEventDestroy(freed));
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaStreamDestroy(t));
    return 0;
}
