/* The model behind random.c: what a program is, and a graph that says which of its pieces of work come before which, and so what is wrong with it. It knows
 * nothing of the simulated device. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include "workbook.h"

#include <stdbool.h>
#include <string.h>

enum { STREAMS = 10, EVENTS = 5, BLOCKS = 10, PINNED = 2, OPS = 600, NODES = 1024, WORDS = NODES / 64, LANES = 128, ACCESSES = 512, FUNCTIONS = 64, COPIES = 4 };

/* ---- programs ---- */

/* Those up to FREE are work of a stream; those from RECORD to AWAIT order something. COPY_UP and COPY_DOWN: cudaMemcpy from and to ordinary memory. GRAPH: a
 * launch of two memsets, of block's range and of source's, with an edge between them or not. AWAIT: the host waits until host function number `event` has begun. */
enum kind { ALLOCATE, ALLOCATE_CAPPED, FILL, ADD, SET, COPY, COPY_UP, COPY_DOWN, GRAPH, FUNCTION, FREE, FREE_BY_HOST, LOAD, STORE, RENEW,
            RECORD, WAIT, SYNC_STREAM, SYNC_EVENT, SYNC_DEVICE, POLL_STREAM, POLL_EVENT, POLL_TIME, AWAIT, ASK_STREAM, ASK_EVENT };
static const char *const kind_names[] = { "allocate", "allocate (capped pool)", "fill", "add", "memset", "copy", "cudaMemcpy up", "cudaMemcpy down", "graph", "host function", "free", "cudaFree",
                                          "host load", "host store", "destroy and create", "record", "wait", "synchronise stream", "synchronise event", "synchronise device", "poll stream", "poll event",
                                          "poll elapsed time", "await host function", "ask stream", "ask event" };

struct op { enum kind kind; int stream, device, event, block, source; size_t from, to, source_from; bool edge; };
struct program { struct op ops[OPS]; int count; };

/* What each place for a stream holds: the default streams stay, the others may be destroyed and made anew. */
enum sort { LEGACY, PER_THREAD, BLOCKING, NON_BLOCKING };
static const struct { enum sort sort; int device; bool elsewhere; } places[STREAMS] = {          /* elsewhere: used in another thread of the host */
    { LEGACY, 0, false }, { PER_THREAD, 0, false }, { BLOCKING, 0, false }, { BLOCKING, 0, true }, { NON_BLOCKING, 0, false }, { NON_BLOCKING, 0, false }, { NON_BLOCKING, 1, true },
    { BLOCKING, 1, false }, { LEGACY, 1, false }, { PER_THREAD, 0, true } };
static int legacy_of(int device) { return device ? 8 : 0; }

/* ---- the graph ---- */

struct set { uint64_t bits[WORDS]; };
static bool has(const struct set *s, int n) { return s->bits[n / 64] >> n % 64 & 1; }
static void put(struct set *s, int n) { s->bits[n / 64] |= (uint64_t)1 << n % 64; }
static void unite(struct set *into, const struct set *s) { for (int i = 0; i < WORDS; i++) into->bits[i] |= s->bits[i]; }

static struct graph {
    struct { struct set before; int lane; } nodes[NODES];
    int node_count;
    struct { int last, place; } lanes[LANES];                /* a lane for each stream that ever was; last: -1 */
    int lane_count, lane_of[STREAMS];
    struct set host;                                         /* what the host knows to be over */
    int record[2][EVENTS];                                   /* the node of an event's record, -1: none */
    struct { bool alive, capped; int allocated, count; size_t ints; struct { int node; size_t from, to; bool write, kernel; } uses[ACCESSES]; } blocks[BLOCKS];
    int functions[FUNCTIONS], function_count;                /* the nodes of the host functions */
} g;

static volatile int begun[FUNCTIONS];                        /* set by the host functions of a run */
static bool is_running;

static void new_lane(int place)
{
    if (g.lane_count == LANES) abort();
    g.lanes[g.lane_count].last = -1;
    g.lanes[g.lane_count].place = place;
    g.lane_of[place] = g.lane_count++;
}

static void graph_start(void)
{
    memset(&g, 0, sizeof g);
    memset(g.record, -1, sizeof g.record);
    for (int s = 0; s < STREAMS; s++) new_lane(s);
    for (int b = 0; b < PINNED; b++) {
        g.blocks[b].alive = true;
        g.blocks[b].allocated = -1;
        g.blocks[b].ints = 1024;
    }
}

static void with_node(struct set *s, int n)
{
    if (n < 0) return;
    unite(s, &g.nodes[n].before);
    put(s, n);
}

