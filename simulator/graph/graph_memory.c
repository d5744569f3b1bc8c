/* The memory of graphs. Each graph has a heap of addresses on each device that its allocation nodes name; a step of a heap is mapped from the first
 * launch that needs it until cudaDeviceGraphMemTrim or the end of the last executable graph.
 *
 * Rules: nothing is reserved before a launch (measured); a block that no node frees keeps its memory, and a free returns nothing (documented).
 *
 * Laws (graph_memory_is_valid walks them): those of the heaps and of the backing; a live block is a live chunk at its offset; `users` counts the graph, its nodes and
 * those of others with its blocks, executable graphs and live blocks. */
#include "graph/graph_memory.h"

#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "graph/graph_va.h"
#include "os/os.h"
#include "base/journal.h"
#include "mem/address_map.h"

struct graph_memory {
    struct graph_memory *next;         /* all */
    struct graph_memory *next_device;  /* of the same graph */
    struct pool         *pool;
    struct graph_block  *blocks;
    struct addresses     addresses;
    struct backing       backing;
    size_t               users;
    size_t               instances;    /* executable graphs */
};

static struct graph_memory *memories;

static size_t first_step(const struct graph_block *b) { return b->offset / STEP; }
static size_t last_step(const struct graph_block *b) { return (b->offset + b->bytes - 1) / STEP; }

struct graph_figures *graph_memory_figures(int device) { return backing_figures(device); }

static void journal_change(const char *what, int device, size_t steps, const char *why)
{
    if (!steps) return;
    journal_did(what);
    journal_signed("graph_memory_of_device", device);
    journal_number("steps", steps);
    journal_number("reserved", graph_memory_figures(device)->reserved);
    if (why) journal_text("why", why);
    journal_did_end(clock_now());
}

/* ---- the end ---- */

/* Ends what nobody uses any more; what still runs is looked at again later. */
static void reap(void)
{
    for (struct graph_memory **at = &memories; *at;) {
        struct graph_memory *m = *at;
        if (!m->instances) backing_drop(&m->backing, &m->pool->heap);
        if (m->users || m->pool->heap.mapped_count) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        pool_discard(m->pool);
        for (struct graph_block *b = m->blocks, *next; b; b = next) {
            next = b->next;
            host_free(b->list);
            host_free(b);
        }
        addresses_close(&m->addresses);
        host_free(m->backing.steps);
        host_free(m->backing.before);
        host_free(m);
    }
}

void graph_memory_leave(struct graph *g)
{
    for (struct graph_memory *m = g->memory; m; m = m->next_device) m->users--;
    reap();
}

void graph_block_forget(struct node *n)
{
    if (n->task.block->allocated_by == n) n->task.block->allocated_by = NULL;
    n->task.block->memory->users--;
}

void graph_block_instantiated(struct graph_block *b)
{
    b->memory->users++;
    b->memory->instances++;
}

void graph_block_released(struct graph_block *b)
{
    b->memory->users--;
    b->memory->instances--;
    reap();
}

void graph_memory_trim(int device)
{
    for (struct graph_memory *m = memories; m; m = m->next)
        if (m->pool->device == device) backing_drop(&m->backing, &m->pool->heap);
    size_t steps = backing_release(device);
    reap();
    clock_charge(COST_RELEASE_STEP * steps);
    journal_change("release", device, steps, "trim");
}

/* ---- addresses ---- */

static struct graph_memory *memory_of(struct graph *g, int device)
{
    for (struct graph_memory *m = g->memory; m; m = m->next_device)
        if (m->pool->device == device) return m;
    reap();
    struct graph_memory *m = host_allocate(sizeof *m);
    m->pool = pool_for_graph(device, m);
    m->backing.device = device;
    m->users = 1;
    if (!heap_open(&m->pool->heap)) {
        pool_discard(m->pool);
        host_free(m);
        return NULL;
    }
    space_add(&m->pool->heap, m->pool);
    m->next = memories;
    memories = m;
    m->next_device = g->memory;
    g->memory = m;
    return m;
}

struct graph_block *graph_block_new(struct graph *g, int device, size_t bytes, uint32_t access, struct node *const *before, size_t count)
{
    struct graph_memory *m = memory_of(g, device);
    if (!m || bytes > m->pool->heap.limit - GRAIN) return NULL;
    graph_mark(before, count);
    size_t offset = addresses_take(&m->addresses, round_up(bytes, GRAIN), m->pool->heap.limit);
    if (offset == SIZE_MAX) return NULL;
    struct graph_block *b = host_allocate(sizeof *b);
    *b = (struct graph_block){ .next = m->blocks, .memory = m, .offset = offset, .bytes = bytes, .access = access };
    m->blocks = b;
    m->pool->access |= access;         /* documented: an allocation may be reached from more devices than it asked for */
    return b;
}

