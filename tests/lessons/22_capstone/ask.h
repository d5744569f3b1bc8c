/* Calls lesson 22's cache. "order", four streams and three sizes: memory goes from stream to
 * stream; "held", with the same: the first stream is held meanwhile. "random" or "small" and a
 * seed: a walk that depends on where the cache put its parts, so that no stored trace has it;
 * "small" then replays it through a plain pool. Each part is used as it is taken and before it
 * returns: whole, or its first 256 KiB and its last int. What was used where is in the journal. The
 * check puts the lesson in front of this file, its main renamed. */

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

/* Memory goes from stream to stream. */
static void asked_order(const int *in, size_t bytes, size_t left, size_t right)
{
    int a = in[0], b = in[1], c = in[2], fresh = in[3];
    asked_in_turn(bytes, in, 3);
    cache_trim();
    /* c has waited for b more often than the fresh stream has returned a part, when b hands on what
     * it never used. */
    asked_in_turn(bytes, (int[]){b, b, b, b, c}, 5);
    cache_trim();
    asked_in_turn(2 * bytes, &fresh, 1);
    asked_take(bytes, b);
    asked_take(bytes, c);
    asked_give(0);
    asked_give(0);
    cache_trim();
    /* Neighbors of two streams return, and their bytes are asked for together. */
    for (int i = 0; i < 6; i++) {
        asked_take(left, a);
        asked_take(right, b);
        asked_give(i % 2);
        asked_give(0);
        asked_in_turn(left + right, &in[i / 2], 1);
        cache_trim();
    }
    asked_take(left, a);
    asked_take(right, b);
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
        some[i] -= (size_t)asked_below(9) * GRAIN;
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
            int new = asked_take(65536 * (size_t)(4 + step), 0);
            if (step > 1)
                asked_give_id(kept[layer]);
            kept[layer] = new;
            for (int i = 0; i < 3; i++)
                soon[i] = asked_take(512 * (size_t)(1 + asked_below(2000)), 0);
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
    if (argc < 3)
        return 2;
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
    if (strcmp(argv[1], "order") == 0)
        asked_order(in, given[4], given[5], given[6]);
    else if (strcmp(argv[1], "held") == 0)
        asked_held(in, given[4]);
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
