/* 09 Migration
 *
 * Question: A program has always worked with cudaMalloc and cudaFree. What does it take to move it
 *   to a pool, besides replacing the calls?
 * Task (fix): the program works, and calls cudaMalloc and cudaFree in its loop. Move it to a pool,
 *   in the five steps marked YOUR WORK. The streams stay what they are; the host waits once a
 *   frame, for one stream; the library and its pool stay as they are.
 * Calls: cudaMallocFromPoolAsync(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
 *        cudaFreeAsync(void *ptr, cudaStream_t stream), cudaStreamSynchronize(cudaStream_t stream)
 *        cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
 *        cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, 0)
 *        pool_set(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, uint64_t value)
 *        launch_fill(int *data, int value, size_t count, cudaStream_t stream)
 *        cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
 *        cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
 * Run:   make 09          Check: make check-09          Page: docs/09_migration
 */
#include "kernels.h"
#include "workbook.h"

enum { FRAMES = 6 };

static cudaStream_t load, work;
static cudaEvent_t loaded;
static int *input, *answer; /* both live as long as the program */

/* ---- A library. It allocates from the current pool of the device, and waits for nothing. ---- */

enum { LIBRARY_MIB = 20 };

/* Copies the last number of data, plus 1000, to *digest, in `stream`. */
static void library_digest(int *digest, const int *data, size_t count, cudaStream_t stream)
{
    int *scratch;
    CHECK(cudaMallocAsync((void **)&scratch, LIBRARY_MIB * MiB, stream));
    CHECK(cudaMemcpyAsync(scratch, data + count - 1, sizeof *scratch, cudaMemcpyDeviceToDevice,
                          stream));
    CHECK(launch_add(scratch, 1000, 1, stream));
    CHECK(cudaMemcpyAsync(digest, scratch, sizeof *digest, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(scratch, stream));
}

/* ---- The program ---- */

/* The pool of the frames. `limit` is in bytes. */
static cudaMemPool_t program_pool(size_t limit)
{
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
    props.maxSize = limit;
    CHECK(cudaMemPoolCreate(&pool, &props));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    return pool;
}

/* A frame: `load` makes the input, `work` the result, and the library a digest of it, which is
 * returned. */
static int run_frame(int frame, size_t count, cudaMemPool_t pool)
{
    size_t bytes = count * sizeof(int);
    int *result, *staging;
    CHECK(cudaMallocFromPoolAsync((void **)&result, bytes, pool, work));
    CHECK(cudaMallocFromPoolAsync((void **)&staging, bytes, pool, load));

    CHECK(launch_fill(staging, 0, count, load)); /* pool memory keeps old numbers */
    CHECK(launch_add(staging, frame, count, load));
    CHECK(cudaMemcpyAsync(input, staging, bytes, cudaMemcpyDeviceToDevice, load));
    CHECK(cudaFreeAsync(staging, load));
    CHECK(cudaEventRecord(loaded, load));

    CHECK(cudaStreamWaitEvent(work, loaded, 0));
    CHECK(cudaMemcpyAsync(result, input, bytes, cudaMemcpyDeviceToDevice, work));
    CHECK(launch_add(result, 2, count, work));
    library_digest(answer, result, count, work);
    CHECK(cudaFreeAsync(result, work));
    CHECK(cudaStreamSynchronize(work));
    return *answer;
}

/* Returns how many frames were correct. */
static int run_phase(int phase, size_t mib, cudaMemPool_t pool)
{
    int correct = 0;
    struct stopwatch watch = stopwatch_start(work);
    for (int frame = 1; frame <= FRAMES; frame++)
        correct += run_frame(frame, mib * MiB / sizeof(int), pool) == frame + 1002;
    float time = stopwatch_stop(watch, work) / FRAMES;
    size_t kept = reserved_mib(pool);
    CHECK(cudaMemPoolTrimTo(pool, 0));

    printf("phase %d: frames of %zu MiB, %d of %d correct\n", phase, mib, correct, FRAMES);
    printf("~ %11.2f us for a frame\n", time);
    printf("    the pool reserves %zu MiB after the frames, %zu MiB after the phase\n", kept,
           reserved_mib(pool));
    return correct;
}

/* Asks for a buffer that is larger than the program's limit. */
static void try_larger(size_t mib, cudaMemPool_t pool)
{
    void *data;
    cudaError_t result = cudaMallocFromPoolAsync(&data, mib * MiB, pool, work);
    printf("a buffer of %zu MiB: %s\n", mib, cudaGetErrorName(result));
    if (result == cudaSuccess)
        CHECK(cudaFreeAsync(data, work));
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 64);
    cudaMemPool_t standard;
    CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&loaded, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&input, mib * MiB));
    CHECK(cudaMallocHost((void **)&answer, sizeof *answer));
    CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));
    /* The library's manual asks for this. */
    pool_set(standard, cudaMemPoolAttrReleaseThreshold, 32 * MiB);
    /* The first launch of a kernel loads its code and may wait for it. */
    CHECK(launch_fill(input, 0, 1, load));
    CHECK(launch_add(input, 0, 1, load));
    CHECK(cudaStreamSynchronize(load));

    cudaMemPool_t pool = program_pool(2 * mib * MiB);
    say_device();
    int correct = run_phase(1, mib, pool) + run_phase(2, (mib + 1) / 2, pool);
    try_larger(2 * mib + 64, pool);
    printf("the library's pool: at most %zu MiB, threshold %zu MiB\n",
           (size_t)pool_get(standard, cudaMemPoolAttrReservedMemHigh) / MiB,
           (size_t)pool_get(standard, cudaMemPoolAttrReleaseThreshold) / MiB);

    if (pool != standard)
        CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFreeHost(answer));
    CHECK(cudaFree(input));
    CHECK(cudaEventDestroy(loaded));
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(load));
    return correct == 2 * FRAMES ? 0 : 1;
}
