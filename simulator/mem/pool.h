/* Memory pools: a heap of 32 MiB steps, a policy, statistics. */
#ifndef SIM_MEM_POOL_H
#define SIM_MEM_POOL_H

#include <driver_types.h>

#include "mem/reuse.h"

/* Where a pool's memory is, and of which kind: a number below PLACES. That of a device's ordinary
 * memory is the device's own number. */
enum {
    LOCATION_HOST = MAX_DEVICES,
    LOCATION_HOST_NUMA,
    LOCATION_MANAGED,
    LOCATION_MANAGED_NONE = LOCATION_MANAGED + LOCATION_MANAGED,
    LOCATION_MANAGED_NEAR,
    LOCATIONS
};
#define HOST_NUMA_NODES 1 /* NUMA nodes of the host (chosen) */

struct graph_memory;
struct ipc_table;

struct pool {
    /* The journal's: device d's default pool is d, then in order of creation. */
    int id;
    void *handle;
    int location;
    int device; /* NO_DEVICE: in the host's memory */
    bool is_default;
    bool destroyed; /* by the program; lives on until its blocks are freed */
    struct cudaMemPoolProps props;
    struct reuse_policy policy;
    uint64_t threshold;
    /* A free came home, or the threshold was set: the next synchronise gives back. */
    bool release_due;
    size_t used, used_high, reserved_high;
    uint32_t peer_rights; /* bit d: device d may touch its blocks */
    /* The same as cudaMemPoolGetAccess tells it (measured: of managed memory only what was set,
     * although all may). */
    uint32_t peer_rights_reported;
    /* What needs access that a device was given (check/checker.h). */
    struct peer_use *peer_uses;
    struct heap heap;
    /* A pool whose handle types let other processes have it, or another's; else NULL. And what ends
     * that sharing, when the pool's storage is closed. */
    struct ipc_table *ipc_table;
    void (*end_sharing)(struct pool *p);
    /* Another process's: nothing is allocated here, and nothing counted. */
    bool imported;
    bool exported; /* the program has had a descriptor of it */
    /* An imported pool's: how often, less how often it was destroyed. At 0 border is NULL, but the
     * handle stays known. */
    uint32_t import_count;
    /* The graph whose memory nodes have their blocks here; NULL: a pool of the program's. */
    struct graph_memory *graph;
    struct pool *next;
};

/* Of what kind is its memory: managed, or the host's own? */
static inline bool pool_is_managed(const struct pool *p)
{
    return p->props.allocType == cudaMemAllocationTypeManaged;
}
static inline bool pool_is_host_memory(const struct pool *p)
{
    return p->device == NO_DEVICE && !pool_is_managed(p);
}
/* The place of a location and kind of memory, or -1 when there is none such. */
int pool_location(const struct cudaMemLocation *location, enum cudaMemAllocationType type);
/* The place's default pool, and its current one: for a device's ordinary memory, that which
 * cudaMallocAsync uses now. */
struct pool *pool_default(int location);
struct pool *pool_current(int location);
void pool_set_current(int location, struct pool *pool);
/* measured: a destroyed pool can be made current, and is then handed out. Nothing is allocated from
 * it, so this is for other places than a device's ordinary memory. */
void pool_set_current_destroyed(int location, void *handle);
void *pool_current_handle(int location);
/* A pool as the properties require; they have been checked. */
struct pool *pool_create(const struct cudaMemPoolProps *props);
/* A pool on `device` whose storage is another process's, of `limit` bytes. */
struct pool *pool_new_imported(int device, size_t limit);
void pool_destroy(struct pool *p);
/* The same for an imported one, once for each import. measured: false, and nothing has happened,
 * when blocks of it are imported; true when it is gone. */
bool pool_destroy_imported(struct pool *p);
/* The default pools of a device end; at their next use there are new ones. */
void pools_reset(int device);
/* A pool without a handle, for the memory nodes of a graph: nothing of it ever goes back by
 * itself. */
struct pool *pool_create_for_graph(int device, struct graph_memory *owner);
/* Its end; no block of it is live and no step mapped. */
void pool_discard(struct pool *p);
/* The pool of a handle, or NULL. */
struct pool *pool_from_handle(cudaMemPool_t handle);
/* The same, but NULL also for an imported one: what may not be done to it is done to no pool
 * (measured: cudaErrorInvalidValue). */
struct pool *pool_from_handle_owned(cudaMemPool_t handle);

/* Allocates `bytes` (> 0) in the order of stream `s`. */
struct reuse_result pool_allocate(struct pool *p, size_t bytes, struct stream *s);
/* Frees a block in the order of stream `s`; `number`: the free's place there. */
void pool_free(struct pool *p, struct range *r, struct stream *s, uint64_t seq);
/* cudaFree: the memory goes home at once, and `used` stays (measured: driver 580.159.04 leaves it,
 * so used may exceed reserved). */
void pool_free_now(struct pool *p, struct range *r);

/* The host has waited: what is known to be over goes home, and what is above each threshold goes
 * back. */
void pools_synchronized(void);
/* The stream is destroyed (measured: its finished frees go home, and what is above the threshold
 * goes back). */
void pools_stream_destroyed(struct stream *s);
/* Gives idle steps back, but keeps at least `keep` bytes. */
void pool_trim(struct pool *p, size_t keep);

static inline size_t pool_reserved(const struct pool *p) { return p->heap.mapped_count * SEGMENT; }
struct pool *pool_first(void);

#endif
