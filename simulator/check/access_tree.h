/* The accesses of one allocation, in the order of the bytes that they touch, so that each of ten
 * thousand accesses to different parts costs no more than each of ten. A tree belongs to its
 * shadow, and an access lives until it is removed or the tree is cleared. All of these need the
 * lock. */
#ifndef SIM_CHECK_ACCESS_TREE_H
#define SIM_CHECK_ACCESS_TREE_H

#include "check/shadow.h"

/* The result of a search. The caller owns it, zeroes it before the first search, may use it for
 * many, and ends it with access_list_clear. The accesses belong to the tree. */
struct access_list {
    struct access **items;
    size_t count, capacity;
};

/* Adds a copy of `a` as the newest access. The tree takes over its byte set. */
void access_tree_add(struct shadow *shadow, struct access a);
void access_tree_remove(struct shadow *shadow, struct access *a);
void access_tree_clear(struct shadow *shadow);
/* Replaces the list with the accesses that share a byte with [from, to) or touch one of its ends,
 * the newest first; without `reads`, only with writes. Removing one of them from the tree leaves
 * the others valid. */
void access_tree_find(const struct shadow *shadow, size_t from, size_t to, bool reads,
                      struct access_list *list);
/* Replaces the list with the reads within [from, to], in any order. */
void access_tree_find_covered_reads(const struct shadow *shadow, size_t from, size_t to,
                                    struct access_list *list);
void access_list_clear(struct access_list *list);

#endif
