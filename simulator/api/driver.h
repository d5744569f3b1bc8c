/* The functions that do the work of the driver API's calls which have no twin in the runtime. Each
 * returns the runtime's error; the driver's codes have the same numbers, but for those that only
 * the runtime has (api/driver_entry.c). */
#ifndef SIM_API_DRIVER_H
#define SIM_API_DRIVER_H

/* Functions of all versions are declared, each under the name of its symbol. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "api/call.h"
#include "api/context.h"

#define OWN(streams, name, version, since, cost, flags, parameters, work, arguments) \
    cudaError_t do_##name##version work;
#include "driver_calls.inc"

#endif
