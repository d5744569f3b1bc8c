/* Contexts of the driver API: which one is current in a thread, and with it which device. Here a
 * context is a name for its device: two contexts of one device share its memory and streams
 * (assumed; on a GPU each has its own). All of these need the lock. */
#ifndef SIM_API_CONTEXT_H
#define SIM_API_CONTEXT_H

#include <driver_types.h>

#include "base/types.h"

struct context {
    int device;
    unsigned flags;
    bool is_primary;
    /* For a primary context: the number of cuDevicePrimaryCtxRetain calls that were not released.
     */
    unsigned references;
    uint64_t id;
    /* The handle that the program has for it, or NULL. */
    void *handle;
};

/* A call of the runtime initializes the driver and makes a primary context current, if none is
 * (documented). cudaSetDevice makes the device's primary context current. */
void context_used_by_runtime(void);
void context_begin_primary(int device);
void context_set_device(int device);

/* Does the work of cuInit. */
void context_initialize(void);
bool context_is_initialized(void);

/* Returns the device's primary context, which has a handle from now on. */
struct context *context_primary(int device);
/* Returns whether the primary context is active: retained, or used by the runtime. */
bool context_is_active(const struct context *c);
/* Take the runtime's use and the flags from the primary context. The second also ends it; the
 * program can begin it again. */
void context_reset_primary(int device);
void context_end_primary(int device);
struct context *context_new(int device, unsigned flags);
/* Ends a context that context_new has made. */
void context_end(struct context *c);
/* Returns the context of a handle, or NULL. */
struct context *context_of(const void *handle);
/* Returns the number of contexts that are not primary. */
unsigned context_count_created(void);

/* The first returns the calling thread's current context, or NULL. The second returns whether the
 * thread has no current one because that ended. */
struct context *context_current(void);
/* Returns the context of a handle, for NULL the current one; or NULL if there is none. */
static inline struct context *context_given(const void *handle)
{
    return handle ? context_of(handle) : context_current();
}
bool context_is_destroyed(void);
/* Makes a context current; NULL: none. */
void context_set_current(struct context *c);
void context_push(struct context *c);
struct context *context_pop(void);

#endif
