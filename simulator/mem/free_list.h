/* Free chunks in order of size, the oldest first among equals: finds the best fit whose mark is not beyond a limit.
 *
 * A treap: a search tree by size that is a heap by a pseudo-random rank, so its depth stays near log2 of the number of sizes. In the tree
 * is the oldest chunk of each size; the others of that size follow it in a chain, in order of age. A program uses few sizes again and again, so most
 * chunks go to the end of a chain and come from its head, and `recent` finds the chain without a walk, whose turns a processor cannot guess.
 *
 *   (4 KiB) -> (4 KiB) -> (4 KiB)
 *    /    \
 * (512)  (1 MiB) -> (1 MiB)
 *
 * Each node also knows the least mark of its branch, so a search can pass over whole branches that are too new. */
#ifndef SIM_MEM_FREE_LIST_H
#define SIM_MEM_FREE_LIST_H

#include "base/types.h"

struct fit {                           /* inside each free chunk */
    size_t      bytes;
    uint64_t    age;                   /* smaller is older; no two are equal */
    uint64_t    mark;
    uint64_t    least;                 /* the least mark of this node and of all below it */
    struct fit *left, *right;          /* smaller and larger ones; only in the tree */
    struct fit *next;                  /* of the same size, the next younger */
    struct fit *parent;                /* whose left, right or next this is */
    struct fit *youngest;              /* the end of the chain; only in the tree */
    uint32_t    rank;                  /* the same */
};

#define FIT_RECENT_BITS 6
struct fit_list {
    struct fit *root;
    struct fit *recent[1 << FIT_RECENT_BITS];      /* by a hash of the size: a node of the tree that was looked for not long ago, or NULL */
};

void fit_insert(struct fit_list *list, struct fit *f);
void fit_remove(struct fit_list *list, struct fit *f);
/* The smallest with at least `bytes` and a mark of at most `limit`; the oldest of those; or NULL. */
struct fit *fit_best(const struct fit_list *list, size_t bytes, uint64_t limit);
/* The next in order whose mark is at most `limit`, or NULL. */
struct fit *fit_next(const struct fit *f, uint64_t limit);
/* Is there one whose mark is at most `limit`? */
static inline bool fit_has(const struct fit_list *list, uint64_t limit) { return list->root && list->root->least <= limit; }
/* Walks the laws: order, ranks, chains, least marks, what is remembered. The number of nodes, or SIZE_MAX when one does not hold. */
size_t fit_count_valid(const struct fit_list *list);

#endif
