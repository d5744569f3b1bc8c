/* What the program has advised for managed memory, and where it has prefetched memory to. Nothing
 * is moved. The advice is kept only for queries, and ends with the allocation.
 *
 * Documented: a range is extended to whole pages of the host.
 *
 * A range is part of one live allocation, whose number is `id`. All of these need the lock. */
#ifndef SIM_MEM_MANAGED_ADVICE_H
#define SIM_MEM_MANAGED_ADVICE_H

#include <driver_types.h>

#include "base/types.h"

/* All zeros means no advice. A location of type cudaMemLocationTypeInvalid means none. */
struct managed_advice {
    bool read_mostly;
    struct cudaMemLocation preferred, prefetched;
    /* Bit d stands for device d, bit MAX_DEVICES for the host. */
    uint32_t accessed_by;
};

/* Calls change(advice, value) for the advice of all pages of the range. */
void managed_advice_change(uint32_t id, const void *address, size_t bytes,
                           void (*change)(struct managed_advice *advice, const void *value),
                           const void *value);
/* Returns the advice that all pages of the range have in common. */
struct managed_advice managed_advice_of(uint32_t id, const void *address, size_t bytes);

#endif
