/* All memory that a program can name. cudaMalloc's blocks lie in a heap of 2 MiB granules, one heap a device; sources: probe-answers.txt
 * (blocks of at most 1 MiB share a granule, larger ones take whole granules, a granule goes back with its last block). */
#include "mem/memory.h"

#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "check/page_guard.h"
#include "os/os.h"
#include "base/settings.h"
#include "mem/address_map.h"

#define GRANULE (2 * MiB)
#define SHARED  (1 * MiB)              /* blocks up to this share granules */

static struct heap plain[MAX_DEVICES], managed[MAX_DEVICES];
static struct reach *reaches[MAX_DEVICES];
static struct pinned *pins;
static uint32_t ids;

uint32_t memory_new_id(void) { return ++ids; }

/* ---- finding ---- */

static struct pinned *find_pin(const char *address)
{
    for (struct pinned *p = pins; p; p = p->next)
        if (address >= p->base && address < p->base + p->bytes) return p;
    return NULL;
}

struct place memory_find(const void *address)
{
    struct place place = { .kind = PLACE_PAGEABLE };
    place.heap = space_find(address, &place.pool);
    if (!place.heap) {
        place.pinned = address ? find_pin(address) : NULL;
        if (!place.pinned) return place;
        place.kind = PLACE_PINNED;
        place.room = place.pinned->bytes - (size_t)((const char *)address - place.pinned->base);
        return place;
    }
    place.offset = (size_t)((const char *)address - place.heap->base);
    place.chunk = heap_find(place.heap, place.offset);
    size_t in = place.chunk ? place.offset - place.chunk->offset : 0;
    bool inside = place.chunk && in < place.chunk->asked;
    place.kind = inside ? PLACE_BLOCK : PLACE_UNUSED;
    place.room = inside ? place.chunk->asked - in : 0;
    return place;
}

struct pinned *memory_pinned_within(const void *address, size_t bytes)
{
    const char *from = address, *to = from + bytes;
    struct pinned *p = pins;
    while (p && (p->base >= to || from >= p->base + p->bytes)) p = p->next;
    return p;
}

uint32_t memory_block(const struct place *p)
{
    return p->kind == PLACE_BLOCK ? p->chunk->id : p->kind == PLACE_PINNED ? p->pinned->id : 0;
}

struct watched memory_watched(struct place *p, size_t *at)
{
    if (p->kind == PLACE_BLOCK) {
        if (at) *at = p->offset - p->chunk->offset;
        return (struct watched){ &p->chunk->watch, p->chunk->id, memory_address(p->heap, p->chunk), p->chunk->asked };
    }
    if (at) *at = p->pinned->bytes - p->room;
    return (struct watched){ &p->pinned->watch, p->pinned->id, p->pinned->base, p->pinned->bytes };
}

struct watched memory_below(const struct place *p)
{
    const struct chunk *below = NULL;
    if (!p->heap) return (struct watched){ .watch = NULL };
    for (const struct chunk *c = p->heap->first; c && c->offset <= p->offset; c = c->next)
        if (c->live) below = c;
    if (!below) return (struct watched){ .watch = NULL };
    return (struct watched){ (struct watch *)&below->watch, below->id, memory_address(p->heap, below), below->asked };
}

bool memory_reachable(const struct place *p, int device)
{
    if (!p->heap) return true;
    if (p->pool) return p->pool->access >> device & 1;
    return p->heap->shared || device_reaches(device, p->heap->device);     /* documented: managed memory from everywhere */
}

const void *memory_owner(const struct place *p) { return p->pool ? (const void *)p->pool : &plain[p->heap->device]; }

struct reach **memory_reaches(int device) { return &reaches[device]; }

int memory_device(const struct place *p)
{
    if (p->pool) return p->pool->device == NO_DEVICE ? 0 : p->pool->device;
    return p->heap->shared ? (int)(p->heap - managed) : p->heap->device;
}

/* ---- cudaMalloc ---- */

/* Physical memory under the start of a free chunk; false when the device has no more. */
static bool map(struct heap *h, struct chunk *c, size_t bytes)
{
    size_t missing = heap_missing(h, c->offset, bytes);
    if (!missing) return true;
    if (!device_take(h->device, missing * GRANULE)) return false;
    clock_charge(COST_GRANULE + COST_GRANULE_MIB * (missing * GRANULE / MiB));
    heap_map(h, c, bytes);
    return true;
}

