/* What a function that is not modeled does. */
#ifndef SIM_API_UNMODELED_H
#define SIM_API_UNMODELED_H

#include "base/types.h"

/* Says so once for a function (`*reported`), and returns the number of cudaErrorNotSupported, which
 * is `error` for the program. */
int unmodeled(const char *name, const char *error, void *address, void *const *frame,
              bool *reported);

#endif
