/* Calls lesson 22's cache. The first argument is the walk:
 * random    a seed follows: walks.py says what is done
 * long      a seed follows: many parts, none of which is used
 * another   its steps follow, in words: take BYTES STREAM, give I (the i-th of those that are
 *           live), trim; hold STREAM, at a gate, and open. "small" is then replayed through a plain
 *           pool
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
/* What was done: an id is taken, its complement is given. */
static int asked_done[2 * ASKED_MOST], asked_done_count;
static unsigned asked_seed;

static int asked_below(int n)
{
    asked_seed = (asked_seed * 1103 + 12345) % 1048576;
    return (int)(asked_seed / 7) % n;
}

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
    /* From the first part on: where the first one lies differs from run to run. */
    unsigned place = (unsigned)(((size_t)asked[id].data - (size_t)asked[0].data) / GRAIN % 1048576);
    printf("\ncache_take %d, %zu bytes for stream %d = %u\n", id, bytes, stream, place);
    asked_seed = (asked_seed + place) % 1048576;
    asked_use(id, 0);
    asked_live[asked_live_count++] = id;
    asked_done[asked_done_count++] = id;
}

/* Gives the i-th of those that are live; the last one takes its place. */
static void asked_give(int i)
{
    int id = asked_live[i];
    asked_live[i] = asked_live[--asked_live_count];
    asked_done[asked_done_count++] = ~id;
    asked_use(id, 1);
    cache_give(asked[id].part);
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

/* 70,000 parts of one stream, of which at most 12 are live. Nobody else asks for host memory. */
static void asked_long(void)
{
    struct part *kept[12] = {NULL};
    size_t before = 0;
    for (int i = 0; i < 70000; i++) {
        if (i == 20000)
            before = mallinfo2().uordblks;
        struct part **one = &kept[asked_below(12)];
        if (*one != NULL)
            cache_give(*one);
        *one = cache_take(GRAIN * (size_t)(1 + asked_below(2000)), 0);
    }
    size_t after = mallinfo2().uordblks;
    printf("\nbytes of host memory that 50,000 more parts took = %zu\n",
           after > before ? after - before : 0);
    for (int i = 0; i < 12; i++)
        if (kept[i] != NULL)
            cache_give(kept[i]);
}

static void asked_random(void)
{
    size_t some[10];
    for (int i = 0; i < 10; i++) {
        some[i] = (size_t)(1 + asked_below(48)) * MiB;
        some[i] -= (size_t)asked_below(1200) * sizeof(int);
    }
    while (asked_count < 60) {
        int large = asked_count % 12 == 11;
        while (large && asked_live_count > 0)
            asked_give(asked_below(asked_live_count));
        size_t bytes = large ? 600 * MiB + 4096 * (size_t)asked_count : some[asked_below(10)];
        asked_take(bytes, asked_below(5));
        while (asked_live_count > 6 || (asked_live_count > 0 && asked_below(3) == 0))
            asked_give(asked_below(asked_live_count));
    }
}

static void asked_plain(cudaMemPool_t plain)
{
    for (int i = 0; i < asked_done_count; i++) {
        int id = asked_done[i] >= 0 ? asked_done[i] : ~asked_done[i];
        cudaStream_t stream = streams[asked[id].stream];
        if (asked_done[i] >= 0)
            CHECK(cudaMallocFromPoolAsync(&asked[id].plain, asked[id].bytes, plain, stream));
        else
            CHECK(cudaFreeAsync(asked[id].plain, stream));
    }
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
    asked_seed = (unsigned)strtoul(argv[2], NULL, 10);
    if (strcmp(argv[1], "long") == 0)
        asked_long();
    else if (strcmp(argv[1], "random") == 0)
        asked_random();
    else
        asked_walk(argv + 2);
    while (asked_live_count > 0)
        asked_give(0);
    cache_trim();
    if (strcmp(argv[1], "small") == 0)
        asked_plain(plain);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
