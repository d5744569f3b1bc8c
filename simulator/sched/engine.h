/* The engine: runs the streams' work in the order of virtual time, and makes the host wait for it.
 * All functions here need the lock. Functions named _unlocking may release it while they wait, and
 * other threads of the program can then make calls. */
#ifndef SIM_SCHED_ENGINE_H
#define SIM_SCHED_ENGINE_H

#include "sched/happens_before.h"

/* Written by engine.c. Other rooms read it to skip functions when there is nothing to do. */
extern struct engine_status {
    /* The number of streams that have work. */
    uint32_t busy_streams;
    /* The number of operations of all streams that have ended. */
    uint64_t ended;
    /* A host function has ended, which counts as a synchronization for the pools. The API tells the
     * pools and clears this. */
    bool function_ended;
} engine_status;

/* Called when the stream has got its first op. */
void engine_add_stream(struct stream *s);
/* Called when the `finish` of a copy is set, because it has begun or changed its speed. */
void engine_end_is_known(struct op *op);
/* Gives the stream's newest op, and all that precedes it, their effects now, unless something waits
 * for the host. Neither the times of their ends nor what the host has acquired changes. */
void engine_hasten(struct stream *s);
/* Called at the start of a call if there is work: ends everything that ends by the host's
 * present. */
void engine_catch_up_unlocking(void);
/* Makes the host wait until the stream has done work `seq`. If that can never happen, the message
 * names `call`. */
void engine_wait_unlocking(struct stream *s, uint64_t seq, const char *call);
/* Makes the host wait until the stream has at most QUEUE_ROOM operations, and acquire nothing. */
void engine_wait_for_room_unlocking(struct stream *s, const char *call);
/* Makes the host wait for a condition outside this process, while work continues. */
void engine_wait_remote_unlocking(bool (*is_done)(void *what), void *argument);
/* Makes the host wait for all present work of the stream, and acquire it. */
void engine_finish_unlocking(struct stream *s, enum acquire how, const char *call);
/* Makes the host wait for all present work of a device or, if device is -1, of all devices, and
 * acquire it as engine_finish_unlocking does. */
void engine_finish_device_unlocking(int device, enum acquire how, const char *call);
/* Called when the host is idle (asleep or blocked outside of our calls): ends everything that can
 * end. Returns whether anything did. */
bool engine_run_all_unlocking(void);

#endif
