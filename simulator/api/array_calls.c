/* CUDA arrays, and copies of their rows. Copies of several slices are in api/rows_calls.c. */
#include "api/array.h"
#include "array_calls.inc"
#include "api/copies.h"
#include "memory_calls.inc"
#include "graph/capture.h"
#include "mem/device.h"
#include "os/os.h"

/* Texels and rows of surfaces begin at multiples of their size. */
#define ROW_ALIGNMENT ((size_t)32)

struct array *array_of(struct call *call, cudaArray_const_t handle)
{
    return call_object(call, HANDLE_ARRAY, handle);
}

/* ---- making arrays ---- */

/* Documented: 1, 2, or 4 channels of 8, 16, or 32 bits each, all of one size. */
size_t array_element_bytes(const struct cudaChannelFormatDesc *desc)
{
    const int bits[] = {desc->x, desc->y, desc->z, desc->w};
    size_t count = 0;
    while (count < 4 && bits[count])
        count++;
    for (size_t n = 0; n < 4; n++)
        if (bits[n] != (n < count ? bits[0] : 0))
            return 0;
    if ((count != 1 && count != 2 && count != 4) || (bits[0] != 8 && bits[0] != 16 && bits[0] != 32)
        || (unsigned)desc->f > cudaChannelFormatKindFloat
        || (desc->f == cudaChannelFormatKindFloat && bits[0] == 8))
        return 0;
    return count * (size_t)bits[0] / 8;
}

static bool is_at_most(size_t value, enum cudaDeviceAttr attribute)
{
    return value <= device_figure(attribute);
}

/* Returns whether an array can have this form. Measured (probe-odd-answers.txt, "places"): the form
 * is looked at before the channels, and the size after them. */
static bool is_form(struct cudaExtent e, unsigned flags)
{
    const bool layered = flags & cudaArrayLayered, cube = flags & cudaArrayCubemap;
    if (cube && (e.width != e.height || (layered ? e.depth % 6 : e.depth != 6)))
        return false;
    return e.width && (!layered || e.depth);
}

/* Documented (cudaMalloc3DArray): which extents and flags there are, and the greatest. Measured
 * (probe-more-answers.txt, "arrays"): the errors. */
static bool is_extent(struct cudaExtent e, unsigned flags)
{
    const bool layered = flags & cudaArrayLayered, cube = flags & cudaArrayCubemap;
    if (flags & cudaArrayTextureGather
        && (!e.height || e.depth || !is_at_most(e.width, cudaDevAttrMaxTexture2DGatherWidth)
            || !is_at_most(e.height, cudaDevAttrMaxTexture2DGatherHeight)))
        return false;
    if (cube)
        return is_at_most(e.width, cudaDevAttrMaxTextureCubemapWidth)
            && is_at_most(e.depth, cudaDevAttrMaxTextureCubemapLayeredLayers);
    if (layered && !e.height)
        return is_at_most(e.width, cudaDevAttrMaxTexture1DLayeredWidth)
            && is_at_most(e.depth, cudaDevAttrMaxTexture1DLayeredLayers);
    if (layered)
        return is_at_most(e.width, cudaDevAttrMaxTexture2DLayeredWidth)
            && is_at_most(e.height, cudaDevAttrMaxTexture2DLayeredHeight)
            && is_at_most(e.depth, cudaDevAttrMaxTexture2DLayeredLayers);
    if (e.depth)
        return e.height && is_at_most(e.width, cudaDevAttrMaxTexture3DWidth)
            && is_at_most(e.height, cudaDevAttrMaxTexture3DHeight)
            && is_at_most(e.depth, cudaDevAttrMaxTexture3DDepth);
    return is_at_most(e.width,
                      e.height ? cudaDevAttrMaxTexture2DWidth : cudaDevAttrMaxTexture1DWidth)
        && is_at_most(e.height, cudaDevAttrMaxTexture2DHeight);
}

