/* The address space: which heap an address belongs to. All of these need the lock. A heap stays its
 * owner's, who removes it before it ends. */
#ifndef SIM_MEM_ADDRESS_MAP_H
#define SIM_MEM_ADDRESS_MAP_H

#include "mem/heap.h"

/* Adds a heap that has got its addresses. */
void address_map_add(struct heap *h);
/* Removes a heap, if it is there. */
void address_map_remove(struct heap *h);
/* Returns the heap that holds the address, or NULL when the address is not the device's. */
struct heap *address_map_find(const void *address);

#endif
