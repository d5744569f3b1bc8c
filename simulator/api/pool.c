/* The API's skin: memory pools. */
#include "api/export.h"

#include "api/call.h"
#include "check/checker.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "base/fatal.h"
#include "graph/graph_memory.h"
#include "base/handle.h"
#include "base/journal.h"
#include "mem/memory.h"
#include "mem/pool.h"
#include "run/dispatch.h"

static void journal_pool(const struct pool *p)
{
    if (p)
        journal_number("pool", (uint64_t)p->id);
}

static void journal_figures(const struct pool *p)
{
    if (p->imported)
        return; /* its figures are its exporter's */
    journal_number("reserved", pool_reserved(p));
    journal_number("used", p->used);
}

/* ---- allocating ---- */

/* `p` NULL: the current pool of the stream's device (measured: not of the current device). */
static cudaError_t allocate_in_stream(void **pointer, size_t bytes, struct pool *p,
                                      struct stream *s)
{
    if (!p)
        p = pool_current(s->device);
    journal_pool(p);
    journal_number("bytes", bytes);
    if (!bytes) {
        *pointer = NULL;
        return cudaSuccess;
    }
    if (s->capturing)
        return dispatch_allocation(s, p, bytes, pointer);
    enum reuse rung;
    /* First: what the legacy stream orders counts for the reuse (measured). */
    uint64_t seq = stream_enqueue_marker(s);
    struct range *r = pool_allocate(p, bytes, s, &rung);
    if (r) {
        r->id = memory_new_id();
        *pointer = memory_address(&p->heap, r);
        checker_allocated((struct shadow_ref){&r->shadow, r->id, *pointer, bytes}, s, seq);
        journal_number("block", r->id);
        journal_number("offset", r->offset);
        journal_text("from", reuse_name(rung));
    }
    journal_figures(p);
    return r ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t malloc_async(void **pointer, size_t bytes, cudaStream_t stream, bool per_thread)
{
    cudaError_t e = call_begin("cudaMallocAsync", COST_ALLOC_ASYNC);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    if (!e && !pointer)
        e = cudaErrorInvalidValue;
    if (!e)
        e = capture_check_memory(s);
    if (!e)
        e = allocate_in_stream(pointer, bytes, NULL, s);
    return call_end(e);
}

cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    return AT(malloc_async(pointer, bytes, stream, false));
}
EXPORT cudaError_t cudaMallocAsync_ptsz(void **pointer, size_t bytes, cudaStream_t stream)
{
    return AT(malloc_async(pointer, bytes, stream, true));
}

static cudaError_t malloc_from_pool(void **pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream, bool per_thread)
{
    cudaError_t e = call_begin("cudaMallocFromPoolAsync", COST_ALLOC_ASYNC);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    struct pool *p = e ? NULL : pool_from_handle_owned(pool);
    if (!e && (!pointer || !p))
        e = cudaErrorInvalidValue;
    if (!e)
        e = capture_check_memory(s);
    if (!e)
        e = allocate_in_stream(pointer, bytes, p, s);
    return call_end(e);
}

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    return AT(malloc_from_pool(pointer, bytes, pool, stream, false));
}
EXPORT cudaError_t cudaMallocFromPoolAsync_ptsz(void **pointer, size_t bytes, cudaMemPool_t pool,
                                                cudaStream_t stream)
{
    return AT(malloc_from_pool(pointer, bytes, pool, stream, true));
}

/* cudaMalloc's block goes when the stream gets there. */
static void effect_free(struct op *op)
{
    struct address_info a = memory_find(op->to);
    if (a.kind == ADDRESS_ALLOCATED)
        memory_free(&a);
}

