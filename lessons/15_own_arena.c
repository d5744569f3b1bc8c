/* 15 An arena of one's own
 *
 * Shows  one allocation for many blocks: requests are collected (want), placed at once (commit) and
 *        dropped at once (reset). A block begins at a multiple of 256 bytes, as those of cudaMalloc
 *        do. A refusal changes nothing.
 * Yours  fill: arena_want, marked YOUR WORK: it places every request, and places it anywhere.
 * Run    make 15          check   make check-15          page   docs/15_own_arena
 */
#include "kernels.h"
#include "workbook.h"

enum { REQUESTS = 16 };
enum answer { ARENA_OK, ARENA_COMMITTED, ARENA_FULL };
static const char *const said[] = {"ok", "refused: committed", "refused: does not fit"};

struct arena {
    int pinned, count, committed;    /* pinned: host memory, otherwise the device's */
    size_t limit, alignment, needed; /* in bytes; needed: up to the end of the last request */
    void *base;
    struct {
        void **pointer;
        size_t offset;
    } request[REQUESTS];
};

/* YOUR WORK. Phase 1: `*pointer` is to get `bytes` bytes when the arena is committed, from the next
 * multiple of the alignment on. Refused: after the commit; when there are REQUESTS already; past
 * the limit, however large it is. */
static enum answer arena_want(struct arena *arena, void **pointer, size_t bytes)
{
    /* Right behind the last one: alignment does not matter. */
    size_t offset = arena->needed;
    arena->request[arena->count].pointer = pointer;
    arena->request[arena->count++].offset = offset;
    arena->needed = offset + bytes;
    return ARENA_OK;
}

/* Phase 2: one allocation, and every pointer gets its place in it. */
static enum answer arena_commit(struct arena *arena, cudaStream_t stream)
{
    if (arena->committed)
        return ARENA_COMMITTED;
    CHECK(arena->pinned ? cudaMallocHost(&arena->base, arena->needed)
                        : cudaMallocAsync(&arena->base, arena->needed, stream));
    arena->committed = 1;
    for (int i = 0; i < arena->count; i++)
        *arena->request[i].pointer = (char *)arena->base + arena->request[i].offset;
    return ARENA_OK;
}

/* Everything goes at once, and no pointer is left that could be used. The arena takes requests
 * again. */
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
    enum answer answer = arena_want(arena, pointer, bytes);
    printf("    want %20zu bytes   %-21s needed %zu\n", bytes, said[answer], arena->needed);
}

/* Three blocks that fit, the last one exactly, requests that must be refused, and a kernel that
 * uses a block. */
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
    printf("    commit %s\n", said[arena_commit(&arena, stream)]);
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
    int right =
        use_arena("device memory", 0, bytes, stream) + use_arena("pinned memory", 1, bytes, stream);
    CHECK(cudaStreamDestroy(stream));
    return right == 2 ? 0 : 1;
}