cudaError_t do_cudaMalloc3DArray(struct call *call, cudaArray_t *handle,
                                 const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                                 unsigned flags)
{
    const unsigned known =
        cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather;
    void *base;
    if (!handle || !desc)
        return cudaErrorInvalidValue;
    if (flags & (cudaArraySparse | cudaArrayDeferredMapping))
        return call_not_simulated(call,
                                  "sparse arrays and arrays whose memory is mapped later are");
    struct array a = {.desc = *desc,
                      .extent = extent,
                      .flags = flags,
                      .element = array_element_bytes(desc),
                      .rows = extent.height ? extent.height : 1,
                      .slices = extent.depth ? extent.depth : 1};
    if (!is_form(extent, flags))
        return cudaErrorInvalidValue;
    if (!a.element && desc->f > cudaChannelFormatKindNone)
        diag("arrays of compressed and normalized formats are not simulated: %s returns "
             "cudaErrorInvalidChannelDescriptor.",
             call->origin.call);
    if (!a.element)
        return cudaErrorInvalidChannelDescriptor;
    if (flags & ~known || !is_extent(extent, flags))
        return cudaErrorInvalidValue;
    a.row = extent.width * a.element;
    a.pitch = round_up(a.row, ROW_ALIGNMENT);
    a.slice = a.pitch * a.rows;
    cudaError_t e = do_cudaMalloc(call, &base, a.slice * a.slices);
    if (e)
        return e;
    struct array *kept = os_allocate(sizeof *kept);
    a.base = base;
    a.handle = handle_new(HANDLE_ARRAY, kept);
    *kept = a;
    *handle = a.handle;
    return cudaSuccess;
}

/* Measured (probe-more-answers.txt, "arrays" and "captures"): it waits as cudaFree does, and a null
 * array is no error, also in a capture. */
cudaError_t do_cudaFreeArray(struct call *call, cudaArray_t array)
{
    struct array *a = array_of(call, array);
    if (!a)
        return cudaSuccess;
    cudaError_t e = capture_check_unsafe();
    e = e ? e : do_cudaFree(call, a->base);
    /* Measured (kernels-reset.txt): the error when a reset has ended the array. */
    if (e)
        return e == cudaErrorInvalidValue ? cudaErrorDeviceUninitialized : e;
    handle_retire(HANDLE_ARRAY, array);
    os_free(a);
    return cudaSuccess;
}

/* ---- what an array is ---- */

cudaError_t do_cudaArrayGetInfo(struct call *call, struct cudaChannelFormatDesc *desc,
                                struct cudaExtent *extent, unsigned int *flags, cudaArray_t array)
{
    const struct array *a = array_of(call, array);
    if (!a)
        return cudaErrorInvalidResourceHandle;
    if (desc)
        *desc = a->desc;
    if (extent)
        *extent = a->extent;
    if (flags)
        *flags = a->flags;
    return cudaSuccess;
}

/* ---- copies ---- */

/* Returns where row `y` of the array's first slice begins, plus `x` bytes, or NULL if the array
 * does not have these rows. */
static char *part_of(const struct array *a, size_t x, size_t y, size_t width, size_t height)
{
    if (x > a->row || width > a->row - x || y > a->rows || height > a->rows - y)
        return NULL;
    return a->base + y * a->pitch + x;
}

/* Measured (kernels-texture_words.txt): a copy to or from an array needs a direction that leads
 * there, and an array. */
enum { TO_ARRAY = 1, FROM_ARRAY = 2 };

static bool leads(enum cudaMemcpyKind kind, bool to_array, bool from_array)
{
    return kind == cudaMemcpyDefault || kind == cudaMemcpyDeviceToDevice
        || (kind == cudaMemcpyHostToDevice && !from_array)
        || (kind == cudaMemcpyDeviceToHost && !to_array);
}

/* Copies rows, to or from an array's as `arrays` says. `stream` is NULL for the call that has none.
 * Measured (probe-odd-copies.txt, "rows_of_arrays"): without bytes nothing else counts, a pitch
 * counts before the direction, and the direction before the array's size. */
static cudaError_t copy_part(struct call *call, void *to, size_t to_pitch, const void *from,
                             size_t from_pitch, size_t width, size_t height,
                             enum cudaMemcpyKind kind, unsigned arrays, const cudaStream_t *stream)
{
    struct rows r;
    const bool has_bytes = width && height;
    cudaError_t e = copy_rows(arrays & TO_ARRAY ? width : to_pitch,
                              arrays & FROM_ARRAY ? width : from_pitch, width, height, &r);
    if (e == cudaErrorInvalidPitchValue)
        return e;
    if (has_bytes && !leads(kind, arrays & TO_ARRAY, arrays & FROM_ARRAY))
        return cudaErrorInvalidMemcpyDirection;
    if (has_bytes && (!to || !from))
        return cudaErrorInvalidValue;
    if (has_bytes && (!to_pitch || !from_pitch) && kind >= cudaMemcpyDeviceToDevice)
        call_stop(call, HAZARD_ROWS_WITHOUT_END,
                  "a copy to or from an array is given a pitch of 0. A real driver divides by it, "
                  "and dies of SIGFPE here.");
    return copy_2d(call, to, to_pitch, from, from_pitch, width, height, kind, stream);
}

