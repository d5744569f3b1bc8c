/* Pools by location, managed memory, prefetches, advice, and queries about ranges. Source:
 * simulator/tests/facts/probe-pools.txt and, where that has nothing, the comments of the CUDA 13.0
 * header. */
#include "location_calls.inc"
#include "base/fatal.h"
#include "check/checker.h"
#include "graph/capture.h"
#include "mem/device.h"
#include "mem/managed_advice.h"
#include "mem/memory.h"
#include "mem/pool.h"

/* ---- pools by location ---- */

static void line_location(struct journal_line *line, const struct cudaMemLocation *l,
                          enum cudaMemAllocationType type)
{
    static const char *const names[] = {"none", "device", "host", "host NUMA node",
                                        "current host NUMA node"};
    if ((unsigned)l->type < sizeof names / sizeof *names)
        line_text(line, "location", names[l->type]);
    line_signed(line, "location_id", l->id);
    line_text(line, "type",
              type == cudaMemAllocationTypeManaged  ? "managed"
              : type == cudaMemAllocationTypePinned ? "pinned"
                                                    : "other");
}

cudaError_t location_pool(struct call *call, cudaMemPool_t *pool,
                          const struct cudaMemLocation *location, enum cudaMemAllocationType type,
                          bool current)
{
    if (!pool || !location)
        return cudaErrorInvalidValue;
    /* Measured (probe-pools.txt, probe-locality.txt): for every type of memory, and even for
     * numbers that the header of 13.0 lacks. */
    if (location->type >= cudaMemLocationTypeHostNumaCurrent)
        return cudaErrorNotSupported;
    line_location(&call->line, location, type);
    int index = pool_location(location, type);
    if (index < 0)
        return cudaErrorInvalidValue;
    struct pool *p = current ? pool_current(index) : pool_default(index);
    line_number(&call->line, "pool", (uint64_t)p->id);
    *pool = current ? pool_current_handle(index) : p->handle;
    return cudaSuccess;
}

cudaError_t do_cudaMemSetMemPool(struct call *call, struct cudaMemLocation *location,
                                 enum cudaMemAllocationType type, cudaMemPool_t pool)
{
    struct pool *p = pool_from_handle_owned(pool);
    bool is_destroyed = !p && handle_state(HANDLE_POOL, pool) == HANDLE_DESTROYED;
    if (!location || (!p && !is_destroyed))
        return cudaErrorInvalidValue;
    /* Assumed: the getter's error. */
    if (location->type >= cudaMemLocationTypeHostNumaCurrent)
        return cudaErrorNotSupported;
    line_location(&call->line, location, type);
    if (p)
        line_number(&call->line, "pool", (uint64_t)p->id);
    /* The location, its id, and the kind of memory must be the pool's. */
    int index = pool_location(location, type);
    if (index < 0 || (p && index != p->location))
        return cudaErrorInvalidValue;
    if (p) {
        pool_set_current(index, p);
        return cudaSuccess;
    }
    if (index < MAX_DEVICES)
        call_destroyed_pool(call);
    /* Assumed: any other location accepts a destroyed pool, even one of another location. */
    pool_set_current_destroyed(index, pool);
    return cudaSuccess;
}

/* ---- managed memory ---- */

cudaError_t do_cudaMallocManaged(struct call *call, void **pointer, size_t bytes,
                                 unsigned int flags)
{
    line_number(&call->line, "bytes", bytes);
    if (!pointer)
        return cudaErrorInvalidValue;
    *pointer = NULL;
    if (!bytes) /* Measured (probe-odd-answers.txt, "host_memory"): whatever the flags are. */
        return cudaSuccess;
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        return cudaErrorInvalidValue;
    struct range *r = memory_allocate_managed(device_current(), bytes);
    if (!r)
        return cudaErrorMemoryAllocation;
    *pointer =
        memory_born(call, memory_managed_heap(device_current()), r, ALLOCATION_AT_CALL, NULL, 0);
    line_number(&call->line, "allocation", r->id);
    return cudaSuccess;
}

/* Returns whether these bytes are managed memory of one allocation. Adds its number to the call's
 * line. */
static bool is_managed(struct call *call, const void *pointer, size_t bytes)
{
    struct address_info a = memory_find(pointer);
    line_number(&call->line, "allocation", memory_allocation_id(&a));
    return a.kind == ADDRESS_ALLOCATED && a.heap->host_visible && bytes <= a.bytes_left
        && (!a.pool || pool_is_managed(a.pool));
}

/* Returns an error if the location does not exist. Only a device has an error of its own. */
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

static void set_prefetched(struct managed_advice *advice, const void *location)
{
    advice->prefetched = *(const struct cudaMemLocation *)location;
}

/* What a call advises. */
struct advised {
    enum cudaMemoryAdvise advice;
    struct cudaMemLocation location;
};

