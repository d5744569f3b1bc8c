/* Kernels that nvcc built, as work of a stream: a launch runs the kernel's PTX when its time comes.
 * All of these need the lock. */
#ifndef SIM_RUN_NVCC_KERNEL_H
#define SIM_RUN_NVCC_KERNEL_H

#include <driver_types.h>

#include "base/origin.h"
#include "check/late_launch.h"
#include "ptx/grid.h"
#include "module/registry.h"
#include "sched/stream.h"

/* A launch. It is one piece of memory of `size` bytes, so that nodes, executable graphs, and ops
 * can each have a copy, which they free with os_free. */
struct nvcc_kernel {
    size_t size;
    struct registered_kernel *kernel;
    const struct kernel_code *code;
    /* Its `parameters` are set when the launch runs. */
    struct launch_shape shape;
    /* In an op's copy: what the checker keeps for the launch. */
    struct late_launch *late;
    /* As in struct launch. */
    bool overlaps;
    /* Attributes of its node that change nothing here. */
    struct node_hints {
        struct cudaAccessPolicyWindow window;
        cudaLaunchMemSyncDomainMap domains;
        cudaLaunchMemSyncDomain domain;
        int priority;
        unsigned carveout;
    } hints;
    _Alignas(16) char parameters[];
};

/* Says once for a kernel why it does not run; `why` is the end of the sentence. Returns the error.
 */
cudaError_t nvcc_kernel_refuse(struct registered_kernel *k, const char *why);
/* Refuses to launch the kernel, or to make a node of it: says why, changes the exit status, and
 * returns the error. */
cudaError_t nvcc_kernel_refuse_launch(struct registered_kernel *k, const char *why);
/* Returns how much shared memory a block may have, static memory included. */
size_t nvcc_kernel_shared_limit(const struct registered_kernel *k, const struct kernel_code *code);
/* Return the error of a launch, or a cooperative launch, in this shape, or cudaSuccess. */
cudaError_t nvcc_kernel_check(struct registered_kernel *k, const struct kernel_code *code,
                              dim3 grid, dim3 block, size_t shared_bytes);
cudaError_t nvcc_kernel_check_cooperative(struct registered_kernel *k,
                                          const struct kernel_code *code, dim3 grid, dim3 block,
                                          size_t shared_bytes);
/* Returns how many blocks of this many threads fit into a multiprocessor at once. */
unsigned nvcc_kernel_blocks_that_fit(const struct kernel_code *code, unsigned threads,
                                     size_t shared_bytes);

/* Makes a launch of a kernel that has code for the current device. `arguments` points to each
 * argument. The caller owns the launch, and may set shape.cooperative. */
struct nvcc_kernel *nvcc_kernel_new(struct registered_kernel *k, const struct kernel_code *code,
                                    dim3 grid, dim3 block, size_t shared_bytes,
                                    void *const *arguments);

/* Queues the work with a copy of the launch. */
cudaError_t command_nvcc_kernel(const struct call *call, const struct nvcc_kernel *kernel,
                                struct stream *s);

#endif
