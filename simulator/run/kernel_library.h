/* The library that runs the kernels that nvcc built, libptx.so, which is loaded when a program
 * registers or loads the first of them. All of these need the lock. */
#ifndef SIM_RUN_KERNEL_LIBRARY_H
#define SIM_RUN_KERNEL_LIBRARY_H

#include "module/registry.h"
#include "ptx/ptx_library.h"

/* Loads the library. Returns NULL, or why it cannot be loaded, as the end of a sentence. */
const char *kernel_library_load(void);
/* Returns the kernel's code for a device, or NULL if it cannot run; then `*why` is the reason, as
 * the end of a sentence. */
const struct kernel_code *kernel_library_code(struct registered_kernel *k, int device,
                                              const char **why);
/* Returns the library's functions for a kernel that has code. */
const struct ptx_library *kernel_library(void);

#endif
