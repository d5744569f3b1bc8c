/* Calls that launch kernels built by nvcc, and queries about kernels. */
#include "launch_calls.inc"
#include "api/launches.h"
#include "graph/dispatch.h"
#include "mem/device.h"
#include "os/os.h"
#include "run/kernel_library.h"

/* Documented: cudaErrorInvalidDeviceFunction for anything but a kernel. */
cudaError_t launch_kernel(struct call *call, const struct launch *l)
{
    struct stream *s = call_stream(call, l->stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    struct registered_kernel *k = registry_kernel(l->host);
    if (!k)
        return cudaErrorInvalidDeviceFunction;
    /* Assumed: a module's kernel runs on the device of the module's context alone. */
    if (k->binary->device != NO_DEVICE && k->binary->device != s->device)
        return cudaErrorInvalidResourceHandle;
    line_text(&call->line, "kernel", k->name);
    const char *why;
    const struct kernel_code *code = kernel_library_code(k, s->device, &why);
    if (!code || l->in_clusters)
        return nvcc_kernel_refuse_launch(k, code ? IN_CLUSTERS : why);
    cudaError_t e = (l->cooperative ? nvcc_kernel_check_cooperative : nvcc_kernel_check)(
        k, code, l->grid, l->block, l->shared_bytes);
    if (e)
        return e;
    struct nvcc_kernel *kernel =
        nvcc_kernel_new(k, code, l->grid, l->block, l->shared_bytes, l->arguments);
    kernel->shape.cooperative = l->cooperative;
    kernel->overlaps = l->overlaps;
    /* Reports and nodes name the kernel. */
    call->origin.call = k->name;
    e = dispatch(call, &(struct task){.kind = TASK_NVCC_KERNEL, .nvcc_kernel = kernel}, s);
    os_free(kernel);
    return e;
}

void launch_take_attributes(struct launch *l, const cudaLaunchAttribute *attributes, size_t count)
{
    for (const cudaLaunchAttribute *a = attributes; a < attributes + count; a++) {
        l->cooperative |= a->id == cudaLaunchAttributeCooperative && a->val.cooperative;
        l->in_clusters |=
            a->id == cudaLaunchAttributeClusterDimension
            && (a->val.clusterDim.x > 1 || a->val.clusterDim.y > 1 || a->val.clusterDim.z > 1);
        l->overlaps |= a->id == cudaLaunchAttributeProgrammaticStreamSerialization
                    && a->val.programmaticStreamSerializationAllowed;
    }
}

cudaError_t do_cudaLaunchKernelExC(struct call *call, const cudaLaunchConfig_t *config,
                                   const void *kernel, void **arguments)
{
    if (!config)
        return cudaErrorInvalidValue;
    struct launch l = {.host = kernel,
                       .grid = config->gridDim,
                       .block = config->blockDim,
                       .arguments = arguments,
                       .shared_bytes = config->dynamicSmemBytes,
                       .stream = config->stream};
    launch_take_attributes(&l, config->attrs, config->numAttrs);
    return launch_kernel(call, &l);
}

cudaError_t launch_find_kernel(const void *host, struct registered_kernel **kernel,
                               const struct kernel_code **code)
{
    const char *why;
    *kernel = registry_kernel(host);
    if (!*kernel)
        return cudaErrorInvalidDeviceFunction;
    *code = kernel_library_code(*kernel, device_current(), &why);
    return *code ? cudaSuccess : nvcc_kernel_refuse(*kernel, why);
}

/* Assumed: 32 registers, which PTX does not tell, and no constant memory. */
cudaError_t do_cudaFuncGetAttributes(struct call *call, struct cudaFuncAttributes *attributes,
                                     const void *kernel)
{
    struct registered_kernel *k;
    const struct kernel_code *code;
    if (!attributes)
        return cudaErrorInvalidValue;
    cudaError_t e = launch_find_kernel(kernel, &k, &code);
    if (e)
        return e;
    unsigned most = code->entry->function->max_threads;
    size_t limit = k->shared_limit ? k->shared_limit : 48 * KiB;
    *attributes = (struct cudaFuncAttributes){.sharedSizeBytes = code->static_shared_bytes,
                                              .localSizeBytes = code->entry->frame_bytes,
                                              .maxThreadsPerBlock = most ? (int)most : 1024,
                                              .numRegs = 32,
                                              .ptxVersion = 90,
                                              .binaryVersion = 90,
                                              .maxDynamicSharedSizeBytes =
                                                  (int)(limit - code->static_shared_bytes),
                                              .preferredShmemCarveout = -1};
    return cudaSuccess;
}

/* Documented: dynamic shared memory is limited to what the device has for a block, minus the static
 * memory. The other attributes are hints. */
cudaError_t do_cudaFuncSetAttribute(struct call *call, const void *kernel,
                                    enum cudaFuncAttribute attribute, int value)
{
    struct registered_kernel *k;
    const struct kernel_code *code;
    cudaError_t e = launch_find_kernel(kernel, &k, &code);
    /* Measured (probe-more-answers.txt, "launches"): an attribute that cannot be set. */
    if (!e
        && (attribute < cudaFuncAttributeMaxDynamicSharedMemorySize
            || attribute >= cudaFuncAttributeMax))
        return cudaErrorInvalidValue;
    if (!e && value > 1 && attribute >= cudaFuncAttributeRequiredClusterWidth
        && attribute <= cudaFuncAttributeRequiredClusterDepth)
        k->in_clusters = true;
    if (e || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return e;
    if (value < 0
        || (size_t)value + code->static_shared_bytes
               > device_figure(cudaDevAttrMaxSharedMemoryPerBlockOptin))
        return cudaErrorInvalidValue;
    k->shared_limit = (size_t)value + code->static_shared_bytes;
    return cudaSuccess;
}

cudaError_t do_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    struct call *call, int *blocks, const void *kernel, int threads, size_t shared_bytes,
    unsigned int flags)
{
    struct registered_kernel *k;
    const struct kernel_code *code;
    cudaError_t e = launch_find_kernel(kernel, &k, &code);
    if (!e && (!blocks || threads <= 0 || flags > cudaOccupancyDisableCachingOverride))
        return cudaErrorInvalidValue;
    if (!e)
        *blocks = (int)nvcc_kernel_blocks_that_fit(code, (unsigned)threads, shared_bytes);
    return e;
}

/* Assumed: the memory of a multiprocessor, divided equally among the blocks, and at most a block's
 * limit. */
cudaError_t do_cudaOccupancyAvailableDynamicSMemPerBlock(struct call *call, size_t *bytes,
                                                         const void *kernel, int blocks,
                                                         int threads)
{
    struct registered_kernel *k;
    const struct kernel_code *code;
    if (!bytes || blocks <= 0 || threads <= 0)
        return cudaErrorInvalidValue;
    cudaError_t e = launch_find_kernel(kernel, &k, &code);
    if (e)
        return e;
    const int all = (int)device_figure(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
              most = (int)device_figure(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    int each = all / blocks - (int)device_figure(cudaDevAttrReservedSharedMemoryPerBlock);
    each = (each < most ? each : most) - (int)code->static_shared_bytes;
    *bytes = each > 0 ? (size_t)each : 0;
    return cudaSuccess;
}
