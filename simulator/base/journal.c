/* The journal's lines. Numbers are put together by hand, because a journalled run may cost at most
 * twice a plain one. */
#include "base/journal.h"

#include "base/observer.h"
#include "base/settings.h"
#include "os/os.h"

/* Where fields must end. */
#define STOP ((size_t)(JOURNAL_HEAD + JOURNAL_FIELDS))
/* The longest number, and what ends a field. */
#define NUMBER_ROOM 24

bool journal_on;
struct observer observer;

/* Needs the lock. The file is open while journal_on. */
static struct {
    os_file *file;
    /* How many lines were written. */
    uint64_t lines;
} journal;

/* Writes a number that ends before `end`. Returns its start. */
static char *number_before(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return end;
}

/* Writes ,"key": to the end of the line. Returns its own end; NULL when `room` bytes would not fit
 * behind it. */
static char *key_at_end(struct journal_line *line, const char *key, size_t length, size_t room)
{
    char *to = line->text + line->used;
    if (line->used + length + 4 + room > STOP)
        return NULL;
    *to++ = ',';
    *to++ = '"';
    memcpy(to, key, length);
    to += length;
    *to++ = '"';
    *to++ = ':';
    return to;
}

void line_put_number(struct journal_line *line, const char *key, size_t length, uint64_t value)
{
    char digits[NUMBER_ROOM], *end = digits + sizeof digits;
    char *to = key_at_end(line, key, length, NUMBER_ROOM);
    if (!to)
        return;
    char *start = number_before(end, value);
    memcpy(to, start, (size_t)(end - start));
    line->used = (size_t)(to + (end - start) - line->text);
}

void line_put_signed(struct journal_line *line, const char *key, size_t length, int64_t value)
{
    char digits[NUMBER_ROOM], *end = digits + sizeof digits;
    char *to = key_at_end(line, key, length, NUMBER_ROOM);
    if (!to)
        return;
    char *start = number_before(end, value < 0 ? -(uint64_t)value : (uint64_t)value);
    if (value < 0)
        *--start = '-';
    memcpy(to, start, (size_t)(end - start));
    line->used = (size_t)(to + (end - start) - line->text);
}

void line_put_text(struct journal_line *line, const char *key, size_t length, const char *value)
{
    size_t bytes = strlen(value);
    char *to = key_at_end(line, key, length, NUMBER_ROOM);
    if (!to)
        return;
    size_t room = (size_t)(line->text + STOP - 4 - to);
    if (bytes > room)
        bytes = room;
    *to++ = '"';
    memcpy(to, value, bytes);
    to[bytes] = '"';
    line->used = (size_t)(to + bytes + 1 - line->text);
}

void line_begin(struct journal_line *line, const char *key, const char *value)
{
    line->used = 0;
    if (!journal_on)
        return;
    line->used = JOURNAL_HEAD;
    line_put_text(line, key, strlen(key), value);
}

void line_write(struct journal_line *line, time_ns when)
{
    static const char time_key[] = ",\"t\":", number_key[] = "{\"n\":";
    if (!line->used || !journal_on)
        return;
    char *start = number_before(line->text + JOURNAL_HEAD, when);
    start = memcpy(start - strlen(time_key), time_key, strlen(time_key));
    start = number_before(start, journal.lines++);
    start = memcpy(start - strlen(number_key), number_key, strlen(number_key));
    memcpy(line->text + line->used, "}\n", 2);
    os_write(journal.file, start, (size_t)(line->text + line->used + 2 - start));
    line_close(line);
}

void journal_open(void)
{
    if (!settings.journal)
        return;
    journal.file = os_open(settings.journal);
    if (!journal.file)
        os_fatal("SIM_JOURNAL is \"%s\"; the file cannot be written (%s).", settings.journal,
                 os_open_error());
    journal_on = true;
}

void journal_close(void)
{
    if (!journal_on)
        return;
    journal_on = false;
    os_close(journal.file);
}
