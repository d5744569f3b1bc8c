/* Memory pools: allocations and frees in the order of a stream, and the creation, attributes, and
 * access of pools. */
#include "pool_calls.inc"
#include "base/fatal.h"
#include "base/settings.h"
#include "check/checker.h"
#include "graph/dispatch.h"
#include "graph/graph_memory.h"
#include "ipc/ipc_memory.h"
#include "mem/device.h"
#include "mem/memory.h"
#include "mem/pool.h"

/* Adds the pool's figures. Those of an imported pool are its exporter's. */
static inline void line_figures(struct journal_line *line, const struct pool *p)
{
    if (p->imported)
        return;
    line_number(line, "reserved", pool_reserved(p));
    line_number(line, "used", p->used);
}

/* ---- allocations and frees ---- */

/* Describes an allocation in the line. `r` is NULL if there was no memory for it. */
static void line_allocated(struct journal_line *line, const struct pool *p, const struct range *r,
                           enum reuse rung)
{
    if (r) {
        line_number(line, "allocation", r->id);
        line_number(line, "offset", r->offset);
        line_text(line, "from", reuse_name(rung));
    }
    line_figures(line, p);
}

static cudaError_t allocate_in_stream(struct call *call, void **pointer, size_t bytes,
                                      struct pool *p, struct stream *s)
{
    cudaError_t e = capture_count ? capture_check_memory(s) : cudaSuccess;
    if (e)
        return e;
    line_pool(&call->line, p);
    line_number(&call->line, "bytes", bytes);
    *pointer = NULL;
    if (!bytes)
        return cudaSuccess;
    if (s->capturing)
        return dispatch_allocation(call, s, p, bytes, pointer);
    uint64_t before = s->last_seq;
    struct reuse_result result = pool_allocate(p, bytes, s);
    struct range *r = result.range;
    if (result.capped && p->heap.device != NO_DEVICE)
        graph_memory_trim(p->heap.device);
    if (r) {
        /* Measured (probe-outsiders.txt, "failed_allocation"): a failure queues nothing. */
        uint64_t seq = stream_enqueue_marker(s, result.barrier);
        *pointer = memory_born(call, &p->heap, r, ALLOCATION_IN_STREAM, s, seq);
    }
    if (line_is_open(&call->line)) {
        line_allocated(&call->line, p, r, result.rung);
        line_turn(call, s, before);
    }
    return r ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t do_cudaMallocAsync(struct call *call, void **pointer, size_t bytes, cudaStream_t stream)
{
    struct stream *s = call_stream(call, stream);
    if (!pointer)
        return cudaErrorInvalidValue;
    if (!s)
        return cudaErrorInvalidResourceHandle;
    /* The current pool of the stream's device, not of the current device (measured: p2p.txt). */
    return allocate_in_stream(call, pointer, bytes, pool_current(s->device), s);
}

cudaError_t do_cudaMallocFromPoolAsync(struct call *call, void **pointer, size_t bytes,
                                       cudaMemPool_t pool, cudaStream_t stream)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    struct pool *p = pool_from_handle_owned(pool);
    if (!pointer || !p)
        return cudaErrorInvalidValue;
    return allocate_in_stream(call, pointer, bytes, p, s);
}

/* Frees an allocation of cudaMalloc when the stream reaches the free. */
static void effect_free(struct op *op)
{
    struct address_info a = memory_find(op->to);
    if (a.kind == ADDRESS_ALLOCATED)
        memory_free(&a);
}

/* Queues cudaFreeAsync for an allocation of cudaMalloc. */
static void free_plain(struct call *call, struct address_info *a, void *pointer, struct stream *s)
{
    if (a->range->free_pending) {
        checker_freed_unallocated(
            call, pointer, s,
            "a real driver reports nothing here and hangs or crashes at the next synchronization.");
        call_stop(
            call, HAZARD_DOUBLE_FREE,
            "cudaFreeAsync was given an allocation of cudaMalloc that it has freed already. A "
            "real driver hangs or crashes at the next synchronization.");
    }
    a->range->free_pending = true;
    struct op *op = stream_enqueue(s, OP_COMMAND, 0);
    checker_freed(call, memory_shadow(a), s, op->seq);
    op->effect = effect_free;
    op->to = pointer;
}

