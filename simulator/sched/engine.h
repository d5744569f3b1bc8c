/* The engine: runs the streams' work in the order of virtual time, and makes the host wait for it.
 * All of these need the lock. Those named _unlocking may release it while they wait, and other
 * threads of the program can then make calls. */
#ifndef SIM_SCHED_ENGINE_H
#define SIM_SCHED_ENGINE_H

#include "sched/stream.h"

/* Written by engine.c. Other rooms read it to skip functions when there is nothing to do. */
extern struct engine_status {
    /* The number of streams that have work. */
    uint32_t busy_streams;
    /* The number of operations of all streams that have ended. */
    uint64_t ended;
    /* A host function has ended. The API clears this when it has told the pools, for which that is
     * a synchronization. */
    bool function_ended;
} engine_status;

/* Called when the stream has got its first op. */
void engine_add_stream(struct stream *s);
/* Called when the `finish` of a copy is set, because it has begun or changed its speed. */
void engine_end_is_known(struct op *op);
/* Gives the newest op of the stream its effect now, and what comes before it, unless something
 * waits for the host. The times of their ends stay, and so does what the host has acquired. */
void engine_hasten(struct stream *s);
/* Ends everything that ends by the host's present. Called at the start of each call of the program
 * if there is work. */
void engine_catch_up_unlocking(void);
/* Makes the host wait until the stream has done work `seq`. `call` is named in the message if that
 * can never happen. */
void engine_wait_unlocking(struct stream *s, uint64_t seq, const char *call);
/* Makes the host wait until the stream has at most QUEUE_ROOM operations. The host acquires
 * nothing. */
void engine_wait_for_room_unlocking(struct stream *s, const char *call);
/* Makes the host wait for a condition outside this process, while work continues. */
void engine_wait_remote_unlocking(bool (*is_done)(void *what), void *argument);
/* Makes the host wait for all present work of the stream, and acquire it: as a synchronization, or
 * not (host_acquire_stream). */
void engine_finish_unlocking(struct stream *s, bool synchronized, const char *call);
/* Makes the host wait for all present work of a device or, if device is -1, of all devices, and
 * acquire it as engine_finish_unlocking does. */
void engine_finish_device_unlocking(int device, bool synchronized, const char *call);
/* Called when the host is idle (asleep or blocked outside of our calls): ends everything that can
 * end. Returns whether anything did. */
bool engine_run_all_unlocking(void);

#endif
