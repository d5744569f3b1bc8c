/* A heap: its beginning and end, its lists of free chunks, and how chunks are cut and become one again. The laws are in mem/heap.h. */
#include "mem/heap_internal.h"

#include "os/os.h"
#include "os/process.h"

/* ---- chunks have numbers ---- */

#define SLAB  16384                    /* chunks */
#define SLABS 16384

static struct chunk *slabs[SLABS];     /* chunk n is slabs[n / SLAB][n % SLAB] */
static struct chunk *spare;
static uint32_t chunks;                /* that were ever made */

static struct chunk *chunk_numbered(uint32_t n) { return n == NO_CHUNK ? NULL : &slabs[n / SLAB][n % SLAB]; }

static struct chunk *chunk_new(void)
{
    struct chunk *c = spare;
    if (c) {
        spare = c->next;
        return c;
    }
    if (chunks == (uint32_t)SLAB * SLABS) host_give_up("more than 268 million blocks are alive or free at once.");
    if (!slabs[chunks / SLAB]) slabs[chunks / SLAB] = host_slab(SLAB * sizeof *c);
    c = &slabs[chunks / SLAB][chunks % SLAB];
    c->number = chunks++;
    return c;
}

static void chunk_drop(struct chunk *c)
{
    c->next = spare;
    spare = c;
}

/* ---- opening ---- */

void heap_init(struct heap *h, int device, size_t step, size_t limit)
{
    *h = (struct heap){ .device = device, .step = step, .limit = limit };
    size_t words = heap_steps(h) / 64 + 1;
    h->mapped = host_allocate(words * sizeof *h->mapped);
    h->idle_owner = host_allocate(heap_steps(h) * sizeof *h->idle_owner);
    h->idle = host_allocate(words * sizeof *h->idle);
}

size_t heap_shared_count;

/* A range is far larger than what is allocated in it, so a process that may have few addresses has none for a single block. */
static void say_no_addresses(const struct heap *h)
{
    static bool said;
    if (!said)
        host_say("this process has no %zu GiB of addresses left for a pool or for cudaMalloc: they are limited (ulimit -v, valgrind), or used up by others. "
                 "A device with less memory needs fewer: SIM_MEMORY=1G.", 2 * h->limit / GiB);
    said = true;
}

bool heap_open(struct heap *h)
{
    if (h->base) return true;
    if (!starts_open(&h->starts, h->limit)) return false;
    h->base = h->shared ? host_reserve_shared(h->limit) : h->file ? host_reserve_in_file(h->file, HEAP_FILE_HEAD, h->limit) : host_reserve(h->limit);
    if (!h->base) {
        say_no_addresses(h);
        starts_close(&h->starts);
        return false;
    }
    heap_shared_count += h->shared;
    struct chunk *all = chunk_new();
    all->fit = (struct fit){ .bytes = h->limit, .age = ++h->ages };
    all->offset = 0;
    all->previous = all->next = NULL;
    all->lane = COMMON;
    all->live = false;
    all->partial = true;
    h->first = all;
    fit_insert(&h->parts, &all->fit);
    return true;
}

void heap_close(struct heap *h)
{
    for (struct chunk *c = h->first, *next; c; c = next) {
        next = c->next;
        chunk_drop(c);
    }
    starts_close(&h->starts);
    if (h->base) host_unreserve(h->base, h->limit);
    host_free(h->mapped);
    host_free(h->idle_owner);
    host_free(h->idle);
    host_free(h->lanes);
    host_free(h->lane_place);
    h->base = NULL;
}

/* ---- lists ---- */

struct fit_list *heap_lane(struct heap *h, uint32_t lane)
{
    if (lane >= h->known_lanes) {
        uint32_t wanted = lane + 8;
        h->lane_place = host_grow(h->lane_place, wanted * sizeof *h->lane_place);
        for (uint32_t i = h->known_lanes; i < wanted; i++) h->lane_place[i] = UINT32_MAX;
        h->known_lanes = wanted;
    }
    if (h->lane_place[lane] == UINT32_MAX) {
        h->lane_place[lane] = h->lane_count;
        h->lanes = host_grow(h->lanes, (h->lane_count + 1) * sizeof *h->lanes);
        h->lanes[h->lane_count++] = (struct lane_list){ { NULL }, lane };
    }
    return &h->lanes[h->lane_place[lane]].fits;
}

struct fit_list *heap_list(struct heap *h, const struct chunk *c)
{
    if (c->lane == COMMON) return c->partial ? &h->parts : &h->whole;
    return heap_lane(h, c->lane);
}

struct chunk *heap_best_common(const struct heap *h, size_t bytes, bool whole)
{
    struct fit *a = fit_best(&h->whole, bytes, UINT64_MAX);
    if (whole) return (struct chunk *)a;
    struct fit *b = fit_best(&h->parts, bytes, UINT64_MAX);
    if (!a || !b) return (struct chunk *)(a ? a : b);
    return (struct chunk *)(a->bytes < b->bytes || (a->bytes == b->bytes && a->age < b->age) ? a : b);
}

