/* All memory that a program can address. The allocations of cudaMalloc are in one heap for each
 * device, in granules of 2 MiB. Measured in probe-answers.txt: allocations of at most 1 MiB share a
 * granule, larger ones take whole granules, and a granule is released with its last allocation. */
#include "mem/memory.h"

#include "base/summary.h"
#include "os/needs_lock.h"
#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "sched/engine.h"
#include "os/os.h"
#include "base/settings.h"
#include "check/written.h"
#include "mem/address_map.h"
#include "mem/virtual_memory.h"

#define SMALL_MAX (1 * MiB) /* The largest allocation that shares a granule. */

/* Needs the lock. */
static struct {
    struct heap device_heaps[MAX_DEVICES], managed_heaps[MAX_DEVICES]; /* limit 0: not used yet. */
    struct heap variable_heaps[MAX_DEVICES];
    struct heap *opened; /* Of other processes. */
    struct peer_use *peer_uses[MAX_DEVICES];
    uint32_t last_id;
} memory;

uint32_t memory_new_id(void)
{
    NEEDS_LOCK();
    summary.allocations++;
    return ++memory.last_id;
}

/* ---- finding ---- */

/* Completes the description of an address that is in no heap. */
static struct address_info find_in_host(struct address_info info, const char *address)
{
    info.pinned = pinned_find(address);
    if (!info.pinned)
        return info;
    info.kind = ADDRESS_PINNED;
    info.inner_offset = (size_t)(address - info.pinned->base);
    info.bytes_left = info.pinned->bytes - info.inner_offset;
    return info;
}

struct address_info memory_find(const void *address)
{
    NEEDS_LOCK();
    struct address_info info = {.kind = ADDRESS_PAGEABLE, .heap = address_map_find(address)};
    if (!info.heap)
        return find_in_host(info, address);
    info.pool = info.heap->pool;
    info.offset = (size_t)((const char *)address - info.heap->base);
    info.range = heap_find(info.heap, info.offset);
    info.kind = ADDRESS_UNALLOCATED;
    if (!info.range)
        return info;
    info.inner_offset = info.offset - info.range->offset;
    if (info.inner_offset >= info.range->requested)
        return info;
    info.kind = ADDRESS_ALLOCATED;
    info.bytes_left = info.range->requested - info.inner_offset;
    return info;
}

bool memory_host_has(const void *address, size_t bytes)
{
    NEEDS_LOCK();
    return !pinned_has_free_pages(address, bytes) && os_has_memory(address, bytes);
}

uint32_t memory_allocation_id(const struct address_info *a)
{
    NEEDS_LOCK();
    return a->kind == ADDRESS_ALLOCATED ? a->range->id
         : a->kind == ADDRESS_PINNED    ? a->pinned->id
                                        : 0;
}

struct shadow_ref memory_shadow(const struct address_info *a)
{
    NEEDS_LOCK();
    if (a->kind == ADDRESS_ALLOCATED)
        return (struct shadow_ref){&a->range->shadow, a->range->id,
                                   a->heap->base + a->range->offset, a->range->requested};
    return (struct shadow_ref){&a->pinned->shadow, a->pinned->id, a->pinned->base,
                               a->pinned->bytes};
}

struct shadow_ref memory_allocation_before(const struct address_info *a)
{
    NEEDS_LOCK();
    const struct range *found = NULL;
    if (!a->heap)
        return (struct shadow_ref){.shadow = NULL};
    for (const struct range *r = a->heap->first; r && r->offset <= a->offset; r = r->next)
        if (r->live)
            found = r;
    if (!found)
        return (struct shadow_ref){.shadow = NULL};
    return (struct shadow_ref){(struct shadow *)&found->shadow, found->id,
                               memory_address(a->heap, found), found->requested};
}

static const struct virtual_mapping *mapping_of(const struct address_info *a)
{
    return virtual_at(a->heap->base + a->offset);
}

