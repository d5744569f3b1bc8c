/* Where the calls of a journal stand in the program's source: a text for each site. All of these
 * need the lock. */
#ifndef SIM_BASE_JOURNAL_SITES_H
#define SIM_BASE_JOURNAL_SITES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/journal.h"

/* Room for the longest text, and for a call's name and what stands around it. */
#define JOURNAL_SITE_MAX 640
#define JOURNAL_CALL_MAX 96

/* What a text begins with, for a call that has succeeded: most have. */
#define JOURNAL_SUCCESS ",\"result\":\"cudaSuccess\""

struct journal_site {
    void *site;
    const char *call;
    /* It was looked up. */
    bool is_found;
    /* How a line of that call begins: ,"call":"cudaFreeAsync","number": */
    size_t head_length;
    char head[JOURNAL_CALL_MAX + JOURNAL_BLOCK];
    /* How it ends, JOURNAL_SUCCESS,"file":"solutions/06_trim.c","line":37: the file as reports have
     * it (os_source_lines). No file until it was looked up, where the line is not known, and in a
     * graded run, where nobody reads it and many programs run. */
    size_t length;
    char text[JOURNAL_SITE_MAX + JOURNAL_BLOCK];
};

/* Law: each site is in `slots`, a power of two of them, at its hash or at the next free slot behind
 * it; one is free. */
struct journal_slots {
    struct journal_site **slots;
    size_t mask;
};
extern struct journal_slots journal_slots;

static inline size_t journal_site_hash(const void *site)
{
    return ((uintptr_t)site >> 4) * 0x9e3779b97f4a7c15u >> 32;
}

/* The same as journal_site, for a site that is new or not at its hash. */
struct journal_site *journal_site_search(void *site, const char *call);

/* Returns what stands for a site (os_call_site), at which a call of this name was made first. It
 * lives as long as the process. */
static inline struct journal_site *journal_site(void *site, const char *call)
{
    struct journal_site *at = journal_slots.slots[journal_site_hash(site) & journal_slots.mask];
    return at && at->site == site ? at : journal_site_search(site, call);
}

/* Looks up those sites that were not looked up yet. */
void journal_sites_find(void);

#endif
