/* The driver API's initialization, devices, and contexts. */
#include <stdio.h>
#include <string.h>

#include "device_calls.inc"
#include "driver_device_calls.inc"
#include "mem/device.h"

/* ---- initialization and devices ---- */

cudaError_t do_cuDeviceGet(struct call *call, CUdevice *device, int ordinal)
{
    line_signed(&call->line, "device", ordinal);
    if (!device)
        return cudaErrorInvalidValue;
    if (!device_exists(ordinal))
        return cudaErrorInvalidDevice;
    *device = ordinal;
    return cudaSuccess;
}

/* Documented: the name is cut off after `length` bytes with its NUL. */
cudaError_t do_cuDeviceGetName(struct call *call, char *name, int length, CUdevice device)
{
    struct cudaDeviceProp properties;
    if (!name || length <= 0)
        return cudaErrorInvalidValue;
    cudaError_t e = do_cudaGetDeviceProperties(call, &properties, device);
    if (!e)
        snprintf(name, (size_t)length, "%s", properties.name);
    return e;
}

/* The bytes are those of cudaDeviceProp.uuid. */
cudaError_t do_cuDeviceGetUuid_v2(struct call *call, CUuuid *uuid, CUdevice device)
{
    struct cudaDeviceProp properties;
    if (!uuid)
        return cudaErrorInvalidValue;
    cudaError_t e = do_cudaGetDeviceProperties(call, &properties, device);
    if (!e)
        memcpy(uuid->bytes, properties.uuid.bytes, sizeof uuid->bytes);
    return e;
}

cudaError_t do_cuDeviceComputeCapability(struct call *call, int *major, int *minor, CUdevice device)
{
    if (!major || !minor)
        return cudaErrorInvalidValue;
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    device_attribute(cudaDevAttrComputeCapabilityMajor, major);
    device_attribute(cudaDevAttrComputeCapabilityMinor, minor);
    return cudaSuccess;
}

/* ---- primary contexts ---- */

cudaError_t do_cuDevicePrimaryCtxRetain(struct call *call, CUcontext *context, CUdevice device)
{
    line_signed(&call->line, "device", device);
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    if (!context)
        return cudaErrorInvalidValue;
    struct context *c = context_primary(device);
    c->references++;
    *context = c->handle;
    return cudaSuccess;
}

/* Does for this device what a call of the runtime does for the current one, which stays so. */
static cudaError_t on_device(struct call *call, int device, cudaError_t (*work)(struct call *call))
{
    int current = device_current();
    device_set_current(device);
    cudaError_t e = work(call);
    device_set_current(current);
    return e;
}

/* Documented: the context ends with the last release; one too many is
 * CUDA_ERROR_INVALID_CONTEXT. The runtime's use is one, too. */
cudaError_t do_cuDevicePrimaryCtxRelease_v2(struct call *call, CUdevice device)
{
    line_signed(&call->line, "device", device);
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    struct context *c = context_primary(device);
    if (!c->references)
        return cudaErrorDeviceUninitialized;
    if (--c->references || context_is_active(c))
        return cudaSuccess;
    cudaError_t e = on_device(call, device, do_cudaDeviceReset);
    context_end_primary(device);
    return e;
}

cudaError_t do_cuDevicePrimaryCtxReset_v2(struct call *call, CUdevice device)
{
    line_signed(&call->line, "device", device);
    return device_exists(device) ? on_device(call, device, do_cudaDeviceReset)
                                 : cudaErrorInvalidDevice;
}

/* Returns whether a context can have these flags. It has at most one that says how hosts wait. */
static bool are_flags(unsigned flags)
{
    unsigned schedule = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && !(schedule & (schedule - 1));
}

/* Measured (probe-odd-driver.txt): a primary context always maps the host's memory, and the flag
 * for it is rejected. */
cudaError_t do_cuDevicePrimaryCtxSetFlags_v2(struct call *call, CUdevice device, unsigned int flags)
{
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    if (!are_flags(flags) || flags & CU_CTX_MAP_HOST)
        return cudaErrorInvalidValue;
    context_primary(device)->flags = flags;
    return cudaSuccess;
}

