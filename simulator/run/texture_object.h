/* Texture and surface objects: what the handles mean that kernels get as numbers. All of these need
 * the lock. */
#ifndef SIM_RUN_TEXTURE_OBJECT_H
#define SIM_RUN_TEXTURE_OBJECT_H

#include <cuda_runtime_api.h>

#include "base/handle.h"
#include "ptx/texture.h"

struct texture_object {
    struct texture texture;
    /* The description from which it was created, for calls that ask for it. */
    struct cudaResourceDesc resource;
    struct cudaTextureDesc desc;
    uint64_t handle;
    /* After its destruction: the number of the call that destroyed it, and the next destroyed
     * object. */
    uint32_t ended_by;
    struct texture_object *next;
};

/* Makes an object with this content, and returns its handle. */
uint64_t texture_object_new(const struct texture_object *content);
/* Returns the object, or NULL if there is none of this handle and kind. */
const struct texture_object *texture_object_find(uint64_t handle, bool is_surface);
/* Destroys the object by call number `call`. Assumed, because nothing is documented: launches that
 * were made before the call still find it. */
void texture_object_destroy(uint64_t handle, uint32_t call);
/* Returns what the handle meant for a launch that call number `call` made, or NULL. */
const struct texture *texture_object_of_launch(uint64_t handle, uint32_t call);

#endif
