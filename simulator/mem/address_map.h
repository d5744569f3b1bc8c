/* The address space: which heap an address belongs to. */
#ifndef SIM_MEM_ADDRESS_MAP_H
#define SIM_MEM_ADDRESS_MAP_H

#include "mem/heap.h"

struct pool;

/* A heap that has been opened; `pool` is NULL for the heap of cudaMalloc. */
void address_map_add(struct heap *h, struct pool *pool);
void address_map_remove(struct heap *h);
bool address_map_contains(const struct heap *h);
/* The heap whose range holds the address, and its pool; NULL when the address is not the
 * device's. */
struct heap *address_map_find(const void *address, struct pool **pool);

/* Where the bytes behind a device address are kept. */
static inline char *address_map_storage(const struct heap *h, size_t offset)
{
    return heap_storage(h, offset);
}

#endif
