/* Texture and surface objects: what their handles, which kernels get as numbers, stand for. All of
 * these need the lock. */
#ifndef SIM_RUN_TEXTURE_OBJECT_H
#define SIM_RUN_TEXTURE_OBJECT_H

#include <cuda_runtime_api.h>

#include "base/handle.h"
#include "ptx/texture.h"

struct texture_object {
    struct texture texture;
    /* What it was made of, for calls that ask. */
    struct cudaResourceDesc resource;
    struct cudaTextureDesc desc;
    uint64_t handle;
    /* When it is destroyed: the number of that call, and the next of those that are. */
    uint32_t ended_by;
    struct texture_object *next;
};

/* Makes an object with this content, and returns its handle. */
uint64_t texture_object_new(const struct texture_object *content);
/* Returns the object, or NULL if there is none of this handle and kind. */
const struct texture_object *texture_object_find(uint64_t handle, bool is_surface);
/* Call number `call` destroys the object. Assumed, because nothing is documented: launches made
 * before that still have it. */
void texture_object_destroy(uint64_t handle, uint32_t call);
/* Returns what a launch that was made by call number `call` finds by the handle, or NULL. */
const struct texture *texture_object_of_launch(uint64_t handle, uint32_t call);

#endif
