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
    /* Its call's result is not among the fields: it is cudaSuccess. */
    bool succeeded;
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
/* The same for a call of this name and number. The line will get the file and the line where that
 * stands. `site`: os_call_site. */
void line_begin_call(struct journal_line *line, void *site, const char *call, uint64_t number);
/* Adds the call's result. */
void line_result(struct journal_line *line, bool succeeded, const char *result);
static inline void line_close(struct journal_line *line) { line->used = 0; }
/* Ends the line, writes it with this time, and closes it. The number of a line is given here, so
 * that numbers follow the file's order. */
void line_write(struct journal_line *line, time_ns when);

/* Where fields must end; room for the longest number and what ends a field. */
#define JOURNAL_STOP ((size_t)(JOURNAL_HEAD + JOURNAL_FIELDS))
#define JOURNAL_ROOM 24

/* The digits of a number below 10 to the 16th, in the order of the bytes. */
struct digits {
    uint64_t value, text[2];
    size_t count;
};

/* What numbers were made of lately, by a hash of theirs: most come again, such as times and figures
 * of a pool. Needs the lock. */
#define JOURNAL_RECENT_BITS 8
extern struct digits journal_recent[1 << JOURNAL_RECENT_BITS];

static inline struct digits *recent_digits(uint64_t value)
{
    return &journal_recent[value * 0x9e3779b97f4a7c15u >> (64 - JOURNAL_RECENT_BITS)];
}

/* The functions below are always inline: a line has some twenty fields, and a run with a journal is
 * to cost little more than one without. Those that write to `to` write up to 15 bytes behind, and
 * return their end. */
#define LINE_INLINE static inline __attribute__((always_inline))

LINE_INLINE char *put_digits(char *to, const struct digits *d)
{
    /* Not both at once: a load of what two stores have just written has to wait for them. */
    memcpy(to, &d->text[0], 8);
    if (d->count > 8)
        memcpy(to + 8, &d->text[1], 8);
    return to + d->count;
}

/* Writes a number that is not among the recent ones. Needs the lock. */
char *journal_put_new(char *to, uint64_t value);

LINE_INLINE char *put_number(char *to, uint64_t value)
{
    if (value < 10) {
        *to = (char)('0' + value);
        return to + 1;
    }
    const struct digits *d = recent_digits(value);
    return d->value == value ? put_digits(to, d) : journal_put_new(to, value);
}

/* Writes ,"key": to the end of an open line. Returns its own end; NULL when the line is closed or
 * has no room, and the field is left out. */
LINE_INLINE char *line_key(struct journal_line *line, const char *key, size_t length)
{
    char *to = line->text + line->used;
    /* Of a closed line this is less than nothing, so more than anything. */
    if (line->used - 1 >= JOURNAL_STOP - JOURNAL_ROOM - 4 - length)
        return NULL;
    memcpy(to, ",\"", 2);
    memcpy(to + 2, key, length);
    memcpy(to + 2 + length, "\":", 2);
    return to + length + 4;
}

/* Ends a field that line_key has begun. */
void line_put_text(struct journal_line *line, char *to, const char *value);

/* Add a field. A key or a text is a name or a word of ours: it holds nothing that JSON would have
 * to escape. */
LINE_INLINE void line_number(struct journal_line *line, const char *key, uint64_t value)
{
    char *to = line_key(line, key, strlen(key));
    if (to)
        line->used = (size_t)(put_number(to, value) - line->text);
}

LINE_INLINE void line_signed(struct journal_line *line, const char *key, int64_t value)
{
    char *to = line_key(line, key, strlen(key));
    if (!to)
        return;
    if (value < 0)
        *to++ = '-';
    to = put_number(to, value < 0 ? -(uint64_t)value : (uint64_t)value);
    line->used = (size_t)(to - line->text);
}

LINE_INLINE void line_text(struct journal_line *line, const char *key, const char *value)
{
    char *to = line_key(line, key, strlen(key));
    if (to)
        line_put_text(line, to, value);
}

#endif
