/* All memory that a program can name: allocations of pools and of cudaMalloc, pinned host memory,
 * and the rest of the host's.
 *
 * All of these need the lock. Ranges belong to their heaps; they live until they are freed. */
#ifndef SIM_MEM_MEMORY_H
#define SIM_MEM_MEMORY_H

#include "check/checker.h"
#include "mem/pinned.h"
#include "mem/pool.h"

enum address_kind { ADDRESS_PAGEABLE, ADDRESS_PINNED, ADDRESS_ALLOCATED, ADDRESS_UNALLOCATED };

/* What an address means. */
struct address_info {
    /* ADDRESS_UNALLOCATED: a device address that is in no live allocation. */
    enum address_kind kind;
    struct heap *heap;     /* NULL: of the host's memory. */
    struct pool *pool;     /* NULL: of cudaMalloc. */
    struct range *range;   /* ADDRESS_ALLOCATED: the allocation. */
    struct pinned *pinned; /* ADDRESS_PINNED: the allocation. */
    size_t offset;         /* In the heap. */
    size_t inner_offset;   /* In the allocation. */
    size_t bytes_left;     /* From the address to the end of what was asked for. */
};

struct address_info memory_find(const void *address);
/* Does the host have memory in the whole of [address, address + bytes), of whatever kind? Not where
 * something was freed. */
bool memory_host_has(const void *address, size_t bytes);
/* Returns the journal's number of the allocation that the address is in; 0 for none. */
uint32_t memory_allocation_id(const struct address_info *a);
/* Returns the allocation that the address is in (it is in one) as the checker names it. */
struct shadow_ref memory_shadow(const struct address_info *a);
/* Returns the live allocation of the address's heap that starts last at or before it; .shadow is
 * NULL when there is none. Slow: for reports. */
struct shadow_ref memory_allocation_before(const struct address_info *a);
/* Returns a number for a new allocation, whatever kind. */
uint32_t memory_new_id(void);
/* Returns the device that cudaPointerGetAttributes names for an address in a heap; 0 for the host's
 * memory (assumed). */
int memory_device(const struct address_info *a);
/* Does the address belong to a pool of the host's own memory? */
static inline bool memory_is_host_pool(const struct address_info *a)
{
    return a->pool && pool_is_host_memory(a->pool);
}
/* Returns that to which access is given as a whole: the address's pool, or the heap of cudaMalloc
 * of its device. */
const void *memory_owner(const struct address_info *a);
/* Returns what needs the access to cudaMalloc's memory of this device that another device was given
 * (check/checker.h). */
struct peer_use **memory_peer_uses(int device);
/* May kernels, copies and memsets of `device` touch the address? */
bool memory_peer_accessible(const struct address_info *a, int device);

/* Allocates `bytes` (> 0) as cudaMalloc does; returns NULL when there is no memory. */
struct range *memory_allocate(int device, size_t bytes);
/* The same as cudaMallocManaged does, with this device as the current one. Managed memory is
 * populated where it is used; here it takes nothing from a device (assumed). */
struct range *memory_allocate_managed(int device, size_t bytes);
struct heap *memory_managed_heap(int device);
/* The same for a variable of device code, which stays for good. It takes nothing from the device
 * either (assumed). */
struct range *memory_allocate_variable(int device, size_t bytes, struct heap **heap);
/* Is it a variable of device code? */
bool memory_is_variable(const struct range *r);
/* Returns the heap of cudaMalloc's allocations on a device that has one. */
struct heap *memory_heap(int device);
/* Frees an allocation of cudaMalloc. */
void memory_free(struct address_info *a);
/* Returns where a range begins. */
void *memory_address(const struct heap *h, const struct range *r);
/* A live range of a heap is an allocation of the program from here on, of the bytes that were
 * requested: it gets its number, and the checker what it compares with. `kind`, `s` and `seq` are
 * those of checker_allocated. Returns its address. */
void *memory_born(const struct call *call, const struct heap *h, struct range *r,
                  enum allocation_kind kind, struct stream *s, uint64_t seq);

/* Visits everything that the program has allocated and not freed; returns how many. */
size_t memory_for_each_live(void (*visit)(struct shadow_ref b));

#endif
