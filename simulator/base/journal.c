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

#define BUFFER_SIZE (1u << 18)
#define SITES_MAX   1024
/* Room for a line: its fields and its site, and the number and the time before them. */
#define LONGEST_LINE (sizeof(struct journal_line) + JOURNAL_SITE_MAX + 128)

/* Needs the lock. The file is open while journal_on. */
static struct {
    os_file *file;
    /* How many lines were written. */
    uint64_t lines;
    /* The first `used` bytes of `buffer` wait for the file, and before the byte at each of the
     * first `site_count` positions of `sites`, in their order, what that site has to say: it was
     * not known yet. */
    size_t used, site_count;
    struct {
        size_t at;
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

/* What numbers of 2 to 16 digits were made of lately, by a hash of theirs: most come again, such as
 * times and figures of a pool. Needs the lock. */
#define RECENT_BITS 8
static struct recent {
    uint64_t value, text[2];
    size_t digits;
} recent[1 << RECENT_BITS];

static __attribute__((noinline)) struct recent *make_digits(struct recent *r, uint64_t value)
{
    static const uint64_t limit = 100000000;
    uint64_t high = value / limit;
    r->value = value;
    r->digits = digits_of(value);
    r->text[0] = eight_digits(high ? high : value);
    unsigned unused = (unsigned)(8 * ((high ? 16 : 8) - r->digits));
    r->text[0] >>= unused;
    if (!high)
        return r;
    r->text[1] = eight_digits(value % limit);
    if (unused) {
        r->text[0] |= r->text[1] << (64 - unused);
        r->text[1] >>= unused;
    }
    return r;
}

static char *put_number(char *to, uint64_t value);

/* Writes a number of more than 16 digits. */
static __attribute__((noinline)) char *put_long(char *to, uint64_t value)
{
    uint64_t text = eight_digits(value % 100000000);
    to = put_number(to, value / 100000000);
    memcpy(to, &text, 8);
    return to + 8;
}

/* Writes a number, and up to 15 bytes behind it. Returns its end. */
static inline __attribute__((always_inline)) char *put_number(char *to, uint64_t value)
{
    if (value < 10) {
        *to = (char)('0' + value);
        return to + 1;
    }
    struct recent *r = &recent[value * 0x9e3779b97f4a7c15u >> (64 - RECENT_BITS)];
    if (r->value != value) {
        if (value >= 10000000000000000)
            return put_long(to, value);
        r = make_digits(r, value);
    }
    /* Not both at once: a load of what two stores have just written has to wait for them. */
    memcpy(to, &r->text[0], 8);
    if (r->digits > 8)
        memcpy(to + 8, &r->text[1], 8);
    return to + r->digits;
}

void line_put_number(struct journal_line *line, char *to, uint64_t value)
{
    NEEDS_LOCK();
    line->used = (size_t)(put_number(to, value) - line->text);
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
    if (!journal_on)
        return;
    line->used = JOURNAL_HEAD;
    line_text(line, key, value);
}

void line_site(struct journal_line *line, void *site, const char *call)
{
    NEEDS_LOCK();
    line->site = line->used ? journal_site(site, call) : NULL;
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
        os_write(journal.file, site->text, site->length);
        written = journal.sites[i].at;
    }
    os_write(journal.file, journal.buffer + written, journal.used - written);
    os_flush(journal.file);
    journal.used = journal.site_count = 0;
}

/* Writes the text of a line's site where it is known, else notes that it belongs here. Returns the
 * end. */
static char *put_site(char *to, struct journal_site *site)
{
    if (!site->is_found) {
        journal.sites[journal.site_count].at = (size_t)(to - journal.buffer);
        journal.sites[journal.site_count++].site = site;
        return to;
    }
    memcpy(to, site->text, site->length);
    return to + site->length;
}

void line_write(struct journal_line *line, time_ns when)
{
    NEEDS_LOCK();
    static const char number_key[] = "{\"n\":", time_key[] = ",\"t\":";
    if (!line->used || !journal_on)
        return;
    if (BUFFER_SIZE - journal.used < LONGEST_LINE || journal.site_count == SITES_MAX)
        journal_flush(true);
    char *to = journal.buffer + journal.used;
    memcpy(to, number_key, strlen(number_key));
    to = put_number(to + strlen(number_key), journal.lines++);
    memcpy(to, time_key, strlen(time_key));
    to = put_number(to + strlen(time_key), when);
    memcpy(to, line->text + JOURNAL_HEAD, line->used - JOURNAL_HEAD);
    to += line->used - JOURNAL_HEAD;
    if (line->site)
        to = put_site(to, line->site);
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
