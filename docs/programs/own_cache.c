/* The pieces of code that lesson 22 offers to copy, with the cache of its solution: what is
 * declared here is defined there, so the compiler compares the two. */
#define main lesson_main
#include "../../solutions/22_capstone.c"
#undef main

/* [yours */
static struct part *cache_take(size_t bytes, int stream);
static void cache_give(struct part *part);
static void cache_trim(void);
/* yours] */

/* [cut */
/* From the pool: whole segments of 32 MiB, as one idle part. */
static struct part *piece_new(size_t bytes, int stream);
/* cut] */

/* [hand-over */
/* Makes `stream` come after all that was done with the part. */
static void hand_over(struct part *part, int stream);
/* hand-over] */

static void order(int from, int to)
{
    /* [order */
    CHECK(cudaEventRecord(events[from], streams[from]));
    CHECK(cudaStreamWaitEvent(streams[to], events[from], 0));
    /* order] */
}

/* Stream 0 cuts a part in two and joins it again; then stream 1 gets it. */
int main(void)
{
    pool = pool_create();
    for (int i = 0; i < 2; i++) {
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    }
    struct part *first = cache_take(MiB, 0), *second = cache_take(MiB, 0);
    CHECK(launch_fill((int *)first->data, 1, MiB / sizeof(int), streams[0]));
    cache_give(first);
    cache_give(second);
    struct part *idle = list_find(&states[0], 2 * MiB), *other = cache_take(2 * MiB, 1);
    CHECK(launch_fill((int *)other->data, 2, MiB / sizeof(int), streams[1]));
    printf("one part: %s; waits: %zu\n", idle == other ? "yes" : "no", count.waits);
    cache_give(other);
    order(0, 1);
    cache_trim();
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventDestroy(events[i]));
        CHECK(cudaStreamDestroy(streams[i]));
    }
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}
