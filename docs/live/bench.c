/* The pool bench: runs a script of CUDA calls, a call to a line, on a pool of its own, or prints it
 * as a C program. The page docs/bench.rst runs this file in the browser; it runs outside as well:
 *
 *   bench run LINES SCRIPT   runs the first LINES lines of the script (a text, not a file)
 *   bench c SCRIPT           prints the program
 *
 * The script is read whole before anything runs, so that what is made before the first line does
 * not depend on LINES: the pool, which becomes the current one, the streams s1 to the highest that
 * has a line, the gates of the streams that hold, and the events. The program makes the same calls
 * in the same order. Exit statuses as of a lesson (workbook.h). */
#include <stdarg.h>
#include <stdbool.h>

#include "kernels.h"
#include "workbook.h"

#ifdef __EMSCRIPTEN__
#include "os/os.h"
#include "os/web/site.h"
#endif

#define KiB ((size_t)1 << 10)

#define LINES_MAX   200
#define NAMES_MAX   64
#define NAME_SIZE   32
#define STREAMS_MAX 4
#define WORDS_MAX   4

/* ---- what a line may be ---- */

/* Its arguments, a letter for each: a an allocation that the line makes, p one made before, e an
 * event, s a stream, b bytes, l the word maxSize, t an attribute and its value. */
struct command {
    const char *name, *arguments;
    enum {
        MALLOC_ASYNC,
        FREE_ASYNC,
        FREE,
        FILL,
        HOLD,
        OPEN,
        RECORD,
        WAIT_EVENT,
        SYNCHRONIZE_STREAM,
        SYNCHRONIZE_EVENT,
        SYNCHRONIZE_DEVICE,
        QUERY_STREAM,
        QUERY_EVENT,
        TRIM,
        ATTRIBUTE,
        POOL
    } kind;
    const char *example;
};

static const struct command commands[] = {
    {"cudaMallocAsync", "abs", MALLOC_ASYNC, "cudaMallocAsync(a, 64 MiB, s1)"},
    {"cudaFreeAsync", "ps", FREE_ASYNC, "cudaFreeAsync(a, s1)"},
    {"cudaFree", "p", FREE, "cudaFree(a)"},
    {"launch_fill", "ps", FILL, "launch_fill(a, s1)"},
    {"launch_hold", "s", HOLD, "launch_hold(s1)"},
    {"gate_open", "s", OPEN, "gate_open(s1)"},
    {"cudaEventRecord", "es", RECORD, "cudaEventRecord(e, s1)"},
    {"cudaStreamWaitEvent", "se", WAIT_EVENT, "cudaStreamWaitEvent(s2, e)"},
    {"cudaStreamSynchronize", "s", SYNCHRONIZE_STREAM, "cudaStreamSynchronize(s1)"},
    {"cudaEventSynchronize", "e", SYNCHRONIZE_EVENT, "cudaEventSynchronize(e)"},
    {"cudaDeviceSynchronize", "", SYNCHRONIZE_DEVICE, "cudaDeviceSynchronize()"},
    {"cudaStreamQuery", "s", QUERY_STREAM, "cudaStreamQuery(s1)"},
    {"cudaEventQuery", "e", QUERY_EVENT, "cudaEventQuery(e)"},
    {"cudaMemPoolTrimTo", "b", TRIM, "cudaMemPoolTrimTo(32 MiB)"},
    {"cudaMemPoolSetAttribute", "t", ATTRIBUTE,
     "cudaMemPoolSetAttribute(ReleaseThreshold, 64 MiB)"},
    {"cudaMemPoolCreate", "lb", POOL, "cudaMemPoolCreate(maxSize, 64 MiB)"}};

#define COMMANDS (sizeof commands / sizeof *commands)

