/* The accesses of one allocation, in the order of the bytes that they touch, so that ten thousand
 * of them to as many parts of an allocation cost each no more than ten do.
 *
 * All of these need the lock. A tree belongs to its shadow; an access in it lives until it is
 * removed or the tree is cleared. */
#ifndef SIM_CHECK_ACCESS_TREE_H
#define SIM_CHECK_ACCESS_TREE_H

#include "check/shadow.h"

/* What a search found. It belongs to the caller, who zeroes it before the first search, may use it
 * for many, and ends with access_list_clear. Its accesses belong to the tree. */
struct access_list {
    struct access **items;
    size_t count, capacity;
};

/* Adds a copy of `a`, which is the newest now; its set of bytes is the tree's. */
void access_tree_add(struct shadow *shadow, struct access a);
/* Removes an access of the shadow's tree. */
void access_tree_remove(struct shadow *shadow, struct access *a);
/* Removes all accesses. */
void access_tree_clear(struct shadow *shadow);
/* Replaces what is in the list by the accesses that share a byte with [from, to), or touch one of
 * its ends, the newest first; with `reads` false by those of them that write. Removing one of them
 * from the tree leaves the others as they are. */
void access_tree_find(const struct shadow *shadow, size_t from, size_t to, bool reads,
                      struct access_list *list);
/* The same for the reads that lie in [from, to], in any order. */
void access_tree_find_covered_reads(const struct shadow *shadow, size_t from, size_t to,
                                    struct access_list *list);
/* Gives the list's memory back. */
void access_list_clear(struct access_list *list);

#endif
