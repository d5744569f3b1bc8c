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

#ifdef __cplusplus
}
#endif

#endif
