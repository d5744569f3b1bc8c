/* The journal (SIM_JOURNAL=FILE): JSON Lines. A line with "call" is a call of the program, written
 * when it returns; a line with "did" is something that the device or the allocator did. All times
 * are virtual, so a run under one schedule writes the same bytes each time. All of these need the
 * lock.
 *
 * Lines wait in memory, 256 KiB of them. They go to the file when these are full, at the end of the
 * program, with the report of what ends it, and when it dies of a bad address. A process that
 * aborts or is killed takes those with it that wait.
 *
 * Where a call stands in the source is looked up once for each site, and for many sites at a time,
 * because that takes milliseconds: when lines go to the file (base/journal_sites.h). */
#ifndef SIM_BASE_JOURNAL_H
#define SIM_BASE_JOURNAL_H

#include <string.h>

#include "base/types.h"

/* Where a line's fields begin, so that an open line is never empty; room for the fields. */
#define JOURNAL_HEAD   1
#define JOURNAL_FIELDS 1024

/* A line that is being made. `used` is 0 while it is closed: then fields are dropped. */
struct journal_line {
    size_t used;
    /* Where its call stands; NULL: it is no call's. */
    struct journal_site *site;
    /* Its fields, each with a comma before it. */
    char text[JOURNAL_HEAD + JOURNAL_FIELDS];
};

/* Is there a journal? Everyone may read it, to make no line where there is none. */
extern bool journal_on;

/* Opens the file that settings.journal names; ends the process with a sentence when it cannot. */
void journal_open(void);
/* Writes the lines that wait. Without `look_up`, those whose call has a site that was not looked up
 * yet get no file: a lookup allocates memory, which a process may not that dies in the allocator.
 * Does nothing without a journal. */
void journal_flush(bool look_up);
/* Writes what is left and closes the file. Does nothing without a journal. */
void journal_close(void);

/* Begins a line with its first field: "call" or "did". Without a journal the line stays closed. */
void line_begin(struct journal_line *line, const char *key, const char *value);
/* The line is a call's: it gets the file and the line where that stands. `site`: os_call_site. */
void line_site(struct journal_line *line, void *site, const char *call);
static inline void line_close(struct journal_line *line) { line->used = 0; }
/* Ends the line, writes it with this time, and closes it. The number of a line is given here, so
 * that numbers follow the file's order. */
void line_write(struct journal_line *line, time_ns when);

/* Where fields must end; room for the longest number and what ends a field. */
#define JOURNAL_STOP ((size_t)(JOURNAL_HEAD + JOURNAL_FIELDS))
#define JOURNAL_ROOM 24

/* Writes ,"key": to the end of an open line. Returns its own end; NULL when the line is closed or
 * has no room, and the field is left out. Always inline, as are the functions below: so the length
 * of a literal key is known. */
static inline __attribute__((always_inline)) char *line_key(struct journal_line *line,
                                                            const char *key, size_t length)
{
    char *to = line->text + line->used;
    if (!line->used || line->used + length + 4 + JOURNAL_ROOM > JOURNAL_STOP)
        return NULL;
    memcpy(to, ",\"", 2);
    memcpy(to + 2, key, length);
    memcpy(to + 2 + length, "\":", 2);
    return to + length + 4;
}

/* End a field that line_key has begun. */
void line_put_number(struct journal_line *line, char *to, uint64_t value);
void line_put_text(struct journal_line *line, char *to, const char *value);

/* Add a field. A key or a text is a name or a word of ours: it holds nothing that JSON would have
 * to escape. */
static inline __attribute__((always_inline)) void line_number(struct journal_line *line,
                                                              const char *key, uint64_t value)
{
    char *to = line_key(line, key, strlen(key));
    if (to)
        line_put_number(line, to, value);
}

static inline __attribute__((always_inline)) void line_signed(struct journal_line *line,
                                                              const char *key, int64_t value)
{
    char *to = line_key(line, key, strlen(key));
    if (!to)
        return;
    if (value < 0)
        *to++ = '-';
    line_put_number(line, to, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static inline __attribute__((always_inline)) void line_text(struct journal_line *line,
                                                            const char *key, const char *value)
{
    char *to = line_key(line, key, strlen(key));
    if (to)
        line_put_text(line, to, value);
}

#endif
