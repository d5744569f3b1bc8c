/* Which live range starts at an offset of a heap: a hash table, chained through the ranges.
 *
 * heap.ranges, the tree by address, answers this too, and alone what an offset inside of a range
 * belongs to. But a free names the start of its allocation, and with 100,000 live the search
 * through the tree alone took 0.8 us, more than a free and an allocation may together; the table
 * takes less than a tenth of it (simulator/tests/unit/bench.c).
 *
 * All of these need the lock. The table belongs to the heap, the ranges are the heap's. */
#ifndef SIM_MEM_ALLOCATION_INDEX_H
#define SIM_MEM_ALLOCATION_INDEX_H

#include "base/types.h"

struct range;

struct allocation_index {
    size_t count;
    struct range **buckets; /* Each is a chain by range.same_bucket. */
    size_t bucket_count;    /* 1 << bits; 0: none yet. */
    unsigned bits;
};

void allocation_index_close(struct allocation_index *index);
void allocation_index_insert(struct allocation_index *index, struct range *r);
void allocation_index_remove(struct allocation_index *index, struct range *r);
/* Returns the range that starts exactly there, or NULL. */
struct range *allocation_index_find(const struct allocation_index *index, size_t offset);

#endif
