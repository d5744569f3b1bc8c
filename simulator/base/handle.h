/* Handles: what the program holds of a stream, an event, a pool. A handle is a number, not an
 * address, so that one that was never given out, or whose object is gone, is known as such (a real
 * driver dies of SIGSEGV there: simulator/tests/facts/danger.txt, 12 and 13). All of these need the
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
    HANDLE_GRAPH_NODE
};
enum handle_state { HANDLE_LIVE, HANDLE_DESTROYED, HANDLE_UNKNOWN };

/* Returns a handle for the object; never NULL. The caller still owns the object, and retires the
 * handle before it frees it. */
void *handle_new(enum handle_kind kind, void *object);
/* Returns the object, or NULL when the handle is not a live one of this kind. */
void *handle_object(enum handle_kind kind, const void *handle);
/* Why handle_object returned NULL: the object was destroyed, or there never was one. */
enum handle_state handle_state(enum handle_kind kind, const void *handle);
/* The object is about to go: the handle's number is not given out again. Does nothing for a handle
 * that is not live. */
void handle_retire(enum handle_kind kind, const void *handle);

#endif
