/* What the host has acquired: its vector clock. One clock stands for all threads of the program,
 * because their own order cannot be seen, and a program must not be reported for a lock that is not
 * visible here (assumed).
 *
 * What a host function tells the host cannot be seen, either. If it sets a flag that the host
 * reads, what precedes the function comes before the host's next call. If it tells nothing, it
 * orders nothing. Only the time when the function began is known. Assumed, so that no correct
 * program is reported:
 * - A call that was made before the function began cannot depend on it. So the host acquires what
 *   precedes a function at the first call that begins after it.
 * - The function begins late: up to FUNCTION_LATENESS (sched/cost.h) after its time, unless the
 *   host waits or rests. A host that makes one call after the other until then finds no flag set,
 *   so it has read nothing.
 * - After that, a host that looks at a flag, which takes a nanosecond, cannot be told from one that
 *   does not. The host is assumed to have looked. Where no sign shows that, the last sentences of
 *   the program name what only this orders (report_unseen in check/report.h). Signs are that the
 *   host repeats a query from one place in the program until the function begins, computes for
 *   long, waits for something other than a sleep, or sleeps again and again.
 *
 * All functions here need the lock. */
#ifndef SIM_SCHED_HAPPENS_BEFORE_H
#define SIM_SCHED_HAPPENS_BEFORE_H

#include "sched/stream.h"

/* Written by happens_before.c. Other rooms read it to skip functions when nothing is new. */
extern struct host_acquired {
    struct vector_clock clock;
    /* Grows with the clock. A stream's host_version is the version that the stream contains. */
    uint64_t version;
    /* Host functions have begun since the last call. */
    bool functions_begun;
} host_acquired;

/* Returns whether the host of any process that shares memory or events with this one has acquired
 * the work, because a message, which the simulation cannot see, may have passed that on. ipc/ sets
 * it; NULL if nothing is shared. */
extern bool (*host_acquired_elsewhere)(uint32_t slot, uint64_t seq);

/* Returns whether the work comes before the present call of the host. */
static inline bool host_has_acquired(uint32_t slot, uint64_t seq)
{
    return vc_includes(&host_acquired.clock, slot, seq)
        || (host_acquired_elsewhere && host_acquired_elsewhere(slot, seq));
}

/* What any code of the host has acquired: by calls, and from host functions that have begun since
 * the last call. It lives as long as the process. */
const struct vector_clock *host_code_clock(void);
/* The same, as far as work `seq` of the stream, which cannot begin yet, may rely on it. Host
 * functions of a device run one after another in any order, so what waits for one of them alone
 * cannot rely on another one (documented). */
const struct vector_clock *host_clock_for(const struct stream *s, uint64_t seq);
/* Returns whether the work comes before what code of the host does now: a load, a store, or letting
 * a host function continue. */
bool host_code_has_acquired(uint32_t slot, uint64_t seq);

/* Returns the number up to which, for the pools, the host has waited for the stream's work. */
uint64_t host_synchronized_seq(const struct stream *s);

/* Whether what the host acquires by a wait or query also counts as synchronized, for the pools. */
enum acquire { ACQUIRES, SYNCHRONIZES };
/* Records that the host has found all work of the stream up to `seq` done. */
void host_acquire_stream(struct stream *s, uint64_t seq, enum acquire how);
/* Records that the host has found a record reached, and with it all that precedes the record. */
void host_acquire_record(struct record *r, enum acquire how);
/* For a host that waits for several streams, and acquires nothing before all of them are done: add
 * what it then acquires, all work of a done stream or a record, to `gathered`, which begins
 * empty. */
void host_gather_stream(struct vector_clock *gathered, struct stream *s, enum acquire how);
void host_gather_record(struct vector_clock *gathered, struct record *r, enum acquire how);
/* Makes the host acquire what was gathered, and frees it. */
void host_acquire_gathered(struct vector_clock *gathered);
/* Makes the host acquire what precedes work `r->seq` + 1 of the record's stream. The record must
 * have been made when that work was queued. */
void host_acquire_before_record(struct record *r);
/* Called when the function that is work `r->seq` + 1 begins, or the host can see a value that this
 * work has written (then `device` is NO_DEVICE). `looks`: the host seems to await it. */
void host_function_begins(struct record *r, int device, bool looks);
/* Called when a call begins: the host may know what host functions have told it. */
void host_learns_of_functions(void);
/* Called when the host has slept repeatedly since the last call, as if it polled a flag. */
void host_slept_again(void);
/* Returns whether the host has acquired anything only from functions at which it may not have
 * looked. */
bool host_is_unsure(void);
/* Returns what the host has acquired without the functions of host_is_unsure. */
const struct vector_clock *host_sure_clock(void);
/* Makes the host acquire what another process released. */
void host_acquire_remote(const struct vector_clock *remote);
/* Adds a listener, which is called whenever the host has acquired something. Adding it again has no
 * effect. Ends the process if there are more than four. */
void host_on_acquire(void (*listener)(void));

#endif
