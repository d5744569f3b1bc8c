/* Calls: launches of kernels that nvcc built. */
#include "api/call.h"
#include "os/os.h"
#include "ptx/registry.h"

/* Says once of each kernel why it does not run. The error is that of a GPU for which the program
 * has no code (documented: cudaErrorNoKernelImageForDevice). */
static cudaError_t refuse(struct registered_kernel *k)
{
    if (!k->refusal_said)
        diag("the kernel %s was built by nvcc, and the simulated device runs no such kernel: the "
             "launch returns cudaErrorNoKernelImageForDevice, and nothing of it happens. Give the "
             "kernel a function for the CPU and launch it with sim_launch (the page \"Run your own "
             "program\" of the book).",
             k->name);
    k->refusal_said = true;
    return cudaErrorNoKernelImageForDevice;
}

/* Documented: cudaErrorInvalidDeviceFunction for what is no kernel. */
static cudaError_t launch(struct call *call, const void *kernel, cudaStream_t stream)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    struct registered_kernel *k = registry_kernel(kernel);
    if (!k)
        return cudaErrorInvalidDeviceFunction;
    line_text(&call->line, "kernel", k->name);
    return refuse(k);
}

cudaError_t do___cudaLaunchKernel(struct call *call, const void *kernel, dim3 grid, dim3 block,
                                  void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    (void)grid, (void)block, (void)arguments, (void)shared_bytes;
    return launch(call, kernel, stream);
}

cudaError_t do_cudaLaunchKernel(struct call *call, const void *kernel, dim3 grid, dim3 block,
                                void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    (void)grid, (void)block, (void)arguments, (void)shared_bytes;
    return launch(call, kernel, stream);
}

cudaError_t do_cudaLaunchCooperativeKernel(struct call *call, const void *kernel, dim3 grid,
                                           dim3 block, void **arguments, size_t shared_bytes,
                                           cudaStream_t stream)
{
    (void)grid, (void)block, (void)arguments, (void)shared_bytes;
    return launch(call, kernel, stream);
}

cudaError_t do_cudaLaunchKernelExC(struct call *call, const cudaLaunchConfig_t *config,
                                   const void *kernel, void **arguments)
{
    (void)arguments;
    return config ? launch(call, kernel, config->stream) : cudaErrorInvalidValue;
}
