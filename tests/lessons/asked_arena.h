/* Asks lesson 15's arena_want what the lesson's own requests leave open: another alignment
 * (argument "begin"); a block that would begin past the limit, and one request too many (argument
 * "fit"). The check puts the lesson in front of this file, its main renamed. It prints what was
 * expected and what happened, of the first that is wrong; nothing when all is right. */

static int asked_wrong(const char *expected, const char *what, enum answer answer, size_t needed)
{
    printf("Expected: %s\nHappened: %s was answered with \"%s\", and needed is %zu.\n", expected,
           what, said[answer], needed);
    return 0;
}

/* The answer to a second request of 1 byte, in an arena whose alignment is not the lesson's. */
static int asked_begin(struct arena *arena)
{
    void *pointer;
    *arena = (struct arena){.limit = 1000, .alignment = 64};
    arena_want(arena, &pointer, 1);
    enum answer answer = arena_want(arena, &pointer, 1);
    if (answer == ARENA_OK && arena->needed == 65)
        return 0;
    return asked_wrong("a block begins at the next multiple of arena->alignment: 256 is that of "
                       "the lesson's own arena.",
                       "the second request of 1 byte, with an alignment of 64,", answer,
                       arena->needed);
}

static int asked_fit(struct arena *arena)
{
    void *pointer;
    *arena = (struct arena){.limit = 1000, .alignment = 64};
    arena_want(arena, &pointer, 1000);
    enum answer answer = arena_want(arena, &pointer, 1);
    if (answer != ARENA_FULL || arena->needed != 1000)
        return asked_wrong(
            "a block that would begin past the limit does not fit. Ask that first: below 0 the "
            "difference "
            "limit - offset begins again at SIZE_MAX.",
            "with a limit of 1000, an alignment of 64 and 1000 bytes needed, a request of 1 byte",
            answer, arena->needed);
    *arena = (struct arena){.limit = 4096, .alignment = 4};
    for (int i = 0; i < REQUESTS; i++)
        arena_want(arena, &pointer, 4);
    answer = arena_want(arena, &pointer, 4);
    if (answer != ARENA_FULL || arena->count != REQUESTS)
        return asked_wrong("an arena has room for REQUESTS requests. One more is ARENA_FULL, "
                           "however few bytes it asks for.",
                           "one request more", answer, arena->needed);
    return 0;
}

int main(int argc, char **argv)
{
    /* Room for one request too many. */
    static union {
        struct arena arena;
        char room[sizeof(struct arena) + 4096];
    } asked;
    return argc > 1 && strcmp(argv[1], "begin") == 0 ? asked_begin(&asked.arena)
                                                     : asked_fit(&asked.arena);
}
