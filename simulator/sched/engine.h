/* The engine: runs the streams' work in the order of virtual time, and lets the host wait for it.
 * All of these need the lock. Those named _unlocking may give it up while they wait: then other
 * threads of the program make calls meanwhile. */
#ifndef SIM_SCHED_ENGINE_H
#define SIM_SCHED_ENGINE_H

#include "sched/stream.h"

/* Everyone may read it, to enter no function where there is nothing to do; engine.c writes it. */
extern struct engine_status {
    /* How many streams have work. */
    uint32_t busy_streams;
    /* How many operations of all streams have ended in their queues. */
    uint64_t ended;
    /* A host function has ended. The API clears this when it has reported that to the pools, which
     * take it for a synchronization. */
    bool function_ended;
} engine_status;

/* The stream has got its first op. */
void engine_add_stream(struct stream *s);
/* The copy has begun, or goes faster or slower than before: its `finish` is set. */
void engine_end_is_known(struct op *op);
/* Ends everything that ends by the host's present. Called at the start of each call of the program
 * when there is work. */
void engine_catch_up_unlocking(void);
/* The host waits until the stream has done work `seq`. `call` goes into the message when that can
 * never be. */
void engine_wait_unlocking(struct stream *s, uint64_t seq, const char *call);
/* The host waits until the stream has no more than QUEUE_ROOM operations; it acquires nothing. */
void engine_wait_for_room_unlocking(struct stream *s, const char *call);
/* The host waits until something outside this process is so; work goes on meanwhile. */
void engine_wait_remote_unlocking(bool (*is_done)(void *what), void *argument);
/* The host waits for all that the stream has now, and acquires it: as a synchronization, or not
 * (host_acquire_stream). */
void engine_finish_unlocking(struct stream *s, bool synchronized, const char *call);
/* The same for all streams of a device, or of all devices when device is -1. */
void engine_finish_device_unlocking(int device, bool synchronized, const char *call);
/* The host is idle (asleep, or blocked in something that is no call of ours): everything that can
 * end ends. Returns whether anything did. */
bool engine_run_all_unlocking(void);

#endif
