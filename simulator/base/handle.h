/* Handles, which the program holds for streams, events, pools, and other objects. A handle is a
 * number, not an address, so that an invalid or stale handle is recognized. (A real driver crashes
 * with SIGSEGV there: simulator/tests/facts/danger.txt, 12 and 13.) All functions here need the
 * lock. */
#ifndef SIM_BASE_HANDLE_H
#define SIM_BASE_HANDLE_H

#include "base/types.h"

enum handle_kind {
    HANDLE_STREAM = 1,
    HANDLE_EVENT,
    HANDLE_POOL,
    HANDLE_GRAPH,
    HANDLE_GRAPH_EXEC,
    HANDLE_GRAPH_NODE,
    HANDLE_CONTEXT,
    HANDLE_MODULE,
    HANDLE_LINK,
    HANDLE_CONDITION,
    HANDLE_ARRAY,
    HANDLE_TEXTURE, /* And surfaces. */
    HANDLE_MEMORY,  /* Of cuMemCreate. */
    HANDLE_KINDS
};
enum handle_state { HANDLE_LIVE, HANDLE_DESTROYED, HANDLE_UNKNOWN };

/* Returns a handle for the object, never NULL. The caller still owns the object and must retire the
 * handle before it frees the object. */
void *handle_new(enum handle_kind kind, void *object);
/* Returns the object, or NULL if the handle is not a live handle of this kind. */
void *handle_object(enum handle_kind kind, const void *handle);
/* Tells why handle_object returned NULL: the object was destroyed, or never existed. */
enum handle_state handle_state(enum handle_kind kind, const void *handle);
/* Returns the site (os_call_site) of the call that destroyed the object, or NULL if another object
 * has had the slot since. */
void *handle_destroyed_at(const void *handle);
/* Called before the object is freed. The handle's number is not given out again, except under
 * SIM_SCHEDULE=random with an even seed. Does nothing for a handle that is not live. */
void handle_retire(enum handle_kind kind, const void *handle);

#endif
