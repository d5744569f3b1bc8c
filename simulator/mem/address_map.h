/* Finds the heap that contains an address. Heaps belong to their owners, who remove them before
 * they end. All of these need the lock. */
#ifndef SIM_MEM_ADDRESS_MAP_H
#define SIM_MEM_ADDRESS_MAP_H

#include "mem/heap.h"

/* Adds a heap that has its addresses. */
void address_map_add(struct heap *h);
/* Removes a heap, if it was added. */
void address_map_remove(struct heap *h);
/* Returns the heap that contains the address, or NULL if no device owns the address. */
struct heap *address_map_find(const void *address);

#endif
