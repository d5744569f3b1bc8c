/* The model behind random.c: the programs, and an explicit graph of their work, from which their
 * hazards follow. It does not use the simulated device.
 *
 * A node stands for a piece of work, or for a call of a host that another host must know about, and
 * has the set of all nodes that happen before it: those with an edge to it, and those before them.
 * An edge comes from a stream's order, an event, the legacy stream, a copy that is serialized with
 * a device, a graph, or a host. The model decides what follows from the program's calls alone; only
 * the answers of queries, and when host functions have begun, come from the run.
 *
 * There are two views of the hosts of several processes. The checker cannot see messages, so for
 * it, what one host has acquired all hosts have. With `by_messages` false, the model treats them as
 * one in that way, which decides what must be reported if each call is made after the other. With
 * `by_messages`, each host has what it has acquired and what messages brought it; what is correct
 * then is correct however fast each process runs. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include "base/hazards.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROCESSES = 3,
    DEVICES = 2,
    STREAMS = 16,
    /* For each device of a process; and for all processes together, each made by one of them. */
    LOCAL_EVENTS = 3,
    SHARED_EVENTS = 3,
    EVENTS = LOCAL_EVENTS + SHARED_EVENTS,
    /* What the program allocates by calls, followed by what each graph allocates. Of several
     * processes each has its share, together fewer. */
    ALLOCATIONS = 14,
    FEW_ALLOCATIONS = 6,
    PLANS = 4,
    ALL_ALLOCATIONS = ALLOCATIONS + PLANS,
    PLAN_TASKS = 12,
    BRANCHES = 4,
    GATES = 4,
    OPS = 700,
    NODES = 4096,
    INSTANCES = 192,
    MADE_EVENTS = 32,
    MESSAGES = 256,
    ACCESSES = 8192,
    HOLDS = 64,
    FUNCTIONS = 64,
    /* One for each host function that a program launches, and each that a graph has. */
    FLAGS = FUNCTIONS + PLANS * PLAN_TASKS,
    POSTPONED = 512,
    ORDINARY = -1
};

/* ---- programs ---- */

/* What a program can do, and how it is listed: in the words, %a is the allocation, %r its bytes, as
 * an address and a number, or %@ the first of them, %c the source, %n a number of bytes, %s the
 * stream, %p the pool, %e the event, %f the flag of a host function, %g the gate, %G the graph, %d
 * the device, %D that of the stream, and %P another process. Calls order something, or nothing,
 * from MAKE_GRAPH on. A shared event's maker makes it again; others open it, and destroy what they
 * opened. */
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
    /* Only of several processes. */                                          \
    M(EXPORT, "cudaMemPoolExportPointer(%a)")                                 \
    M(IMPORT_POOL, "the pool of %P is imported")                              \
    M(DESTROY_POOL, "cudaMemPoolDestroy(the pool of %P)")                     \
    M(IMPORT, "cudaMemPoolImportPointer(%a)")                                 \
    M(OPEN_EVENT, "cudaIpcOpenEventHandle(%e)")                               \
    M(CLOSE_EVENT, "cudaEventDestroy(%e)")                                    \
    M(SEND, "sends a message to %P")                                          \
    M(RECEIVE, "receives a message from %P")                                  \
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
    /* The process that makes the call; and that of a message, or the owner of a pool. */
    int process, other;
    /* The pointer by which the process uses its own allocation, or the source: an imported one. */
    bool imported, source_imported;
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
    int count, plan_count, function_count, processes;
    bool by_messages;
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
/* Those of several processes. */
static const int few_slots[] = {0, 2, 6, 10, 11};
enum { FEW_STREAMS = sizeof few_slots / sizeof *few_slots };

/* The pools: their device, and whether the host sees their memory. Of several processes each has
 * one that it exports. */
enum { DEFAULT_0, DEFAULT_1, CAPPED, NO_REUSE, HOST, MANAGED, EXPORTED, POOLS };
static const struct {
    int device;
    bool host_visible;
    const char *name;
} pools[POOLS] = {{0, false, "default0"}, {1, false, "default1"}, {0, false, "capped"},
                  {0, false, "no_reuse"}, {0, true, "host"},      {0, true, "managed"},
                  {0, false, "exported"}};

