/* The functions that are not modeled. */
#ifndef SIM_API_UNMODELED_H
#define SIM_API_UNMODELED_H

#include "base/types.h"

/* Reports the first call of an unmodeled function (`*reported`). Returns the number of
 * cudaErrorNotSupported. */
int unmodeled(const char *name, void *address, void *const *frame, bool *reported);

/* Returns the newest version of the function of libcuda.so.1 with this name that is not modeled, or
 * NULL if there is none. */
void (*driver_unmodeled(const char *name))(void);

#endif
