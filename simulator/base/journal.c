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

static __attribute__((noinline)) struct digits *make_digits(struct digits *d, uint64_t value)
{
    static const uint64_t limit = 100000000;
    uint64_t high = value / limit;
    d->value = value;
    d->count = digits_of(value);
    d->text[0] = eight_digits(high ? high : value);
    unsigned unused = (unsigned)(8 * ((high ? 16 : 8) - d->count));
    d->text[0] >>= unused;
    if (!high)
        return d;
    d->text[1] = eight_digits(value % limit);
    if (unused) {
        d->text[0] |= d->text[1] << (64 - unused);
        d->text[1] >>= unused;
    }
    return d;
}

/* Writes a number that may have more digits. */
static __attribute__((noinline)) char *put_long(char *to, uint64_t value)
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

/* Writes a number that is mostly one more than the last one with these digits: then only its last
 * digit is another, but for each tenth. Returns its end. */
static inline char *put_next(char *to, struct digits *d, uint64_t value)
{
    if (value != d->value + 1 || value % 10 == 0) {
        if (value >= NUMBER_MAX)
            return put_long(to, value);
        make_digits(d, value);
    } else {
        d->value = value;
        d->text[d->count > 8] += UINT64_C(1) << 8 * ((d->count - 1) % 8);
    }
    return put_digits(to, d);
}

void line_put_text(struct journal_line *line, char *to, const char *value)
{
    NEEDS_LOCK();
    size_t bytes = strlen(value), room = (size_t)(line->text + JOURNAL_STOP - 4 - to);
    if (bytes > room)
        bytes = room;
    *to++ = '"';
    memcpy(to, value, bytes);
    to[bytes] = '"';
    line->used = (size_t)(to + bytes + 1 - line->text);
}

void line_begin(struct journal_line *line, const char *key, const char *value)
{
    NEEDS_LOCK();
    line->used = 0;
    line->site = NULL;
    line->succeeded = false;
    if (!journal_on)
        return;
    line->used = JOURNAL_HEAD;
    line_text(line, key, value);
}

void line_begin_call(struct journal_line *line, void *site, const char *call, uint64_t number)
{
    NEEDS_LOCK();
    /* The number of the last call that had a line. */
    static struct digits last = {.value = NUMBER_MAX};
    line_close(line);
    if (!journal_on)
        return;
    struct journal_site *known = journal_site(site, call);
    if (known->call != call) {
        /* A pointer to a function: another call was made there first. */
        line_begin(line, "call", call);
        line_number(line, "number", number);
        line->site = known;
        return;
    }
    line->site = known;
    line->succeeded = false;
    memcpy(line->text + JOURNAL_HEAD, known->head, known->head_length);
    char *to = line->text + JOURNAL_HEAD + known->head_length;
    line->used = (size_t)(put_next(to, &last, number) - line->text);
}

void line_result(struct journal_line *line, bool succeeded, const char *result)
{
    NEEDS_LOCK();
    if (succeeded && line->site)
        line->succeeded = true;
    else
        line_text(line, "result", result);
}

void journal_flush(bool look_up)
{
    NEEDS_LOCK();
    size_t written = 0;
    if (!journal_on)
        return;
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

/* Writes the text of a line's site where it is known, else notes that it belongs here. Returns the
 * end. */
static char *put_site(char *to, const struct journal_line *line)
{
    struct journal_site *site = line->site;
    size_t from = line->succeeded ? 0 : strlen(JOURNAL_SUCCESS);
    if (!site->is_found) {
        journal.sites[journal.site_count].at = (size_t)(to - journal.buffer);
        journal.sites[journal.site_count].from = from;
        journal.sites[journal.site_count++].site = site;
        return to;
    }
    memcpy(to, site->text + from, site->length - from);
    return to + site->length - from;
}

void line_write(struct journal_line *line, time_ns when)
{
    NEEDS_LOCK();
    static const char number_key[] = "{\"n\":", time_key[] = ",\"t\":";
    static struct digits last = {.value = NUMBER_MAX};
    if (!line->used || !journal_on)
        return;
    if (BUFFER_SIZE - journal.used < LONGEST_LINE || journal.site_count == SITES_MAX)
        make_room();
    char *to = journal.buffer + journal.used;
    memcpy(to, number_key, strlen(number_key));
    to = put_next(to + strlen(number_key), &last, journal.lines++);
    memcpy(to, time_key, strlen(time_key));
    to = put_number(to + strlen(time_key), when);
    memcpy(to, line->text + JOURNAL_HEAD, line->used - JOURNAL_HEAD);
    to += line->used - JOURNAL_HEAD;
    if (line->site)
        to = put_site(to, line);
    memcpy(to, "}\n", 2);
    journal.used = (size_t)(to + 2 - journal.buffer);
    line_close(line);
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
