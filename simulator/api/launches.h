/* Where a launch by <<<...>>> was written, for api/entry.c, and launches of kernels after the
 * call's own checks, for api/launch_calls.c and api/driver_module_calls.c. */
#ifndef SIM_API_LAUNCHES_H
#define SIM_API_LAUNCHES_H

#include "api/call.h"
#include "module/registry.h"

/* The OS_CALL_ADDRESS and OS_CALL_FRAME of a call. */
struct call_place {
    void *address;
    void *const *frame;
};

/* Returns the place of the calling thread's launch: that of the program's <<<...>>> if it comes
 * from one, and not in nvcc's code; otherwise the arguments. Called once for each launch. */
struct call_place launch_place(void *address, void *const *frame);

struct launch {
    /* The handle or host function of the kernel (module/registry.h). */
    const void *host;
    dim3 grid, block;
    void **arguments;
    size_t shared_bytes;
    cudaStream_t stream;
    bool cooperative;
    /* Several blocks form a cluster. */
    bool in_clusters;
    /* Its attributes cannot be those of a launch. */
    bool is_malformed;
    /* The launch may begin before the kernel before it in its stream has ended. */
    bool overlaps;
};

/* Adds what these attributes say of the launch. */
void launch_take_attributes(struct launch *l, const cudaLaunchAttribute *attributes, size_t count);
/* Returns whether a launch may have an attribute with this value. */
bool launch_may_have(cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value);
/* Returns the nearest priority that there is. */
int launch_priority(int priority);
/* Queues the launch and returns its error. This and the next need the lock. */
cudaError_t launch_kernel(struct call *call, const struct launch *l);
/* Returns the kernel, with its code for the current device, or an error. */
cudaError_t launch_find_kernel(const void *host, struct registered_kernel **kernel,
                               const struct kernel_code **code);

#endif
