/* The calls of the driver API about streams that differ from the runtime's. */
#include "api/driver.h"
#include "os/os.h"

/* Assumed: a stream belongs to the primary context of its device. */
cudaError_t do_cuStreamGetCtx(struct call *call, CUstream stream, CUcontext *context)
{
    struct stream *s = call_stream(call, stream);
    if (!s || !context)
        return s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    if (context_count_created()) {
        diag("cuStreamGetCtx: which context a stream belongs to is not simulated next to contexts "
             "of cuCtxCreate: it returns CUDA_ERROR_NOT_SUPPORTED.");
        return cudaErrorNotSupported;
    }
    *context = context_primary(s->device)->handle;
    return cudaSuccess;
}
