/* Which bytes of the allocations have a value. Most allocations are written as a whole by one
 * operation, after which they cost nothing.
 *
 * Invariants: shadow.written is 0 (all is written), 1 (nothing is), or 2 + the index of a map in
 * `maps`. A piece's map is `none`, `all`, or its own. */
#include "check/written.h"

#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"

#define WORDS     (WRITTEN_PIECE / 64)
#define ALL       0
#define NONE      1
#define FIRST_MAP 2

struct map {
    /* The index of the next unused map, plus 1. */
    uint32_t next_unused;
    size_t count, whole;
    uint64_t **pieces;
};

static uint64_t none[WORDS], all[WORDS];

/* Needs the lock. */
static struct {
    struct map *maps;
    uint32_t count, unused;
} written;

static struct map *map_of(const struct shadow *s) { return &written.maps[s->written - FIRST_MAP]; }

/* Returns the shadow's map, which it makes if there is none. */
static struct map *map_get(struct shadow *s, size_t bytes)
{
    uint64_t *piece = s->written == ALL ? all : none;
    if (s->written >= FIRST_MAP)
        return map_of(s);
    if (!all[0])
        memset(all, 255, sizeof all);
    uint32_t index = written.unused;
    if (index)
        written.unused = written.maps[--index].next_unused;
    else {
        index = written.count++;
        written.maps = os_grow(written.maps, written.count * sizeof *written.maps);
    }
    struct map *m = &written.maps[index];
    *m = (struct map){.count = (bytes + WRITTEN_PIECE - 1) / WRITTEN_PIECE};
    m->whole = piece == all ? m->count : 0;
    m->pieces = os_allocate_table(m->count * sizeof *m->pieces);
    for (size_t n = 0; n < m->count; n++)
        m->pieces[n] = piece;
    /* No machine has memory for more maps than fit. */
    s->written = (FIRST_MAP + index) & ((1u << 26) - 1);
    return m;
}

void written_begin(struct shadow *s)
{
    NEEDS_LOCK();
    s->written = NONE;
}

void written_end(struct shadow *s)
{
    NEEDS_LOCK();
    if (s->written >= FIRST_MAP) {
        struct map *m = map_of(s);
        for (size_t n = 0; n < m->count; n++)
            if (m->pieces[n] != none && m->pieces[n] != all)
                os_free(m->pieces[n]);
        os_free(m->pieces);
        m->next_unused = written.unused;
        written.unused = s->written - FIRST_MAP + 1;
    }
    s->written = ALL;
}

/* ---- pieces ---- */

static void set_piece(struct map *m, size_t n, uint64_t *piece)
{
    uint64_t *old = m->pieces[n];
    m->whole += (size_t)(piece == all) - (size_t)(old == all);
    if (old != none && old != all)
        os_free(old);
    m->pieces[n] = piece;
}

/* Returns the piece's own map, which it makes if there is none. */
static uint64_t *own_piece(struct map *m, size_t n)
{
    if (m->pieces[n] == none || m->pieces[n] == all)
        set_piece(m, n, os_copy(m->pieces[n], WORDS * sizeof(uint64_t)));
    return m->pieces[n];
}

/* Frees the piece's own map if all its bits are equal. The bits after the allocation's end count as
 * equal to those before it. */
static void settle_piece(struct map *m, size_t n, size_t bytes)
{
    const uint64_t *p = m->pieces[n];
    const size_t left = bytes - n * WRITTEN_PIECE,
                 count = left < WRITTEN_PIECE ? left : WRITTEN_PIECE;
    bool any = false, every = true;
    if (p == none || p == all)
        return;
    for (size_t w = 0; w * 64 < count; w++) {
        const uint64_t mask =
            count - w * 64 >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << (count - w * 64)) - 1;
        any |= (p[w] & mask) != 0;
        every &= (p[w] & mask) == mask;
    }
    if (every || !any)
        set_piece(m, n, every ? all : none);
}

static void settle(struct shadow *s)
{
    const struct map *m = map_of(s);
    if (m->whole == m->count)
        written_end(s);
}

static void set_in_piece(uint64_t *words, size_t from, size_t to, bool value)
{
    for (size_t at = from; at < to;) {
        const size_t bit = at % 64, left = to - at, bits = 64 - bit < left ? 64 - bit : left;
        const uint64_t mask = (bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1) << bit;
        words[at / 64] = value ? words[at / 64] | mask : words[at / 64] & ~mask;
        at += bits;
    }
}