cudaError_t array_copy_to(struct call *call, cudaArray_t to, size_t x, size_t y, const void *from,
                          size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                          const cudaStream_t *stream)
{
    const struct array *a = array_of(call, to);
    if (!a)
        return cudaErrorInvalidResourceHandle;
    return copy_part(call, part_of(a, x, y, width, height), a->pitch, from, pitch, width, height,
                     kind, TO_ARRAY, stream);
}

cudaError_t array_copy_from(struct call *call, void *to, size_t pitch, cudaArray_const_t from,
                            size_t x, size_t y, size_t width, size_t height,
                            enum cudaMemcpyKind kind, const cudaStream_t *stream)
{
    const struct array *a = array_of(call, from);
    if (!a)
        return cudaErrorInvalidResourceHandle;
    return copy_part(call, to, pitch, part_of(a, x, y, width, height), a->pitch, width, height,
                     kind, FROM_ARRAY, stream);
}

cudaError_t do_cudaMemcpy2DArrayToArray(struct call *call, cudaArray_t dst, size_t wOffsetDst,
                                        size_t hOffsetDst, cudaArray_const_t src, size_t wOffsetSrc,
                                        size_t hOffsetSrc, size_t width, size_t height,
                                        enum cudaMemcpyKind kind)
{
    const struct array *to = array_of(call, dst), *from = array_of(call, src);
    if (!to || !from)
        return cudaErrorInvalidResourceHandle;
    return copy_part(call, part_of(to, wOffsetDst, hOffsetDst, width, height), to->pitch,
                     part_of(from, wOffsetSrc, hOffsetSrc, width, height), from->pitch, width,
                     height, kind, TO_ARRAY | FROM_ARRAY, NULL);
}

static bool has_bytes(const struct run_of_bytes *r, size_t count)
{
    return r->array ? r->x <= r->array->row && r->y < r->array->rows
                          && count <= (r->array->rows - r->y) * r->array->row - r->x
                    : r->memory != NULL;
}

static char *here(const struct run_of_bytes *r)
{
    return r->array ? r->array->base + r->y * r->array->pitch + r->x : r->memory;
}

static void go_on(struct run_of_bytes *r, size_t bytes)
{
    if (!r->array) {
        r->memory += bytes;
        return;
    }
    r->y += (r->x + bytes) / r->array->row;
    r->x = (r->x + bytes) % r->array->row;
}

/* Returns the length of the next piece of the copy: a part of a row, or as many whole rows as
 * possible. */
static struct rows next_rows(const struct run_of_bytes *to, const struct run_of_bytes *from,
                             size_t count)
{
    const struct run_of_bytes *const ends[] = {to, from};
    size_t width = count;
    bool whole = true;
    for (unsigned n = 0; n < 2; n++) {
        const struct array *a = ends[n]->array;
        if (a && a->row - ends[n]->x < width)
            width = a->row - ends[n]->x;
    }
    for (unsigned n = 0; n < 2; n++)
        whole &= !ends[n]->array || (!ends[n]->x && ends[n]->array->row == width);
    return (struct rows){width, whole ? count / width : 1, to->array ? to->array->pitch : width,
                         .from_pitch = from->array ? from->array->pitch : width};
}

/* Documented (cudaMemcpyToArray): starting at the place, `count` bytes. Measured: with a direction
 * that there is not, nothing is copied, and what the array has no place for is refused after the
 * rest is copied (probe-odd-copies.txt, "lines"); the driver's functions copy within one row
 * (probe-more-answers.txt, "driver_lines"). */
cudaError_t array_copy_run(struct call *call, struct run_of_bytes to, struct run_of_bytes from,
                           size_t count, enum cudaMemcpyKind kind, const cudaStream_t *stream)
{
    line_number(&call->line, "bytes", count);
    if (!count || (unsigned)kind > cudaMemcpyDefault)
        return cudaSuccess;
    if (!leads(kind, to.array, from.array))
        return cudaErrorInvalidMemcpyDirection;
    if (!has_bytes(&to, 0) || !has_bytes(&from, 0)
        || (call_is_drivers(call) && next_rows(&to, &from, count).width < count))
        return cudaErrorInvalidValue;
    while (count) {
        go_on(&to, 0);
        go_on(&from, 0);
        const struct rows r = next_rows(&to, &from, count);
        const size_t bytes = r.width * r.height;
        cudaError_t e = has_bytes(&to, bytes) && has_bytes(&from, bytes)
                          ? copy_memory(call, here(&to), here(&from), r, kind, stream)
                          : cudaErrorInvalidValue;
        if (e)
            return e;
        go_on(&to, bytes);
        go_on(&from, bytes);
        count -= bytes;
    }
    return cudaSuccess;
}

