/* The journal's lines: two buffers, since something may happen while a call is on its way. The numbers are formatted by hand, because
 * a journalled run may cost at most twice a plain one. */
#include "journal.h"

#include <string.h>

#include "clock.h"
#include "host.h"
#include "settings.h"

#define LINE 1024

struct line { size_t used; char text[LINE + 16]; };    /* the rest: what ends a line that was cut */

bool journal_on;
static host_file *file;
static uint64_t lines;
static struct line did_line, ignored;

/* The call on its way is the thread's: while it waits, other threads make theirs. */
static _Thread_local struct line *call_line;           /* allocated: space for a thread's own variables is scarce */
static _Thread_local struct line *for_call = &ignored; /* where fields of the call go */
static _Thread_local struct line *line = &ignored;     /* where fields go now */
static _Thread_local time_ns call_start;
static _Thread_local bool in_call;
static char pairs[100][2];             /* "00" to "99": two digits at a time */

static inline void put(const char *text, size_t length)
{
    if (line->used + length > LINE - 2) return;        /* no field is that long; a cut line would still end well */
    memcpy(line->text + line->used, text, length);
    line->used += length;
}

static void put_number(uint64_t value)
{
    size_t digits = 1;
    for (uint64_t power = 10; digits < 20 && value >= power; power *= 10) digits++;
    if (line->used + digits > LINE - 2) return;
    char *at = line->text + (line->used += digits);
    for (; value >= 100; value /= 100) memcpy(at -= 2, pairs[value % 100], 2);
    if (value >= 10) memcpy(at - 2, pairs[value], 2);
    else at[-1] = (char)('0' + value);
}

/* False when there is no room for a key and a number: the field is left out. */
static inline bool put_key(const char *key, size_t length)
{
    if (line->used + length > LINE - 32) return false;
    for (size_t i = 0; i < length; i += 8) memcpy(line->text + line->used + i, key + i, 8);
    line->used += length;
    return true;
}

void journal_put_number(const char *key, size_t length, uint64_t value)
{
    if (!journal_on || !put_key(key, length)) return;
    put_number(value);
}

void journal_put_signed(const char *key, size_t length, int64_t value)
{
    if (!journal_on || !put_key(key, length)) return;
    if (value < 0) put("-", 1);
    put_number(value < 0 ? (uint64_t)-value : (uint64_t)value);
}

void journal_put_text(const char *key, size_t length, const char *value)
{
    if (!journal_on || !put_key(key, length)) return;
    char *to = line->text + line->used, *end = line->text + LINE - 4;
    *to++ = '"';
    for (const char *c = value; *c && to < end; c++) {
        if (*c == '"' || *c == '\\') *to++ = '\\';
        if ((unsigned char)*c >= ' ') *to++ = *c;      /* control characters are left out */
    }
    *to++ = '"';
    line->used = (size_t)(to - line->text);
}

/* The number of a line is given when it is written, so that numbers follow the file's order. */
static void write_line(struct line *l, time_ns t)
{
    static struct line head;
    head.used = 0;
    line = &head;
    put("{\"n\":", 5);
    put_number(lines++);
    put(",\"t\":", 5);
    put_number(t);
    host_write(file, head.text, head.used);
    l->text[l->used++] = '}';
    l->text[l->used++] = '\n';
    host_write(file, l->text, l->used);
    line = for_call;
}

void journal_quiet(bool quiet)
{
    for_call = quiet || !call_line ? &ignored : call_line;
    ignored.used = 0;
    line = for_call;
}

/* The thread ends. */
static void drop_line(void)
{
    host_free(call_line);
    call_line = NULL;
    for_call = line = &ignored;
}

void journal_call(const char *name)
{
    if (!journal_on) return;
    if (!call_line) {
        call_line = host_allocate(sizeof *call_line);
        host_at_thread_end(drop_line);
    }
    line = for_call = call_line;
    line->used = 0;
    in_call = true;
    call_start = clock_now();
    journal_text("call", name);
    if (host_thread()) journal_number("thread", (uint64_t)host_thread());
}

void journal_call_end(const char *result)
{
    if (!journal_on || !in_call) return;
    line = call_line;
    journal_number("end", clock_now());
    journal_text("result", result);
    in_call = false;
    write_line(call_line, call_start);
}

void journal_drop(void) { in_call = false; }

void journal_did(const char *what)
{
    if (!journal_on) return;
    line = &did_line;
    line->used = 0;
    journal_text("did", what);
}

void journal_did_end(time_ns when)
{
    if (journal_on) write_line(&did_line, when);
}

void journal_open(void)
{
    if (!settings.journal) return;
    file = host_open(settings.journal);
    if (!file) host_give_up("SIM_JOURNAL is \"%s\"; the file cannot be written (%s).", settings.journal, host_open_error());
    for (int i = 0; i < 100; i++) {
        pairs[i][0] = (char)('0' + i / 10);
        pairs[i][1] = (char)('0' + i % 10);
    }
    journal_on = true;
}

void journal_close(void)
{
    if (!journal_on) return;
    journal_on = false;
    host_close(file);
}
