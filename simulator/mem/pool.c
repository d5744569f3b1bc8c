/* Memory pools: which memory goes back, when, and the statistics. Sources:
 * tests/hardware/facts/one-gpu.txt, probe-answers.txt and, for other places than a device's own
 * memory, probe-pools.txt.
 *
 * Law: reserved = 32 MiB x mapped steps; used = sum of what the live blocks asked for (but see
 * pool_free_now). */
#include "mem/pool.h"

#include "check/checker.h"

#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "check/page_guard.h"
#include "base/handle.h"
#include "os/os.h"
#include "base/observer.h"
#include "base/settings.h"
#include "mem/address_map.h"
#include "sched/engine.h"

static struct pool *pools, *last_pool;
static struct pool *default_pools[LOCATIONS], *current_pools[LOCATIONS];
/* A destroyed pool that is current; else NULL. */
static void *destroyed_current[LOCATIONS];
static int pool_ids;

/* ---- places (measured: probe-pools.txt, "kinds") ---- */

int pool_location(const struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
    bool managed = type == cudaMemAllocationTypeManaged;
    if (!managed && type != cudaMemAllocationTypePinned)
        return -1;
    int first = managed ? LOCATION_MANAGED : 0;
    switch (location->type) {
    case cudaMemLocationTypeDevice: return device_exists(location->id) ? first + location->id : -1;
    case cudaMemLocationTypeHost: return first + LOCATION_HOST;
    case cudaMemLocationTypeHostNuma:
        return location->id >= 0 && location->id < HOST_NUMA_NODES ? first + LOCATION_HOST_NUMA
                                                                   : -1;
    /* Only managed memory may prefer no location,. */
    case cudaMemLocationTypeNone: return managed ? LOCATION_MANAGED_NONE : -1;
    /* Or that of the thread that touches it. */
    case cudaMemLocationTypeHostNumaCurrent: return managed ? LOCATION_MANAGED_NEAR : -1;
    default: return -1;
    }
}

/* The properties of a place's default pool. */
static struct cudaMemPoolProps default_props(int location)
{
    bool managed = location >= LOCATION_MANAGED;
    int base = managed ? location - LOCATION_MANAGED : location;
    struct cudaMemPoolProps props = {.allocType = managed ? cudaMemAllocationTypeManaged
                                                          : cudaMemAllocationTypePinned};
    props.location.type = location == LOCATION_MANAGED_NONE ? cudaMemLocationTypeNone
                        : base < LOCATION_HOST              ? cudaMemLocationTypeDevice
                        : base == LOCATION_HOST             ? cudaMemLocationTypeHost
                                                            : cudaMemLocationTypeHostNuma;
    props.location.id = base < LOCATION_HOST ? base : 0;
    return props;
}

/* What a destroyed stream freed and nobody has waited for is not its successor's. Chosen: it is
 * everybody's then, like what was finished when the stream was destroyed. */
static void reclaim_all(struct stream *s)
{
    for (struct pool *p = pools; p; p = p->next)
        for (uint32_t i = 0; i < p->heap.stream_list_count; i++)
            if (p->heap.stream_lists[i].slot == s->slot)
                p->release_due |= reuse_reclaim(&p->heap, s->slot, s->done_seq);
}

static struct pool *pool_add(const struct cudaMemPoolProps *props, size_t limit)
{
    stream_on_slot_reuse(reclaim_all);
    struct pool *p = os_allocate(sizeof *p);
    bool on_device = props->location.type == cudaMemLocationTypeDevice,
         managed = props->allocType == cudaMemAllocationTypeManaged;
    p->location = pool_location(&props->location, props->allocType);
    p->device = on_device ? props->location.id : NO_DEVICE;
    p->props = *props;
    p->policy =
        (struct reuse_policy){true, true, true, round_up(props->maxSize, SEGMENT) / SEGMENT};
    p->peer_rights = managed ? UINT32_MAX : on_device ? 1u << p->device : 0;
    p->peer_rights_reported = managed ? 0 : p->peer_rights;
    /* chosen: managed memory is counted with the host's, also when it prefers a device */
    heap_init(&p->heap, managed ? NO_DEVICE : p->device, SEGMENT, limit);
    p->heap.host_visible = managed || !on_device;
    if (last_pool)
        last_pool->next = p;
    else
        pools = p;
    last_pool = p;
    return p;
}

static struct pool *pool_new(const struct cudaMemPoolProps *props)
{
    return pool_add(props, 2 * round_up(settings.memory, SEGMENT));
}

