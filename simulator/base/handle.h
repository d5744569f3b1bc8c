/* Handles: what the program holds of a stream, an event, a pool. A handle is a number, not an
 * address, so that one that was never given out, or whose object is gone, is known as such (a real
 * driver dies of SIGSEGV there: tests/hardware/facts/danger.txt, 12 and 13). */
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

/* A handle for the object; never NULL. */
void *handle_new(enum handle_kind kind, void *object);
/* The object, or NULL when the handle is not a live one of this kind. */
void *handle_object(enum handle_kind kind, const void *handle);
/* Why handle_object said NULL: the object was destroyed, or there never was one. */
enum handle_state handle_state(enum handle_kind kind, const void *handle);
/* The handle is gone; its number is not given out again. */
void handle_retire(enum handle_kind kind, const void *handle);

#endif
