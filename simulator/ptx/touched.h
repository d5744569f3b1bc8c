/* Sets of bytes of a window, with a bit for each byte. */
#ifndef SIM_PTX_TOUCHED_H
#define SIM_PTX_TOUCHED_H

#include "ptx/grid.h"

/* Returns the bits of this word that stand for bytes from `from` to before `end`. Some bytes in
 * between belong to this word. */
static inline uint64_t bits_in(size_t word, size_t from, size_t end)
{
    uint64_t bits = ~(uint64_t)0;
    if (word == from / 64)
        bits <<= from % 64;
    return word == (end - 1) / 64 ? bits & ~(uint64_t)0 >> (63 - (end - 1) % 64) : bits;
}

/* Frees the bits of a set. */
void touched_end(const struct window *win, struct touched *t);
/* Notes that the units from `first` to `last` may have bits. */
void touched_add_units(struct touched *t, size_t first, size_t last);

/* Notes that the words from `first` to `last` may have bits. */
static inline void touched_add(struct touched *t, size_t first, size_t last)
{
    const size_t unit = first / UNIT;
    if (last / UNIT != unit || !(t->units[unit / 64] >> unit % 64 & 1))
        touched_add_units(t, unit, last / UNIT);
}

/* Runs the body for each unit that may have bits; `n` is its first word. */
#define EACH_UNIT(n, t, ...)                                                              \
    for (size_t k = (t)->first / UNIT / 64; (t)->bits && k <= (t)->last / UNIT / 64; k++) \
        for (uint64_t rest = (t)->units[k]; rest; rest &= rest - 1) {                     \
            const size_t n = (k * 64 + (size_t)__builtin_ctzll(rest)) * UNIT;             \
            __VA_ARGS__                                                                   \
        }

/* Gives the set its bits, none of which is set. */
void touched_begin(const struct window *win, struct touched *t);
/* Moves all bytes of a set to another set of the same window. */
void touched_move(const struct window *win, struct touched *to, struct touched *from);
/* Returns whether a byte is in both sets. */
bool touched_meet(const struct touched *x, const struct touched *y);

#endif