void written_set(struct shadow *s, size_t bytes, size_t from, size_t to, bool value)
{
    NEEDS_LOCK();
    to = to < bytes ? to : bytes;
    if (from >= to || s->written == (value ? ALL : NONE))
        return;
    if (from == 0 && to == bytes) {
        written_end(s);
        s->written = value ? ALL : NONE;
        return;
    }
    struct map *m = map_get(s, bytes);
    for (size_t at = from; at < to;) {
        const size_t n = at / WRITTEN_PIECE, begin = n * WRITTEN_PIECE,
                     end = begin + WRITTEN_PIECE < to ? begin + WRITTEN_PIECE : to;
        if (at == begin && (end == begin + WRITTEN_PIECE || end == bytes)) {
            set_piece(m, n, value ? all : none);
        } else if (m->pieces[n] != (value ? all : none)) {
            set_in_piece(own_piece(m, n), at - begin, end - begin, value);
            settle_piece(m, n, bytes);
        }
        at = end;
    }
    settle(s);
}

void written_set_bits(struct shadow *s, size_t bytes, const uint64_t *bits, size_t first,
                      size_t last, const uint64_t *without)
{
    NEEDS_LOCK();
    if (first > last || (s->written == ALL && !without))
        return;
    struct map *m = map_get(s, bytes);
    for (size_t w = first; w <= last;) {
        const size_t n = w / WORDS, end = (n + 1) * WORDS <= last ? (n + 1) * WORDS : last + 1;
        if (m->pieces[n] != all || without) {
            uint64_t *own = own_piece(m, n);
            for (size_t i = w; i < end; i++) {
                own[i % WORDS] |= bits[i];
                if (without)
                    own[i % WORDS] &= ~(without[i] & bits[i]);
            }
            settle_piece(m, n, bytes);
        }
        w = end;
    }
    settle(s);
}

/* ---- reading ---- */

/* Returns up to 64 bits from `at` on, the first in the lowest place. */
static uint64_t bits_at(const struct shadow *s, size_t at)
{
    if (!s || s->written == ALL)
        return ~(uint64_t)0;
    if (s->written == NONE)
        return 0;
    const struct map *m = map_of(s);
    const size_t w = at / 64, next = w + 1;
    uint64_t low = m->pieces[w / WORDS][w % WORDS] >> at % 64;
    if (at % 64 && next / WORDS < m->count)
        low |= m->pieces[next / WORDS][next % WORDS] << (64 - at % 64);
    return low;
}

bool written_has_all(const struct shadow *s, size_t from, size_t to)
{
    NEEDS_LOCK();
    for (size_t at = from; s->written != ALL && at < to; at += 64) {
        const uint64_t mask = to - at >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << (to - at)) - 1;
        if ((bits_at(s, at) & mask) != mask)
            return false;
    }
    return true;
}

bool written_has_any(const struct shadow *s, size_t from, size_t to)
{
    NEEDS_LOCK();
    if (s->written <= NONE)
        return s->written == ALL;
    for (size_t at = from; at < to; at += 64) {
        const uint64_t mask = to - at >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << (to - at)) - 1;
        if (bits_at(s, at) & mask)
            return true;
    }
    return false;
}

void written_copy(struct shadow *to, size_t to_bytes, size_t to_offset, const struct shadow *from,
                  size_t from_offset, size_t count)
{
    NEEDS_LOCK();
    if (!from || from->written <= NONE || to == from) {
        const bool value = !from || from->written == ALL
                        || (to == from && written_has_all(from, from_offset, from_offset + count));
        if (to != from || value || !written_has_any(from, from_offset, from_offset + count)) {
            written_set(to, to_bytes, to_offset, to_offset + count, value);
            return;
        }
    }
    /* Making the map of `to` may move the maps, so the source's is looked up again for each word.
     */
    for (size_t at = 0; at < count; at += 64) {
        const size_t piece = count - at < 64 ? count - at : 64;
        const uint64_t bits = bits_at(from, from_offset + at),
                       mask = piece == 64 ? ~(uint64_t)0 : ((uint64_t)1 << piece) - 1;
        if ((bits & mask) == mask || !(bits & mask)) {
            written_set(to, to_bytes, to_offset + at, to_offset + at + piece, bits & 1);
            continue;
        }
        for (size_t b = 0; b < piece; b++)
            written_set(to, to_bytes, to_offset + at + b, to_offset + at + b + 1, bits >> b & 1);
    }
}

const uint64_t *const *written_pieces(struct shadow *s, size_t bytes)
{
    NEEDS_LOCK();
    return s->written == ALL ? NULL : (const uint64_t *const *)map_get(s, bytes)->pieces;
}