static struct chunk *allocate_shared(struct heap *h, size_t size)
{
    struct chunk *c = heap_best_common(h, size, true);
    if (!c) c = heap_best_common(h, size, false);
    return c && map(h, c, size) ? heap_take(h, c, size) : NULL;
}

/* At the start of a granule; what lies before it stays free. */
static struct chunk *allocate_whole(struct heap *h, size_t size)
{
    struct chunk *c = heap_best_common(h, size + GRANULE, false), *before = NULL;
    size_t skip = c ? round_up(c->offset, GRANULE) - c->offset : 0;
    if (!c || !map(h, c, skip + size)) return NULL;
    if (skip) {
        before = heap_take(h, c, skip);
        c = before->next;
    }
    struct chunk *block = heap_take(h, c, size);
    if (before) heap_put(h, before, COMMON, 0);
    return block;
}

static struct chunk *allocate(struct heap *h, int device, bool shared, size_t bytes)
{
    if (!h->limit) heap_init(h, device, GRANULE, 2 * round_up(settings.memory, GRANULE));
    h->shared = shared;
    if (bytes > h->limit - 2 * GRANULE || !heap_open(h)) return NULL;
    if (!space_knows(h)) space_add(h, NULL);
    size_t grain = shared ? PAGE : GRAIN;                    /* chosen: the host's view of each managed block can be closed without its neighbours' */
    struct chunk *c = bytes > SHARED ? allocate_whole(h, round_up(bytes, GRANULE)) : allocate_shared(h, round_up(bytes, grain));
    if (c) c->asked = bytes;
    return c;
}

struct chunk *memory_allocate(int device, size_t bytes) { return allocate(&plain[device], device, false, bytes); }
struct chunk *memory_allocate_managed(int device, size_t bytes) { return allocate(&managed[device], NO_DEVICE, true, bytes); }
struct heap *memory_heap(int device) { return &plain[device]; }
struct heap *memory_managed_heap(int device) { return &managed[device]; }

void memory_free(struct place *p)
{
    struct heap *h = p->heap;
    size_t idle, granules = 0;
    heap_put(h, p->chunk, COMMON, 0);
    while ((idle = heap_idle_step(h, true, 0, 0)) != SIZE_MAX) {
        heap_unmap(h, idle);
        granules++;
    }
    device_give(h->device, granules * GRANULE);
    if (granules) clock_charge(COST_GRANULE + COST_GRANULE_MIB * (granules * GRANULE / MiB));
}

/* ---- pinned host memory ---- */

static struct pinned *add_pin(char *base, char *storage, size_t bytes, unsigned flags, bool registered)
{
    struct pinned *p = host_allocate(sizeof *p);
    *p = (struct pinned){ .base = base, .storage = storage, .bytes = bytes, .flags = flags, .registered = registered, .id = memory_new_id(), .device = device_current(), .next = pins };
    pins = p;
    return p;
}

struct pinned *memory_pin_new(size_t bytes, unsigned flags)
{
    char *storage, *base = host_pages(bytes, &storage);
    return base ? add_pin(base, storage, bytes, flags, false) : NULL;
}

struct pinned *memory_pin(void *base, size_t bytes, unsigned flags) { return add_pin(base, base, bytes, flags, true); }

void memory_unpin(struct pinned *p)
{
    for (struct pinned **at = &pins; *at; at = &(*at)->next)
        if (*at == p) { *at = p->next; break; }
    guard_forgotten(p->base, p->bytes);
    if (!p->registered) host_free_pages(p->base, p->storage, p->bytes);
    host_free(p);
}

/* ---- what is left ---- */

static size_t each_live_in(struct heap *h, void (*visit)(struct watched))
{
    size_t live = 0;
    for (struct chunk *c = h->first; c; c = c->next) {
        if (!c->live || c->id <= device_cleaned(h->device)) continue;
        live++;
        visit((struct watched){ &c->watch, c->id, memory_address(h, c), c->asked });
    }
    return live;
}

size_t memory_each_live(void (*visit)(struct watched))
{
    size_t live = 0;
    for (int d = 0; d < settings.devices; d++) live += each_live_in(&plain[d], visit) + each_live_in(&managed[d], visit);
    for (struct pool *p = pool_first(); p; p = p->next) live += each_live_in(&p->heap, visit);
    for (struct pinned *p = pins; p; p = p->next) {
        if (p->registered || p->id <= device_cleaned(NO_DEVICE)) continue;
        live++;
        visit((struct watched){ &p->watch, p->id, p->base, p->bytes });
    }
    return live;
}
