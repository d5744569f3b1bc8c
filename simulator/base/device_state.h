/* What every layer may need of the devices: which there are, which one is current, and whether a
 * fault has ended them. */
#ifndef SIM_BASE_DEVICE_STATE_H
#define SIM_BASE_DEVICE_STATE_H

#include <driver_types.h>

#include "base/settings.h"
#include "base/types.h"

/* The calling thread's current device. No lock is needed. */
int device_current(void);
void device_set_current(int device);
static inline bool device_exists(int device) { return device >= 0 && device < settings.devices; }

/* A kernel has done what a device does not survive: from now on every call returns this (measured:
 * p2p.txt, cudaErrorIllegalAddress at every call after it, on all devices of the process). A second
 * fault changes nothing. Needs the lock. */
void device_fault(cudaError_t error);
/* Calls `listener` at the first fault. There is one listener; it may be set again. Needs the
 * lock. */
void device_on_fault(void (*listener)(void));
/* The devices were reset after a fault: from now on every call returns cudaErrorDevicesUnavailable
 * (measured: probe-reset.txt, "after_fault"). Needs the lock. */
void device_lost(void);
/* The error of the fault, or that of device_lost; cudaSuccess before. Needs the lock; only these
 * two write it. */
extern cudaError_t device_sticky_error;

#endif
