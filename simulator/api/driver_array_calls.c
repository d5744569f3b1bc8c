/* The driver API's arrays, textures, and surfaces. They are the runtime's, described in other
 * words. The words are documented, and the errors are measured (probe-more-answers.txt). */
#include <string.h>

#include "api/array.h"
#include "array_calls.inc"
#include "driver_array_calls.inc"
#include "texture_calls.inc"
#include "os/os.h"
#include "run/texture_object.h"

static const struct {
    CUarray_format format;
    int bits;
    enum cudaChannelFormatKind kind;
} formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
    {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat},
};
#define FORMATS (sizeof formats / sizeof *formats)

/* Writes the runtime's form of an element of 1, 2, or 4 channels. */
static cudaError_t find_form(const struct call *call, CUarray_format format, unsigned channels,
                             struct cudaChannelFormatDesc *desc)
{
    size_t n = 0;
    if (channels != 1 && channels != 2 && channels != 4)
        return cudaErrorInvalidValue;
    while (n < FORMATS && formats[n].format != format)
        n++;
    if (n < FORMATS) {
        const int bits = formats[n].bits;
        *desc =
            (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                                           channels > 2 ? bits : 0, formats[n].kind};
        return cudaSuccess;
    }
    if (format < CU_AD_FORMAT_UNORM_INT_101010_2)
        return cudaErrorInvalidValue;
    return call_not_simulated(
        call, "arrays of compressed and normalized formats and of those of videos (here %#x) are",
        (unsigned)format);
}

static CUarray_format format_of(const struct cudaChannelFormatDesc *desc)
{
    size_t n = 0;
    while (n < FORMATS - 1 && (formats[n].bits != desc->x || formats[n].kind != desc->f))
        n++;
    return formats[n].format;
}

static unsigned channels_of(const struct cudaChannelFormatDesc *desc)
{
    return desc->w ? 4 : desc->y ? 2 : 1;
}

/* The flags have the runtime's numbers. */
cudaError_t do_cuArray3DCreate_v2(struct call *call, CUarray *array,
                                  const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct cudaChannelFormatDesc form;
    if (!array || !d)
        return cudaErrorInvalidValue;
    cudaError_t e = find_form(call, d->Format, d->NumChannels, &form);
    return e ? e
             : do_cudaMalloc3DArray(call, (cudaArray_t *)array, &form,
                                    (struct cudaExtent){d->Width, d->Height, d->Depth}, d->Flags);
}

cudaError_t do_cuArrayCreate_v2(struct call *call, CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
    if (!d)
        return cudaErrorInvalidValue;
    const CUDA_ARRAY3D_DESCRIPTOR flat = {d->Width, d->Height, 0, d->Format, d->NumChannels, 0};
    return do_cuArray3DCreate_v2(call, array, &flat);
}

cudaError_t do_cuArray3DGetDescriptor_v2(struct call *call, CUDA_ARRAY3D_DESCRIPTOR *d,
                                         CUarray array)
{
    const struct array *a = array_of(call, (cudaArray_t)array);
    if (!d || !a)
        return a ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    *d = (CUDA_ARRAY3D_DESCRIPTOR){a->extent.width,     a->extent.height,      a->extent.depth,
                                   format_of(&a->desc), channels_of(&a->desc), a->flags};
    return cudaSuccess;
}

cudaError_t do_cuArrayGetDescriptor_v2(struct call *call, CUDA_ARRAY_DESCRIPTOR *d, CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR all;
    cudaError_t e = do_cuArray3DGetDescriptor_v2(call, d ? &all : NULL, array);
    if (!e)
        *d = (CUDA_ARRAY_DESCRIPTOR){all.Width, all.Height, all.Format, all.NumChannels};
    return e;
}

static cudaError_t find_resource(const struct call *call, const CUDA_RESOURCE_DESC *d,
                                 struct cudaResourceDesc *r)
{
    if (!d || d->flags)
        return cudaErrorInvalidValue;
    *r = (struct cudaResourceDesc){.resType = (enum cudaResourceType)d->resType};
    switch (d->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        r->res.array.array = (cudaArray_t)d->res.array.hArray;
        return d->res.array.hArray ? cudaSuccess : cudaErrorInvalidValue;
    case CU_RESOURCE_TYPE_LINEAR:
        r->res.linear.devPtr = (void *)d->res.linear.devPtr;
        r->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
        return find_form(call, d->res.linear.format, d->res.linear.numChannels,
                         &r->res.linear.desc);
    case CU_RESOURCE_TYPE_PITCH2D:
        r->res.pitch2D.devPtr = (void *)d->res.pitch2D.devPtr;
        r->res.pitch2D.width = d->res.pitch2D.width;
        r->res.pitch2D.height = d->res.pitch2D.height;
        r->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
        return find_form(call, d->res.pitch2D.format, d->res.pitch2D.numChannels,
                         &r->res.pitch2D.desc);
    default: return cudaSuccess;
    }
}

