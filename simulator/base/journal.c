/* The journal's lines: two buffers, since something may happen while a call is on its way. Keys and
 * numbers are put together by hand, and each field moves the end of its line once, because a
 * journalled run may cost at most twice a plain one. */
#include "base/journal.h"

#include <string.h>

#include "sched/virtual_time.h"
#include "os/os.h"
#include "base/settings.h"

#define HEAD 64 /* room before a line's fields for its number and time */
#define LINE 1024
#define STOP (HEAD + LINE)

/* Used: HEAD when empty; the rest: what ends a line that was cut. */
struct line {
    size_t used;
    char text[STOP + 16];
};

bool journal_on;
static os_file *file;
static uint64_t lines;
static struct line did_line = {.used = HEAD}, ignored_line = {.used = HEAD};

/* The call on its way is the thread's: while it waits, other threads make theirs. */
/* Allocated: space for a thread's own variables is scarce. */
static _Thread_local struct line *call_line;
static _Thread_local struct line *call_target = &ignored_line; /* where fields of the call go */
static _Thread_local struct line *line = &ignored_line;        /* where fields go now */
static _Thread_local time_ns call_start;
static _Thread_local bool in_call;
static char pairs[100][2];  /* "00" to "99": two digits at a time */
static uint64_t powers[20]; /* 1, 10, 100, ... */

/* Writes a number that ends before `end`; returns its start. */
static inline char *number_before(char *end, uint64_t value)
{
    for (; value >= 100; value /= 100)
        memcpy(end -= 2, pairs[value % 100], 2);
    if (value >= 10)
        return memcpy(end - 2, pairs[value], 2);
    end[-1] = (char)('0' + value);
    return end - 1;
}

/* Writes a number; returns its end. */
static inline char *number_at(char *to, uint64_t value)
{
    size_t digits = 1;
    while (digits < 20 && value >= powers[digits])
        digits++;
    number_before(to + digits, value);
    return to + digits;
}

/* Writes a key to the end of the line; returns its own end. NULL when there is no room for a key
 * and a number: the field is left out. */
static inline char *key_at_end(const char *key, size_t length)
{
    char *to = line->text + line->used;
    if (line->used + length > STOP - 32)
        return NULL;
    for (size_t i = 0; i < length; i += 16)
        memcpy(to + i, key + i, 16);
    return to + length;
}

void journal_put_number(const char *key, size_t length, uint64_t value)
{
    char *to = journal_on ? key_at_end(key, length) : NULL;
    if (to)
        line->used = (size_t)(number_at(to, value) - line->text);
}

void journal_put_signed(const char *key, size_t length, int64_t value)
{
    char *to = journal_on ? key_at_end(key, length) : NULL;
    if (!to)
        return;
    if (value < 0)
        *to++ = '-';
    line->used =
        (size_t)(number_at(to, value < 0 ? (uint64_t)-value : (uint64_t)value) - line->text);
}

void journal_put_text(const char *key, size_t length, const char *value)
{
    char *to = journal_on ? key_at_end(key, length) : NULL;
    if (!to)
        return;
    *to++ = '"';
    size_t bytes = strlen(value), room = (size_t)(line->text + STOP - 4 - to);
    if (bytes > room)
        bytes = room;
    memcpy(to, value, bytes);
    to[bytes] = '"';
    line->used = (size_t)(to + bytes + 1 - line->text);
}

/* The number of a line is given when it is written, so that numbers follow the file's order. */
static void write_line(struct line *l, time_ns t)
{
    char *allocation_entry = number_before(l->text + HEAD, t);
    allocation_entry = memcpy(allocation_entry - 5, ",\"t\":", 5);
    allocation_entry = number_before(allocation_entry, lines++);
    allocation_entry = memcpy(allocation_entry - 5, "{\"n\":", 5);
    memcpy(l->text + l->used, "}\n", 2);
    os_write(file, allocation_entry, (size_t)(l->text + l->used + 2 - allocation_entry));
    line = call_target;
}

void journal_quiet(bool quiet)
{
    call_target = quiet || !call_line ? &ignored_line : call_line;
    ignored_line.used = HEAD;
    line = call_target;
}

/* The thread ends. */
static void drop_line(void)
{
    os_free(call_line);
    call_line = NULL;
    call_target = line = &ignored_line;
}

void journal_call(const char *name)
{
    if (!journal_on)
        return;
    if (!call_line) {
        call_line = os_allocate(sizeof *call_line);
        os_at_thread_end(drop_line);
    }
    line = call_target = call_line;
    line->used = HEAD;
    in_call = true;
    call_start = time_now();
    journal_text("call", name);
    if (os_thread_index())
        journal_number("thread", (uint64_t)os_thread_index());
}

void journal_call_end(const char *result)
{
    if (!journal_on || !in_call)
        return;
    line = call_line;
    journal_number("end", time_now());
    journal_text("result", result);
    in_call = false;
    write_line(call_line, call_start);
}

void journal_drop(void) { in_call = false; }

void journal_did(const char *what)
{
    if (!journal_on)
        return;
    line = &did_line;
    line->used = HEAD;
    journal_text("did", what);
}

void journal_did_end(time_ns when)
{
    if (journal_on)
        write_line(&did_line, when);
}

void journal_open(void)
{
    if (!settings.journal)
        return;
    file = os_open(settings.journal);
    if (!file)
        os_fatal("SIM_JOURNAL is \"%s\"; the file cannot be written (%s).", settings.journal,
                 os_open_error());
    for (int i = 0; i < 100; i++) {
        pairs[i][0] = (char)('0' + i / 10);
        pairs[i][1] = (char)('0' + i % 10);
    }
    for (size_t i = 0; i < 20; i++)
        powers[i] = i ? 10 * powers[i - 1] : 1;
    journal_on = true;
}

void journal_close(void)
{
    if (!journal_on)
        return;
    journal_on = false;
    os_close(file);
}