/* What comes before the next work in the place's stream: its own work, what the host knows, and the rule of the legacy stream. */
static struct set before_next(int place)
{
    struct set s = g.host;
    with_node(&s, g.lanes[g.lane_of[place]].last);
    for (int l = 0; l < g.lane_count; l++) {
        enum sort mine = places[place].sort, other = places[g.lanes[l].place].sort;
        bool ordered = (mine == LEGACY && other != NON_BLOCKING) || (other == LEGACY && mine != NON_BLOCKING);
        if (ordered && places[place].device == places[g.lanes[l].place].device) with_node(&s, g.lanes[l].last);
    }
    return s;
}

static int new_node(int place)
{
    if (g.node_count == NODES) abort();
    int n = g.node_count++;
    g.nodes[n].before = before_next(place);
    g.nodes[n].lane = g.lane_of[place];
    g.lanes[g.lane_of[place]].last = n;
    return n;
}

/* Ways to be wrong, as a set. */
enum { WRITES = 1, WRITE_READ = 2, READ_WRITE = 4, USE_ALLOCATION = 8, FREE_USE = 16, FREE_ALLOCATION = 32, HOST_AFTER_WRITE = 64, HOST_AFTER_READ = 128 };
static const char *const hazard_names[] = { "unordered writes", "write not ordered after a read", "read not ordered after a write", "use before allocation", "free before the use ends",
                                            "free before allocation", "host access not ordered after a write", "host write not ordered after a read" };

/* How a use is wrong; `missing`: a node that should come before it and does not. */
static unsigned judge_use(const struct set *before, int block, size_t from, size_t to, bool write, int *missing)
{
    unsigned wrong = 0;
    for (int i = 0; i < g.blocks[block].count; i++) {
        bool overlap = from < g.blocks[block].uses[i].to && g.blocks[block].uses[i].from < to, wrote = g.blocks[block].uses[i].write;
        if (!overlap || !(write || wrote) || has(before, g.blocks[block].uses[i].node)) continue;
        wrong |= !write ? READ_WRITE : wrote ? WRITES : WRITE_READ;
        *missing = g.blocks[block].uses[i].node;
    }
    int allocated = g.blocks[block].allocated;
    if (!wrong && allocated >= 0 && !has(before, allocated)) {
        wrong = USE_ALLOCATION;
        *missing = allocated;
    }
    return wrong;
}

static unsigned judge_free(const struct set *before, int block, int *missing)
{
    unsigned wrong = 0;
    for (int i = 0; i < g.blocks[block].count; i++)
        if (!has(before, g.blocks[block].uses[i].node)) {
            wrong = FREE_USE;
            *missing = g.blocks[block].uses[i].node;
        }
    if (!wrong && !has(before, g.blocks[block].allocated)) {
        wrong = FREE_ALLOCATION;
        *missing = g.blocks[block].allocated;
    }
    return wrong;
}

/* Does the node come after a host function that has not begun, on which the host might have an influence? */
static bool waits_for_host(int node)
{
    for (int f = 0; is_running && f < g.function_count; f++)
        if (!begun[f] && has(&g.nodes[node].before, g.functions[f])) return true;
    return false;
}

/* The host touches pinned memory that a copy or memset, which covers all of it, may still be using. */
static unsigned judge_host(int block, bool store, int *missing)
{
    unsigned wrong = 0;
    for (int i = 0; i < g.blocks[block].count; i++) {
        bool guards = !g.blocks[block].uses[i].kernel && g.blocks[block].uses[i].from == 0 && g.blocks[block].uses[i].to == g.blocks[block].ints;
        if (!guards || !(store || g.blocks[block].uses[i].write) || has(&g.host, g.blocks[block].uses[i].node) || waits_for_host(g.blocks[block].uses[i].node)) continue;
        wrong |= g.blocks[block].uses[i].write ? HOST_AFTER_WRITE : HOST_AFTER_READ;
        *missing = g.blocks[block].uses[i].node;
    }
    return wrong;
}

static bool meets_itself(const struct op *op)
{
    return op->block == op->source && op->from < op->source_from + op->to - op->from && op->source_from < op->to;
}

