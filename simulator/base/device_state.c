/* The current device of each thread, and the fault of the process. */
#include "base/device_state.h"

#include "os/needs_lock.h"

cudaError_t device_sticky_error;

static _Thread_local int current_device;
/* Needs the lock. */
static void (*fault_listener)(void);

int device_current(void) { return current_device; }
void device_set_current(int device) { current_device = device; }

void device_fault(cudaError_t error)
{
    NEEDS_LOCK();
    if (device_sticky_error)
        return;
    device_sticky_error = error;
    if (fault_listener)
        fault_listener();
}

void device_on_fault(void (*listener)(void))
{
    NEEDS_LOCK();
    fault_listener = listener;
}

void device_lost(void)
{
    NEEDS_LOCK();
    device_sticky_error = cudaErrorDevicesUnavailable;
}
