/* Where the calls of a journal stand in the program's source: a text for each site. All of these
 * need the lock. */
#ifndef SIM_BASE_JOURNAL_SITES_H
#define SIM_BASE_JOURNAL_SITES_H

#include <stdbool.h>
#include <stddef.h>

/* Room for the longest text. */
#define JOURNAL_SITE_MAX 640

struct journal_site {
    void *site;
    const char *call;
    /* It was looked up. */
    bool is_found;
    /* The fields of a line, ,"file":"solutions/07_trim.c","line":37: the file as reports have it
     * (os_source_lines). Empty until it was looked up, where the line is not known, and in a graded
     * run, where nobody reads it and many programs run. */
    size_t length;
    char text[JOURNAL_SITE_MAX];
};

/* Returns what stands for a site (os_call_site), at which a call of this name was made first. It
 * lives as long as the process. */
struct journal_site *journal_site(void *site, const char *call);
/* Looks up those sites that were not looked up yet. */
void journal_sites_find(void);

#endif