/* ---- hazards and sets of nodes ---- */

/* By name, as in base/hazards.def: a report begins with it. */
static const char *const hazard_names[] = {
#define HAZARD(id, name, advice) [HAZARD_##id] = name,
#include "base/hazards.def"
};
enum { HAZARDS = sizeof hazard_names / sizeof *hazard_names };

/* A set of hazards. */
typedef uint64_t hazard_set;
#define ONLY(id) ((hazard_set)1 << HAZARD_##id)

/* It is never reported: a host relies on a call of another host about which it does not know. */
#define NOT_TOLD ((hazard_set)1 << HAZARDS)

/* What it is that two accesses to the same bytes, of one process or of two, are not ordered, of
 * which one writes. */
static hazard_set conflict(bool of_two, bool first_writes, bool second_writes)
{
    if (!second_writes)
        return of_two ? ONLY(READ_AFTER_ANOTHER_PROCESS_WRITE)
                      : ONLY(READ_NOT_ORDERED_AFTER_A_WRITE);
    if (first_writes)
        return of_two ? ONLY(UNORDERED_WRITES_OF_TWO_PROCESSES) : ONLY(UNORDERED_WRITES);
    return of_two ? ONLY(WRITE_AFTER_ANOTHER_PROCESS_READ) : ONLY(WRITE_NOT_ORDERED_AFTER_A_READ);
}

struct set {
    uint64_t bits[NODES / 64];
};

static struct set befores[NODES];

static bool has(const struct set *s, int n) { return s->bits[n / 64] >> n % 64 & 1; }
static void put(struct set *s, int n) { s->bits[n / 64] |= (uint64_t)1 << n % 64; }

static void unite(struct set *into, const struct set *s)
{
    for (int i = 0; i < NODES / 64; i++)
        into->bits[i] |= s->bits[i];
}

/* Adds a node and all that happen before it; -1: none. */
static void with_node(struct set *s, int n)
{
    if (n < 0 || has(s, n))
        return;
    unite(s, &befores[n]);
    put(s, n);
}

/* ---- the graph ---- */

enum memory { POOL, DEVICE, CUDA_MANAGED, PINNED, REGISTERED, OF_GRAPH };

/* Work on an allocation. EMPTY: it needs the allocation, but none of its bytes. The free of an
 * import is such work, too, and only the exporter's free must come after it. */
