/* Pinned host memory: allocated (cudaMallocHost, cudaHostAlloc) or registered.
 *
 * Allocations are cut from arenas. The program has an arena at one address, and the simulation has
 * a second view of it, the storage:
 *
 *   program  | live | free | live |   free ...     free pages: nothing may touch them
 *   storage  |      |      |      |                always open; free pages take no memory
 *
 * So only other pinned memory reuses the addresses of freed memory, and a late use finds nothing.
 * Live neighbors are one mapping of the process, of which Linux allows about 65,000.
 *
 * This file owns pinned memory. A pointer is valid until pinned_end. All of these need the lock. */
#ifndef SIM_MEM_PINNED_H
#define SIM_MEM_PINNED_H

#include "base/ordered_tree.h"
#include "check/shadow.h"

struct arena;

struct pinned {
    struct tree_node node; /* In order of addresses: the key is `base`. */
    char *base;
    /* The same bytes without protection by a page guard (check/page_guard.h). If registered:
     * base. */
    char *storage;
    size_t bytes;
    unsigned flags;
    bool registered;
    uint32_t id; /* The allocation's number in the journal. */
    int device;  /* The device that was current when it was made. */
    struct shadow shadow;
    struct arena *arena; /* NULL if registered. */
    struct pinned *next, *previous;
};

/* Allocates `bytes` (> 0), which read as zero. Returns NULL if there is no memory. */
struct pinned *pinned_new(size_t bytes, unsigned flags);
/* Registers existing memory, none of which is pinned already. */
struct pinned *pinned_register(void *base, size_t bytes, unsigned flags);
/* Frees the memory or ends its registration. */
void pinned_end(struct pinned *p);

/* Returns the pinned memory that contains the address, or NULL. */
struct pinned *pinned_find(const void *address);
/* Returns any pinned memory that overlaps [address, address + bytes), or NULL. */
struct pinned *pinned_within(const void *address, size_t bytes);
/* Returns the newest pinned memory. Older ones follow by `next`. */
struct pinned *pinned_newest(void);
/* Returns whether any of [address, address + bytes) is in an arena's free pages, which have no
 * memory. */
bool pinned_has_free_pages(const void *address, size_t bytes);

#endif
