/* Texture and surface objects. */
#include "run/texture_object.h"

#include "check/late_launch.h"
#include "os/needs_lock.h"
#include "os/os.h"

/* The destroyed objects that launches which have not run may still use. Needs the lock. */
static struct texture_object *destroyed;

static void *as_pointer(uint64_t handle) { return (void *)(uintptr_t)handle; }

uint64_t texture_object_new(const struct texture_object *content)
{
    NEEDS_LOCK();
    struct texture_object *o = os_allocate(sizeof *o);
    *o = *content;
    o->handle = (uint64_t)(uintptr_t)handle_new(HANDLE_TEXTURE, o);
    return o->handle;
}

const struct texture_object *texture_object_find(uint64_t handle, bool is_surface)
{
    NEEDS_LOCK();
    const struct texture_object *o = handle_object(HANDLE_TEXTURE, as_pointer(handle));
    return o && o->texture.is_surface == is_surface ? o : NULL;
}

void texture_object_destroy(uint64_t handle, uint32_t call)
{
    NEEDS_LOCK();
    struct texture_object *o = handle_object(HANDLE_TEXTURE, as_pointer(handle));
    for (struct texture_object *d = destroyed, *next; d && !late_launches; d = next) {
        next = d->next;
        os_free(d);
        destroyed = next;
    }
    handle_retire(HANDLE_TEXTURE, as_pointer(handle));
    o->ended_by = call;
    o->next = destroyed;
    destroyed = o;
}

const struct texture *texture_object_of_launch(uint64_t handle, uint32_t call)
{
    NEEDS_LOCK();
    const struct texture_object *o = handle_object(HANDLE_TEXTURE, as_pointer(handle));
    for (const struct texture_object *d = destroyed; d && !o; d = d->next)
        if (d->handle == handle && d->ended_by > call)
            o = d;
    return o ? &o->texture : NULL;
}
