/* The functions that are not modeled. */
#ifndef SIM_API_UNMODELED_H
#define SIM_API_UNMODELED_H

#include "api/call.h"
#include "os/os.h"

/* Reports the first call of an unmodeled function (`*reported`). Returns the number of
 * cudaErrorNotSupported. */
int unmodeled(const char *name, void *address, void *const *frame, bool *reported);

/* Defines such a function. The arguments do not matter, and each returns a number. The headers' own
 * prototypes prevent defining the names in C, so the assembler names the symbols. */
#define UNMODELED_FUNCTION(name)                                            \
    EXPORT int unmodeled_##name(void) __asm__(#name);                       \
    int unmodeled_##name(void)                                              \
    {                                                                       \
        static bool reported;                                               \
        return unmodeled(#name, OS_CALL_ADDRESS, OS_CALL_FRAME, &reported); \
    }

#endif
