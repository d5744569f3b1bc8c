/* Where the calls of a journal stand in the program's source: a text for each site. All of these
 * need the lock. */
#ifndef SIM_BASE_JOURNAL_SITES_H
#define SIM_BASE_JOURNAL_SITES_H

#include <stddef.h>

struct journal_site {
    void *site;
    const char *call;
    /* The fields of a line, ,"file":"solutions/07_trim.c","line":37: the file as reports have it
     * (os_source_lines). Empty where the line is not known, and in a graded run, where nobody reads
     * it and many programs run. NULL until it was looked up. */
    char *text;
    size_t length;
};

/* Returns what stands for a site (os_call_site), at which a call of this name was made first. It
 * lives as long as the process. */
struct journal_site *journal_site(void *site, const char *call);
/* Looks up those sites that were not looked up yet. */
void journal_sites_find(void);

#endif
