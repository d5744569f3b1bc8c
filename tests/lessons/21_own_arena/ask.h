/* Calls lesson 21's functions with arenas of the check's own. The first argument is a scene. "want"
 * fills two arenas in turn, with an alignment each, and makes other requests in arenas in which
 * something is needed already. "commit", "cross", "grow", "host" and "beside" are frames in which
 * one or two streams work; what happens is in the journal. */

static cudaStream_t asked_stream[3];
static size_t asked_given[5];

/* ---- requests ---- */

/* Room for requests that arena_want should have refused. */
static union {
    struct arena arena;
    char room[sizeof(struct arena) + 4096];
} asked[2];
static void *asked_pointers[2][REQUESTS + 1];

/* As many requests as an arena takes, of up to more than the alignment, in two arenas. */
static void asked_places(const size_t *alignments, size_t size)
{
    for (int a = 0; a < 2; a++)
        asked[a].arena = arena_new(0, SIZE_MAX, alignments[a]);
    for (size_t i = 0; i < REQUESTS; i++)
        for (int a = 0; a < 2; a++) {
            struct arena *arena = &asked[a].arena;
            size_t bytes = 1 + i * size % (3 * alignments[a]);
            int placed = arena_want(arena, &asked_pointers[a][i], bytes);
            printf("\nrequest %zu, for %zu bytes, in an arena with an alignment of %zu", i + 1,
                   bytes, alignments[a]);
            printf(" = %d at %zu, needed %zu, count %d\n", placed, arena->request[i].offset,
                   arena->needed, arena->count);
        }
}

/* A request in an arena in which `needed` bytes are needed. */
static void asked_want(size_t alignment, size_t limit, size_t needed, int count, int committed,
                       size_t bytes)
{
    char question[200];
    struct arena *arena = &asked[0].arena;
    snprintf(question, sizeof question,
             "arena_want for %zu bytes, with %zu of %zu needed by %d requests%s, alignment %zu",
             bytes, needed, limit, count, committed ? ", committed" : "", alignment);
    *arena = arena_new(0, limit, alignment);
    arena->needed = needed;
    arena->count = count;
    arena->committed = committed;
    printf("\n%s = %d\n", question, arena_want(arena, &asked_pointers[0][0], bytes));
    printf("\nreading needed and count after %s = %zu and %d\n", question, arena->needed,
           arena->count);
}

static void asked_fit(size_t alignment, size_t limit, size_t size)
{
    size_t offset = (size + alignment - 1) / alignment * alignment;
    asked_want(alignment, limit, size, 3, 0, limit - 100);
    asked_want(alignment, limit, 0, 0, 0, limit);
    asked_want(alignment, limit, size, 3, 0, 0);
    asked_want(alignment, limit, size, 3, 0, limit - offset);
    asked_want(alignment, limit, limit - 1, 3, 0, size);
    asked_want(alignment, limit, limit, 3, 0, 1);
    asked_want(alignment, limit, size, 3, 0, limit - offset + 1);
    asked_want(alignment, limit, size, 3, 0, SIZE_MAX);
    asked_want(alignment, limit, size, REQUESTS, 0, 1);
    asked_want(alignment, limit, size, 3, 1, 1);
    asked_want(alignment, SIZE_MAX, SIZE_MAX - 3, 3, 0, 1); /* to round up begins again at 0 */
}

/* ---- frames ---- */

/* A request as arena_want is to place it, so that a frame shows what is ordered, and no more. */
static void asked_request(struct arena *arena, int **pointer, size_t count)
{
    size_t offset = (arena->needed + 255) / 256 * 256;
    arena->request[arena->count].pointer = (void **)pointer;
    arena->request[arena->count++].offset = offset;
    arena->needed = offset + count * sizeof(int);
}

/* A frame's two requests; returns where they are. */
static int **asked_frame(struct arena *arena, size_t first, size_t second)
{
    static int *part[2];
    part[0] = part[1] = NULL;
    asked_request(arena, &part[0], first);
    asked_request(arena, &part[1], second);
    arena_commit(arena, asked_stream);
    return part;
}

/* Sizes that stay, shrink and grow, in an arena of each kind. The one of device memory grows to
 * more than 4 GiB. */
static void asked_commit(void)
{
    int left = 0;
    for (int pinned = 0; pinned < 2; pinned++) {
        size_t more = pinned ? 0 : asked_given[3];
        const size_t sizes[] = {asked_given[0], asked_given[0] / 2, asked_given[1] + more};
        struct arena arena = arena_new(pinned, asked_given[2] + more * sizeof(int), 256);
        for (int i = 0; i < 3; i++) {
            int **part = asked_frame(&arena, sizes[i], 100);
            if (!pinned)
                for (int p = 0; p < 2; p++)
                    CHECK(launch_fill(part[p], i, 1, asked_stream[0]));
            arena_reset(&arena, asked_stream);
            left += (part[0] != NULL) + (part[1] != NULL);
            CHECK(cudaDeviceSynchronize());
        }
    }
    printf("\npointers that a reset has left = %d\n", left);
}

