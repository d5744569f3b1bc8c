/* Finds the live range that starts at an offset of a heap: a hash table, chained through the
 * ranges.
 *
 * The tree heap.ranges answers this too, and only it finds the range around an inner offset. But a
 * free names the start of its allocation. With 100,000 live allocations the tree search alone took
 * 0.8 us, more than a free and an allocation may take together, and the table takes less than a
 * tenth of that (simulator/tests/unit/bench.c).
 *
 * The table belongs to the heap, and so do the ranges. All of these need the lock. */
#ifndef SIM_MEM_ALLOCATION_INDEX_H
#define SIM_MEM_ALLOCATION_INDEX_H

#include "base/types.h"

struct range;

struct allocation_index {
    size_t count;
    struct range **buckets; /* Each is a chain through range.same_bucket. */
    size_t bucket_count;    /* 1 << bits, or 0 before the first insertion. */
    unsigned bits;
};

void allocation_index_close(struct allocation_index *index);
void allocation_index_insert(struct allocation_index *index, struct range *r);
void allocation_index_remove(struct allocation_index *index, struct range *r);
/* Returns the range that starts exactly at the offset, or NULL. */
struct range *allocation_index_find(const struct allocation_index *index, size_t offset);

#endif
