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

/* Room for the fields of a line. Texts are copied in blocks: so many bytes may be read and written
 * behind them. */
#define JOURNAL_FIELDS 1024
#define JOURNAL_BLOCK  64

/* A line that is being made. It is made in the journal's buffer, and set aside when another one
 * begins before it ends. */
struct journal_line {
    /* Where its fields, each with a comma before it, begin, where the next one goes, and where they
     * must end. NULL while it is closed: then fields are dropped. */
    char *fields, *end, *stop;
    /* Where its call stands; NULL: it is no call's. */
    struct journal_site *site;
    /* Its fields when it is set aside. */
    char aside[JOURNAL_FIELDS + JOURNAL_BLOCK];
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

/* Begins a line with its time and its first field: "call" or "did". Without a journal the line
 * stays closed. */
void line_begin(struct journal_line *line, time_ns when, const char *key, const char *value);
/* The same for a call of this name and number, where there is a journal. The line will get the file
 * and the line where the call stands. `site`: os_call_site. */
void line_begin_call(struct journal_line *line, time_ns when, void *site, const char *call,
                     uint64_t number);
/* Gives an open line up. */
void line_drop(struct journal_line *line);
/* Makes one that was not begun a closed one. */
static inline void line_close(struct journal_line *line) { line->end = line->stop = NULL; }
static inline bool line_is_open(const struct journal_line *line) { return line->end; }
/* Ends the line, writes it, and closes it. The number of a line is given here, so that numbers
 * follow the file's order. */
void line_write(struct journal_line *line);
/* The same for a call's, with when it ended and its error; NULL: it succeeded. */
void line_write_call(struct journal_line *line, time_ns end, const char *error);

/* ---- fields ---- */

/* Writes a number to `to` and returns its end. */
char *put_number(char *to, uint64_t value);

/* Room for a field with the longest number or the longest word. */
#define JOURNAL_FIELD 64

/* Returns where the next `count` fields of a line go, which field_... write; whoever asks sets
 * line->end behind the last of them. So it is in a register between them, and not in memory. NULL
 * when the line is closed or has no room: the fields are left out. */
static inline char *line_room(const struct journal_line *line, size_t count)
{
    return (size_t)(line->stop - line->end) < count * JOURNAL_FIELD ? NULL : line->end;
}

/* Write a field and return its end. A key or a text is a name or a word of ours: it holds nothing
 * that JSON would have to escape. */
static inline char *field_key(char *to, const char *key)
{
    size_t length = strlen(key);
    memcpy(to, ",\"", 2);
    memcpy(to + 2, key, length);
    memcpy(to + 2 + length, "\":", 2);
    return to + length + 4;
}

static inline char *field_number(char *to, const char *key, uint64_t value)
{
    return put_number(field_key(to, key), value);
}

static inline char *field_text(char *to, const char *key, const char *value)
{
    size_t length = strlen(value);
    to = field_key(to, key);
    *to++ = '"';
    memcpy(to, value, length);
    to[length] = '"';
    return to + length + 1;
}

/* Add one field to a line. */
static inline void line_number(struct journal_line *line, const char *key, uint64_t value)
{
    char *to = line_room(line, 1);
    if (to)
        line->end = field_number(to, key, value);
}

static inline void line_time(struct journal_line *line, const char *key, time_ns value)
{
    char *to = line_room(line, 1);
    if (to)
        line->end = field_number(to, key, value);
}

static inline void line_signed(struct journal_line *line, const char *key, int64_t value)
{
    char *to = line_room(line, 1);
    if (!to)
        return;
    to = field_key(to, key);
    if (value < 0)
        *to++ = '-';
    line->end = put_number(to, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Ends a field that field_key has begun. */
void line_put_text(struct journal_line *line, char *to, const char *value);

static inline void line_text(struct journal_line *line, const char *key, const char *value)
{
    char *to = line_room(line, 1);
    if (to)
        line_put_text(line, field_key(to, key), value);
}

#endif
