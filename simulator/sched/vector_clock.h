/* Vector clocks: what happens before what. Each stream has a slot, and each of its ops has an epoch
 * there, from 1 up. For each slot, a vector clock has the epoch up to which all of that slot's work
 * comes before.
 *
 * Most clocks of a program differ in few slots: a branch's from its trunk's, or a record's from its
 * stream's. So a clock is a tree whose nodes can be shared with other clocks, and a node is copied,
 * with the path to it, before it changes. Copying a clock is free, and a join skips what both have
 * in common.
 *
 *      clock of the trunk        clock of a branch
 *              |                        |
 *           [ | | ]                  [ | | ]         each inner node: 16 nodes below it
 *            / | \____  ____________/ /  |
 *           /  |      \/            _/   |
 *          /   |      /\           /     |
 *       [..]  [..]  [..] [..] ____/     (its own)    each leaf: the epochs of 16 slots
 *
 * Trees serve programs with thousands of streams, such as servers that make one for each request.
 * Measured (make scale): 10,000 streams that are made, joined, and destroyed take 8.6 us each and
 * 26 MiB together; with an array for each clock they took 84 us and 791 MiB. A record and a wait in
 * a ring of streams take 1.0 us with 1 stream, 1.1 us with 16, 1.4 us with 40, and 2.5 us with
 * 1,000; with arrays 1.1, 1.1, 1.3, and 9.5 us. Nodes that knew their record were faster with 1,000
 * streams alone, and were not worth their code.
 *
 * Invariants: A node with several users does not change. A clock's owner is a number that no other
 * clock ever has, and until vc_clear a clock only grows; so of two nodes of one owner for the same
 * slots, the one of the later version includes the other.
 *
 * A clock of zeros is empty. The caller owns what a clock has until vc_clear, and must not copy the
 * struct. All of these need the lock. */
#ifndef SIM_SCHED_VECTOR_CLOCK_H
#define SIM_SCHED_VECTOR_CLOCK_H

#include "base/types.h"

/* The result of vc_next after the last slot. */
#define CLOCK_END UINT32_MAX

/* Only vector_clock.c uses the members. VC_EMPTY is a clock of zeros. */
struct vector_clock {
    /* NULL if all epochs are 0. */
    struct clock_node *root;
    /* 0 until the clock owns a node. */
    uint64_t owner;
};
#define VC_EMPTY ((struct vector_clock){NULL, 0})

static inline bool vc_is_empty(const struct vector_clock *vc) { return !vc->root; }

uint64_t vc_epoch(const struct vector_clock *vc, uint32_t slot);

static inline bool vc_includes(const struct vector_clock *vc, uint32_t slot, uint64_t epoch)
{
    return vc_epoch(vc, slot) >= epoch;
}

/* Returns the first slot from `slot` on with a nonzero epoch, or CLOCK_END. */
uint32_t vc_next(const struct vector_clock *vc, uint32_t slot);
/* Returns the first slot from `slot` on whose epoch is greater than in `known`, or CLOCK_END. The
 * common parts of the two clocks cost nothing. */
uint32_t vc_next_beyond(const struct vector_clock *vc, const struct vector_clock *known,
                        uint32_t slot);
/* Raises one slot to this epoch, and never lowers it. */
void vc_set(struct vector_clock *vc, uint32_t slot, uint64_t epoch);
/* Raises each slot of `into` to that of `from`. */
void vc_join(struct vector_clock *into, const struct vector_clock *from);
/* Sets every slot to 0 again. */
void vc_clear(struct vector_clock *vc);

/* Three clocks that grow together. `device_order` is the order that the device gets: stream order,
 * events, and the legacy stream. `happens_before` adds what the host has waited for or queried,
 * which is the whole truth about a program. `known` lacks what a driver does not note of the legacy
 * stream's rule (enum barrier in stream.h). The checker judges by the second clock, and the
 * allocator decides by the third (and by what has been synchronized). */
struct ordering {
    struct vector_clock device_order, happens_before, known;
};

/* The vc_ functions for all three clocks. */
void ordering_join(struct ordering *into, const struct ordering *from);
void ordering_set(struct ordering *o, uint32_t slot, uint64_t epoch);
void ordering_clear(struct ordering *o);

#endif
