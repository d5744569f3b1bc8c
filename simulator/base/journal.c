/* Builds the journal's lines, and buffers them until they are written to the file. */
#include "base/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/observer.h"
#include "base/settings.h"
#include "base/types.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "os/seal.h"

bool journal_on;
struct observer observer;

/* ---- call sites ---- */

/* Room for the longest text, and for the name of a call with the text around it. */
#define JOURNAL_SITE_MAX 1152
#define JOURNAL_CALL_MAX 96

/* The beginning of the text for a call that succeeded, as most do. */
#define JOURNAL_SUCCESS ",\"result\":\"cudaSuccess\""

struct journal_site {
    void *site;
    const char *call;
    /* The site has been looked up. */
    bool is_found;
    /* The beginning of a line of this call: ,"call":"cudaFreeAsync","number": */
    size_t head_length;
    char head[JOURNAL_CALL_MAX + JOURNAL_BLOCK];
    /* The end of the line: JOURNAL_SUCCESS,"file":"solutions/06_trim.c","line":37. The file has the
     * form that reports use (os_source_lines). File and line are missing until the lookup, if the
     * line is unknown, and in a graded run, where nothing reads them and lookups would take too
     * long. */
    size_t length;
    char text[JOURNAL_SITE_MAX + JOURNAL_BLOCK];
};

/* A hash table with open addressing. Invariant: the number of slots is a power of two, each site is
 * at its hash or at the next free slot after it, and at least one slot is free. */
struct journal_slots {
    struct journal_site **slots;
    size_t mask;
};
static struct journal_site *no_site;
static struct journal_slots journal_slots = {&no_site, 0};

static inline size_t journal_site_hash(const void *site)
{
    return ((uintptr_t)site >> 4) * 0x9e3779b97f4a7c15u >> 32;
}

/* Invariant: `all` has `count` sites, and the first `found` have been looked up. The table has more
 * than twice as many slots as sites. */
static struct {
    struct journal_site **all;
    size_t count, found;
} sites;

static struct journal_site **slot_of(const void *site)
{
    size_t at = journal_site_hash(site);
    while (journal_slots.slots[at & journal_slots.mask]
           && journal_slots.slots[at & journal_slots.mask]->site != site)
        at++;
    return &journal_slots.slots[at & journal_slots.mask];
}

static void grow(void)
{
    size_t slot_count = sites.count ? 2 * (journal_slots.mask + 1) : 256;
    sites.all = os_grow(sites.all, slot_count / 2 * sizeof *sites.all);
    if (sites.count)
        os_free(journal_slots.slots);
    journal_slots.slots = os_allocate(slot_count * sizeof *journal_slots.slots);
    journal_slots.mask = slot_count - 1;
    for (size_t i = 0; i < sites.count; i++)
        *slot_of(sites.all[i]->site) = sites.all[i];
}

/* Does what journal_site does for a site that is new or not in the slot of its hash. */
static struct journal_site *journal_site_search(void *site, const char *call)
{
    if (2 * (sites.count + 1) > journal_slots.mask)
        grow();
    struct journal_site **slot = slot_of(site);
    if (*slot)
        return *slot;
    struct journal_site *made = os_allocate(sizeof *made);
    made->site = site;
    made->call = call;
    int length = snprintf(made->head, sizeof made->head, ",\"call\":\"%s\",\"number\":", call);
    made->head_length = (size_t)length;
    made->length = strlen(strcpy(made->text, JOURNAL_SUCCESS));
    return sites.all[sites.count++] = *slot = made;
}

/* Returns the site's entry (os_call_site) for `call`. The entry lives as long as the process. */
static inline struct journal_site *journal_site(void *site, const char *call)
{
    struct journal_site *at = journal_slots.slots[journal_site_hash(site) & journal_slots.mask];
    return at && at->site == site ? at : journal_site_search(site, call);
}

/* ---- the texts of call sites ---- */

/* Returns the length of the UTF-8 character at `text`, or 0 if it is invalid or a control. */
static size_t character_bytes(const unsigned char *text)
{
    size_t bytes = *text < 0x80 ? 1 : *text < 0xe0 ? 2 : *text < 0xf0 ? 3 : 4;
    if (*text < 0x20 || (*text >= 0x80 && *text < 0xc2) || *text > 0xf4)
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool is_long = (*text == 0xe0 && text[1] < 0xa0) || (*text == 0xf0 && text[1] < 0x90),
         is_surrogate = *text == 0xed && text[1] >= 0xa0,
         is_beyond = *text == 0xf4 && text[1] >= 0x90;
    return is_long || is_surrogate || is_beyond ? 0 : bytes;
}

/* Writes a file name, which may contain any bytes, as JSON text. Invalid characters become question
 * marks. Returns the end. */
static char *put_escaped(char *to, const char *from, const char *end)
{
    while (from < end) {
        size_t bytes = character_bytes((const unsigned char *)from);
        if (*from == '"' || *from == '\\')
            *to++ = '\\';
        if (bytes)
            memcpy(to, from, bytes);
        else
            *to = '?';
        to += bytes ? bytes : 1;
        from += bytes ? bytes : 1;
    }
    return to;
}

/* Makes the text of a site from the file and line that reports use. */
static void make_text(struct journal_site *site, const struct os_source_loc *loc)
{
    _Static_assert(2 * sizeof loc->text + 96 <= JOURNAL_SITE_MAX, "each character escaped");
    char *to = site->text + site->length, *end;
    const char *colon = strrchr(loc->text, ':');
    unsigned long line = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (line && !*end) {
        to += sprintf(to, ",\"file\":\"");
        to = put_escaped(to, loc->text, colon);
        to += sprintf(to, "\",\"line\":%lu", line);
    }
    site->length = (size_t)(to - site->text);
    site->is_found = true;
}

/* Looks up the sites that have not been looked up yet. */
static void journal_sites_find(void)
{
    while (sites.found < sites.count) {
        /* Static, because a thread of the program may have a small stack. */
        static struct os_source_loc locs[OS_SOURCE_LOC_MAX];
        struct os_source_loc *each[OS_SOURCE_LOC_MAX];
        size_t n = 0;
        for (; n < OS_SOURCE_LOC_MAX && sites.found + n < sites.count; n++) {
            const struct journal_site *site = sites.all[sites.found + n];
            locs[n] = (struct os_source_loc){.site = site->site, .call = site->call};
            each[n] = &locs[n];
        }
        if (!seal_is_closed())
            os_source_lines(each, n);
        for (size_t i = 0; i < n; i++)
            make_text(sites.all[sites.found++], &locs[i]);
    }
}

/* ---- lines ---- */

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
