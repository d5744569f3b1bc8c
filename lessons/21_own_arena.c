/* 21 An arena of your own
 *
 * Question: An arena hands out the same bytes in every frame. What must come first?
 * Task (fix): arena_want, which places requests and refuses what it cannot place, and the order
 *   between arena_reset and the next arena_commit. The check calls them with arenas, sizes and
 *   alignments of its own. The comments in quotation marks are what the author believed.
 * Calls: cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
 *        cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
 *        cudaEventSynchronize(cudaEvent_t event)
 * Run:   make 21          Check: make check-21          Page: docs/21_own_arena
 */
#include "kernels.h"
#include "workbook.h"

enum { FRAMES = 8, REQUESTS = 16 };

struct arena {
    int pinned, count, committed;          /* pinned: page-locked host memory, else pool memory */
    size_t limit, alignment, needed, size; /* needed: the end of the last request */
    void *base;                            /* `size` bytes, which a reset keeps */
    cudaEvent_t done[2], ready;            /* done: one for each stream */
    struct {
        void **pointer;
        size_t offset;
    } request[REQUESTS];
};

static struct arena arena_new(int pinned, size_t limit, size_t alignment)
{
    struct arena arena = {.pinned = pinned, .limit = limit, .alignment = alignment};
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventCreateWithFlags(&arena.done[i], cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&arena.ready, cudaEventDisableTiming));
    return arena;
}

/* YOUR WORK, 1 of 3. Phase 1: a request. At the commit `*pointer` gets `bytes` bytes, which begin
 * at the next multiple of the alignment (any number > 0). Returns 1, or 0 for a request that
 * is refused and changes nothing: the arena is committed, has REQUESTS requests, or the bytes would
 * end after the limit, however large `bytes` is. */
static int arena_want(struct arena *arena, void **pointer, size_t bytes)
{
    size_t offset = arena->needed; /* "Right after the last request: alignment does not matter." */
    if (arena->committed || arena->count == REQUESTS || offset + bytes > arena->limit)
        return 0;
    arena->request[arena->count].pointer = pointer;
    arena->request[arena->count++].offset = offset;
    arena->needed = offset + bytes;
    return 1;
}

/* One allocation for all requests, in the first stream. The second stream waits for it. */
static void arena_grow(struct arena *arena, cudaStream_t stream[2])
{
    if (arena->base != NULL)
        CHECK(arena->pinned ? cudaFreeHost(arena->base) : cudaFreeAsync(arena->base, stream[0]));
    arena->size = arena->needed;
    CHECK(arena->pinned ? cudaMallocHost(&arena->base, arena->size)
                        : cudaMallocAsync(&arena->base, arena->size, stream[0]));
    CHECK(cudaEventRecord(arena->ready, stream[0]));
    CHECK(cudaStreamWaitEvent(stream[1], arena->ready, 0));
}

/* Phase 2: each pointer gets its part. Memory is allocated only when the arena has too little. Then
 * both streams may write into device memory, and the host into pinned memory. */
static void arena_commit(struct arena *arena, cudaStream_t stream[2])
{
    /* YOUR WORK, 2 of 3. What the streams had to do at the reset comes first, and nothing else. */
    /* "Nothing does: each stream keeps its own order." */
    if (arena->needed > arena->size)
        arena_grow(arena, stream);
    arena->committed = 1;
    for (int i = 0; i < arena->count; i++)
        *arena->request[i].pointer = (char *)arena->base + arena->request[i].offset;
}

/* The end of a frame. Both streams may still be working in the arena, and the host does not wait
 * for them here. Each pointer becomes NULL, and the arena takes requests again. */
static void arena_reset(struct arena *arena, cudaStream_t stream[2])
{
    for (int i = 0; i < arena->count; i++)
        *arena->request[i].pointer = NULL;
    arena->needed = arena->count = arena->committed = 0;
    /* YOUR WORK, 3 of 3. */
    (void)stream; /* "A reset is free: it sets a few numbers to 0." */
}

static void arena_delete(struct arena *arena, cudaStream_t stream)
{
    CHECK(arena->pinned ? cudaFreeHost(arena->base) : cudaFreeAsync(arena->base, stream));
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventDestroy(arena->done[i]));
    CHECK(cudaEventDestroy(arena->ready));
}

/* Each stream has a part of the frame: copies it up, adds 1, and copies the last number down. */
static void run_frame(int frame, size_t unit, struct arena *staging, struct arena *arena,
                      int *result, cudaStream_t stream[2])
{
    void *input[2] = {NULL}, *part[2] = {NULL};
    size_t whole = frame < FRAMES / 2 ? 4 * unit : 6 * unit, first = frame % 2 ? 3 * unit : unit,
           count[2] = {first + 1, whole - first};
    for (int i = 0; i < 2; i++) {
        arena_want(staging, &input[i], count[i] * sizeof(int));
        arena_want(arena, &part[i], count[i] * sizeof(int));
    }
    arena_commit(staging, stream);
    arena_commit(arena, stream);
    printf("frame %d: parts at 0 and %7zu of %7zu bytes\n", frame, arena->request[1].offset,
           arena->needed);
    for (int i = 0; i < 2; i++) {
        int *from = input[i], *to = part[i];
        for (size_t k = 0; k < count[i]; k++)
            from[k] = 10 * frame + i;
        CHECK(cudaMemcpyAsync(to, from, count[i] * sizeof(int), cudaMemcpyHostToDevice, stream[i]));
        CHECK(launch_add(to, 1, count[i], stream[i]));
        CHECK(cudaMemcpyAsync(&result[i], &to[count[i] - 1], sizeof(int), cudaMemcpyDeviceToHost,
                              stream[i]));
    }
    arena_reset(staging, stream);
    arena_reset(arena, stream);
}

int main(int argc, char **argv)
{
    size_t limit = mib_argument(argc, argv, 1) * MiB, unit = limit / 128;
    struct arena staging[2] = {arena_new(1, limit, 256), arena_new(1, limit, 256)},
                 arena = arena_new(0, limit, 256);
    int *result, correct = 0;
    cudaStream_t stream[2];
    CHECK(cudaMallocHost((void **)&result, 2 * FRAMES * sizeof *result));
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));

    for (int frame = 0; frame < FRAMES; frame++)
        run_frame(frame, unit, &staging[frame % 2], &arena, &result[2 * frame], stream);
    for (int i = 0; i < 2; i++)
        CHECK(cudaStreamSynchronize(stream[i]));
    for (int i = 0; i < 2 * FRAMES; i++)
        correct += result[i] == 10 * (i / 2) + i % 2 + 1;
    printf("%d of %d numbers are correct\n", correct, 2 * FRAMES);

    arena_delete(&arena, stream[0]);
    CHECK(cudaFreeHost(result));
    for (int i = 0; i < 2; i++) {
        arena_delete(&staging[i], stream[0]);
        CHECK(cudaStreamDestroy(stream[i]));
    }
    return correct == 2 * FRAMES ? 0 : 1;
}
