/* What is ordered before what: vector clocks. Each stream is a lane; each piece of its work has a number there, from 1 up. An order
 * says, for each lane, up to which number all work is known to come before. */
#ifndef SIM_SCHED_VECTOR_CLOCK_H
#define SIM_SCHED_VECTOR_CLOCK_H

#include "base/types.h"

struct order { uint32_t lanes; uint64_t *reached; };   /* reached[lane]; lanes beyond: 0 */

/* Is work `number` of `lane` known to come before? */
static inline bool order_covers(const struct order *o, uint32_t lane, uint64_t number)
{
    return number == 0 || (lane < o->lanes && o->reached[lane] >= number);
}

void order_raise(struct order *o, uint32_t lane, uint64_t number);
void order_join(struct order *into, const struct order *from);
void order_clear(struct order *o);     /* knows nothing again, and holds no memory */

/* Two orders that grow together. `dependencies` is what the device is told: stream order, events, the legacy stream. `everything` is
 * that, and what the host has waited for or asked about: the whole truth about a program. The allocator decides by the
 * first (and by what has been synchronised); the checker judges by the second. */
struct knowledge { struct order dependencies, everything; };

void knowledge_join(struct knowledge *into, const struct knowledge *from);
void knowledge_raise(struct knowledge *k, uint32_t lane, uint64_t number);
void knowledge_clear(struct knowledge *k);

#endif
