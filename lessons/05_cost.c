/* 05 Cost
 *
 * Question: What do an allocation and its free cost the host, in four ways, and which calls wait
 *   for work that has nothing to do with them?
 * Task (fix): keep_memory and serve, marked YOUR WORK, rest on beliefs that are wrong. Decide what
 *   the pool keeps, which calls serve uses, and where it synchronizes.
 * Calls: cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
 *        cudaFreeAsync(void *ptr, cudaStream_t stream)
 *        cudaStreamSynchronize(cudaStream_t stream)
 *        cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value), or
 *        pool_set of workbook.h
 * Run:   make 05          Check: make check-05          Page: docs/05_cost
 */
#include "kernels.h"
#include "workbook.h"

enum { PAIRS = 500, SIZES = 3, REQUESTS = 16, COPIES = 16 };
enum way { PLAIN, DEFAULT, KEEP_WAIT, KEEP };
static const char *const names[] = {"cudaMalloc and cudaFree",
                                    "pool, default, synchronized each time",
                                    "pool, keeps, synchronized each time", "pool, keeps"};
static cudaStream_t stream, busy, idle;

/* YOUR WORK, 1 of 2. From now on no synchronization takes memory from the pool, whatever the sizes
 * of its allocations. */
static void keep_memory(cudaMemPool_t pool)
{
    (void)pool; /* "A pool keeps its memory anyway: that is what it is for." */
}

/* YOUR WORK, 2 of 2. Request i fills `bytes` bytes with i. The last of these numbers
 * is copied from there to answers[i], in pinned memory (cudaMallocHost), so that the host does not
 * wait for the copy. When serve returns, all answers have arrived. It takes its memory from the
 * pool, waits for no other stream, and synchronizes once. */
static void serve(int *answers, int requests, size_t bytes)
{
    size_t count = bytes / sizeof(int);
    for (int i = 0; i < requests; i++) {
        int *data;
        /* "A free waits only for the work that uses the memory." */
        CHECK(cudaMalloc((void **)&data, bytes));
        CHECK(launch_fill(data, i, count, stream));
        CHECK(cudaMemcpyAsync(&answers[i], data + count - 1, sizeof *answers,
                              cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaFree(data));
    }
}

/* One allocation and its free. */
static void run_pair(enum way way, size_t bytes)
{
    void *data;
    if (way == PLAIN) {
        CHECK(cudaMalloc(&data, bytes));
        CHECK(cudaFree(data));
        return;
    }
    CHECK(cudaMallocAsync(&data, bytes, stream));
    CHECK(cudaFreeAsync(data, stream));
    if (way != KEEP)
        CHECK(cudaStreamSynchronize(stream));
}

/* Starts a stopwatch, makes the call, and returns how long that took, in microseconds: `idle` is a
 * stream that has nothing else to do. What the stopwatch itself takes is COST(cudaSuccess). */
#define COST(call) (watch = stopwatch_start(idle), CHECK(call), stopwatch_stop(watch, idle))
static struct stopwatch watch;

/* What one pair costs. The first one, for which a pool may grow, does not count. */
static float pair_cost(enum way way, size_t bytes)
{
    float nothing = COST(cudaSuccess);
    run_pair(way, bytes);
    watch = stopwatch_start(idle);
    for (int i = 0; i < PAIRS; i++)
        run_pair(way, bytes);
    return (stopwatch_stop(watch, idle) - nothing) / PAIRS;
}

static int print_costs(cudaMemPool_t pool, size_t largest)
{
    size_t size[SIZES] = {1024, 64 * MiB, largest};
    printf("~ us of the host for one allocation and its free, mean of %d\n", PAIRS);
    printf("~ %11s %11s %7zu MiB\n", "1 KiB", "64 MiB", largest / MiB);
    for (enum way way = PLAIN; way <= KEEP; way++) {
        if (way == KEEP_WAIT)
            keep_memory(pool);
        printf("~");
        for (int i = 0; i < SIZES; i++)
            printf(" %11.2f", pair_cost(way, size[i]));
        printf("  %s\n", names[way]);
    }
    CHECK(cudaStreamSynchronize(stream));
    int kept = reserved_mib(pool) * MiB >= largest;
    printf("after the loops the pool holds the largest allocation's memory: %s\n",
           kept ? "yes" : "no");
    return kept;
}

/* Copies for about 20 ms, in a stream that nothing else uses. */
static void keep_busy(void *to, const void *from)
{
    for (int i = 0; i < COPIES; i++)
        CHECK(cudaMemcpyAsync(to, from, 64 * MiB, cudaMemcpyHostToDevice, busy));
}

static void print_stalls(void *to, const void *from)
{
    void *data;
    float nothing = COST(cudaSuccess);
    printf("~ us of the host, for 1 MiB, while another stream copies\n");
    keep_busy(to, from);
    printf("~ %11.2f  cudaMallocAsync\n", COST(cudaMallocAsync(&data, MiB, stream)) - nothing);
    printf("~ %11.2f  cudaFreeAsync\n", COST(cudaFreeAsync(data, stream)) - nothing);
    printf("~ %11.2f  cudaMalloc\n", COST(cudaMalloc(&data, MiB)) - nothing);
    printf("~ %11.2f  cudaFree\n", COST(cudaFree(data)) - nothing);
}

static int answer_requests(void *to, const void *from, size_t bytes)
{
    int *answers, correct = 0;
    CHECK(cudaMallocHost((void **)&answers, REQUESTS * sizeof *answers));
    memset(answers, -1, REQUESTS * sizeof *answers);
    keep_busy(to, from);
    watch = stopwatch_start(idle);
    serve(answers, REQUESTS, bytes);
    float time = stopwatch_stop(watch, idle);
    printf("~ %11.2f  %d requests; the other stream is then \"%s\"\n", time, REQUESTS,
           cudaStreamQuery(busy) == cudaErrorNotReady ? "busy" : "idle");
    CHECK(cudaStreamSynchronize(busy));
    for (int i = 0; i < REQUESTS; i++)
        correct += answers[i] == i;
    printf("correct answers: %d of %d\n", correct, REQUESTS);
    CHECK(cudaFreeHost(answers));
    return correct == REQUESTS;
}

int main(int argc, char **argv)
{
    size_t largest = mib_argument(argc, argv, 1024) * MiB;
    void *to, *from;
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking));
    say_device();
    int kept = print_costs(pool, largest);

    CHECK(cudaMalloc(&to, 64 * MiB));
    CHECK(cudaMallocHost(&from, 64 * MiB));
    /* The first launch of a kernel loads its code and may wait for it. */
    CHECK(launch_fill(to, 0, 1, stream));
    CHECK(cudaStreamSynchronize(stream));
    print_stalls(to, from);
    int served = answer_requests(to, from, largest / 256);
    CHECK(cudaFreeHost(from));
    CHECK(cudaFree(to));
    CHECK(cudaStreamDestroy(idle));
    CHECK(cudaStreamDestroy(busy));
    CHECK(cudaStreamDestroy(stream));
    return kept && served ? 0 : 1;
}