/* Queues cudaFreeAsync for a pool's allocation. */
static void free_pooled(struct call *call, struct address_info *a, struct stream *s)
{
    uint64_t seq = stream_enqueue_marker(s, BARRIER_FULL);
    checker_freed(call, memory_shadow(a), s, seq);
    pool_free(a->pool, a->range, s, seq);
    if (line_is_open(&call->line))
        line_figures(&call->line, a->pool);
}

cudaError_t do_cudaFreeAsync(struct call *call, void *pointer, cudaStream_t stream)
{
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    cudaError_t e = capture_count ? capture_check_memory(s) : cudaSuccess;
    if (e || !pointer)
        return e;
    if (s->capturing)
        return dispatch_free(call, s, pointer);
    struct address_info a = memory_find(pointer);
    if (line_is_open(&call->line) && a.pool && !a.pool->graph)
        line_pool(&call->line, a.pool);
    if (a.kind != ADDRESS_ALLOCATED || a.offset != a.range->offset) {
        if (a.kind != ADDRESS_ALLOCATED)
            checker_freed_unallocated(call, pointer, s, FREE_REFUSED_NOTE);
        return cudaErrorInvalidValue;
    }
    if (memory_is_opened(&a) || a.heap->is_virtual)
        return cudaErrorInvalidValue;
    /* Measured (probe-pools.txt, "managed"): the error for memory of cudaMallocManaged. */
    if (!a.pool && a.heap->host_visible)
        return cudaErrorNotSupported;
    if (line_is_open(&call->line))
        line_number(&call->line, "allocation", a.range->id);
    uint64_t before = s->last_seq;
    if (a.pool && a.pool->graph)
        graph_allocation_free(call, graph_allocation_at(&a), s);
    else if (a.pool)
        free_pooled(call, &a, s);
    else
        free_plain(call, &a, pointer, s);
    if (line_is_open(&call->line))
        line_turn(call, s, before);
    return cudaSuccess;
}

/* ---- pools ---- */

/* Returns the error with which the driver rejects properties (measured: one-gpu.txt, "errors";
 * probe-pools.txt, "kinds"). */
