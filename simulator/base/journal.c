/* Builds the journal's lines, and buffers them until they are written to the file. */
#include "base/journal.h"

#include "base/journal_sites.h"
#include "base/observer.h"
#include "base/settings.h"
#include "os/needs_lock.h"
#include "os/os.h"

bool journal_on;
struct observer observer;

#define SITES_MAX 1024
/* Room for a line: its fields and site, and the line number and time that precede them. */
#define LONGEST_LINE (sizeof(struct journal_line) + JOURNAL_SITE_MAX + 128)
/* The buffer holds one more line after it has a full unit of the file. */
#define BUFFER_SIZE (OS_WRITE_UNIT + LONGEST_LINE)

/* Needs the lock. The file is open while journal_on. */
static struct {
    os_file *file;
    /* Number of lines written. */
    uint64_t lines;
    /* The first `used` bytes of `buffer` are waiting for the file. Some lines lack the text of a
     * site that has not been looked up yet: the text of `sites[i]`, from its byte `from` on,
     * belongs before the byte at position `at`. The positions ascend. */
    size_t used, site_count;
    struct {
        size_t at, from;
        struct journal_site *site;
    } sites[SITES_MAX];
    /* The line that is being built after those bytes, or NULL. */
    struct journal_line *open;
    char buffer[BUFFER_SIZE];
} journal;

/* ---- numbers and texts ---- */

/* Returns the eight digits of a number below 100,000,000, the first in the lowest byte: splits the
 * number into two of four digits, those into four of two, and those into eight of one, each time
 * all at once. For the quotient q of x by 100, q + (x - 100 * q << 16) is written as
 * (x << 16) - q * ((100 << 16) - 1). The factors are the reciprocals of 100 and 10 for so few
 * digits. */
static inline uint64_t eight_digits(uint32_t value)
{
    uint64_t x = value / 10000;
    x = ((uint64_t)value << 32) - x * ((10000ull << 32) - 1);
    x = (x << 16) - (x * 5243 >> 19 & 0x7f0000007f) * ((100 << 16) - 1);
    return (x << 8) - (x * 103 >> 10 & 0x000f000f000f000f) * ((10 << 8) - 1);
}

#define SHORT 100000000
#define ZEROS 0x3030303030303030

/* Writes a number of nine digits or more. */
static __attribute__((noinline)) char *put_long(char *to, uint64_t value)
{
    uint64_t text = eight_digits((uint32_t)(value % SHORT)) | ZEROS;
    to = put_number(to, value / SHORT);
    memcpy(to, &text, sizeof text);
    return to + sizeof text;
}

char *put_digits(char *to, uint64_t value)
{
    if (value >= SHORT)
        return put_long(to, value);
    uint64_t digits = eight_digits((uint32_t)value);
    unsigned zeros = (unsigned)__builtin_ctzll(digits) / 8;
    uint64_t text = (digits | ZEROS) >> 8 * zeros;
    memcpy(to, &text, sizeof text);
    return to + sizeof text - zeros;
}

/* Copies whole blocks, up to JOURNAL_BLOCK - 1 bytes too many. Returns the end of the text. */
static inline char *put_blocks(char *to, const char *from, size_t length)
{
    for (size_t i = 0; i < length; i += JOURNAL_BLOCK)
        memcpy(to + i, from + i, JOURNAL_BLOCK);
    return to + length;
}

void line_put_text(struct journal_line *line, char *to, const char *value)
{
    NEEDS_LOCK();
    size_t bytes = strlen(value), room = (size_t)(line->stop - to) - 2;
    if (bytes > room)
        bytes = room;
    *to++ = '"';
    memcpy(to, value, bytes);
    to[bytes] = '"';
    line->end = to + bytes + 1;
}

/* Moves the unfinished line out of the buffer. */
static void set_aside(void)
{
    struct journal_line *line = journal.open;
    size_t length = (size_t)(line->end - line->fields);
    memcpy(line->aside, line->fields, length);
    line->fields = line->aside;
    line->end = line->aside + length;
    line->stop = line->aside + JOURNAL_FIELDS;
    journal.open = NULL;
}

void journal_flush(bool look_up)
{
    NEEDS_LOCK();
    size_t written = 0;
    if (!journal_on)
        return;
    if (journal.open)
        set_aside();
    if (look_up)
        journal_sites_find();
    for (size_t i = 0; i < journal.site_count; i++) {
        const struct journal_site *site = journal.sites[i].site;
        os_write(journal.file, journal.buffer + written, journal.sites[i].at - written);
        size_t from = journal.sites[i].from;
        os_write(journal.file, site->text + from, site->length - from);
        written = journal.sites[i].at;
    }
    os_write(journal.file, journal.buffer + written, journal.used - written);
    os_flush(journal.file);
    journal.used = journal.site_count = 0;
}