static const struct {
    const char *name, *c_name;
    enum cudaMemPoolAttr attribute;
} flags[] = {
#define RUNG(id, name, when, cost, because)
#define RUNG_IF(id, name, policy, when, cost, because) \
    {#policy, "cudaMemPool" #policy, cudaMemPool##policy},
#include "mem/rungs.def"
};

#define FLAGS (sizeof flags / sizeof *flags)

/* ---- the script, as it was read ---- */

struct name {
    char text[NAME_SIZE];
    /* Of an allocation: the bytes of the newest one, while reading and then while running. */
    size_t bytes;
    int *memory;
    cudaEvent_t event;
};

struct line {
    const struct command *command;
    unsigned number, stream;
    struct name *allocation, *event;
    size_t bytes;
    /* Which of `flags`; FLAGS: the release threshold, in `bytes`; UINT64_MAX has no other form. */
    size_t attribute;
    int value;
};

static struct {
    struct line lines[LINES_MAX];
    size_t line_count;
    struct name allocations[NAMES_MAX], events[NAMES_MAX];
    size_t allocation_count, event_count;
    unsigned streams;
    bool holds[STREAMS_MAX + 1];
    size_t max_size;
} script;

/* Ends the program with a sentence about a line. */
static void refuse(unsigned line, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
static void refuse(unsigned line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "line %u: ", line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

/* ---- reading ---- */

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Returns the entry of this name, a new one if it has none; NULL: there is no room. */
static struct name *name_of(struct name *names, size_t *count, const char *text)
{
    for (size_t i = 0; i < *count; i++)
        if (!strcmp(names[i].text, text))
            return &names[i];
    if (*count == NAMES_MAX)
        return NULL;
    strcpy(names[*count].text, text);
    return &names[(*count)++];
}

/* The words of the program that a name may not be. */
static bool is_taken(const char *name)
{
    static const char *const words[] = {"pool", "props", "main",   "int",    "void", "if",
                                        "do",   "for",   "while",  "return", "char", "long",
                                        "MiB",  "KiB",   "struct", "auto",   "case", "else"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], name))
            return true;
    return name[0] == 's' && name[1] >= '0' && name[1] <= '9' && !name[2];
}

static struct name *read_name(unsigned number, const char *word, bool is_event)
{
    size_t length = strlen(word);
    bool is_plain = length && length < NAME_SIZE && !(*word >= '0' && *word <= '9');
    for (size_t i = 0; i < length; i++)
        is_plain &= is_word(word[i]);
    if (!is_plain || is_taken(word) || strncmp(word, "gate", 4) == 0)
        refuse(number, "\"%s\" is no name for %s; a name is letters and digits, such as %s.", word,
               is_event ? "an event" : "an allocation", is_event ? "e" : "a");
    struct name *other = is_event ? script.allocations : script.events;
    size_t others = is_event ? script.allocation_count : script.event_count;
    for (size_t i = 0; i < others; i++)
        if (!strcmp(other[i].text, word))
            refuse(number, "%s is %s in another line; use another name.", word,
                   is_event ? "an allocation" : "an event");
    struct name *name = is_event ? name_of(script.events, &script.event_count, word)
                                 : name_of(script.allocations, &script.allocation_count, word);
    if (!name)
        refuse(number, "a script has at most %d names.", NAMES_MAX);
    return name;
}

static unsigned read_stream(unsigned number, const char *word)
{
    unsigned stream = (unsigned)(word[0] == 's' ? word[1] - '0' : 0);
    if (stream < 1 || stream > STREAMS_MAX || word[2])
        refuse(number, "\"%s\" is no stream; the streams are s1 to s%d.", word, STREAMS_MAX);
    if (stream > script.streams)
        script.streams = stream;
    return stream;
}

/* Behind a number of a size: "MiB", with or without a blank before it, or as in C, "<< 20". */
static size_t read_unit(const char *text)
{
    static const struct {
        const char *name, *shift;
        size_t bytes;
    } units[] = {{"KiB", "<< 10", KiB}, {"MiB", "<< 20", MiB}, {"GiB", "<< 30", 1024 * MiB}};
    text += strspn(text, " ");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(text, units[i].name) || !strcmp(text, units[i].shift))
            return units[i].bytes;
    return 0;
}

