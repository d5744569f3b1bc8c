/* Checks the invariants of memory: of each heap, of pools and their watermarks, of graphs' memory,
 * and of each device's account. SIM_CHECK_LAWS=1 checks them after each call of any program, which
 * takes time in proportion to the live memory. */
#ifndef SIM_API_LAWS_H
#define SIM_API_LAWS_H

#include <driver_types.h>

#include "base/settings.h"

/* Returns the first violated invariant, as the end of a sentence, or NULL. Needs the lock. */
const char *laws_broken(void);
/* Ends the process with a sentence if an invariant does not hold after this call. Needs the
 * lock. */
void laws_check(const char *call);

/* Returns the call's result, after the check if it is turned on. */
static inline cudaError_t laws_checked(const char *call, cudaError_t result)
{
    if (settings.check_laws)
        laws_check(call);
    return result;
}

#endif
