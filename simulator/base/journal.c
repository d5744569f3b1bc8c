/* The journal's lines. Numbers are put together by hand, because a journalled run may cost at most
 * twice a plain one. */
#include "base/journal.h"

#include "base/journal_sites.h"
#include "base/observer.h"
#include "base/settings.h"
#include "os/needs_lock.h"
#include "os/os.h"

bool journal_on;
struct observer observer;

#define SITES_MAX 1024
/* Room for a line: its fields and its site, and the number and the time before them. */
#define LONGEST_LINE (sizeof(struct journal_line) + JOURNAL_SITE_MAX + 128)
/* Before it is full, a unit of the file is. */
#define BUFFER_SIZE (OS_WRITE_UNIT + LONGEST_LINE)

/* Needs the lock. The file is open while journal_on. */
static struct {
    os_file *file;
    /* How many lines were written. */
    uint64_t lines;
    /* The first `used` bytes of `buffer` wait for the file, and before the byte at each of the
     * first `site_count` positions of `sites`, in their order, the text of that site from `from`
     * on: it was not known yet. */
    size_t used, site_count;
    struct {
        size_t at, from;
        struct journal_site *site;
    } sites[SITES_MAX];
    /* The line that is being made behind those bytes; NULL: none. */
    struct journal_line *open;
    char buffer[BUFFER_SIZE];
} journal;

/* ---- numbers ---- */

static size_t digits_of(uint64_t value)
{
    /* 10 to the power of the index; [0] is less than every value. */
    static const uint64_t powers[] = {
#define FOUR(x) (x), (x)*10, (x)*100, (x)*1000
        0,
        10,
        100,
        1000,
        FOUR(10000),
        FOUR(UINT64_C(100000000)),
        FOUR(UINT64_C(1000000000000)),
        FOUR(UINT64_C(10000000000000000)),
#undef FOUR
    };
    /* The decimal logarithm, or one more: of a number of n bits at most n * 1233 / 4096. */
    size_t guess = (size_t)(64 - __builtin_clzll(value | 1)) * 1233 >> 12;
    return guess + (value >= powers[guess]);
}

/* Returns the eight digits of a value below 10 to the 8th, the first in the lowest byte. Each step
 * splits all parts of the number at once, by a multiplication: into two of four digits, four of
 * two, eight of one. */
static uint64_t eight_digits(uint64_t value)
{
    uint64_t fours = value / 10000 | value % 10000 << 32;
    uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007f0000007f;
    uint64_t twos = ((fours - 100 * hundreds) << 16) + hundreds;
    uint64_t tens = (twos * 103 >> 10) & 0x000f000f000f000f;
    return (tens + ((twos - 10 * tens) << 8)) | 0x3030303030303030;
}

/* Numbers from here on have no struct digits. */
#define NUMBER_MAX UINT64_C(10000000000000000)

struct digits journal_recent[1 << JOURNAL_RECENT_BITS];

static JOURNAL_APART struct digits *make_digits(struct digits *d, uint64_t value)
{
    static const uint64_t limit = 100000000;
    uint64_t high = value / limit, text, behind = 0;
    d->value = value;
    d->count = digits_of(value);
    text = eight_digits(high ? high : value);
    unsigned unused = (unsigned)(8 * ((high ? 16 : 8) - d->count));
    text >>= unused;
    if (high)
        behind = eight_digits(value % limit);
    if (high && unused) {
        text |= behind << (64 - unused);
        behind >>= unused;
    }
    d->text = (journal_word){text, behind};
    return d;
}

/* Writes a number that may have more digits. */
static JOURNAL_RARE char *put_long(char *to, uint64_t value)
{
    struct digits digits;
    if (value < NUMBER_MAX)
        return put_digits(to, make_digits(&digits, value));
    uint64_t text = eight_digits(value % 100000000);
    to = put_long(to, value / 100000000);
    memcpy(to, &text, 8);
    return to + 8;
}

char *journal_put_new(char *to, uint64_t value)
{
    NEEDS_LOCK();
    if (value >= NUMBER_MAX)
        return put_long(to, value);
    return put_digits(to, make_digits(recent_digits(value), value));
}

/* No time comes near it. A time of less than five digits has no base. */
#define NO_BASE (UINT64_MAX / 2)
struct time_digits journal_time = {.base = NO_BASE, .count = 1, .low = '0'};

/* Returns the four digits of a value below 10,000, the first in the lowest byte. */
static uint32_t four_digits(uint32_t value)
{
    uint32_t hundreds = value * 5243 >> 19;
    uint32_t twos = ((value - 100 * hundreds) << 16) + hundreds;
    uint32_t tens = (twos * 103 >> 10) & 0x000f000f;
    return (tens + ((twos - 10 * tens) << 8)) | 0x30303030;
}

/* Makes all digits of a time. */
static JOURNAL_RARE bool set_other_time(time_ns value)
{
    struct time_digits *t = &journal_time;
    struct digits digits;
    if (value >= NUMBER_MAX)
        return false;
    make_digits(&digits, value);
    t->value = value;
    t->text = digits.text;
    t->count = digits.count;
    t->base = value < 10000 ? NO_BASE : value - value % 10000;
    t->at = value < 10000 ? 0 : digits.count - 4;
    memcpy(&t->low, (const char *)&digits.text + t->at, sizeof t->low);
    return true;
}