static cudaError_t free_async(void *pointer, cudaStream_t stream, bool per_thread)
{
    cudaError_t e = call_begin("cudaFreeAsync", COST_FREE_ASYNC);
    /* First: with many blocks it lies far from the processor, and comes while the rest is looked
     * at. */
    struct address_info a = memory_find(pointer);
    struct stream *s = e ? NULL : call_stream(stream, per_thread);
    if (!e)
        e = capture_check_memory(s);
    if (e || !pointer)
        return call_end(e);
    if (s->capturing)
        return call_end(dispatch_free(s, pointer));
    if (a.pool && !a.pool->graph)
        journal_pool(a.pool);
    if (a.kind != ADDRESS_ALLOCATED || a.offset != a.range->offset) {
        if (a.kind != ADDRESS_ALLOCATED)
            checker_freed_unallocated(pointer, s, FREE_REFUSED_NOTE);
        return call_end(cudaErrorInvalidValue);
    }
    /* Measured: memory of cudaMallocManaged. */
    if (!a.pool && a.heap->host_visible)
        return call_end(cudaErrorNotSupported);
    journal_number("block", a.range->id);
    if (a.pool && a.pool->graph) {
        graph_allocation_free(graph_allocation_at(&a), s);
    } else if (a.pool) {
        uint64_t seq = stream_enqueue_marker(s);
        checker_freed(memory_shadow(&a, NULL), s, seq);
        pool_free(a.pool, a.range, s, seq);
        journal_figures(a.pool);
    } else {
        if (a.range->free_pending) {
            checker_freed_unallocated(
                pointer, s,
                "a real driver says nothing here and hangs or crashes at the next synchronise.");
            fatal_stop("double free",
                       "cudaFreeAsync was given a block of cudaMalloc that it has freed already. A "
                       "real driver hangs or crashes at the next synchronise.");
        }
        a.range->free_pending = true;
        struct op *op = stream_enqueue(s, OP_COMMAND, 0);
        checker_freed(memory_shadow(&a, NULL), s, op->seq);
        op->effect = effect_free;
        op->to = pointer;
    }
    return call_end(e);
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    return AT(free_async(pointer, stream, false));
}
EXPORT cudaError_t cudaFreeAsync_ptsz(void *pointer, cudaStream_t stream)
{
    return AT(free_async(pointer, stream, true));
}

/* ---- pools ---- */

/* What the driver refuses in properties (measured: one-gpu.txt, "errors"; probe-pools.txt,
 * "kinds"). */
static cudaError_t check_props(const struct cudaMemPoolProps *props)
{
    for (size_t i = 0; i < sizeof props->reserved; i++)
        if (props->reserved[i])
            return cudaErrorInvalidValue;
    if (props->allocType != cudaMemAllocationTypePinned
        && props->allocType != cudaMemAllocationTypeManaged)
        return cudaErrorInvalidValue;
    if (props->handleTypes & ~settings.handle_types)
        return cudaErrorInvalidValue;
    if (pool_location(&props->location, props->allocType) < 0)
        return cudaErrorInvalidValue;
    bool managed = props->allocType == cudaMemAllocationTypeManaged;
    if (props->handleTypes && (managed || props->location.type == cudaMemLocationTypeHost))
        return cudaErrorInvalidValue;
    if (managed && props->maxSize)
        return cudaErrorInvalidValue;
    /* Measured: 1 << 50. */
    return props->maxSize > settings.memory ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
    cudaError_t e = CALL("cudaMemPoolCreate", COST_POOL_CREATE);
    if (!e && (!pool || !props))
        e = cudaErrorInvalidValue;
    if (!e)
        e = check_props(props);
    if (!e) {
        struct pool *p = pool_create(props);
        if (!p)
            return call_end(cudaErrorMemoryAllocation);
        journal_pool(p);
        journal_signed("device", p->device);
        journal_number("max_size", props->maxSize);
        *pool = p->handle;
    }
    return call_end(e);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    cudaError_t e = CALL("cudaMemPoolDestroy", COST_POOL_DESTROY);
    struct pool *p = e ? NULL : pool_from_handle(pool);
    journal_pool(p);
    if (!e && (!p || p->is_default))
        e = cudaErrorInvalidValue;
    if (!e && p->imported) {
        if (!pool_destroy_imported(p))
            e = cudaErrorInvalidValue;
    } else if (!e) {
        journal_number("used", p->used);
        pool_destroy(p);
    }
    return call_end(e);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t minBytesToKeep)
{
    cudaError_t e = CALL("cudaMemPoolTrimTo", COST_SMALL);
    struct pool *p = e ? NULL : pool_from_handle_owned(pool);
    journal_pool(p);
    journal_number("keep", minBytesToKeep);
    if (!e && !p)
        e = cudaErrorInvalidValue;
    if (!e) {
        pool_trim(p, minBytesToKeep);
        journal_figures(p);
    }
    return call_end(e);
}

/* ---- default and current ---- */

static cudaError_t get_pool(const char *name, cudaMemPool_t *pool, int device, bool current)
{
    cudaError_t e = call_begin(name, COST_SMALL);
    journal_signed("device", device);
    if (!e && !pool)
        e = cudaErrorInvalidValue;
    /* Measured, both. */
    if (!e && !device_exists(device))
        e = current ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
    if (!e) {
        struct pool *p = current ? pool_current(device) : pool_default(device);
        journal_pool(p);
        *pool = p->handle;
    }
    return call_end(e);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    return AT(get_pool("cudaDeviceGetDefaultMemPool", pool, device, false));
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    return AT(get_pool("cudaDeviceGetMemPool", pool, device, true));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    cudaError_t e = CALL("cudaDeviceSetMemPool", COST_SMALL);
    struct pool *p = e ? NULL : pool_from_handle_owned(pool);
    journal_signed("device", device);
    journal_pool(p);
    if (!e && !p && handle_state(HANDLE_POOL, pool) == HANDLE_DESTROYED)
        call_destroyed_pool("cudaDeviceSetMemPool");
    if (!e && (!device_exists(device) || !p || p->device != device))
        e = cudaErrorInvalidValue;
    /* Measured: a managed pool is current for managed memory only. */
    if (!e)
        pool_set_current(p->location, p);
    return call_end(e);
}

