/* CUDA arrays, and textures of them and of other memory. An array is an allocation like one of
 * cudaMalloc, with its rows one after the other at multiples of 32 bytes (assumed: on a GPU the
 * form is not documented, and no program sees it). So copies, kernels, and the checker treat it as
 * other memory. All of these need the lock. */
#ifndef SIM_API_ARRAY_H
#define SIM_API_ARRAY_H

#include "api/call.h"

struct array {
    void *handle;
    char *base;
    struct cudaChannelFormatDesc desc;
    /* The size that the program gave: a height or depth that the array does not have is 0. */
    struct cudaExtent extent;
    unsigned flags;
    /* The bytes of an element, of all elements of a row, between the beginnings of rows, and
     * between those of slices or layers. */
    size_t element, row, pitch, slice;
    /* The height and depth of `extent`, but at least 1. */
    size_t rows, slices;
};

/* Returns the array of a handle, or NULL for a null handle. Any other handle that is no array ends
 * the process with a sentence. */
struct array *array_of(struct call *call, cudaArray_const_t handle);
/* Returns the bytes of an element with these channels, or 0 if no array can have them. */
size_t array_element_bytes(const struct cudaChannelFormatDesc *desc);
/* Translates a part of an array, whose rows are counted in units of so many bytes, into a part of
 * the array's memory, and its place into bytes. Returns whether the extent is within the array. */
bool array_take_place(const struct array *a, size_t unit, struct cudaExtent e, struct cudaPos *pos,
                      struct cudaPitchedPtr *ptr);
/* Returns whether a part of pitched memory at this place, both in bytes, is within its rows, and
 * fills in a pitch or height that is 0. */
bool array_take_memory(struct cudaPitchedPtr *ptr, struct cudaExtent e, struct cudaPos pos);
/* Copy rows between an array and pitched memory. `stream` is NULL for a call that has none. */
cudaError_t array_copy_to(struct call *call, cudaArray_t to, size_t x, size_t y, const void *from,
                          size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                          const cudaStream_t *stream);
cudaError_t array_copy_from(struct call *call, void *to, size_t pitch, cudaArray_const_t from,
                            size_t x, size_t y, size_t width, size_t height,
                            enum cudaMemcpyKind kind, const cudaStream_t *stream);
/* One end of a copy that continues in the next row when a row ends: a place in an array's first
 * slice, or memory that is divided into rows like the other end. */
struct run_of_bytes {
    const struct array *array;
    char *memory;
    size_t x, y;
};
static inline struct run_of_bytes run_in(struct call *call, cudaArray_const_t array, size_t x,
                                         size_t y)
{
    return (struct run_of_bytes){array_of(call, array), NULL, x, y};
}
static inline struct run_of_bytes run_at(const void *memory)
{
    return (struct run_of_bytes){NULL, (char *)memory, 0, 0};
}
cudaError_t array_copy_run(struct call *call, struct run_of_bytes to, struct run_of_bytes from,
                           size_t count, enum cudaMemcpyKind kind, const cudaStream_t *stream);
/* Describes a copy that may involve arrays as a copy between pitched memory. `to` may be `p`. */
cudaError_t array_resolve_copy(struct call *call, const struct cudaMemcpy3DParms *p,
                               struct cudaMemcpy3DParms *to);

/* Makes a texture object. If the program uses the driver API, it may ask for fractions of any
 * integers, but only those of 8 and 16 bits are read as such (documented). */
cudaError_t texture_create(struct call *call, unsigned long long *object,
                           const struct cudaResourceDesc *resource,
                           const struct cudaTextureDesc *desc, bool has_view);
/* Destroy a texture or surface object, and store what it was made of. */
cudaError_t texture_destroy(const struct call *call, uint64_t handle, bool is_surface);
cudaError_t texture_resource(struct cudaResourceDesc *resource, uint64_t handle, bool is_surface);

#endif
