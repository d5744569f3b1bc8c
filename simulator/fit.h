/* Free chunks in order of size, the oldest first among equals: finds the best fit whose mark is not beyond a limit in logarithmic
 * time. A treap: a search tree by (bytes, age) that is a heap by a pseudo-random rank, so its depth stays near log2(n). Each node
 * also knows the least mark of its branch, so a search can pass over whole branches that are too new. A node fills one line of
 * the processor's cache: with many free chunks, what a search costs is the lines that it loads. */
#ifndef SIM_FIT_H
#define SIM_FIT_H

#include "types.h"

struct fit {                           /* inside each free chunk */
    size_t      bytes;
    uint64_t    age;                   /* smaller is older; no two are equal */
    uint64_t    mark;
    uint64_t    least;                 /* the least mark of this node and of all below it */
    struct fit *left, *right, *parent;
    uint32_t    rank;
};

struct fit_list { struct fit *root; };

void fit_insert(struct fit_list *list, struct fit *f);
void fit_remove(struct fit_list *list, struct fit *f);
/* The smallest with at least `bytes` and a mark of at most `limit`; the oldest of those; or NULL. */
struct fit *fit_best(const struct fit_list *list, size_t bytes, uint64_t limit);
/* The next in order whose mark is at most `limit`, or NULL. */
struct fit *fit_next(const struct fit *f, uint64_t limit);
/* Is there one whose mark is at most `limit`? */
static inline bool fit_has(const struct fit_list *list, uint64_t limit) { return list->root && list->root->least <= limit; }
/* Walks the laws: order, ranks, least marks. The number of nodes, or SIZE_MAX when one does not hold. */
size_t fit_count_valid(const struct fit_list *list);

#endif
