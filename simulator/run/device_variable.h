/* Variables of device code: each device that uses a __device__ or __constant__ variable has its
 * own, while a __managed__ one is shared by all devices and the host. All of these need the
 * lock. */
#ifndef SIM_RUN_DEVICE_VARIABLE_H
#define SIM_RUN_DEVICE_VARIABLE_H

#include "base/origin.h"
#include "module/module.h"

/* Returns the variable's address on a device. The first request allocates and initializes it. Ends
 * the process with a sentence if there is no memory. */
uint64_t device_variable_address(struct variable *v, int device);
/* Frees the variables of these modules, which the program unloads, except shared ones. Assumed:
 * unloading waits for the work before it. So if there is such work, nothing is freed, and no report
 * says that a variable was used later. */
void device_variables_end(const struct call *call, const struct module *modules);
/* Gives the device's variables, except shared ones, their first values again. */
void device_variables_reset(int device);

#endif
