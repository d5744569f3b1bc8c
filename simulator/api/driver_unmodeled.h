/* The functions of libcuda.so.1 that are not modeled. */
#ifndef SIM_API_DRIVER_UNMODELED_H
#define SIM_API_DRIVER_UNMODELED_H

#include "base/types.h"

/* Returns the newest version of the unmodeled function with this name, or NULL if there is none. */
void (*driver_unmodeled(const char *name))(void);

#endif
