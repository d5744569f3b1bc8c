/* Copy engines: which copies a device makes at the same time, and which one after the other.
 *
 *            host                    up: to the device       one copy at a time in each direction
 *          up |  ^ down              down: to the host       and device
 *             v  |
 *          device 0  --- out --->  device 1                  one at a time from each device
 *             ^ inside               inside: copies and memsets of the device's own memory
 *
 * An engine only adds time. Its order is no happens-before, and neither the checker nor the
 * allocator sees it. A copy asks for its engine when everything before the copy has ended, so a
 * copy that has to wait for other work delays no other copy (measured:
 * tests/lessons/18_pinned_transfers/expected/output.txt, "beside the hold").
 *
 * All functions here need the lock. Source: simulator/tests/facts/probe-engines.txt and
 * probe-peer-engines.txt. */
#ifndef SIM_SCHED_COPY_ENGINE_H
#define SIM_SCHED_COPY_ENGINE_H

#include "sched/stream.h"

/* The path of a copy. The first five are engines, which each device has. */
enum route {
    ROUTE_UP,
    ROUTE_DOWN,
    /* Between two devices, one of which can reach the memory of the other. */
    ROUTE_OUT,
    /* Between two devices that cannot reach each other's memory: in pieces, down to the host and up
     * to the other device. Copies of the host have priority in both directions. */
    ROUTE_STAGED,
    /* In the device's own memory. One copy or memset takes the memory's whole bandwidth. */
    ROUTE_INSIDE,
    /* Between the host and managed memory, using both up and down of the device. */
    ROUTE_BOTH
};

/* A copy's use of an engine. It belongs to its op, from transfer_new to transfer_free. */
struct transfer {
    enum route route;
    /* The device of the engine and, for ROUTE_OUT and ROUTE_STAGED, the other device. */
    int device, to;
    struct op *op;
    enum { TRANSFER_NEW, TRANSFER_WAITING, TRANSFER_ACTIVE } state;
    /* The neighbors in the engine's list of waiting copies, or in the list of active ones. */
    struct transfer *previous, *next;
    /* While active: the time that the copy would need alone from `since` on, and its slowness in
     * thousandths, or 0 while it stands still. */
    time_ns left, since;
    unsigned slowness;
};

/* Gives a queued op, which has not begun, a route. */
void transfer_new(struct op *op, enum route route, int device, int to);
void transfer_free(struct transfer *t);

/* Called when the copy is ready at `now`: it begins or waits for its engine. */
void copy_engine_request(struct transfer *t, time_ns now);
/* Called when the copy has ended. The next copy begins, if there is one. */
void copy_engine_release(struct transfer *t, time_ns now);

#endif