static size_t read_bytes(unsigned number, const char *word)
{
    char *end;
    unsigned long value = strtoul(word, &end, 10);
    bool is_number = *word >= '0' && *word <= '9', is_bare = is_number && !*end;
    size_t unit = read_unit(end);
    if (is_bare && value)
        refuse(number, "%s has no unit: is it %s MiB?", word, word);
    if (!is_number || value > 1 << 20 || (!unit && !is_bare))
        refuse(number, "\"%s\" is no size; a size is a whole number with its unit, such as 64 MiB.",
               word);
    return value * unit;
}

static void read_attribute(struct line *line, char *words[])
{
    size_t i = 0;
    while (i < FLAGS && strcmp(flags[i].name, words[0]) != 0)
        i++;
    line->attribute = i;
    if (i < FLAGS) {
        if (strcmp(words[1], "0") != 0 && strcmp(words[1], "1") != 0)
            refuse(line->number, "%s is 0 or 1, not \"%s\".", words[0], words[1]);
        line->value = words[1][0] - '0';
    } else if (strcmp(words[0], "ReleaseThreshold") != 0) {
        refuse(line->number,
               "there is no attribute \"%s\"; use ReleaseThreshold, ReuseFollowEventDependencies, "
               "ReuseAllowOpportunistic or ReuseAllowInternalDependencies.",
               words[0]);
    } else {
        bool is_most = !strcmp(words[1], "UINT64_MAX");
        line->bytes = is_most ? SIZE_MAX : read_bytes(line->number, words[1]);
    }
}

static void read_arguments(struct line *line, char *words[])
{
    for (const char *kind = line->command->arguments; *kind; kind++, words++) {
        switch (*kind) {
        case 'a': line->allocation = read_name(line->number, *words, false); break;
        case 'p':
            line->allocation = read_name(line->number, *words, false);
            if (!line->allocation->bytes)
                refuse(line->number, "no line above allocates %s.", *words);
            break;
        case 'e': line->event = read_name(line->number, *words, true); break;
        case 's': line->stream = read_stream(line->number, *words); break;
        case 'b': line->bytes = read_bytes(line->number, *words); break;
        case 'l':
            if (strcmp(*words, "maxSize") != 0)
                refuse(line->number, "expected %s.", line->command->example);
            break;
        default: read_attribute(line, words); break;
        }
    }
}

/* What follows from a line for the lines below it, and for what is made before the first. */
static void note(struct line *line)
{
    switch (line->command->kind) {
    case MALLOC_ASYNC:
        if (!line->bytes)
            refuse(line->number, "an allocation has at least 1 KiB.");
        line->allocation->bytes = line->bytes;
        break;
    case FILL: line->bytes = line->allocation->bytes; break;
    case HOLD: script.holds[line->stream] = true; break;
    case OPEN:
        if (!script.holds[line->stream])
            refuse(line->number, "no line above holds s%u.", line->stream);
        break;
    case POOL:
        if (script.line_count)
            refuse(line->number, "the pool is created before everything else: make this the first "
                                 "line.");
        script.max_size = line->bytes;
        break;
    default: break;
    }
}

/* An allocation may stand as in C: &a, or (void **)&a. */
static char *without_address(char *word)
{
    static const char cast[] = "(void **)";
    if (!strncmp(word, cast, sizeof cast - 1))
        word += sizeof cast - 1;
    return word + (*word == '&');
}

/* Cuts NAME(WORD, WORD) into its words, without the spaces around them. Returns how many there are;
 * WORDS_MAX + 1: it has another form. */
