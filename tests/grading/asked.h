/* What the ask.h of each lesson needs, which calls a student's functions from a main of its own.
 * The check puts the student's file before this one, and takes away each macro of that file whose
 * name is used here or in ask.h. What is a macro everywhere is one again here.
 *
 * A harness decides nothing, because it shares its process with the student's code. It prints what
 * it called and what came back, as "\nquestion = answer\n" (the first line end closes what a
 * student's function may have printed), and its CUDA calls are in a journal. What is right, and
 * whether every question has its answer, the check computes (tests/grading/check.py).
 *
 * Names of its own begin with asked_: the check puts a number into them that is drawn, so that no
 * student's file can know them.
 *
 * The last argument is the word "asked". With ASKED_OR_RUN the program is also the lesson's own,
 * which has no such argument. */
#define CHECK(call)            check((call), #call, "the check", 0)
#define MiB                    ((size_t)1 << 20)
#define NULL                   ((void *)0)
#define SIZE_MAX               ((size_t)-1)
#define UINT64_MAX             ((uint64_t)-1)
#define cudaStreamNonBlocking  0x01
#define cudaEventDisableTiming 0x02

/* What workbook.h has as macros is one again here, too. */
#define pool_get(pool, attribute) pool_get_at(pool, attribute, "pool_get", "the check", 0)
#define pool_set(pool, attribute, value) \
    pool_set_at(pool, attribute, value, "pool_set", "the check", 0)
#define pool_get_flag(pool, attribute) pool_get_flag_at(pool, attribute, "pool_get", "the check", 0)
#define pool_set_flag(pool, attribute, value) \
    pool_set_flag_at(pool, attribute, value, "pool_set", "the check", 0)
#define pool_get_access(pool, device) pool_get_access_at(pool, device, "access", "the check", 0)
#define last_of(data, count, stream)  last_of_at(data, count, stream, "last_of", "the check", 0)

/* Where the compiler cannot set what nobody sets, the stack below is no zeros at least. */
static void asked_fill(void)
{
#ifdef ASKED_FILL
    volatile unsigned char asked_stack[1 << 16];
    for (size_t asked_i = 0; asked_i < sizeof asked_stack; asked_i++)
        asked_stack[asked_i] = 0xfe;
#endif
}

static inline void asked_streams(cudaStream_t *streams, int count)
{
    for (int i = 0; i < count; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
}

/* Declares asked_NAME: the file's function of that name, or NULL if its type is another one. */
#define ASKED_FUNCTION(returned, name, ...)                                          \
    returned (*asked_##name)(__VA_ARGS__) = _Generic(&name, returned(*)(__VA_ARGS__) \
                                                     : name, default                 \
                                                     : (returned(*)(__VA_ARGS__))NULL)

/* Between two of these calls, which leave a stream with a priority in the journal, stands what a
 * case of the clinic is judged by. */
static inline void asked_border(void)
{
    cudaStream_t border;
    CHECK(cudaStreamCreateWithPriority(&border, cudaStreamNonBlocking, 0));
}

int asked_main(int argc, char **argv);

/* The file's own main, which may take no arguments. */
typedef int asked_program(int, char **);
__attribute__((unused)) static asked_program *const asked_lesson = (asked_program *)lesson_main;

static int asked_keeps; /* main destroys nothing: the harness goes on with what main has made */

cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaStreamDestroy(cudaStream_t stream);

cudaError_t asked_cudaEventDestroy(cudaEvent_t event)
{
    return asked_keeps ? cudaSuccess : cudaEventDestroy(event);
}

cudaError_t asked_cudaStreamDestroy(cudaStream_t stream)
{
    return asked_keeps ? cudaSuccess : cudaStreamDestroy(stream);
}

static inline void asked_kept_lesson(char **argv)
{
    asked_keeps = 1;
    asked_lesson(1, argv);
    asked_keeps = 0;
}

int main(int argc, char **argv)
{
#ifdef ASKED_RUN
    asked_fill();
    return asked_lesson(argc, argv);
#else
#ifdef ASKED_OR_RUN
    int asked_calls = strcmp(argv[argc - 1], "asked") == 0;
    asked_fill(); /* right before the call, as any other call leaves something there */
    if (!asked_calls)
        return asked_lesson(argc, argv);
#endif
    argv[argc - 1] = NULL;
    asked_fill();
    return asked_main(argc - 1, argv);
#endif
}

#define main asked_main