/* ---- finding ---- */

struct chunk *heap_find(const struct heap *h, size_t offset)
{
    if (offset >= h->top * h->step) return NULL;
    uint32_t n = offset % GRAIN ? NO_CHUNK : starts_at(&h->starts, offset);
    if (n == NO_CHUNK) n = starts_before(&h->starts, offset);
    struct chunk *c = chunk_numbered(n);
    if (!c) return NULL;
    __builtin_prefetch(&c->offset);    /* its second line comes beside the first */
    return offset < chunk_end(c) ? c : NULL;
}

/* ---- chunks ---- */

static void unlink_chunk(struct heap *h, struct chunk *c)
{
    if (c->previous) c->previous->next = c->next;
    else h->first = c->next;
    if (c->next) c->next->previous = c->previous;
}

/* A new chunk in front of c. */
static struct chunk *link_before(struct heap *h, struct chunk *c)
{
    struct chunk *n = chunk_new();
    n->next = c;
    n->previous = c->previous;
    if (c->previous) c->previous->next = n;
    else h->first = n;
    c->previous = n;
    return n;
}

struct chunk *heap_take(struct heap *h, struct chunk *c, size_t bytes)
{
    struct chunk *taken = c;
    starts_fetch(&h->starts, c->offset);
    fit_remove(heap_list(h, c), &c->fit);
    if (c->lane == COMMON) heap_own(h, NULL, c->offset, c->offset + bytes);
    if (c->fit.bytes > bytes) {        /* c stays as the rest, so that the steps it owns still point to it */
        taken = link_before(h, c);
        taken->offset = c->offset;
        taken->fit.bytes = bytes;
        c->offset += bytes;
        c->fit.bytes -= bytes;
        c->fit.age = ++h->ages;
        if (c->lane == COMMON) c->partial = heap_is_partial(h, c);
        fit_insert(heap_list(h, c), &c->fit);
    }
    taken->live = true;
    taken->asked = 0;
    taken->id = 0;
    taken->leaving = false;
    taken->watch = (struct watch){ .accesses = NULL };
    starts_put(&h->starts, taken->offset, taken->number);
    return taken;
}

/* Puts a free chunk that is in no list into one, and makes it one with its neighbours there. */
static void insert_free(struct heap *h, struct chunk *c, uint32_t lane, uint64_t mark)
{
    struct chunk *left = c->previous, *right = c->next, *whole = c;
    if (left && (left->live || left->lane != lane)) left = NULL;
    if (right && (right->live || right->lane != lane)) right = NULL;
    size_t from = left ? left->offset : c->offset, to = right ? chunk_end(right) : chunk_end(c);
    size_t changed_from = from, changed_to = to;
    if (left) {
        fit_remove(heap_list(h, left), &left->fit);
        if (left->fit.mark > mark) mark = left->fit.mark;
    }
    if (right) {
        fit_remove(heap_list(h, right), &right->fit);
        if (right->fit.mark > mark) mark = right->fit.mark;
    }
    /* the larger neighbour lives on: it may own many steps */
    if (left && (!right || left->fit.bytes >= right->fit.bytes)) {
        whole = left;
        changed_from = c->offset;
    } else if (right) {
        whole = right;
        changed_to = chunk_end(c);
    }
    struct chunk *parts[3] = { left, c, right };
    for (int i = 0; i < 3; i++)
        if (parts[i] && parts[i] != whole) {
            unlink_chunk(h, parts[i]);
            chunk_drop(parts[i]);
        }
    whole->offset = from;
    whole->fit.bytes = to - from;
    whole->fit.mark = mark;
    whole->fit.age = ++h->ages;
    whole->lane = lane;
    whole->live = false;
    if (lane == COMMON) {
        whole->partial = heap_is_partial(h, whole);
        heap_own(h, whole, changed_from, changed_to);
    }
    fit_insert(heap_list(h, whole), &whole->fit);
}

void heap_put(struct heap *h, struct chunk *c, uint32_t lane, uint64_t mark)
{
    if (c->previous) __builtin_prefetch(&c->previous->offset);         /* they are needed soon, and lie anywhere */
    if (c->next) __builtin_prefetch(&c->next->offset);
    starts_remove(&h->starts, c->offset);
    c->live = false;
    insert_free(h, c, lane, mark);
}

struct chunk *heap_take_at(struct heap *h, size_t offset, size_t bytes)
{
    struct chunk *c = h->first, *before = NULL;
    while (c && chunk_end(c) <= offset) c = c->next;
    if (!c || c->live || chunk_end(c) < offset + bytes) return NULL;
    size_t skip = offset - c->offset;
    heap_map(h, c, skip + bytes);
    if (skip) {
        before = heap_take(h, c, skip);
        c = before->next;
    }
    struct chunk *taken = heap_take(h, c, bytes);
    if (before) heap_put(h, before, COMMON, 0);
    return taken;
}

void heap_make_common(struct heap *h, struct chunk *c)
{
    fit_remove(heap_list(h, c), &c->fit);
    insert_free(h, c, COMMON, 0);
}
