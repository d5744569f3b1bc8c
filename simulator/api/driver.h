/* The functions that do the work of the driver API's calls which have no twin in the runtime. Each
 * returns the runtime's error; the driver's codes have the same numbers, except those that only
 * the runtime has (api/driver_entry.c). */
#ifndef SIM_API_DRIVER_H
#define SIM_API_DRIVER_H

/* Functions of all versions are declared, each under the name of its symbol. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "api/call.h"
#include "api/context.h"
#include "api/launches.h"

/* Returns the flags of the current context, which there must be. */
unsigned context_flags(void);
/* Copies as a driver's structure describes them; `stream` is NULL for a call that blocks. */
cudaError_t driver_copy_2d(struct call *call, const CUDA_MEMCPY2D *copy,
                           const cudaStream_t *stream);
cudaError_t driver_copy_3d(struct call *call, const CUDA_MEMCPY3D *copy,
                           const cudaStream_t *stream);
/* Loads an image for a device or NO_DEVICE. `*handle` becomes the handle of its module or library.
 */
cudaError_t driver_load(const struct call *call, void **handle, const void *image, int device,
                        unsigned count, const CUjit_option *options, void **values);
/* Launches a kernel, whose arguments are l.arguments or in `extra`. */
cudaError_t driver_launch(struct call *call, struct launch l, void **extra);
/* Stores what a texture or surface object was made of. */
cudaError_t driver_resource(CUDA_RESOURCE_DESC *d, uint64_t handle, bool is_surface);

#endif
