/* The device code of the lessons, for a GPU.
 *
 * A launch returns its own error only: cudaLaunchKernel's, and not one that an earlier call left
 * behind, so a lesson may provoke an error and go on. A kernel's code is loaded when the kernel is
 * first launched, and loading may wait for the device. While a stream holds, the device would then
 * wait for the host and the host for the device, forever. So launch_hold first loads every kernel
 * of this file. Add a new kernel to its list. */
#include "kernels.h"

static __global__ void fill(int *data, int value, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        data[i] = value;
}

static __global__ void add(int *data, int value, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        data[i] += value;
}

static __global__ void hold(const volatile int *open)
{
    while (*open == 0)
        __nanosleep(1000);
}

/* fill and add take the same arguments, so one function launches both: 256 threads in a thread
 * block, at most 1024 thread blocks. */
static cudaError_t launch(const void *kernel, int *data, int value, size_t count,
                          cudaStream_t stream)
{
    if (count == 0)
        return cudaSuccess;
    size_t blocks = (count + 255) / 256;
    void *arguments[] = {&data, &value, &count};
    return cudaLaunchKernel(kernel, dim3(blocks < 1024 ? (unsigned)blocks : 1024), dim3(256),
                            arguments, 0, stream);
}

cudaError_t launch_fill(int *data, int value, size_t count, cudaStream_t stream)
{
    return launch((const void *)fill, data, value, count, stream);
}

cudaError_t launch_add(int *data, int value, size_t count, cudaStream_t stream)
{
    return launch((const void *)add, data, value, count, stream);
}

cudaError_t launch_hold(const volatile int *open, cudaStream_t stream)
{
    const void *kernels[] = {(const void *)fill, (const void *)add, (const void *)hold};
    for (const void *kernel : kernels) {
        cudaFuncAttributes unused;
        cudaError_t result = cudaFuncGetAttributes(&unused, kernel);
        if (result != cudaSuccess)
            return result;
    }
    void *arguments[] = {&open};
    return cudaLaunchKernel((const void *)hold, dim3(1), dim3(1), arguments, 0, stream);
}

void *kernel_fill(void) { return (void *)fill; }
void *kernel_add(void) { return (void *)add; }
void *kernel_hold(void) { return (void *)hold; }
