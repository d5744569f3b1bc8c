/* The device code of the lessons, for the CPU: the same functions as lessons/kernels.cu. */
#include "api/export.h"

#pragma GCC visibility push(default)
#include "kernels.h"
#pragma GCC visibility pop

#include "api/call.h"
#include "sched/cost.h"
#include "base/journal.h"
#include "run/dispatch.h"

cudaError_t launch_fill(int *data, int value, size_t count, cudaStream_t stream)
{
    cudaError_t e = CALL("launch_fill", COST_LAUNCH);
    journal_number("bytes", count * sizeof *data);
    if (!e)
        e = dispatch_fill(data, value, count, call_stream(stream, false));
    return call_end(e);
}

cudaError_t launch_add(int *data, int value, size_t count, cudaStream_t stream)
{
    cudaError_t e = CALL("launch_add", COST_LAUNCH);
    journal_number("bytes", count * sizeof *data);
    if (!e)
        e = dispatch_add(data, value, count, call_stream(stream, false));
    return call_end(e);
}

cudaError_t launch_hold(const volatile int *open, cudaStream_t stream)
{
    cudaError_t e = CALL("launch_hold", COST_LAUNCH);
    if (!e)
        e = dispatch_hold(open, call_stream(stream, false));
    return call_end(e);
}