static void free_in_graph(struct graph_block *b, struct node *n)
{
    b->freed_by = n;
    addresses_give(&b->memory->addresses, b->offset, round_up(b->bytes, GRAIN), n);
}

void graph_block_keep(struct node *n)
{
    n->task.block->memory->users++;
    if (n->task.kind == TASK_ALLOCATE) n->task.block->allocated_by = n;
    else if (n->task.block->allocated_by && n->task.block->allocated_by->graph == n->graph) free_in_graph(n->task.block, n);
    else n->task.block->freed_elsewhere = true;
}

void *graph_block_address(const struct graph_block *b) { return b->memory->pool->heap.base + b->offset; }

void graph_block_parameters(struct graph_block *b, struct cudaMemAllocNodeParams *p)
{
    size_t count = 0;
    b->list = host_grow(b->list, MAX_DEVICES * sizeof *b->list);
    for (int d = 0; d < MAX_DEVICES; d++)
        if (b->access >> d & 1) b->list[count++] = (struct cudaMemAccessDesc){ { cudaMemLocationTypeDevice, d }, cudaMemAccessFlagsProtReadWrite };
    *p = (struct cudaMemAllocNodeParams){ .poolProps = b->memory->pool->props, .accessDescs = count ? b->list : NULL, .accessDescCount = count, .bytesize = b->bytes, .dptr = graph_block_address(b) };
}

static struct graph_memory *memory_at(const void *address, size_t *offset)
{
    struct pool *pool;
    struct heap *h = space_find(address, &pool);
    if (!h || !pool || !pool->graph) return NULL;
    *offset = (size_t)((const char *)address - h->base);
    return pool->graph;
}

struct graph_block *graph_block_to_free(struct graph *g, const void *address)
{
    size_t offset;
    struct graph_memory *m = memory_at(address, &offset);
    for (struct graph_block *b = m ? m->blocks : NULL; b; b = b->next) {
        bool own = b->allocated_by && b->allocated_by->graph == g;
        /* documented: once, and in the owning graph or in others, not in both */
        if (b->offset == offset && !b->freed_by && (own ? !b->freed_elsewhere : b->allocated_by || b->chunk)) return b;
    }
    return NULL;
}

size_t graph_block_room(const void *address)
{
    size_t offset, room = 0;
    struct graph_memory *m = memory_at(address, &offset);
    for (struct graph_block *b = m ? m->blocks : NULL; b; b = b->next)
        if (offset >= b->offset && offset < b->offset + b->bytes && b->offset + b->bytes - offset > room) room = b->offset + b->bytes - offset;
    return room;
}

size_t graph_memory_room(const void *address)
{
    size_t offset, end;
    struct graph_memory *m = memory_at(address, &offset);
    if (!m) return 0;
    end = round_up(m->addresses.top, STEP);
    return offset < end ? end - offset : 0;
}

/* ---- a launch ---- */

bool graph_memory_back(struct graph_block *const *blocks, size_t count, struct stream *s, bool *moved)
{
    backing_launch();
    for (size_t i = 0; i < count; i++) {
        struct graph_memory *m = blocks[i]->memory;
        size_t grown = 0;
        bool enough = true;
        for (size_t x = first_step(blocks[i]); enough && x <= last_step(blocks[i]); x++) enough = backing_take(&m->backing, x, s, &grown, moved);
        if (grown) clock_charge(COST_GROW + COST_GROW_STEP * grown);
        journal_change("grow", m->pool->device, grown, NULL);
        if (enough) continue;
        for (size_t k = 0; k <= i; k++)
            for (size_t x = first_step(blocks[k]); x <= last_step(blocks[k]); x++) backing_undo(&blocks[k]->memory->backing, x);
        graph_memory_trim(m->pool->device);                  /* what was taken in vain goes back */
        return false;
    }
    return true;
}

void graph_memory_launched(struct graph_block *const *blocks, size_t count, const struct stream *s)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t x = first_step(blocks[i]); x <= last_step(blocks[i]); x++) backing_used(&blocks[i]->memory->backing, x, s, s->last);
        graph_memory_figures(blocks[i]->memory->pool->device);
    }
}

/* ---- blocks ---- */

static struct watched watched(const struct graph_block *b)
{
    return (struct watched){ &b->chunk->watch, b->chunk->id, graph_block_address(b), b->bytes };
}