static size_t cut(char *text, char **name, char *words[])
{
    size_t count = 0;
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open)
        return WORDS_MAX + 1;
    for (const char *c = close + 1; *c; c++)
        if (*c != ' ' && *c != ';')
            return WORDS_MAX + 1;
    *open = *close = '\0';
    for (*name = text; **name == ' '; (*name)++)
        ;
    for (char *c = open; c > text && c[-1] == ' ';)
        *--c = '\0';
    for (char *from = open + 1; from; count++) {
        char *comma = strchr(from, ','), *end = comma ? comma : from + strlen(from);
        if (count == WORDS_MAX)
            return WORDS_MAX + 1;
        while (*from == ' ')
            from++;
        while (end > from && end[-1] == ' ')
            end--;
        *end = '\0';
        words[count] = without_address(from);
        from = comma ? comma + 1 : NULL;
    }
    return count == 1 && !*words[0] ? 0 : count;
}

static void read_line(unsigned number, char *text)
{
    struct line *line = &script.lines[script.line_count];
    char *comment = strstr(text, "//"), *name = text, *words[WORDS_MAX] = {0};
    if (comment)
        *comment = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\t' || *c == '\r')
            *c = ' ';
    if (strspn(text, " ") == strlen(text))
        return;
    size_t count = cut(text, &name, words), i = 0;
    while (i < COMMANDS && strcmp(commands[i].name, name) != 0)
        i++;
    if (i == COMMANDS && count > WORDS_MAX)
        refuse(number, "a line is a call, such as %s.", commands[0].example);
    if (i == COMMANDS)
        refuse(number, "the bench has no call \"%s\"; its buttons list those that it has.", name);
    *line = (struct line){.command = &commands[i], .number = number};
    size_t wanted = commands[i].kind == ATTRIBUTE ? 2 : strlen(commands[i].arguments);
    if (count != wanted)
        refuse(number, "expected the form %s.", commands[i].example);
    read_arguments(line, words);
    note(line);
    script.line_count++;
}

static void read_script(char *text)
{
    for (unsigned number = 1; text; number++) {
        char *end = strchr(text, '\n');
        if (end)
            *end = '\0';
        if (number > LINES_MAX)
            refuse(number, "a script has at most %d lines.", LINES_MAX);
        read_line(number, text);
        text = end ? end + 1 : NULL;
    }
    for (size_t i = 0; i < script.allocation_count; i++)
        script.allocations[i].bytes = 0;
}

/* ---- running ---- */

static struct {
    cudaMemPool_t pool;
    cudaStream_t streams[STREAMS_MAX + 1];
    volatile int *gates[STREAMS_MAX + 1];
} made;

/* Where a report of the checker says that the next call stands. */
static void stand_at(unsigned number)
{
#ifdef __EMSCRIPTEN__
    static struct os_web_site sites[LINES_MAX + 1];
    sites[number] = (struct os_web_site){"line", number, NULL};
    os_web_site = &sites[number];
#else
    (void)number;
#endif
}

static void make_all(void)
{
    stand_at(0);
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = script.max_size;
    CHECK(cudaMemPoolCreate(&made.pool, &props));
    CHECK(cudaDeviceSetMemPool(0, made.pool));
    for (unsigned i = 1; i <= script.streams; i++)
        CHECK(cudaStreamCreateWithFlags(&made.streams[i], cudaStreamNonBlocking));
    for (unsigned i = 1; i <= script.streams; i++)
        if (script.holds[i])
            made.gates[i] = gate_create();
    for (size_t i = 0; i < script.event_count; i++)
        CHECK(cudaEventCreateWithFlags(&script.events[i].event, cudaEventDisableTiming));
}

static cudaError_t set_attribute(const struct line *line)
{
    uint64_t threshold = line->bytes == SIZE_MAX ? UINT64_MAX : line->bytes;
    int value = line->value;
    if (line->attribute == FLAGS)
        return cudaMemPoolSetAttribute(made.pool, cudaMemPoolAttrReleaseThreshold, &threshold);
    return cudaMemPoolSetAttribute(made.pool, flags[line->attribute].attribute, &value);
}

/* A query's result is printed; it is no error. */
static cudaError_t print_query(const char *name, cudaError_t result)
{
    printf("%s: %s\n", name, cudaGetErrorName(result));
    return result == cudaErrorNotReady ? cudaSuccess : result;
}

