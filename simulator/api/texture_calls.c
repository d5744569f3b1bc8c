/* Texture and surface objects. Measured (kernels-texture_words.txt): the errors. */
#include "api/array.h"
#include "texture_calls.inc"
#include "mem/device.h"
#include "mem/memory.h"
#include "os/os.h"
#include "run/texture_object.h"

/* Sets the form of a texel. Returns false if there is none with these channels. */
static bool set_texel(struct texture *t, const struct cudaChannelFormatDesc *desc)
{
    const size_t bytes = array_element_bytes(desc);
    if (!bytes)
        return false;
    t->channel_bytes = (uint8_t)(desc->x / 8);
    t->channels = (uint8_t)(bytes / t->channel_bytes);
    t->kind = (enum channel_kind)desc->f;
    return true;
}

static cudaError_t use_array(struct call *call, cudaArray_t handle, struct texture *t)
{
    const struct array *a = array_of(call, handle);
    if (!a)
        return cudaErrorInvalidResourceHandle;
    /* Measured: probe-more-peers.txt, "arrays_of_the_other". */
    const struct address_info memory = memory_find(a->base);
    if (!memory_peer_accessible(&memory, device_current()))
        return cudaErrorPeerAccessNotEnabled;
    if (!set_texel(t, &a->desc))
        return cudaErrorInvalidValue;
    t->base = (uint64_t)(uintptr_t)a->base;
    t->width = (uint32_t)a->extent.width;
    t->height = (uint32_t)a->rows;
    t->depth = (uint32_t)a->slices;
    t->pitch = a->pitch;
    t->slice = a->slice;
    line_allocation(&call->line, a->base);
    return cudaSuccess;
}

/* Documented: the address is a multiple of the texture alignment, and a pitch one of the pitch
 * alignment. Measured (kernels-texture_words.txt): the memory may have no texels, or more than are
 * documented or fit into a pitch. */
static cudaError_t use_memory(struct call *call, const void *address,
                              const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
                              size_t pitch, struct texture *t)
{
    if (!address || (uintptr_t)address % device_figure(cudaDevAttrTextureAlignment)
        || pitch % device_figure(cudaDevAttrTexturePitchAlignment))
        return cudaErrorInvalidValue;
    if (!set_texel(t, desc))
        return cudaErrorInvalidChannelDescriptor;
    t->base = (uint64_t)(uintptr_t)address;
    t->width = width < UINT32_MAX ? (uint32_t)width : UINT32_MAX;
    t->height = (uint32_t)height;
    t->depth = 1;
    t->pitch = t->slice = pitch;
    line_allocation(&call->line, address);
    return cudaSuccess;
}

static cudaError_t use_linear(struct call *call, const struct cudaResourceDesc *r,
                              struct texture *t)
{
    const struct cudaChannelFormatDesc *desc = &r->res.linear.desc;
    const size_t element = array_element_bytes(desc);
    t->is_linear_memory = true;
    return use_memory(call, r->res.linear.devPtr, desc,
                      element ? r->res.linear.sizeInBytes / element : 0, 1, 0, t);
}

static cudaError_t use_pitched(struct call *call, const struct cudaResourceDesc *r,
                               struct texture *t)
{
    if (r->res.pitch2D.width > device_figure(cudaDevAttrMaxTexture2DLinearWidth)
        || r->res.pitch2D.height > device_figure(cudaDevAttrMaxTexture2DLinearHeight))
        return cudaErrorInvalidValue;
    return use_memory(call, r->res.pitch2D.devPtr, &r->res.pitch2D.desc, r->res.pitch2D.width,
                      r->res.pitch2D.height, r->res.pitch2D.pitchInBytes, t);
}

static cudaError_t use_resource(struct call *call, const struct cudaResourceDesc *r,
                                struct texture *t)
{
    switch (r->resType) {
    case cudaResourceTypeArray: return use_array(call, r->res.array.array, t);
    case cudaResourceTypeLinear: return use_linear(call, r, t);
    case cudaResourceTypePitch2D: return use_pitched(call, r, t);
    case cudaResourceTypeMipmappedArray:
        return call_not_simulated(call, "textures of mipmapped arrays are");
    default: return cudaErrorInvalidValue;
    }
}

/* Returns the part of the description that is not simulated, or NULL. */
static const char *not_simulated(const struct cudaTextureDesc *d, bool has_view)
{
    return has_view           ? "views of resources"
         : d->sRGB            ? "sRGB conversion"
         : d->seamlessCubemap ? "filtering across the faces of a cube"
                              : NULL;
}

/* Documented: only floats are filtered; only integers of 8 and 16 bits are read as fractions;
 * cudaAddressModeWrap and Mirror need normalized coordinates, and otherwise clamp. Measured
 * (kernels-texture_words.txt): the filter is judged first, and an unknown read mode is no error. */
