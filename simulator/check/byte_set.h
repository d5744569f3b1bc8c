/* Bytes of an allocation that one kernel has touched, exactly: runs of bytes, of which many that
 * are alike, at the same distance from each other, take no more room than one.
 *
 * No lock is needed. A set belongs to who holds it, and does not change. */
#ifndef SIM_CHECK_BYTE_SET_H
#define SIM_CHECK_BYTE_SET_H

#include "base/types.h"

/* `count` runs of `width` bytes, which begin `stride` bytes apart, the first at `from`. */
struct byte_train {
    size_t from, width, stride, count;
};

/* Law: the trains are in order, and each ends before the next begins. */
struct byte_set {
    size_t count;
    struct byte_train trains[];
};

/* Makes the set of the bits that are set in words [first, last]; NULL: there are none. The caller
 * owns it (os_free). */
struct byte_set *byte_set_of_bits(const uint64_t *bits, size_t first, size_t last);
size_t byte_set_first(const struct byte_set *s);
size_t byte_set_end(const struct byte_set *s);
/* Is it one run, all bytes from the first to the end? */
bool byte_set_is_whole(const struct byte_set *s);

/* Have the two a byte in common? A NULL set is all bytes [from, to) of its own. */
struct byte_range {
    const struct byte_set *set;
    size_t from, to;
};
bool byte_ranges_meet(struct byte_range a, struct byte_range b);
/* Has `a` all bytes of `b`? */
bool byte_range_covers(struct byte_range a, struct byte_range b);

#endif
