/* The summary of a run, three lines at the end of the process if SIM_SUMMARY=on: what was checked,
 * what was reported, and what was not checked and why. The rooms above count. Needs the lock. */
#ifndef SIM_BASE_SUMMARY_H
#define SIM_BASE_SUMMARY_H

#include "base/types.h"

struct summary {
    /* All calls, which is the number of the newest. */
    uint32_t calls;
    /* Totals, not what is alive: work that has run, and objects made. */
    unsigned long long kernels, copies, host_functions, allocations, streams;
    /* Allocations that this process has exported or imported. */
    unsigned long long shared;
    /* Kernels that did not run, or not to their end. */
    unsigned long long given_up;
    /* Work that was queued and did not run, because a fault came first. */
    unsigned long long dropped;
    /* Calls that returned an error, the first of these, and the name of its error. */
    unsigned long long failed;
    const char *first_failed, *first_error;
    void *first_failed_site;
    /* Calls of functions that are not simulated, and the first of them. */
    unsigned long long unmodeled;
    const char *first_unmodeled;
    /* The wait that several reports lack, or empty. */
    char one_wait[4096];
};
extern struct summary summary;

/* Prints the summary of `reports` hazards and `left` allocations that were not freed. */
void summary_print(unsigned reports, size_t left);

#endif
