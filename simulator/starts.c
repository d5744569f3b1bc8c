/* The index of starts, in two parts. A table tells which chunk starts at an offset; most questions end there. For an offset inside a chunk, a
 * map of each step has a bit for each grain where one starts, and a bit for each word of bits, so the start before an offset is found in a
 * few instructions. */
#include "starts.h"

#include "bits.h"
#include "host.h"

struct start { size_t offset; struct chunk *chunk; };           /* chunk NULL: nothing here */

struct step_starts {
    uint64_t sums[STEP / GRAIN / 64 / 64];
    uint64_t bits[STEP / GRAIN / 64];
};

void starts_open(struct starts *s, size_t step, size_t steps)
{
    *s = (struct starts){ .step = step, .steps = steps };
    s->maps = host_allocate(steps * sizeof *s->maps);
}

void starts_close(struct starts *s)
{
    for (size_t x = 0; x < s->steps; x++) host_free(s->maps[x]);
    host_free(s->maps);
    if (s->table) host_free_pages(s->table, ((size_t)1 << s->bits) * sizeof *s->table);
    *s = (struct starts){ .step = 0 };
}

/* ---- the table ---- */

/* Where the search for an offset begins; the next places follow until one is empty. */
static size_t home_of(const struct starts *s, size_t offset) { return (offset / GRAIN * 0x9E3779B97F4A7C15u) >> (64 - s->bits); }
static size_t next_place(const struct starts *s, size_t i) { return (i + 1) & (((size_t)1 << s->bits) - 1); }

static void table_put(struct starts *s, size_t offset, struct chunk *c)
{
    size_t i = home_of(s, offset);
    while (s->table[i].chunk) i = next_place(s, i);
    s->table[i] = (struct start){ offset, c };
}

static void table_grow(struct starts *s)
{
    struct start *old = s->table;
    size_t places = old ? (size_t)1 << s->bits : 0;
    s->bits = old ? s->bits + 1 : 8;
    s->table = host_slab(((size_t)1 << s->bits) * sizeof *s->table);
    for (size_t i = 0; i < places; i++)
        if (old[i].chunk) table_put(s, old[i].offset, old[i].chunk);
    if (old) host_free_pages(old, places * sizeof *old);
}

/* Takes an entry out, and moves those behind it forward that would not be found across the gap. */
static void table_remove(struct starts *s, size_t offset)
{
    size_t gap = home_of(s, offset);
    while (s->table[gap].offset != offset) gap = next_place(s, gap);
    for (size_t i = next_place(s, gap); s->table[i].chunk; i = next_place(s, i)) {
        size_t home = home_of(s, s->table[i].offset);
        if (gap <= i ? gap < home && home <= i : gap < home || home <= i) continue;
        s->table[gap] = s->table[i];
        gap = i;
    }
    s->table[gap] = (struct start){ SIZE_MAX, NULL };
}

/* ---- both ---- */

void starts_put(struct starts *s, size_t offset, struct chunk *c)
{
    size_t x = offset / s->step, grain = offset % s->step / GRAIN;
    if (!s->maps[x]) s->maps[x] = host_allocate(sizeof *s->maps[x]);
    bit_set(s->maps[x]->bits, grain);
    bit_set(s->maps[x]->sums, grain / 64);
    if (++s->count * 2 > (s->table ? (size_t)1 << s->bits : 0)) table_grow(s);
    table_put(s, offset, c);
}

void starts_remove(struct starts *s, size_t offset)
{
    size_t grain = offset % s->step / GRAIN;
    struct step_starts *map = s->maps[offset / s->step];
    bit_clear(map->bits, grain);
    if (!map->bits[grain / 64]) bit_clear(map->sums, grain / 64);
    table_remove(s, offset);
    s->count--;
}

struct chunk *starts_at(const struct starts *s, size_t offset)
{
    if (!s->count) return NULL;
    const struct step_starts *map = s->maps[offset / s->step];
    if (map) __builtin_prefetch(&map->bits[offset % s->step / GRAIN / 64]);       /* who asks may free it: that line lies as far away as the table's */
    for (size_t i = home_of(s, offset); s->table[i].chunk; i = next_place(s, i))
        if (s->table[i].offset == offset) return s->table[i].chunk;
    return NULL;
}

/* The last grain up to this one where a chunk starts; SIZE_MAX when there is none. */
static size_t last_start(const struct step_starts *map, size_t grain)
{
    uint64_t word = map->bits[grain / 64] & (UINT64_MAX >> (63 - grain % 64));
    size_t w = grain / 64;
    if (!word) {
        size_t i = w / 64;
        uint64_t sum = map->sums[i] & (((uint64_t)1 << w % 64) - 1);
        while (!sum && i) sum = map->sums[--i];
        if (!sum) return SIZE_MAX;
        w = i * 64 + 63 - (size_t)__builtin_clzll(sum);
        word = map->bits[w];
    }
    return w * 64 + 63 - (size_t)__builtin_clzll(word);
}

struct chunk *starts_before(const struct starts *s, size_t offset)
{
    size_t grain = offset % s->step / GRAIN, start = SIZE_MAX, x = offset / s->step;
    for (;; x--) {
        if (s->maps[x]) start = last_start(s->maps[x], grain);
        if (start != SIZE_MAX) return starts_at(s, x * s->step + start * GRAIN);
        if (!x) return NULL;
        grain = s->step / GRAIN - 1;
    }
}
