/* What the host has acquired: its vector clock. One clock stands for all threads of the program:
 * how they order themselves is not seen, and a program is never reported for a lock that we do not
 * see (assumed). All of these need the lock. */
#ifndef SIM_SCHED_HAPPENS_BEFORE_H
#define SIM_SCHED_HAPPENS_BEFORE_H

#include "sched/stream.h"

/* Everyone may read it, to enter no function where nothing is new; happens_before.c writes it. */
extern struct host_acquired {
    struct vector_clock clock;
    /* Grows with the clock: struct stream says with host_version how much of it is in there. */
    uint64_t version;
} host_acquired;

/* Returns whether the host of any process that shares memory or events with this one has acquired
 * the work: a message, which is not seen, may have passed that on. ipc/ sets it; NULL: nothing is
 * shared. */
extern bool (*host_acquired_elsewhere)(uint32_t slot, uint64_t seq);

/* Does the work come before what the host does now? */
static inline bool host_has_acquired(uint32_t slot, uint64_t seq)
{
    return vc_includes(&host_acquired.clock, slot, seq)
        || (host_acquired_elsewhere && host_acquired_elsewhere(slot, seq));
}

/* The host's vector clock, which lives as long as the process. */
const struct vector_clock *host_vector_clock(void);

/* Returns up to where, to the pools, the host has waited for the stream's work. */
uint64_t host_synchronized_seq(const struct stream *s);

/* The host has found that all work of the stream up to `seq` is over: by waiting (synchronized), or
 * by a query. */
void host_acquire_stream(struct stream *s, uint64_t seq, bool synchronized);
/* The same for a record, with all that came before it. */
void host_acquire_record(struct record *r, bool synchronized);
/* The host waits for several streams, and does nothing before all of them are over. `gathered`,
 * which begins empty, gets what it acquires then: all that the stream has, which is over; or a
 * record. */
void host_gather_stream(struct vector_clock *gathered, struct stream *s, bool synchronized);
void host_gather_record(struct vector_clock *gathered, struct record *r, bool synchronized);
/* The host acquires what was gathered, and frees that. */
void host_acquire_gathered(struct vector_clock *gathered);
/* The host acquires what comes before work `r->seq` + 1 of its stream, where the record was made
 * when that work was queued. */
void host_acquire_before_record(struct record *r);
/* The host acquires what another process released. */
void host_acquire_remote(const struct vector_clock *remote);
/* Calls `listener` each time when the host has acquired something. A listener may register again;
 * it counts once. Ends the process when there are more than four. */
void host_on_acquire(void (*listener)(void));

#endif
