/* The model behind random.c: the programs, and an explicit graph of their work, from which their
 * hazards follow. It does not use the simulated device.
 *
 * A node stands for a piece of work, and has the set of all nodes that happen before it: those with
 * an edge to it, and those before them. An edge comes from a stream's order, an event, the legacy
 * stream, a copy that is serialized with a device, a graph, or the host. The model decides what
 * follows from the program's calls alone; only the answers of queries, and when host functions have
 * begun, come from the run. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEVICES = 2,
    STREAMS = 16,
    EVENTS = 3,
    /* What the program allocates by calls, followed by what each graph allocates. */
    ALLOCATIONS = 14,
    PLANS = 4,
    ALL_ALLOCATIONS = ALLOCATIONS + PLANS,
    PLAN_TASKS = 12,
    BRANCHES = 4,
    GATES = 4,
    OPS = 700,
    NODES = 4096,
    INSTANCES = 128,
    ACCESSES = 8192,
    HOLDS = 64,
    FUNCTIONS = 64,
    /* One for each host function that a program launches, and each that a graph has. */
    FLAGS = FUNCTIONS + PLANS * PLAN_TASKS,
    POSTPONED = 512,
    ORDINARY = -1
};

#include "model.h"

/* ---- programs ---- */

/* What a program can do, and how it is listed: in the words, %a is the allocation, %r its bytes, as
 * an address and a number, or %@ the first of them, %c the source, %n a number of bytes, %s the
 * stream, %p the pool, %e the event, %f the flag of a host function, %g the gate, %G the graph, %d
 * the device, and %D that of the stream. Calls order something, or nothing, from MAKE_GRAPH on. */
#define KINDS(M)                                                              \
    M(ALLOCATE, "cudaMallocFromPoolAsync(&%a, %n, %p, %s)")                   \
    M(ALLOCATE_DEVICE, "device %d: cudaMalloc(&%a, %n)")                      \
    M(ALLOCATE_MANAGED, "device %d: cudaMallocManaged(&%a, %n)")              \
    M(ALLOCATE_PINNED, "device %d: cudaMallocHost(&%a, %n)")                  \
    M(REGISTER, "device %d: cudaHostRegister(%a, %n)")                        \
    M(FILL, "launch_fill(%r bytes, %s)")                                      \
    M(ADD, "launch_add(%r bytes, %s)")                                        \
    M(SET, "cudaMemsetAsync(%r, %s)")                                         \
    M(SET_AT_ONCE, "device %D: cudaMemset(%r)")                               \
    M(COPY, "cudaMemcpyAsync(%c, %s)")                                        \
    M(COPY_AT_ONCE, "device %D: cudaMemcpy(%c)")                              \
    M(COPY_PEER, "cudaMemcpyPeerAsync(%c, %s)")                               \
    M(COPY_PEER_AT_ONCE, "device %D: cudaMemcpyPeer(%c)")                     \
    M(PREFETCH, "cudaMemPrefetchAsync(%r, %s)")                               \
    M(LOAD, "the host reads %a[%@]")                                          \
    M(STORE, "the host writes %a[%@]")                                        \
    M(FUNCTION, "cudaLaunchHostFunc(%f, %s)")                                 \
    M(HOLD, "launch_hold(%g, %s)")                                            \
    M(LAUNCH, "cudaGraphLaunch(%G, %s)")                                      \
    M(FREE, "cudaFreeAsync(%a, %s)")                                          \
    M(FREE_BY_HOST, "cudaFree, cudaFreeHost or cudaHostUnregister(%a)")       \
    /* Mistakes that no order repairs. */                                     \
    M(FILL_BEYOND, "launch_fill(%r bytes, %s)")                               \
    M(FILL_FREED, "launch_fill(%r bytes, %s)")                                \
    M(SET_FREED, "cudaMemsetAsync(%r, %s)")                                   \
    M(FREE_FREED, "cudaFreeAsync(%a, %s)")                                    \
    M(FREE_FREED_BY_HOST, "cudaFree, cudaFreeHost or cudaHostUnregister(%a)") \
    M(MAKE_GRAPH, "%G is made")                                               \
    M(DESTROY_GRAPH, "cudaGraphExecDestroy, cudaGraphDestroy(%G)")            \
    M(TRIM, "cudaMemPoolTrimTo(%p, 0)")                                       \
    M(RENEW_STREAM, "cudaStreamDestroy, cudaStreamCreate(%s)")                \
    M(RENEW_EVENT, "cudaEventDestroy, cudaEventCreate(%e)")                   \
    M(RECORD, "cudaEventRecord(%e, %s)")                                      \
    M(WAIT, "cudaStreamWaitEvent(%s, %e)")                                    \
    M(OPEN, "%g is opened")                                                   \
    M(SYNC_STREAM, "cudaStreamSynchronize(%s)")                               \
    M(SYNC_EVENT, "cudaEventSynchronize(%e)")                                 \
    M(SYNC_DEVICE, "device %d: cudaDeviceSynchronize()")                      \
    M(POLL_STREAM, "cudaStreamQuery(%s) until it is ready")                   \
    M(POLL_EVENT, "cudaEventQuery(%e) until it is ready")                     \
    M(POLL_TIME, "cudaEventElapsedTime(%e) until it is ready")                \
    M(AWAIT, "the host waits, in sleeps, for %f of a host function")          \
    M(AWAIT_ASKING, "the host queries %s until %f of a host function is set") \
    M(QUERY_STREAM, "cudaStreamQuery(%s)")                                    \
    M(QUERY_EVENT, "cudaEventQuery(%e)")