static cudaError_t run(const struct line *line)
{
    cudaStream_t stream = made.streams[line->stream];
    char stream_name[] = {'s', (char)('0' + line->stream), '\0'};
    int *memory = line->allocation ? line->allocation->memory : NULL;
    cudaEvent_t event = line->event ? line->event->event : NULL;
    switch (line->command->kind) {
    case MALLOC_ASYNC:
        return cudaMallocAsync((void **)&line->allocation->memory, line->bytes, stream);
    case FREE_ASYNC: return cudaFreeAsync(memory, stream);
    case FREE: return cudaFree(memory);
    case FILL: return launch_fill(memory, 1, line->bytes / sizeof(int), stream);
    case HOLD: return launch_hold(made.gates[line->stream], stream);
    case OPEN: gate_open(made.gates[line->stream]); return cudaSuccess;
    case RECORD: return cudaEventRecord(event, stream);
    case WAIT_EVENT: return cudaStreamWaitEvent(stream, event, 0);
    case SYNCHRONIZE_STREAM: return cudaStreamSynchronize(stream);
    case SYNCHRONIZE_EVENT: return cudaEventSynchronize(event);
    case SYNCHRONIZE_DEVICE: return cudaDeviceSynchronize();
    case QUERY_STREAM: return print_query(stream_name, cudaStreamQuery(stream));
    case QUERY_EVENT: return print_query(line->event->text, cudaEventQuery(event));
    case TRIM: return cudaMemPoolTrimTo(made.pool, line->bytes);
    case ATTRIBUTE: return set_attribute(line);
    default: return cudaSuccess;
    }
}

static int run_lines(unsigned lines)
{
    make_all();
    for (size_t i = 0; i < script.line_count && script.lines[i].number <= lines; i++) {
        const struct line *line = &script.lines[i];
        stand_at(line->number);
        cudaError_t result = run(line);
        if (result == cudaSuccess)
            continue;
        fflush(stdout);
        fprintf(stderr, "line %u: %s returned %s (%s)\n", line->number, line->command->name,
                cudaGetErrorName(result), cudaGetErrorString(result));
        return 1;
    }
    return 0;
}

/* ---- the same as a C program ---- */

static void print_size(size_t bytes)
{
    if (bytes == SIZE_MAX)
        printf("UINT64_MAX");
    else if (bytes % MiB)
        printf("%zu * 1024", bytes / KiB);
    else
        printf("%zu * MiB", bytes / MiB);
}

/* Prints BEFORE, the size, AFTER. */
static void print_sized(const char *before, size_t bytes, const char *after)
{
    printf("%s", before);
    print_size(bytes);
    printf("%s", after);
}

static void print_attribute(const struct line *line)
{
    if (line->attribute == FLAGS)
        print_sized("    pool_set(pool, cudaMemPoolAttrReleaseThreshold, ", line->bytes, ");\n");
    else
        printf("    pool_set_flag(pool, %s, %d);\n", flags[line->attribute].c_name, line->value);
}

