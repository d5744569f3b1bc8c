/* Which live chunk starts where in a range of addresses, and which start comes last before an
 * offset. Chunks are numbers here: half as long as pointers. */
#ifndef SIM_MEM_ALLOCATION_INDEX_H
#define SIM_MEM_ALLOCATION_INDEX_H

#include "base/types.h"

#define NO_RANGE UINT32_MAX

struct allocation_entry {
    uint32_t unit, range;
}; /* chunk NO_RANGE: nothing here */

struct allocation_index {
    size_t count;
    struct allocation_entry *table; /* 1 << bits places */
    unsigned bits;
    size_t region_count;
    uint8_t *per_region; /* how many start in each region, a few KiB of the range */
    uint32_t *per_group; /* the same for each group of regions */
};

/* For offsets that are multiples of GRAIN below `limit`, which is 2 TiB at most. False: this
 * machine has no memory for it. */
bool allocation_index_open(struct allocation_index *index, size_t limit);
void allocation_index_close(struct allocation_index *index);
void allocation_index_insert(struct allocation_index *index, size_t offset, uint32_t range);
void allocation_index_remove(struct allocation_index *index, size_t offset);
/* What starts exactly there, or NO_RANGE. */
uint32_t allocation_index_find(const struct allocation_index *index, size_t offset);
/* What starts there, or last before, or NO_RANGE. The offset may be any. */
uint32_t allocation_index_find_before(const struct allocation_index *index, size_t offset);
/* Asks the processor for the place where allocation_index_insert or allocation_index_find will
 * look: it lies anywhere. */
void allocation_index_prefetch(const struct allocation_index *index, size_t offset);

#endif
