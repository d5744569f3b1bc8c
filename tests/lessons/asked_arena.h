/* Calls lesson 15's functions with numbers of the check's own. The arguments: "want" or "commit";
 * then two alignments, a limit and a size, all in bytes. The check puts the lesson in front of this
 * file, its main renamed. It prints what was expected and what happened, of the first that is
 * wrong; nothing when all is right. "want" has two parts, "begin" and "fit"
 * (tests/lessons/asked.bash). */

/* Room for requests that arena_want should have refused. */
static union {
    struct arena arena;
    char room[sizeof(struct arena) + 4096];
} asked;
static struct arena *const arena = &asked.arena;
static void *pointers[REQUESTS + 1];
static const char *part;

static void start(size_t limit, size_t alignment, int pinned)
{
    *arena = (struct arena){.limit = limit, .alignment = alignment, .pinned = pinned};
}

static int asked_wrong(const char *expected, size_t before, size_t bytes, enum result result)
{
    printf("\n%s:\n"
           "Expected: %s\n"
           "Happened: with a limit of %zu bytes, an alignment of %zu and %zu bytes needed, a "
           "request of %zu bytes returned \"%s\", and then %zu bytes were needed.\n",
           part, expected, arena->limit, arena->alignment, before, bytes, result_name[result],
           arena->needed);
    return 1;
}

/* Requests of 1 byte up to more than the alignment, as many as an arena takes. */
static int asked_begin(size_t alignment, size_t size)
{
    part = "begin";
    start(SIZE_MAX / 2, alignment, 0);
    for (size_t i = 0; i < REQUESTS; i++) {
        size_t before = arena->needed, bytes = 1 + i * size % (3 * alignment);
        size_t offset = (before + alignment - 1) / alignment * alignment;
        enum result result = arena_want(arena, &pointers[i], bytes);
        if (result != ARENA_OK || arena->count != (int)i + 1 || arena->request[i].offset != offset
            || arena->request[i].pointer != &pointers[i] || arena->needed != offset + bytes)
            return asked_wrong("a request begins at the next multiple of arena->alignment, and "
                               "needed is its end. 256 is the alignment of the lesson's own "
                               "arenas; an arena may have another.",
                               before, bytes, result);
    }
    return 0;
}

/* A request in an arena in which `before` bytes are needed. 1: it was misjudged. */
static int judge(const char *expected, size_t before, size_t bytes, enum result correct)
{
    struct arena old;
    arena->needed = before;
    old = *arena;
    enum result result = arena_want(arena, &pointers[0], bytes);
    if (result == correct && (result == ARENA_OK || memcmp(&old, arena, sizeof old) == 0))
        return 0;
    return asked_wrong(expected, before, bytes, result);
}

static int asked_fit(size_t alignment, size_t limit, size_t size)
{
    static const char past[] =
        "a request that would begin past the limit does not fit. Compare the offset with the limit "
        "first: else limit - offset begins again at SIZE_MAX.";
    part = "fit";
    start(limit, alignment, 0);
    if (judge("a request that ends exactly at the limit fits.", 0, limit, ARENA_OK)
        || judge(past, limit - 1, size, ARENA_FULL) || judge(past, limit, 1, ARENA_FULL))
        return 1;
    start(limit, alignment, 0);
    size_t offset = (size + alignment - 1) / alignment * alignment;
    if (judge("the padding in front of a request counts toward the limit, too.", size,
              limit - offset + 1, ARENA_FULL)
        || judge("a request of almost SIZE_MAX bytes does not fit. Compare without a sum: offset + "
                 "bytes begins again at 0 past SIZE_MAX.",
                 size, SIZE_MAX - size, ARENA_FULL)
        || judge("a request that ends exactly at the limit fits, padding included.", size,
                 limit - offset, ARENA_OK))
        return 1;
    start(SIZE_MAX / 2, alignment, 0);
    arena->count = REQUESTS;
    if (judge("an arena takes REQUESTS requests. One more is refused with ARENA_FULL, however few "
              "bytes it is for, and changes nothing.",
              size, 1, ARENA_FULL))
        return 1;
    start(SIZE_MAX / 2, alignment, 0);
    arena->committed = 1;
    return judge("after the commit there is no room left: ARENA_COMMITTED, and nothing changes.",
                 size, 1, ARENA_COMMITTED);
}

/* After a miss: what is left allocated would end the program with a hazard. */
static int freed_after_miss(const struct cudaPointerAttributes *is, void *base)
{
    CHECK(cudaDeviceSynchronize());
    if (is->type == cudaMemoryTypeHost)
        CHECK(cudaFreeHost(base));
    else if (is->type != cudaMemoryTypeUnregistered)
        CHECK(cudaFree(base));
    return 1;
}

static int asked_commit(int pinned, size_t alignment, size_t limit, size_t size)
{
    static const char *const name[] = {"unknown", "pinned host", "device", "managed"};
    struct cudaPointerAttributes is;
    cudaMemPool_t pool;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    start(limit, alignment, pinned);
    arena->count = 2;
    arena->request[0].pointer = &pointers[0];
    arena->request[1].pointer = &pointers[1];
    arena->request[1].offset = alignment;
    arena->needed = alignment + size;
    arena_commit(arena, stream);
    CHECK(cudaStreamSynchronize(stream));

    char *base = arena->base;
    CHECK(cudaPointerGetAttributes(&is, base));
    if (is.type != (pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice)) {
        printf("Expected: an arena of pinned memory is allocated with the call whose memory "
               "cudaFreeHost frees, one of device memory with the call whose memory cudaFreeAsync "
               "frees (YOUR WORK, 2 of 2).\n"
               "Happened: the commit of the arena of %s memory allocated %s memory.\n",
               name[pinned ? 1 : 2], name[is.type]);
        return freed_after_miss(&is, base);
    }
    if (pointers[0] != base || pointers[1] != base + alignment) {
        printf("Expected: the commit sets the pointer of each request to base + offset, as at the "
               "start.\nHappened: a pointer is another address.\n");
        return freed_after_miss(&is, base);
    }
    /* A memset that ends after the allocation is refused. */
    cudaError_t fits = cudaMemsetAsync(base, 0, arena->needed, stream);
    cudaError_t more = cudaMemsetAsync(base, 0, arena->needed + 4096, stream);
    if (fits != cudaSuccess || more == cudaSuccess) {
        printf("Expected: the commit allocates the %zu bytes that the requests need, also where "
               "the limit is %zu (YOUR WORK, 2 of 2).\n"
               "Happened: the arena of %s memory allocated %s bytes.\n",
               arena->needed, limit, name[is.type], fits != cudaSuccess ? "fewer" : "more");
        return freed_after_miss(&is, base);
    }
    arena_reset(arena, stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}

int main(int argc, char **argv)
{
    size_t given[4];
    if (argc != 6)
        return 1;
    for (int i = 0; i < 4; i++)
        given[i] = strtoul(argv[2 + i], NULL, 10);
    size_t small = given[0], large = given[1], limit = given[2], size = given[3];
    if (strcmp(argv[1], "want") == 0) {
        if (!asked_begin(small, size))
            asked_begin(large, size);
        if (!asked_fit(small, limit, size))
            asked_fit(large, limit, size);
    } else if (!asked_commit(0, large, limit, size)) {
        asked_commit(1, large, limit, size);
    }
    return 0;
}
