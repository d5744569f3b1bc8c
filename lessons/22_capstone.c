/* 22 Capstone: a caching allocator on top of one pool
 *
 * Question: A cache takes large pieces from a pool and hands out parts of them. What does it need
 *   to reserve little, call CUDA rarely, and hand a part to another stream only in order? Recorded
 *   programs measure it.
 * Task (fill): the cache, between YOUR WORK and END OF YOUR WORK. What follows replays a trace
 *   through it: leave it.
 * Calls: cudaMallocFromPoolAsync(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
 *        cudaFreeAsync(void *ptr, cudaStream_t stream), cudaStreamSynchronize(cudaStream_t stream)
 *        cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
 *        cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, 0)
 * Run:   make 22          Check: make check-22          Page: docs/22_capstone
 *        make 22 ARGS=resnet50-train replays another trace: four-streams, tangle, relay or trim.
 */
#include <time.h>
#include "kernels.h"
#include "traces/trace.h"
#include "workbook.h"

/* A part begins at a multiple of GRAIN bytes in its piece, as an allocation of a pool does. */
enum { GRAIN = 512, ROUNDS = 4, TOUCHED = 1024 };

static cudaStream_t streams[STREAMS];
static cudaEvent_t events[STREAMS]; /* for the cache to use */
/* The cache takes its pieces from here. */
static cudaMemPool_t pool;
/* Pieces taken from the pool, pieces returned to it, waits for an event. */
static struct {
    size_t taken, returned, waits;
} count;

/* ---- YOUR WORK ---- */

/* A part of a piece: in use, or idle and in a list. A part without neighbors is a whole piece. */
struct part {
    char *data;
    size_t bytes;
    struct part *left, *right; /* the neighbors in the piece */
    /* In the list, while idle; link points to what points here. */
    struct part *next, **link;
    struct part *next_piece; /* of the first part of a piece */
    int stream, idle;
};

static struct part *idle;   /* the list of all that is idle */
static struct part *pieces; /* the first part of each */

/* The struct, the list and the chain of neighbors are finished, so that you write about order.
 * Change what you like. These two are for sections 2 and 3, and nothing calls them yet. */
static void part_split(struct part *part, size_t bytes) __attribute__((unused));
static struct part *part_join(struct part *left, struct part *right) __attribute__((unused));

static void list_put(struct part *part)
{
    struct part **list = &idle;
    part->idle = 1;
    part->link = list;
    part->next = *list;
    if (part->next != NULL)
        part->next->link = &part->next;
    *list = part;
}

static void list_remove(struct part *part)
{
    part->idle = 0;
    *part->link = part->next;
    if (part->next != NULL)
        part->next->link = part->link;
}

/* The smallest part that is large enough, or NULL. */
static struct part *list_find(struct part *list, size_t bytes)
{
    struct part *best = NULL;
    for (struct part *b = list; b != NULL; b = b->next)
        if (b->bytes >= bytes && (best == NULL || b->bytes < best->bytes))
            best = b;
    return best;
}

static struct part *part_new(struct part like)
{
    struct part *part = malloc(sizeof *part);
    if (part == NULL)
        abort();
    *part = like;
    return part;
}

/* Cuts a part that is in no list. The rest is idle in the same stream. */
static void part_split(struct part *part, size_t bytes)
{
    if (part->bytes == bytes)
        return;
    struct part *rest = part_new(*part);
    rest->data += bytes;
    rest->bytes -= bytes;
    rest->left = part;
    if (rest->right != NULL)
        rest->right->left = rest;
    part->right = rest;
    part->bytes = bytes;
    list_put(rest);
}

/* Joins two neighbors of one stream that are in no list. */
static struct part *part_join(struct part *left, struct part *right)
{
    left->bytes += right->bytes;
    left->right = right->right;
    if (left->right != NULL)
        left->right->left = left;
    free(right);
    return left;
}

/* At least `bytes` for work in `stream`: an idle part of this size, or else a new piece of this
 * size. */
static struct part *cache_take(size_t bytes, int stream)
{
    bytes = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    struct part *part = list_find(idle, bytes);
    if (part != NULL && part->bytes == bytes) {
        list_remove(part);
        part->stream = stream;
        return part;
    }
    part = part_new((struct part){.bytes = bytes, .next_piece = pieces, .stream = stream});
    CHECK(cudaMallocFromPoolAsync((void **)&part->data, bytes, pool, streams[stream]));
    pieces = part;
    count.taken++;
    return part;
}

/* The part returns. Its last use is in its stream already. */
static void cache_give(struct part *part) { list_put(part); }

/* Returns every idle piece to the pool. */
static void cache_trim(void)
{
    for (struct part **link = &pieces, *piece; (piece = *link) != NULL;) {
        if (!piece->idle) {
            link = &piece->next_piece;
            continue;
        }
        *link = piece->next_piece;
        list_remove(piece);
        CHECK(cudaFreeAsync(piece->data, streams[piece->stream]));
        CHECK(cudaStreamSynchronize(streams[piece->stream]));
        free(piece);
        count.returned++;
    }
}