#define KIND(name, words) name,
enum kind { KINDS(KIND) };
#undef KIND

/* `allocation` and `source` ORDINARY: host memory that CUDA does not know. `event` is the flag of a
 * FUNCTION and of an AWAIT. */
struct op {
    enum kind kind;
    /* A slot for a stream; or the device that is current where no stream is named, and an event's
     * device. */
    int stream, device, event, pool, gate, plan;
    int allocation, source;
    size_t from, to, source_from;
};

/* The plan from which a graph is captured: a task on a branch, or EDGE, by which the branch waits
 * for the present work of branch `other`, %o. */
#define TASKS(M)                                 \
    M(TASK_FILL, "launch_fill(%r bytes)")        \
    M(TASK_SET, "cudaMemsetAsync(%r)")           \
    M(TASK_COPY, "cudaMemcpyAsync(%c)")          \
    M(TASK_EDGE, "waits for branch %o")          \
    M(TASK_FUNCTION, "cudaLaunchHostFunc(%f)")   \
    M(TASK_HOLD, "launch_hold(%g)")              \
    M(TASK_ALLOCATE, "cudaMallocAsync(&%a, %n)") \
    M(TASK_FREE, "cudaFreeAsync(%a)")

#define TASK(name, words) name,
struct task {
    enum { TASKS(TASK) } kind;
    int branch, other, allocation, source, gate;
    size_t from, to, source_from;
};
#undef TASK

struct plan {
    int device, branches, count;
    /* What it allocates; 0: nothing. */
    size_t bytes;
    struct task tasks[PLAN_TASKS];
};

struct program {
    struct op ops[OPS];
    struct plan plans[PLANS];
    int count, plan_count, function_count;
    /* The devices have 64 MiB or half of that, so allocations and launches of graphs may fail, and
     * pools may make streams wait for frees. */
    bool is_full, has_half, may_wait_for_free;
};

/* The stream in each slot. The default streams stay; the others may be destroyed and created again.
 * Each is used by one thread of the host, of which 0 is the first. */
enum sort { LEGACY, PER_THREAD, BLOCKING, NON_BLOCKING };
static const struct {
    enum sort sort;
    int device, thread;
    const char *name;
} slots[STREAMS] = {
    {LEGACY, 0, 0, "legacy0"},      {LEGACY, 1, 0, "legacy1"},      {PER_THREAD, 0, 0, "thread0"},
    {PER_THREAD, 1, 0, "thread1"},  {PER_THREAD, 0, 1, "thread0b"}, {PER_THREAD, 1, 2, "thread1c"},
    {BLOCKING, 0, 0, "blocking0"},  {BLOCKING, 0, 1, "blocking0b"}, {BLOCKING, 1, 0, "blocking1"},
    {BLOCKING, 1, 3, "blocking1d"}, {NON_BLOCKING, 0, 0, "s0"},     {NON_BLOCKING, 0, 0, "t0"},
    {NON_BLOCKING, 0, 2, "u0"},     {NON_BLOCKING, 0, 3, "v0"},     {NON_BLOCKING, 1, 1, "s1"},
    {NON_BLOCKING, 1, 0, "t1"}};
enum { THREADS = 4 };

/* The pools: their device, and whether the host sees their memory. */
enum { DEFAULT_0, DEFAULT_1, CAPPED, NO_REUSE, HOST, MANAGED, POOLS };
static const struct {
    int device;
    bool host_visible;
    const char *name;
} pools[POOLS] = {{0, false, "default0"}, {1, false, "default1"}, {0, false, "capped"},
                  {0, false, "no_reuse"}, {0, true, "host"},      {0, true, "managed"}};

/* ---- the graph ---- */

enum memory { POOL, DEVICE, CUDA_MANAGED, PINNED, REGISTERED, OF_GRAPH };

/* Work on an allocation. EMPTY: it needs the allocation, but none of its bytes. */
struct access {
    int node, next;
    size_t from, to;
    enum { KERNEL, COPIED, EMPTY } sort;
    bool write;
};

