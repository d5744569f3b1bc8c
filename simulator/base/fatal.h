/* How a program ends that does what no real driver survives: with a hazard that says so, and exit
 * status 3. */
#ifndef SIM_BASE_FATAL_H
#define SIM_BASE_FATAL_H

#include "base/hazard_kinds.h"

/* Reports the hazard, closes the journal and ends the process. `call` is the call that may not
 * return, as the journal names it, or NULL; the report has where fatal_site says that it stands.
 * The text follows the kind's name. Needs the lock. */
void fatal_hazard(enum hazard kind, const char *call, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

/* The return address of the call that this thread is in. */
extern _Thread_local void *fatal_site;

#endif