bool memory_peer_accessible(const struct address_info *a, int device)
{
    NEEDS_LOCK();
    if (!a->heap)
        return true;
    if (a->pool)
        return a->pool->peer_rights >> device & 1;
    /* Measured (probe-more-peers.txt, "opened_on_gpu_0_used_on_gpu_1"): another process's memory is
     * accessible only from the device that was current when it was opened, even with peer
     * access. */
    if (memory_is_opened(a))
        return device == a->heap->opener;
    if (a->heap->is_virtual) {
        const struct virtual_mapping *v = mapping_of(a);
        return v && v->access >> device & 1;
    }
    /* Documented: managed memory is accessible from everywhere. */
    return a->heap->host_visible || device_peer_accessible(device, a->heap->device);
}

bool memory_peer_writable(const struct address_info *a, int device)
{
    NEEDS_LOCK();
    return memory_peer_accessible(a, device)
        && !(a->heap && a->heap->is_virtual && !(mapping_of(a)->writable >> device & 1));
}

int memory_home(const struct heap *h, size_t offset)
{
    NEEDS_LOCK();
    const struct virtual_mapping *v = h->is_virtual ? virtual_at(h->base + offset) : NULL;
    return v ? v->memory->properties.device : h->device;
}

const void *memory_owner(const struct address_info *a)
{
    NEEDS_LOCK();
    return a->pool ? (const void *)a->pool : &memory.device_heaps[a->heap->device];
}

struct peer_use **memory_peer_uses(int device)
{
    NEEDS_LOCK();
    return &memory.peer_uses[device];
}

int memory_device(const struct address_info *a)
{
    NEEDS_LOCK();
    if (a->pool)
        return a->pool->device == NO_DEVICE ? 0 : a->pool->device;
    /* Measured: probe-more-peers.txt, "opened_on_gpu_1". */
    if (memory_is_opened(a))
        return a->heap->opener;
    return a->heap->host_visible ? (int)(a->heap - memory.managed_heaps)
                                 : memory_home(a->heap, a->offset);
}

int memory_maker(const struct address_info *a)
{
    NEEDS_LOCK();
    if (a->kind == ADDRESS_PINNED)
        return a->pinned->device;
    return a->heap && !a->pool && !a->heap->is_virtual ? memory_device(a) : NO_DEVICE;
}

void *memory_address(const struct heap *h, const struct range *r)
{
    NEEDS_LOCK();
    return h->base + r->offset;
}

/* Assumed: every allocation of a pool that can be shared may be another process's, too. */
bool memory_is_noted(const struct heap *h, const struct shadow *allocation)
{
    NEEDS_LOCK();
    return !h->host_visible && !h->imported && !h->is_virtual && !(h->pool && h->file)
        && !allocation->ipc_ref;
}

/* ---- SIM_FILL ---- */

static int fill_value(void) { return (int)(0x01010101u * (unsigned)settings.fill); }

static void effect_fill(struct op *op)
{
    struct heap *h = address_map_find(op->to);
    if (h)
        heap_fill(h, (size_t)(op->to - h->base), op->bytes, fill_value());
}

void memory_fill_new(struct heap *h, const struct range *r, struct stream *s)
{
    NEEDS_LOCK();
    if (settings.fill == NO_FILL)
        return;
    if (!s || !s->head) {
        heap_fill(h, r->offset, r->requested, fill_value());
        return;
    }
    s->tail->effect = effect_fill;
    s->tail->to = memory_address(h, r);
    s->tail->bytes = r->requested;
}

void *memory_born(const struct call *call, struct heap *h, struct range *r,
                  enum allocation_kind kind, struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    void *address = memory_address(h, r);
    r->id = memory_new_id();
    if (memory_is_noted(h, &r->shadow)) {
        if (settings.init && settings.check)
            written_begin(&r->shadow);
        memory_fill_new(h, r, s);
    }
    checker_allocated(call, (struct shadow_ref){&r->shadow, r->id, address, r->requested}, kind, s,
                      seq);
    return address;
}

