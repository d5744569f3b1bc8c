/* Two operations that are not ordered as they must be: the result of a comparison, and the basis of
 * a report.
 *
 * Some conflicts cannot be judged at the later call. Work after a closed gate or an unfinished host
 * function cannot begin before the host has done something, and until then the host may still wait
 * for the other operation. Such a conflict is postponed. It is dropped if the host acquires one
 * operation while the other is still held up, and reported if neither is held up any more.
 *
 * The simulation cannot see what a host function waits for. So a conflict is also dropped if the
 * function only happened to begin late (assumed; no correct program is reported). All of these need
 * the lock. */
#ifndef SIM_CHECK_CONFLICT_H
#define SIM_CHECK_CONFLICT_H

#include "check/shadow.h"
#include "sched/stream.h"

enum conflict_kind {
    /* Two accesses, at least one of them a write. */
    CONFLICT_ACCESSES,
    /* An access, and a free that does not come after it. */
    CONFLICT_FREE,
    /* An allocation, and an access or a free that does not come after it. */
    CONFLICT_ALLOCATION,
    CONFLICT_ALLOCATION_FREE,
    /* A free, and an allocation by a graph node at the same address. */
    CONFLICT_SECOND_ALLOCATION,
};

/* Which of the two operations is held up. */
enum conflict_held { CONFLICT_NOT_HELD, CONFLICT_EARLIER_HELD, CONFLICT_LATER_HELD };

struct conflict {
    enum conflict_kind kind;
    struct shadow_ref ref;
    /* `later` is an operation of `s` or, if that is NULL, of the host. An allocation has only an
     * origin, and a free has no bytes. */
    struct access earlier, later;
    const struct stream *s;
    /* The result of conflict_held. */
    enum conflict_held held;
};

/* Returns which operation of this conflict, whose obstacles are set, is held up now; if both are,
 * the later one. Where the order is fixed (an allocation comes first, and uses precede a free) only
 * the later one is checked. Removes obstacles that do not matter. */
enum conflict_held conflict_held(struct conflict *c);
/* Keeps a conflict that is held up, with copies of all that its report needs. */
void conflict_postpone(const struct conflict *c);

/* Called when a wait for a value ends: drops the conflicts of which one operation is in `before`,
 * and the other one comes after the wait. */
void conflict_learn(const struct op *wait, const struct vector_clock *before);

/* Whether there is a postponed conflict. Written by conflict.c. */
extern bool conflicts_postponed;
/* Passes those that have become hazards to `report`, and drops them and those that have been
 * resolved. Called whenever the host has acquired something. */
void conflict_judge_postponed(void (*report)(const struct conflict *c));

#endif
