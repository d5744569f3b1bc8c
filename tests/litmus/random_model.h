/* The model behind random.c: what a program is, and a graph of what happens before what, from which
 * its hazards follow. It does not use the simulated device. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include "workbook.h"

#include <stdbool.h>
#include <string.h>

enum {
    STREAMS = 10,
    EVENTS = 5,
    ALLOCATIONS = 10,
    PINNED = 2,
    OPS = 600,
    NODES = 2048,
    WORDS = NODES / 64,
    INSTANCES = 128,
    ACCESSES = 512,
    FUNCTIONS = 64,
    HELD = 4096,
    COPIES = 4
};

/* ---- programs ---- */

/* Those up to FREE are work of a stream; those from RECORD to AWAIT order something.
 * COPY_UP and COPY_DOWN: cudaMemcpy from and to ordinary memory. GRAPH: a launch of two memsets, of
 * the range of `allocation` and of that of `source`, with an edge between them or not. AWAIT: the
 * host waits until host function number `event` has begun. */
enum kind {
    ALLOCATE,
    ALLOCATE_CAPPED,
    FILL,
    ADD,
    SET,
    COPY,
    COPY_UP,
    COPY_DOWN,
    GRAPH,
    FUNCTION,
    FREE,
    FREE_BY_HOST,
    LOAD,
    STORE,
    RENEW,
    RECORD,
    WAIT,
    SYNC_STREAM,
    SYNC_EVENT,
    SYNC_DEVICE,
    POLL_STREAM,
    POLL_EVENT,
    POLL_TIME,
    AWAIT,
    QUERY_STREAM,
    QUERY_EVENT
};
static const char *const kind_names[] = {"allocate",
                                         "allocate (capped pool)",
                                         "fill",
                                         "add",
                                         "memset",
                                         "copy",
                                         "cudaMemcpy up",
                                         "cudaMemcpy down",
                                         "graph",
                                         "host function",
                                         "free",
                                         "cudaFree",
                                         "host load",
                                         "host store",
                                         "destroy and create",
                                         "record",
                                         "wait",
                                         "synchronize stream",
                                         "synchronize event",
                                         "synchronize device",
                                         "poll stream",
                                         "poll event",
                                         "poll elapsed time",
                                         "await host function",
                                         "query stream",
                                         "query event"};

struct op {
    enum kind kind;
    int stream, device, event, allocation, source;
    size_t from, to, source_from;
    bool edge;
};
struct program {
    struct op ops[OPS];
    int count;
};

/* What each slot for a stream holds. The default streams stay; the others may be destroyed and
 * created again. One that is elsewhere is used by another thread of the host. */
enum sort { LEGACY, PER_THREAD, BLOCKING, NON_BLOCKING };
static const struct {
    enum sort sort;
    int device;
    bool elsewhere;
} slots[STREAMS] = {{LEGACY, 0, false},      {PER_THREAD, 0, false},   {BLOCKING, 0, false},
                    {BLOCKING, 0, true},     {NON_BLOCKING, 0, false}, {NON_BLOCKING, 0, false},
                    {NON_BLOCKING, 1, true}, {BLOCKING, 1, false},     {LEGACY, 1, false},
                    {PER_THREAD, 0, true}};
static int legacy_of(int device) { return device ? 8 : 0; }

/* ---- the graph ---- */

struct set {
    uint64_t bits[WORDS];
};
static bool has(const struct set *s, int n) { return s->bits[n / 64] >> n % 64 & 1; }
static void put(struct set *s, int n) { s->bits[n / 64] |= (uint64_t)1 << n % 64; }
static void unite(struct set *into, const struct set *s)
{
    for (int i = 0; i < WORDS; i++)
        into->bits[i] |= s->bits[i];
}

