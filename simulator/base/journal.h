/* The journal (SIM_JOURNAL=FILE) in JSON Lines. A line with "call" is a call of the program,
 * written when it returns. A line with "did" is an action of the device or the allocator. All times
 * are virtual, so every run under one schedule writes the same bytes. All functions here need the
 * lock.
 *
 * Up to 64 KiB of lines wait in memory. They are written when that is full, at the end of the
 * program, before a fatal report, and when the program dies of a bad address. If the process aborts
 * or is killed, the waiting lines are lost.
 *
 * Looking up a call's source line takes milliseconds, so each site is looked up once, and many
 * together, when lines are written (base/journal.c). */
#ifndef SIM_BASE_JOURNAL_H
#define SIM_BASE_JOURNAL_H

#include <string.h>

#include "base/types.h"

/* Room for the fields of a line. Texts are copied in blocks, so up to JOURNAL_BLOCK bytes after a
 * text may be read and written. */
#define JOURNAL_FIELDS 1024
#define JOURNAL_BLOCK  64

/* A line that is being built, in the journal's buffer. If another line begins before it ends, the
 * unfinished line is moved to `aside`. */
struct journal_line {
    /* The start of the fields, each of which begins with a comma; where the next field goes; and
     * the limit. All are NULL while the line is closed, and then fields are dropped. */
    char *fields, *end, *stop;
    /* The site of the line's call, or NULL if the line is not a call's. */
    struct journal_site *site;
    /* The fields while the line is set aside. */
    char aside[JOURNAL_FIELDS + JOURNAL_BLOCK];
};

/* Whether there is a journal. Any room may read this, to build no line without a journal. */
extern bool journal_on;

/* Opens the file of settings.journal, or ends the process with a message if that fails. */
void journal_open(void);
/* Writes the waiting lines. Without `look_up`, calls whose site was not looked up yet get no file,
 * because a lookup allocates memory, and a process that is dying in its allocator must not. Does
 * nothing without a journal. */
void journal_flush(bool look_up);
/* Writes the remaining lines and closes the file. Does nothing without a journal. */
void journal_close(void);

/* Begins a line with its time and the field "did". Without a journal the line stays closed. */
void line_begin(struct journal_line *line, time_ns when, const char *did);
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
/* Ends, writes, and closes a call's line. `error` is NULL for success. */
void line_write_call(struct journal_line *line, time_ns end, const char *error);

/* ---- fields ---- */

/* Each writes a number, and up to 7 bytes too many, and returns the number's end. */
char *put_digits(char *to, uint64_t value);
static inline char *put_number(char *to, uint64_t value)
{
    if (value > 9)
        return put_digits(to, value);
    *to = (char)('0' + value);
    return to + 1;
}

/* Begins a field and returns where its value goes, or NULL if the line is closed or has no room for
 * a key and a number; the field is then left out. Keys and texts are names or fixed words, so
 * nothing in them has to be escaped. */
static INLINE char *line_key(const struct journal_line *line, const char *key)
{
    char *to = line->end;
    size_t length = strlen(key);
    if (line->stop - to < 64)
        return NULL;
    memcpy(to, ",\"", 2);
    memcpy(to + 2, key, length);
    memcpy(to + 2 + length, "\":", 2);
    return to + length + 4;
}

/* These add one field to a line. */
static INLINE void line_number(struct journal_line *line, const char *key, uint64_t value)
{
    char *to = line_key(line, key);
    if (to)
        line->end = put_number(to, value);
}

static inline void line_signed(struct journal_line *line, const char *key, int64_t value)
{
    char *to = line_key(line, key);
    if (to && value < 0)
        *to++ = '-';
    if (to)
        line->end = put_number(to, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void line_put_text(struct journal_line *line, char *to, const char *value);
static inline void line_text(struct journal_line *line, const char *key, const char *value)
{
    char *to = line_key(line, key);
    if (to)
        line_put_text(line, to, value);
}

#endif
