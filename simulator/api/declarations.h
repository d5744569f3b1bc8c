/* The functions of calls.def, as C headers declare them; at the end those that none declares.
 * api/calls.awk takes the parameters from here, and call.h makes the functions' definitions agree
 * with it. */
#ifndef SIM_API_DECLARATIONS_H
#define SIM_API_DECLARATIONS_H

#include <cuda_runtime_api.h>

#include "kernels.h"
#include "user_kernels.h"

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
/* crt/host_runtime.h is for C++ alone. */
cudaError_t __cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                               size_t sharedMem, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                    size_t sharedMem, cudaStream_t stream);
cudaError_t sim_launch_kernel_ptsz(cudaStream_t stream, const char *name, sim_function function,
                                   const void *argument, size_t argument_bytes,
                                   const struct sim_range *ranges, size_t count,
                                   unsigned long long nanoseconds);

#endif
