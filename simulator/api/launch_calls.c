/* Calls: launches of kernels that nvcc built. */
#include "api/call.h"
#include "graph/dispatch.h"
#include "mem/device.h"
#include "os/os.h"
#include "run/device_variable.h"

/* Says once of each kernel why it does not run. The error is that of a GPU for which the program
 * has no code (documented: cudaErrorNoKernelImageForDevice). */
static cudaError_t refuse(struct registered_kernel *k, const char *why)
{
    if (!k->refusal_said)
        diag("the kernel %s was built by nvcc and does not run here: %s. Its launches return "
             "cudaErrorNoKernelImageForDevice, and nothing of them happens. The page \"Run your "
             "own program\" of the book says what runs, and how a kernel gets a function for the "
             "CPU.",
             k->name, why);
    k->refusal_said = true;
    return cudaErrorNoKernelImageForDevice;
}

/* Documented for the driver's launch: grids and blocks have limits. Assumed: the codes of those of
 * one kernel, __launch_bounds__ and dynamic shared memory. */
static cudaError_t check_shape(const struct registered_kernel *k, const struct kernel_code *code,
                               dim3 grid, dim3 block, size_t shared_bytes)
{
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    unsigned most = code->entry->function->max_threads;
    size_t limit = k->shared_limit ? k->shared_limit : 48 * KiB;
    if (!threads || !grid.x || !grid.y || !grid.z || block.x > 1024 || block.y > 1024
        || block.z > 64 || threads > 1024 || grid.x > 2147483647 || grid.y > 65535 || grid.z > 65535
        || (most && threads > most))
        return cudaErrorInvalidConfiguration;
    return code->static_shared_bytes + shared_bytes > limit ? cudaErrorInvalidValue : cudaSuccess;
}

struct launch {
    const void *host;
    dim3 grid, block;
    void **arguments;
    size_t shared_bytes;
    cudaStream_t stream;
    bool cooperative;
};

/* Documented: cudaErrorInvalidDeviceFunction for what is no kernel. */
static cudaError_t launch(struct call *call, const struct launch *l)
{
    struct stream *s = call_stream(call, l->stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    struct registered_kernel *k = registry_kernel(l->host);
    if (!k)
        return cudaErrorInvalidDeviceFunction;
    line_text(&call->line, "kernel", k->name);
    const char *why;
    const struct kernel_code *code = registry_code(k, s->device, device_variable_address, &why);
    if (!code)
        return refuse(k, why);
    cudaError_t e = check_shape(k, code, l->grid, l->block, l->shared_bytes);
    if (e)
        return e;
    struct nvcc_kernel *kernel =
        nvcc_kernel_new(k, code, l->grid, l->block, l->shared_bytes, l->cooperative, l->arguments);
    /* Reports and nodes name the kernel. */
    call->origin.call = k->name;
    e = dispatch_nvcc_kernel(call, kernel, s);
    os_free(kernel);
    return e;
}

cudaError_t do___cudaLaunchKernel(struct call *call, const void *kernel, dim3 grid, dim3 block,
                                  void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    return launch(call,
                  &(struct launch){kernel, grid, block, arguments, shared_bytes, stream, false});
}

cudaError_t do_cudaLaunchKernel(struct call *call, const void *kernel, dim3 grid, dim3 block,
                                void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    return do___cudaLaunchKernel(call, kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t do_cudaLaunchCooperativeKernel(struct call *call, const void *kernel, dim3 grid,
                                           dim3 block, void **arguments, size_t shared_bytes,
                                           cudaStream_t stream)
{
    return launch(call,
                  &(struct launch){kernel, grid, block, arguments, shared_bytes, stream, true});
}

cudaError_t do_cudaLaunchKernelExC(struct call *call, const cudaLaunchConfig_t *config,
                                   const void *kernel, void **arguments)
{
    if (!config)
        return cudaErrorInvalidValue;
    bool cooperative = false;
    for (unsigned n = 0; n < config->numAttrs; n++) {
        const cudaLaunchAttribute *a = &config->attrs[n];
        cooperative |= a->id == cudaLaunchAttributeCooperative && a->val.cooperative;
    }
    return launch(call, &(struct launch){kernel, config->gridDim, config->blockDim, arguments,
                                         config->dynamicSmemBytes, config->stream, cooperative});
}