static unsigned judge(const struct op *op, int *missing)
{
    struct set before = op->kind == FREE_BY_HOST ? g.host : before_next(op->stream);
    unsigned wrong;
    switch (op->kind) {
    case LOAD: case STORE: return judge_host(op->block, op->kind == STORE, missing);
    case GRAPH:
        wrong = judge_use(&before, op->block, op->from, op->to, true, missing);
        wrong |= judge_use(&before, op->source, op->source_from, op->source_from + op->to - op->from, true, missing);
        return wrong | (!op->edge && meets_itself(op) ? WRITES : 0);
    case COPY_DOWN: return judge_use(&before, op->block, op->from, op->to, false, missing);
    case COPY:
        wrong = judge_use(&before, op->source, op->source_from, op->source_from + op->to - op->from, false, missing);
        return wrong | judge_use(&before, op->block, op->from, op->to, true, missing);
    case COPY_UP: case FILL: case ADD: case SET: return judge_use(&before, op->block, op->from, op->to, true, missing);
    case FREE: case FREE_BY_HOST: return judge_free(&before, op->block, missing);
    default: return 0;
    }
}

static void add_use(int block, int node, size_t from, size_t to, bool write, bool kernel)
{
    int i = g.blocks[block].count++;
    if (i == ACCESSES) abort();
    g.blocks[block].uses[i].node = node;
    g.blocks[block].uses[i].from = from;
    g.blocks[block].uses[i].to = to;
    g.blocks[block].uses[i].write = write;
    g.blocks[block].uses[i].kernel = kernel;
}

/* The host knows that the place's stream is idle. */
static void learn_stream(int place)
{
    if (places[place].sort == LEGACY) g.host = before_next(place);
    else with_node(&g.host, g.lanes[g.lane_of[place]].last);
}

/* The graph after the op; `yes`: what a question was answered. */
static void advance(const struct op *op, bool yes)
{
    int n;
    switch (op->kind) {
    case ALLOCATE: case ALLOCATE_CAPPED:
        g.blocks[op->block].alive = true;
        g.blocks[op->block].capped = op->kind == ALLOCATE_CAPPED;
        g.blocks[op->block].count = 0;
        g.blocks[op->block].ints = op->to;
        g.blocks[op->block].allocated = new_node(op->stream);
        break;
    case COPY:
        n = new_node(op->stream);
        add_use(op->source, n, op->source_from, op->source_from + op->to - op->from, false, false);
        add_use(op->block, n, op->from, op->to, true, false);
        if (op->source < PINNED && op->block < PINNED) with_node(&g.host, n);    /* documented: from the host to the host, it is over when the call is back */
        break;
    case COPY_UP: case COPY_DOWN:
        n = new_node(op->stream);
        add_use(op->block, n, op->from, op->to, op->kind == COPY_UP, false);
        unite(&g.host, &g.nodes[n].before);
        if (op->kind == COPY_DOWN || op->block < PINNED) put(&g.host, n);        /* documented: the bytes for a device may arrive later */
        break;
    case GRAPH: {
        struct set start = before_next(op->stream);
        n = new_node(op->stream);
        add_use(op->block, n, op->from, op->to, true, false);
        int second = new_node(op->stream);
        add_use(op->source, second, op->source_from, op->source_from + op->to - op->from, true, false);
        g.nodes[second].before = start;
        if (op->edge) with_node(&g.nodes[second].before, n);
        with_node(&g.nodes[new_node(op->stream)].before, n);                     /* the end of the launch */
        break;
    }
    case FUNCTION:
        if (g.function_count == FUNCTIONS) abort();
        g.functions[g.function_count++] = new_node(op->stream);
        break;
    case LOAD: case STORE: break;
    case AWAIT: unite(&g.host, &g.nodes[g.functions[op->event]].before); break;
    case FILL: case ADD: case SET: add_use(op->block, new_node(op->stream), op->from, op->to, true, op->kind != SET); break;
    case FREE: new_node(op->stream); g.blocks[op->block].alive = false; break;
    case FREE_BY_HOST: g.blocks[op->block].alive = false; break;
    case RENEW: new_lane(op->stream); break;
    case RECORD: g.record[op->device][op->event] = new_node(op->stream); break;
    case WAIT:
        if (g.record[op->device][op->event] < 0) break;      /* a wait for an event that was never recorded is nothing */
        n = new_node(op->stream);
        with_node(&g.nodes[n].before, g.record[op->device][op->event]);
        break;
    case SYNC_DEVICE:
        for (int l = 0; l < g.lane_count; l++)
            if (places[g.lanes[l].place].device == op->device) with_node(&g.host, g.lanes[l].last);
        break;
    case SYNC_STREAM: case POLL_STREAM: case ASK_STREAM: if (yes) learn_stream(op->stream); break;
    case SYNC_EVENT: case POLL_EVENT: case POLL_TIME: case ASK_EVENT: if (yes) with_node(&g.host, g.record[op->device][op->event]); break;
    }
}

#endif
