/* The functions of libcuda.so.1 that are not modeled. */
#ifndef SIM_API_DRIVER_UNMODELED_H
#define SIM_API_DRIVER_UNMODELED_H

#include "base/types.h"

/* Returns the function with this name, in its newest version; NULL: there is none. */
void (*driver_unmodeled(const char *name))(void);

#endif
