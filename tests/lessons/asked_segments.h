/* Asks lesson 04's predict_reserved for segments and sizes of the check's own: SEGMENT and USED are
 * the arguments. The check puts the lesson in front of this file, its main renamed. It prints what
 * was expected and what happened, of the first that is wrong; nothing when all is right. */

static int asked_reserved(size_t segment, size_t used)
{
    size_t reserved = (used / segment + (used % segment != 0)) * segment;
    size_t predicted = predict_reserved(segment, used);
    if (predicted == reserved)
        return 0;
    printf("Expected: predict_reserved is the rule for any segment and any size: as many whole "
           "segments as the allocations need, and no more. It makes no CUDA call.\n"
           "Happened: for a segment of %zu MiB and %zu MiB used you predicted %zu MiB; such a pool "
           "reserves %zu MiB.\n",
           segment, used, predicted, reserved);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 1;
    size_t segment = strtoul(argv[1], NULL, 10), used = strtoul(argv[2], NULL, 10);
    const size_t sizes[] = {used, 1, segment, 3 * segment - 1, 3 * segment, 3 * segment + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (asked_reserved(segment, sizes[i]))
            return 0;
    return 0;
}
