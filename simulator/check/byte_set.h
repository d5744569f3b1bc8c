/* The exact bytes of an allocation that one kernel has touched, as runs of bytes. Many equal runs
 * at equal distances take no more room than one. A set belongs to its holder and does not change.
 * No lock is needed. */
#ifndef SIM_CHECK_BYTE_SET_H
#define SIM_CHECK_BYTE_SET_H

#include "base/types.h"

/* `count` runs of `width` bytes. The first begins at `from`, and each begins `stride` bytes after
 * the previous one. */
struct byte_train {
    size_t from, width, stride, count;
};

/* Invariant: the trains are in order, and each ends before the next begins. */
struct byte_set {
    size_t count;
    struct byte_train trains[];
};

/* Makes a set of the bits in words [first, last], or NULL if none is set. The caller owns it. */
struct byte_set *byte_set_of_bits(const uint64_t *bits, size_t first, size_t last);
size_t byte_set_first(const struct byte_set *s);
size_t byte_set_end(const struct byte_set *s);
/* Returns whether it is one run: all bytes from the first to the end. */
bool byte_set_is_whole(const struct byte_set *s);

/* Returns whether the two have a byte in common. A NULL set means all bytes in [from, to). */
struct byte_range {
    const struct byte_set *set;
    size_t from, to;
};
bool byte_ranges_meet(struct byte_range a, struct byte_range b);
/* Returns whether `a` has all bytes of `b`. */
bool byte_range_covers(struct byte_range a, struct byte_range b);

#endif
