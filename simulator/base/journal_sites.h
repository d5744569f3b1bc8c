/* For each call site in the journal: the text that names its place in the source. Needs the
 * lock. */
#ifndef SIM_BASE_JOURNAL_SITES_H
#define SIM_BASE_JOURNAL_SITES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/journal.h"

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
extern struct journal_slots journal_slots;

static inline size_t journal_site_hash(const void *site)
{
    return ((uintptr_t)site >> 4) * 0x9e3779b97f4a7c15u >> 32;
}

/* Does what journal_site does for a site that is new or not in the slot of its hash. */
struct journal_site *journal_site_search(void *site, const char *call);

/* Returns the site's entry (os_call_site) for `call`. The entry lives as long as the process. */
static inline struct journal_site *journal_site(void *site, const char *call)
{
    struct journal_site *at = journal_slots.slots[journal_site_hash(site) & journal_slots.mask];
    return at && at->site == site ? at : journal_site_search(site, call);
}

/* Looks up the sites that have not been looked up yet. */
void journal_sites_find(void);

#endif
