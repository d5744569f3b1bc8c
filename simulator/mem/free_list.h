/* Free chunks in order of size, the oldest first among equals: finds the best fit whose mark is not
 * beyond a limit.
 *
 * A treap: a search tree by size that is a heap by a pseudo-random rank, so its depth stays near
 * log2 of the number of sizes. In the tree is the oldest chunk of each size; the others of that
 * size follow it in a chain, in order of age. A program uses few sizes again and again, so most
 * chunks go to the end of a chain and come from its head, and `recent` finds the chain without a
 * walk, whose turns a processor cannot guess.
 *
 *   (4 KiB) -> (4 KiB) -> (4 KiB)
 *    /    \
 * (512)  (1 MiB) -> (1 MiB)
 *
 * Each node also knows the least mark of its branch, so a search can pass over whole branches that
 * are too new. */
#ifndef SIM_MEM_FREE_LIST_H
#define SIM_MEM_FREE_LIST_H

#include "base/types.h"

struct free_node { /* inside each free chunk */
    size_t bytes;
    uint64_t insertion; /* smaller is older; no two are equal */
    uint64_t free_seq;
    uint64_t min_seq;               /* the least mark of this node and of all below it */
    struct free_node *left, *right; /* smaller and larger ones; only in the tree */
    struct free_node *next;         /* of the same size, the next younger */
    struct free_node *parent;       /* whose left, right or next this is */
    struct free_node *tail;         /* the end of the chain; only in the tree */
    uint32_t priority;              /* the same */
};

#define FREE_LIST_HOT_BITS 6
struct free_list {
    struct free_node *root;
    /* By a hash of the size: a node of the tree that was looked for not long ago, or NULL. */
    struct free_node *hot[1 << FREE_LIST_HOT_BITS];
};

void free_list_insert(struct free_list *list, struct free_node *n);
void free_list_remove(struct free_list *list, struct free_node *n);
/* The smallest with at least `bytes` and a mark of at most `limit`; the oldest of those; or
 * NULL. */
struct free_node *free_list_best_fit(const struct free_list *list, size_t bytes, uint64_t max_seq);
/* The next in order whose mark is at most `limit`, or NULL. */
struct free_node *free_list_next(const struct free_node *n, uint64_t max_seq);
/* Is there one whose mark is at most `limit`? */
static inline bool free_list_has(const struct free_list *list, uint64_t max_seq)
{
    return list->root && list->root->min_seq <= max_seq;
}
/* Walks the laws: order, ranks, chains, least marks, what is remembered. The number of nodes, or
 * SIZE_MAX when one does not hold. */
size_t free_list_count_valid(const struct free_list *list);

#endif