struct allocation {
    enum { NEVER, ALIVE, FREED } state;
    enum memory memory;
    int pool, device;
    size_t bytes;
    /* The number of allocations that the slot has had. */
    int generation;
    /* The node that allocates or frees; -1: the host did it. */
    int allocated, freed;
    /* The newest access, or -1. */
    int accesses;
};

/* Two nodes, of which the first must happen before the second or, with `either`, one before the
 * other. They cannot be judged yet, because one of them cannot begin before the host does
 * something. */
struct postponed {
    int first, second;
    bool either, settled;
    /* Held up by a host function, which may wait for anything: if the host has acquired one of the
     * nodes meanwhile, both a report and none agree with the book. */
    bool by_function;
};

/* What a trial can undo. Nodes and accesses beyond `node_count` and `access_count` are not
 * restored. */
struct state {
    int node_count, access_count, instance_count, function_count, hold_count, postponed_count;
    /* For each stream that ever was. `last` is its newest node, or -1. */
    struct {
        int last, slot;
    } instances[INSTANCES];
    int instance_of[STREAMS];
    /* What happens before the next call of the host; and that with what the host functions that
     * began in its last call have told it, which precedes what any code of the host does. */
    struct set host, host_code;
    /* The node with which all further work of the device is serialized, or -1. */
    int serialized[DEVICES];
    /* The node of each event's record, or -1. */
    int record[DEVICES][EVENTS];
    struct allocation allocations[ALL_ALLOCATIONS];
    struct {
        bool made;
        int last, launches;
        int generations[ALLOCATIONS];
        enum memory memories[ALLOCATIONS];
    } graphs[PLANS];
    struct {
        int node, gate;
    } holds[HOLDS];
    bool is_open[GATES];
    /* `flag` has reached `at` when the function has begun. */
    struct {
        int node, flag, at;
        bool begun;
    } functions[FUNCTIONS];
    struct postponed postponed[POSTPONED];
    /* For the present op: its hazards, and the two nodes of one of them; second -1: the host. */
    hazard_set hazards;
    int first, second;
};
static struct state g;
static struct access accesses[ACCESSES];

static void new_instance(int slot)
{
    if (g.instance_count == INSTANCES)
        abort();
    g.instances[g.instance_count].last = -1;
    g.instances[g.instance_count].slot = slot;
    g.instance_of[slot] = g.instance_count++;
}

static void model_start(void)
{
    memset(&g, 0, sizeof g);
    memset(g.record, -1, sizeof g.record);
    memset(g.serialized, -1, sizeof g.serialized);
    for (int s = 0; s < STREAMS; s++)
        new_instance(s);
}

static int *newest_of(int slot) { return &g.instances[g.instance_of[slot]].last; }

/* Returns what precedes the next work in the slot's stream: its own work, what the host has
 * acquired, and what the legacy stream's rule and a serialized copy add. */
static struct set before_next(int slot)
{
    struct set s = g.host;
    with_node(&s, *newest_of(slot));
    with_node(&s, g.serialized[slots[slot].device]);
    for (int i = 0; i < g.instance_count; i++) {
        enum sort mine = slots[slot].sort, other = slots[g.instances[i].slot].sort;
        bool ordered =
            (mine == LEGACY && other != NON_BLOCKING) || (other == LEGACY && mine != NON_BLOCKING);
        if (ordered && slots[slot].device == slots[g.instances[i].slot].device)
            with_node(&s, g.instances[i].last);
    }
    return s;
}

static struct set all_of_device(int device)
{
    struct set s = {{0}};
    with_node(&s, g.serialized[device]);
    for (int i = 0; i < g.instance_count; i++)
        if (slots[g.instances[i].slot].device == device)
            with_node(&s, g.instances[i].last);
    return s;
}

static int add_node(const struct set *before)
{
    if (g.node_count == NODES)
        abort();
    int n = g.node_count++;
    memset(&befores[n], 0, sizeof befores[n]);
    unite(&befores[n], before);
    return n;
}

static int new_node(int slot)
{
    struct set before = before_next(slot);
    return *newest_of(slot) = add_node(&before);
}

/* ---- work that cannot begin ---- */

static bool has_closed_gate(const struct set *s)
{
    for (int i = 0; i < g.hold_count; i++)
        if (!g.is_open[g.holds[i].gate] && has(s, g.holds[i].node))
            return true;
    return false;
}
static bool has_function_to_begin(const struct set *s)
{
    for (int i = 0; i < g.function_count; i++)
        if (!g.functions[i].begun && has(s, g.functions[i].node))
            return true;
    return false;
}
static bool is_held(int node)
{
    return has_closed_gate(&befores[node]) || has_function_to_begin(&befores[node]);
}
static bool any_gate_is_closed(void)
{
    for (int i = 0; i < g.hold_count; i++)
        if (!g.is_open[g.holds[i].gate])
            return true;
    return false;
}

