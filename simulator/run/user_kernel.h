/* A program's own kernels (user_kernels.h): what a launch is made of, its work in a stream, and
 * what its function does against the declaration.
 *
 * All of these need the lock. */
#ifndef SIM_RUN_USER_KERNEL_H
#define SIM_RUN_USER_KERNEL_H

/* Its functions are visible, here as in api/call.h. */
#pragma GCC visibility push(default)
#include "user_kernels.h"
#pragma GCC visibility pop

#include "base/origin.h"
#include "sched/stream.h"

/* A launch: one piece of memory of `size` bytes, so that a node, an executable graph and an op each
 * have a copy, which they free with os_free. The argument stands behind the ranges. */
struct user_kernel {
    size_t size;
    /* Lives as long as the process. */
    const char *name;
    sim_function function;
    /* Who launched it; set in an op's copy. */
    struct origin origin;
    /* 0: by the bytes. */
    time_ns duration;
    size_t argument_bytes;
    size_t count;
    struct sim_range ranges[];
};

/* Returns a launch that the caller owns; NULL, with a sentence on stderr, when its parts make no
 * sense. */
struct user_kernel *user_kernel_new(const char *name, sim_function function, const void *argument,
                                    size_t argument_bytes, const struct sim_range *ranges,
                                    size_t count, time_ns duration);
struct user_kernel *user_kernel_copy(const struct user_kernel *kernel);
/* The bytes of all its ranges. */
size_t user_kernel_bytes(const struct user_kernel *kernel);

/* Queues the work. It has a copy of the launch. */
cudaError_t command_user_kernel(const struct call *call, const struct user_kernel *kernel,
                                struct stream *s);

/* The program touched a device's address, or closed memory. Ends the process with a report when a
 * kernel's function did so, which may only touch what it finds in `memory`. */
void user_kernel_touched(const void *address);

#endif