static cudaError_t check_props(const struct cudaMemPoolProps *props)
{
    for (size_t i = 0; i < sizeof props->reserved; i++)
        if (props->reserved[i])
            return cudaErrorInvalidValue;
    if (props->allocType != cudaMemAllocationTypePinned
        && props->allocType != cudaMemAllocationTypeManaged)
        return cudaErrorInvalidValue;
    if (props->handleTypes & ~(unsigned)settings.handle_types)
        return cudaErrorInvalidValue;
    if (pool_location(&props->location, props->allocType) < 0)
        return cudaErrorInvalidValue;
    bool managed = props->allocType == cudaMemAllocationTypeManaged;
    if (props->handleTypes && (managed || props->location.type == cudaMemLocationTypeHost))
        return cudaErrorInvalidValue;
    if (managed && (props->maxSize || props->usage))
        return cudaErrorInvalidValue;
    /* Measured (probe-odd-answers.txt, "places"), for a node of the host. */
    if (props->maxSize == SIZE_MAX && props->location.type != cudaMemLocationTypeDevice)
        return cudaSuccess;
    /* Measured for 1 << 50 bytes (probe-answers.txt, "pools"). */
    return props->maxSize > settings.memory ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t do_cudaMemPoolCreate(struct call *call, cudaMemPool_t *pool,
                                 const struct cudaMemPoolProps *props)
{
    if (!pool || !props)
        return cudaErrorInvalidValue;
    cudaError_t e = check_props(props);
    if (e)
        return e;
    struct pool *p = pool_create(props);
    if (!ipc_pool_make_shareable(p)) {
        pool_destroy(p);
        return cudaErrorMemoryAllocation;
    }
    line_pool(&call->line, p);
    line_signed(&call->line, "device", p->device);
    line_number(&call->line, "max_size", props->maxSize);
    *pool = p->handle;
    return cudaSuccess;
}

cudaError_t do_cudaMemPoolDestroy(struct call *call, cudaMemPool_t pool)
{
    struct pool *p = pool_from_handle(pool);
    line_pool(&call->line, p);
    if (!p || p->is_default)
        return cudaErrorInvalidValue;
    if (p->imported)
        return pool_destroy_imported(p) ? cudaSuccess : cudaErrorInvalidValue;
    line_number(&call->line, "used", p->used);
    if (pool_has_pending_frees(p))
        checker_pool_destroyed(call, p->heap.base, p->heap.base + p->heap.limit);
    pool_destroy(p);
    return cudaSuccess;
}

cudaError_t do_cudaMemPoolTrimTo(struct call *call, cudaMemPool_t pool, size_t minBytesToKeep)
{
    struct pool *p = pool_from_handle_owned(pool);
    line_pool(&call->line, p);
    line_number(&call->line, "keep", minBytesToKeep);
    if (!p)
        return cudaErrorInvalidValue;
    pool_trim(p, minBytesToKeep);
    line_figures(&call->line, p);
    return cudaSuccess;
}

/* ---- default and current ---- */

cudaError_t device_pool(struct call *call, cudaMemPool_t *pool, int device, bool current)
{
    line_signed(&call->line, "device", device);
    if (!pool)
        return cudaErrorInvalidValue;
    /* Both errors are measured (one-gpu.txt, "errors"). */
    if (!device_exists(device))
        return current ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
    struct pool *p = current ? pool_current(device) : pool_default(device);
    line_pool(&call->line, p);
    *pool = p->handle;
    return cudaSuccess;
}

cudaError_t do_cudaDeviceSetMemPool(struct call *call, int device, cudaMemPool_t pool)
{
    struct pool *p = pool_from_handle_owned(pool);
    line_signed(&call->line, "device", device);
    line_pool(&call->line, p);
    if (!p && handle_state(HANDLE_POOL, pool) == HANDLE_DESTROYED)
        call_destroyed_pool(call);
    if (!device_exists(device) || !p || p->device != device)
        return cudaErrorInvalidValue;
    /* Measured (probe-pools.txt, "which_is_used"): a managed pool is current for managed memory
     * only. */
    pool_set_current(p->location, p);
    return cudaSuccess;
}

/* ---- attributes ---- */

static const struct attribute {
    int id;
    const char *name;
    size_t bytes;
} attributes[] = {
#define POOL_ATTRIBUTE(ID, type, figure, set) {ID, #ID, sizeof(type)},
#include "api/pool_attributes.def"
};

static const struct attribute *find_attribute(int id)
{
    static const struct attribute unknown = {.name = "unknown", .bytes = sizeof(uint64_t)};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].id == id)
            return &attributes[i];
    return &unknown;
}

static cudaError_t get_attribute(struct call *call, const struct pool *p, int attribute,
                                 void *value)
{
    switch (attribute) {
#define POOL_ATTRIBUTE(ID, type, figure, set)                          \
    case ID:                                                           \
        *(type *)value = (type)call_told(figure, sizeof(type));        \
        line_number(&call->line, "value", (uint64_t) * (type *)value); \
        return cudaSuccess;
#include "api/pool_attributes.def"
    default: return cudaErrorInvalidValue;
    }
}

cudaError_t do_cudaMemPoolGetAttribute(struct call *call, cudaMemPool_t pool,
                                       enum cudaMemPoolAttr attribute, void *value)
{
    struct pool *p = pool_from_handle_owned(pool);
    line_pool(&call->line, p);
    line_text(&call->line, "attribute", find_attribute(attribute)->name);
    if (!p || !value)
        return cudaErrorInvalidValue;
    return get_attribute(call, p, attribute, value);
}

/* Measured (one-gpu.txt, "watermarks"): every nonzero value becomes 1. */
static cudaError_t set_flag(bool *flag, int wanted)
{
    *flag = wanted != 0;
    return cudaSuccess;
}

/* Measured (one-gpu.txt, "watermarks"): 0 sets a watermark to the current value, and anything else
 * is rejected. */