static void print_line(const struct line *line)
{
    const char *memory = line->allocation ? line->allocation->text : "";
    const char *event = line->event ? line->event->text : "";
    const char *name = line->command->name;
    unsigned stream = line->stream;
    switch (line->command->kind) {
    case MALLOC_ASYNC:
        printf("    CHECK(%s((void **)&%s, ", name, memory);
        print_size(line->bytes);
        printf(", s%u));\n", stream);
        break;
    case FREE: printf("    CHECK(%s(%s));\n", name, memory); break;
    case FREE_ASYNC: printf("    CHECK(%s(%s, s%u));\n", name, memory, stream); break;
    case FILL:
        printf("    CHECK(launch_fill(%s, 1, ", memory);
        print_size(line->bytes);
        printf(" / sizeof(int), s%u));\n", stream);
        break;
    case HOLD: printf("    CHECK(launch_hold(gate%u, s%u));\n", stream, stream); break;
    case OPEN: printf("    gate_open(gate%u);\n", stream); break;
    case RECORD: printf("    CHECK(%s(%s, s%u));\n", name, event, stream); break;
    case WAIT_EVENT: printf("    CHECK(%s(s%u, %s, 0));\n", name, stream, event); break;
    case SYNCHRONIZE_STREAM: printf("    CHECK(%s(s%u));\n", name, stream); break;
    case SYNCHRONIZE_EVENT: printf("    CHECK(%s(%s));\n", name, event); break;
    case SYNCHRONIZE_DEVICE: printf("    CHECK(%s());\n", name); break;
    case QUERY_STREAM:
        printf("    printf(\"s%u: %%s\\n\", cudaGetErrorName(%s(s%u)));\n", stream, name, stream);
        break;
    case QUERY_EVENT:
        printf("    printf(\"%s: %%s\\n\", cudaGetErrorName(%s(%s)));\n", event, name, event);
        break;
    case TRIM: print_sized("    CHECK(cudaMemPoolTrimTo(pool, ", line->bytes, "));\n"); break;
    case ATTRIBUTE: print_attribute(line); break;
    case POOL: break;
    }
}

/* Prints the declaration of names: `before` stands before each, `after` behind the last. */
static void print_names(const struct name *names, size_t count, const char *type,
                        const char *before)
{
    for (size_t i = 0; i < count; i++)
        printf("%s%s%s%s", i ? ", " : type, before, names[i].text, i + 1 == count ? ";\n" : "");
}

static void print_program(void)
{
    printf("#include \"kernels.h\"\n#include \"workbook.h\"\n\nint main(void)\n{\n"
           "    struct cudaMemPoolProps props = {0};\n"
           "    props.allocType = cudaMemAllocationTypePinned;\n"
           "    props.location.type = cudaMemLocationTypeDevice;\n");
    if (script.max_size)
        print_sized("    props.maxSize = ", script.max_size, ";\n");
    printf("    cudaMemPool_t pool;\n"
           "    CHECK(cudaMemPoolCreate(&pool, &props));\n"
           "    CHECK(cudaDeviceSetMemPool(0, pool));\n");
    for (unsigned i = 1; i <= script.streams; i++)
        printf("%ss%u%s", i > 1 ? ", " : "    cudaStream_t ", i, i == script.streams ? ";\n" : "");
    for (unsigned i = 1; i <= script.streams; i++)
        printf("    CHECK(cudaStreamCreateWithFlags(&s%u, cudaStreamNonBlocking));\n", i);
    for (unsigned i = 1; i <= script.streams; i++)
        if (script.holds[i])
            printf("    volatile int *gate%u = gate_create();\n", i);
    print_names(script.events, script.event_count, "    cudaEvent_t ", "");
    for (size_t i = 0; i < script.event_count; i++)
        printf("    CHECK(cudaEventCreateWithFlags(&%s, cudaEventDisableTiming));\n",
               script.events[i].text);
    print_names(script.allocations, script.allocation_count, "    int ", "*");
    printf("\n");
    for (size_t i = 0; i < script.line_count; i++)
        print_line(&script.lines[i]);
    for (unsigned i = 1; i <= script.streams; i++)
        if (script.holds[i])
            printf("    gate_open(gate%u); /* A GPU waits for it when the program ends. */\n", i);
    printf("    return 0;\n}\n");
}

int main(int argc, char **argv)
{
    bool runs = argc == 4 && !strcmp(argv[1], "run");
    if (!runs && !(argc == 3 && !strcmp(argv[1], "c"))) {
        fprintf(stderr, "usage: %s run LINES SCRIPT, or %s c SCRIPT\n", argv[0], argv[0]);
        return 2;
    }
    read_script(argv[argc - 1]);
    if (runs)
        return run_lines((unsigned)strtoul(argv[2], NULL, 10));
    print_program();
    return 0;
}
