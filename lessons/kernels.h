/* The device code of the lessons, callable from C. A GPU runs kernels.cu; the simulated device has
 * kernels of its own. Each call puts one kernel into `stream` and returns without waiting for it.
 * Stream 0 is the legacy stream, also in a program that is compiled for per-thread default streams:
 * kernels.cu is not. `data` is device memory. */
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
/* Busy until *open != 0. `open` points to pinned host memory (gate_create in workbook.h). */
cudaError_t launch_hold(const volatile int *open, cudaStream_t stream);

/* The kernels themselves, for `func` in the parameters of a kernel node (cudaGraphAddKernelNode).
 * `kernelParams` then points to the arguments of the function above without the stream: data,
 * value, count; or open. fill and add do their work with any number of threads; hold takes one. */
void *kernel_fill(void);
void *kernel_add(void);
void *kernel_hold(void);

#ifdef __cplusplus
}
#endif

#endif