static void make_room(void)
{
    if (journal.site_count) {
        journal_flush(true);
        return;
    }
    size_t written = os_write_units(journal.file, journal.buffer, journal.used);
    journal.used -= written;
    memmove(journal.buffer, journal.buffer + written, journal.used);
}

static void note_site(const char *to, size_t from, struct journal_site *site)
{
    journal.sites[journal.site_count].at = (size_t)(to - journal.buffer);
    journal.sites[journal.site_count].from = from;
    journal.sites[journal.site_count++].site = site;
}

/* Writes the site's text from byte `from` on or, if it is not known yet, notes that it belongs
 * here. Returns the end. */
static inline char *put_site(char *to, struct journal_site *site, size_t from)
{
    if (!site->is_found) {
        note_site(to, from, site);
        return to;
    }
    return put_blocks(to, site->text + from, site->length - from);
}

/* Returns where a new line begins in the buffer. */
static inline char *place_line(void)
{
    if (journal.open)
        set_aside();
    if (BUFFER_SIZE - journal.used < LONGEST_LINE || journal.site_count == SITES_MAX)
        make_room();
    return journal.buffer + journal.used;
}

/* Writes the line number, which comes before the fields. */
static inline char *put_number_of_line(char *to)
{
    memcpy(to, "{\"n\":", 5);
    return put_number(to + 5, journal.lines);
}

/* Opens a line and writes its time. Returns the end of the text. */
static inline char *put_begin(struct journal_line *line, time_ns when)
{
    char *to = put_number_of_line(place_line());
    journal.open = line;
    line->fields = to;
    line->stop = to + JOURNAL_FIELDS;
    memcpy(to, ",\"t\":", 5);
    return put_number(to + 5, when);
}

void line_begin(struct journal_line *line, time_ns when, const char *did)
{
    NEEDS_LOCK();
    line_close(line);
    line->site = NULL;
    if (!journal_on)
        return;
    line->end = put_begin(line, when);
    line_text(line, "did", did);
}

/* Begins the line of a call that differs from the site's, which calls through a pointer. */
static void begin_other_call(struct journal_line *line, time_ns when, const char *call,
                             uint64_t number)
{
    line->end = put_begin(line, when);
    line_text(line, "call", call);
    line_number(line, "number", number);
}

void line_begin_call(struct journal_line *line, time_ns when, void *site, const char *call,
                     uint64_t number)
{
    NEEDS_LOCK();
    struct journal_site *known = journal_site(site, call);
    line->site = known;
    if (known->call != call) {
        begin_other_call(line, when, call, number);
        return;
    }
    char *to = put_blocks(put_begin(line, when), known->head, known->head_length);
    line->end = put_number(to, number);
}

void line_drop(struct journal_line *line)
{
    NEEDS_LOCK();
    if (journal.open == line)
        journal.open = NULL;
    line_close(line);
}

/* Appends a line that was set aside to the buffer, now that it has ended. */
static void put_back(struct journal_line *line)
{
    char *to = put_number_of_line(place_line());
    line->end = put_blocks(to, line->fields, (size_t)(line->end - line->fields));
}

/* Makes the line the last one in the buffer. Returns the end of its fields. */
static inline char *put_fields(struct journal_line *line)
{
    if (journal.open != line)
        put_back(line);
    journal.open = NULL;
    journal.lines++;
    return line->end;
}

static inline void put_end(struct journal_line *line, char *to)
{
    memcpy(to, "}\n", 2);
    journal.used = (size_t)(to + 2 - journal.buffer);
    line_close(line);
}

void line_write(struct journal_line *line)
{
    NEEDS_LOCK();
    if (line_is_open(line) && journal_on)
        put_end(line, put_fields(line));
}

void line_write_call(struct journal_line *line, time_ns end, const char *error)
{
    NEEDS_LOCK();
    if (!line_is_open(line) || !journal_on)
        return;
    char *to = line_key(line, "end");
    if (to)
        line->end = put_number(to, end);
    if (error)
        line_text(line, "result", error);
    size_t from = error ? strlen(JOURNAL_SUCCESS) : 0;
    put_end(line, put_site(put_fields(line), line->site, from));
}

void journal_open(void)
{
    NEEDS_LOCK();
    if (!settings.journal)
        return;
    journal.file = os_open("SIM_JOURNAL", settings.journal, "the journal (SIM_JOURNAL)");
    journal_on = true;
}

void journal_close(void)
{
    NEEDS_LOCK();
    if (!journal_on)
        return;
    journal_flush(true);
    journal_on = false;
    os_close(journal.file);
}