static struct graph {
    struct {
        struct set before;
        int instance;
    } nodes[NODES];
    int node_count;
    /* One for each stream that ever was. `last` is its newest node, or -1. */
    struct {
        int last, slot;
    } instances[INSTANCES];
    int instance_count, instance_of[STREAMS];
    /* What happens before the next thing that the host does. */
    struct set host;
    /* The node of each event's record, or -1. */
    int record[2][EVENTS];
    struct {
        bool alive, capped;
        /* -1: the host's. */
        int device;
        int allocated, count;
        size_t ints;
        struct {
            int node;
            size_t from, to;
            bool write, kernel;
        } uses[ACCESSES];
    } allocations[ALLOCATIONS];
    /* The nodes of the host functions. */
    int functions[FUNCTIONS], function_count;
} g;

/* Set by the host functions of a run. */
static volatile int begun[FUNCTIONS];
static bool is_running;

static void new_instance(int slot)
{
    if (g.instance_count == INSTANCES)
        abort();
    g.instances[g.instance_count].last = -1;
    g.instances[g.instance_count].slot = slot;
    g.instance_of[slot] = g.instance_count++;
}

static void graph_start(void)
{
    memset(&g, 0, sizeof g);
    memset(g.record, -1, sizeof g.record);
    for (int s = 0; s < STREAMS; s++)
        new_instance(s);
    for (int b = 0; b < PINNED; b++) {
        g.allocations[b].alive = true;
        g.allocations[b].device = -1;
        g.allocations[b].allocated = -1;
        g.allocations[b].ints = 1024;
    }
}

static void with_node(struct set *s, int n)
{
    if (n < 0)
        return;
    unite(s, &g.nodes[n].before);
    put(s, n);
}

/* What happens before the next work in the slot's stream: its own work, what the host has acquired,
 * and what the rule of the legacy stream adds. */
static struct set before_next(int slot)
{
    struct set s = g.host;
    with_node(&s, g.instances[g.instance_of[slot]].last);
    for (int l = 0; l < g.instance_count; l++) {
        enum sort mine = slots[slot].sort, other = slots[g.instances[l].slot].sort;
        bool ordered =
            (mine == LEGACY && other != NON_BLOCKING) || (other == LEGACY && mine != NON_BLOCKING);
        if (ordered && slots[slot].device == slots[g.instances[l].slot].device)
            with_node(&s, g.instances[l].last);
    }
    return s;
}

/* The legacy stream of the other device, when the op is a copy between the memories of both in a
 * legacy stream: each waits for the other (documented: CUDA programming guide, peer-to-peer memory
 * copy). Else -1. */
static int second_legacy(const struct op *op)
{
    int to = g.allocations[op->allocation].device, from = g.allocations[op->source].device;
    bool both = op->kind == COPY && slots[op->stream].sort == LEGACY && to >= 0 && from >= 0;
    return both && to != from ? legacy_of(1 - slots[op->stream].device) : -1;
}

/* What happens before the op's work. */
static struct set before_op(const struct op *op)
{
    struct set s = before_next(op->stream);
    int second = second_legacy(op);
    if (second >= 0) {
        struct set other = before_next(second);
        unite(&s, &other);
    }
    return s;
}

static int new_node(int slot)
{
    if (g.node_count == NODES)
        abort();
    int n = g.node_count++;
    g.nodes[n].before = before_next(slot);
    g.nodes[n].instance = g.instance_of[slot];
    g.instances[g.instance_of[slot]].last = n;
    return n;
}

/* Hazards, as a set, in the order of their names. */
enum {
    WRITES = 1,
    WRITE_READ = 2,
    READ_WRITE = 4,
    USE_ALLOCATION = 8,
    FREE_USE = 16,
    FREE_ALLOCATION = 32,
    HOST_AFTER_WRITE = 64,
    HOST_AFTER_READ = 128
};
static const char *const hazard_names[] = {"unordered writes",
                                           "write not ordered after a read",
                                           "read not ordered after a write",
                                           "use before allocation",
                                           "free before the use ends",
                                           "free before allocation",
                                           "host access not ordered after a write",
                                           "host write not ordered after a read"};

