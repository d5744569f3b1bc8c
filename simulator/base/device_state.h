/* The state of the devices that every room may need: which devices exist, which one is current, and
 * whether a fault has ended them. */
#ifndef SIM_BASE_DEVICE_STATE_H
#define SIM_BASE_DEVICE_STATE_H

#include <driver_types.h>

#include "base/settings.h"
#include "base/types.h"

/* The calling thread's current device. No lock is needed. */
int device_current(void);
void device_set_current(int device);
static inline bool device_exists(int device) { return device >= 0 && device < settings.devices; }

/* Records that a kernel did what no device survives: from now on every call returns `error`
 * (measured: p2p.txt, cudaErrorIllegalAddress at every later call, on all devices of the process).
 * A second fault changes nothing. Needs the lock. */
void device_fault(cudaError_t error);
/* Sets the only listener, which is called at the first fault. Needs the lock. */
void device_on_fault(void (*listener)(void));
/* Records that the devices were reset after a fault: from now on every call returns
 * cudaErrorDevicesUnavailable (measured: probe-reset.txt, "after_fault"). Needs the lock. */
void device_lost(void);
/* The error that device_fault or device_lost has set, or cudaSuccess. Only these two functions
 * write it. Needs the lock. */
extern cudaError_t device_sticky_error;

#endif