bool array_take_place(const struct array *a, size_t unit, struct cudaExtent e, struct cudaPos *pos,
                      struct cudaPitchedPtr *ptr)
{
    const size_t width = a->row / unit;
    if (pos->x > width || e.width > width - pos->x || pos->y > a->rows
        || e.height > a->rows - pos->y || pos->z > a->slices || e.depth > a->slices - pos->z)
        return false;
    pos->x *= unit;
    *ptr = (struct cudaPitchedPtr){a->base, a->pitch, a->row, a->rows};
    return true;
}

/* Measured (probe-odd-copies.txt, "slices"): the place counts, except in a pool's memory. Measured
 * (probe-odd-driver.txt): a pitch of 0 means no gap between rows, and a height of 0 none between
 * slices. */
bool array_take_memory(struct cudaPitchedPtr *ptr, struct cudaExtent e, struct cudaPos pos)
{
    const bool counts = !memory_find(ptr->ptr).pool;
    size_t width, height;
    if (__builtin_add_overflow(e.width, pos.x, &width)
        || __builtin_add_overflow(e.height, pos.y, &height))
        return false;
    if (!ptr->pitch)
        ptr->pitch = width;
    if (!ptr->ysize)
        ptr->ysize = height;
    return ptr->pitch >= (counts ? width : e.width) && ptr->ysize >= (counts ? height : e.height);
}

/* Returns the error of an end of a copy whose pitch or height lets rows overlap. Measured
 * (probe-odd-copies.txt, "slices"): in a copy of an array, only a pitch of 0 is told here. */
static cudaError_t check_pitch(const struct cudaPitchedPtr *ptr, struct cudaExtent e, bool array)
{
    return (ptr->ptr && ptr->pitch < (array ? 1 : e.width) && (e.height > 1 || e.depth > 1))
                || (ptr->ysize < e.height && e.depth > 1)
             ? cudaErrorInvalidPitchValue
             : cudaSuccess;
}

static bool take_place(const struct array *a, size_t element, struct cudaExtent e,
                       struct cudaPos *pos, struct cudaPitchedPtr *ptr)
{
    if (a)
        return !ptr->ptr && a->element == element && array_take_place(a, element, e, pos, ptr);
    pos->x *= element;
    e.width *= element;
    return array_take_memory(ptr, e, *pos);
}

/* Documented: the extent, and the place in an array, count its elements. Measured
 * (probe-more-answers.txt, "arrays"; probe-odd-copies.txt, "slices"): so does the place in other
 * memory, which is documented to count bytes; elements of two arrays have the same size, each end
 * is given once, and without bytes nothing else counts. */
cudaError_t array_resolve_copy(struct call *call, const struct cudaMemcpy3DParms *p,
                               struct cudaMemcpy3DParms *to)
{
    const struct array *target = array_of(call, p->dstArray), *source = array_of(call, p->srcArray);
    const size_t element = target ? target->element : source ? source->element : 1;
    const bool is_from_host = p->kind == cudaMemcpyHostToHost || p->kind == cudaMemcpyHostToDevice;
    *to = *p;
    to->dstArray = to->srcArray = NULL;
    if (!p->extent.width || !p->extent.height || !p->extent.depth)
        return cudaSuccess;
    cudaError_t e = target ? cudaSuccess : check_pitch(&p->dstPtr, p->extent, source);
    e = e || source ? e : check_pitch(&p->srcPtr, p->extent, target);
    if (e)
        return e;
    if ((unsigned)p->kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    /* Measured (kernels-texture_words.txt): the direction "to the host" is accepted for a copy to
     * an array, too. */
    if ((source && is_from_host)
        || !take_place(target, element, p->extent, &to->dstPos, &to->dstPtr)
        || !take_place(source, element, p->extent, &to->srcPos, &to->srcPtr))
        return cudaErrorInvalidValue;
    to->extent.width *= element;
    return cudaSuccess;
}
