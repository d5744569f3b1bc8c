/* Copy engines: which copies a device makes side by side, and which one after the other.
 *
 *            host                    up: to the device       one copy at a time in each direction
 *          up |  ^ down              down: to the host       and device
 *             v  |
 *          device 0  --- out --->  device 1                  one at a time from each device
 *             ^ inside               inside: copies and memsets of the device's own memory
 *
 * An engine adds time and nothing else: what it does first happens before nothing by that, and the
 * checker and the allocator do not see it. A copy asks for its engine when all that it comes after
 * is over; a copy that has to wait for something else holds up nobody (measured:
 * tests/lessons/18_pinned_transfers/expected/output.txt, "beside the hold").
 *
 * All of these need the lock. Source: simulator/tests/facts/probe-engines.txt and
 * probe-peer-engines.txt. */
#ifndef SIM_SCHED_COPY_ENGINE_H
#define SIM_SCHED_COPY_ENGINE_H

#include "sched/stream.h"

/* The way of a copy. The first five are engines, of which each device has one. */
enum route {
    ROUTE_UP,
    ROUTE_DOWN,
    /* Between two devices of which one reaches the memory of the other. */
    ROUTE_OUT,
    /* Between two that do not: in pieces, through the host, down from the one and up to the other.
     * Copies of the host go first on these two ways. */
    ROUTE_STAGED,
    /* In the device's own memory, whose bandwidth one copy or memset takes alone. */
    ROUTE_INSIDE,
    /* Between the host and managed memory: up and down of the device. */
    ROUTE_BOTH
};

/* A copy's use of an engine. It belongs to its op, from transfer_new to transfer_free. */
struct transfer {
    enum route route;
    /* The device of the engine, and (ROUTE_OUT, ROUTE_STAGED) the other one. */
    int device, to;
    struct op *op;
    enum { TRANSFER_NEW, TRANSFER_WAITING, TRANSFER_ACTIVE } state;
    /* Its neighbors among those that wait for the same engine, in the order in which they came; of
     * an active one, among the active. */
    struct transfer *previous, *next;
    /* Active: the time that it would still take alone at `since`, and the thousandths by which it
     * is slower now; 0: it stands still. */
    time_ns left, since;
    unsigned slowness;
};

/* Gives an op that is queued, and not begun, a way. */
void transfer_new(struct op *op, enum route route, int device, int to);
void transfer_free(struct transfer *t);

/* The copy is ready at `now`. It begins, or it waits for its engine. */
void copy_engine_request(struct transfer *t, time_ns now);
/* The copy has ended. The next one begins, if there is one. */
void copy_engine_release(struct transfer *t, time_ns now);

#endif
