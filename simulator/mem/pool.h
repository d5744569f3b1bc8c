/* Memory pools: a heap of 32 MiB segments, a policy, statistics.
 *
 * All of these need the lock, but none waits. A pool belongs to this file: it lives until the
 * program has destroyed it and all of its allocations are freed. */
#ifndef SIM_MEM_POOL_H
#define SIM_MEM_POOL_H

#include <driver_types.h>

#include "mem/reuse.h"

/* Where a pool's memory is, and of which kind: a number below LOCATIONS. That of a device's
 * ordinary memory is the device's own number. */
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
struct ipc_table;

struct pool {
    int id; /* The journal's: device d's default pool is d, then in order of creation. */
    void *handle;
    int location;
    int device; /* NO_DEVICE: in the host's memory. */
    bool is_default;
    bool destroyed; /* By the program; it lives on until its allocations are freed. */
    struct cudaMemPoolProps props;
    struct reuse_policy policy;
    uint64_t threshold;
    /* Memory has become idle, or the threshold was set: the next synchronization gives back. */
    bool release_due;
    /* Its place among the pools that the next synchronization looks at, and whether it has one. */
    struct tree_node due_node;
    bool is_due;
    size_t used, used_high, reserved_high;
    uint32_t peer_rights; /* Bit d: device d may touch its allocations. */
    /* The same as cudaMemPoolGetAccess reports it (measured: probe-pools.txt, "memory_managed"; of
     * managed memory only what was set, although all may). */
    uint32_t peer_rights_reported;
    /* What needs access that a device was given (check/checker.h). */
    struct peer_use *peer_uses;
    struct heap heap;
    bool has_few_addresses; /* Fewer than twice its device's memory: there were many pools. */
    /* What processes share of it, when its handle types let others have it or it is another's; else
     * NULL. */
    struct ipc_table *ipc_table;
    /* Ends that sharing, when the pool's storage is closed. */
    void (*end_sharing)(struct pool *p);
    bool imported; /* Another process's: nothing is allocated here, and nothing counted. */
    bool exported; /* The program has had a descriptor of it. */
    /* How often it was imported, less how often that was destroyed. At 0 ipc_table is NULL, but the
     * handle stays known. */
    uint32_t import_count;
    /* The graph whose memory nodes allocate here; NULL: a pool of the program's. */
    struct graph_memory *graph;
    struct pool *next, *previous;
};

static inline bool pool_is_managed(const struct pool *p)
{
    return p->props.allocType == cudaMemAllocationTypeManaged;
}
/* Is its memory the host's own? */
static inline bool pool_is_host_memory(const struct pool *p)
{
    return p->device == NO_DEVICE && !pool_is_managed(p);
}
/* Returns how many bytes of physical memory it has. */
size_t pool_reserved(const struct pool *p);

/* Returns the number of a location and kind of memory, or -1 when there is none such. */
int pool_location(const struct cudaMemLocation *location, enum cudaMemAllocationType type);
/* Returns the location's default pool, made when it is first asked for. */
struct pool *pool_default(int location);
/* Returns the location's current pool: for a device's ordinary memory, that which cudaMallocAsync
 * uses now. */
struct pool *pool_current(int location);
void pool_set_current(int location, struct pool *pool);
/* Makes a destroyed pool current, which is then handed out (measured: probe-pools.txt,
 * "destroyed_made_current"). Nothing is allocated from it, so this is for other locations than a
 * device's ordinary memory. */
void pool_set_current_destroyed(int location, void *handle);
void *pool_current_handle(int location);

/* Creates a pool as the properties require; they have been checked. */
struct pool *pool_create(const struct cudaMemPoolProps *props);
/* Creates a pool at this location whose storage is another process's, of `limit` bytes. */
struct pool *pool_new_imported(int location, size_t limit);
/* Creates a pool without a handle, for the memory nodes of a graph: nothing of it ever goes back by
 * itself. */
struct pool *pool_create_for_graph(int device, struct graph_memory *owner);
/* Destroys a pool of the program's; it is gone at once when nothing of it is live or pending. */
void pool_destroy(struct pool *p);
/* Destroys one import of an imported pool. Returns false, and nothing has happened, when
 * allocations of it are imported (measured: probe-ipc.txt, "pool_import_destroyed"). */
bool pool_destroy_imported(struct pool *p);
/* Ends a graph's pool; nothing of it is live and no segment mapped. */
void pool_discard(struct pool *p);
/* A device has no more memory: every pool of it but those of graphs, and but the one of `wanting`
 * (NULL: none), gives back what is idle, whatever its threshold. Returns whether any did. */
bool pools_make_room(int device, const struct heap *wanting);

/* Returns the first of all pools; the others follow by `next`. */
struct pool *pool_first(void);
/* Returns the pool of a handle, or NULL. */
struct pool *pool_from_handle(cudaMemPool_t handle);
/* The same, but NULL also for an imported one: what may not be done to it is done to no pool
 * (measured: ipc.txt, cudaErrorInvalidValue). */
struct pool *pool_from_handle_owned(cudaMemPool_t handle);

/* Allocates `bytes` (> 0) in the order of stream `s`. The range stays the pool's. */
struct reuse_result pool_allocate(struct pool *p, size_t bytes, struct stream *s);
/* Says once that a pool has memory for `bytes`, but no addresses; if that is so. */
void pool_diag_no_addresses(const struct pool *p, size_t bytes);
/* Frees an allocation in the order of stream `s`, where the free has this epoch. */
void pool_free(struct pool *p, struct range *r, struct stream *s, uint64_t seq);
/* Frees an allocation as cudaFree does: the memory is shared at once, and `used` stays (measured:
 * one-gpu.txt, "errors"; the driver leaves it, so used may exceed reserved). */
void pool_free_now(struct pool *p, struct range *r);

/* The threshold was set: the next synchronization gives back what is above it. */
void pool_threshold_set(struct pool *p, uint64_t threshold);
/* The host has waited: shares what is known to be over, and gives back what is above each
 * threshold. */
void pools_synchronized(void);
/* A stream is destroyed: shares its finished frees, and gives back what is above the threshold
 * (measured: probe-answers.txt, "pools"). */
void pools_stream_destroyed(struct stream *s);
/* Gives idle segments back, but keeps at least `keep` bytes. */
void pool_trim(struct pool *p, size_t keep);

#endif
