/* The API's skin: pools by location, managed memory, prefetching and advice. Source:
 * tests/facts/probe-pools.txt, and, where it says nothing, the comments of the CUDA 13.0 header. */
#include "api/export.h"

#include "api/call.h"
#include "graph/capture.h"
#include "check/checker.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "base/handle.h"
#include "base/journal.h"
#include "mem/memory.h"
#include "mem/pool.h"

/* ---- pools by location ---- */

static void journal_location(const struct cudaMemLocation *l, enum cudaMemAllocationType type)
{
    static const char *const names[] = {"none", "device", "host", "host NUMA node",
                                        "current host NUMA node"};
    if ((unsigned)l->type < sizeof names / sizeof *names)
        journal_text("location", names[l->type]);
    journal_signed("location_id", l->id);
    journal_text("type", type == cudaMemAllocationTypeManaged  ? "managed"
                         : type == cudaMemAllocationTypePinned ? "pinned"
                                                               : "other");
}

static cudaError_t get_pool(const char *name, cudaMemPool_t *pool, struct cudaMemLocation *location,
                            enum cudaMemAllocationType type, bool current)
{
    cudaError_t e = call_begin(name, COST_SMALL);
    if (!e && (!pool || !location))
        e = cudaErrorInvalidValue;
    /* Whatever the type. */
    if (!e && location->type == cudaMemLocationTypeHostNumaCurrent)
        e = cudaErrorNotSupported;
    if (!e) {
        int location_index = pool_location(location, type);
        journal_location(location, type);
        if (location_index < 0)
            e = cudaErrorInvalidValue;
        else {
            struct pool *p = current ? pool_current(location_index) : pool_default(location_index);
            journal_number("pool", (uint64_t)p->id);
            *pool = current ? pool_current_handle(location_index) : p->handle;
        }
    }
    return call_end(e);
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
                                     enum cudaMemAllocationType type)
{
    return AT(get_pool("cudaMemGetDefaultMemPool", pool, location, type, false));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
                              enum cudaMemAllocationType type)
{
    return AT(get_pool("cudaMemGetMemPool", pool, location, type, true));
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
                              cudaMemPool_t pool)
{
    cudaError_t e = CALL("cudaMemSetMemPool", COST_SMALL);
    struct pool *p = e ? NULL : pool_from_handle_owned(pool);
    bool is_destroyed = !p && handle_state(HANDLE_POOL, pool) == HANDLE_DESTROYED;
    if (!e && (!location || (!p && !is_destroyed)))
        e = cudaErrorInvalidValue;
    /* Chosen: as for getting. */
    if (!e && location->type == cudaMemLocationTypeHostNumaCurrent)
        e = cudaErrorNotSupported;
    if (!e) {
        int location_index = pool_location(location, type);
        journal_location(location, type);
        if (p)
            journal_number("pool", (uint64_t)p->id);
        /* Location, its id and the kind of memory must be the pool's. */
        if (location_index < 0 || (p && location_index != p->location))
            e = cudaErrorInvalidValue;
        else if (p)
            pool_set_current(location_index, p);
        else if (location_index < MAX_DEVICES)
            call_destroyed_pool("cudaMemSetMemPool");
        /* Chosen: wherever it has been. */
        else
            pool_set_current_destroyed(location_index, pool);
    }
    return call_end(e);
}

/* ---- managed memory ---- */

cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned int flags)
{
    cudaError_t e = CALL("cudaMallocManaged", COST_MALLOC);
    journal_number("bytes", bytes);
    if (!e && (!pointer || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)))
        e = cudaErrorInvalidValue;
    if (!e && !bytes)
        *pointer = NULL;
    else if (!e) {
        struct range *r = memory_allocate_managed(device_current(), bytes);
        if (!r)
            e = cudaErrorMemoryAllocation;
        else {
            r->id = memory_new_id();
            *pointer = memory_address(memory_managed_heap(device_current()), r);
            checker_allocated((struct shadow_ref){&r->shadow, r->id, *pointer, bytes}, NULL, 0);
            journal_number("block", r->id);
        }
    }
    return call_end(e);
}

/* Managed memory, all of it in one block? */
static bool is_managed(const void *pointer, size_t bytes)
{
    struct address_info a = memory_find(pointer);
    journal_number("block", memory_allocation_id(&a));
    return a.kind == ADDRESS_ALLOCATED && a.heap->host_visible && bytes <= a.bytes_left
        && (!a.pool || pool_is_managed(a.pool));
}

/* Is there such a place? Only of a device the answer names the kind. */
static cudaError_t check_location(const struct cudaMemLocation *l)
{
    switch (l->type) {
    case cudaMemLocationTypeDevice:
        return device_exists(l->id) ? cudaSuccess : cudaErrorInvalidDevice;
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNumaCurrent: return cudaSuccess;
    case cudaMemLocationTypeHostNuma:
        return l->id >= 0 && l->id < HOST_NUMA_NODES ? cudaSuccess : cudaErrorInvalidValue;
    default: return cudaErrorInvalidValue;
    }
}

/* Chosen: accepted, and nothing moves; where a page lies is not modelled. It has its place in the
 * stream's order. */
static cudaError_t prefetch(const void *pointer, size_t bytes, struct cudaMemLocation location,
                            unsigned flags, cudaStream_t stream, bool per_thread)
{
    cudaError_t e = call_begin("cudaMemPrefetchAsync", COST_COPY);
    journal_number("bytes", bytes);
    if (!e && (!bytes || flags || !is_managed(pointer, bytes)))
        e = cudaErrorInvalidValue;
    if (!e)
        e = check_location(&location);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    if (!e)
        e = capture_forbid(s); /* chosen: no node does this */
    if (!e) {
        size_t offset;
        struct address_info a = memory_find(pointer);
        struct shadow_ref ref = memory_shadow(&a, &offset);
        checker_used(ref, s, stream_enqueue_marker(s), offset, offset, false);
    }
    return call_end(e);
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream)
{
    return AT(prefetch(pointer, bytes, location, flags, stream, false));
}

EXPORT cudaError_t cudaMemPrefetchAsync_ptsz(const void *pointer, size_t bytes,
                                             struct cudaMemLocation location, unsigned int flags,
                                             cudaStream_t stream)
{
    return AT(prefetch(pointer, bytes, location, flags, stream, true));
}

/* Chosen: accepted, without effect. Measured: the place must exist, also when the advice is for
 * none, or the value is invalid. */
cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location)
{
    cudaError_t e = CALL("cudaMemAdvise", COST_SMALL);
    journal_number("bytes", bytes);
    if (!e
        && (!bytes || advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy
            || !is_managed(pointer, bytes)))
        e = cudaErrorInvalidValue;
    if (!e && check_location(&location))
        e = cudaErrorInvalidValue;
    return call_end(e);
}
