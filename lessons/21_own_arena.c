/* 21 An arena of your own
 *
 * Asks   Where in one large allocation may the parts begin, and when is a request refused?
 * Yours  fill: arena_want, which places requests and refuses what it cannot place, and the call in
 *        arena_commit that allocates. The check calls both with sizes and alignments of its own.
 * Run    make 21          check   make check-21          page   docs/21_own_arena
 */
#include "kernels.h"
#include "workbook.h"

enum { REQUESTS = 16 };
enum result { ARENA_OK, ARENA_COMMITTED, ARENA_FULL };
static const char *const result_name[] = {"ok", "refused: committed", "refused: does not fit"};

struct arena {
    int pinned, count, committed;    /* pinned: page-locked host memory, otherwise the device's */
    size_t limit, alignment, needed; /* in bytes; needed: the end of the last request */
    void *base;
    struct {
        void **pointer;
        size_t offset;
    } request[REQUESTS];
};

/* YOUR WORK, 1 of 2. Phase 1 of the arena: a request. At the commit `*pointer` will get `bytes`
 * bytes, which begin at the next multiple of the alignment. ARENA_COMMITTED: the arena is
 * committed. ARENA_FULL: there are REQUESTS requests already, or the bytes would end after the
 * limit, however large `bytes` is. A refused request changes nothing in the arena. */
static enum result arena_want(struct arena *arena, void **pointer, size_t bytes)
{
    /* "Right after the last request: alignment does not matter." */
    size_t offset = arena->needed;
    arena->request[arena->count].pointer = pointer;
    arena->request[arena->count++].offset = offset;
    arena->needed = offset + bytes;
    return ARENA_OK;
}

/* Phase 2: one allocation for all requests, and each pointer gets its part of it. */
static enum result arena_commit(struct arena *arena, cudaStream_t stream)
{
    if (arena->committed)
        return ARENA_COMMITTED;
    /* YOUR WORK, 2 of 2. Decide the call for each kind of memory, so that arena_reset can free it,
     * and the bytes: as few as the requests need. */
    CHECK(cudaMallocAsync(&arena->base, arena->limit, stream)); /* "Memory is memory." */
    arena->committed = 1;
    for (int i = 0; i < arena->count; i++)
        *arena->request[i].pointer = (char *)arena->base + arena->request[i].offset;
    return ARENA_OK;
}

/* One free for all. It sets each pointer to NULL, so no use of freed memory goes unnoticed. Then
 * the arena takes requests again. */
static void arena_reset(struct arena *arena, cudaStream_t stream)
{
    if (arena->committed)
        CHECK(arena->pinned ? cudaFreeHost(arena->base) : cudaFreeAsync(arena->base, stream));
    for (int i = 0; i < arena->count; i++)
        *arena->request[i].pointer = NULL;
    arena->needed = arena->count = arena->committed = 0;
}

static void want(struct arena *arena, void **pointer, size_t bytes)
{
    enum result result = arena_want(arena, pointer, bytes);
    printf("    want %20zu bytes   %-21s needed %zu\n", bytes, result_name[result], arena->needed);
}

/* Requests of several sizes, a commit and one more request, and a kernel that writes what the
 * second request got. */
static int use_arena(const char *name, int pinned, size_t bytes, cudaStream_t stream)
{
    struct arena arena = {.pinned = pinned, .limit = 2 * bytes + 508, .alignment = 256};
    void *flag = NULL, *numbers = NULL, *more = NULL, *refused = NULL;
    int last = 0, untouched;
    printf("%s, alignment %zu, limit %zu\n", name, arena.alignment, arena.limit);
    want(&arena, &flag, 1);
    want(&arena, &numbers, bytes);
    want(&arena, &refused, arena.limit);
    want(&arena, &refused, SIZE_MAX);
    want(&arena, &more, bytes);
    printf("    commit %s\n", result_name[arena_commit(&arena, stream)]);
    want(&arena, &refused, 1);
    printf("    begin at");
    for (int i = 0; i < arena.count; i++)
        printf(" %zu", arena.request[i].offset);
    printf(", refused pointer %s\n", (untouched = refused == NULL) ? "null" : "set");
    CHECK(launch_fill(numbers, 42, bytes / sizeof(int), stream));
    CHECK(cudaMemcpyAsync(&last, (char *)numbers + bytes - sizeof last, sizeof last,
                          cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    arena_reset(&arena, stream);
    printf("    last number %d, reset: pointers %s\n", last,
           numbers == NULL && more == NULL ? "null" : "left");
    return last == 42 && untouched;
}

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 1) * MiB + sizeof(int);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    int correct =
        use_arena("device memory", 0, bytes, stream) + use_arena("pinned memory", 1, bytes, stream);
    CHECK(cudaStreamDestroy(stream));
    return correct == 2 ? 0 : 1;
}
