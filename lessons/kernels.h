/* The device code of the lessons, callable from C. A GPU runs kernels.cu; the simulated device
 * brings its own. Each call puts one kernel into `stream` and returns at once. `data` is device
 * memory. */
#ifndef KERNELS_H
#define KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* data[i] = value. */
cudaError_t launch_fill(int *data, int value, size_t count, cudaStream_t stream);
/* data[i] += value. */
cudaError_t launch_add(int *data, int value, size_t count, cudaStream_t stream);
/* Busy until *open != 0; pinned mapped host memory. */
cudaError_t launch_hold(const volatile int *open, cudaStream_t stream);

/* The kernels themselves, for what names one by a pointer: `func` of a kernel node's parameters
 * (cudaGraphAddKernelNode). `kernelParams` then points to what the function above takes, less the
 * stream: data, value, count; or open. fill and add do their work with any number of threads; hold
 * takes one. */
void *kernel_fill(void);
void *kernel_add(void);
void *kernel_hold(void);

#ifdef __cplusplus
}
#endif

#endif