static cudaError_t reset_watermark(size_t *watermark, size_t current, uint64_t wanted)
{
    if (wanted)
        return cudaErrorInvalidValue;
    *watermark = current;
    return cudaSuccess;
}

/* Adds the value to the journal as a signed number if it is an int. */
static void line_wanted_int(struct call *call, int wanted)
{
    line_signed(&call->line, "value", wanted);
}
static void line_wanted_uint64_t(struct call *call, uint64_t wanted)
{
    line_number(&call->line, "value", wanted);
}

static cudaError_t set_attribute(struct call *call, struct pool *p, int attribute,
                                 const void *value)
{
    switch (attribute) {
#define POOL_ATTRIBUTE(ID, type, figure, set) \
    case ID: {                                \
        type wanted = *(const type *)value;   \
        line_wanted_##type(call, wanted);     \
        return set;                           \
    }
#include "api/pool_attributes.def"
    default: return cudaErrorInvalidValue;
    }
}

cudaError_t do_cudaMemPoolSetAttribute(struct call *call, cudaMemPool_t pool,
                                       enum cudaMemPoolAttr attribute, void *value)
{
    struct pool *p = pool_from_handle_owned(pool);
    line_pool(&call->line, p);
    line_text(&call->line, "attribute", find_attribute(attribute)->name);
    if (!p)
        return cudaErrorInvalidValue;
    if (!value)
        fatal_hazard(HAZARD_NULL_VALUE, call->origin.call,
                     "cudaMemPoolSetAttribute was given a null pointer for the value of %s. "
                     "A real driver dies of SIGSEGV here.\n"
                     "  To do:     pass the address of %s that holds the value.",
                     find_attribute(attribute)->name,
                     find_attribute(attribute)->bytes == sizeof(int) ? "an int"
                                                                     : "a uint64_t (cuuint64_t)");
    return set_attribute(call, p, attribute, value);
}

/* ---- access ---- */

/* Measured (probe-pools.txt, "memory_numa"): the number of a NUMA node is ignored. */
static bool is_host(const struct cudaMemLocation *l)
{
    return l->type == cudaMemLocationTypeHost || l->type == cudaMemLocationTypeHostNuma;
}

cudaError_t do_cudaMemPoolGetAccess(struct call *call, enum cudaMemAccessFlags *flags,
                                    cudaMemPool_t pool, struct cudaMemLocation *location)
{
    struct pool *p = pool_from_handle(pool);
    line_pool(&call->line, p);
    if (!flags || !p || !location)
        return cudaErrorInvalidValue;
    bool host = is_host(location);
    if (!host && (location->type != cudaMemLocationTypeDevice || !device_exists(location->id)))
        return cudaErrorInvalidValue;
    bool allowed = host ? pool_is_host_memory(p) : p->peer_rights_reported >> location->id & 1;
    *flags = allowed ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    line_signed(&call->line, "device", location->id);
    line_number(&call->line, "value", *flags);
    return cudaSuccess;
}

static bool grants_device(const struct cudaMemAccessDesc *d)
{
    return d->location.type == cudaMemLocationTypeDevice
        && d->flags == cudaMemAccessFlagsProtReadWrite;
}

/* Check one entry of the list (measured: p2p.txt, probe-pools.txt; for a location without a type in
 * a device's own pool: probe-outsiders-peers.txt, "answers"; and what comes first:
 * probe-odd-answers.txt, "places", and probe-odd-peers.txt, "lists"). */
static cudaError_t check_place(const struct pool *p, const struct cudaMemAccessDesc *d)
{
    bool host = is_host(&d->location);
    if (d->flags == cudaMemAccessFlagsProtRead)
        return cudaErrorNotSupported;
    if (!host && d->location.type != cudaMemLocationTypeDevice)
        return pool_is_host_memory(p) || pool_is_managed(p) ? cudaErrorInvalidValue
                                                            : cudaErrorNotSupported;
    if (!host && !device_exists(d->location.id))
        return cudaErrorInvalidDevice;
    return host && !pool_is_host_memory(p) && !pool_is_managed(p) ? cudaErrorNotSupported
                                                                  : cudaSuccess;
}

