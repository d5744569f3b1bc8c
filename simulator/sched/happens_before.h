/* What the host has acquired: its vector clock. One clock stands for all threads of the program:
 * how they order themselves is not seen, and a program is never reported for a lock that we do not
 * see (assumed).
 *
 * What a host function tells the host is not seen either: it may set a flag that the host reads,
 * and then what comes before the function comes before the host's next call; or it tells nothing,
 * and then nothing does. What is seen is when the function began (assumed, so that no correct
 * program is reported):
 * - A call that the host had made by then cannot come from what the function did. So the host
 *   acquires what comes before a function at the first call that begins after it.
 * - The function begins late: up to FUNCTION_LATENESS (sched/cost.h) after its time, unless the
 *   host waits or rests. A host that makes its calls one after the other meanwhile finds no flag
 *   set, so it has read nothing.
 * - From then on a look at a flag, which takes a nanosecond, and none are the same to us. The host
 *   is taken to have looked. Where nothing points to that, the last words of the program name what
 *   is ordered by this alone (report_unseen in check/report.h). It points to a look if the host
 *   asks again and again from one place in the program until the function begins, computes for
 *   long, waits for something that is no sleep, or sleeps again and again.
 *
 * All of these need the lock. */
#ifndef SIM_SCHED_HAPPENS_BEFORE_H
#define SIM_SCHED_HAPPENS_BEFORE_H

#include "sched/stream.h"

/* Written by happens_before.c. Other rooms read it to skip functions when nothing is new. */
extern struct host_acquired {
    struct vector_clock clock;
    /* Grows with the clock. A stream's host_version is the version of the clock that it
     * contains. */
    uint64_t version;
    /* Host functions have begun since the last call did. */
    bool functions_begun;
} host_acquired;

/* Returns whether the host of any process that shares memory or events with this one has acquired
 * the work, because a message, which the simulation cannot see, may have passed that on. ipc/ sets
 * it; NULL if nothing is shared. */
extern bool (*host_acquired_elsewhere)(uint32_t slot, uint64_t seq);

/* Does the work come before the present call of the host? */
static inline bool host_has_acquired(uint32_t slot, uint64_t seq)
{
    return vc_includes(&host_acquired.clock, slot, seq)
        || (host_acquired_elsewhere && host_acquired_elsewhere(slot, seq));
}

/* What has been acquired by any code of the host: by its calls, and by host functions that have
 * begun since the last call did. It lives as long as the process. */
const struct vector_clock *host_code_clock(void);
/* Does the work come before what some code of the host does now: a load, a store, or letting a host
 * function go on? */
bool host_code_has_acquired(uint32_t slot, uint64_t seq);

/* Returns the sequence number up to which, for the pools, the host has waited for the stream's
 * work. */
uint64_t host_synchronized_seq(const struct stream *s);

/* Records that the host has found all work of the stream up to `seq` done, by waiting
 * (synchronized) or by a query. */
void host_acquire_stream(struct stream *s, uint64_t seq, bool synchronized);
/* Does the same for a record and all that precedes it. */
void host_acquire_record(struct record *r, bool synchronized);
/* The host waits for several streams, and acquires nothing before all of them are done. These add
 * to `gathered`, which begins empty, what it then acquires: all work of a stream, which is done, or
 * a record. */
void host_gather_stream(struct vector_clock *gathered, struct stream *s, bool synchronized);
void host_gather_record(struct vector_clock *gathered, struct record *r, bool synchronized);
/* Makes the host acquire what was gathered, and frees it. */
void host_acquire_gathered(struct vector_clock *gathered);
/* Makes the host acquire what precedes work `r->seq` + 1 of the record's stream. The record must
 * have been made when that work was queued. */
void host_acquire_before_record(struct record *r);
/* The host function that is work `r->seq` + 1 of its stream begins. `looks`: the host seems to wait
 * for it. */
void host_function_begins(struct record *r, bool looks);
/* A call begins: the host may know what host functions have told it. */
void host_learns_of_functions(void);
/* The host has slept again and again since the last call, as one does that looks for a flag. */
void host_slept_again(void);
/* Has the host acquired something by a host function of which nothing says that it looked? */
bool host_is_unsure(void);
/* What it has acquired without such functions. */
const struct vector_clock *host_sure_clock(void);
/* Makes the host acquire what another process released. */
void host_acquire_remote(const struct vector_clock *remote);
/* Adds a listener, which is called whenever the host has acquired something. Adding it again has no
 * effect. Ends the process if there are more than four. */
void host_on_acquire(void (*listener)(void));

#endif