/* ---- hazards ---- */

/* Decides whether the missing edge is a hazard of this op or will be judged later. */
static void missing_edge(hazard_set hazard, int first, int second, bool either)
{
    g.first = first;
    g.second = second;
    if (!is_held(second) && !(either && is_held(first))) {
        g.hazards |= hazard;
        return;
    }
    if (g.postponed_count == POSTPONED)
        abort();
    bool by_function =
        has_function_to_begin(&befores[second]) || has_function_to_begin(&befores[first]);
    g.postponed[g.postponed_count++] =
        (struct postponed){first, second, either, false, by_function};
}

/* Called when node `n` uses bytes [from, to) of the allocation. */
static void use(int n, int allocation, size_t from, size_t to, bool write, int sort)
{
    struct allocation *a = &g.allocations[allocation];
    if (sort != EMPTY && to > a->bytes)
        g.hazards |= ONLY(ACCESS_OUTSIDE_THE_ALLOCATION);
    for (int i = a->accesses; i >= 0; i = accesses[i].next) {
        const struct access *x = &accesses[i];
        if (sort == EMPTY || x->sort == EMPTY || from >= x->to || x->from >= to
            || !(write || x->write))
            continue;
        if (x->node == n)
            g.hazards |= ONLY(OVERLAPPING_COPY);
        else if (!has(&befores[n], x->node))
            missing_edge(conflict(x->write, write), x->node, n, true);
    }
    if (a->allocated >= 0 && !has(&befores[n], a->allocated))
        missing_edge(ONLY(USE_BEFORE_ALLOCATION), a->allocated, n, false);
    if (g.access_count == ACCESSES)
        abort();
    accesses[g.access_count] = (struct access){n, a->accesses, from, to, sort, write};
    a->accesses = g.access_count++;
}

/* Called when node `n`, or the host (-1), ends the life of what another node used or allocated. */
static void must_end(hazard_set hazard, int first, int n)
{
    if (has(n < 0 ? &g.host : &befores[n], first))
        return;
    if (n >= 0) {
        missing_edge(hazard, first, n, false);
        return;
    }
    g.hazards |= hazard;
    g.first = first;
    g.second = -1;
}

/* Called when node `n`, or the host (-1), frees the allocation. */
static void end_life(int n, int allocation)
{
    struct allocation *a = &g.allocations[allocation];
    if (a->allocated >= 0)
        must_end(ONLY(FREE_BEFORE_ALLOCATION), a->allocated, n);
    for (int i = a->accesses; i >= 0; i = accesses[i].next)
        must_end(ONLY(FREE_BEFORE_THE_USE_ENDS), accesses[i].node, n);
    a->state = FREED;
    a->freed = n;
}

static void begin_life(int allocation, enum memory memory, int device, size_t bytes, int node)
{
    struct allocation *a = &g.allocations[allocation];
    *a = (struct allocation){.state = ALIVE,
                             .memory = memory,
                             .device = device,
                             .bytes = bytes,
                             .generation = a->generation + 1,
                             .allocated = node,
                             .freed = -1,
                             .accesses = -1};
}

/* ---- memory ---- */

static bool is_alive(int allocation) { return g.allocations[allocation].state == ALIVE; }
static bool is_host_visible(const struct allocation *a)
{
    return a->memory == CUDA_MANAGED || (a->memory == POOL && pools[a->pool].host_visible);
}
/* Returns whether a copy treats it as host memory: pinned, registered, or ordinary. */
static bool is_hosts(int allocation)
{
    return allocation == ORDINARY || g.allocations[allocation].memory == PINNED
        || g.allocations[allocation].memory == REGISTERED;
}
/* Returns whether it is memory of one device. */
static bool is_of_device(int allocation)
{
    return !is_hosts(allocation) && !is_host_visible(&g.allocations[allocation]);
}

/* Returns whether a copy can have these bytes as an end: they lie in live memory, or in ordinary
 * memory. */
static bool end_is_usable(int allocation, size_t from, size_t bytes)
{
    return allocation == ORDINARY
        || (is_alive(allocation) && from + bytes <= g.allocations[allocation].bytes);
}

/* ---- the host's own loads and stores ---- */

/* The addresses of the allocations in a run, or NULL if they do not matter. */
static char **model_addresses;

/* Returns whether the byte's page can be closed while work uses [from, to): a page wholly inside,
 * or the last page of an allocation that shares no page. */