/* One stream works in the arena, and in the next frame the other one. */
static void asked_cross(int early)
{
    struct arena arena = arena_new(0, asked_given[2], 256);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++) {
            int **part = asked_frame(&arena, asked_given[0], 100);
            CHECK(launch_fill(part[0], round, asked_given[0], asked_stream[i ? 1 - early : early]));
            arena_reset(&arena, asked_stream);
            if (i)
                CHECK(cudaDeviceSynchronize());
        }
}

/* Both streams work in a small arena, which then has to grow. */
static void asked_grow(void)
{
    struct arena arena = arena_new(0, asked_given[2], 256);
    const size_t sizes[] = {asked_given[0], asked_given[1]};
    for (int i = 0; i < 2; i++) {
        int **part = asked_frame(&arena, sizes[i], 100);
        CHECK(launch_fill(part[0], i, sizes[i], asked_stream[1]));
        CHECK(launch_fill(part[1], i, 100, asked_stream[0]));
        arena_reset(&arena, asked_stream);
    }
    CHECK(cudaDeviceSynchronize());
}

/* A marker: a memset of as many bytes as its number. */
static void asked_mark(void *mark, size_t number)
{
    CHECK(cudaMemsetAsync(mark, 0, number, asked_stream[2]));
}

/* Streams copy from pinned memory, and in the next frame the host writes there again. Mark 1: the
 * reset begins; mark 2: it has ended; mark 3: an arena was committed that no frame has used yet. */
static void asked_host(void)
{
    struct arena arena = arena_new(1, asked_given[2], 256), other = arena_new(1, 1 << 20, 256);
    size_t count[2] = {asked_given[0], asked_given[1]};
    char *device, *mark;
    CHECK(cudaMalloc((void **)&device, (count[0] + count[1]) * sizeof(int)));
    CHECK(cudaMalloc((void **)&mark, 3));
    for (int round = 0; round < 3; round++) {
        int **part = asked_frame(&arena, count[0], count[1]);
        for (int i = 0; i < 2; i++)
            for (size_t k = 0; k < count[i]; k++)
                part[i][k] = round;
        for (int i = 0; i < 2; i++)
            CHECK(cudaMemcpyAsync(device + i * count[0] * sizeof(int), part[i],
                                  count[i] * sizeof(int), cudaMemcpyDefault, asked_stream[i]));
        asked_mark(mark, 1);
        arena_reset(&arena, asked_stream);
        asked_mark(mark, 2);
        if (round == 0)
            asked_frame(&other, 100, 100);
        asked_mark(mark, 3);
    }
    CHECK(cudaDeviceSynchronize());
}

/* Between the reset and the next commit one stream gets other work, beside which the frame of the
 * other stream may run. */
static void asked_beside(void)
{
    struct arena arena = arena_new(0, asked_given[2], 256);
    int *elsewhere;
    CHECK(cudaMalloc((void **)&elsewhere, 2 * sizeof *elsewhere));
    for (int busy = 0; busy < 2; busy++) {
        int **part = asked_frame(&arena, asked_given[0], 100);
        CHECK(launch_fill(part[0], busy, asked_given[0], asked_stream[1 - busy]));
        arena_reset(&arena, asked_stream);
        for (int i = 0; i < 4; i++)
            CHECK(launch_fill(elsewhere, i, 2, asked_stream[busy]));
        part = asked_frame(&arena, asked_given[0], 100);
        CHECK(launch_fill(part[0], busy, asked_given[0], asked_stream[1 - busy]));
        arena_reset(&arena, asked_stream);
        CHECK(cudaDeviceSynchronize());
    }
}

int main(int argc, char **argv)
{
    for (int i = 0; i < argc - 2 && i < 5; i++)
        asked_given[i] = strtoul(argv[2 + i], NULL, 10);
    asked_streams(asked_stream, 3);
    if (strcmp(argv[1], "want") == 0) {
        asked_places(asked_given, asked_given[4]);
        for (int i = 0; i < 2; i++)
            asked_fit(asked_given[i], asked_given[2 + i], asked_given[4]);
    } else if (strcmp(argv[1], "commit") == 0)
        asked_commit();
    else if (strcmp(argv[1], "cross") == 0)
        asked_cross((int)asked_given[3]);
    else if (strcmp(argv[1], "grow") == 0)
        asked_grow();
    else if (strcmp(argv[1], "host") == 0)
        asked_host();
    else
        asked_beside();
    return 0;
}