/* Assumed: access by a node of the host is access by the host. */
static void set_advice(struct managed_advice *advice, const void *value)
{
    const struct advised *wanted = value;
    bool on_device = wanted->location.type == cudaMemLocationTypeDevice;
    uint32_t bit = 1u << (on_device ? wanted->location.id : MAX_DEVICES);
    switch (wanted->advice) {
    case cudaMemAdviseSetReadMostly: advice->read_mostly = true; break;
    case cudaMemAdviseUnsetReadMostly: advice->read_mostly = false; break;
    case cudaMemAdviseSetPreferredLocation:
    case cudaMemAdviseUnsetPreferredLocation:
        /* Measured (probe-pitch.txt, "ranges"): preferring a node of the host prefers nothing. */
        advice->preferred = wanted->advice == cudaMemAdviseUnsetPreferredLocation
                                 || wanted->location.type == cudaMemLocationTypeHostNuma
                              ? (struct cudaMemLocation){0}
                              : wanted->location;
        break;
    case cudaMemAdviseSetAccessedBy: advice->accessed_by |= bit; break;
    case cudaMemAdviseUnsetAccessedBy: advice->accessed_by &= ~bit; break;
    }
}

/* Assumed: the call is accepted and moves nothing, because the location of a page is not modeled.
 * The prefetch has a position in the stream's order. */
cudaError_t do_cudaMemPrefetchAsync(struct call *call, const void *pointer, size_t bytes,
                                    struct cudaMemLocation location, unsigned int flags,
                                    cudaStream_t stream)
{
    line_number(&call->line, "bytes", bytes);
    cudaError_t e = check_location(&location);
    if (!pointer || !bytes || flags)
        return cudaErrorInvalidValue;
    /* Measured (probe-odd-answers.txt, "places"): this comes before what the address is. */
    if (e == cudaErrorInvalidDevice)
        return e;
    if (e || !is_managed(call, pointer, bytes))
        return cudaErrorInvalidValue;
    struct stream *s = call_stream(call, stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    /* Measured (probe-more-answers.txt, "captures"): a prefetch cannot be a node of a graph. */
    if ((e = capture_forbid(s)))
        return e;
    struct address_info a = memory_find(pointer);
    checker_used(call, memory_shadow(&a), s, stream_enqueue_marker(s, BARRIER_FULL), a.inner_offset,
                 a.inner_offset, false);
    managed_advice_change(a.range->id, pointer, bytes, set_prefetched, &location);
    return cudaSuccess;
}

/* Measured (probe-stalls.txt): the call does not wait. Documented: the length is 0 or the
 * allocation's, and memory can be attached to one stream only if that is no default stream.
 * Assumed: the call has a position in the stream's order and no other effect, as where a device may
 * touch managed memory while the host does (cudaDevAttrConcurrentManagedAccess). Measured
 * (probe-more-answers.txt, "captures"): it cannot be a node of a graph. */
cudaError_t do_cudaStreamAttachMemAsync(struct call *call, cudaStream_t stream, void *pointer,
                                        size_t bytes, unsigned int flags)
{
    struct stream *s = call_stream(call, stream);
    struct address_info a = memory_find(pointer);
    bool one =
        flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle;
    if (!s)
        return cudaErrorInvalidResourceHandle;
    const bool is_whole = is_managed(call, pointer, bytes ? bytes : 1) && !a.inner_offset
                       && (!bytes || bytes == a.range->requested);
    if (!flags && is_whole)
        fatal_hazard(HAZARD_NO_ATTACHMENT, call->origin.call,
                     "%s was given managed memory and no flag. "
                     "A real driver dies of SIGSEGV here.\n"
                     "  To do:     pass cudaMemAttachGlobal, cudaMemAttachHost, or "
                     "cudaMemAttachSingle.",
                     call->origin.call);
    if (!one || !is_whole || (flags == cudaMemAttachSingle && s->kind == STREAM_LEGACY))
        return cudaErrorInvalidValue;
    cudaError_t e = capture_forbid(s);
    if (e)
        return e;
    checker_used(call, memory_shadow(&a), s, stream_enqueue_marker(s, BARRIER_FULL), 0, 0, false);
    return cudaSuccess;
}

/* Assumed: advice is kept for cudaMemRangeGetAttribute and has no other effect. Measured
 * (probe-pools.txt, "managed"): the location must exist, even if the advice needs none; otherwise
 * cudaErrorInvalidValue. Measured (probe-odd-answers.txt, "advice"): with a node of the host, the
 * address does not matter, and access by it is refused. */
cudaError_t do_cudaMemAdvise(struct call *call, const void *pointer, size_t bytes,
                             enum cudaMemoryAdvise advice, struct cudaMemLocation location)
{
    const bool by_node = location.type == cudaMemLocationTypeHostNuma
                      || location.type == cudaMemLocationTypeHostNumaCurrent;
    const bool is_access =
        advice == cudaMemAdviseSetAccessedBy || advice == cudaMemAdviseUnsetAccessedBy;
    /* Measured (probe-odd-peers.txt, "copies"): no preferred location may be on any device. An H200
     * of December 2026 also took any device for "read mostly". */
    const bool needs_place =
        advice == cudaMemAdviseSetPreferredLocation
        || (!by_node && (is_access || location.type != cudaMemLocationTypeDevice));
    line_number(&call->line, "bytes", bytes);
    if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy
        || (by_node && is_access) || (needs_place && check_location(&location)))
        return cudaErrorInvalidValue;
    if (!bytes || !is_managed(call, pointer, bytes))
        return by_node ? cudaSuccess : cudaErrorInvalidValue;
    struct address_info a = memory_find(pointer);
    managed_advice_change(a.range->id, pointer, bytes, set_advice,
                          &(struct advised){advice, location});
    return cudaSuccess;
}