static bool is_whole_page(const struct allocation *a, int allocation, size_t byte, size_t from,
                          size_t to)
{
    uintptr_t base = model_addresses ? (uintptr_t)model_addresses[allocation] : 0;
    uintptr_t page = (base + byte) / 4096 * 4096;
    bool own_end = (a->memory == CUDA_MANAGED || a->memory == PINNED) && to == a->bytes;
    return page >= base + from && (own_end || page + 4096 <= base + to);
}

/* Judges a touch of a byte by the host. `seen`: whether the book says that it is seen. */
static hazard_set judge_touch(const struct op *op, bool seen)
{
    const struct allocation *a = &g.allocations[op->allocation];
    hazard_set found = 0;
    for (int i = a->accesses; i >= 0; i = accesses[i].next) {
        const struct access *x = &accesses[i];
        bool conflicts = x->sort != EMPTY && op->from >= x->from && op->from < x->to
                      && (op->kind == STORE || x->write);
        if (!conflicts || has(&g.host, x->node) || has_closed_gate(&befores[x->node]))
            continue;
        if (seen
            && (!is_whole_page(a, op->allocation, op->from, x->from, x->to)
                || (a->memory == PINNED && x->sort == KERNEL)
                || has_function_to_begin(&befores[x->node])))
            continue;
        found |= x->write ? ONLY(HOST_ACCESS_NOT_ORDERED_AFTER_A_WRITE)
                          : ONLY(HOST_WRITE_NOT_ORDERED_AFTER_A_READ);
        g.first = x->node;
        g.second = -1;
    }
    if (a->allocated >= 0 && !has(&g.host, a->allocated)
        && (!seen || is_whole_page(a, op->allocation, op->from, 0, a->bytes))) {
        found |= ONLY(HOST_ACCESS_BEFORE_ALLOCATION);
        g.first = a->allocated;
        g.second = -1;
    }
    return found;
}

/* ---- ops ---- */

/* Returns the host function that was launched with this flag, or -1. */
static int function_of_flag(int flag)
{
    for (int f = 0; f < g.function_count; f++)
        if (g.functions[f].flag == flag)
            return f;
    return -1;
}

/* Models what a call waits for while the host is blocked. Returns whether it waits. */
static bool awaited(const struct op *op, struct set *s)
{
    const struct allocation *a = op->allocation < 0 ? NULL : &g.allocations[op->allocation];
    memset(s, 0, sizeof *s);
    switch (op->kind) {
    case SET_AT_ONCE:
        *s = before_next(op->stream);
        return is_hosts(op->allocation) || !is_of_device(op->allocation);
    case COPY:
        *s = before_next(op->stream);
        return op->allocation == ORDINARY || op->source == ORDINARY
            || (is_hosts(op->allocation) && is_hosts(op->source));
    case COPY_AT_ONCE:
        *s = before_next(op->stream);
        unite(s, &g.host);
        return true;
    case FREE_BY_HOST:
    case FREE_FREED_BY_HOST:
        *s = all_of_device(a->device);
        return a->memory != POOL && a->memory != OF_GRAPH;
    case SYNC_STREAM:
    case POLL_STREAM:
        if (slots[op->stream].sort == LEGACY)
            *s = before_next(op->stream);
        else
            with_node(s, *newest_of(op->stream));
        with_node(s, g.serialized[slots[op->stream].device]);
        return true;
    case SYNC_EVENT:
    case POLL_EVENT:
    case POLL_TIME: with_node(s, g.record[op->device][op->event]); return true;
    case SYNC_DEVICE: *s = all_of_device(op->device); return true;
    case AWAIT:
    case AWAIT_ASKING: with_node(s, g.functions[function_of_flag(op->event)].node); return true;
    default: return false;
    }
}

static bool tasks_are_usable(const struct plan *plan)
{
    for (int i = 0; i < plan->count; i++) {
        const struct task *t = &plan->tasks[i];
        size_t bytes = t->to - t->from;
        if (t->kind > TASK_COPY)
            continue;
        if (t->allocation < ALLOCATIONS && !end_is_usable(t->allocation, t->from, bytes))
            return false;
        if (t->kind == TASK_COPY && t->source < ALLOCATIONS
            && !end_is_usable(t->source, t->source_from, bytes))
            return false;
    }
    return true;
}

/* Returns whether the program has what the op needs. A program from which ops were dropped may lack
 * it, and a call that would wait forever for a closed gate cannot be made. */
