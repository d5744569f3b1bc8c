/* Calls that copy and set rows, and slices of rows. */
#include "api/array.h"
#include "api/copies.h"
#include "rows_calls.inc"
#include "mem/device.h"
#include "os/os.h"

/* ---- rows ---- */

/* Measured (probe-pitch.txt, "copy_sizes"): a copy without bytes succeeds whatever its pitches are.
 * The pitch of a single row may be 0, and has its own error if it is too small. */
cudaError_t copy_rows(size_t to_pitch, size_t from_pitch, size_t width, size_t height,
                      struct rows *r)
{
    *r = rows_of(0);
    if (!width || !height)
        return cudaSuccess;
    bool one = height == 1;
    if ((width > to_pitch && !(one && !to_pitch)) || (width > from_pitch && !(one && !from_pitch)))
        return one ? cudaErrorInvalidValue : cudaErrorInvalidPitchValue;
    *r = (struct rows){width, height, to_pitch, .from_pitch = from_pitch};
    return cudaSuccess;
}

/* Documented: the pitch of a single row does not matter. Measured (probe-pitch.txt, "set_sizes"): a
 * driver hangs if the rows wrap around the end of the address space. */
cudaError_t memset_rows(const struct call *call, size_t pitch, size_t width, size_t height,
                        struct rows *r)
{
    *r = rows_of(0);
    if (!width || !height)
        return cudaSuccess;
    if (height > 1 && width > pitch)
        return cudaErrorInvalidValue;
    *r = (struct rows){width, height, .to_pitch = pitch};
    if (rows_span(r, pitch) == SIZE_MAX)
        call_stop(call, HAZARD_ROWS_WITHOUT_END,
                  "the rows of a memset reach beyond the last address there is. A real driver "
                  "hangs here.");
    return cudaSuccess;
}