struct access {
    int node, next, process;
    /* The import through which it was made; 0: the owner's pointer. */
    int import;
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
    /* The call that exported it, or -1. */
    int exported;
    /* By process: the number of its import, or 0, and the call of its last free, or -1. */
    int imports[PROCESSES], import_free_call[PROCESSES];
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
    int processes, node_count, access_count, instance_count, function_count, hold_count,
        postponed_count, event_count, import_count;
    bool by_messages;
    /* For each stream that ever was. `last` is its newest node, or -1. */
    struct {
        int process, slot, last;
    } instances[INSTANCES];
    int instance_of[PROCESSES][STREAMS];
    /* What happens before the next call of each host; and, of the only one, that with what the host
     * functions that began in its last call have told it, which precedes what any code of the host
     * does. */
    struct set host[PROCESSES], host_code;
    /* The node with which all further work of the device is serialized, or -1. */
    int serialized[DEVICES];
    /* The node of each local event's record, or -1. */
    int local_record[PROCESSES][DEVICES][LOCAL_EVENTS];
    /* For each shared event that ever was: its record, and the call that used it last. */
    struct {
        int record, last_use;
    } events[MADE_EVENTS];
    /* For each shared event: the one that each process has, or -1; and the newest. */
    int opened[PROCESSES][SHARED_EVENTS], newest_event[SHARED_EVENTS];
    bool has_pool[PROCESSES][PROCESSES];
    int sent;
    bool is_received[MESSAGES];
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
static struct {
    /* The process that owns it. */
    int process;
    bool of_host;
} nodes[NODES];
static struct access accesses[ACCESSES];
static struct {
    int from, to;
    struct set host;
} messages[MESSAGES];

static int owner_of(int allocation) { return allocation % g.processes; }
static int maker_of(int shared) { return shared % g.processes; }
static bool is_shared(int event) { return event >= LOCAL_EVENTS; }
static int slot_count(void) { return g.processes == 1 ? STREAMS : FEW_STREAMS; }
static int device_count(void) { return g.processes == 1 ? DEVICES : 1; }
static int nth_slot(int i) { return g.processes == 1 ? i : few_slots[i]; }

static struct set *host_of(int process) { return &g.host[g.by_messages ? process : 0]; }

static int add_node(int process, const struct set *before, bool of_host)
{
    if (g.node_count == NODES)
        abort();
    int n = g.node_count++;
    memset(&befores[n], 0, sizeof befores[n]);
    unite(&befores[n], before);
    nodes[n].process = process;
    nodes[n].of_host = of_host;
    return n;
}

/* A call that another host must know about. */
static int call_node(int process)
{
    int n = add_node(process, host_of(process), true);
    with_node(host_of(process), n);
    return n;
}

static void new_instance(int process, int slot)
{
    if (g.instance_count == INSTANCES)
        abort();
    g.instances[g.instance_count].process = process;
    g.instances[g.instance_count].slot = slot;
    g.instances[g.instance_count].last = -1;
    g.instance_of[process][slot] = g.instance_count++;
}

static void make_event(int shared)
{
    if (g.event_count == MADE_EVENTS)
        abort();
    int maker = maker_of(shared);
    g.events[g.event_count].record = -1;
    g.events[g.event_count].last_use = call_node(maker);
    g.opened[maker][shared] = g.newest_event[shared] = g.event_count++;
}

static void model_start(int processes, bool by_messages)
{
    struct set all = {{0}};
    memset(&g, 0, sizeof g);
    g.processes = processes;
    g.by_messages = by_messages;
    memset(g.local_record, -1, sizeof g.local_record);
    memset(g.opened, -1, sizeof g.opened);
    memset(g.serialized, -1, sizeof g.serialized);
    for (int i = 0; i < processes; i++)
        for (int s = 0; s < slot_count(); s++)
            new_instance(i, nth_slot(s));
    for (int e = 0; e < SHARED_EVENTS && processes > 1; e++)
        make_event(e);
    /* All begin when all are ready. */
    for (int i = 0; i < processes; i++)
        unite(&all, &g.host[i]);
    for (int i = 0; i < processes; i++)
        g.host[i] = all;
}

static int *newest_of(int process, int slot)
{
    return &g.instances[g.instance_of[process][slot]].last;
}

/* Returns what precedes the next work in the slot's stream: its own work, what the host has
 * acquired, and what the legacy stream's rule and a serialized copy add. */
static struct set before_next(int process, int slot)
{
    struct set s = *host_of(process);
    with_node(&s, *newest_of(process, slot));
    with_node(&s, g.serialized[slots[slot].device]);
    for (int i = 0; i < g.instance_count; i++) {
        enum sort mine = slots[slot].sort, other = slots[g.instances[i].slot].sort;
        bool ordered =
            (mine == LEGACY && other != NON_BLOCKING) || (other == LEGACY && mine != NON_BLOCKING);
        if (ordered && g.instances[i].process == process
            && slots[slot].device == slots[g.instances[i].slot].device)
            with_node(&s, g.instances[i].last);
    }
    return s;
}

static struct set all_of_device(int process, int device)
{
    struct set s = {{0}};
    with_node(&s, g.serialized[device]);
    for (int i = 0; i < g.instance_count; i++)
        if (g.instances[i].process == process && slots[g.instances[i].slot].device == device)
            with_node(&s, g.instances[i].last);
    return s;
}

/* An allocation is no barrier of the legacy stream's rule (measured: probe-legacy-order.txt). */
static int new_allocation_node(int process, int slot)
{
    struct set before = *host_of(process);
    with_node(&before, *newest_of(process, slot));
    with_node(&before, g.serialized[slots[slot].device]);
    return *newest_of(process, slot) = add_node(process, &before, false);
}

static int new_node(int process, int slot)
{
    struct set before = before_next(process, slot);
    return *newest_of(process, slot) = add_node(process, &before, false);
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

/* Called when node `n`, or the host of the process (-1), must come after another node. `either`:
 * or before it. */
static void require(int process, int n, int first, bool either, hazard_set hazard)
{
    if (first < 0 || has(n < 0 ? host_of(process) : &befores[n], first))
        return;
    if (n >= 0) {
        missing_edge(hazard, first, n, either);
        return;
    }
    g.hazards |= hazard;
    g.first = first;
    g.second = -1;
}

/* Called when the process relies on a call of another. */
static void require_told(int process, int call) { require(process, -1, call, false, NOT_TOLD); }

static void add_access(struct allocation *a, struct access access)
{
    if (g.access_count == ACCESSES)
        abort();
    accesses[g.access_count] = access;
    accesses[g.access_count].next = a->accesses;
    a->accesses = g.access_count++;
}

/* Called when a node uses bytes [from, to) of the allocation. */
static void use(int allocation, struct access later)
{
    struct allocation *a = &g.allocations[allocation];
    bool is_owner = owner_of(allocation) == later.process;
    if (later.sort != EMPTY && later.to > a->bytes)
        g.hazards |= ONLY(ACCESS_OUTSIDE_THE_ALLOCATION);
    for (int i = a->accesses; i >= 0; i = accesses[i].next) {
        const struct access *x = &accesses[i];
        if (later.sort == EMPTY || x->sort == EMPTY || later.from >= x->to || x->from >= later.to
            || !(later.write || x->write))
            continue;
        if (x->node == later.node)
            g.hazards |= ONLY(OVERLAPPING_COPY);
        else
            require(later.process, later.node, x->node, true,
                    conflict(x->process != later.process, x->write, later.write));
    }
    require(later.process, later.node, a->allocated, false,
            is_owner ? ONLY(USE_BEFORE_ALLOCATION) : ONLY(USE_BEFORE_ANOTHER_PROCESS_ALLOCATION));
    add_access(a, later);
}

/* Called when node `n` of the process, or its host (-1), frees what it imported. Only its own
 * accesses through this import must come before. */
static void free_import(int process, int n, struct allocation *a)
{
    for (int i = a->accesses; i >= 0; i = accesses[i].next)
        if (accesses[i].process == process && accesses[i].import == a->imports[process])
            require(process, n, accesses[i].node, false, ONLY(FREE_BEFORE_THE_USE_ENDS));
    a->imports[process] = 0;
    if (n >= 0)
        add_access(a, (struct access){.node = n, .process = process, .sort = EMPTY});
    a->import_free_call[process] = call_node(process);
}

/* Called when node `n` of the owner, or its host (-1), frees the allocation. */
static void end_life(int process, int n, struct allocation *a)
{
    require(process, n, a->allocated, false, ONLY(FREE_BEFORE_ALLOCATION));
    for (int i = a->accesses; i >= 0; i = accesses[i].next)
        require(process, n, accesses[i].node, false,
                accesses[i].process == process ? ONLY(FREE_BEFORE_THE_USE_ENDS)
                                               : ONLY(FREE_BEFORE_ANOTHER_PROCESS_USE_ENDS));
    for (int i = 0; i < g.processes; i++) {
        if (a->imports[i]) {
            g.hazards |= i == process ? ONLY(FREE_WHILE_THIS_PROCESS_IMPORTS)
                                      : ONLY(FREE_WHILE_ANOTHER_PROCESS_HOLDS);
            g.first = -1;
        }
        require_told(process, a->import_free_call[i]);
    }
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
                             .exported = -1,
                             .accesses = -1};
    memset(a->import_free_call, -1, sizeof a->import_free_call);
}

static void import(const struct op *op)
{
    struct allocation *a = &g.allocations[op->allocation];
    require_told(op->process, a->exported);
    if (a->state == FREED) {
        bool here = owner_of(op->allocation) == op->process;
        g.hazards |= here ? ONLY(IMPORT_AFTER_THE_FREE) : ONLY(IMPORT_AFTER_ANOTHER_PROCESS_FREE);
        g.first = -1;
    }
    a->imports[op->process] = ++g.import_count;
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

/* Returns whether the process has a pointer to the allocation: its own, or an imported one. */
static bool can_use(int process, int allocation, bool imported)
{
    return owner_of(allocation) == process && !imported
             ? is_alive(allocation)
             : g.allocations[allocation].imports[process] > 0;
}

static bool has_pointer(int process, int allocation)
{
    return can_use(process, allocation, false) || can_use(process, allocation, true);
}

/* Returns whether a copy can have these bytes as an end: they lie in live memory, or in ordinary
 * memory. */
static bool end_is_usable(int process, int allocation, bool imported, size_t from, size_t bytes)
{
    return allocation == ORDINARY
        || (can_use(process, allocation, imported)
            && from + bytes <= g.allocations[allocation].bytes);
}

static bool ends_are_usable(const struct op *op, size_t bytes)
{
    return end_is_usable(op->process, op->allocation, op->imported, op->from, bytes)
        && end_is_usable(op->process, op->source, op->source_imported, op->source_from, bytes);
}

/* Returns whether the process imports memory of the pool of another one. */
static bool imports_of(int process, int owner)
{
    for (int b = owner; b < FEW_ALLOCATIONS; b += g.processes)
        if (g.allocations[b].imports[process])
            return true;
    return false;
}

/* ---- events and messages ---- */

static int *record_of(const struct op *op)
{
    if (!is_shared(op->event))
        return &g.local_record[op->process][op->device][op->event];
    return &g.events[g.opened[op->process][op->event - LOCAL_EVENTS]].record;
}

/* All calls on a shared event are made one after the other, because a wait is for its newest
 * record. */
static void use_event(const struct op *op)
{
    if (!is_shared(op->event) || !g.by_messages)
        return;
    int event = g.opened[op->process][op->event - LOCAL_EVENTS];
    require_told(op->process, g.events[event].last_use);
    g.events[event].last_use = call_node(op->process);
}

/* Returns the oldest message that can be received, or -1. */
static int next_message(int from, int to)
{
    for (int m = 0; m < g.sent; m++)
        if (!g.is_received[m] && messages[m].from == from && messages[m].to == to)
            return m;
    return -1;
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
        if (!conflicts || has(&g.host[0], x->node) || has_closed_gate(&befores[x->node]))
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
    if (a->allocated >= 0 && !has(&g.host[0], a->allocated)
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
        *s = before_next(op->process, op->stream);
        return is_hosts(op->allocation) || !is_of_device(op->allocation);
    case COPY:
        *s = before_next(op->process, op->stream);
        return op->allocation == ORDINARY || op->source == ORDINARY
            || (is_hosts(op->allocation) && is_hosts(op->source));
    case COPY_AT_ONCE:
        *s = before_next(op->process, op->stream);
        unite(s, host_of(op->process));
        return true;
    case FREE_BY_HOST:
    case FREE_FREED_BY_HOST:
        *s = all_of_device(op->process, a->device);
        return a->memory != POOL && a->memory != OF_GRAPH;
    case SYNC_STREAM:
    case POLL_STREAM:
        if (slots[op->stream].sort == LEGACY)
            *s = before_next(op->process, op->stream);
        else
            with_node(s, *newest_of(op->process, op->stream));
        with_node(s, g.serialized[slots[op->stream].device]);
        return true;
    case SYNC_EVENT:
    case POLL_EVENT:
    case POLL_TIME: with_node(s, *record_of(op)); return true;
    case SYNC_DEVICE: *s = all_of_device(op->process, op->device); return true;
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
        if (t->allocation < ALLOCATIONS && !end_is_usable(0, t->allocation, false, t->from, bytes))
            return false;
        if (t->kind == TASK_COPY && t->source < ALLOCATIONS
            && !end_is_usable(0, t->source, false, t->source_from, bytes))
            return false;
    }
    return true;
}

/* Returns whether the program has what the op needs. A program from which ops were dropped may lack
 * it. */
static bool has_needs(const struct program *p, const struct op *op)
{
    const struct allocation *a = op->allocation < 0 ? NULL : &g.allocations[op->allocation];
    size_t bytes = op->to - op->from;
    int me = op->process, shared = op->event - LOCAL_EVENTS;
    switch (op->kind) {
    case ALLOCATE: {
        int capped = 0;
        for (int i = 0; i < ALLOCATIONS; i++)
            capped +=
                is_alive(i) && g.allocations[i].memory == POOL && g.allocations[i].pool == CAPPED;
        /* The allocator may wait for any earlier free, and by the legacy stream's rule. */
        bool may_wait = op->pool == CAPPED || (p->is_full && p->may_wait_for_free)
                     || slots[op->stream].sort != NON_BLOCKING;
        return owner_of(op->allocation) == me && !is_alive(op->allocation)
            && (op->pool != CAPPED || capped < 2) && !(may_wait && any_gate_is_closed());
    }
    case ALLOCATE_DEVICE:
    case ALLOCATE_MANAGED:
    case ALLOCATE_PINNED:
    case REGISTER: return !is_alive(op->allocation);
    case FILL:
    case ADD:
    case SET:
    case SET_AT_ONCE:
    case FREE:
    case FREE_BY_HOST: return can_use(me, op->allocation, op->imported) && op->to <= a->bytes;
    case FILL_BEYOND: return a->state == ALIVE && op->to > a->bytes && op->from < a->bytes;
    case FILL_FREED:
    case SET_FREED:
    case FREE_FREED:
    case FREE_FREED_BY_HOST: return a->state == FREED && op->to <= a->bytes;
    case PREFETCH: return a->state == ALIVE && op->to <= a->bytes && a->memory == CUDA_MANAGED;
    case LOAD:
    case STORE:
        return a->state == ALIVE && op->from < a->bytes
            && (a->memory == PINNED || is_host_visible(a));
    case COPY_PEER:
    case COPY_PEER_AT_ONCE:
        return op->allocation >= 0 && op->source >= 0 && is_of_device(op->allocation)
            && is_of_device(op->source) && ends_are_usable(op, bytes);
    case COPY:
    case COPY_AT_ONCE:
        return ends_are_usable(op, bytes) && (op->allocation >= 0 || op->source >= 0);
    case HOLD: return g.hold_count < HOLDS && !g.is_open[op->gate];
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
    case EXPORT: return owner_of(op->allocation) == me && a->state == ALIVE;
    case IMPORT_POOL: return !g.has_pool[me][op->other];
    case DESTROY_POOL: return g.has_pool[me][op->other] && !imports_of(me, op->other);
    case IMPORT:
        return g.has_pool[me][owner_of(op->allocation)] && a->exported >= 0 && !a->imports[me];
    case OPEN_EVENT:
    case CLOSE_EVENT:
        return is_shared(op->event) && maker_of(shared) != me
            && (g.opened[me][shared] < 0) == (op->kind == OPEN_EVENT);
    case RENEW_STREAM: return slots[op->stream].sort >= BLOCKING && g.instance_count < INSTANCES;
    case RENEW_EVENT:
        return !is_shared(op->event) || (maker_of(shared) == me && g.event_count < MADE_EVENTS);
    case SEND: return g.sent < MESSAGES;
    case RECEIVE: return next_message(op->other, me) >= 0;
    case RECORD:
    case WAIT:
    case SYNC_EVENT:
    case POLL_EVENT: return !is_shared(op->event) || g.opened[me][shared] >= 0;
    case POLL_TIME: return !is_shared(op->event) && *record_of(op) >= 0;
    case AWAIT:
    case AWAIT_ASKING: return function_of_flag(op->event) >= 0;
    /* What they answer is known only if the calls are made one after the other. */
    case QUERY_EVENT: return (!is_shared(op->event) || g.opened[me][shared] >= 0) && !g.by_messages;
    case QUERY_STREAM: return !g.by_messages;
    default: return true;
    }
}

/* Returns whether the call can be made: it has what it needs, and does not wait forever for a
 * closed gate. */
static bool is_possible(const struct program *p, const struct op *op)
{
    struct set s;
    return has_needs(p, op) && !(awaited(op, &s) && has_closed_gate(&s));
}

/* A copy node after what its stream and, in a legacy stream, another device's puts before it. */
static int copy_node(const struct op *op)
{
    struct set before = before_next(op->process, op->stream);
    int device = slots[op->stream].device, other = 1 - device;
    bool both = slots[op->stream].sort == LEGACY && op->allocation >= 0 && op->source >= 0
             && is_of_device(op->allocation) && is_of_device(op->source)
             && g.allocations[op->allocation].device != g.allocations[op->source].device;
    if (op->kind == COPY_PEER_AT_ONCE) {
        struct set all = all_of_device(op->process, device);
        unite(&before, &all);
        all = all_of_device(op->process, g.allocations[op->allocation].device);
        unite(&before, &all);
        all = all_of_device(op->process, g.allocations[op->source].device);
        unite(&before, &all);
    }
    if (both) {
        struct set legacy = before_next(op->process, other);
        unite(&before, &legacy);
    }
    int n = *newest_of(op->process, op->stream) = add_node(op->process, &before, false);
    if (op->kind == COPY_PEER_AT_ONCE)
        g.serialized[device] = g.serialized[g.allocations[op->allocation].device] =
            g.serialized[g.allocations[op->source].device] = n;
    if (both)
        with_node(&befores[new_node(op->process, other)], n);
    return n;
}

/* What the host has acquired when a copy returns. */
static void acquire_copy(const struct op *op, int n)
{
    bool to_hosts = is_hosts(op->allocation), from_hosts = is_hosts(op->source);
    struct set *host = host_of(op->process);
    if (op->kind == COPY) {
        if ((to_hosts && from_hosts) || op->allocation == ORDINARY)
            with_node(host, n);
    } else if (op->kind == COPY_AT_ONCE) {
        if (op->allocation != ORDINARY && op->source != ORDINARY && is_of_device(op->allocation)
            && is_of_device(op->source))
            return;
        unite(host, &befores[n]);
        if (op->source != ORDINARY || op->allocation == ORDINARY || !is_of_device(op->allocation))
            put(host, n);
    }
}

/* Returns the number of the import by which the process uses the allocation; 0: it owns it. */
static int import_of(int process, int allocation, bool imported)
{
    return imported || owner_of(allocation) != process ? g.allocations[allocation].imports[process]
                                                       : 0;
}

/* Node `n` writes the op's bytes. */
static void write_bytes(const struct op *op, int n, int sort)
{
    use(op->allocation,
        (struct access){.node = n,
                        .process = op->process,
                        .import = import_of(op->process, op->allocation, op->imported),
                        .from = op->from,
                        .to = op->to,
                        .sort = sort,
                        .write = true});
}

static void copy(const struct op *op)
{
    int n = copy_node(op);
    size_t bytes = op->to - op->from;
    if (op->source != ORDINARY)
        use(op->source,
            (struct access){.node = n,
                            .process = op->process,
                            .import = import_of(op->process, op->source, op->source_imported),
                            .from = op->source_from,
                            .to = op->source_from + bytes,
                            .sort = COPIED});
    if (op->allocation != ORDINARY)
        write_bytes(op, n, COPIED);
    acquire_copy(op, n);
}

/* Returns whether the allocation was freed whose address a graph has. */
static bool is_stale(int plan, int allocation)
{
    return allocation >= 0 && allocation < ALLOCATIONS
        && (!is_alive(allocation)
            || g.allocations[allocation].generation != g.graphs[plan].generations[allocation]);
}

/* A task of a launch that uses memory. */
static void use_in_graph(int n, int plan, int allocation, size_t from, size_t to, bool write,
                         int sort)
{
    if (is_stale(plan, allocation) || !is_alive(allocation))
        g.hazards |= ONLY(USE_AFTER_FREE);
    else
        use(allocation,
            (struct access){.node = n, .from = from, .to = to, .sort = sort, .write = write});
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
    int own = ALLOCATIONS + op->plan, entry = new_node(0, op->stream), tails[BRANCHES];
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
        int n = tails[t->branch] = add_node(0, &before, false);
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
            require(0, n, freed, false, ONLY(ALLOCATION_BEFORE_THE_FREE));
            break;
        }
        case TASK_FREE: end_life(0, n, &g.allocations[own]); break;
        }
    }
    int end = new_node(0, op->stream);
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
            unite(&befores[n], &g.host[0]);
}