/* Conflicts of work behind a host function that has not begun: the host may yet acquire the one
 * operation while the other waits. The first `old` were there before the present op. */
static struct {
    struct {
        /* Nodes. */
        int earlier, later;
        unsigned hazard;
        /* They waited after the last op. */
        bool earlier_waits, later_waits;
    } conflicts[HELD];
    int old, count;
} held;

/* Whether a host function in the set has not begun: that may wait for the host. */
static bool has_waiting(const struct set *before)
{
    for (int f = 0; is_running && f < g.function_count; f++)
        if (!begun[f] && has(before, g.functions[f]))
            return true;
    return false;
}

static bool waits_for_host(int node) { return has_waiting(&g.nodes[node].before); }

/* Keeps the conflict if node `later`, which comes after `before`, waits, or `earlier` does in a
 * conflict of accesses. Returns whether it does. */
static bool hold(const struct set *before, int earlier, int later, unsigned hazard)
{
    bool accesses = hazard <= READ_WRITE;
    bool later_waits = has_waiting(before), earlier_waits = accesses && waits_for_host(earlier);
    if (!later_waits && !earlier_waits)
        return false;
    if (held.count == HELD)
        abort();
    held.conflicts[held.count].earlier = earlier;
    held.conflicts[held.count].later = later;
    held.conflicts[held.count].hazard = hazard;
    held.conflicts[held.count].earlier_waits = earlier_waits;
    held.conflicts[held.count++].later_waits = later_waits;
    return true;
}

/* After the op: which hazards are due of conflicts that were held, as nothing waits any more.
 * `unsure`: what waited began in the same call in which the host acquired the other. */
static unsigned judge_held(bool *unsure)
{
    unsigned hazards = 0;
    int kept = 0;
    for (int i = 0; i < held.count; i++) {
        int earlier = held.conflicts[i].earlier, later = held.conflicts[i].later;
        bool was_later = held.conflicts[i].later_waits,
             was_earlier = held.conflicts[i].earlier_waits;
        bool is_later = was_later && waits_for_host(later);
        bool is_earlier = was_earlier && waits_for_host(earlier);
        bool ordered = (is_later && has(&g.host, earlier)) || (is_earlier && has(&g.host, later));
        bool both = (was_later && has(&g.host, earlier)) || (was_earlier && has(&g.host, later));
        *unsure |= both && !ordered;
        if (!both && !is_later && !is_earlier)
            hazards |= held.conflicts[i].hazard;
        if (both || !(is_later || is_earlier))
            continue;
        held.conflicts[kept] = held.conflicts[i];
        held.conflicts[kept].later_waits = is_later;
        held.conflicts[kept++].earlier_waits = is_earlier;
    }
    held.old = held.count = kept;
    return hazards;
}

/* The hazards of a use, node `later`. `missing`: a node that should happen before it and does
 * not. */
static unsigned judge_use(const struct set *before, int allocation, size_t from, size_t to,
                          bool write, int later, int *missing)
{
    unsigned hazards = 0;
    for (int i = 0; i < g.allocations[allocation].count; i++) {
        bool overlap = from < g.allocations[allocation].uses[i].to
                    && g.allocations[allocation].uses[i].from < to,
             wrote = g.allocations[allocation].uses[i].write;
        if (!overlap || !(write || wrote) || has(before, g.allocations[allocation].uses[i].node))
            continue;
        int node = g.allocations[allocation].uses[i].node;
        unsigned hazard = !write ? READ_WRITE : wrote ? WRITES : WRITE_READ;
        if (hold(before, node, later, hazard))
            continue;
        hazards |= hazard;
        *missing = node;
    }
    int allocated = g.allocations[allocation].allocated;
    if (!hazards && allocated >= 0 && !has(before, allocated)
        && !hold(before, allocated, later, USE_ALLOCATION)) {
        hazards = USE_ALLOCATION;
        *missing = allocated;
    }
    return hazards;
}

