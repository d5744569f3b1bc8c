/* The journal (SIM_JOURNAL=FILE) in JSON Lines. A line with "call" is a call of the program,
 * written when it returns. A line with "did" is an action of the device or the allocator. All times
 * are virtual, so every run under one schedule writes the same bytes. All of these need the lock.
 *
 * Up to 256 KiB of lines wait in memory. They are written when that is full, at the end of the
 * program, before a fatal report, and when the program dies of a bad address. If the process aborts
 * or is killed, the waiting lines are lost.
 *
 * Looking up a call's source line takes milliseconds, so each site is looked up once, and many
 * together, when lines are written (base/journal_sites.h). */
#ifndef SIM_BASE_JOURNAL_H
#define SIM_BASE_JOURNAL_H

#include <string.h>

#include "base/types.h"

/* Room for the fields of a line. Texts are copied in blocks, so up to JOURNAL_BLOCK bytes after a
 * text may be read and written. */
#define JOURNAL_FIELDS 1024
#define JOURNAL_BLOCK  64

/* A line that is being built, in the journal's buffer. It is set aside if another line begins
 * before it ends. */
struct journal_line {
    /* The start of the fields, each of which begins with a comma; where the next field goes; and
     * the limit. All are NULL while the line is closed, and then fields are dropped. */
    char *fields, *end, *stop;
    /* The site of the line's call, or NULL if the line is not a call's. */
    struct journal_site *site;
    /* The fields while the line is set aside. */
    char aside[JOURNAL_FIELDS + JOURNAL_BLOCK];
};

/* Whether there is a journal. Any room may read it, to build no line without a journal. */
extern bool journal_on;

/* Opens the file of settings.journal, or ends the process with a sentence if that fails. */
void journal_open(void);
/* Writes the waiting lines. Without `look_up`, calls whose site was not looked up yet get no file,
 * because a lookup allocates memory, and a process that is dying in its allocator must not. Does
 * nothing without a journal. */
void journal_flush(bool look_up);
/* Writes the remaining lines and closes the file. Does nothing without a journal. */
void journal_close(void);

/* Begins a line with its time and its first field, "call" or "did". Without a journal the line
 * stays closed. */
void line_begin(struct journal_line *line, time_ns when, const char *key, const char *value);
/* Begins the line of a call with this name and number. The line will get the file and line of
 * `site` (os_call_site). There must be a journal. */
void line_begin_call(struct journal_line *line, time_ns when, void *site, const char *call,
                     uint64_t number);
/* Discards an open line. */
void line_drop(struct journal_line *line);
/* Initializes a line as closed. */
static inline void line_close(struct journal_line *line) { line->end = line->stop = NULL; }
static inline bool line_is_open(const struct journal_line *line) { return line->end; }
/* Ends, writes, and closes the line. The line's number is assigned here, so that numbers follow the
 * order in the file. */
void line_write(struct journal_line *line);
/* Ends, writes, and closes a call's line, with the time of its end and its error, or NULL for
 * success. */
void line_write_call(struct journal_line *line, time_ns end, const char *error);

/* ---- fields ---- */

/* Writes a number to `to` and returns its end. */
char *put_number(char *to, uint64_t value);

/* Room for a field with the longest number or word. */
#define JOURNAL_FIELD 64

/* Returns where the next `count` fields go, or NULL if the line is closed or has no room; the
 * fields are then left out. The caller passes the position from one field_... function to the next,
 * so it stays in a register, and finally stores it in line->end. */
static inline char *line_room(const struct journal_line *line, size_t count)
{
    return (size_t)(line->stop - line->end) < count * JOURNAL_FIELD ? NULL : line->end;
}

/* These write a field and return its end. Keys and texts are names or fixed words, so nothing in
 * them has to be escaped. */
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

/* These add one field to a line. */
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

/* Ends a field that field_key began. */
void line_put_text(struct journal_line *line, char *to, const char *value);

static inline void line_text(struct journal_line *line, const char *key, const char *value)
{
    char *to = line_room(line, 1);
    if (to)
        line_put_text(line, field_key(to, key), value);
}

#endif
