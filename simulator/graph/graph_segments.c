/* The physical memory of graphs. Documented (CUDA programming guide, "graph memory nodes", physical memory management): a launch does not get the memory of a
 * graph that may run at the same time, nor what an unfreed block lies on; nothing goes back by itself.
 * Measured (tests/facts/probe-graphs.txt, "graph_sizes", "graph_sharing"; probe-graph-nodes.txt, "trims"): it comes in steps of 32 MiB; a launch takes steps whose last use
 * was in its own stream or is over, and whether the host knows that does not matter; an event that puts the other launch first does not count. What is
 * reserved is all called used, until a trim.
 * Chosen: a graph keeps the steps that it has, when the order puts their last use before the launch; graphs that share a step do not see each other's bytes.
 *
 * Law: a step's `graphs` = backings that name it; its `blocks` = live blocks that lie on it. */
#include "graph/graph_segments.h"

#include "mem/device.h"
#include "os/os.h"

struct step {
    struct step *next;
    uint32_t lane;                     /* its last use: this work ... */
    uint64_t number;                   /* ... of this stream */
    uint32_t blocks;                   /* live blocks on it */
    uint32_t graphs;                   /* backings that name it */
    uint64_t launch;                   /* taken by the launch of this number */
    uint32_t counted_blocks, counted_graphs;
};

static struct { struct step *steps; struct graph_figures figures; } on_device[MAX_DEVICES];
static uint64_t launches;

static bool is_over(const struct step *p) { return stream_of_lane(p->lane)->done >= p->number; }

/* ---- figures ---- */

struct graph_figures *backing_figures(int device)
{
    struct graph_figures *f = &on_device[device].figures;
    f->reserved = 0;
    for (struct step *p = on_device[device].steps; p; p = p->next) f->reserved += STEP;
    f->used = f->reserved;
    if (f->used_high < f->used) f->used_high = f->used;
    if (f->reserved_high < f->reserved) f->reserved_high = f->reserved;
    return f;
}

/* ---- taking ---- */

void backing_launch(void) { launches++; }

/* May a launch in `s` take the step? */
static bool is_available(const struct step *p, const struct stream *s)
{
    return !p->blocks && p->launch != launches && (p->lane == s->lane || is_over(p));
}

/* May it keep one that its graph has? */
static bool may_stay(const struct step *p, const struct stream *s)
{
    return is_available(p, s) || (!p->blocks && p->launch != launches && order_covers(&s->known.dependencies, p->lane, p->number));
}

static struct step *find_step(int device, const struct stream *s, size_t *grown)
{
    struct step **end = &on_device[device].steps;
    for (; *end; end = &(*end)->next)
        if (is_available(*end, s)) return *end;
    if (!device_take(device, STEP)) return NULL;
    *end = host_allocate(sizeof **end);
    ++*grown;
    return *end;
}

bool backing_take(struct backing *b, size_t x, const struct stream *s, size_t *grown, bool *moved)
{
    if (x >= b->count) {
        b->steps = host_grow(b->steps, (x + 1) * sizeof(struct step *));
        b->before = host_grow(b->before, (x + 1) * sizeof(struct step *));
        while (b->count <= x) b->steps[b->count++] = NULL;
    }
    struct step *p = b->steps[x];
    if (p && p->launch == launches) return true;             /* another block of this launch is on it */
    b->before[x] = p;
    if (!p || !may_stay(p, s)) {
        struct step *other = find_step(b->device, s, grown);
        if (!other) return false;
        if (p) p->graphs--;
        *moved |= p != NULL;
        other->graphs++;
        b->steps[x] = p = other;
    }
    p->launch = launches;
    return true;
}

void backing_undo(struct backing *b, size_t x)
{
    if (x >= b->count || !b->steps[x] || b->steps[x]->launch != launches) return;
    b->steps[x]->graphs--;
    b->steps[x] = b->before[x];
    if (b->steps[x]) b->steps[x]->graphs++;
}

void backing_used(struct backing *b, size_t x, const struct stream *s, uint64_t number)
{
    b->steps[x]->lane = s->lane;
    b->steps[x]->number = number;
}

void backing_hold(struct backing *b, size_t x, bool on) { b->steps[x]->blocks += on ? 1u : UINT32_MAX; }

/* ---- giving back ---- */

void backing_drop(struct backing *b, struct heap *h)
{
    for (size_t x = 0; x < b->count; x++) {
        struct step *p = b->steps[x];
        bool mapped = p && heap_is_mapped(h, x * STEP, STEP);        /* if not, no work of this graph uses it: an upload took it, or a launch that failed */
        if (!p || (mapped && (!h->idle_owner[x] || !is_over(p)))) continue;
        if (mapped) heap_unmap(h, x);
        b->steps[x] = NULL;
        p->graphs--;
    }
}

size_t backing_release(int device)
{
    size_t steps = 0;
    for (struct step **at = &on_device[device].steps; *at;) {
        struct step *p = *at;
        if (p->graphs || p->blocks || !is_over(p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        host_free(p);
        device_give(device, STEP);
        steps++;
    }
    return steps;
}

/* ---- the laws ---- */

void backing_count_begin(void)
{
    for (int d = 0; d < MAX_DEVICES; d++)
        for (struct step *p = on_device[d].steps; p; p = p->next) p->counted_blocks = p->counted_graphs = 0;
}

void backing_count(const struct backing *b, size_t x, bool block)
{
    if (x >= b->count || !b->steps[x]) return;
    if (block) b->steps[x]->counted_blocks++;
    else b->steps[x]->counted_graphs++;
}

const char *backing_count_end(void)
{
    for (int d = 0; d < MAX_DEVICES; d++)
        for (struct step *p = on_device[d].steps; p; p = p->next) {
            if (p->counted_blocks != p->blocks) return "a physical step has another number of live blocks than it says";
            if (p->counted_graphs != p->graphs) return "a physical step backs another number of graphs than it says";
        }
    return NULL;
}
