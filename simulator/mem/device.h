/* Devices: how much memory each has left, which devices may reach it, and attributes. All of these
 * but the last two need the lock. */
#ifndef SIM_MEM_DEVICE_H
#define SIM_MEM_DEVICE_H

#include <driver_types.h>

#include "base/device_state.h"
#include "base/types.h"

/* Takes physical memory from a device. Returns false if it has no more. The host (NO_DEVICE) never
 * runs out (assumed). */
bool device_take(int device, size_t bytes);
void device_give(int device, size_t bytes);
/* Returns what cudaMemGetInfo reports as free. */
size_t device_free_memory(int device);

/* Returns whether kernels on `device` can reach cudaMalloc allocations of `owner`: always their own
 * device's, and another's after cudaDeviceEnablePeerAccess. */
bool device_peer_accessible(int device, int owner);
void device_set_peer_access(int device, int owner, bool enabled);

/* The numbers of the call that made a device's last reset, and of what was newest then. */
struct last_reset {
    uint32_t call, allocation;
    int stream, event;
};
/* Resets a device. It can no longer reach other devices' memory. Its allocations up to the newest
 * are no longer leaks, except those of pools, and its streams, events, and executable graphs no
 * longer exist. */
void device_reset(int device, struct last_reset newest);
const struct last_reset *device_last_reset(int device);

/* The limits that CUDA has a number for. */
enum { LIMITS = 10 };
/* Get and set a limit of a device. False: it does not exist or cannot have this value. */
bool device_limit(int device, int limit, size_t *value);
cudaError_t device_set_limit(int device, int limit, size_t value);

/* Writes the answer of cudaDeviceGetAttribute: the value of an H200, changed as the settings
 * require. Returns false if there is no such attribute. */
bool device_attribute(int attribute, int *value);
/* Returns the value of an attribute that is never negative, such as a limit. */
static inline size_t device_figure(enum cudaDeviceAttr attribute)
{
    int value = 0;
    device_attribute(attribute, &value);
    return (size_t)value;
}
void device_properties(struct cudaDeviceProp *properties);

#endif
