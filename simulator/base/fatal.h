/* Ends a program that did what no real driver survives, with a hazard report and exit status 3. */
#ifndef SIM_BASE_FATAL_H
#define SIM_BASE_FATAL_H

#include "base/hazards.h"

/* Reports the hazard, closes the journal, and ends the process. `call` is the journal's name for
 * the call that may not return, or NULL. fatal_site is its place in the report. The formatted text
 * follows the name of the hazard. Needs the lock. */
void fatal_hazard(enum hazard kind, const char *call, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

/* Ends the process after a report. Needs the lock. */
void fatal_end(void) __attribute__((noreturn));

/* The return address of the thread's current call. */
extern _Thread_local void *fatal_site;

#endif
