/* Memory pools: which memory is released and when, and the statistics. Sources:
 * simulator/tests/facts/one-gpu.txt, probe-answers.txt and, for other locations than a device's own
 * memory, probe-pools.txt.
 *
 * Invariants: reserved is the size of the mapped segments, and used is the sum of what the live
 * allocations asked for (but see pool_free_now). */
#include "mem/pool.h"

#include "check/checker.h"

#include "os/needs_lock.h"
#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "check/page_guard.h"
#include "base/handle.h"
#include "base/list.h"
#include "os/os.h"
#include "base/observer.h"
#include "base/settings.h"
#include "mem/address_map.h"
#include "sched/engine.h"
#include "sched/happens_before.h"

/* Needs the lock. Invariants: `first` to `last` are all pools that have not ended, in order of
 * creation. A location has a current pool if and only if it has a default pool. */
static struct {
    struct pool *first, *last;
    struct pool *defaults[LOCATIONS], *current[LOCATIONS];
    void *destroyed_current[LOCATIONS]; /* A destroyed pool that is current, or NULL. */
    int made;                           /* Those that are not a device's default pool. */
    size_t count;                       /* From `first` to `last`. */
    uint64_t added;                     /* All that have ever been added. */
    /* The pools that a synchronization may change, in order of creation: they have freed memory
     * that is not shared, a release is due, or they are imported or destroyed. */
    struct ordered_tree due;
    bool reported_no_addresses;
} pools;

/* A process has 128 TiB of addresses. A pool gets twice its device's memory, so that it never runs
 * out, and as much again for its storage, until the pools together have the first of these sums.
 * Each later pool gets the second sum divided by the number of pools. So 65 pools of an H200 have
 * all that they can use, and the last of 10,000 has 640 MiB. */
#define ADDRESSES_AT_FIRST (18 * 1024 * GiB)
#define ADDRESSES_TO_SHARE (6 * 1024 * GiB)

/* ---- locations (measured: probe-pools.txt, "kinds") ---- */

int pool_location(const struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
    NEEDS_LOCK();
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
    /* Only managed memory may prefer no location. */
    case cudaMemLocationTypeNone: return managed ? LOCATION_MANAGED_NONE : -1;
    /* Only managed memory may prefer the location of the thread that touches it. */
    case cudaMemLocationTypeHostNumaCurrent: return managed ? LOCATION_MANAGED_NEAR : -1;
    default: return -1;
    }
}

/* Returns the properties of a location's default pool. */
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

static void set_due(struct pool *p, bool due)
{
    if (due == p->is_due)
        return;
    p->is_due = due;
    if (due)
        tree_insert(&pools.due, &p->due_node);
    else
        tree_remove(&pools.due, &p->due_node);
}

static struct pool *pool_of_due_node(struct tree_node *n)
{
    return n ? (struct pool *)((char *)n - offsetof(struct pool, due_node)) : NULL;
}

/* Returns the pool's list of what this stream freed, or NULL if it has not used the pool. */
static struct free_list *list_of(const struct pool *p, const struct stream *s)
{
    return s->slot < p->heap.slot_count ? p->heap.list_of_slot[s->slot] : NULL;
}

/* Assumed: a new stream in a destroyed stream's slot does not inherit its frees that no one has
 * waited for. They become shared, like those that had finished when the stream was destroyed. */
static void reclaim_all(struct stream *s)
{
    for (struct pool *p = pools.first; p; p = p->next) {
        struct free_list *list = list_of(p, s);
        if (list)
            p->release_due |= reuse_reclaim(&p->heap, list, s->done_seq);
    }
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
    p->policy = (struct reuse_policy){
        true, true, true, round_up(props->maxSize, settings.segment) / settings.segment};
    p->peer_rights = managed ? UINT32_MAX : on_device ? 1u << p->device : 0;
    p->peer_rights_reported = managed ? 0 : p->peer_rights;
    /* Assumed: managed memory counts as the host's, even if it prefers a device. */
    heap_init(&p->heap, managed ? NO_DEVICE : p->device, settings.segment, limit);
    p->heap.host_visible = managed || !on_device;
    p->heap.pool = p;
    p->due_node.key = pools.added++;
    LIST_APPEND(pools.first, pools.last, p);
    pools.count++;
    return p;
}