static bool is_possible(const struct program *p, const struct op *op)
{
    const struct allocation *a = op->allocation < 0 ? NULL : &g.allocations[op->allocation];
    size_t bytes = op->to - op->from;
    struct set s;
    bool waits;
    switch (op->kind) {
    case ALLOCATE: {
        int capped = 0;
        for (int i = 0; i < ALLOCATIONS; i++)
            capped +=
                is_alive(i) && g.allocations[i].memory == POOL && g.allocations[i].pool == CAPPED;
        /* The allocator may wait for any earlier free. */
        bool may_wait = op->pool == CAPPED || (p->is_full && p->may_wait_for_free);
        return !is_alive(op->allocation) && (op->pool != CAPPED || capped < 2)
            && !(may_wait && any_gate_is_closed());
    }
    case ALLOCATE_DEVICE:
    case ALLOCATE_MANAGED:
    case ALLOCATE_PINNED:
    case REGISTER: return !is_alive(op->allocation);
    case FILL:
    case ADD:
    case SET:
    case FREE: return a->state == ALIVE && op->to <= a->bytes;
    case FILL_BEYOND: return a->state == ALIVE && op->to > a->bytes && op->from < a->bytes;
    case FILL_FREED:
    case SET_FREED:
    case FREE_FREED: return a->state == FREED && op->to <= a->bytes;
    case PREFETCH: return a->state == ALIVE && op->to <= a->bytes && a->memory == CUDA_MANAGED;
    case LOAD:
    case STORE:
        return a->state == ALIVE && op->from < a->bytes
            && (a->memory == PINNED || is_host_visible(a));
    case COPY_PEER:
    case COPY_PEER_AT_ONCE:
        return op->allocation >= 0 && op->source >= 0 && is_of_device(op->allocation)
            && is_of_device(op->source) && end_is_usable(op->allocation, op->from, bytes)
            && end_is_usable(op->source, op->source_from, bytes);
    case COPY:
    case COPY_AT_ONCE:
        if (!end_is_usable(op->allocation, op->from, bytes)
            || !end_is_usable(op->source, op->source_from, bytes)
            || (op->allocation == ORDINARY && op->source == ORDINARY))
            return false;
        break;
    case SET_AT_ONCE:
        if (a->state != ALIVE || op->to > a->bytes)
            return false;
        break;
    case FREE_BY_HOST:
        if (a->state != ALIVE)
            return false;
        break;
    case FREE_FREED_BY_HOST:
        if (a->state != FREED)
            return false;
        break;
    case HOLD: return g.hold_count < HOLDS;
    case FUNCTION: return g.function_count < FUNCTIONS;
    case MAKE_GRAPH:
        return !g.graphs[op->plan].made && !is_alive(ALLOCATIONS + op->plan)
            && tasks_are_usable(&p->plans[op->plan]);
    case DESTROY_GRAPH: return g.graphs[op->plan].made && !is_alive(ALLOCATIONS + op->plan);
    case LAUNCH:
        /* The graph's memory may have to be moved, for which the call waits. */
        return g.graphs[op->plan].made && !is_alive(ALLOCATIONS + op->plan)
            && g.function_count + PLAN_TASKS <= FUNCTIONS && g.hold_count + PLAN_TASKS <= HOLDS
            && !(p->plans[op->plan].bytes && any_gate_is_closed());
    case POLL_TIME:
        if (g.record[op->device][op->event] < 0)
            return false;
        break;
    case AWAIT:
    case AWAIT_ASKING:
        if (function_of_flag(op->event) < 0)
            return false;
        break;
    default: break;
    }
    waits = awaited(op, &s);
    return !waits || !has_closed_gate(&s);
}

/* A copy node after what its stream and, in a legacy stream, another device's puts before it. */
static int copy_node(const struct op *op)
{
    struct set before = before_next(op->stream);
    int device = slots[op->stream].device, other = 1 - device;
    bool both = slots[op->stream].sort == LEGACY && op->allocation >= 0 && op->source >= 0
             && is_of_device(op->allocation) && is_of_device(op->source)
             && g.allocations[op->allocation].device != g.allocations[op->source].device;
    if (op->kind == COPY_PEER_AT_ONCE) {
        struct set all = all_of_device(device);
        unite(&before, &all);
        all = all_of_device(g.allocations[op->allocation].device);
        unite(&before, &all);
        all = all_of_device(g.allocations[op->source].device);
        unite(&before, &all);
    }
    if (both) {
        struct set legacy = before_next(other);
        unite(&before, &legacy);
    }
    int n = *newest_of(op->stream) = add_node(&before);
    if (op->kind == COPY_PEER_AT_ONCE)
        g.serialized[device] = g.serialized[g.allocations[op->allocation].device] =
            g.serialized[g.allocations[op->source].device] = n;
    if (both)
        with_node(&befores[new_node(other)], n);
    return n;
}

/* What the host has acquired when a copy returns. */
static void acquire_copy(const struct op *op, int n)
{
    bool to_hosts = is_hosts(op->allocation), from_hosts = is_hosts(op->source);
    if (op->kind == COPY) {
        if ((to_hosts && from_hosts) || op->allocation == ORDINARY)
            with_node(&g.host, n);
    } else if (op->kind == COPY_AT_ONCE) {
        if (op->allocation != ORDINARY && op->source != ORDINARY && is_of_device(op->allocation)
            && is_of_device(op->source))
            return;
        unite(&g.host, &befores[n]);
        if (op->source != ORDINARY || op->allocation == ORDINARY || !is_of_device(op->allocation))
            put(&g.host, n);
    }
}

