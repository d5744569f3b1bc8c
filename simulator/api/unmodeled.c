/* The functions of libcudart.so.13 that are not modeled. Each returns cudaErrorNotSupported and
 * says so once on standard error. The list is made when the library is built: the functions that
 * the headers declare, and those that CUDA 13.1 to 13.5 added (api/newer-symbols.txt), without
 * those in api/calls.def. */
#include "api/unmodeled.h"

#include "base/summary.h"
#include "sched/virtual_time.h"

int unmodeled(const char *name, void *address, void *const *frame, bool *reported)
{
    struct call call;
    struct journal_line line;
    cudaError_t e = call_enter_unmodeled(&call, name, address, frame);
    if (!*reported)
        diag("%s is not simulated: it returns %s. docs/simulator_reference.rst says what is not.",
             name, call_error_name(&call, cudaErrorNotSupported));
    *reported = true;
    if (!summary.unmodeled++)
        summary.first_unmodeled = name;
    line_drop(&call.line);
    line_begin(&line, virtual_now, "unsupported");
    line_text(&line, "call", name);
    line_write(&line);
    return (int)call_leave(&call, e ? e : cudaErrorNotSupported);
}

#define UNMODELLED UNMODELED_FUNCTION
#include "unmodeled.inc"