static cudaError_t check_flags(const struct pool *p, const struct cudaMemAccessDesc *d)
{
    (void)p;
    return d->flags == cudaMemAccessFlagsProtReadWrite || d->flags == cudaMemAccessFlagsProtNone
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

static cudaError_t check_change(const struct pool *p, const struct cudaMemAccessDesc *d)
{
    bool host = is_host(&d->location), grants = d->flags == cudaMemAccessFlagsProtReadWrite;
    /* Access to managed memory may be granted and revoked, without effect. */
    if (pool_is_managed(p))
        return cudaSuccess;
    /* The host keeps access to its own memory. */
    if (pool_is_host_memory(p))
        return host && !grants ? cudaErrorNotSupported : cudaSuccess;
    /* A device keeps access to its own memory. */
    if (d->location.id == p->device)
        return grants ? cudaSuccess : cudaErrorInvalidDevice;
    return grants && !settings_reaches(d->location.id, p->device) ? cudaErrorInvalidDevice
                                                                  : cudaSuccess;
}

/* Each check is made of all entries before the next check. */
static cudaError_t (*const access_checks[])(const struct pool *,
                                            const struct cudaMemAccessDesc *) = {
    check_place, check_flags, check_change};

/* Adds a set of devices to a line, as a list, unless it is empty. */
static void line_devices(struct journal_line *line, const char *key, uint32_t set)
{
    char *to = set ? line_key(line, key) : NULL, mark = '[';
    for (unsigned device = 0; to && device < MAX_DEVICES; device++)
        if (set >> device & 1) {
            *to++ = mark;
            to = put_number(to, device);
            mark = ',';
        }
    if (to) {
        *to++ = ']';
        line->end = to;
    }
}

/* Applies an entry that the checks accepted. changed: the devices that lose access and get it. */
static void set_access(struct call *call, struct pool *p, const struct cudaMemAccessDesc *d,
                       uint32_t changed[2])
{
    if (is_host(&d->location))
        return;
    int device = d->location.id;
    uint32_t bit = 1u << device;
    if (d->flags == cudaMemAccessFlagsProtNone && !pool_is_managed(p) && p->peer_rights & bit)
        checker_access_revoked(call, p->peer_uses, device);
    if (grants_device(d) && !(p->peer_rights & bit))
        checker_access_granted(call, p, device);
    bool gets = d->flags == cudaMemAccessFlagsProtReadWrite;
    p->peer_rights_reported = (p->peer_rights_reported & ~bit) | (gets ? bit : 0);
    if (!pool_is_managed(p))
        p->peer_rights = p->peer_rights_reported;
    changed[gets] |= bit;
    changed[!gets] &= ~bit;
}

cudaError_t do_cudaMemPoolSetAccess(struct call *call, cudaMemPool_t pool,
                                    const struct cudaMemAccessDesc *list, size_t count)
{
    struct pool *p = pool_from_handle(pool);
    line_pool(&call->line, p);
    /* After a fault, access comes too late for the work that needed it, which is reported. */
    if (device_sticky_error) {
        for (size_t i = 0; p && list && i < count; i++)
            if (grants_device(&list[i]))
                checker_access_granted(call, p, list[i].location.id);
        return device_sticky_error;
    }
    if (!p || (!list && call_is_drivers(call)))
        return cudaErrorInvalidValue;
    if (count && !list)
        fatal_hazard(HAZARD_NULL_LIST, call->origin.call,
                     "cudaMemPoolSetAccess was given a null list with count %zu. "
                     "A real driver dies of SIGSEGV here.\n"
                     "  To do:     pass the address of an array of cudaMemAccessDesc.",
                     count);
    for (size_t check = 0; check < sizeof access_checks / sizeof *access_checks; check++)
        for (size_t i = 0; i < count; i++) {
            cudaError_t e = access_checks[check](p, &list[i]);
            if (e)
                return e;
        }
    uint32_t changed[2] = {0};
    for (size_t i = 0; i < count; i++)
        set_access(call, p, &list[i], changed);
    line_devices(&call->line, "opened", changed[1]);
    line_devices(&call->line, "closed", changed[0]);
    return cudaSuccess;
}
