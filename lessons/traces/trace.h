/* Reads a trace for lesson 22: trace_read("small") reads lessons/traces/small.csv, and
 * trace_read("my.csv") a file of that form, which README.md describes. A file that is no trace ends
 * the program, with the first line that is wrong. */
#ifndef TRACE_H
#define TRACE_H

#include "workbook.h"
#include <string.h>

enum { STREAMS = 8 };

/* The trace: 'a' allocates, 'f' frees. */
static struct op {
    char what;
    int id, stream;
    size_t bytes;
} * ops;
/* By id; data NULL: not live. */
static struct live {
    const struct op *op;
    char *data;
    struct part *part;
} * live;
static int op_count, id_count, stream_count;
static size_t live_peak;

/* The line that is being read. */
static char trace_path[4096];
static int trace_line;

/* Ends the program with what is wrong with the line. */
#define REFUSE(...)                                         \
    do {                                                    \
        fprintf(stderr, "%s:%d: ", trace_path, trace_line); \
        fprintf(stderr, __VA_ARGS__);                       \
        exit(2);                                            \
    } while (0)

/* Opens lessons/traces/NAME.csv, from here or a folder further up, or else file NAME. */
static FILE *trace_open(const char *name)
{
    static const char up[] = "../../../../../../../../";
    FILE *file = NULL;
    for (int i = 0; i < (int)sizeof up && file == NULL; i += 3) {
        snprintf(trace_path, sizeof trace_path, "%.*slessons/traces/%s.csv", i, up, name);
        file = fopen(trace_path, "r");
    }
    if (file == NULL) {
        snprintf(trace_path, sizeof trace_path, "%s", name);
        file = fopen(name, "r");
    }
    if (file == NULL) {
        fprintf(stderr, "\"%s\" is not a trace: name one of lessons/traces, or a file like them\n",
                name);
        exit(2);
    }
    return file;
}

/* The next line that is not empty, without its end; NULL after the last one. */
static char *trace_next(FILE *file)
{
    static char line[128];
    do {
        trace_line++;
        if (fgets(line, sizeof line, file) == NULL)
            return NULL;
        if (strchr(line, '\n') == NULL && !feof(file))
            REFUSE("this line is too long for a trace.\n");
        line[strcspn(line, "\r\n")] = '\0';
    } while (*line == '\0');
    return line;
}

/* Reads one line. An allocation of 1, 2 or 3 bytes is read as one of 4, the least that a kernel of
 * this lesson writes. */
static struct op op_read(const char *line)
{
    struct op op;
    int end = 0;
    if (line[strspn(line, "af,0123456789")] != '\0'
        || sscanf(line, "%c,%9d,%15zu,%9d%n", &op.what, &op.id, &op.bytes, &op.stream, &end) != 4
        || line[end] != '\0' || (op.what != 'a' && op.what != 'f'))
        REFUSE("\"%s\" is not \"op,id,bytes,stream\", such as a,0,512,0 or f,0,512,0.\n", line);
    if (op.stream >= STREAMS)
        REFUSE("stream %d: the streams of a trace are 0 to %d.\n", op.stream, STREAMS - 1);
    if (op.bytes == 0)
        REFUSE("allocation %d has 0 bytes: the least is 1.\n", op.id);
    if (op.bytes < sizeof(int))
        op.bytes = sizeof(int);
    return op;
}

/* Does the line fit those before it? While the trace is read, live[id].op is the allocation that is
 * live. */
static void op_check(const struct op *op)
{
    const struct op *taken = op->id < id_count ? live[op->id].op : NULL;
    if (op->what == 'a' && op->id != id_count)
        REFUSE("this is allocation %d, and not %d: ids count up from 0.\n", id_count, op->id);
    if (op->what == 'f' && taken == NULL)
        REFUSE("allocation %d is freed, and is not live.\n", op->id);
    if (op->what == 'f' && (taken->bytes != op->bytes || taken->stream != op->stream))
        REFUSE("allocation %d is freed with other bytes or in another stream than it was made.\n",
               op->id);
}

static void trace_read(const char *name)
{
    FILE *file = trace_open(name);
    const char *line = trace_next(file);
    size_t now = 0;
    if (line == NULL || strcmp(line, "op,id,bytes,stream") != 0)
        REFUSE("a trace begins with the line \"op,id,bytes,stream\".\n");
    while (trace_next(file) != NULL)
        op_count++;
    if (op_count == 0)
        REFUSE("the trace ends here, without an allocation.\n");
    ops = calloc((size_t)op_count, sizeof *ops);
    live = calloc((size_t)op_count, sizeof *live);
    if (ops == NULL || live == NULL)
        abort();
    rewind(file);
    trace_line = 0;
    trace_next(file);
    for (struct op *op = ops; op < ops + op_count && (line = trace_next(file)) != NULL; op++) {
        *op = op_read(line);
        op_check(op);
        live[op->id].op = op->what == 'a' ? op : NULL;
        id_count += op->what == 'a';
        stream_count = op->stream >= stream_count ? op->stream + 1 : stream_count;
        now += op->what == 'a' ? op->bytes : -op->bytes;
        live_peak = now > live_peak ? now : live_peak;
    }
    fclose(file);
}

#endif
