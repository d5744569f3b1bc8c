/* Calls that launch kernels, queries about kernels, and variables of device code. */
#include <limits.h>

#include "api/copies.h"
#include "api/graph_arguments.h"
#include "api/launches.h"
#include "launch_calls.inc"
#include "graph/dispatch.h"
#include "mem/device.h"
#include "module/registry.h"
#include "os/os.h"
#include "run/device_variable.h"
#include "run/kernel_library.h"

/* ---- kernels that nvcc built ---- */

cudaError_t launch_kernel(struct call *call, const struct launch *l)
{
    struct stream *s = call_stream(call, l->stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    struct registered_kernel *k;
    cudaError_t missing = registry_find_kernel(l->host, &k);
    if (missing)
        return missing;
    /* Assumed: a module's kernel runs on the device of the module's context alone. */
    if (k->binary->device != NO_DEVICE && k->binary->device != s->device)
        return cudaErrorInvalidResourceHandle;
    line_text(&call->line, "kernel", k->name);
    const char *why;
    const struct kernel_code *code = kernel_library_code(k, s->device, &why);
    if (!code || l->in_clusters)
        return nvcc_kernel_refuse_launch(k, code ? IN_CLUSTERS : why);
    if (l->is_malformed)
        return cudaErrorInvalidValue;
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
    l->is_malformed = count && !attributes;
    for (const cudaLaunchAttribute *a = attributes; a && a < attributes + count; a++) {
        l->is_malformed |= !launch_may_have(a->id, &a->val);
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
    cudaError_t e = registry_find_kernel(host, kernel);
    if (e)
        return e;
    *code = kernel_library_code(*kernel, device_current(), &why);
    return *code ? cudaSuccess : nvcc_kernel_refuse(*kernel, why);
}

/* The host function's address stands for the kernel in the driver API, too. */
cudaError_t do_cudaGetFuncBySymbol(struct call *call, cudaFunction_t *function, const void *symbol)
{
    if (!function)
        return cudaErrorInvalidValue;
    if (!registry_kernel(symbol))
        return cudaErrorInvalidDeviceFunction;
    *function = (cudaFunction_t)symbol;
    return cudaSuccess;
}

/* Assumed: 32 registers, which PTX does not tell. */
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
    const int *set = k->attributes;
    *attributes = (struct cudaFuncAttributes){
        .sharedSizeBytes = code->static_shared_bytes,
        .constSizeBytes = module_constant_bytes(code->entry->function->module),
        .localSizeBytes = code->entry->frame_bytes,
        .maxThreadsPerBlock = most ? (int)most : 1024,
        .numRegs = 32,
        .ptxVersion = 90,
        .binaryVersion = 90,
        .maxDynamicSharedSizeBytes =
            (int)(nvcc_kernel_shared_limit(k, code) - code->static_shared_bytes),
        .preferredShmemCarveout = set[cudaFuncAttributePreferredSharedMemoryCarveout],
        .requiredClusterWidth = set[cudaFuncAttributeRequiredClusterWidth],
        .requiredClusterHeight = set[cudaFuncAttributeRequiredClusterHeight],
        .requiredClusterDepth = set[cudaFuncAttributeRequiredClusterDepth],
        .clusterSchedulingPolicyPreference =
            set[cudaFuncAttributeClusterSchedulingPolicyPreference],
        .nonPortableClusterSizeAllowed = set[cudaFuncAttributeNonPortableClusterSizeAllowed]};
    return cudaSuccess;
}

/* The values that an attribute of a kernel can have: those that an H200 took in December 2026. */
static const struct {
    int least, most;
} attribute_values[cudaFuncAttributeMax] = {
    [cudaFuncAttributeMaxDynamicSharedMemorySize] = {0, INT_MAX},
    [cudaFuncAttributePreferredSharedMemoryCarveout] = {-1, 100},
    [cudaFuncAttributeClusterDimMustBeSet] = {1, 0},
    [cudaFuncAttributeRequiredClusterWidth] = {0, INT_MAX},
    [cudaFuncAttributeRequiredClusterHeight] = {0, INT_MAX},
    [cudaFuncAttributeRequiredClusterDepth] = {0, INT_MAX},
    [cudaFuncAttributeNonPortableClusterSizeAllowed] = {INT_MIN, INT_MAX},
    [cudaFuncAttributeClusterSchedulingPolicyPreference] = {0, 2},
};

/* Documented: dynamic shared memory is limited to what the device has for a block, minus the static
 * memory. The other attributes are hints, but for clusters. */
cudaError_t do_cudaFuncSetAttribute(struct call *call, const void *kernel,
                                    enum cudaFuncAttribute attribute, int value)
{
    struct registered_kernel *k;
    const struct kernel_code *code;
    /* Measured (probe-more-answers.txt, "launches"): an attribute that cannot be set. */
    if (attribute < cudaFuncAttributeMaxDynamicSharedMemorySize
        || attribute >= cudaFuncAttributeMax)
        return cudaErrorInvalidValue;
    cudaError_t e = launch_find_kernel(kernel, &k, &code);
    if (e)
        return e;
    if (value < attribute_values[attribute].least || value > attribute_values[attribute].most)
        return cudaErrorInvalidValue;
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize
        && (size_t)value + code->static_shared_bytes
               > device_figure(cudaDevAttrMaxSharedMemoryPerBlockOptin))
        return cudaErrorInvalidValue;
    k->attributes[attribute] = value;
    return cudaSuccess;
}

