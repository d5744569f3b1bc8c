/* 15 An arena of one's own
 *
 * Shows  one allocation for many blocks, in two phases: requests are collected (want), then placed at once (commit). In
 *        the end all go at once (reset). Each block begins at a multiple of 256 bytes, as those of cudaMalloc do. What
 *        goes wrong is answered with a code, and a refused request leaves the arena as it was.
 * Yours  fill: arena_want, marked YOUR WORK: it places every request, and places it anywhere.
 * Run    make 15          check   make check-15          page   docs/15_own_arena
 */
#include "kernels.h"
#include "workbook.h"

enum { REQUESTS = 16 };
enum { FLAG, NUMBERS, TAG, MORE, NONE, BLOCKS };    /* the blocks that main asks for; NONE stays null */
enum answer { ARENA_OK, ARENA_COMMITTED, ARENA_FULL, ARENA_NO_MEMORY };
static const char *const said[] = {"ok", "refused: committed", "refused: does not fit", "refused: no memory"};

struct arena {
    int pinned;                     /* pinned host memory, or (0) device memory */
    size_t limit, alignment;        /* in bytes */
    size_t needed;                  /* in bytes, up to the end of the last request */
    int count, committed;
    char *base;
    struct { void **pointer; size_t offset; } request[REQUESTS];
};

/* YOUR WORK. Phase 1: `*pointer` is to get `bytes` bytes when the arena is committed. They begin at the next multiple
 * of the alignment. Refused: a request after the commit; one that does not fit under the limit, however large it is. */
static enum answer arena_want(struct arena *arena, void **pointer, size_t bytes)
{
    size_t offset = (arena->needed + arena->alignment - 1) / arena->alignment * arena->alignment;
    if (arena->committed)
        return ARENA_COMMITTED;
    if (arena->count == REQUESTS || offset > arena->limit || bytes > arena->limit - offset)     /* a sum may overflow */
        return ARENA_FULL;
    arena->request[arena->count].pointer = pointer;
    arena->request[arena->count++].offset = offset;
    arena->needed = offset + bytes;
    return ARENA_OK;
}

/* Phase 2: one allocation, and every pointer gets its place in it. */
static enum answer arena_commit(struct arena *arena, cudaStream_t stream)
{
    void *base;
    if (arena->committed)
        return ARENA_COMMITTED;
    if ((arena->pinned ? cudaMallocHost(&base, arena->needed)
                       : cudaMallocAsync(&base, arena->needed, stream)) != cudaSuccess)
        return ARENA_NO_MEMORY;
    arena->base = base;
    arena->committed = 1;
    for (int i = 0; i < arena->count; i++)
        *arena->request[i].pointer = arena->base + arena->request[i].offset;
    return ARENA_OK;
}

/* Everything goes at once, and no pointer is left that could be used. The arena takes requests again. */
static void arena_reset(struct arena *arena, cudaStream_t stream)
{
    for (int i = 0; i < arena->count; i++)
        *arena->request[i].pointer = NULL;
    if (arena->committed && arena->pinned)
        CHECK(cudaFreeHost(arena->base));
    else if (arena->committed)
        CHECK(cudaFreeAsync(arena->base, stream));
    arena->count = arena->committed = 0;
    arena->needed = 0;
}

static void want(struct arena *arena, void **pointer, size_t bytes)
{
    enum answer answer = arena_want(arena, pointer, bytes);
    printf("    want %20zu bytes   %-21s needed %zu\n", bytes, said[answer], arena->needed);
}

/* The same four blocks in either memory, and requests that must be refused. */
static void fill_arena(const char *name, struct arena *arena, void **block, size_t bytes, cudaStream_t stream)
{
    printf("%s, alignment %zu, limit %zu\n", name, arena->alignment, arena->limit);
    want(arena, &block[FLAG], 1);
    want(arena, &block[NUMBERS], bytes);
    want(arena, &block[NONE], arena->limit);
    want(arena, &block[NONE], SIZE_MAX);
    want(arena, &block[TAG], 3);
    want(arena, &block[MORE], bytes);
    printf("    commit %s\n", said[arena_commit(arena, stream)]);
    want(arena, &block[NONE], 1);
    printf("    begin at");
    for (int i = FLAG; i <= MORE; i++)
        printf(" %zu", (size_t)((char *)block[i] - arena->base));
    printf(", refused pointer %s\n", block[NONE] == NULL ? "null" : "set");
}

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 1) * MiB + sizeof(int), count = bytes / sizeof(int), right = 0;
    void *on[BLOCKS] = {0}, *off[BLOCKS] = {0};
    struct arena device = {.limit = 2 * bytes + 8192, .alignment = 256}, pinned = device;
    pinned.pinned = 1;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    fill_arena("device memory", &device, on, bytes, stream);
    fill_arena("pinned memory", &pinned, off, bytes, stream);

    CHECK(launch_fill(on[NUMBERS], 42, count, stream));
    CHECK(cudaMemcpyAsync(off[NUMBERS], on[NUMBERS], bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(launch_fill(off[MORE], 42, count, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < count; i++)
        right += (((int *)off[NUMBERS])[i] == 42) + (((int *)off[MORE])[i] == 42);
    printf("42 in %zu of %zu elements\n", right, 2 * count);

    arena_reset(&pinned, stream);
    arena_reset(&device, stream);
    printf("reset: pointers %s\n", on[NUMBERS] == NULL && off[NUMBERS] == NULL ? "null" : "left");
    device.limit = (size_t)1 << 50;
    printf("device memory again, limit %zu\n", device.limit);
    want(&device, &on[NUMBERS], device.limit);
    want(&device, &on[NONE], 1);
    printf("    commit %s\n", said[arena_commit(&device, stream)]);
    CHECK(cudaStreamDestroy(stream));
    return right == 2 * count && on[NONE] == NULL ? 0 : 1;
}