/* ---- END OF YOUR WORK ---- */

/* No two live allocations share a byte. */
static void expect_apart(const struct live *one)
{
    for (const struct live *other = live; other < live + id_count; other++)
        if (other != one && other->data != NULL && one->data < other->data + other->op->bytes
            && other->data < one->data + one->op->bytes) {
            fprintf(stderr, "allocation %d overlaps allocation %d, which is live\n", one->op->id,
                    other->op->id);
            exit(1);
        }
}

/* A new allocation is filled at its start; before its return, added to there, and its end is set to
 * 0. */
static void use(const struct live *one, int last)
{
    size_t ints = one->op->bytes / sizeof(int), some = ints < TOUCHED ? ints : TOUCHED;
    cudaStream_t stream = streams[one->op->stream];
    if (!last) {
        expect_apart(one);
        CHECK(launch_fill((int *)one->data, 1, some, stream));
    } else {
        CHECK(launch_add((int *)one->data, 1, some, stream));
        CHECK(launch_fill((int *)one->data + ints - 1, 0, 1, stream));
    }
}

static void take(struct live *one, const struct op *op, cudaMemPool_t plain)
{
    one->op = op;
    if (plain == NULL) {
        one->part = cache_take(op->bytes, op->stream);
        one->data = one->part->data;
    } else {
        CHECK(cudaMallocFromPoolAsync((void **)&one->data, op->bytes, plain, streams[op->stream]));
    }
}

static void give(struct live *one, cudaMemPool_t plain)
{
    if (plain == NULL)
        cache_give(one->part);
    else
        CHECK(cudaFreeAsync(one->data, streams[one->op->stream]));
    one->data = NULL;
}

/* One round of the trace, through the pool `plain` or through the cache, with kernels or without.
 * What the trace leaves live is freed at the end. */
static void replay(cudaMemPool_t plain, int used)
{
    for (int i = 0; i < op_count + id_count; i++) {
        struct live *one = i < op_count ? &live[ops[i].id] : &live[i - op_count];
        if (i < op_count && ops[i].what == 'a') {
            take(one, &ops[i], plain);
            if (used)
                use(one, 0);
        } else if (one->data != NULL) {
            if (used)
                use(one, 1);
            give(one, plain);
        }
    }
}

/* Nanoseconds of the host for an allocation and its return: the best of several rounds; the first
 * does not count. */
static double time_replay(cudaMemPool_t plain)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct timespec begin, end;
        timespec_get(&begin, TIME_UTC);
        replay(plain, 0);
        timespec_get(&end, TIME_UTC);
        double each =
            (1e9 * (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec))
            / id_count;
        best = round == 1 || (round > 1 && each < best) ? each : best;
    }
    CHECK(cudaDeviceSynchronize());
    return best;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "small";
    struct cudaDeviceProp device;
    trace_read(name);
    for (int i = 0; i < STREAMS; i++) {
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    }
    cudaMemPool_t plain = pool_create();
    pool = pool_create();
    pool_set(plain, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    /* Otherwise its peak would depend on how far the device is. */
    pool_set_flag(plain, cudaMemPoolReuseAllowOpportunistic, 0);

    printf("%-15s  pairs %d, streams %d, live at most %zu MiB\n", name, id_count, stream_count,
           live_peak / MiB);
    replay(plain, 0);
    replay(NULL, 1);
    CHECK(cudaDeviceSynchronize());
    size_t plain_peak = pool_get(plain, cudaMemPoolAttrReservedMemHigh) / MiB;
    size_t peak = pool_get(pool, cudaMemPoolAttrReservedMemHigh) / MiB;
    printf("cudaMallocAsync  reserved at most %zu MiB\n", plain_peak);
    printf("the cache        reserved at most %zu MiB, %.2f times as much\n", peak,
           (double)peak / (double)plain_peak);

    double plain_each = time_replay(plain), each = time_replay(NULL);
    cache_trim();
    CHECK(cudaMemPoolTrimTo(pool, 0));
    printf("in %d rounds      pieces taken %zu, given back %zu, events waited for %zu; then "
           "reserved %zu MiB\n",
           ROUNDS + 1, count.taken, count.returned, count.waits, reserved_mib(pool));
    CHECK(cudaGetDeviceProperties(&device, 0));
    int simulated = strncmp(device.name, "Simulated", 9) == 0;
    printf("~ host time on \"%s\"\n", simulated ? "this CPU, for the simulator" : device.name);
    printf("~ ns a pair: cudaMallocAsync %.0f, the cache %.0f: %.1f times less\n", plain_each, each,
           plain_each / each);

    for (int i = 0; i < STREAMS; i++) {
        CHECK(cudaEventDestroy(events[i]));
        CHECK(cudaStreamDestroy(streams[i]));
    }
    CHECK(cudaMemPoolDestroy(plain));
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}
