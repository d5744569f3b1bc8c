/* Sets of bytes of a window: a bit for each. */
#ifndef SIM_PTX_TOUCHED_H
#define SIM_PTX_TOUCHED_H

#include "ptx/grid.h"

/* The bits in this word of those from `from` to before `end`, some of which are in it. */
static inline uint64_t bits_in(size_t word, size_t from, size_t end)
{
    uint64_t bits = ~(uint64_t)0;
    if (word == from / 64)
        bits <<= from % 64;
    return word == (end - 1) / 64 ? bits & ~(uint64_t)0 >> (63 - (end - 1) % 64) : bits;
}

/* Words from `first` to `last` now have bits. */
static inline void touched_add(struct touched *t, size_t first, size_t last)
{
    t->first = first < t->first ? first : t->first;
    t->last = last > t->last ? last : t->last;
    if (first / UNIT == last / UNIT) {
        t->units[first / UNIT / 64] |= (uint64_t)1 << first / UNIT % 64;
        return;
    }
    for (size_t k = first / UNIT / 64; k <= last / UNIT / 64; k++)
        t->units[k] |= bits_in(k, first / UNIT, last / UNIT + 1);
}

/* Returns the first word of the next unit that may have bits, from word n on, which is the first of
 * one; SIZE_MAX: there is none. */
static inline size_t touched_next(const struct touched *t, size_t n)
{
    for (size_t k = n / UNIT / 64; t->bits && k <= t->last / UNIT / 64; k++) {
        const uint64_t units = t->units[k] & bits_in(k, n / UNIT, SIZE_MAX);
        if (units)
            return (k * 64 + (size_t)__builtin_ctzll(units)) * UNIT;
        n = 0;
    }
    return SIZE_MAX;
}
#define EACH_UNIT(n, t)                                                       \
    for (size_t n = touched_next(t, (t)->first / UNIT * UNIT); n != SIZE_MAX; \
         n = touched_next(t, n + UNIT))

/* Gives the set its bits, none of which is set. */
void touched_begin(const struct window *win, struct touched *t);
/* Moves all bytes of a set of the same window to another one. */
void touched_move(const struct window *win, struct touched *to, struct touched *from);
/* Has a byte in both? */
bool touched_meet(const struct touched *x, const struct touched *y);

#endif