/* ---- attributes ---- */

static const char *attribute_name(enum cudaMemPoolAttr attribute)
{
    static const char *const names[] = {
        [cudaMemPoolReuseFollowEventDependencies] = "cudaMemPoolReuseFollowEventDependencies",
        [cudaMemPoolReuseAllowOpportunistic] = "cudaMemPoolReuseAllowOpportunistic",
        [cudaMemPoolReuseAllowInternalDependencies] = "cudaMemPoolReuseAllowInternalDependencies",
        [cudaMemPoolAttrReleaseThreshold] = "cudaMemPoolAttrReleaseThreshold",
        [cudaMemPoolAttrReservedMemCurrent] = "cudaMemPoolAttrReservedMemCurrent",
        [cudaMemPoolAttrReservedMemHigh] = "cudaMemPoolAttrReservedMemHigh",
        [cudaMemPoolAttrUsedMemCurrent] = "cudaMemPoolAttrUsedMemCurrent",
        [cudaMemPoolAttrUsedMemHigh] = "cudaMemPoolAttrUsedMemHigh",
    };
    return (unsigned)attribute < sizeof names / sizeof *names && names[attribute] ? names[attribute]
                                                                                  : "unknown";
}

static bool *flag_of(struct pool *p, enum cudaMemPoolAttr attribute)
{
    switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies: return &p->policy.events;
    case cudaMemPoolReuseAllowOpportunistic: return &p->policy.opportunistic;
    case cudaMemPoolReuseAllowInternalDependencies: return &p->policy.internal;
    default: return NULL;
    }
}

static cudaError_t get_attribute(struct pool *p, enum cudaMemPoolAttr attribute, void *value)
{
    bool *flag = flag_of(p, attribute);
    if (flag) {
        journal_number("value", *flag);
        *(int *)value = *flag;
        return cudaSuccess;
    }
    uint64_t answer;
    switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold: answer = p->threshold; break;
    case cudaMemPoolAttrReservedMemCurrent: answer = pool_reserved(p); break;
    case cudaMemPoolAttrReservedMemHigh: answer = p->reserved_high; break;
    case cudaMemPoolAttrUsedMemCurrent: answer = p->used; break;
    case cudaMemPoolAttrUsedMemHigh: answer = p->used_high; break;
    default: return cudaErrorInvalidValue;
    }
    journal_number("value", answer);
    *(uint64_t *)value = answer;
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    cudaError_t e = CALL("cudaMemPoolGetAttribute", COST_SMALL);
    struct pool *p = e ? NULL : pool_from_handle_owned(pool);
    journal_pool(p);
    journal_text("attribute", attribute_name(attribute));
    if (!e && (!p || !value))
        e = cudaErrorInvalidValue;
    if (!e)
        e = get_attribute(p, attribute, value);
    return call_end(e);
}

static cudaError_t set_attribute(struct pool *p, enum cudaMemPoolAttr attribute, const void *value)
{
    bool *flag = flag_of(p, attribute);
    if (flag) {
        journal_signed("value", *(const int *)value);
        *flag = *(const int *)value != 0; /* measured: any non-zero is 1 */
        return cudaSuccess;
    }
    if ((unsigned)attribute - cudaMemPoolAttrReleaseThreshold
        > (unsigned)(cudaMemPoolAttrUsedMemHigh - cudaMemPoolAttrReleaseThreshold))
        return cudaErrorInvalidValue;
    uint64_t wanted = *(const uint64_t *)value;
    journal_number("value", wanted);
    switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
        p->threshold = wanted;
        p->release_due = true;
        return cudaSuccess;
    /* Measured: 0 sets a high mark to the current value, anything else is refused. */
    case cudaMemPoolAttrReservedMemHigh:
        if (wanted)
            return cudaErrorInvalidValue;
        p->reserved_high = pool_reserved(p);
        return cudaSuccess;
    case cudaMemPoolAttrUsedMemHigh:
        if (wanted)
            return cudaErrorInvalidValue;
        p->used_high = p->used;
        return cudaSuccess;
    default: return cudaErrorInvalidValue;
    }
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    cudaError_t e = CALL("cudaMemPoolSetAttribute", COST_SMALL);
    struct pool *p = e ? NULL : pool_from_handle_owned(pool);
    journal_pool(p);
    journal_text("attribute", attribute_name(attribute));
    if (!e && !p)
        e = cudaErrorInvalidValue;
    if (!e && !value)
        fatal_hazard("null value", "cudaMemPoolSetAttribute",
                     "cudaMemPoolSetAttribute was given a null pointer for the value of %s. "
                     "A real driver dies of SIGSEGV here.\n"
                     "  To do: pass the address of %s that holds the value.",
                     attribute_name(attribute),
                     flag_of(p, attribute) ? "an int" : "a uint64_t (cuuint64_t)");
    if (!e)
        e = set_attribute(p, attribute, value);
    return call_end(e);
}

