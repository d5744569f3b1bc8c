/* The timeline: runs the streams' work in the order of virtual time, and lets the host wait for
 * it. */
#ifndef SIM_SCHED_ENGINE_H
#define SIM_SCHED_ENGINE_H

#include "sched/stream.h"

/* The stream has got its first piece of work. */
void engine_add_stream(struct stream *s);
/* Everything that ends by the host's present has ended. Called at the start of each call of the
 * program. */
void engine_catch_up(void);
/* The host waits until the stream has done this number; `who` is the call, for the message when
 * that can never be. */
void engine_wait(struct stream *s, uint64_t seq, const char *call);
/* The host waits until something outside this process is so; work goes on meanwhile. */
void engine_wait_remote(bool (*is_done)(void *what), void *argument);
/* The host waits for all that the stream has at the call, and knows it to be over: as a
 * synchronise, or not (host_acquire_stream). */
void engine_finish(struct stream *s, bool synchronized, const char *call);
/* The same for all streams of a device, or of all devices when device is -1. */
void engine_finish_device(int device, bool synchronized, const char *call);
/* The host is away (asleep, or blocked in something that is no call of ours): everything that can
 * end ends. Returns whether anything did. */
bool engine_run_all(void);
/* Is there work in any stream? */
bool engine_is_busy(void);
/* Has a host function ended since this was asked last? The pools take it for a synchronise. */
bool engine_function_ended(void);
/* Does a thread wait for a host function that may return at any moment? */
bool engine_waits_for_function(void);
/* Host functions that waited for the host, and need not any more, go on until they return or wait
 * again: so it is the host's calls that decide when, and not how fast their threads are. */
void engine_resume_functions(void);
/* True in a thread that runs a host function: it may not call the API (documented:
 * cudaLaunchHostFunc). */
bool engine_in_host_function(void);

#endif