cudaError_t copy_2d(struct call *call, void *to, size_t to_pitch, const void *from,
                    size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                    const cudaStream_t *stream)
{
    struct rows r;
    cudaError_t e = copy_rows(to_pitch, from_pitch, width, height, &r);
    if (e == cudaErrorInvalidValue && (unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection; /* Measured (probe-odd-answers.txt, "places"). */
    if (e)
        return e;
    line_rows(&call->line, r);
    return copy_memory(call, to, from, r, kind, stream);
}

/* Documented for the driver API: the address and the pitch are multiples of the element's size. */
cudaError_t memset_2d(struct call *call, void *to, size_t pitch, int value, unsigned element,
                      size_t width, size_t height, const cudaStream_t *stream)
{
    struct rows r;
    struct stream *s = stream ? call_stream(call, *stream) : NULL;
    if (stream && !s)
        return cudaErrorInvalidResourceHandle;
    if (width && height
        && ((uintptr_t)to % element || (height > 1 && pitch % element)
            || width > SIZE_MAX / element))
        return cudaErrorInvalidValue;
    cudaError_t e = memset_rows(call, pitch, width * element, height, &r);
    if (e)
        return e;
    line_rows(&call->line, r);
    return s ? memset_async(call, to, value, element, r, s)
             : memset_now(call, to, value, element, r);
}

/* ---- slices ---- */

/* Sets the distance between slices. Returns false if the last one is beyond the address space. */
static bool find_step(const struct cudaPitchedPtr *p, size_t count, size_t *step)
{
    size_t all;
    return !__builtin_mul_overflow(p->pitch, p->ysize, step)
        && !__builtin_mul_overflow(*step, count, &all);
}

static void stack_slices(struct slices *x, bool is_stacked)
{
    if (!is_stacked)
        return;
    x->rows.height *= x->count;
    x->count = 1;
}

/* Measured (probe-more-answers.txt, "copies_of_slices"): a copy without bytes succeeds. */
cudaError_t copy_slices(const struct cudaMemcpy3DParms *p, struct slices *x)
{
    const struct cudaPitchedPtr *to = &p->dstPtr, *from = &p->srcPtr;
    const struct cudaExtent *e = &p->extent;
    *x = (struct slices){.count = 0};
    if (!e->width || !e->height || !e->depth)
        return cudaSuccess;
    if (!to->ptr || !from->ptr || e->depth > SIZE_MAX / e->height)
        return cudaErrorInvalidValue;
    if (e->depth > 1 && (to->ysize < e->height || from->ysize < e->height))
        return cudaErrorInvalidPitchValue;
    cudaError_t error = copy_rows(to->pitch, from->pitch, e->width, e->height * e->depth, &x->rows);
    if (error)
        return error;
    if (!find_step(to, e->depth, &x->to_step) || !find_step(from, e->depth, &x->from_step))
        return cudaErrorInvalidValue;
    x->to = (char *)to->ptr + p->dstPos.x + to->pitch * p->dstPos.y + x->to_step * p->dstPos.z;
    x->from = (const char *)from->ptr + p->srcPos.x + from->pitch * p->srcPos.y
            + x->from_step * p->srcPos.z;
    x->count = e->depth;
    x->rows = (struct rows){e->width, e->height, to->pitch, .from_pitch = from->pitch};
    stack_slices(x, to->ysize == e->height && from->ysize == e->height);
    return cudaSuccess;
}

/* Queues the last slice first: if the extent reaches beyond its memory, the copy is refused before
 * anything is queued. */
cudaError_t copy_3d(struct call *call, const struct cudaMemcpy3DParms *p,
                    const cudaStream_t *stream, bool between_peers)
{
    struct slices x;
    struct cudaMemcpy3DParms resolved;
    cudaError_t e = p ? array_resolve_copy(call, p, &resolved) : cudaErrorInvalidValue;
    if (!e)
        e = copy_slices(&resolved, &x);
    if (e)
        return e;
    line_rows(&call->line, x.rows);
    x.rows.between_peers = between_peers;
    for (size_t i = x.count; i-- > 0 && !e;)
        e = copy_memory(call, x.to + i * x.to_step, x.from + i * x.from_step, x.rows, p->kind,
                        stream);
    return e;
}

/* Assumed: without a stream the order is that of cudaMemcpyPeer. */
cudaError_t do_cudaMemcpy3DPeer(struct call *call, const struct cudaMemcpy3DPeerParms *p)
{
    struct stream *s = call_stream(call, cudaStreamLegacy);
    if (!p || s->capturing || !p->extent.width || !p->extent.height || !p->extent.depth
        || !device_exists(p->srcDevice) || !device_exists(p->dstDevice))
        return do_cudaMemcpy3DPeerAsync(call, p, cudaStreamLegacy);
    const unsigned devices = 1u << s->device | 1u << p->srcDevice | 1u << p->dstDevice;
    stream_follow_devices(s, devices);
    const cudaError_t e = do_cudaMemcpy3DPeerAsync(call, p, cudaStreamLegacy);
    stream_precede_devices(s, devices);
    return e;
}

/* Measured (probe-odd-peers.txt, "arrays"): which of the two devices an array is given does not
 * matter, and without bytes, too, the devices must exist. Assumed: otherwise the errors are those
 * of cudaMemcpyPeerAsync. */
cudaError_t do_cudaMemcpy3DPeerAsync(struct call *call, const struct cudaMemcpy3DPeerParms *p,
                                     cudaStream_t stream)
{
    if (!p)
        return cudaErrorInvalidValue;
    const struct cudaMemcpy3DParms rows = {p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                                           p->dstPos,   p->dstPtr, p->extent, cudaMemcpyDefault};
    size_t bytes = p->extent.width * p->extent.height * p->extent.depth;
    struct cudaMemcpy3DParms at;
    cudaError_t e = device_exists(p->srcDevice) && device_exists(p->dstDevice)
                      ? array_resolve_copy(call, &rows, &at)
                      : cudaErrorInvalidDevice;
    if (!e)
        e = check_peer_copy(call, at.dstPtr.ptr, p->dstDevice, at.srcPtr.ptr, p->srcDevice, bytes,
                            stream);
    return e ? e : copy_3d(call, &at, &stream, true);
}

static cudaError_t memset_slices(const struct call *call, struct cudaPitchedPtr to,
                                 struct cudaExtent e, struct slices *x)
{
    *x = (struct slices){.count = 0};
    if (!e.width || !e.height || !e.depth)
        return cudaSuccess;
    if (e.depth > SIZE_MAX / e.height || to.ysize < e.height
        || !find_step(&to, e.depth, &x->to_step))
        return cudaErrorInvalidValue;
    x->to = to.ptr;
    x->count = e.depth;
    cudaError_t error = memset_rows(call, to.pitch, e.width, e.height, &x->rows);
    if (!error && e.depth > 1 && to.pitch < e.width)
        error = cudaErrorInvalidValue;
    stack_slices(x, to.ysize == e.height);
    return error;
}

cudaError_t memset_3d(struct call *call, struct cudaPitchedPtr to, int value,
                      struct cudaExtent extent, const cudaStream_t *stream)
{
    struct slices x;
    struct stream *s = stream ? call_stream(call, *stream) : NULL;
    if (stream && !s)
        return cudaErrorInvalidResourceHandle;
    cudaError_t e = memset_slices(call, to, extent, &x);
    if (e)
        return e;
    line_rows(&call->line, x.rows);
    for (size_t i = x.count; i-- > 0 && !e;)
        e = s ? memset_async(call, x.to + i * x.to_step, value, 1, x.rows, s)
              : memset_now(call, x.to + i * x.to_step, value, 1, x.rows);
    return e;
}