/* ---- access ---- */

/* measured: the number of a NUMA node is not looked at */
static bool is_host(const struct cudaMemLocation *l)
{
    return l->type == cudaMemLocationTypeHost || l->type == cudaMemLocationTypeHostNuma;
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
                                 struct cudaMemLocation *location)
{
    cudaError_t e = CALL("cudaMemPoolGetAccess", COST_SMALL);
    struct pool *p = e ? NULL : pool_from_handle(pool);
    journal_pool(p);
    bool host = !e && location && is_host(location);
    if (!e
        && (!flags || !p || !location
            || (!host
                && (location->type != cudaMemLocationTypeDevice || !device_exists(location->id)))))
        e = cudaErrorInvalidValue;
    if (!e) {
        bool allowed = host ? pool_is_host_memory(p) : p->peer_rights_reported >> location->id & 1;
        *flags = allowed ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
        journal_signed("device", location->id);
        journal_number("value", *flags);
    }
    return call_end(e);
}

static bool grants_device(const struct cudaMemAccessDesc *d)
{
    return d->location.type == cudaMemLocationTypeDevice
        && d->flags == cudaMemAccessFlagsProtReadWrite;
}

/* One line of the list (measured: p2p.txt, probe-pools.txt). */
static cudaError_t check_access(const struct pool *p, const struct cudaMemAccessDesc *d)
{
    bool host = is_host(&d->location), grants = d->flags == cudaMemAccessFlagsProtReadWrite;
    if (!host && d->location.type != cudaMemLocationTypeDevice)
        return cudaErrorInvalidValue;
    if (!host && !device_exists(d->location.id))
        return cudaErrorInvalidDevice;
    if (d->flags == cudaMemAccessFlagsProtRead)
        return cudaErrorNotSupported;
    if (!grants && d->flags != cudaMemAccessFlagsProtNone)
        return cudaErrorInvalidValue;
    /* It may be given and taken, and changes nothing. */
    if (pool_is_managed(p))
        return cudaSuccess;
    /* Who owns it keeps it: the host,. */
    if (pool_is_host_memory(p))
        return host && !grants ? cudaErrorNotSupported : cudaSuccess;
    if (host)
        return cudaErrorNotSupported;
    /* And the device. */
    if (d->location.id == p->device)
        return grants ? cudaSuccess : cudaErrorInvalidDevice;
    return grants && !settings.peers ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list,
                                 size_t count)
{
    cudaError_t e = CALL("cudaMemPoolSetAccess", COST_SMALL);
    /* What needed the access has failed: that is told, too. */
    bool too_late = e && e == device_sticky_error();
    struct pool *p = e && !too_late ? NULL : pool_from_handle(pool);
    journal_pool(p);
    for (size_t i = 0; too_late && p && list && i < count; i++)
        if (grants_device(&list[i]))
            checker_access_granted(p, list[i].location.id);
    if (!e && !p)
        e = cudaErrorInvalidValue;
    if (!e && count && !list)
        fatal_hazard("null list", "cudaMemPoolSetAccess",
                     "cudaMemPoolSetAccess was given a null list with count %zu. "
                     "A real driver dies of SIGSEGV here.\n"
                     "  To do: pass the address of an array of cudaMemAccessDesc.",
                     count);
    for (size_t i = 0; !e && i < count; i++)
        e = check_access(p, &list[i]);
    for (size_t i = 0; !e && i < count; i++) {
        if (is_host(&list[i].location))
            continue;
        uint32_t bit = 1u << list[i].location.id;
        if (list[i].flags == cudaMemAccessFlagsProtNone && !pool_is_managed(p)
            && p->peer_rights & bit)
            checker_access_revoked(p->peer_uses, list[i].location.id);
        if (grants_device(&list[i]) && !(p->peer_rights & bit))
            checker_access_granted(p, list[i].location.id);
        p->peer_rights_reported = list[i].flags == cudaMemAccessFlagsProtReadWrite
                                    ? p->peer_rights_reported | bit
                                    : p->peer_rights_reported & ~bit;
        if (!pool_is_managed(p))
            p->peer_rights = p->peer_rights_reported;
        journal_signed("device", list[i].location.id);
        journal_number("value", (uint64_t)list[i].flags);
    }
    return call_end(e);
}