static cudaError_t use_description(const struct cudaTextureDesc *d, bool is_drivers,
                                   struct texture *t)
{
    const bool filters = d->filterMode == cudaFilterModeLinear;
    const bool may_be_fractions = t->kind != CHANNEL_FLOAT && t->channel_bytes < 4;
    const bool fractions =
        d->readMode == cudaReadModeNormalizedFloat && (may_be_fractions || !is_drivers);
    if ((unsigned)d->filterMode > cudaFilterModeLinear)
        return cudaErrorInvalidValue;
    const bool can_filter = t->kind == CHANNEL_FLOAT || (fractions && may_be_fractions);
    t->reads_fractions = fractions;
    /* The driver takes the setting (measured: probe-more-answers.txt, "driver_textures"). Assumed:
     * it has no effect. */
    if (filters && !can_filter && !is_drivers)
        return cudaErrorInvalidFilterSetting;
    if (fractions && !may_be_fractions)
        return cudaErrorInvalidNormSetting;
    /* Documented: the address mode is ignored for linear memory. */
    t->filters = filters && can_filter && !t->is_linear_memory;
    t->is_normalized = d->normalizedCoords && !t->is_linear_memory;
    for (unsigned n = 0; n < 3; n++) {
        const unsigned mode = (unsigned)d->addressMode[n];
        if (mode > cudaAddressModeBorder)
            return cudaErrorInvalidValue;
        t->mode[n] = !t->is_normalized && (mode == ADDRESS_WRAP || mode == ADDRESS_MIRROR)
                       ? ADDRESS_CLAMP
                       : (enum address_mode)mode;
    }
    for (unsigned n = 0; n < 4; n++)
        t->border[n] = t->is_linear_memory ? 0 : d->borderColor[n];
    return cudaSuccess;
}

cudaError_t texture_create(struct call *call, unsigned long long *object,
                           const struct cudaResourceDesc *resource,
                           const struct cudaTextureDesc *desc, bool has_view)
{
    const char *missing = not_simulated(desc, has_view);
    if (missing)
        return call_not_simulated(call, "a texture with %s is", missing);
    struct texture_object o = {.resource = *resource, .desc = *desc};
    cudaError_t e = use_resource(call, resource, &o.texture);
    if (!e)
        e = use_description(desc, call_is_drivers(call), &o.texture);
    if (!e)
        *object = texture_object_new(&o);
    return e;
}

cudaError_t do_cudaCreateTextureObject(struct call *call, cudaTextureObject_t *object,
                                       const struct cudaResourceDesc *resource,
                                       const struct cudaTextureDesc *desc,
                                       const struct cudaResourceViewDesc *view)
{
    if (!object || !resource || !desc)
        return object && resource ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
    return texture_create(call, object, resource, desc, view != NULL);
}

/* Destroys an object, or ends the process with a sentence if it is none. Measured
 * (probe-more-answers.txt, "arrays"): 0 is no error. */
cudaError_t texture_destroy(const struct call *call, uint64_t handle, bool is_surface)
{
    if (!handle)
        return cudaSuccess;
    if (!texture_object_find(handle, is_surface))
        call_bad_handle(call, is_surface ? "a surface object" : "a texture object", HANDLE_TEXTURE,
                        (const void *)(uintptr_t)handle,
                        is_surface ? "cudaDestroySurfaceObject" : "cudaDestroyTextureObject",
                        is_surface ? "cudaCreateSurfaceObject" : "cudaCreateTextureObject");
    texture_object_destroy(handle, call->origin.number);
    return cudaSuccess;
}

cudaError_t texture_resource(struct cudaResourceDesc *resource, uint64_t handle, bool is_surface)
{
    const struct texture_object *o = texture_object_find(handle, is_surface);
    if (!o || !resource)
        return cudaErrorInvalidValue;
    *resource = o->resource;
    return cudaSuccess;
}

cudaError_t do_cudaGetTextureObjectTextureDesc(struct call *call, struct cudaTextureDesc *desc,
                                               cudaTextureObject_t object)
{
    const struct texture_object *o = texture_object_find(object, false);
    if (!o)
        return cudaErrorInvalidValue;
    if (!desc)
        return cudaErrorInvalidResourceHandle;
    *desc = o->desc;
    return cudaSuccess;
}

/* Measured (kernels-texture_words.txt; probe-more-answers.txt, "driver_textures"): the view of a
 * texture without one is zeros, and the driver's function stores none. */
cudaError_t do_cudaGetTextureObjectResourceViewDesc(struct call *call,
                                                    struct cudaResourceViewDesc *view,
                                                    cudaTextureObject_t object)
{
    if (!texture_object_find(object, false))
        return cudaErrorInvalidValue;
    if (view && !call_is_drivers(call))
        *view = (struct cudaResourceViewDesc){.format = cudaResViewFormatNone};
    return cudaSuccess;
}

/* Documented: a surface is made of an array. Measured (kernels-texture_words.txt): the array may
 * also lack cudaArraySurfaceLoadStore. */
cudaError_t do_cudaCreateSurfaceObject(struct call *call, cudaSurfaceObject_t *object,
                                       const struct cudaResourceDesc *resource)
{
    if (!object || !resource)
        return cudaErrorInvalidValue;
    if (resource->resType != cudaResourceTypeArray)
        return cudaErrorInvalidValue;
    struct texture_object o = {.texture = {.is_surface = true}, .resource = *resource};
    cudaError_t e = use_resource(call, resource, &o.texture);
    if (!e)
        *object = texture_object_new(&o);
    return e;
}
