/* 19 Cost
 *
 * Shows  what an allocation and its free cost the host, in four ways. A pool at its default gives memory back at every
 *        synchronise and must grow again for the next allocation, which costs more than cudaMalloc and cudaFree. A pool
 *        that keeps its memory costs almost nothing.
 * Yours  predict: keep_memory, and the order that you expect: both are marked YOUR WORK.
 * Run    make 19          check   make check-19          page   docs/19_cost
 */
#include "workbook.h"

enum { PAIRS = 100, ROUNDS = 5, WAYS = 4 };
enum way { PLAIN, KEEP, DEFAULT_WAIT, KEEP_WAIT };
static const char *const names[WAYS] = {
    "cudaMalloc and cudaFree", "async, keeps", "async, default, synchronised each time",
    "async, keeps, synchronised each time"
};

/* YOUR WORK, 1 of 2. The four ways, from the one that costs least to the one that costs most. */
static const enum way predicted[WAYS] = {KEEP, KEEP_WAIT, DEFAULT_WAIT, PLAIN};      /* async is always faster */

/* YOUR WORK, 2 of 2. From now on no synchronise takes memory from the pool. */
static void keep_memory(cudaMemPool_t pool)
{
    (void)pool;                         /* a pool keeps its memory anyway: that is what it is for */
}

static cudaStream_t stream, clock_stream;
static float cost[WAYS];

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

/* How long the host took, in microseconds. The events are put into a stream that has nothing else to do, so the time of
 * each is the time at which the host put it there. */
static float time_pairs(enum way way, size_t bytes, int pairs)
{
    cudaEvent_t begin, end;
    float milliseconds;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin, clock_stream));
    CHECK(cudaEventSynchronize(begin));
    for (int i = 0; i < pairs; i++)
        run_pair(way, bytes);
    CHECK(cudaEventRecord(end, clock_stream));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return milliseconds * 1000;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int by_cost(const void *a, const void *b)
{
    return by_value(&cost[*(const enum way *)a], &cost[*(const enum way *)b]);
}

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 1) * MiB;
    enum way order[WAYS] = {PLAIN, KEEP, DEFAULT_WAIT, KEEP_WAIT};
    struct cudaDeviceProp device;
    cudaMemPool_t pool;
    int right = 0;
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&clock_stream, cudaStreamNonBlocking));

    for (enum way way = PLAIN; way <= KEEP_WAIT; way++) {
        float round[ROUNDS];
        pool_set(pool, cudaMemPoolAttrReleaseThreshold, 0);     /* the default */
        if (way == KEEP || way == KEEP_WAIT)
            keep_memory(pool);
        for (int i = 0; i < ROUNDS; i++)
            round[i] = (time_pairs(way, bytes, PAIRS) - time_pairs(way, bytes, 0)) / PAIRS;
        qsort(round, ROUNDS, sizeof *round, by_value);
        cost[way] = round[ROUNDS / 2];
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemPoolTrimTo(pool, 0));
    }

    qsort(order, WAYS, sizeof *order, by_cost);
    printf("~ device \"%s\"\n", device.name);
    printf("~ us of the host for one allocation of %zu MiB and its free, median of %d\n", bytes / MiB, ROUNDS);
    for (int i = 0; i < WAYS; i++) {
        right += order[i] == predicted[i];
        printf("~ %8.2f  %-38s  predicted: %s\n", cost[order[i]], names[order[i]], names[predicted[i]]);
    }
    printf("right places: %d of %d\n", right, WAYS);
    CHECK(cudaStreamDestroy(clock_stream));
    CHECK(cudaStreamDestroy(stream));
    return right == WAYS ? 0 : 1;
}