static struct pool *pool_new(const struct cudaMemPoolProps *props)
{
    size_t limit = 2 * round_up(settings.memory, settings.segment), share = limit;
    if (pools.count >= ADDRESSES_AT_FIRST / limit)
        share = round_up(ADDRESSES_TO_SHARE / pools.count, settings.segment);
    /* Measured (probe-full.txt, "stopped_by_max_size"): what fits no addresses changes nothing. */
    size_t capped = 2 * round_up(props->maxSize, settings.segment);
    if (capped && capped < limit)
        limit = capped;
    struct pool *p = pool_add(props, share < limit ? share : limit);
    p->has_few_addresses = share < limit;
    return p;
}

struct pool *pool_default(int location)
{
    NEEDS_LOCK();
    if (!pools.defaults[location]) {
        struct cudaMemPoolProps props = default_props(location);
        struct pool *p = pool_new(&props);
        p->handle = handle_new(HANDLE_POOL, p);
        p->id = location < MAX_DEVICES ? location : settings.devices + pools.made++;
        p->is_default = true;
        pools.defaults[location] = pools.current[location] = p;
    }
    return pools.defaults[location];
}

struct pool *pool_current(int location)
{
    NEEDS_LOCK();
    if (!pools.current[location])
        pool_default(location);
    return pools.current[location];
}

void pool_set_current(int location, struct pool *pool)
{
    NEEDS_LOCK();
    pool_default(location);
    pools.current[location] = pool;
    pools.destroyed_current[location] = NULL;
}

void pool_set_current_destroyed(int location, void *handle)
{
    NEEDS_LOCK();
    pools.destroyed_current[location] = handle;
}
void *pool_current_handle(int location)
{
    NEEDS_LOCK();
    return pools.destroyed_current[location] ? pools.destroyed_current[location]
                                             : pool_current(location)->handle;
}

struct pool *pool_new_imported(int location, size_t limit)
{
    NEEDS_LOCK();
    struct cudaMemPoolProps props = default_props(location);
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    struct pool *p = pool_add(&props, limit);
    p->heap.imported = p->imported = true;
    set_due(p, true);
    p->handle = handle_new(HANDLE_POOL, p);
    p->id = settings.devices + pools.made++;
    return p;
}

struct pool *pool_create(const struct cudaMemPoolProps *props)
{
    NEEDS_LOCK();
    struct pool *p = pool_new(props);
    p->handle = handle_new(HANDLE_POOL, p);
    p->id = settings.devices + pools.made++;
    return p;
}

struct pool *pool_create_for_graph(int device, struct graph_memory *owner)
{
    NEEDS_LOCK();
    struct cudaMemPoolProps props = default_props(device);
    struct pool *p = pool_new(&props);
    /* Enough addresses for hundreds of graphs (assumed). A node may still ask for more than there
     * is memory (measured: probe-graphs.txt, "graph_codes"). */
    if (p->heap.limit > 8 * GiB)
        p->heap.limit = round_up(p->heap.limit / 8 * 5, settings.segment);
    p->threshold = UINT64_MAX;
    p->graph = owner;
    return p;
}

struct pool *pool_from_handle(cudaMemPool_t handle)
{
    NEEDS_LOCK();
    return handle_object(HANDLE_POOL, handle);
}

struct pool *pool_from_handle_owned(cudaMemPool_t handle)
{
    NEEDS_LOCK();
    struct pool *p = pool_from_handle(handle);
    return p && !p->imported ? p : NULL;
}

struct pool *pool_first(void)
{
    NEEDS_LOCK();
    return pools.first;
}

size_t pool_reserved(const struct pool *p)
{
    NEEDS_LOCK();
    return p->heap.mapped_count * settings.segment;
}

/* ---- allocating ---- */

void pool_diag_no_addresses(const struct pool *p, size_t bytes)
{
    NEEDS_LOCK();
    bool has_range =
        bytes <= p->heap.limit - ALIGNMENT && (!p->heap.base || heap_best_shared(&p->heap, bytes));
    if (pools.reported_no_addresses || !p->has_few_addresses || has_range
        || (p->device != NO_DEVICE && bytes > device_free_memory(p->device)))
        return;
    diag(
        "a pool has %zu MiB of addresses, and none for %zu more bytes: it was made when there were "
        "many pools. A device with less memory needs fewer: SIM_MEMORY=1G.",
        p->heap.limit / MiB, bytes);
    pools.reported_no_addresses = true;
}