static void copy(const struct op *op)
{
    int n = copy_node(op);
    size_t bytes = op->to - op->from;
    if (op->source != ORDINARY)
        use(n, op->source, op->source_from, op->source_from + bytes, false, COPIED);
    if (op->allocation != ORDINARY)
        use(n, op->allocation, op->from, op->to, true, COPIED);
    acquire_copy(op, n);
}

/* A task of a launch that uses memory. */
static void use_in_graph(int n, int plan, int allocation, size_t from, size_t to, bool write,
                         int sort)
{
    bool stale =
        allocation < ALLOCATIONS
        && (!is_alive(allocation)
            || g.allocations[allocation].generation != g.graphs[plan].generations[allocation]);
    if (stale || !is_alive(allocation))
        g.hazards |= ONLY(USE_AFTER_FREE);
    else
        use(n, allocation, from, to, write, sort);
}

static void add_function(int node, int flag, int at)
{
    g.functions[g.function_count].flag = flag;
    g.functions[g.function_count].at = at;
    g.functions[g.function_count].begun = false;
    g.functions[g.function_count++].node = node;
}

static void add_hold(int node, int gate)
{
    g.holds[g.hold_count].gate = gate;
    g.holds[g.hold_count++].node = node;
}

/* The flag of a graph's host function. */
static int flag_of_task(int plan, int task) { return FUNCTIONS + plan * PLAN_TASKS + task; }

static void launch(const struct program *p, const struct op *op)
{
    const struct plan *plan = &p->plans[op->plan];
    int own = ALLOCATIONS + op->plan, entry = new_node(op->stream), tails[BRANCHES];
    with_node(&befores[entry], g.graphs[op->plan].last);
    g.graphs[op->plan].launches++;
    for (int b = 0; b < BRANCHES; b++)
        tails[b] = entry;
    for (int i = 0; i < plan->count; i++) {
        const struct task *t = &plan->tasks[i];
        size_t bytes = t->to - t->from;
        struct set before = {{0}};
        with_node(&before, tails[t->branch]);
        if (t->kind == TASK_EDGE)
            with_node(&before, tails[t->other]);
        int n = tails[t->branch] = add_node(&before);
        switch (t->kind) {
        case TASK_COPY:
            use_in_graph(n, op->plan, t->source, t->source_from, t->source_from + bytes, false,
                         COPIED);
            use_in_graph(n, op->plan, t->allocation, t->from, t->to, true, COPIED);
            break;
        case TASK_FILL:
        case TASK_SET:
            use_in_graph(n, op->plan, t->allocation, t->from, t->to, true,
                         t->kind == TASK_FILL ? KERNEL : COPIED);
            break;
        case TASK_EDGE: break;
        case TASK_FUNCTION:
            add_function(n, flag_of_task(op->plan, i), g.graphs[op->plan].launches);
            break;
        case TASK_HOLD: add_hold(n, t->gate); break;
        case TASK_ALLOCATE: {
            int freed = g.allocations[own].state == FREED ? g.allocations[own].freed : -1;
            begin_life(own, OF_GRAPH, plan->device, plan->bytes, n);
            if (freed >= 0 && !has(&befores[n], freed))
                missing_edge(ONLY(ALLOCATION_BEFORE_THE_FREE), freed, n, false);
            break;
        }
        case TASK_FREE: end_life(n, own); break;
        }
    }
    int end = new_node(op->stream);
    for (int b = 0; b < plan->branches; b++)
        with_node(&befores[end], tails[b]);
    g.graphs[op->plan].last = end;
}

static void make_graph(const struct op *op)
{
    g.graphs[op->plan].made = true;
    g.graphs[op->plan].last = -1;
    g.graphs[op->plan].launches = 0;
    for (int i = 0; i < ALLOCATIONS; i++) {
        g.graphs[op->plan].generations[i] = g.allocations[i].generation;
        g.graphs[op->plan].memories[i] = g.allocations[i].memory;
    }
    g.allocations[ALLOCATIONS + op->plan].state = NEVER;
}

/* The host has done what a node waited for. What it had acquired happens before that node and all
 * that follow. */
static void release(int node)
{
    for (int n = 0; n < g.node_count; n++)
        if (n == node || has(&befores[n], node))
            unite(&befores[n], &g.host);
}