/* ---- cudaMalloc ---- */

/* Maps the start of a free range. Returns false if the device has no more memory. */
static bool map_start(struct heap *h, struct range *r, size_t bytes)
{
    size_t unmapped = heap_unmapped_count(h, r->offset, bytes);
    if (!unmapped)
        return true;
    if (!device_take(h->device, unmapped * MEMORY_GRANULARITY))
        return false;
    virtual_now += COST_GRANULE + COST_GRANULE_MIB * (unmapped * MEMORY_GRANULARITY / MiB);
    heap_map(h, r->offset, bytes);
    return true;
}

static struct range *allocate_small(struct heap *h, size_t size)
{
    struct range *r = heap_best_fit(&h->shared, size, UINT64_MAX);
    if (!r)
        r = heap_best_shared(h, size);
    return r && map_start(h, r, size) ? heap_take(h, r, r->offset, size) : NULL;
}

/* Allocates at the start of a granule. What is before it stays free. */
static struct range *allocate_large(struct heap *h, size_t size)
{
    struct range *r = heap_best_shared(h, size + MEMORY_GRANULARITY);
    if (!r)
        return NULL;
    size_t start = round_up(r->offset, MEMORY_GRANULARITY);
    return map_start(h, r, start - r->offset + size) ? heap_take(h, r, start, size) : NULL;
}

static struct range *allocate(struct heap *h, int device, bool host_visible, size_t bytes)
{
    if (!h->limit)
        heap_init(h, device, MEMORY_GRANULARITY, 2 * round_up(settings.memory, MEMORY_GRANULARITY));
    h->host_visible = host_visible;
    if (bytes > h->limit - 2 * MEMORY_GRANULARITY || !heap_open(h))
        return NULL;
    /* Assumed: the host's view of a managed allocation can be closed without its neighbors. */
    size_t alignment = host_visible ? PAGE : ALIGNMENT;
    struct range *r = bytes > SMALL_MAX ? allocate_large(h, round_up(bytes, MEMORY_GRANULARITY))
                                        : allocate_small(h, round_up(bytes, alignment));
    if (r)
        r->requested = bytes;
    return r;
}

struct range *memory_allocate(int device, size_t bytes)
{
    NEEDS_LOCK();
    return allocate(&memory.device_heaps[device], device, false, bytes);
}
struct range *memory_allocate_managed(int device, size_t bytes)
{
    NEEDS_LOCK();
    return allocate(&memory.managed_heaps[device], NO_DEVICE, true, bytes);
}
struct range *memory_allocate_variable(int device, size_t bytes, struct heap **heap)
{
    NEEDS_LOCK();
    struct heap *h = *heap = &memory.variable_heaps[device];
    if (!h->limit)
        heap_init(h, device, MEMORY_GRANULARITY, 8 * GiB);
    if (!heap_open(h))
        return NULL;
    size_t size = round_up(bytes, ALIGNMENT);
    struct range *r = heap_best_shared(h, size);
    if (!r)
        return NULL;
    heap_map(h, r->offset, size);
    r = heap_take(h, r, r->offset, size);
    r->requested = bytes;
    return r;
}
void memory_free_variable(const struct address_info *a)
{
    NEEDS_LOCK();
    heap_put(a->heap, a->range, SHARED_LIST, 0);
}
struct heap *memory_heap(int device)
{
    NEEDS_LOCK();
    return &memory.device_heaps[device];
}
struct heap *memory_managed_heap(int device)
{
    NEEDS_LOCK();
    return &memory.managed_heaps[device];
}

/* ---- cudaMalloc of other processes ---- */

struct heap *memory_new_opened(int device, int opener, size_t limit)
{
    NEEDS_LOCK();
    struct heap *h = os_allocate(sizeof *h);
    heap_init(h, device, MEMORY_GRANULARITY, limit);
    h->imported = true;
    h->opener = opener;
    h->next_opened = memory.opened;
    return memory.opened = h;
}

