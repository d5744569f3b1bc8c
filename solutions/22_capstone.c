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

/* A part of a piece: in use, or idle and in a list of its stream. A part without neighbors is a
 * whole piece.
 * When a part returns, it is joined with its neighbors that are idle in the same stream. */
struct part {
    char *data;
    size_t bytes;
    struct part *left, *right; /* the neighbors in the piece */
    /* In the list, while idle; link points to what points here. */
    struct part *next, **link;
    struct part *next_piece; /* of the first part of a piece */
    /* The number of its return in the stream, or of the hand-over to this stream. */
    uint64_t number;
    int stream, idle;
};

/* Pieces are whole segments of the recorded driver's pools. Idle parts are in classes by size, two
 * for each power of two. */
enum { SEGMENT = 32 << 20, LARGEST = 4 * SEGMENT, CLASSES = 64 };

static struct state { /* what the cache keeps for one stream */
    struct part *idle[CLASSES];
    uint64_t filled; /* bit c: class c is not empty */
    uint64_t number; /* of this stream's last return */
    /* This stream is ordered after another stream's returns up to this number. */
    uint64_t known[STREAMS];
} states[STREAMS];
static struct part *pieces; /* the first part of each */
static size_t held;         /* the bytes of all pieces */

static int class_of(size_t bytes)
{
    int log = 63 - __builtin_clzll(bytes / GRAIN);
    return 2 * log + (log > 0 && (bytes / GRAIN >> (log - 1) & 1));
}

static void list_put(struct part *part)
{
    struct state *state = &states[part->stream];
    int index = class_of(part->bytes);
    part->idle = 1;
    part->link = &state->idle[index];
    part->next = state->idle[index];
    if (part->next != NULL)
        part->next->link = &part->next;
    state->idle[index] = part;
    state->filled |= (uint64_t)1 << index;
}

static void list_remove(struct part *part)
{
    struct state *state = &states[part->stream];
    int index = class_of(part->bytes);
    part->idle = 0;
    *part->link = part->next;
    if (part->next != NULL)
        part->next->link = part->link;
    if (state->idle[index] == NULL)
        state->filled &= ~((uint64_t)1 << index);
}

/* The smallest part that is large enough, in the class of `bytes` or the next that has one. */
static struct part *list_find(const struct state *state, size_t bytes)
{
    int index = class_of(bytes);
    struct part *best = NULL;
    for (uint64_t left = state->filled >> index << index; left != 0 && best == NULL;
         left &= left - 1)
        for (struct part *b = state->idle[__builtin_ctzll(left)]; b != NULL; b = b->next)
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
    left->number = left->number > right->number ? left->number : right->number;
    free(right);
    return left;
}

/* Makes `stream` wait for the work of the part's stream up to its return, unless it waited for that
 * before. The hand-over counts as a return in `stream`: a third stream that takes the part from
 * there must wait for an event after this wait. */
static void hand_over(struct part *part, int stream)
{
    uint64_t *known = &states[stream].known[part->stream];
    if (part->stream == stream)
        return;
    if (part->number > *known) {
        CHECK(cudaEventRecord(events[part->stream], streams[part->stream]));
        CHECK(cudaStreamWaitEvent(streams[stream], events[part->stream], 0));
        *known = states[part->stream].number;
        count.waits++;
    }
    part->stream = stream;
    part->number = ++states[stream].number;
}

/* The bytes of a piece without a part in use; 0 if one is in use. */
static size_t idle_bytes(const struct part *piece)
{
    size_t bytes = 0;
    for (const struct part *part = piece; part != NULL; part = part->right) {
        if (!part->idle)
            return 0;
        bytes += part->bytes;
    }
    return bytes;
}

/* Joins an unused piece into one part of `stream`, in no list. The stream then comes after
 * the last use of every part. */
static void piece_join(struct part *piece, int stream)
{
    struct part *part;
    list_remove(piece);
    hand_over(piece, stream);
    while ((part = piece->right) != NULL) {
        list_remove(part);
        hand_over(part, stream);
        part_join(piece, part);
    }
}

/* Returns every piece without a part in use to the pool. After the synchronization the pool may use
 * the memory anywhere. */
static void cache_trim(void)
{
    for (struct part **link = &pieces, *piece; (piece = *link) != NULL;) {
        if (idle_bytes(piece) == 0) {
            link = &piece->next_piece;
            continue;
        }
        *link = piece->next_piece;
        piece_join(piece, piece->stream);
        CHECK(cudaFreeAsync(piece->data, streams[piece->stream]));
        CHECK(cudaStreamSynchronize(streams[piece->stream]));
        held -= piece->bytes;
        free(piece);
        count.returned++;
    }
}

/* Joins the parts of a piece that has no part in use and at least `bytes` bytes, and returns it.
 * Returns NULL if there is none. */
static struct part *piece_find(size_t bytes, int stream)
{
    for (struct part *piece = pieces; piece != NULL; piece = piece->next_piece)
        if (idle_bytes(piece) >= bytes) {
            piece_join(piece, stream);
            list_put(piece);
            return piece;
        }
    return NULL;
}

/* Takes a new piece, a third of what the cache holds, so that a small program reserves little and a
 * large one takes few. Idle pieces are returned first: the recorded driver can map their memory
 * under the new addresses. */
static struct part *piece_new(size_t bytes, int stream)
{
    void *data;
    cache_trim();
    size_t third = held / 3 < LARGEST ? held / 3 / SEGMENT * SEGMENT : LARGEST;
    bytes = (bytes + SEGMENT - 1) / SEGMENT * SEGMENT;
    bytes = bytes < third ? third : bytes;
    CHECK(cudaMallocFromPoolAsync(&data, bytes, pool, streams[stream]));
    held += bytes;
    count.taken++;
    pieces = part_new((struct part){.data = data,
                                    .bytes = bytes,
                                    .next_piece = pieces,
                                    .stream = stream,
                                    .number = ++states[stream].number});
    list_put(pieces);
    return pieces;
}

/* Returns a part for work in `stream`: one that this stream returned, else one that another stream
 * returned, else a part of an idle piece, else a part of a new piece. */
static struct part *cache_take(size_t bytes, int stream)
{
    bytes = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    struct part *part = list_find(&states[stream], bytes);
    for (int other = 0; part == NULL && other < STREAMS; other++)
        part = list_find(&states[other], bytes);
    if (part == NULL)
        part = piece_find(bytes, stream);
    if (part == NULL)
        part = piece_new(bytes, stream);
    list_remove(part);
    hand_over(part, stream);
    part_split(part, bytes);
    return part;
}

/* The part returns. Its last use is in its stream already. */
static void cache_give(struct part *part)
{
    struct part *left = part->left, *right = part->right;
    part->number = ++states[part->stream].number;
    if (left != NULL && left->idle && left->stream == part->stream) {
        list_remove(left);
        part = part_join(left, part);
    }
    if (right != NULL && right->idle && right->stream == part->stream) {
        list_remove(right);
        part = part_join(part, right);
    }
    list_put(part);
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