/* Judges what nothing holds up any more. Returns whether there is a hazard. */
static bool judge_postponed(void)
{
    bool hazard = false;
    unite(&g.host_code, &g.host[0]);
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
static void learn_of_functions(void) { unite(&g.host[0], &g.host_code); }

/* A query has returned success. */
static void query_succeeded(const struct op *op)
{
    struct op wait = *op;
    struct set s;
    wait.kind = op->kind == QUERY_STREAM ? SYNC_STREAM : SYNC_EVENT;
    awaited(&wait, &s);
    unite(host_of(op->process), &s);
}

/* Makes the op in the model. g.hazards are its hazards. Results of queries and begun host functions
 * are not known yet. */
static void advance(const struct program *p, const struct op *op)
{
    int me = op->process;
    struct allocation *a = op->allocation < 0 ? NULL : &g.allocations[op->allocation];
    struct set s;
    g.hazards = 0;
    g.first = g.second = -1;
    switch (op->kind) {
    case ALLOCATE:
        begin_life(op->allocation, POOL, pools[op->pool].device, op->to,
                   new_allocation_node(me, op->stream));
        a->pool = op->pool;
        break;
    case ALLOCATE_DEVICE:
    case ALLOCATE_MANAGED:
    case ALLOCATE_PINNED:
    case REGISTER:
        begin_life(op->allocation, DEVICE + (op->kind - ALLOCATE_DEVICE), op->device, op->to, -1);
        break;
    case FILL:
    case ADD:
    case FILL_BEYOND: write_bytes(op, new_node(me, op->stream), KERNEL); break;
    case SET: write_bytes(op, new_node(me, op->stream), COPIED); break;
    case SET_AT_ONCE: {
        int n = new_node(me, op->stream);
        write_bytes(op, n, COPIED);
        if (!is_of_device(op->allocation))
            with_node(&g.host[0], n);
        break;
    }
    case COPY:
    case COPY_AT_ONCE:
    case COPY_PEER:
    case COPY_PEER_AT_ONCE: copy(op); break;
    case PREFETCH:
        use(op->allocation, (struct access){.node = new_node(me, op->stream), .sort = EMPTY});
        break;
    case LOAD:
    case STORE: g.hazards = judge_touch(op, model_addresses); break;
    case FUNCTION: add_function(new_node(me, op->stream), op->event, 1); break;
    case HOLD: add_hold(new_node(me, op->stream), op->gate); break;
    case LAUNCH: launch(p, op); break;
    case FREE:
    case FREE_BY_HOST: {
        if (op->kind == FREE_BY_HOST && awaited(op, &s))
            unite(host_of(me), &s);
        int n = op->kind == FREE ? new_node(me, op->stream) : -1;
        if (import_of(me, op->allocation, op->imported))
            free_import(me, n, a);
        else
            end_life(me, n, a);
        break;
    }
    case FILL_FREED:
    case SET_FREED: g.hazards = ONLY(USE_AFTER_FREE); break;
    case FREE_FREED:
    case FREE_FREED_BY_HOST: g.hazards = ONLY(DOUBLE_FREE); break;
    case MAKE_GRAPH: make_graph(op); break;
    case DESTROY_GRAPH: g.graphs[op->plan].made = false; break;
    case EXPORT: a->exported = call_node(me); break;
    case IMPORT_POOL: g.has_pool[me][op->other] = true; break;
    case DESTROY_POOL: g.has_pool[me][op->other] = false; break;
    case IMPORT: import(op); break;
    case OPEN_EVENT:
        g.opened[me][op->event - LOCAL_EVENTS] = g.newest_event[op->event - LOCAL_EVENTS];
        use_event(op);
        break;
    case CLOSE_EVENT: g.opened[me][op->event - LOCAL_EVENTS] = -1; break;
    case SEND:
        messages[g.sent].from = me;
        messages[g.sent].to = op->other;
        messages[g.sent++].host = *host_of(me);
        break;
    case RECEIVE: {
        int message = next_message(op->other, me);
        unite(host_of(me), &messages[message].host);
        g.is_received[message] = true;
        break;
    }
    case RENEW_STREAM: new_instance(me, op->stream); break;
    case RENEW_EVENT:
        use_event(op);
        if (is_shared(op->event))
            make_event(op->event - LOCAL_EVENTS);
        else
            *record_of(op) = -1;
        break;
    case RECORD:
        use_event(op);
        *record_of(op) = new_node(me, op->stream);
        break;
    case WAIT:
        use_event(op);
        /* Waiting for an event that was never recorded does nothing. */
        if (*record_of(op) >= 0)
            with_node(&befores[new_node(me, op->stream)], *record_of(op));
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
        if (op->kind == SYNC_EVENT || op->kind == POLL_EVENT)
            use_event(op);
        awaited(op, &s);
        unite(host_of(me), &s);
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