struct heap *memory_first_opened(void)
{
    NEEDS_LOCK();
    return memory.opened;
}

void memory_close_opened(void)
{
    NEEDS_LOCK();
    for (struct heap **at = &memory.opened, *h; (h = *at);) {
        if (h->allocations.count || engine_status.busy_streams) {
            at = &h->next_opened;
            continue;
        }
        *at = h->next_opened;
        address_map_remove(h);
        heap_close(h);
        os_free(h);
    }
}

/* ---- freeing ---- */

void memory_free(struct address_info *a)
{
    NEEDS_LOCK();
    struct heap *h = a->heap;
    heap_put(h, a->range, SHARED_LIST, 0);
    size_t segments = heap_release(h, 0);
    device_give(h->device, segments * MEMORY_GRANULARITY);
    if (segments)
        virtual_now += COST_GRANULE + COST_GRANULE_MIB * (segments * MEMORY_GRANULARITY / MiB);
}

/* Returns the first allocation of the program at or after this range, or NULL. */
static struct range *programs_range(struct range *r)
{
    while (r && (!r->live || memory_is_variable(r)))
        r = r->next;
    return r;
}

void memory_end_device(const struct call *call, int device)
{
    NEEDS_LOCK();
    struct heap *heaps[] = {&memory.device_heaps[device], &memory.managed_heaps[device]};
    for (int n = 0; n < 2; n++)
        for (struct range *r = programs_range(heaps[n]->first), *next; r; r = next) {
            next = programs_range(r->next);
            struct address_info a = memory_find(memory_address(heaps[n], r));
            checker_freed(call, memory_shadow(&a), NULL, 0);
            memory_free(&a);
        }
    for (struct pinned *p = pinned_newest(), *next; p; p = next) {
        next = p->next;
        struct shadow_ref ref = {&p->shadow, p->id, p->base, p->bytes};
        if (p->device != device)
            continue;
        if (p->registered)
            checker_unregistered(call, ref);
        else
            checker_freed(call, ref, NULL, 0);
        pinned_end(p);
    }
}

/* ---- live allocations ---- */

/* Documented: a reset does not end the allocations of pools. */
bool memory_is_variable(const struct range *r)
{
    NEEDS_LOCK();
    return r->shadow.allocated_by.slot == HOST_SLOT && !r->shadow.allocated_by.number;
}

static size_t for_each_live_in(struct heap *h, void (*visit)(struct shadow_ref))
{
    size_t live = 0;
    for (struct range *r = h->first; r; r = r->next) {
        int home = memory_home(h, r->offset);
        if (!r->live || memory_is_variable(r)
            || (!h->pool && home != NO_DEVICE && r->id <= device_last_reset(home)->allocation))
            continue;
        live++;
        visit((struct shadow_ref){&r->shadow, r->id, memory_address(h, r), r->requested});
    }
    return live;
}

size_t memory_for_each_live(void (*visit)(struct shadow_ref))
{
    NEEDS_LOCK();
    size_t live = 0;
    for (struct heap *h = memory.opened; h; h = h->next_opened)
        live += for_each_live_in(h, visit);
    for (struct heap *h = virtual_first(); h; h = h->next_opened)
        live += for_each_live_in(h, visit);
    for (int d = 0; d < settings.devices; d++)
        live += for_each_live_in(&memory.device_heaps[d], visit)
              + for_each_live_in(&memory.managed_heaps[d], visit);
    for (struct pool *p = pool_first(); p; p = p->next)
        live += for_each_live_in(&p->heap, visit);
    for (struct pinned *p = pinned_newest(); p; p = p->next) {
        if (p->registered)
            continue;
        live++;
        visit((struct shadow_ref){&p->shadow, p->id, p->base, p->bytes});
    }
    return live;
}