/* Releases idle segments, from the highest address down, until at most `keep` bytes are
 * reserved. */
static void release_segments(struct pool *p, size_t keep, time_ns segment_cost, const char *why)
{
    size_t segments = heap_release(&p->heap, keep);
    if (!segments)
        return;
    if (p->imported)
        return; /* Only address space was released. */
    device_give(p->heap.device, segments * settings.segment);
    virtual_now += segment_cost * segments;
    if (observer.pool_released)
        observer.pool_released(p, segments, why);
}

/* Measured (probe-full.txt): before another pool or cudaMalloc runs out of memory, pools release
 * all that is idle, even if less would do. Memory that was freed and not synchronized is not idle.
 * An allocation in managed memory or the launch of a graph does not cause this. */
bool pools_make_room(int device, const struct heap *wanting)
{
    NEEDS_LOCK();
    size_t before = device_free_memory(device);
    for (struct pool *p = pools.first; p; p = p->next)
        if (p->heap.device == device && !p->graph && &p->heap != wanting)
            release_segments(p, 0, COST_RELEASE_SEGMENT, "device full");
    return device_free_memory(device) > before;
}

struct reuse_result pool_allocate(struct pool *p, size_t bytes, struct stream *s)
{
    NEEDS_LOCK();
    struct reuse_result result = {.rung = REUSE_FAILED};
    if (bytes > p->heap.limit - ALIGNMENT || (!p->heap.base && !heap_open(&p->heap))) {
        pool_diag_no_addresses(p, bytes);
        return result;
    }
    result = reuse_take(&p->heap, &p->policy, s, round_up(bytes, ALIGNMENT));
    size_t changed = result.grown + result.remapped;
    if (changed) {
        virtual_now += COST_GROW + COST_GROW_SEGMENT * changed;
        if (observer.pool_grew)
            observer.pool_grew(p, result.grown, result.remapped);
    }
    if (result.remapped) {
        p->release_due = true;
        set_due(p, true);
    }
    if (p->reserved_high < pool_reserved(p))
        p->reserved_high = pool_reserved(p);
    if (result.capped) {
        if (p->heap.device != NO_DEVICE)
            pools_make_room(p->heap.device, &p->heap);
        release_segments(p, p->threshold, COST_RELEASE_SEGMENT, "maxSize");
    }
    if (!result.range) {
        pool_diag_no_addresses(p, bytes);
        return result;
    }
    p->used += bytes;
    if (p->used_high < p->used)
        p->used_high = p->used;
    result.range->requested = bytes;
    return result;
}

/* ---- releasing ---- */

void pool_free(struct pool *p, struct range *r, struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    /* Assumed: later work of the stream still reaches the memory, and the checker reports it. */
    if (p->imported) {
        heap_put(&p->heap, r, SHARED_LIST, 0);
        return;
    }
    p->used -= r->requested;
    heap_put(&p->heap, r, s->slot, seq);
    stream_note_free(s, seq);
    if (s->done_seq >= seq)
        p->heap.unreached_at = UINT64_MAX;
    set_due(p, true);
}

void pool_free_now(struct pool *p, struct range *r)
{
    NEEDS_LOCK();
    heap_put(&p->heap, r, SHARED_LIST, 0);
    if (!p->imported)
        release_segments(p, p->threshold, COST_RELEASE_SEGMENT, "free");
}

void pool_trim(struct pool *p, size_t keep)
{
    NEEDS_LOCK();
    /* Measured (one-gpu.txt, "free, then sync, with thresholds"): a threshold keeps at most its
     * bytes (48 MiB keep 32), and a trim at least its bytes (48 MiB keep 64). */
    release_segments(
        p, keep > SIZE_MAX - settings.segment ? SIZE_MAX : round_up(keep, settings.segment),
        COST_RELEASE_SEGMENT, "trim");
}

/* Ends the addresses, the storage, and what is shared with other processes. Nothing may be live. */
static void close_storage(struct pool *p)
{
    address_map_remove(&p->heap);
    if (p->heap.base)
        page_guard_forget(p->heap.base, p->heap.limit);
    heap_close(&p->heap);
}