cudaError_t driver_resource(CUDA_RESOURCE_DESC *d, uint64_t handle, bool is_surface)
{
    const struct texture_object *o = texture_object_find(handle, is_surface);
    if (!o || !d)
        return cudaErrorInvalidValue;
    const struct cudaResourceDesc *r = &o->resource;
    *d = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)r->resType};
    if (r->resType == cudaResourceTypeArray) {
        d->res.array.hArray = (CUarray)r->res.array.array;
    } else if (r->resType == cudaResourceTypeLinear) {
        d->res.linear.devPtr = (CUdeviceptr)r->res.linear.devPtr;
        d->res.linear.format = format_of(&r->res.linear.desc);
        d->res.linear.numChannels = channels_of(&r->res.linear.desc);
        d->res.linear.sizeInBytes = r->res.linear.sizeInBytes;
    } else {
        d->res.pitch2D.devPtr = (CUdeviceptr)r->res.pitch2D.devPtr;
        d->res.pitch2D.format = format_of(&r->res.pitch2D.desc);
        d->res.pitch2D.numChannels = channels_of(&r->res.pitch2D.desc);
        d->res.pitch2D.width = r->res.pitch2D.width;
        d->res.pitch2D.height = r->res.pitch2D.height;
        d->res.pitch2D.pitchInBytes = r->res.pitch2D.pitchInBytes;
    }
    return cudaSuccess;
}

cudaError_t do_cuTexObjectCreate(struct call *call, CUtexObject *object,
                                 const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *d,
                                 const CUDA_RESOURCE_VIEW_DESC *view)
{
    struct cudaResourceDesc r;
    const unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB
                         | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;
    if (!object || !d || d->flags & ~known)
        return cudaErrorInvalidValue;
    cudaError_t e = find_resource(call, resource, &r);
    if (e)
        return e;
    struct cudaTextureDesc t = {
        .filterMode = (enum cudaTextureFilterMode)d->filterMode,
        .readMode = d->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
                                                       : cudaReadModeNormalizedFloat,
        .sRGB = (d->flags & CU_TRSF_SRGB) != 0,
        .normalizedCoords = (d->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
        .maxAnisotropy = d->maxAnisotropy,
        .mipmapFilterMode = (enum cudaTextureFilterMode)d->mipmapFilterMode,
        .mipmapLevelBias = d->mipmapLevelBias,
        .minMipmapLevelClamp = d->minMipmapLevelClamp,
        .maxMipmapLevelClamp = d->maxMipmapLevelClamp,
        .disableTrilinearOptimization = (d->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0,
        .seamlessCubemap = (d->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0};
    for (unsigned n = 0; n < 3; n++)
        t.addressMode[n] = (enum cudaTextureAddressMode)d->addressMode[n];
    memcpy(t.borderColor, d->borderColor, sizeof t.borderColor);
    return texture_create(call, object, &r, &t, view != NULL);
}

cudaError_t do_cuTexObjectGetTextureDesc(struct call *call, CUDA_TEXTURE_DESC *d,
                                         CUtexObject object)
{
    const struct texture_object *o = texture_object_find(object, false);
    if (!o || !d)
        return cudaErrorInvalidValue;
    const struct cudaTextureDesc *t = &o->desc;
    *d = (CUDA_TEXTURE_DESC){
        .filterMode = (CUfilter_mode)t->filterMode,
        .flags = (t->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0)
               | (t->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0)
               | (t->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0),
        .maxAnisotropy = t->maxAnisotropy,
        .mipmapFilterMode = (CUfilter_mode)t->mipmapFilterMode,
        .mipmapLevelBias = t->mipmapLevelBias,
        .minMipmapLevelClamp = t->minMipmapLevelClamp,
        .maxMipmapLevelClamp = t->maxMipmapLevelClamp};
    for (unsigned n = 0; n < 3; n++)
        d->addressMode[n] = (CUaddress_mode)t->addressMode[n];
    memcpy(d->borderColor, t->borderColor, sizeof d->borderColor);
    return cudaSuccess;
}

cudaError_t do_cuSurfObjectCreate(struct call *call, CUsurfObject *object,
                                  const CUDA_RESOURCE_DESC *resource)
{
    struct cudaResourceDesc r;
    cudaError_t e = find_resource(call, resource, &r);
    return e ? e : do_cudaCreateSurfaceObject(call, object, &r);
}
