/* What the program has advised for ranges of managed memory, and where it has prefetched them to.
 * Nothing moves; it is kept to be asked for.
 *
 * Documented: a range is widened to whole pages of the host.
 *
 * All of these need the lock. A range is bytes of one live allocation, whose number is `id`; what
 * was advised ends with the allocation. */
#ifndef SIM_MEM_MANAGED_ADVICE_H
#define SIM_MEM_MANAGED_ADVICE_H

#include <driver_types.h>

#include "base/types.h"

/* Zeros: nothing advised. A location of type cudaMemLocationTypeInvalid is none. */
struct managed_advice {
    bool read_mostly;
    struct cudaMemLocation preferred, prefetched;
    /* Bit d is set for device d; bit MAX_DEVICES for the host. */
    uint32_t accessed_by;
};

/* Calls change(advice, value) for the advice of all pages of the range. */
void managed_advice_change(uint32_t id, const void *address, size_t bytes,
                           void (*change)(struct managed_advice *advice, const void *value),
                           const void *value);
/* Returns what holds for all pages of the range: a location only where all have the same. */
struct managed_advice managed_advice_of(uint32_t id, const void *address, size_t bytes);

#endif
