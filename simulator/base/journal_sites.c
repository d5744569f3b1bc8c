/* The sites of the journal's calls, and their texts. */
#include "base/journal_sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "os/os.h"
#include "os/seal.h"

/* Invariant: `all` has `count` sites, and the first `found` have been looked up. The table has more
 * than twice as many slots as sites. */
static struct {
    struct journal_site **all;
    size_t count, found;
} sites;

static struct journal_site *no_site;
struct journal_slots journal_slots = {&no_site, 0};

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

struct journal_site *journal_site_search(void *site, const char *call)
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

/* ---- texts ---- */

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

void journal_sites_find(void)
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
