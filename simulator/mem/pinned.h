/* Pinned memory of the host: allocated (cudaMallocHost, cudaHostAlloc) or registered.
 *
 * What is allocated is cut from arenas, which the program has at one address and the simulation at
 * a second one, its storage:
 *
 *   program  | live | free | live |   free ...     free pages: nobody may touch them
 *   storage  |      |      |      |                always open; free pages take no memory
 *
 * So the addresses of freed memory stay an arena's: nothing of the program or of the simulation but
 * other pinned memory comes to lie there, and a late use finds nothing. Live neighbors are one
 * mapping of the process, of which Linux allows about 65,000.
 *
 * All of these need the lock. Pinned memory belongs to this file; a pointer is good until
 * pinned_end. */
#ifndef SIM_MEM_PINNED_H
#define SIM_MEM_PINNED_H

#include "base/ordered_tree.h"
#include "check/shadow.h"

struct arena;

struct pinned {
    struct tree_node node; /* In order of addresses; the key is `base`. */
    char *base;
    /* The same bytes, where no page guard protects them (check/page_guard.h); registered: base. */
    char *storage;
    size_t bytes;
    unsigned flags;
    bool registered;
    uint32_t id; /* The journal's number of the allocation. */
    int device;  /* The current one when it was made. */
    struct shadow shadow;
    struct arena *arena; /* Registered: NULL. */
    struct pinned *next, *previous;
};

/* Allocates `bytes` (> 0), which read as zero; returns NULL when there are none. */
struct pinned *pinned_new(size_t bytes, unsigned flags);
/* Registers what is there. None of it is pinned already. */
struct pinned *pinned_register(void *base, size_t bytes, unsigned flags);
/* Frees it, or ends its registration. */
void pinned_end(struct pinned *p);

/* Returns the one that the address is in, or NULL. */
struct pinned *pinned_find(const void *address);
/* Returns one that has a part of [address, address + bytes), or NULL. */
struct pinned *pinned_within(const void *address, size_t bytes);
/* Returns the newest; older ones follow by `next`. */
struct pinned *pinned_newest(void);
/* Is a part of [address, address + bytes) in free pages of an arena? Nothing is there. */
bool pinned_has_free_pages(const void *address, size_t bytes);

#endif
