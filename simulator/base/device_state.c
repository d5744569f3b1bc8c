/* The current device of each thread, and the fault of the process. */
#include "base/device_state.h"

cudaError_t device_sticky_error;

static _Thread_local int current_device;

int device_current(void) { return current_device; }
void device_set_current(int device) { current_device = device; }

void device_fault(cudaError_t error)
{
    if (!device_sticky_error)
        device_sticky_error = error;
}

void device_lost(void) { device_sticky_error = cudaErrorDevicesUnavailable; }
