/* The accesses of a block, in the order of the bytes that they touch, so that ten thousand of them
 * to as many parts of a block cost each no more than ten do. */
#ifndef SIM_CHECK_ACCESS_TREE_H
#define SIM_CHECK_ACCESS_TREE_H

#include "check/shadow.h"

/* Adds a copy of `a`, which is the newest now. */
void access_tree_add(struct shadow *shadow, struct access a);
void access_tree_remove(struct shadow *shadow, struct access *a);
void access_tree_clear(struct shadow *shadow);
/* Those that share a byte with [from, to), or touch one of its ends, the newest first; how many is
 * written to *count. The array is good until the next call; to remove an access of it leaves the
 * others as they are. */
struct access **access_tree_find(const struct shadow *shadow, size_t from, size_t to,
                                 size_t *count);

#endif