static unsigned judge_free(const struct set *before, int allocation, int *missing)
{
    unsigned hazards = 0;
    for (int i = 0; i < g.allocations[allocation].count; i++)
        if (!has(before, g.allocations[allocation].uses[i].node)
            && !hold(before, g.allocations[allocation].uses[i].node, g.node_count, FREE_USE)) {
            hazards = FREE_USE;
            *missing = g.allocations[allocation].uses[i].node;
        }
    if (!hazards && !has(before, g.allocations[allocation].allocated)
        && !hold(before, g.allocations[allocation].allocated, g.node_count, FREE_ALLOCATION)) {
        hazards = FREE_ALLOCATION;
        *missing = g.allocations[allocation].allocated;
    }
    return hazards;
}

/* The hazards of a load or store of the host. Only a copy or memset that covers all of a pinned
 * allocation makes the simulated device watch the host there. */
static unsigned judge_host(int allocation, bool store, int *missing)
{
    unsigned hazards = 0;
    for (int i = 0; i < g.allocations[allocation].count; i++) {
        bool watched = !g.allocations[allocation].uses[i].kernel
                    && g.allocations[allocation].uses[i].from == 0
                    && g.allocations[allocation].uses[i].to == g.allocations[allocation].ints;
        if (!watched || !(store || g.allocations[allocation].uses[i].write)
            || has(&g.host, g.allocations[allocation].uses[i].node)
            || waits_for_host(g.allocations[allocation].uses[i].node))
            continue;
        hazards |= g.allocations[allocation].uses[i].write ? HOST_AFTER_WRITE : HOST_AFTER_READ;
        *missing = g.allocations[allocation].uses[i].node;
    }
    return hazards;
}

static bool overlaps_itself(const struct op *op)
{
    return op->allocation == op->source && op->from < op->source_from + op->to - op->from
        && op->source_from < op->to;
}

static unsigned judge(const struct op *op, int *missing)
{
    struct set before = op->kind == FREE_BY_HOST ? g.host : before_op(op);
    unsigned hazards;
    int node = g.node_count;
    held.count = held.old;
    switch (op->kind) {
    case LOAD:
    case STORE: return judge_host(op->allocation, op->kind == STORE, missing);
    case GRAPH:
        hazards = judge_use(&before, op->allocation, op->from, op->to, true, node, missing);
        hazards |= judge_use(&before, op->source, op->source_from,
                             op->source_from + op->to - op->from, true, node + 1, missing);
        if (op->edge || !overlaps_itself(op) || hold(&before, node, node + 1, WRITES))
            return hazards;
        return hazards | WRITES;
    case COPY_DOWN:
        return judge_use(&before, op->allocation, op->from, op->to, false, node, missing);
    case COPY:
        hazards = judge_use(&before, op->source, op->source_from,
                            op->source_from + op->to - op->from, false, node, missing);
        return hazards | judge_use(&before, op->allocation, op->from, op->to, true, node, missing);
    case COPY_UP:
    case FILL:
    case ADD:
    case SET: return judge_use(&before, op->allocation, op->from, op->to, true, node, missing);
    case FREE:
    case FREE_BY_HOST: return judge_free(&before, op->allocation, missing);
    default: return 0;
    }
}

static void add_use(int allocation, int node, size_t from, size_t to, bool write, bool kernel)
{
    int i = g.allocations[allocation].count++;
    if (i == ACCESSES)
        abort();
    g.allocations[allocation].uses[i].node = node;
    g.allocations[allocation].uses[i].from = from;
    g.allocations[allocation].uses[i].to = to;
    g.allocations[allocation].uses[i].write = write;
    g.allocations[allocation].uses[i].kernel = kernel;
}

/* The host acquires all of the slot's stream. */
static void acquire_stream(int slot)
{
    if (slots[slot].sort == LEGACY)
        g.host = before_next(slot);
    else
        with_node(&g.host, g.instances[g.instance_of[slot]].last);
}

