/* Calls lesson 21's functions with numbers of the check's own: "want" or "commit", then two
 * alignments, a limit and a size, all in bytes. "want" fills an arena with requests, and makes
 * others in arenas in which something is needed already, with each of the alignments. "commit"
 * commits two requests in an arena of each kind of memory, with the second alignment, and uses each
 * pointer that it sets: what was allocated, and where the pointers are, is in the journal. The
 * check puts the lesson in front of this file, its main renamed. */

/* Room for requests that arena_want should have refused. */
static union {
    struct arena arena;
    char room[sizeof(struct arena) + 4096];
} asked;
static struct arena *const arena = &asked.arena;
static void *pointers[REQUESTS + 1];

static const char *asked_name(enum result result)
{
    return result == ARENA_OK        ? "ARENA_OK"
         : result == ARENA_FULL      ? "ARENA_FULL"
         : result == ARENA_COMMITTED ? "ARENA_COMMITTED"
                                     : "none of the three results";
}

/* Requests of 1 byte up to more than the alignment, as many as an arena takes. */
static void asked_begin(size_t alignment, size_t size)
{
    *arena = (struct arena){.limit = SIZE_MAX / 2, .alignment = alignment};
    for (size_t i = 0; i < REQUESTS; i++) {
        size_t bytes = 1 + i * size % (3 * alignment);
        enum result result = arena_want(arena, &pointers[i], bytes);
        printf("\nrequest %zu, for %zu bytes, in an arena with an alignment of %zu", i + 1, bytes,
               alignment);
        printf(" = %s at %zu, %zu needed by %d\n", asked_name(result), arena->request[i].offset,
               arena->needed, arena->count);
    }
}

/* A request in an arena in which `needed` bytes are needed. */
static void asked_want(size_t alignment, size_t limit, size_t needed, int count, int committed,
                       size_t bytes)
{
    char question[200];
    snprintf(question, sizeof question,
             "arena_want for %zu bytes, with %zu of %zu needed by %d requests%s, alignment %zu",
             bytes, needed, limit, count, committed ? ", committed" : "", alignment);
    *arena = (struct arena){.limit = limit,
                            .alignment = alignment,
                            .needed = needed,
                            .count = count,
                            .committed = committed};
    enum result result = arena_want(arena, &pointers[0], bytes);
    printf("\n%s = %s\n", question, asked_name(result));
    printf("\nreading needed and count after %s = %zu and %d\n", question, arena->needed,
           arena->count);
}

static void asked_fit(size_t alignment, size_t limit, size_t size)
{
    size_t offset = (size + alignment - 1) / alignment * alignment;
    asked_want(alignment, limit, size, 3, 0, limit - 100);
    asked_want(alignment, limit, 0, 0, 0, limit);
    asked_want(alignment, limit, size, 3, 0, limit - offset);
    asked_want(alignment, limit, limit - 1, 3, 0, size);
    asked_want(alignment, limit, limit, 3, 0, 1);
    asked_want(alignment, limit, size, 3, 0, limit - offset + 1);
    asked_want(alignment, limit, size, 3, 0, SIZE_MAX - size);
    asked_want(alignment, limit, size, REQUESTS, 0, 1);
    asked_want(alignment, limit, size, 3, 1, 1);
}

/* Offsets and needed are the check's own, whatever arena_want makes of requests. */
static void asked_commit(int pinned, size_t alignment, size_t limit, size_t size)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    pointers[0] = pointers[1] = NULL;
    *arena = (struct arena){.pinned = pinned,
                            .limit = limit,
                            .alignment = alignment,
                            .count = 2,
                            .needed = alignment + size};
    arena->request[0].pointer = &pointers[0];
    arena->request[1].pointer = &pointers[1];
    arena->request[1].offset = alignment;
    enum result result = arena_commit(arena, stream);
    printf("\narena_commit of %s memory = %s\n", pinned ? "pinned" : "device", asked_name(result));
    for (int i = 0; i < 2; i++)
        cudaMemsetAsync(pointers[i], 0, 4, stream);
    CHECK(cudaStreamSynchronize(stream));
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
        asked_begin(small, size);
        asked_begin(large, size);
        asked_fit(small, limit, size);
        asked_fit(large, limit, size);
    } else {
        asked_commit(0, large, limit, size);
        asked_commit(1, large, limit, size);
    }
    return 0;
}