/* Closes an imported pool that is destroyed. Its addresses stay while work on freed memory may be
 * pending (measured: probe-ipc.txt, "pool_import_destroyed": that work still succeeds). */
static void close_import(struct pool *p)
{
    if (p->import_count || !p->heap.ipc_table || engine_status.busy_streams)
        return;
    close_storage(p);
    p->heap = (struct heap){.device = p->device};
}

bool pool_destroy_imported(struct pool *p)
{
    NEEDS_LOCK();
    if (!p->import_count)
        return true;
    if (p->heap.allocations.count)
        return false;
    p->import_count--;
    close_import(p);
    return true;
}

bool pool_has_pending_frees(const struct pool *p)
{
    NEEDS_LOCK();
    for (const struct free_list *list = p->heap.stream_lists; list; list = list->next)
        if (list->ranges.root)
            return true;
    return false;
}

/* Ends a destroyed pool if nothing in it is live or pending. */
static void close_if_unused(struct pool *p)
{
    if (p->heap.allocations.count || pool_has_pending_frees(p))
        return;
    /* An incorrect program's work may still use what was freed: its addresses stay until then, as
     * an imported pool's do. */
    if (p->heap.base && stream_using(p->heap.base, p->heap.base + p->heap.limit))
        return;
    release_segments(p, 0, 0, "destroy");
    close_storage(p);
    LIST_REMOVE(pools.first, pools.last, p);
    pools.count--;
    set_due(p, false);
    checker_peer_uses_free(&p->peer_uses);
    os_free(p);
}

void pool_threshold_set(struct pool *p, uint64_t threshold)
{
    NEEDS_LOCK();
    p->threshold = threshold;
    p->release_due = true;
    set_due(p, true);
}

void pools_synchronized(void)
{
    NEEDS_LOCK();
    struct pool *p = pool_of_due_node(tree_first(&pools.due, 0, UINT64_MAX));
    for (struct pool *next; p; p = next) {
        next = pool_of_due_node(tree_next(&p->due_node, UINT64_MAX));
        bool is_left = false;
        for (struct free_list *list = p->heap.stream_lists; list; list = list->next)
            if (list->ranges.root) {
                p->release_due |= reuse_reclaim(&p->heap, list,
                                                host_synchronized_seq(stream_of_slot(list->slot)));
                is_left |= list->ranges.root != NULL;
            }
        if (p->release_due)
            release_segments(p, p->threshold, COST_SYNC_RELEASE, "synchronization");
        p->release_due = false;
        set_due(p, is_left || p->imported || p->destroyed);
        if (p->imported)
            close_import(p);
        else if (p->destroyed)
            close_if_unused(p);
    }
}

void pools_stream_destroyed(struct stream *s)
{
    NEEDS_LOCK();
    for (struct pool *p = pools.first, *next; p; p = next) {
        next = p->next;
        struct free_list *list = list_of(p, s);
        if (list && reuse_reclaim(&p->heap, list, s->done_seq))
            release_segments(p, p->threshold, COST_SYNC_RELEASE, "stream destroyed");
        if (list && !list->ranges.root)
            heap_remove_list(&p->heap, list);
        if (p->destroyed)
            close_if_unused(p);
    }
}

void pool_destroy(struct pool *p)
{
    NEEDS_LOCK();
    handle_retire(HANDLE_POOL, p->handle);
    /* Measured (one-gpu.txt, "destroying pools"). */
    if (pools.current[p->location] == p)
        pools.current[p->location] = pools.defaults[p->location];
    p->destroyed = true;
    set_due(p, true);
    /* Measured (probe-answers.txt, "pools"): idle and finished memory is released now, the rest
     * when it becomes shared. */
    p->threshold = 0;
    for (struct free_list *list = p->heap.stream_lists; list; list = list->next)
        reuse_reclaim(&p->heap, list, stream_of_slot(list->slot)->done_seq);
    release_segments(p, 0, COST_RELEASE_SEGMENT, "destroy");
    close_if_unused(p);
}

void pool_discard(struct pool *p)
{
    NEEDS_LOCK();
    p->destroyed = true;
    set_due(p, true);
    /* The graph is gone, even if its pool stays for a while. */
    p->graph = NULL;
    close_if_unused(p);
}