cudaError_t do_cuDevicePrimaryCtxGetState(struct call *call, CUdevice device, unsigned int *flags,
                                          int *active)
{
    if (!flags || !active)
        return cudaErrorInvalidValue;
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    *flags = context_primary(device)->flags;
    *active = context_is_active(context_primary(device));
    return cudaSuccess;
}

#define CU_CTX_COREDUMPS (CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE)

/* Measured (probe-odd-driver.txt): not what was set, for a primary context. */
unsigned context_flags(void)
{
    const struct context *c = context_current();
    return c->is_primary ? (c->flags & ~(unsigned)CU_CTX_COREDUMPS) | CU_CTX_MAP_HOST : c->flags;
}

/* ---- other contexts ---- */

cudaError_t do_cuCtxCreate_v2(struct call *call, CUcontext *context, unsigned int flags,
                              CUdevice device)
{
    line_signed(&call->line, "device", device);
    if (!context)
        return cudaErrorInvalidValue;
    if (!device_exists(device))
        return cudaErrorInvalidDevice;
    if (!are_flags(flags))
        return cudaErrorInvalidValue;
    struct context *c = context_new(device, flags);
    context_push(c);
    *context = c->handle;
    return cudaSuccess;
}

/* Parameters ask for a share of the multiprocessors or for another API's work, which is not
 * simulated. */
cudaError_t do_cuCtxCreate_v4(struct call *call, CUcontext *context, CUctxCreateParams *parameters,
                              unsigned int flags, CUdevice device)
{
    if (!parameters || (!parameters->numExecAffinityParams && !parameters->cigParams))
        return do_cuCtxCreate_v2(call, context, flags, device);
    return call_not_simulated(call, "contexts with an execution affinity or for graphics are");
}

/* Documented: what belongs to the context ends with it, and a current context is popped from the
 * calling thread's stack. Assumed: primary contexts are rejected. */
cudaError_t do_cuCtxDestroy_v2(struct call *call, CUcontext context)
{
    struct context *c = context_of(context);
    if (!c || c->is_primary)
        return context ? cudaErrorDeviceUninitialized : cudaErrorInvalidValue;
    line_signed(&call->line, "device", c->device);
    cudaError_t e = context_is_active(context_primary(c->device)) || context_count_created() > 1
                      ? cudaSuccess
                      : on_device(call, c->device, do_cudaDeviceReset);
    if (context_current() == c)
        context_pop();
    context_end(c);
    return e;
}

cudaError_t do_cuCtxPushCurrent_v2(struct call *call, CUcontext context)
{
    struct context *c = context_of(context);
    if (!c)
        return context ? cudaErrorDeviceUninitialized : cudaErrorInvalidValue;
    line_signed(&call->line, "device", c->device);
    context_push(c);
    return cudaSuccess;
}

cudaError_t do_cuCtxPopCurrent_v2(struct call *call, CUcontext *context)
{
    struct context *c = context_pop();
    if (!c)
        return cudaErrorDeviceUninitialized;
    if (context)
        *context = c->handle;
    return cudaSuccess;
}

cudaError_t do_cuCtxSetCurrent(struct call *call, CUcontext context)
{
    struct context *c = context_of(context);
    if (context && !c)
        return cudaErrorDeviceUninitialized;
    if (c)
        line_signed(&call->line, "device", c->device);
    context_set_current(c);
    return cudaSuccess;
}

cudaError_t do_cuCtxSynchronize_v2(struct call *call, CUcontext context)
{
    const struct context *c = context_given(context);
    return c ? on_device(call, c->device, do_cudaDeviceSynchronize) : cudaErrorDeviceUninitialized;
}

/* Assumed: a stream belongs to the primary context of its device. */
cudaError_t do_cuStreamGetCtx(struct call *call, CUstream stream, CUcontext *context)
{
    struct stream *s = call_stream(call, stream);
    if (!s || !context)
        return s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    if (context_count_created())
        return call_not_simulated(call,
                                  "which context of several (cuCtxCreate) a stream belongs to is");
    *context = context_primary(s->device)->handle;
    return cudaSuccess;
}
