/* What the files of the heap tell each other, and nobody else. */
#ifndef SIM_MEM_HEAP_INTERNAL_H
#define SIM_MEM_HEAP_INTERNAL_H

#include "base/bits.h"
#include "mem/heap.h"

static inline size_t heap_steps(const struct heap *h) { return h->limit / h->step; }
static inline size_t chunk_end(const struct chunk *c) { return c->offset + c->fit.bytes; }

/* The list that a free chunk is in, or belongs in. */
struct fit_list *heap_list(struct heap *h, const struct chunk *c);
/* Is one of the chunk's steps not mapped? */
bool heap_is_partial(const struct heap *h, const struct chunk *c);
/* Says again for the steps that touch [from, to) whether the common chunk `c` (NULL: nobody) has them to itself. */
void heap_own(struct heap *h, struct chunk *c, size_t from, size_t to);

#endif