/* Judges what nothing holds up any more. Returns whether there is a hazard. */
static bool judge_postponed(void)
{
    bool hazard = false;
    unite(&g.host_code, &g.host);
    for (int i = 0; i < g.postponed_count; i++) {
        struct postponed *c = &g.postponed[i];
        if (c->settled || is_held(c->second) || (c->either && is_held(c->first)))
            continue;
        c->settled = true;
        if (!has(&befores[c->second], c->first)
            && !(c->either && has(&befores[c->first], c->second))
            && !(c->by_function
                 && (has(&g.host_code, c->first) || (c->either && has(&g.host_code, c->second)))))
            hazard = true;
    }
    return hazard;
}

/* The function's flag may be read from the next call on. */
static void function_has_begun(int function)
{
    g.functions[function].begun = true;
    with_node(&g.host_code, g.functions[function].node);
}

/* The host makes a call, so it may have read the flags. */
static void learn_of_functions(void) { unite(&g.host, &g.host_code); }

/* A query has returned success. */
static void query_succeeded(const struct op *op)
{
    struct op wait = *op;
    struct set s;
    wait.kind = op->kind == QUERY_STREAM ? SYNC_STREAM : SYNC_EVENT;
    awaited(&wait, &s);
    unite(&g.host, &s);
}

/* Makes the op in the model. g.hazards are its hazards. Results of queries and begun host functions
 * are not known yet. */
static void advance(const struct program *p, const struct op *op)
{
    struct set s;
    g.hazards = 0;
    g.first = g.second = -1;
    switch (op->kind) {
    case ALLOCATE:
        begin_life(op->allocation, POOL, pools[op->pool].device, op->to, new_node(op->stream));
        g.allocations[op->allocation].pool = op->pool;
        break;
    case ALLOCATE_DEVICE:
    case ALLOCATE_MANAGED:
    case ALLOCATE_PINNED:
    case REGISTER:
        begin_life(op->allocation, DEVICE + (op->kind - ALLOCATE_DEVICE), op->device, op->to, -1);
        break;
    case FILL:
    case ADD:
    case FILL_BEYOND:
        use(new_node(op->stream), op->allocation, op->from, op->to, true, KERNEL);
        break;
    case SET: use(new_node(op->stream), op->allocation, op->from, op->to, true, COPIED); break;
    case SET_AT_ONCE: {
        int n = new_node(op->stream);
        use(n, op->allocation, op->from, op->to, true, COPIED);
        if (!is_of_device(op->allocation))
            with_node(&g.host, n);
        break;
    }
    case COPY:
    case COPY_AT_ONCE:
    case COPY_PEER:
    case COPY_PEER_AT_ONCE: copy(op); break;
    case PREFETCH:
        use(new_node(op->stream), op->allocation, op->from, op->from, false, EMPTY);
        break;
    case LOAD:
    case STORE: g.hazards = judge_touch(op, model_addresses); break;
    case FUNCTION: add_function(new_node(op->stream), op->event, 1); break;
    case HOLD: add_hold(new_node(op->stream), op->gate); break;
    case LAUNCH: launch(p, op); break;
    case FREE: end_life(new_node(op->stream), op->allocation); break;
    case FREE_BY_HOST:
        if (awaited(op, &s))
            unite(&g.host, &s);
        end_life(-1, op->allocation);
        break;
    case FILL_FREED:
    case SET_FREED: g.hazards = ONLY(USE_AFTER_FREE); break;
    case FREE_FREED:
    case FREE_FREED_BY_HOST: g.hazards = ONLY(DOUBLE_FREE); break;
    case MAKE_GRAPH: make_graph(op); break;
    case DESTROY_GRAPH: g.graphs[op->plan].made = false; break;
    case RENEW_STREAM: new_instance(op->stream); break;
    case RENEW_EVENT: g.record[op->device][op->event] = -1; break;
    case RECORD: g.record[op->device][op->event] = new_node(op->stream); break;
    case WAIT:
        /* Waiting for an event that was never recorded does nothing. */
        if (g.record[op->device][op->event] >= 0)
            with_node(&befores[new_node(op->stream)], g.record[op->device][op->event]);
        break;
    case OPEN:
        for (int i = 0; i < g.hold_count; i++)
            if (g.holds[i].gate == op->gate && !g.is_open[op->gate])
                release(g.holds[i].node);
        g.is_open[op->gate] = true;
        break;
    case SYNC_STREAM:
    case SYNC_EVENT:
    case SYNC_DEVICE:
    case POLL_STREAM:
    case POLL_EVENT:
    case POLL_TIME:
        awaited(op, &s);
        unite(&g.host, &s);
        break;
    case AWAIT:
    case AWAIT_ASKING:
        function_has_begun(function_of_flag(op->event));
        learn_of_functions();
        break;
    case TRIM:
    case QUERY_STREAM:
    case QUERY_EVENT: break;
    }
}

#endif
