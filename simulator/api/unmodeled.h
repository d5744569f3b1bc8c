/* What a function that is not modeled does. */
#ifndef SIM_API_UNMODELED_H
#define SIM_API_UNMODELED_H

#include "base/types.h"

/* Reports the first call of an unmodeled function (`*reported`). Returns the number of
 * cudaErrorNotSupported. */
int unmodeled(const char *name, void *address, void *const *frame, bool *reported);

#endif
