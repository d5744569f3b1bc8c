/* Calls that launch kernels: the device code of the lessons, for the CPU, with the same functions
 * as lessons/kernels.cu; and a program's own kernels. */
#include "api/graph_arguments.h"
#include "kernel_calls.inc"
#include "graph/dispatch.h"
#include "os/os.h"

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