struct pool *pool_default(int location)
{
    if (!default_pools[location]) {
        struct cudaMemPoolProps props = default_props(location);
        struct pool *p = pool_new(&props);
        p->handle = handle_new(HANDLE_POOL, p);
        p->id = location < MAX_DEVICES ? location : settings.devices + pool_ids++;
        p->is_default = true;
        default_pools[location] = current_pools[location] = p;
    }
    return default_pools[location];
}

struct pool *pool_current(int location)
{
    pool_default(location);
    return current_pools[location];
}

void pool_set_current(int location, struct pool *pool)
{
    pool_default(location);
    current_pools[location] = pool;
    destroyed_current[location] = NULL;
}

void pool_set_current_destroyed(int location, void *handle)
{
    destroyed_current[location] = handle;
}
void *pool_current_handle(int location)
{
    return destroyed_current[location] ? destroyed_current[location]
                                       : pool_current(location)->handle;
}

struct pool *pool_new_imported(int device, size_t limit)
{
    struct cudaMemPoolProps props = default_props(device);
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    struct pool *p = pool_add(&props, limit);
    p->heap.imported = p->imported = true;
    p->handle = handle_new(HANDLE_POOL, p);
    p->id = settings.devices + pool_ids++;
    return p;
}

struct pool *pool_create(const struct cudaMemPoolProps *props)
{
    struct pool *p = pool_new(props);
    p->handle = handle_new(HANDLE_POOL, p);
    p->id = settings.devices + pool_ids++;
    return p;
}

struct pool *pool_create_for_graph(int device, struct graph_memory *owner)
{
    struct cudaMemPoolProps props = default_props(device);
    struct pool *p = pool_new(&props);
    /* addresses for hundreds of graphs (chosen), and yet a node may ask for more than there is
     * memory (measured) */
    if (p->heap.limit > 8 * GiB)
        p->heap.limit = round_up(p->heap.limit / 8 * 5, SEGMENT);
    p->threshold = UINT64_MAX;
    p->graph = owner;
    return p;
}

struct pool *pool_from_handle(cudaMemPool_t handle) { return handle_object(HANDLE_POOL, handle); }

struct pool *pool_from_handle_owned(cudaMemPool_t handle)
{
    struct pool *p = pool_from_handle(handle);
    return p && !p->imported ? p : NULL;
}

struct pool *pool_first(void) { return pools; }

/* ---- allocating ---- */

struct range *pool_allocate(struct pool *p, size_t bytes, struct stream *s, enum reuse *rung)
{
    size_t grown = 0, remapped = 0;
    bool capped = false;
    *rung = REUSE_FAILED;
    if (bytes > p->heap.limit - ALIGNMENT || !heap_open(&p->heap))
        return NULL;
    if (!address_map_contains(&p->heap))
        address_map_add(&p->heap, p);
    struct range *r = reuse_take(&p->heap, &p->policy, s, round_up(bytes, ALIGNMENT), rung, &grown,
                                 &remapped, &capped);
    if (grown || remapped) {
        time_charge(COST_GROW + COST_GROW_SEGMENT * (grown + remapped));
        if (observer.pool_grew)
            observer.pool_grew(p, grown, remapped);
    }
    /* measured: a growth that the cap stops has raised the high mark to the cap */
    size_t high = capped ? p->policy.max_segments * SEGMENT : pool_reserved(p);
    if (p->reserved_high < high)
        p->reserved_high = high;
    if (!r)
        return NULL;
    p->used += bytes;
    if (p->used_high < p->used)
        p->used_high = p->used;
    r->requested = bytes;
    return r;
}

/* ---- giving back ---- */

/* Gives idle steps back, from the highest address down, until `keep` bytes or less are reserved. */
static void release_segments(struct pool *p, size_t keep, time_ns segment_cost, const char *why)
{
    size_t segments = 0, idle;
    while (pool_reserved(p) > keep
           && (idle = heap_idle_segment(&p->heap, true, 0, 0)) != SIZE_MAX) {
        heap_unmap(&p->heap, idle);
        segments++;
    }
    if (!segments)
        return;
    if (p->imported)
        return; /* only addresses have gone */
    device_give(p->heap.device, segments * SEGMENT);
    time_charge(segment_cost * segments);
    if (observer.pool_released)
        observer.pool_released(p, segments, why);
}

void pool_free(struct pool *p, struct range *r, struct stream *s, uint64_t seq)
{
    /* Chosen: what the stream still does there reaches the memory; the checker accuses what comes
     * later. */
    if (p->imported) {
        heap_put(&p->heap, r, SHARED_LIST, 0);
        return;
    }
    p->used -= r->requested;
    heap_stream_list(&p->heap, s->slot);
    heap_put(&p->heap, r, s->slot, seq);
}

