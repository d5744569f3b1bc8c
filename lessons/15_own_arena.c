/* 15 An arena of one's own
 *
 * Shows  one allocation for many blocks, in two phases: requests are collected (want), then placed at once (commit). In
 *        the end all go at once (reset). Each block begins at a multiple of 256 bytes, as those of cudaMalloc do. What
 *        goes wrong is answered with a code, and a refused request leaves the arena as it was.
 * Yours  arena_want, marked YOUR WORK: it places every request, and places it anywhere.
 * Run    make 15          check   make check-15          page   docs/15_own_arena
 */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <sys/wait.h>
#include <unistd.h>

enum { REQUESTS = 16 };
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
    size_t offset = arena->needed;          /* right behind the last one: alignment does not matter */
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

struct blocks { void *flag, *numbers, *tag, *more, *none; };

static size_t begin_of(const struct arena *arena, void *block) { return (size_t)((char *)block - arena->base); }

/* A byte, then numbers, in an arena with alignment 1. The kernel faults, and every later call of this process fails. */
static void try_without(size_t bytes, cudaStream_t stream)
{
    struct arena arena = {.limit = bytes + 1, .alignment = 1};
    struct blocks at;
    arena_want(&arena, &at.flag, 1);
    arena_want(&arena, &at.numbers, bytes);
    arena_commit(&arena, stream);
    printf("alignment 1: numbers begin at %zu, their address divided by %zu leaves %zu\n",
           begin_of(&arena, at.numbers), sizeof(int), (size_t)((uintptr_t)at.numbers % sizeof(int)));
    cudaError_t launched = launch_fill(at.numbers, 40, bytes / sizeof(int), stream);
    printf("    launch %s, synchronise %s\n", cudaGetErrorName(launched),
           cudaGetErrorName(cudaStreamSynchronize(stream)));
}

static void want(struct arena *arena, void **pointer, size_t bytes)
{
    enum answer answer = arena_want(arena, pointer, bytes);
    printf("    want %20zu bytes   %-21s needed %zu\n", bytes, said[answer], arena->needed);
}

/* The same four blocks in either memory, and requests that must be refused. */
static void fill_arena(const char *name, struct arena *arena, struct blocks *at, size_t bytes, cudaStream_t stream)
{
    printf("%s, alignment %zu, limit %zu\n", name, arena->alignment, arena->limit);
    at->none = NULL;
    want(arena, &at->flag, 1);
    want(arena, &at->numbers, bytes);
    want(arena, &at->none, arena->limit);
    want(arena, &at->none, SIZE_MAX);
    want(arena, &at->tag, 3);
    want(arena, &at->more, bytes);
    printf("    commit %s\n", said[arena_commit(arena, stream)]);
    want(arena, &at->none, 1);
    printf("    begin at %zu %zu %zu %zu, refused pointer %s\n", begin_of(arena, at->flag),
           begin_of(arena, at->numbers), begin_of(arena, at->tag), begin_of(arena, at->more),
           at->none == NULL ? "null" : "set");
}

int main(int argc, char **argv)
{
    int status = 0;
    cudaStream_t stream;
    pid_t child = fork();               /* before this process makes a CUDA call: after one, none works in a child */
    if (child != 0)
        waitpid(child, &status, 0);
    if (child < 0 || status != 0)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    size_t bytes = mib_argument(argc, argv, 1) * MiB + sizeof(int), count = bytes / sizeof(int), right = 0;
    CHECK(cudaStreamCreate(&stream));
    if (child == 0) {
        try_without(bytes, stream);
        return 0;
    }

    struct arena device = {.limit = 2 * bytes + 8192, .alignment = 256}, pinned = device;
    struct blocks on, off;
    pinned.pinned = 1;
    fill_arena("device memory", &device, &on, bytes, stream);
    fill_arena("pinned memory", &pinned, &off, bytes, stream);

    CHECK(launch_fill(on.numbers, 40, count, stream));
    CHECK(launch_add(on.numbers, 2, count, stream));
    CHECK(cudaMemcpyAsync(off.numbers, on.numbers, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(launch_fill(off.more, 42, count, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < count; i++)
        right += (((int *)off.numbers)[i] == 42) + (((int *)off.more)[i] == 42);
    printf("42 in %zu of %zu elements\n", right, 2 * count);

    arena_reset(&pinned, stream);
    arena_reset(&device, stream);
    printf("reset: pointers %s\n", on.numbers == NULL && off.numbers == NULL ? "null" : "left");
    printf("device memory again, limit %zu\n", device.limit);
    want(&device, &on.numbers, device.limit);
    want(&device, &on.none, 1);
    printf("    commit %s\n", said[arena_commit(&device, stream)]);
    arena_reset(&device, stream);
    device.limit = (size_t)1 << 50;
    printf("device memory again, limit %zu\n", device.limit);
    want(&device, &on.numbers, device.limit);
    printf("    commit %s\n", said[arena_commit(&device, stream)]);
    CHECK(cudaStreamDestroy(stream));
    return right == 2 * count && on.none == NULL ? 0 : 1;
}
