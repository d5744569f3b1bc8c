/* A program's own kernels (user_kernels.h): the parts of a launch, its work in a stream, and the
 * comparison of its function with the declaration. All of these need the lock. */
#ifndef SIM_RUN_USER_KERNEL_H
#define SIM_RUN_USER_KERNEL_H

/* Its functions are exported, here as in api/call.h. */
#pragma GCC visibility push(default)
#include "user_kernels.h"
#pragma GCC visibility pop

#include "base/origin.h"
#include "sched/stream.h"

/* A launch, in one piece of memory like a struct nvcc_kernel. The argument follows the ranges. */
struct user_kernel {
    size_t size;
    /* Lives as long as the process. */
    const char *name;
    sim_function function;
    /* The launching call. Set in an op's copy. */
    struct origin origin;
    /* 0: computed from the bytes. */
    time_ns duration;
    size_t count;
    struct sim_range ranges[];
};

/* Returns a launch, which the caller owns; NULL, after a sentence, if its parts make no sense. */
struct user_kernel *user_kernel_new(const char *name, sim_function function, const void *argument,
                                    size_t argument_bytes, const struct sim_range *ranges,
                                    size_t count, time_ns duration);
/* Returns the bytes of all ranges. */
size_t user_kernel_bytes(const struct user_kernel *kernel);

/* Queues the work with a copy of the launch. */
cudaError_t command_user_kernel(const struct call *call, const struct user_kernel *kernel,
                                struct stream *s);

/* Called when the program touched a device address or closed memory. If the function of a kernel
 * did so, ends the process with a report, because it may only touch what is in `memory`. */
void user_kernel_touched(const void *address);

/* Returns the error of a launch of this shape, or cudaSuccess. A block has at most `most` threads,
 * if that is not 0. */
cudaError_t kernel_check_shape(dim3 grid, dim3 block, unsigned most);

#endif
