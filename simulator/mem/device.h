/* Devices: how much memory each has left, who may reach it, attributes. All of these but the last
 * two need the lock. */
#ifndef SIM_MEM_DEVICE_H
#define SIM_MEM_DEVICE_H

#include <driver_types.h>

#include "base/device_state.h"
#include "base/types.h"

/* Takes physical memory from a device; returns false when it has no more. The host (NO_DEVICE)
 * always has some (assumed). */
bool device_take(int device, size_t bytes);
void device_give(int device, size_t bytes);
/* Returns what cudaMemGetInfo reports as free. */
size_t device_free_memory(int device);

/* Can kernels on `device` reach plain allocations of `owner`? Always its own; another's after
 * cudaDeviceEnablePeerAccess. */
bool device_peer_accessible(int device, int owner);
void device_set_peer_access(int device, int owner, bool enabled);

/* Resets a device: it reaches no other's memory any more, and of the allocations numbered up to
 * `newest` those on it are nobody's leak, but for those of pools. */
void device_reset(int device, uint32_t newest);
/* Returns the number of the newest allocation at the last reset of the device; NO_DEVICE (the
 * host's memory): of any device. */
uint32_t device_last_reset_id(int device);

/* Writes a limit of a device, or sets one; false: there is no such limit, or not that value. */
bool device_limit(int device, int limit, size_t *value);
bool device_set_limit(int device, int limit, size_t value);

/* Writes cudaDeviceGetAttribute's answer: the figures of an H200, changed where the settings
 * require it. Returns false when there is no such attribute. */
bool device_attribute(int attribute, int *value);
void device_properties(struct cudaDeviceProp *properties);

#endif
