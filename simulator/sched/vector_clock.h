/* Vector clocks: what happens before what. Each stream has a slot; each op of it has an epoch
 * there, from 1 up. A vector clock holds, for each slot, the epoch up to which all of that slot's
 * work comes before. The caller owns the memory of a clock until vc_clear. The functions are in
 * sched/happens_before.c, beside the clock of the host. */
#ifndef SIM_SCHED_VECTOR_CLOCK_H
#define SIM_SCHED_VECTOR_CLOCK_H

#include "base/types.h"

struct vector_clock {
    /* How many slots `epochs` has; those beyond are at 0. */
    uint32_t slots;
    uint64_t *epochs;
};

/* Returns the epoch of a slot. */
static inline uint64_t vc_epoch(const struct vector_clock *vc, uint32_t slot)
{
    return slot < vc->slots ? vc->epochs[slot] : 0;
}

/* Does this epoch of the slot come before? */
static inline bool vc_includes(const struct vector_clock *vc, uint32_t slot, uint64_t epoch)
{
    return epoch == 0 || (slot < vc->slots && vc->epochs[slot] >= epoch);
}

/* Raises one slot to this epoch; never lowers it. */
void vc_set(struct vector_clock *vc, uint32_t slot, uint64_t epoch);
/* Raises each slot of `into` to that of `from`. */
void vc_join(struct vector_clock *into, const struct vector_clock *from);
/* Sets every slot to 0 again, and frees the memory. */
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
