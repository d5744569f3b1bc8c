/* Asks lesson 06's rules for sizes of the check's own. The arguments, in MiB: a segment, what is
 * live, what is freed, and a threshold. The check puts the lesson in front of this file, its main
 * renamed. For each of the two functions it prints what was expected and what happened, of the
 * first that is wrong; nothing when all is right. The parts are "free" and "synchronization"
 * (tests/lessons/asked.bash). */

static size_t whole_segments(size_t size, size_t segment)
{
    return (size / segment + (size % segment != 0)) * segment;
}

static void asked_free(size_t reserved, size_t freed)
{
    size_t predicted = predict_freed(reserved, freed);
    if (predicted == reserved)
        return;
    printf("\nfree:\n"
           "Expected: predict_freed returns what the pool reserves right after a free. A free "
           "returns memory to the pool, not to the device.\n"
           "Happened: of %zu MiB reserved %zu were freed, and you predicted %zu MiB; the pool "
           "still reserves %zu.\n",
           reserved, freed, predicted, reserved);
}

static int asked_synchronization(size_t segment, size_t reserved, size_t live, size_t threshold)
{
    size_t under_live = whole_segments(live, segment);
    size_t kept = threshold - threshold % segment;
    kept = kept < under_live ? under_live : kept;
    kept = kept < reserved ? kept : reserved;
    size_t predicted = predict_synchronized(segment, reserved, live, threshold);
    if (predicted == kept)
        return 0;
    printf("\nsynchronization:\n"
           "Expected: predict_synchronized returns what the pool reserves after the "
           "synchronization, for segments of any size. The threshold is for all that the pool "
           "reserves, also under live allocations; it adds nothing, and a live allocation keeps "
           "its segments.\n"
           "Happened: with segments of %zu MiB, %zu MiB reserved, %zu live and a threshold of %zu "
           "you predicted %zu MiB; such a pool reserves %zu.\n",
           segment, reserved, live, threshold, predicted, kept);
    return 1;
}

int main(int argc, char **argv)
{
    size_t given[4];
    if (argc != 5)
        return 1;
    for (int i = 0; i < 4; i++)
        given[i] = strtoul(argv[1 + i], NULL, 10);
    size_t segment = given[0], live = given[1], freed = given[2], threshold = given[3];
    size_t reserved = whole_segments(live + freed, segment);
    asked_free(reserved, freed);
    const size_t asked[][2] = {{0, 0},
                               {0, 3 * segment},
                               {0, 3 * segment - 1},
                               {0, reserved + segment},
                               {0, threshold},
                               {live, 0},
                               {live, threshold},
                               {live, live + segment},
                               {live, live},
                               {live, reserved - 1},
                               {live, reserved + 1000 * segment}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (asked_synchronization(segment, reserved, asked[i][0], asked[i][1]))
            return 0;
    return 0;
}
