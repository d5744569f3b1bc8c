/* All memory that a program can address: allocations of pools and of cudaMalloc, pinned host
 * memory, and other host memory. A range belongs to its heap and lives until it is freed. All of
 * these need the lock. */
#ifndef SIM_MEM_MEMORY_H
#define SIM_MEM_MEMORY_H

#include "check/checker.h"
#include "mem/pinned.h"
#include "mem/pool.h"

/* Of cudaMalloc: a heap's segments. */
#define MEMORY_GRANULARITY (2 * MiB)

enum address_kind { ADDRESS_PAGEABLE, ADDRESS_PINNED, ADDRESS_ALLOCATED, ADDRESS_UNALLOCATED };

/* The meaning of an address. */
struct address_info {
    /* ADDRESS_UNALLOCATED is a device address outside all live allocations. */
    enum address_kind kind;
    struct heap *heap;     /* NULL for host memory. */
    struct pool *pool;     /* NULL for cudaMalloc, this or another process's. */
    struct range *range;   /* ADDRESS_ALLOCATED: the allocation. */
    struct pinned *pinned; /* ADDRESS_PINNED: the allocation. */
    size_t offset;         /* Within the heap. */
    size_t inner_offset;   /* Within the allocation. */
    size_t bytes_left;     /* From the address to the end of the requested bytes. */
};

struct address_info memory_find(const void *address);
/* Returns whether the host has memory of any kind in all of [address, address + bytes). Freed
 * memory does not count. */
bool memory_host_has(const void *address, size_t bytes);
/* Returns the journal number of the allocation that contains the address, or 0. */
uint32_t memory_allocation_id(const struct address_info *a);
/* Returns the checker's reference to the allocation around the address. There must be one. */
struct shadow_ref memory_shadow(const struct address_info *a);
/* Returns the last live allocation of the heap that starts at or before the address. If there is
 * none, .shadow is NULL. Slow, so only for reports. */
struct shadow_ref memory_allocation_before(const struct address_info *a);
/* Returns a number for a new allocation of any kind. */
uint32_t memory_new_id(void);
/* Returns the device that cudaPointerGetAttributes reports for an address in a heap, which is 0 for
 * host memory (assumed). */
int memory_device(const struct address_info *a);
/* Returns whether the address belongs to a pool in the host's own memory. */
static inline bool memory_is_host_pool(const struct address_info *a)
{
    return a->pool && pool_is_host_memory(a->pool);
}
/* Returns the unit to which access is granted: the address's pool, or the cudaMalloc heap of its
 * device. */
const void *memory_owner(const struct address_info *a);
/* Returns the list of uses that need the access that another device was granted to this device's
 * cudaMalloc memory (check/checker.h). */
struct peer_use **memory_peer_uses(int device);
/* Returns the device that was current when the memory was made, or NO_DEVICE where a driver does
 * not know it: for pools, mapped memory, and the host's own memory. */
int memory_maker(const struct address_info *a);
/* Returns whether kernels, copies, and memsets of `device` may touch the address. */
bool memory_peer_accessible(const struct address_info *a, int device);
/* Returns whether `device` may also write there: a mapping may be read-only. */
bool memory_peer_writable(const struct address_info *a, int device);
/* Returns the device whose memory is there. In a reservation each mapping has its own. */
int memory_home(const struct heap *h, size_t offset);

/* Allocates `bytes` (> 0) like cudaMalloc. Returns NULL if there is no memory. */
struct range *memory_allocate(int device, size_t bytes);
/* Allocates like cudaMallocManaged with this device as the current one. It takes no memory from a
 * device, because managed memory is populated where it is used (assumed). */
struct range *memory_allocate_managed(int device, size_t bytes);
struct heap *memory_managed_heap(int device);
/* Allocates a variable of device code. It takes no memory from the device (assumed). */
struct range *memory_allocate_variable(int device, size_t bytes, struct heap **heap);
void memory_free_variable(const struct address_info *a);
bool memory_is_variable(const struct range *r);
/* Returns the cudaMalloc heap of a device, which must have one. */
struct heap *memory_heap(int device);
/* Adds a heap of `limit` bytes, a multiple of MEMORY_GRANULARITY, for another process's cudaMalloc
 * memory on `device` that is opened here while `opener` is current. */
struct heap *memory_new_opened(int device, int opener, size_t limit);
/* Ends the opened heaps without a live allocation, unless pending work may still use them. */
void memory_close_opened(void);
/* Returns the first opened heap. The others follow by `next_opened`. */
struct heap *memory_first_opened(void);
/* Returns whether cudaIpcOpenMemHandle has opened the memory here, which is another process's. */
static inline bool memory_is_opened(const struct address_info *a)
{
    return a->heap && a->heap->imported && !a->pool;
}
/* Frees an allocation of cudaMalloc. */
void memory_free(struct address_info *a);
/* Frees what cudaMalloc and cudaMallocManaged have on a device, and what is pinned for it. */
void memory_end_device(const struct call *call, int device);
void *memory_address(const struct heap *h, const struct range *r);
/* Returns whether only this process's copies and kernels can write the allocation. If so, the
 * checker notes which of its bytes have a value (check/written.h). */
bool memory_is_noted(const struct heap *h, const struct shadow *allocation);
/* With SIM_FILL, fills a new range when stream `s` comes to its newest marker; NULL: now. */
void memory_fill_new(struct heap *h, const struct range *r, struct stream *s);
/* Makes a live range of a heap an allocation of the program: gives it a number, and tells the
 * checker. `kind`, `s`, and `seq` are as in checker_allocated. Returns the address. */
void *memory_born(const struct call *call, struct heap *h, struct range *r,
                  enum allocation_kind kind, struct stream *s, uint64_t seq);

/* Visits every allocation that the program has not freed. Returns their number. */
size_t memory_for_each_live(void (*visit)(struct shadow_ref b));

#endif
