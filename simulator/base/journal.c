/* The journal's lines. Numbers are put together by hand, because a journalled run may cost at most
 * twice a plain one. */
#include "base/journal.h"

#include "base/journal_sites.h"
#include "base/observer.h"
#include "base/settings.h"
#include "os/os.h"

bool journal_on;
struct observer observer;

#define BUFFER_SIZE (1u << 16)
#define SITES_MAX   1024

/* Needs the lock. The file is open while journal_on. */
static struct {
    os_file *file;
    /* How many lines were written. */
    uint64_t lines;
    /* The first `used` bytes of `buffer` wait for the file, and before the byte at each of the
     * first `site_count` positions of `sites`, in their order, what that site has to say. */
    size_t used, site_count;
    struct {
        size_t at;
        struct journal_site *site;
    } sites[SITES_MAX];
    char buffer[BUFFER_SIZE];
} journal;

/* "00" to "99": a number is written two digits at a time, for half of the divisions. */
static const char pairs[] = "000102030405060708091011121314151617181920212223242526272829"
                            "303132333435363738394041424344454647484950515253545556575859"
                            "606162636465666768697071727374757677787980818283848586878889"
                            "90919293949596979899";

/* Writes a number that ends before `end`. Returns its start. */
static char *number_before(char *end, uint64_t value)
{
    for (; value >= 100; value /= 100)
        memcpy(end -= 2, pairs + 2 * (value % 100), 2);
    if (value >= 10)
        return memcpy(end - 2, pairs + 2 * value, 2);
    end[-1] = (char)('0' + value);
    return end - 1;
}

static size_t digits_of(uint64_t value)
{
    size_t digits = 1;
    for (uint64_t power = 10; value >= power && digits < 20; power *= 10)
        digits++;
    return digits;
}

void line_put_number(struct journal_line *line, char *to, uint64_t value)
{
    size_t digits = digits_of(value);
    number_before(to + digits, value);
    line->used = (size_t)(to + digits - line->text);
}

void line_put_text(struct journal_line *line, char *to, const char *value)
{
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
    line->used = 0;
    line->site = NULL;
    if (!journal_on)
        return;
    line->used = JOURNAL_HEAD;
    line_text(line, key, value);
}

void line_site(struct journal_line *line, void *site, const char *call)
{
    line->site = line->used ? journal_site(site, call) : NULL;
}

static void flush(void)
{
    size_t written = 0;
    journal_sites_find();
    for (size_t i = 0; i < journal.site_count; i++) {
        const struct journal_site *site = journal.sites[i].site;
        os_write(journal.file, journal.buffer + written, journal.sites[i].at - written);
        os_write(journal.file, site->text, site->length);
        written = journal.sites[i].at;
    }
    os_write(journal.file, journal.buffer + written, journal.used - written);
    journal.used = journal.site_count = 0;
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
    size_t bytes = (size_t)(line->text + line->used - start);
    if (journal.used + bytes + 2 > BUFFER_SIZE || journal.site_count == SITES_MAX)
        flush();
    memcpy(journal.buffer + journal.used, start, bytes);
    journal.used += bytes;
    if (line->site) {
        journal.sites[journal.site_count].at = journal.used;
        journal.sites[journal.site_count++].site = line->site;
    }
    memcpy(journal.buffer + journal.used, "}\n", 2);
    journal.used += 2;
    line_close(line);
}

void journal_open(void)
{
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
    if (!journal_on)
        return;
    journal_on = false;
    flush();
    os_close(journal.file);
}
