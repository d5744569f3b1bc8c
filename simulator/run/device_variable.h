/* Variables of device code: __device__ and __constant__ ones, on each device that uses them, and
 * __managed__ ones, once for all devices and the host. All of these need the lock. */
#ifndef SIM_RUN_DEVICE_VARIABLE_H
#define SIM_RUN_DEVICE_VARIABLE_H

#include "ptx/module.h"

/* Returns the variable's address on a device, where it gets its initial value when it is first
 * asked for. Ends the process with a sentence when there is no memory. */
uint64_t device_variable_address(struct variable *v, int device);

#endif
