/* Calls lesson 16's copies_to_pay with times of the check's own. The arguments, in microseconds: a
 * copy from pinned memory, what a copy saves; then a number of copies. The check puts the lesson in
 * front of this file, its main renamed. It prints what was expected and what happened, of the first
 * that is wrong; nothing when all is right. */

static int asked_copies(const char *expected, size_t pinning, size_t pageable, size_t pinned,
                        int copies)
{
    int returned = copies_to_pay((float)pinning, (float)pageable, (float)pinned);
    if (returned == copies)
        return 0;
    printf("Expected: %s\n"
           "Happened: pinning takes %zu us, a copy %zu us or, pinned, %zu us; copies_to_pay "
           "returned %d, and it is %d.\n",
           expected, pinning, pageable, pinned, returned, copies);
    return 1;
}

int main(int argc, char **argv)
{
    static const char least[] = "copies_to_pay returns the least number of copies that together "
                                "save as much time as pinning takes.",
                      exact[] = "copies_to_pay counts no copy more if the copies save exactly what "
                                "pinning takes.",
                      never[] = "copies_to_pay returns 0 if a copy from pinned memory saves no "
                                "time.";
    if (argc != 4)
        return 1;
    size_t pinned = strtoul(argv[1], NULL, 10), saved = strtoul(argv[2], NULL, 10);
    int copies = atoi(argv[3]);
    size_t pinning = saved * (size_t)copies, pageable = pinned + saved;
    if (asked_copies(least, pinning + saved / 3, pageable, pinned, copies + 1)
        || asked_copies(least, pinning + saved - 1, pageable, pinned, copies + 1)
        || asked_copies(exact, pinning, pageable, pinned, copies)
        || asked_copies(least, saved / 2, pageable, pinned, 1)
        || asked_copies(never, pinning, pinned, pinned, 0))
        return 0;
    asked_copies(never, pinning, pinned, pageable, 0);
    return 0;
}