/* ---- queries about a range ---- */

/* Returns a location's number: a device or the host, without its node in the older attributes
 * (measured: probe-pitch.txt, "ranges"). */
static int location_number(struct cudaMemLocation l)
{
    return l.type == cudaMemLocationTypeDevice  ? l.id
         : l.type == cudaMemLocationTypeInvalid ? cudaInvalidDeviceId
                                                : cudaCpuDeviceId;
}

static int location_id(struct cudaMemLocation l)
{
    return l.type == cudaMemLocationTypeHostNuma ? l.id : location_number(l);
}

/* Fills a list of `room` numbers with those that have a bit, and then with -2 (documented). The
 * host comes last (measured: probe-pitch.txt, "ranges"). */
static void list_accessors(uint32_t accessed_by, int *list, size_t room)
{
    size_t count = 0;
    for (int d = 0; d <= MAX_DEVICES && count < room; d++)
        if (accessed_by >> d & 1)
            list[count++] = d < MAX_DEVICES ? d : cudaCpuDeviceId;
    while (count < room)
        list[count++] = cudaInvalidDeviceId;
}

/* Returns whether it is an attribute whose result has this many bytes. */
static bool is_attribute(enum cudaMemRangeAttribute attribute, size_t bytes)
{
    if (attribute == cudaMemRangeAttributeAccessedBy)
        return bytes && bytes % sizeof(int) == 0;
    return attribute >= cudaMemRangeAttributeReadMostly
        && attribute <= cudaMemRangeAttributeLastPrefetchLocationId && bytes == sizeof(int);
}

/* Writes an attribute that is_attribute accepts. */
static void write_attribute(void *data, size_t bytes, enum cudaMemRangeAttribute attribute,
                            const struct managed_advice *a)
{
    int value = 0;
    switch (attribute) {
    case cudaMemRangeAttributeReadMostly: value = a->read_mostly; break;
    case cudaMemRangeAttributePreferredLocation: value = location_number(a->preferred); break;
    case cudaMemRangeAttributeAccessedBy:
        list_accessors(a->accessed_by, data, bytes / sizeof(int));
        return;
    case cudaMemRangeAttributeLastPrefetchLocation: value = location_number(a->prefetched); break;
    case cudaMemRangeAttributePreferredLocationType: value = (int)a->preferred.type; break;
    case cudaMemRangeAttributePreferredLocationId: value = location_id(a->preferred); break;
    case cudaMemRangeAttributeLastPrefetchLocationType: value = (int)a->prefetched.type; break;
    case cudaMemRangeAttributeLastPrefetchLocationId: value = location_id(a->prefetched); break;
    }
    *(int *)data = value;
}

static struct managed_advice advice_of(const void *pointer, size_t bytes)
{
    struct address_info a = memory_find(pointer);
    return managed_advice_of(a.range->id, pointer, bytes);
}

cudaError_t do_cudaMemRangeGetAttribute(struct call *call, void *data, size_t dataSize,
                                        enum cudaMemRangeAttribute attribute, const void *pointer,
                                        size_t bytes)
{
    line_number(&call->line, "bytes", bytes);
    line_signed(&call->line, "attribute", (int64_t)attribute);
    if (!data || !is_attribute(attribute, dataSize) || !bytes || !is_managed(call, pointer, bytes))
        return cudaErrorInvalidValue;
    struct managed_advice a = advice_of(pointer, bytes);
    write_attribute(data, dataSize, attribute, &a);
    return cudaSuccess;
}

/* Measured (probe-pitch.txt, "several_attributes"): if one attribute is rejected, nothing is
 * written. */
cudaError_t do_cudaMemRangeGetAttributes(struct call *call, void **data, size_t *dataSizes,
                                         enum cudaMemRangeAttribute *attributes, size_t count,
                                         const void *pointer, size_t bytes)
{
    line_number(&call->line, "bytes", bytes);
    if (!data || !dataSizes || !attributes || !count || !bytes || !is_managed(call, pointer, bytes))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        if (!data[i] || !is_attribute(attributes[i], dataSizes[i]))
            return cudaErrorInvalidValue;
    struct managed_advice a = advice_of(pointer, bytes);
    for (size_t i = 0; i < count; i++)
        write_attribute(data[i], dataSizes[i], attributes[i], &a);
    return cudaSuccess;
}
