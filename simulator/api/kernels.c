/* The device code of the lessons, for the CPU: the same functions as lessons/kernels.cu. */
#include "api/call.h"
#include "graph/dispatch.h"

/* The allocation that a kernel uses goes into the call's line. A captured kernel's does not (its
 * line names a node), nor does that of one that a capture of another stream forbids. */
static void line_operand(struct call *call, const volatile void *address, const struct stream *s)
{
    if (!s->capturing && !capture_implicit(s))
        line_allocation(&call->line, (const void *)address);
}

cudaError_t do_launch_fill(struct call *call, int *data, int value, size_t count,
                           cudaStream_t stream)
{
    if (call->line.used)
        line_number(&call->line, "bytes", count * sizeof *data);
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (call->line.used && count)
        line_operand(call, data, s);
    return dispatch_fill(call, data, value, count, s);
}

cudaError_t do_launch_add(struct call *call, int *data, int value, size_t count,
                          cudaStream_t stream)
{
    if (call->line.used)
        line_number(&call->line, "bytes", count * sizeof *data);
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (call->line.used && count)
        line_operand(call, data, s);
    return dispatch_add(call, data, value, count, s);
}

cudaError_t do_launch_hold(struct call *call, const volatile int *open, cudaStream_t stream)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (call->line.used)
        line_operand(call, open, s);
    return dispatch_hold(call, open, s);
}