/* The graph after the op. `ready`: the answer to a query. */
static void advance(const struct op *op, bool ready)
{
    int n;
    switch (op->kind) {
    case ALLOCATE:
    case ALLOCATE_CAPPED:
        g.allocations[op->allocation].alive = true;
        g.allocations[op->allocation].capped = op->kind == ALLOCATE_CAPPED;
        g.allocations[op->allocation].count = 0;
        g.allocations[op->allocation].device =
            op->kind == ALLOCATE_CAPPED ? 0 : slots[op->stream].device;
        g.allocations[op->allocation].ints = op->to;
        g.allocations[op->allocation].allocated = new_node(op->stream);
        break;
    case COPY: {
        struct set before = before_op(op);
        n = new_node(op->stream);
        unite(&g.nodes[n].before, &before);
        if (second_legacy(op) >= 0)
            with_node(&g.nodes[new_node(second_legacy(op))].before, n);
        add_use(op->source, n, op->source_from, op->source_from + op->to - op->from, false, false);
        add_use(op->allocation, n, op->from, op->to, true, false);
        /* Documented: from the host to the host, it is over when the call returns. */
        if (op->source < PINNED && op->allocation < PINNED)
            with_node(&g.host, n);
        break;
    }
    case COPY_UP:
    case COPY_DOWN:
        n = new_node(op->stream);
        add_use(op->allocation, n, op->from, op->to, op->kind == COPY_UP, false);
        unite(&g.host, &g.nodes[n].before);
        /* Documented: the bytes for a device may arrive later. */
        if (op->kind == COPY_DOWN || op->allocation < PINNED)
            put(&g.host, n);
        break;
    case GRAPH: {
        struct set start = before_next(op->stream);
        n = new_node(op->stream);
        add_use(op->allocation, n, op->from, op->to, true, false);
        int second = new_node(op->stream);
        add_use(op->source, second, op->source_from, op->source_from + op->to - op->from, true,
                false);
        g.nodes[second].before = start;
        if (op->edge)
            with_node(&g.nodes[second].before, n);
        /* The end of the launch. */
        with_node(&g.nodes[new_node(op->stream)].before, n);
        break;
    }
    case FUNCTION:
        if (g.function_count == FUNCTIONS)
            abort();
        g.functions[g.function_count++] = new_node(op->stream);
        break;
    case LOAD:
    case STORE: break;
    case AWAIT: unite(&g.host, &g.nodes[g.functions[op->event]].before); break;
    case FILL:
    case ADD:
    case SET:
        add_use(op->allocation, new_node(op->stream), op->from, op->to, true, op->kind != SET);
        break;
    case FREE:
        new_node(op->stream);
        g.allocations[op->allocation].alive = false;
        break;
    case FREE_BY_HOST: g.allocations[op->allocation].alive = false; break;
    case RENEW: new_instance(op->stream); break;
    case RECORD: g.record[op->device][op->event] = new_node(op->stream); break;
    case WAIT:
        /* A wait for an event that was never recorded is nothing. */
        if (g.record[op->device][op->event] < 0)
            break;
        n = new_node(op->stream);
        with_node(&g.nodes[n].before, g.record[op->device][op->event]);
        break;
    case SYNC_DEVICE:
        for (int l = 0; l < g.instance_count; l++)
            if (slots[g.instances[l].slot].device == op->device)
                with_node(&g.host, g.instances[l].last);
        break;
    case SYNC_STREAM:
    case POLL_STREAM:
    case QUERY_STREAM:
        if (ready)
            acquire_stream(op->stream);
        break;
    case SYNC_EVENT:
    case POLL_EVENT:
    case POLL_TIME:
    case QUERY_EVENT:
        if (ready)
            with_node(&g.host, g.record[op->device][op->event]);
        break;
    }
}

#endif
