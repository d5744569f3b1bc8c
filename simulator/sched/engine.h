/* The timeline: runs the streams' work in the order of virtual time, and lets the host wait for it. */
#ifndef SIM_SCHED_ENGINE_H
#define SIM_SCHED_ENGINE_H

#include "sched/stream.h"

/* The stream has got its first piece of work. */
void timeline_add(struct stream *s);
/* Everything that ends by the host's present has ended. Called at the start of each call of the program. */
void timeline_catch_up(void);
/* The host waits until the stream has done this number; `who` is the call, for the message when that can never be. */
void timeline_wait(struct stream *s, uint64_t number, const char *who);
/* The host waits until something outside this process is so; work goes on meanwhile. */
void timeline_wait_outside(bool (*over)(void *what), void *what);
/* The host waits for all that the stream has at the call, and knows it to be over: as a synchronise, or not (stream_host_knows). */
void timeline_finish(struct stream *s, bool waited, const char *who);
/* The same for all streams of a device, or of all devices when device is -1. */
void timeline_finish_device(int device, bool waited, const char *who);
/* The host is away (asleep, or blocked in something that is no call of ours): everything that can end ends. Returns whether anything did. */
bool timeline_run_on(void);
/* Is there work in any stream? */
bool timeline_busy(void);
/* Has a host function ended since this was asked last? The pools take it for a synchronise. */
bool timeline_function_ended(void);
/* Does a thread wait for a host function that may return at any moment? */
bool timeline_waits_for_function(void);
/* Host functions that waited for the host, and need not any more, go on until they return or wait again: so it is the host's calls that decide when, and
 * not how fast their threads are. */
void timeline_let_functions_go_on(void);
/* True in a thread that runs a host function: it may not call the API (documented: cudaLaunchHostFunc). */
bool timeline_in_host_function(void);

#endif