cudaError_t do_cudaFuncSetCacheConfig(struct call *call, const void *kernel,
                                      enum cudaFuncCache configuration)
{
    struct registered_kernel *k;
    cudaError_t e = registry_find_kernel(kernel, &k);
    return !e && (unsigned)configuration > cudaFuncCachePreferEqual ? cudaErrorInvalidValue : e;
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
        *blocks = shared_bytes + code->static_shared_bytes > nvcc_kernel_shared_limit(k, code)
                    ? 0
                    : (int)nvcc_kernel_blocks_that_fit(code, (unsigned)threads, shared_bytes);
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
    cudaError_t e = launch_find_kernel(kernel, &k, &code);
    if (e)
        return e;
    if (!bytes || blocks <= 0 || threads <= 0
        || threads > (int)device_figure(cudaDevAttrMaxThreadsPerBlock)
        || blocks > (int)device_figure(cudaDevAttrMaxThreadsPerMultiProcessor) / threads)
        return cudaErrorInvalidValue;
    const int all = (int)device_figure(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
              most = (int)nvcc_kernel_shared_limit(k, code);
    int each = all / blocks - (int)device_figure(cudaDevAttrReservedSharedMemoryPerBlock);
    each = (each < most ? each : most) - (int)code->static_shared_bytes;
    *bytes = each > 0 ? (size_t)each : 0;
    return cudaSuccess;
}

/* ---- kernels for the CPU: those of lessons/kernels.h, and a program's own ---- */

/* Adds the allocation that a kernel uses to the call's line, unless the kernel is captured (then
 * its line names a node) or a capture of another stream forbids it. */
static void line_operand(struct call *call, const volatile void *address, const struct stream *s)
{
    if (!s->capturing && !capture_implicit(s))
        line_allocation(&call->line, (const void *)address);
}

/* The line gets the size, the value that is written or added, and the allocation. */
cudaError_t launch_writer(struct call *call, enum task_kind kind, int *data, int value,
                          size_t count, cudaStream_t stream)
{
    if (line_is_open(&call->line)) {
        line_number(&call->line, "bytes", count * sizeof *data);
        line_signed(&call->line, "value", value);
    }
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (line_is_open(&call->line) && count)
        line_operand(call, data, s);
    struct task t = {.kind = kind, .to = (char *)data, .value = value, .count = count};
    return dispatch(call, &t, s);
}

cudaError_t do_launch_hold(struct call *call, const volatile int *open, cudaStream_t stream)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (line_is_open(&call->line))
        line_operand(call, open, s);
    return dispatch(call, &(struct task){.kind = TASK_HOLD, .gate = open}, s);
}

cudaError_t do_sim_launch_kernel(struct call *call, cudaStream_t stream, const char *name,
                                 sim_function function, const void *argument, size_t argument_bytes,
                                 const struct sim_range *ranges, size_t count,
                                 unsigned long long nanoseconds)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    struct user_kernel *k =
        user_kernel_new(name, function, argument, argument_bytes, ranges, count, nanoseconds);
    if (!k)
        return cudaErrorInvalidValue;
    line_text(&call->line, "kernel", k->name);
    line_number(&call->line, "bytes", user_kernel_bytes(k));
    if (line_is_open(&call->line) && count)
        line_operand(call, ranges[0].address, s);
    /* Reports and nodes name the kernel. */
    call->origin.call = k->name;
    cudaError_t e = dispatch(call, &(struct task){.kind = TASK_USER_KERNEL, .user_kernel = k}, s);
    os_free(k);
    return e;
}

/* ---- variables of device code, each identified by its address in the program ---- */

/* Sets `address` to bytes of a variable on the current device. Documented: anything but a variable
 * has its own error. Assumed: bytes outside of it are rejected as in any copy. */
static cudaError_t find(const void *symbol, size_t offset, size_t bytes, char **address)
{
    struct registered_variable *r = registry_variable(symbol);
    struct variable *v = r ? registry_module_variable(r) : NULL;
    if (!v)
        return cudaErrorInvalidSymbol;
    if (offset > v->bytes || bytes > v->bytes - offset)
        return cudaErrorInvalidValue;
    *address = (char *)(uintptr_t)device_variable_address(v, device_current()) + offset;
    return cudaSuccess;
}

cudaError_t do_cudaGetSymbolAddress(struct call *call, void **address, const void *symbol)
{
    char *at;
    if (!address)
        return cudaErrorInvalidValue;
    cudaError_t e = find(symbol, 0, 0, &at);
    if (!e)
        *address = at;
    return e;
}

/* Documented: a copy to a variable comes from the host or the device, and one from a variable goes
 * there. */
cudaError_t copy_symbol(struct call *call, const void *symbol, size_t offset, void *memory,
                        size_t bytes, enum cudaMemcpyKind kind, bool to_symbol,
                        const cudaStream_t *stream)
{
    char *variable = NULL;
    cudaError_t e = bytes ? find(symbol, offset, bytes, &variable) : cudaSuccess;
    if (!bytes || (e && (!stream || e == cudaErrorInvalidSymbol)))
        return e;
    if (kind != cudaMemcpyDefault && kind != cudaMemcpyDeviceToDevice
        && kind != (to_symbol ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost))
        return cudaErrorInvalidMemcpyDirection;
    return e ? e
             : copy_bytes(call, to_symbol ? variable : memory, to_symbol ? memory : variable, bytes,
                          kind, stream);
}
