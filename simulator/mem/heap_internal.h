/* What the files of the heap tell each other, and nobody else. */
#ifndef SIM_MEM_HEAP_INTERNAL_H
#define SIM_MEM_HEAP_INTERNAL_H

#include "base/bits.h"
#include "mem/heap.h"

static inline size_t heap_segment_count(const struct heap *h) { return h->limit / h->segment_size; }
static inline size_t range_end(const struct range *r) { return r->offset + r->node.bytes; }

/* The list that a free chunk is in, or belongs in. */
struct free_list *heap_list_of(struct heap *h, const struct range *r);
/* Is one of the chunk's steps not mapped? */
bool heap_is_partial(const struct heap *h, const struct range *r);
/* Says again for the steps that touch [from, to) whether the common chunk `c` (NULL: nobody) has
 * them to itself. */
void heap_set_idle_owner(struct heap *h, struct range *r, size_t from, size_t to);

#endif
