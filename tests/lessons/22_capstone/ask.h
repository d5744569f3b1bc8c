/* Calls lesson 22's cache. The first argument is the walk:
 * long      a seed follows: many parts, none of which is used
 * another   its steps follow, in words: take BYTES STREAM, give I (the i-th of those that are
 *           live), trim; hold STREAM, at a gate, and open. "small" takes as much from a plain pool
 * Each part is used as it is taken and before it returns: whole, or its first 256 KiB and its last
 * int. What was used where is in the journal. */
#include <malloc.h>

enum { ASKED_MOST = 2048, ASKED_WHOLE = 256 << 10 };

static struct {
    struct part *part;
    void *plain;
    int *data;
    size_t bytes;
    int stream;
} asked[ASKED_MOST];
static int asked_count, asked_live[ASKED_MOST], asked_live_count;
static cudaMemPool_t asked_plain; /* of "small" */

static void asked_use(int id, int last)
{
    size_t ints = asked[id].bytes / sizeof(int), most = ASKED_WHOLE / sizeof(int);
    size_t some = ints < most ? ints : most;
    cudaStream_t stream = streams[asked[id].stream];
    CHECK((last ? launch_add : launch_fill)(asked[id].data, id + 1, some, stream));
    if (some < ints)
        CHECK(launch_add(asked[id].data + ints - 1, id + 1, 1, stream));
}

static void asked_take(size_t bytes, int stream)
{
    int id = asked_count++;
    asked[id].part = cache_take(bytes, stream);
    asked[id].data = (int *)asked[id].part->data;
    asked[id].bytes = bytes;
    asked[id].stream = stream;
    asked_use(id, 0);
    asked_live[asked_live_count++] = id;
    if (asked_plain != NULL)
        CHECK(cudaMallocFromPoolAsync(&asked[id].plain, bytes, asked_plain, streams[stream]));
}

/* Gives the i-th of those that are live; the last one takes its place. */
static void asked_give(int i)
{
    int id = asked_live[i];
    asked_live[i] = asked_live[--asked_live_count];
    asked_use(id, 1);
    cache_give(asked[id].part);
    if (asked_plain != NULL)
        CHECK(cudaFreeAsync(asked[id].plain, streams[asked[id].stream]));
}

static void asked_walk(char **word)
{
    volatile int *gate = NULL;
    for (; *word != NULL; word++)
        if (strcmp(*word, "take") == 0) {
            asked_take(strtoul(word[1], NULL, 10), atoi(word[2]));
            word += 2;
        } else if (strcmp(*word, "give") == 0) {
            asked_give(atoi(*++word));
        } else if (strcmp(*word, "hold") == 0) {
            gate = gate_create();
            CHECK(launch_hold(gate, streams[atoi(*++word)]));
        } else if (strcmp(*word, "open") == 0) {
            gate_open(gate);
        } else {
            cache_trim();
        }
}

static int asked_below(unsigned *seed, int n)
{
    *seed = (*seed * 1103 + 12345) % 1048576;
    return (int)(*seed / 7) % n;
}

/* 70,000 parts of one stream, of which at most 12 are live. Nobody else asks for host memory. */
static void asked_long(unsigned seed)
{
    struct part *kept[12] = {NULL};
    size_t before = 0;
    for (int i = 0; i < 70000; i++) {
        if (i == 20000)
            before = mallinfo2().uordblks;
        struct part **one = &kept[asked_below(&seed, 12)];
        if (*one != NULL)
            cache_give(*one);
        *one = cache_take(GRAIN * (size_t)(1 + asked_below(&seed, 2000)), 0);
    }
    size_t after = mallinfo2().uordblks;
    printf("\nbytes of host memory that 50,000 more parts took = %zu\n",
           after > before ? after - before : 0);
    for (int i = 0; i < 12; i++)
        if (kept[i] != NULL)
            cache_give(kept[i]);
}

int main(int argc, char **argv)
{
    for (int i = 0; i < STREAMS; i++) {
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    }
    cudaMemPool_t plain = pool_create();
    pool = pool_create();
    pool_set(plain, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    if (strcmp(argv[1], "small") == 0)
        asked_plain = plain;
    if (strcmp(argv[1], "long") == 0)
        asked_long((unsigned)strtoul(argv[2], NULL, 10));
    else
        asked_walk(argv + 2);
    while (asked_live_count > 0)
        asked_give(0);
    cache_trim();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