static void journal_block(const char *what, const struct graph_block *b, const struct stream *s)
{
    struct deed by = checker_caller();
    journal_did(what);
    if (by.launch) journal_number("launch", by.launch);
    if (s && s->id) journal_number("stream", (uint64_t)s->id);
    journal_number("block", b->chunk->id);
    journal_number("bytes", b->bytes);
    journal_number("offset", b->offset);
    journal_did_end(clock_now());
}

/* Makes [offset, offset + bytes) live, whatever free chunk it lies in. */
static struct chunk *take_at(struct heap *h, size_t offset, size_t bytes)
{
    struct chunk *c = h->first, *before = NULL;
    while (c->offset + c->fit.bytes <= offset) c = c->next;
    if (offset > c->offset) {
        before = heap_take(h, c, offset - c->offset);
        c = before->next;
    }
    heap_map(h, c, bytes);
    struct chunk *taken = heap_take(h, c, bytes);
    if (before) heap_put(h, before, COMMON, 0);
    return taken;
}

static void allocate_block(struct graph_block *b, struct stream *s)
{
    b->chunk = take_at(&b->memory->pool->heap, b->offset, round_up(b->bytes, GRAIN));
    b->chunk->asked = b->bytes;
    b->chunk->id = memory_new_id();
    b->memory->users++;
    for (size_t x = first_step(b); x <= last_step(b); x++) backing_hold(&b->memory->backing, x, true);
    uint64_t number = stream_mark(s);
    checker_allocated(watched(b), s, number);
    if (b->freed.call) checker_allocated_again(watched(b), s, number, &b->freed);
    journal_block("allocate", b, s);
}

static void free_block(struct graph_block *b, struct stream *s, uint64_t number)
{
    checker_freed(watched(b), s, number);
    b->freed = checker_deed(s, number);
    journal_block("free", b, s);
    for (size_t x = first_step(b); x <= last_step(b); x++) {
        backing_hold(&b->memory->backing, x, false);
        if (s) backing_used(&b->memory->backing, x, s, number);
    }
    heap_put(&b->memory->pool->heap, b->chunk, COMMON, 0);
    b->chunk = NULL;
    b->memory->users--;
}

void graph_block_free(struct graph_block *b, struct stream *s)
{
    uint64_t number = s ? stream_mark(s) : 0;
    if (b->chunk) {
        free_block(b, s, number);
    } else {
        b->freed_early = s;
        b->freed_early_number = number;
        b->freed_early_by = checker_caller();
    }
}

void graph_block_allocate(struct graph_block *b, struct stream *s)
{
    allocate_block(b, s);
    if (!b->freed_early) return;
    checker_node(&(struct deed){ .site = b->freed_early_by.launch_site }, b->freed_early_by.call, b->freed_early_by.site, b->freed_early_by.launch, 0);
    free_block(b, b->freed_early, b->freed_early_number);
    b->freed_early = NULL;
}

struct graph_block *graph_block_at(const struct place *p)
{
    struct graph_block *b = p->pool->graph->blocks;
    while (b->chunk != p->chunk) b = b->next;
    return b;
}

/* ---- the laws ---- */

/* What was given out lies in one piece or in one block that its graph does not free. */
static bool addresses_are_valid(const struct graph_memory *m)
{
    size_t sum = addresses_free(&m->addresses, 0, SIZE_MAX);
    for (const struct graph_block *b = m->blocks; b; b = b->next) {
        if (b->freed_by) continue;
        sum += round_up(b->bytes, GRAIN);
        if (addresses_free(&m->addresses, b->offset, b->offset + b->bytes)) return false;
    }
    return sum == m->addresses.top;
}

const char *graph_memory_is_valid(void)
{
    backing_count_begin();
    for (const struct graph_memory *m = memories; m; m = m->next) {
        const char *broken = heap_is_valid(&m->pool->heap);
        size_t live = 0;
        if (broken) return broken;
        for (size_t x = 0; x < m->backing.count; x++) backing_count(&m->backing, x, false);
        for (const struct graph_block *b = m->blocks; b; b = b->next) {
            if (!b->chunk) continue;
            if (heap_find(&m->pool->heap, b->offset) != b->chunk || b->chunk->asked != b->bytes) return "a live block is not the live chunk at its offset";
            for (size_t x = first_step(b); x <= last_step(b); x++) backing_count(&m->backing, x, true);
            live++;
        }
        if (!addresses_are_valid(m)) return "a graph's addresses were given out twice, or lost";
        if (live != m->pool->heap.starts.count) return "a graph's heap has chunks that are no block";
        if (m->users < live) return "a graph's memory has more live blocks than users";
    }
    return backing_count_end();
}
