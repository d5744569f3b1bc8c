/* The current device of each thread, and the fault of the process. */
#include "base/device_state.h"

static cudaError_t sticky_error;
static _Thread_local int current_device;

int device_current(void) { return current_device; }
void device_set_current(int device) { current_device = device; }

void device_fault(cudaError_t error)
{
    if (!sticky_error)
        sticky_error = error;
}

cudaError_t device_sticky_error(void) { return sticky_error; }
