/* What every asked_NAME.h needs, which calls a student's functions from a main of its own. The
 * check puts the student's file before this one, and takes away each macro of that file whose name
 * is used here or in asked_NAME.h. What is a macro everywhere is one again here.
 *
 * A student's function may end the process, and nothing printed means that all is as it should be.
 * So the last argument is a word that the check has drawn, and the last line printed is that word.
 * With ASKED_OR_RUN the program is also the lesson's own, which has no such argument. */
#define CHECK(call)           check((call), #call, "the check", 0)
#define MiB                   ((size_t)1 << 20)
#define NULL                  ((void *)0)
#define SIZE_MAX              ((size_t)-1)
#define UINT64_MAX            ((uint64_t)-1)
#define cudaStreamNonBlocking 0x01

static const char *asked_word;

int asked_main(int argc, char **argv);

/* The end of a harness that leaves memory behind, which would be reported. */
static inline void asked_leave(void)
{
    puts(asked_word);
    fflush(stdout);
    _Exit(0);
}

int main(int argc, char **argv)
{
#ifdef ASKED_OR_RUN
    if (strncmp(argv[argc - 1], "asked-", 6) != 0)
        return lesson_main(argc, argv);
#endif
    asked_word = argv[argc - 1];
    argv[argc - 1] = NULL;
    int status = asked_main(argc - 1, argv);
    if (status == 0)
        puts(asked_word);
    return status;
}

#define main asked_main
