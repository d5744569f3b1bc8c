/* Devices: how much memory each has left, who may reach it, attributes. */
#ifndef SIM_MEM_DEVICE_H
#define SIM_MEM_DEVICE_H

#include <driver_types.h>

#include "base/device_state.h"
#include "base/types.h"

/* Takes physical memory from a device; false when it has no more. The host (NO_DEVICE) always has
 * some (chosen). */
bool device_take(int device, size_t bytes);
void device_give(int device, size_t bytes);
/* What cudaMemGetInfo says is free. */
size_t device_free_memory(int device);

/* Can kernels on `device` reach plain allocations of `owner`? Always its own; another's after
 * cudaDeviceEnablePeerAccess. */
bool device_peer_accessible(int device, int owner);
void device_set_peer_access(int device, int owner, bool reach);

/* cudaDeviceReset: the device reaches no other's memory any more, and what it has of the blocks
 * numbered up to `newest` is nobody's leak. */
void device_reset(int device, uint32_t newest);
/* The number of the last block that a reset of the device has cleaned up; NO_DEVICE (the host's
 * memory): of any device. */
uint32_t device_last_reset_id(int device);

/* cudaDeviceGetAttribute's answer: the figures of an H200, changed where the settings say so.
 * False: no such attribute. */
bool device_attribute(int attribute, int *value);
void device_properties(struct cudaDeviceProp *properties);

#endif
