/* The calls of the driver API about streams that differ from the runtime's. */
#include "api/driver.h"
#include "os/os.h"

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
