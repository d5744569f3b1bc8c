/* The index of starts, in two parts. A table tells which chunk starts at a grain; most questions end there. For an offset inside a chunk,
 * the table is asked for one grain after the other, downwards, but only in regions where something starts; these are counted.
 * Both are small, so that with many chunks the processor's caches still hold them. */
#include "mem/allocation_index.h"

#include <string.h>

#include "os/os.h"

#define REGION 64                      /* grains */
#define GROUP  1024                    /* regions */

static size_t groups(const struct starts *s) { return s->regions / GROUP + 1; }
static size_t places(const struct starts *s) { return s->table ? (size_t)1 << s->bits : 0; }

bool starts_open(struct starts *s, size_t limit)
{
    *s = (struct starts){ .regions = limit / GRAIN / REGION + 1 };
    s->in_region = host_sparse(s->regions);
    if (s->in_region) s->in_group = host_allocate(groups(s) * sizeof *s->in_group);
    return s->in_region;
}

void starts_close(struct starts *s)
{
    if (s->in_region) host_free_slab(s->in_region, s->regions);
    host_free(s->in_group);
    if (s->table) host_free_slab(s->table, places(s) * sizeof *s->table);
    *s = (struct starts){ .count = 0 };
}

/* ---- the table ---- */

/* Where the search for a grain begins; the next places follow until one is empty. */
static size_t home_of(const struct starts *s, uint32_t grain) { return (grain * 0x9E3779B97F4A7C15u) >> (64 - s->bits); }
static size_t next_place(const struct starts *s, size_t i) { return (i + 1) & (places(s) - 1); }

static void table_put(struct starts *s, struct start entry)
{
    size_t i = home_of(s, entry.grain);
    while (s->table[i].chunk != NO_CHUNK) i = next_place(s, i);
    s->table[i] = entry;
}

static void table_grow(struct starts *s)
{
    struct start *old = s->table;
    size_t old_places = places(s);
    s->bits = old ? s->bits + 1 : 8;
    s->table = host_slab(((size_t)1 << s->bits) * sizeof *s->table);
    for (size_t i = 0; i < places(s); i++) s->table[i].chunk = NO_CHUNK;
    for (size_t i = 0; i < old_places; i++)
        if (old[i].chunk != NO_CHUNK) table_put(s, old[i]);
    if (old) host_free_slab(old, old_places * sizeof *old);
}

/* Takes an entry out, and moves those behind it forward that would not be found across the gap. */
static void table_remove(struct starts *s, uint32_t grain)
{
    size_t gap = home_of(s, grain);
    while (s->table[gap].grain != grain || s->table[gap].chunk == NO_CHUNK) gap = next_place(s, gap);
    for (size_t i = next_place(s, gap); s->table[i].chunk != NO_CHUNK; i = next_place(s, i)) {
        size_t home = home_of(s, s->table[i].grain);
        if (gap <= i ? gap < home && home <= i : gap < home || home <= i) continue;
        s->table[gap] = s->table[i];
        gap = i;
    }
    s->table[gap].chunk = NO_CHUNK;
}

static uint32_t table_at(const struct starts *s, uint32_t grain)
{
    for (size_t i = home_of(s, grain); s->table[i].chunk != NO_CHUNK; i = next_place(s, i))
        if (s->table[i].grain == grain) return s->table[i].chunk;
    return NO_CHUNK;
}

/* ---- both ---- */

void starts_put(struct starts *s, size_t offset, uint32_t chunk)
{
    size_t grain = offset / GRAIN;
    s->in_region[grain / REGION]++;
    s->in_group[grain / REGION / GROUP]++;
    if (++s->count * 2 > places(s)) table_grow(s);
    table_put(s, (struct start){ (uint32_t)grain, chunk });
}

void starts_remove(struct starts *s, size_t offset)
{
    size_t grain = offset / GRAIN;
    s->in_region[grain / REGION]--;
    s->in_group[grain / REGION / GROUP]--;
    s->count--;
    table_remove(s, (uint32_t)grain);
}

uint32_t starts_at(const struct starts *s, size_t offset)
{
    if (!s->count) return NO_CHUNK;
    __builtin_prefetch(&s->in_region[offset / GRAIN / REGION]);        /* who asks may free it */
    return table_at(s, (uint32_t)(offset / GRAIN));
}

/* Does nothing start in the last n regions up to this one? */
static bool is_empty(const struct starts *s, size_t region, size_t n)
{
    static const uint8_t nothing[64];
    return region % n == n - 1 && !memcmp(s->in_region + region - (n - 1), nothing, n);
}

/* The last region before this one where something starts; SIZE_MAX when there is none. */
static size_t region_before(const struct starts *s, size_t region)
{
    while (region--) {
        if (!s->in_group[region / GROUP]) region = region / GROUP * GROUP;      /* nor before, in this group */
        else if (s->in_region[region]) return region;
        else if (is_empty(s, region, 64)) region -= 63;
        else if (is_empty(s, region, 8)) region -= 7;
    }
    return SIZE_MAX;
}

uint32_t starts_before(const struct starts *s, size_t offset)
{
    if (!s->count) return NO_CHUNK;
    size_t grain = offset / GRAIN, region = grain / REGION;
    for (size_t left = s->in_region[region] ? grain % REGION + 1 : 0;; left = REGION) {
        for (; left; left--) {
            uint32_t chunk = table_at(s, (uint32_t)(region * REGION + left - 1));
            if (chunk != NO_CHUNK) return chunk;
        }
        region = region_before(s, region);
        if (region == SIZE_MAX) return NO_CHUNK;
    }
}

void starts_fetch(const struct starts *s, size_t offset)
{
    if (!s->count) return;
    __builtin_prefetch(&s->table[home_of(s, (uint32_t)(offset / GRAIN))]);
    __builtin_prefetch(&s->in_region[offset / GRAIN / REGION]);
}
