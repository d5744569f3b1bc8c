/* What is ordered before what: vector clocks. Each stream is a lane; each piece of its work has a
 * number there, from 1 up. An order says, for each lane, up to which number all work is known to
 * come before. */
#ifndef SIM_SCHED_VECTOR_CLOCK_H
#define SIM_SCHED_VECTOR_CLOCK_H

#include "base/types.h"

struct vector_clock {
    uint32_t slots;
    uint64_t *epochs;
}; /* reached[lane]; lanes beyond: 0 */

/* Is work `number` of `lane` known to come before? */
static inline bool vc_includes(const struct vector_clock *vc, uint32_t slot, uint64_t epoch)
{
    return epoch == 0 || (slot < vc->slots && vc->epochs[slot] >= epoch);
}

void vc_set(struct vector_clock *vc, uint32_t slot, uint64_t epoch);
void vc_join(struct vector_clock *into, const struct vector_clock *from);
void vc_clear(struct vector_clock *vc); /* knows nothing again, and holds no memory */

/* Two orders that grow together. `dependencies` is what the device is told: stream order, events,
 * the legacy stream. `everything` is that, and what the host has waited for or asked about: the
 * whole truth about a program. The allocator decides by the first (and by what has been
 * synchronised); the checker judges by the second. */
struct ordering {
    struct vector_clock device_order, happens_before;
};

void ordering_join(struct ordering *into, const struct ordering *from);
void ordering_set(struct ordering *o, uint32_t slot, uint64_t epoch);
void ordering_clear(struct ordering *o);

#endif
