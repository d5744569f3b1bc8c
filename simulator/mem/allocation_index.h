/* Which live chunk starts where in a range of addresses, and which start comes last before an offset. Chunks are numbers here: half as long as pointers. */
#ifndef SIM_MEM_ALLOCATION_INDEX_H
#define SIM_MEM_ALLOCATION_INDEX_H

#include "base/types.h"

#define NO_CHUNK UINT32_MAX

struct start { uint32_t grain, chunk; };        /* chunk NO_CHUNK: nothing here */

struct starts {
    size_t         count;
    struct start  *table;              /* 1 << bits places */
    unsigned       bits;
    size_t         regions;
    uint8_t       *in_region;          /* how many start in each region, a few KiB of the range */
    uint32_t      *in_group;           /* the same for each group of regions */
};

/* For offsets that are multiples of GRAIN below `limit`, which is 2 TiB at most. False: this machine has no memory for it. */
bool starts_open(struct starts *s, size_t limit);
void starts_close(struct starts *s);
void starts_put(struct starts *s, size_t offset, uint32_t chunk);
void starts_remove(struct starts *s, size_t offset);
/* What starts exactly there, or NO_CHUNK. */
uint32_t starts_at(const struct starts *s, size_t offset);
/* What starts there, or last before, or NO_CHUNK. The offset may be any. */
uint32_t starts_before(const struct starts *s, size_t offset);
/* Asks the processor for the place where starts_put or starts_at will look: it lies anywhere. */
void starts_fetch(const struct starts *s, size_t offset);

#endif
