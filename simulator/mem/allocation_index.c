/* The index of starts, in two parts. A table tells which chunk starts at a grain; most questions
 * end there. For an offset inside a chunk, the table is asked for one grain after the other,
 * downwards, but only in regions where something starts; these are counted. Both are small, so that
 * with many chunks the processor's caches still hold them. */
#include "mem/allocation_index.h"

#include <string.h>

#include "os/os.h"

#define REGION_UNITS  64   /* grains */
#define GROUP_REGIONS 1024 /* regions */

static size_t group_count(const struct allocation_index *index)
{
    return index->region_count / GROUP_REGIONS + 1;
}
static size_t bucket_count(const struct allocation_index *index)
{
    return index->table ? (size_t)1 << index->bits : 0;
}

bool allocation_index_open(struct allocation_index *index, size_t limit)
{
    *index = (struct allocation_index){.region_count = limit / ALIGNMENT / REGION_UNITS + 1};
    index->per_region = os_allocate_sparse(index->region_count);
    if (index->per_region)
        index->per_group = os_allocate(group_count(index) * sizeof *index->per_group);
    return index->per_region;
}

void allocation_index_close(struct allocation_index *index)
{
    if (index->per_region)
        os_free_slab(index->per_region, index->region_count);
    os_free(index->per_group);
    if (index->table)
        os_free_slab(index->table, bucket_count(index) * sizeof *index->table);
    *index = (struct allocation_index){.count = 0};
}

/* ---- the table ---- */

/* Where the search for a grain begins; the next places follow until one is empty. */
static size_t bucket_of(const struct allocation_index *index, uint32_t unit)
{
    return (unit * 0x9E3779B97F4A7C15u) >> (64 - index->bits);
}
static size_t next_bucket(const struct allocation_index *index, size_t i)
{
    return (i + 1) & (bucket_count(index) - 1);
}

static void table_insert(struct allocation_index *index, struct allocation_entry entry)
{
    size_t i = bucket_of(index, entry.unit);
    while (index->table[i].range != NO_RANGE)
        i = next_bucket(index, i);
    index->table[i] = entry;
}

static void table_grow(struct allocation_index *index)
{
    struct allocation_entry *old = index->table;
    size_t old_buckets = bucket_count(index);
    index->bits = old ? index->bits + 1 : 8;
    index->table = os_allocate_slab(((size_t)1 << index->bits) * sizeof *index->table);
    for (size_t i = 0; i < bucket_count(index); i++)
        index->table[i].range = NO_RANGE;
    for (size_t i = 0; i < old_buckets; i++)
        if (old[i].range != NO_RANGE)
            table_insert(index, old[i]);
    if (old)
        os_free_slab(old, old_buckets * sizeof *old);
}

/* Takes an entry out, and moves those behind it forward that would not be found across the gap. */
static void table_remove(struct allocation_index *index, uint32_t unit)
{
    size_t gap = bucket_of(index, unit);
    while (index->table[gap].unit != unit || index->table[gap].range == NO_RANGE)
        gap = next_bucket(index, gap);
    for (size_t i = next_bucket(index, gap); index->table[i].range != NO_RANGE;
         i = next_bucket(index, i)) {
        size_t bucket = bucket_of(index, index->table[i].unit);
        if (gap <= i ? gap < bucket && bucket <= i : gap < bucket || bucket <= i)
            continue;
        index->table[gap] = index->table[i];
        gap = i;
    }
    index->table[gap].range = NO_RANGE;
}

static uint32_t table_find(const struct allocation_index *index, uint32_t unit)
{
    for (size_t i = bucket_of(index, unit); index->table[i].range != NO_RANGE;
         i = next_bucket(index, i))
        if (index->table[i].unit == unit)
            return index->table[i].range;
    return NO_RANGE;
}

/* ---- both ---- */

void allocation_index_insert(struct allocation_index *index, size_t offset, uint32_t range)
{
    size_t unit = offset / ALIGNMENT;
    index->per_region[unit / REGION_UNITS]++;
    index->per_group[unit / REGION_UNITS / GROUP_REGIONS]++;
    if (++index->count * 2 > bucket_count(index))
        table_grow(index);
    table_insert(index, (struct allocation_entry){(uint32_t)unit, range});
}

void allocation_index_remove(struct allocation_index *index, size_t offset)
{
    size_t unit = offset / ALIGNMENT;
    index->per_region[unit / REGION_UNITS]--;
    index->per_group[unit / REGION_UNITS / GROUP_REGIONS]--;
    index->count--;
    table_remove(index, (uint32_t)unit);
}

uint32_t allocation_index_find(const struct allocation_index *index, size_t offset)
{
    if (!index->count)
        return NO_RANGE;
    /* Who asks may free it. */
    __builtin_prefetch(&index->per_region[offset / ALIGNMENT / REGION_UNITS]);
    return table_find(index, (uint32_t)(offset / ALIGNMENT));
}

/* Does nothing start in the last n regions up to this one? */
static bool is_empty(const struct allocation_index *index, size_t region, size_t n)
{
    static const uint8_t nothing[64];
    return region % n == n - 1 && !memcmp(index->per_region + region - (n - 1), nothing, n);
}

/* The last region before this one where something starts; SIZE_MAX when there is none. */
static size_t region_before(const struct allocation_index *index, size_t region)
{
    while (region--) {
        /* Nor before, in this group. */
        if (!index->per_group[region / GROUP_REGIONS])
            region = region / GROUP_REGIONS * GROUP_REGIONS;
        else if (index->per_region[region])
            return region;
        else if (is_empty(index, region, 64))
            region -= 63;
        else if (is_empty(index, region, 8))
            region -= 7;
    }
    return SIZE_MAX;
}

uint32_t allocation_index_find_before(const struct allocation_index *index, size_t offset)
{
    if (!index->count)
        return NO_RANGE;
    size_t unit = offset / ALIGNMENT, region = unit / REGION_UNITS;
    for (size_t left = index->per_region[region] ? unit % REGION_UNITS + 1 : 0;;
         left = REGION_UNITS) {
        for (; left; left--) {
            uint32_t range = table_find(index, (uint32_t)(region * REGION_UNITS + left - 1));
            if (range != NO_RANGE)
                return range;
        }
        region = region_before(index, region);
        if (region == SIZE_MAX)
            return NO_RANGE;
    }
}

void allocation_index_prefetch(const struct allocation_index *index, size_t offset)
{
    if (!index->count)
        return;
    __builtin_prefetch(&index->table[bucket_of(index, (uint32_t)(offset / ALIGNMENT))]);
    __builtin_prefetch(&index->per_region[offset / ALIGNMENT / REGION_UNITS]);
}