bool journal_set_time(time_ns value)
{
    NEEDS_LOCK();
    struct time_digits *t = &journal_time;
    if (value - t->base >= 10000)
        return set_other_time(value);
    t->value = value;
    t->low = four_digits((uint32_t)(value - t->base));
    return true;
}

char *journal_put_counted(char *to, struct counter *c, uint64_t value)
{
    NEEDS_LOCK();
    c->left = 0;
    if (value >= NUMBER_MAX)
        return put_long(to, value);
    make_digits(&c->digits, value);
    uint64_t one = UINT64_C(1) << 8 * ((c->digits.count - 1) % 8);
    c->one = c->digits.count > 8 ? (journal_word){0, one} : (journal_word){one, 0};
    c->left = (unsigned)(9 - value % 10);
    return put_digits(to, &c->digits);
}

/* ---- texts ---- */

/* Copies whole blocks: up to JOURNAL_BLOCK - 1 bytes more are read and written. Returns the text's
 * end. */
static inline char *put_blocks(char *to, const char *from, size_t length)
{
    for (size_t i = 0; i < length; i += JOURNAL_BLOCK)
        memcpy(to + i, from + i, JOURNAL_BLOCK);
    return to + length;
}

void journal_ready_number(struct ready_field *ready, size_t key, uint64_t value)
{
    NEEDS_LOCK();
    char text[JOURNAL_READY];
    size_t digits = (size_t)(put_number(text, value) - text);
    memcpy(ready->text + key, text, digits);
    ready->length = key + digits;
    ready->value = value;
}

void journal_ready_text(struct ready_field *ready, size_t key, const char *value)
{
    NEEDS_LOCK();
    size_t bytes = strlen(value), room = JOURNAL_READY - key - 1;
    if (bytes > room)
        bytes = room;
    memcpy(ready->text + key, value, bytes);
    ready->text[key + bytes] = '"';
    ready->length = key + bytes + 1;
    ready->value = (uintptr_t)value;
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

/* Moves the line that is being made out of the buffer. */
static JOURNAL_RARE void set_aside(void)
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

/* Makes room for a line. */
static JOURNAL_RARE void make_room(void)
{
    if (journal.site_count) {
        journal_flush(true);
        return;
    }
    size_t written = os_write_units(journal.file, journal.buffer, journal.used);
    journal.used -= written;
    memmove(journal.buffer, journal.buffer + written, journal.used);
}

static JOURNAL_RARE void note_site(const char *to, size_t from, struct journal_site *site)
{
    journal.sites[journal.site_count].at = (size_t)(to - journal.buffer);
    journal.sites[journal.site_count].from = from;
    journal.sites[journal.site_count++].site = site;
}

/* Writes the text of a site from `from` on where it is known, else notes that it belongs here.
 * Returns the end. */
static inline char *put_site(char *to, struct journal_site *site, size_t from)
{
    if (!site->is_found) {
        note_site(to, from, site);
        return to;
    }
    return put_blocks(to, site->text + from, site->length - from);
}

/* Returns where a line begins in the buffer. */
static inline char *place_line(void)
{
    if (journal.open)
        set_aside();
    if (BUFFER_SIZE - journal.used < LONGEST_LINE || journal.site_count == SITES_MAX)
        make_room();
    return journal.buffer + journal.used;
}

/* Writes what comes before a line's fields. */
static inline char *put_number_of_line(char *to)
{
    static struct counter last = COUNTER_ZERO;
    memcpy(to, "{\"n\":", 5);
    return put_next(to + 5, &last, journal.lines);
}

/* Opens a line with its time. Returns the end of that. */
static inline char *put_begin(struct journal_line *line, time_ns when)
{
    char *to = put_number_of_line(place_line());
    journal.open = line;
    line->fields = to;
    line->stop = to + JOURNAL_FIELDS;
    memcpy(to, ",\"t\":", 5);
    return put_time(to + 5, when);
}

void line_begin(struct journal_line *line, time_ns when, const char *key, const char *value)
{
    NEEDS_LOCK();
    line_close(line);
    line->site = NULL;
    if (!journal_on)
        return;
    line->end = put_begin(line, when);
    line_text(line, key, value);
}

/* A pointer to a function: another call was made there first. */
static JOURNAL_RARE void begin_other_call(struct journal_line *line, time_ns when, const char *call,
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
    /* The number of the last call that had a line. */
    static struct counter last = COUNTER_ZERO;
    struct journal_site *known = journal_site(site, call);
    line->site = known;
    if (known->call != call) {
        begin_other_call(line, when, call, number);
        return;
    }
    char *to = put_blocks(put_begin(line, when), known->head, known->head_length);
    line->end = put_next(to, &last, number);
}

void line_drop(struct journal_line *line)
{
    NEEDS_LOCK();
    if (journal.open == line)
        journal.open = NULL;
    line_close(line);
}

/* Puts a line that was set aside behind those that came before its end. */
static JOURNAL_RARE void put_back(struct journal_line *line)
{
    char *to = put_number_of_line(place_line());
    line->end = put_blocks(to, line->fields, (size_t)(line->end - line->fields));
}

/* Brings a line to the end of the buffer. Returns its own end. */
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
    line_time(line, "end", end);
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
    journal.file = os_open(settings.journal, "the journal (SIM_JOURNAL)");
    if (!journal.file)
        os_fatal("SIM_JOURNAL is \"%s\"; the file cannot be written (%s).", settings.journal,
                 os_open_error());
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