void pool_free_now(struct pool *p, struct range *r)
{
    heap_put(&p->heap, r, SHARED_LIST, 0);
    if (!p->imported)
        release_segments(p, p->threshold, COST_RELEASE_SEGMENT, "free");
}

void pool_trim(struct pool *p, size_t keep)
{
    /* measured: a threshold keeps no more than it says (48 MiB: 32), a trim no less (48 MiB: 64) */
    release_segments(p, keep > SIZE_MAX - SEGMENT ? SIZE_MAX : round_up(keep, SEGMENT),
                     COST_RELEASE_SEGMENT, "trim");
}

/* No block is live: addresses, storage and what other processes are told of it go. */
static void close_storage(struct pool *p)
{
    address_map_remove(&p->heap);
    if (p->heap.base)
        page_guard_forget(p->heap.base, p->heap.limit);
    heap_close(&p->heap);
    if (p->ipc_table)
        p->end_sharing(p);
}

/* An imported pool that is destroyed; its addresses stay while work on what was freed may be
 * pending (measured: that work still succeeds). */
static void close_import(struct pool *p)
{
    if (p->import_count || !p->ipc_table || engine_is_busy())
        return;
    close_storage(p);
    p->heap = (struct heap){.device = p->device};
}

bool pool_destroy_imported(struct pool *p)
{
    if (!p->import_count)
        return true;
    if (p->heap.allocations.count)
        return false;
    p->import_count--;
    close_import(p);
    return true;
}

/* The last of a destroyed pool. */
static void close_if_unused(struct pool *p)
{
    if (!p->destroyed || p->heap.allocations.count)
        return;
    for (uint32_t i = 0; i < p->heap.stream_list_count; i++)
        if (p->heap.stream_lists[i].list.root)
            return;
    /* a wrong program's work may still be for what was freed: its addresses stay until then, as an
     * imported pool's do */
    if (p->heap.base && stream_using(p->heap.base, p->heap.base + p->heap.limit))
        return;
    release_segments(p, 0, 0, "destroy");
    close_storage(p);
    struct pool **at = &pools;
    last_pool = NULL;
    while (*at) {
        if (*at == p)
            *at = p->next;
        else {
            last_pool = *at;
            at = &(*at)->next;
        }
    }
    checker_peer_uses_free(&p->peer_uses);
    os_free(p);
}

void pools_synchronized(void)
{
    for (struct pool *p = pools, *next; p; p = next) {
        next = p->next;
        for (uint32_t i = 0; i < p->heap.stream_list_count; i++) {
            uint32_t slot = p->heap.stream_lists[i].slot;
            p->release_due |= reuse_reclaim(&p->heap, slot, stream_of_slot(slot)->synchronized_seq);
        }
        if (p->release_due)
            release_segments(p, p->threshold, COST_SYNC_RELEASE, "synchronization");
        p->release_due = false;
        if (p->imported)
            close_import(p);
        else
            close_if_unused(p);
    }
}

void pools_stream_destroyed(struct stream *s)
{
    for (struct pool *p = pools, *next; p; p = next) {
        next = p->next;
        for (uint32_t i = 0; i < p->heap.stream_list_count; i++)
            if (p->heap.stream_lists[i].slot == s->slot
                && reuse_reclaim(&p->heap, s->slot, s->done_seq))
                release_segments(p, p->threshold, COST_SYNC_RELEASE, "stream destroyed");
        close_if_unused(p);
    }
}

void pool_destroy(struct pool *p)
{
    handle_retire(HANDLE_POOL, p->handle);
    /* Measured. */
    if (current_pools[p->location] == p)
        current_pools[p->location] = default_pools[p->location];
    p->destroyed = true;
    /* Measured: what is idle or reached goes back now, the rest when it comes home. */
    p->threshold = 0;
    for (uint32_t i = 0; i < p->heap.stream_list_count; i++)
        reuse_reclaim(&p->heap, p->heap.stream_lists[i].slot,
                      stream_of_slot(p->heap.stream_lists[i].slot)->done_seq);
    release_segments(p, 0, COST_RELEASE_SEGMENT, "destroy");
    close_if_unused(p);
}

void pools_reset(int device)
{
    const int locations[] = {device, LOCATION_MANAGED + device};
    for (size_t i = 0; i < 2; i++) {
        struct pool **first = &default_pools[locations[i]];
        if (*first)
            pool_destroy(*first);
        *first = current_pools[locations[i]] = NULL;
        destroyed_current[locations[i]] = NULL;
    }
}

void pool_discard(struct pool *p)
{
    p->destroyed = true;
    p->graph = NULL; /* that is over, also when the pool stays for a while */
    close_if_unused(p);
}
