/* Vector clocks: what happens before what. Each stream has a slot; each op of it has an epoch
 * there, from 1 up. A vector clock holds, for each slot, the epoch up to which all of that slot's
 * work comes before.
 *
 * Most clocks of a program differ in few slots: a branch's from its trunk's, a record's from its
 * stream's. So a clock is a tree of nodes that others may share, and what is changed is copied
 * first, with the path that leads there. A copy of a clock costs nothing, and a join passes over
 * what both have in common.
 *
 *      clock of the trunk        clock of a branch
 *              |                        |
 *           [ | | ]                  [ | | ]         each inner node: 16 nodes below it
 *            / | \____  ____________/ /  |
 *           /  |      \/            _/   |
 *          /   |      /\           /     |
 *       [..]  [..]  [..] [..] ____/     (its own)    each leaf: the epochs of 16 slots
 *
 * Who needs trees: a program with thousands of streams, as a server has that makes one for each
 * request. Measured (make scale): of 10,000 streams that are made, joined and destroyed each takes
 * 8.6 us and all 26 MiB; with an array for each clock they took 84 us and 791 MiB. Up to about
 * 1,000 streams arrays would do.
 *
 * Laws: a node with more than one user does not change. A clock's owner is a number that no other
 * clock ever has, and until vc_clear a clock only grows; so of two nodes of one owner, for the same
 * slots, the one of the later version includes the other. And who has acquired an op has acquired
 * what comes before it; so a clock that includes the epoch of a record includes the record's whole
 * clock, unless the record is older than the last vc_forget_records.
 *
 * All of these need the lock. A clock of zeros is empty. The caller owns what a clock holds until
 * vc_clear, and does not copy the struct. */
#ifndef SIM_SCHED_VECTOR_CLOCK_H
#define SIM_SCHED_VECTOR_CLOCK_H

#include "base/types.h"

/* What vc_next returns behind the last slot. */
#define CLOCK_END UINT32_MAX

/* For vector_clock.c alone; VC_EMPTY is a clock of zeros. */
struct vector_clock {
    /* NULL: all 0. */
    struct clock_node *root;
    /* 0 until it owns a node. */
    uint64_t owner;
};
#define VC_EMPTY ((struct vector_clock){NULL, 0})

/* Is every epoch 0? */
static inline bool vc_is_empty(const struct vector_clock *vc) { return !vc->root; }

/* Returns the epoch of a slot. */
uint64_t vc_epoch(const struct vector_clock *vc, uint32_t slot);

/* Does this epoch of the slot come before? */
static inline bool vc_includes(const struct vector_clock *vc, uint32_t slot, uint64_t epoch)
{
    return vc_epoch(vc, slot) >= epoch;
}

/* Returns the first slot from `slot` on whose epoch is not 0, or CLOCK_END. */
uint32_t vc_next(const struct vector_clock *vc, uint32_t slot);
/* The same for a slot whose epoch is greater than in `known`. What the two clocks have in common
 * costs nothing. */
uint32_t vc_next_beyond(const struct vector_clock *vc, const struct vector_clock *known,
                        uint32_t slot);
/* Raises one slot to this epoch; never lowers it. */
void vc_set(struct vector_clock *vc, uint32_t slot, uint64_t epoch);
/* The same for what comes before a record, which has this epoch and was made at `version`. */
void vc_complete(struct vector_clock *vc, uint32_t slot, uint64_t epoch, uint64_t version);
/* Returns the version of the clock that was changed last. */
uint64_t vc_version(void);
/* From here on a clock may include the epoch of a record of earlier without its clock. */
void vc_forget_records(void);
/* Raises each slot of `into` to that of `from`. */
void vc_join(struct vector_clock *into, const struct vector_clock *from);
/* The same for what comes before a record, with the record's epoch. Completes `from` where `into`
 * becomes the same: then both share it. */
void vc_join_record(struct vector_clock *into, struct vector_clock *from, uint32_t slot,
                    uint64_t epoch, uint64_t version);
/* Sets every slot to 0 again. */
void vc_clear(struct vector_clock *vc);

/* Two clocks that grow together. `device_order` is what the device is given: stream order, events,
 * the legacy stream. `happens_before` is that, and what the host has waited for or queried: the
 * whole truth about a program. The allocator decides by the first (and by what has been
 * synchronized); the checker judges by the second. */
struct ordering {
    struct vector_clock device_order, happens_before;
};

/* The same as the vc_ functions, for both clocks. */
void ordering_join(struct ordering *into, const struct ordering *from);
void ordering_set(struct ordering *o, uint32_t slot, uint64_t epoch);
void ordering_clear(struct ordering *o);

#endif
