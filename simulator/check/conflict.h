/* Two operations that nothing orders as they must be: the comparison's result, and what a report is
 * made of.
 *
 * Some cannot be judged when the later call is made. Work behind a closed gate, or behind a host
 * function that has not returned, cannot begin before the host has done something; and until then
 * the host may wait for the other operation. Such a conflict is postponed. It is none when the host
 * acquires the one operation while the other is still held up, and it is reported when nothing
 * holds them up any more and that has not happened.
 *
 * What a host function waits for is not seen. So a conflict is also taken for none where the
 * function only happened to begin late (assumed; no correct program is reported).
 *
 * All of these need the lock. */
#ifndef SIM_CHECK_CONFLICT_H
#define SIM_CHECK_CONFLICT_H

#include "check/shadow.h"
#include "sched/stream.h"

enum conflict_kind {
    /* Two accesses, of which one writes. */
    CONFLICT_ACCESSES,
    /* An access, and a free that does not come after it. */
    CONFLICT_FREE,
    /* An allocation, and an access or a free that does not come after it. */
    CONFLICT_ALLOCATION,
    CONFLICT_ALLOCATION_FREE,
    /* A free, and an allocation of a graph's node at the same address. */
    CONFLICT_SECOND_ALLOCATION,
};

/* Which of the two operations is held up. */
enum conflict_held { CONFLICT_NOT_HELD, CONFLICT_EARLIER_HELD, CONFLICT_LATER_HELD };

struct conflict {
    enum conflict_kind kind;
    struct shadow_ref ref;
    /* `later` is an operation of `s`; NULL: of the host. Of an allocation only the origin is set,
     * of a free no bytes. */
    struct access earlier, later;
    const struct stream *s;
    /* As conflict_held returned it. */
    enum conflict_held held;
};

/* Which operation of this conflict, whose obstacles are set, is held up now? When both are, it is
 * called the later one. An allocation must come first in any case, and so must what uses the memory
 * before a free: there it is only asked for the later one. Removes obstacles that do not matter. */
enum conflict_held conflict_held(struct conflict *c);
/* Keeps a conflict that is held, with copies of all that its report needs. */
void conflict_postpone(const struct conflict *c);

/* Is there a postponed conflict? conflict.c writes it. */
extern bool conflicts_postponed;
/* Passes those that have become hazards to `report`, and forgets them and those that are none. To
 * be called whenever the host has acquired something. */
void conflict_judge_postponed(void (*report)(const struct conflict *c));

#endif
