/* Calls lesson 22's cache. The first argument is the walk, then come its numbers:
 * turns, third    four streams and a size: memory goes from stream to stream, and to a third one
 * neighbors       two streams and two sizes: neighbors of two streams return
 * newer           two streams and four sizes: a part is joined of an older and a newer return
 * held            two streams and a size: the first one is held meanwhile
 * random, small   a seed: a walk that depends on where the cache put its parts, so that no stored
 *                 trace has it; "small" then replays it through a plain pool
 * long            a seed: many parts, none of which is used
 * Each part is used as it is taken and before it returns: whole, or its first 256 KiB and its last
 * int. What was used where is in the journal. */

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

static int asked_take(size_t bytes, int stream)
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
    return asked_done[asked_done_count++] = id;
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

static void asked_give_id(int id)
{
    for (int i = 0; i < asked_live_count; i++)
        if (asked_live[i] == id) {
            asked_give(i);
            return;
        }
}

/* Takes from each of the streams in turn, and gives. */
static void asked_in_turn(size_t bytes, const int *in, int count)
{
    for (int i = 0; i < count; i++) {
        asked_take(bytes, in[i]);
        asked_give(0);
    }
}

/* Memory goes from stream to stream; with `third`, then to a stream that had none. */
static void asked_turns(const int *in, size_t bytes, int third)
{
    int b = in[1], c = in[2], fresh = in[3];
    asked_in_turn(bytes, in, 3);
    cache_trim();
    /* c has waited for b more often than the fresh stream has returned a part, when b hands on what
     * it never used. */
    asked_in_turn(bytes, (int[]){b, b, b, b, c}, 5);
    cache_trim();
    if (!third)
        return;
    asked_in_turn(2 * bytes, &fresh, 1);
    asked_take(bytes, b);
    asked_take(bytes, c);
    asked_give(0);
    asked_give(0);
    cache_trim();
}

/* Neighbors of two streams return, and their bytes are asked for together. */
static void asked_neighbors(const int *in, size_t left, size_t right)
{
    for (int i = 0; i < 6; i++) {
        asked_take(left, in[0]);
        asked_take(right, in[1]);
        asked_give(i % 2);
        asked_give(0);
        asked_in_turn(left + right, &in[i / 2], 1);
        cache_trim();
    }
    asked_take(left, in[0]);
    asked_take(right, in[1]);
}

/* One of two neighbors returns, the other stream waits for that as it takes the spare part, and the
 * second neighbor returns: what is joined has a use that the other stream has not waited for. What
 * lies around them stays in use. */
static void asked_newer(const int *in, size_t spare, size_t guard, size_t left, size_t right)
{
    for (int i = 0; i < 4; i++) {
        int one = in[i / 2], other = in[1 - i / 2];
        int first = asked_take(spare, one);
        asked_take(guard, one);
        int pair[] = {asked_take(left, one), asked_take(right, one)};
        asked_take(guard, one);
        asked_give_id(first);
        asked_give_id(pair[i % 2]);
        asked_take(spare, other);
        asked_give_id(pair[1 - i % 2]);
        asked_take(left + right, other);
        while (asked_live_count > 0)
            asked_give(0);
        cache_trim();
    }
}

/* 70,000 parts of one stream, of which at most 12 are live. */
static void asked_long(void)
{
    struct part *kept[12] = {NULL};
    for (int i = 0; i < 70000; i++) {
        struct part **one = &kept[asked_below(12)];
        if (*one != NULL)
            cache_give(*one);
        *one = cache_take(GRAIN * (size_t)(1 + asked_below(2000)), 0);
    }
    for (int i = 0; i < 12; i++)
        if (kept[i] != NULL)
            cache_give(kept[i]);
}

/* A stream returned a part and is held: another one takes it, and the host goes on. */
static void asked_held(const int *in, size_t bytes)
{
    volatile int *gate = gate_create();
    asked_take(bytes, in[0]);
    CHECK(launch_hold(gate, streams[in[0]]));
    asked_give(0);
    asked_take(bytes, in[1]);
    gate_open(gate);
}

/* 60 parts of ten sizes in five streams, and now and then a part that is larger than all before: a
 * cache that returns idle pieces must then return pieces of several streams. */
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

/* One stream with 20 to 50 MiB live: 40 parts that stay, and in each of 12 steps eight that replace
 * larger and larger ones, with three that end soon. */
static void asked_small(void)
{
    int kept[8], soon[3];
    for (int i = 0; i < 40; i++)
        asked_take(4096 * (size_t)(1 + asked_below(400)), 0);
    for (int step = 1; step <= 12; step++)
        for (int layer = 0; layer < 8; layer++) {
            int made = asked_take(65536 * (size_t)(4 + step), 0);
            if (step > 1)
                asked_give_id(kept[layer]);
            kept[layer] = made;
            for (int i = 0; i < 3; i++)
                soon[i] = asked_take(516 * (size_t)(1 + asked_below(2000)), 0);
            for (int i = 0; i < 3; i++)
                asked_give_id(soon[i]);
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
    int in[4] = {0};
    size_t given[7] = {0};
    for (int i = 0; i < 7 && i + 2 < argc; i++)
        given[i] = strtoul(argv[i + 2], NULL, 10);
    for (int i = 0; i < 4; i++)
        in[i] = (int)given[i];
    asked_seed = (unsigned)given[0];
    if (strcmp(argv[1], "turns") == 0 || strcmp(argv[1], "third") == 0)
        asked_turns(in, given[4], argv[1][1] == 'h');
    else if (strcmp(argv[1], "neighbors") == 0)
        asked_neighbors((int[]){in[0], in[1], in[2]}, given[3], given[4]);
    else if (strcmp(argv[1], "newer") == 0)
        asked_newer(in, given[2], given[3], given[4], given[5]);
    else if (strcmp(argv[1], "long") == 0)
        asked_long();
    else if (strcmp(argv[1], "held") == 0)
        asked_held(in, given[2]);
    else if (strcmp(argv[1], "random") == 0)
        asked_random();
    else
        asked_small();
    while (asked_live_count > 0)
        asked_give(0);
    cache_trim();
    if (strcmp(argv[1], "small") == 0)
        asked_plain(plain);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
