/* What a function that is not modeled does. */
#ifndef SIM_API_UNMODELED_H
#define SIM_API_UNMODELED_H

#include "base/types.h"

/* Reports the first call of an unmodeled function (`*reported`). Returns the number of
 * cudaErrorNotSupported; `error` is the name that the program's API has for it. */
int unmodeled(const char *name, const char *error, void *address, void *const *frame,
              bool *reported);

#endif
