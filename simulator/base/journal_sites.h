/* Where the calls of a journal stand in the program's source: a text for each site. All of these
 * need the lock. */
#ifndef SIM_BASE_JOURNAL_SITES_H
#define SIM_BASE_JOURNAL_SITES_H

#include <stdbool.h>
#include <stddef.h>

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
    char head[JOURNAL_CALL_MAX];
    /* How it ends, JOURNAL_SUCCESS,"file":"solutions/07_trim.c","line":37: the file as reports have
     * it (os_source_lines). No file until it was looked up, where the line is not known, and in a
     * graded run, where nobody reads it and many programs run. */
    size_t length;
    char text[JOURNAL_SITE_MAX];
};

/* Returns what stands for a site (os_call_site), at which a call of this name was made first. It
 * lives as long as the process. */
struct journal_site *journal_site(void *site, const char *call);
/* Looks up those sites that were not looked up yet. */
void journal_sites_find(void);

#endif
