/* The laws of memory, walked: those of each heap, of pools and their watermarks, of graphs' memory,
 * and of each device's account. With SIM_CHECK_LAWS=1 they are walked after each call of any
 * program, which takes time that grows with what is live. */
#ifndef SIM_API_LAWS_H
#define SIM_API_LAWS_H

#include <driver_types.h>

#include "base/settings.h"

/* Returns the first law that does not hold, as the end of a sentence; NULL: all hold. Needs the
 * lock. */
const char *laws_broken(void);
/* Ends the process with a sentence when a law does not hold after this call. Needs the lock. */
void laws_check(const char *call);

/* What the call returns, after the walk, if one is wanted. */
static inline cudaError_t laws_checked(const char *call, cudaError_t result)
{
    if (settings.check_laws)
        laws_check(call);
    return result;
}

#endif
