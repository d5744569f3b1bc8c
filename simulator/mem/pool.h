/* Memory pools: a heap of 32 MiB segments, a policy, and statistics. This file owns a pool. It
 * lives until the program has destroyed it and all of its allocations are freed. All of these need
 * the lock, and none of them waits. */
#ifndef SIM_MEM_POOL_H
#define SIM_MEM_POOL_H

#include <driver_types.h>

#include "mem/reuse.h"

/* Numbers below LOCATIONS stand for a location and a kind of memory. Ordinary memory of a device
 * has the device's number. */
enum {
    LOCATION_HOST = MAX_DEVICES,
    LOCATION_HOST_NUMA,
    LOCATION_MANAGED,
    LOCATION_MANAGED_NONE = LOCATION_MANAGED + LOCATION_MANAGED,
    LOCATION_MANAGED_NEAR,
    LOCATIONS
};
#define HOST_NUMA_NODES 1 /* NUMA nodes of the host (assumed). */

struct graph_memory;

struct pool {
    int id; /* In the journal. Device d's default pool is d; others follow in order of creation. */
    void *handle;
    int location;
    int device; /* NO_DEVICE: host memory. */
    bool is_default;
    bool destroyed; /* By the program. The pool lives until its allocations are freed. */
    struct cudaMemPoolProps props;
    struct reuse_policy policy;
    uint64_t threshold;
    /* Memory became idle or the threshold was set: the next synchronization releases memory. */
    bool release_due;
    /* The pool's place among those that the next synchronization looks at, if it is one. */
    struct tree_node due_node;
    bool is_due;
    size_t used, used_high, reserved_high;
    uint32_t peer_rights; /* Bit d: device d may touch the allocations. */
    /* The rights that cudaMemPoolGetAccess reports. For managed memory these are only the rights
     * that were set, although all devices have access (measured: probe-pools.txt,
     * "memory_managed"). */
    uint32_t peer_rights_reported;
    /* Uses that need the access that a device was granted (check/checker.h). */
    struct peer_use *peer_uses;
    struct heap heap;
    bool has_few_addresses; /* Fewer addresses than twice the device's memory. */
    bool imported;          /* Another process's pool. Nothing is allocated or counted here. */
    bool exported;          /* The program has received a descriptor of it. */
    /* The number of imports that have not been destroyed. At 0 heap.ipc_table is NULL, but the
     * handle stays valid. */
    uint32_t import_count;
    /* The graph whose memory nodes allocate here, or NULL for a pool of the program. */
    struct graph_memory *graph;
    struct pool *next, *previous;
};

static inline bool pool_is_managed(const struct pool *p)
{
    return p->props.allocType == cudaMemAllocationTypeManaged;
}
/* Returns whether the pool is in the host's own memory. */
static inline bool pool_is_host_memory(const struct pool *p)
{
    return p->device == NO_DEVICE && !pool_is_managed(p);
}
/* Returns the bytes of physical memory that the pool has. */
size_t pool_reserved(const struct pool *p);

/* Returns the number of a location and kind of memory, or -1 if there is none. */
int pool_location(const struct cudaMemLocation *location, enum cudaMemAllocationType type);
/* Returns the location's default pool, and makes it at the first request. */
struct pool *pool_default(int location);
/* Returns the location's current pool. For ordinary memory of a device, cudaMallocAsync uses it. */
struct pool *pool_current(int location);
void pool_set_current(int location, struct pool *pool);
/* Makes a destroyed pool current, so that queries return its handle (measured: probe-pools.txt,
 * "destroyed_made_current"). Not for ordinary memory of a device, because nothing can be allocated
 * from it. */
void pool_set_current_destroyed(int location, void *handle);
void *pool_current_handle(int location);

/* Creates a pool with these properties, which have been checked. */
struct pool *pool_create(const struct cudaMemPoolProps *props);
/* Creates a pool of `limit` bytes at this location whose storage belongs to another process. */
struct pool *pool_new_imported(int location, size_t limit);
/* Creates a pool without a handle for a graph's memory nodes. It releases nothing by itself. */
struct pool *pool_create_for_graph(int device, struct graph_memory *owner);
/* Destroys a pool of the program. It ends at once if nothing in it is live or pending. */
void pool_destroy(struct pool *p);
/* Returns whether a stream has freed memory of the pool that is not yet free for all streams. */
bool pool_has_pending_frees(const struct pool *p);
/* Destroys one import of an imported pool. If allocations of it are imported, returns false and
 * does nothing (measured: probe-ipc.txt, "pool_import_destroyed"). */
bool pool_destroy_imported(struct pool *p);
/* Ends a graph's pool, which has no live range and no mapped segment. */
void pool_discard(struct pool *p);
/* Called when a device has no memory left. Every pool of it releases all idle memory, whatever its
 * threshold, except pools of graphs and the pool of `wanting` (NULL: none). Returns whether any
 * did. */
bool pools_make_room(int device, const struct heap *wanting);

/* Returns the first of all pools. The others follow by `next`. */
struct pool *pool_first(void);
/* Returns the pool of a handle, or NULL. */
struct pool *pool_from_handle(cudaMemPool_t handle);
/* Returns the pool of a handle, or NULL if there is none or it is imported: for operations that an
 * imported pool rejects (measured: ipc.txt, cudaErrorInvalidValue). */
struct pool *pool_from_handle_owned(cudaMemPool_t handle);

/* Allocates `bytes` (> 0) in the order of stream `s`. The range belongs to the pool. */
struct reuse_result pool_allocate(struct pool *p, size_t bytes, struct stream *s);
/* Says once that a pool has memory but no addresses for `bytes`, if that is the case. */
void pool_diag_no_addresses(const struct pool *p, size_t bytes);
/* Frees an allocation in the order of stream `s`, at position `seq`. */
void pool_free(struct pool *p, struct range *r, struct stream *s, uint64_t seq);
/* Frees an allocation like cudaFree: the memory is shared at once, and `used` stays as it is, so it
 * may exceed reserved (measured: one-gpu.txt, "errors"). */
void pool_free_now(struct pool *p, struct range *r);

/* Sets the threshold. The next synchronization releases what exceeds it. */
void pool_threshold_set(struct pool *p, uint64_t threshold);
/* Called when the host has waited: shares what has finished, and releases what exceeds each
 * threshold. */
void pools_synchronized(void);
/* Called when a stream is destroyed: shares its finished frees, and releases what exceeds the
 * threshold (measured: probe-answers.txt, "pools"). */
void pools_stream_destroyed(struct stream *s);
/* Releases idle segments, but keeps at least `keep` bytes. */
void pool_trim(struct pool *p, size_t keep);

#endif
