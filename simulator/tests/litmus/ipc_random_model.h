/* The model behind ipc_random.c: the programs of several processes, and an explicit graph of their
 * work, from which their hazards follow. It does not use the simulated device.
 *
 * A node stands for a piece of work of a device, or for a call of a host that another host must
 * know about, and has the set of all nodes that happen before it. An edge comes from a stream's
 * order, the legacy stream, an event, or a host.
 *
 * There are two views of hosts. The checker cannot see messages, so for it, what one host has
 * acquired all hosts have. With `by_messages` false, the model treats them as one in that way,
 * which decides what must be reported if each call is made after the other. With `by_messages`,
 * each host has what it has acquired and what messages brought it; what is correct then is correct
 * however fast each process runs. */
#ifndef IPC_RANDOM_MODEL_H
#define IPC_RANDOM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROCESSES = 3,
    STREAMS = 5,
    /* For each process, and for all together, each made by one process. */
    LOCAL_EVENTS = 2,
    SHARED_EVENTS = 3,
    EVENTS = LOCAL_EVENTS + SHARED_EVENTS,
    /* Each belongs to one process. */
    ALLOCATIONS = 6,
    OPS = 240,
    NODES = 1024,
    INSTANCES = 96,
    MADE_EVENTS = 32,
    ACCESSES = 1024,
    MESSAGES = 256
};

#include "model.h"

/* ---- programs ---- */

/* What a process can do, and how it is listed. FILL to READ_AT_ONCE are for bytes [from, to). COPY
 * is to `allocation`, from `source`, and READ to ordinary memory, which waits. A shared event's
 * maker makes it again; others open it, and destroy what they opened. Calls order from RECORD on.
 */
#define KINDS(M)                                           \
    M(ALLOCATE, "cudaMallocFromPoolAsync")                 \
    M(EXPORT, "cudaMemPoolExportPointer")                  \
    M(IMPORT_POOL, "import pool")                          \
    M(DESTROY_POOL, "destroy imported pool")               \
    M(IMPORT, "cudaMemPoolImportPointer")                  \
    M(FILL, "launch_fill")                                 \
    M(ADD, "launch_add")                                   \
    M(SET, "cudaMemsetAsync")                              \
    M(COPY, "cudaMemcpyAsync")                             \
    M(READ, "cudaMemcpyAsync to the host")                 \
    M(READ_AT_ONCE, "cudaMemcpy to the host")              \
    M(FREE, "cudaFreeAsync")                               \
    M(FREE_BY_HOST, "cudaFree")                            \
    M(RENEW_STREAM, "cudaStreamDestroy, cudaStreamCreate") \
    M(RENEW_EVENT, "cudaEventDestroy, cudaEventCreate")    \
    M(OPEN_EVENT, "cudaIpcOpenEventHandle")                \
    M(CLOSE_EVENT, "cudaEventDestroy")                     \
    M(RECORD, "cudaEventRecord")                           \
    M(WAIT, "cudaStreamWaitEvent")                         \
    M(SYNC_EVENT, "cudaEventSynchronize")                  \
    M(POLL_EVENT, "cudaEventQuery until ready")            \
    M(QUERY_EVENT, "cudaEventQuery")                       \
    M(SYNC_STREAM, "cudaStreamSynchronize")                \
    M(POLL_STREAM, "cudaStreamQuery until ready")          \
    M(QUERY_STREAM, "cudaStreamQuery")                     \
    M(SYNC_DEVICE, "cudaDeviceSynchronize")                \
    M(SEND, "send to")                                     \
    M(RECEIVE, "receive from")

#define KIND(name, words) name,
enum kind { KINDS(KIND) };
#undef KIND

struct op {
    enum kind kind;
    int process;
    /* The source or target process, or the owner of a pool. */
    int other;
    int stream, event, allocation, source;
    /* The pointer by which the process uses its own allocation, or the source: an imported one. */
    bool imported, source_imported;
    size_t from, to;
};

struct program {
    struct op ops[OPS];
    int count, processes;
    bool by_messages;
};

enum sort { LEGACY, BLOCKING, NON_BLOCKING };
static const struct {
    enum sort sort;
    const char *name;
} slots[STREAMS] = {{LEGACY, "legacy"},
                    {BLOCKING, "blocking"},
                    {BLOCKING, "blocking2"},
                    {NON_BLOCKING, "s"},
                    {NON_BLOCKING, "t"}};

/* ---- the graph ---- */

struct access {
    int node, next, process;
    /* The import through which it was made; 0: the exporter's pointer. */
    int import;
    size_t from, to;
    bool write;
    /* The free of an import, an access of no bytes: only the exporter's free must come after it. */
    bool is_free;
};

struct allocation {
    enum { NEVER, ALIVE, FREED } state;
    size_t bytes;
    /* The node that allocates. */
    int allocated;
    /* The call that exported it; -1: none. */
    int exported;
    /* By process: the number of its import, or 0, and the call of its last free, or -1. */
    int imports[PROCESSES], import_free_call[PROCESSES];
    /* The newest access, or -1. */
    int accesses;
};

/* What a trial can undo. Nodes and accesses beyond their counts are not restored. */
static struct state {
    bool by_messages;
    int processes, node_count, access_count, instance_count, event_count, import_count;
    /* For each stream that ever was: its newest node, or -1. */
    struct {
        int process, slot, last;
    } instances[INSTANCES];
    int instance_of[PROCESSES][STREAMS];
    /* What precedes the next call of each host. */
    struct set host[PROCESSES];
    /* The record of each local event, or -1. */
    int local_record[PROCESSES][LOCAL_EVENTS];
    /* For each shared event that ever was: its record, and the call that used it last. */
    struct {
        int record, last_use;
    } events[MADE_EVENTS];
    /* For each shared event: the one that each process has, or -1; and the newest. */
    int opened[PROCESSES][SHARED_EVENTS], newest_event[SHARED_EVENTS];
    struct allocation allocations[ALLOCATIONS];
    bool has_pool[PROCESSES][PROCESSES];
    /* Messages that are sent and not received. `sent` is the first free index. */
    int sent, in_flight[PROCESSES][PROCESSES], first_in_flight[PROCESSES][PROCESSES];
    /* For the present op: its hazards and, for one of them, the node that must come before. */
    hazard_set hazards;
    int first;
} g;
static struct {
    /* The process that owns it. */
    int process;
    bool of_host;
} nodes[NODES];
static struct access accesses[ACCESSES];
static struct {
    struct set host;
    int next;
} messages[MESSAGES];

static int owner_of(int allocation, const struct state *s) { return allocation % s->processes; }
static int maker_of(int shared) { return shared % g.processes; }

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

static int *newest_of(int process, int slot)
{
    return &g.instances[g.instance_of[process][slot]].last;
}

/* Returns what precedes the next work in a stream: its own work, what its host has acquired, and
 * what the legacy stream's rule adds. */
static struct set before_next(int process, int slot)
{
    struct set before = *host_of(process);
    with_node(&before, *newest_of(process, slot));
    for (int i = 0; i < g.instance_count; i++) {
        enum sort mine = slots[slot].sort, other = slots[g.instances[i].slot].sort;
        bool ordered =
            (mine == LEGACY && other != NON_BLOCKING) || (other == LEGACY && mine != NON_BLOCKING);
        if (ordered && g.instances[i].process == process)
            with_node(&before, g.instances[i].last);
    }
    return before;
}

static int stream_node(int process, int slot)
{
    struct set before = before_next(process, slot);
    return *newest_of(process, slot) = add_node(process, &before, false);
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

static void model_start(const struct program *p)
{
    memset(&g, 0, sizeof g);
    g.processes = p->processes;
    g.by_messages = p->by_messages;
    memset(g.local_record, -1, sizeof g.local_record);
    memset(g.opened, -1, sizeof g.opened);
    for (int i = 0; i < p->processes; i++)
        for (int s = 0; s < STREAMS; s++)
            new_instance(i, s);
    for (int e = 0; e < SHARED_EVENTS; e++)
        make_event(e);
    /* All begin when all are ready. */
    struct set all = {{0}};
    for (int i = 0; i < p->processes; i++)
        unite(&all, &g.host[i]);
    for (int i = 0; i < p->processes; i++)
        g.host[i] = all;
}

/* ---- hazards ---- */

/* It is never reported: a host relies on a call of another host about which it does not know. */
#define NOT_TOLD ((hazard_set)1 << HAZARDS)

/* The same as conflict() for accesses of two processes. */
static hazard_set conflict_of_two(bool first_writes, bool second_writes)
{
    return !second_writes ? ONLY(READ_AFTER_ANOTHER_PROCESS_WRITE)
         : first_writes   ? ONLY(UNORDERED_WRITES_OF_TWO_PROCESSES)
                          : ONLY(WRITE_AFTER_ANOTHER_PROCESS_READ);
}

/* Adds the hazard unless the node comes before. */
static void require(const struct set *before, int first, hazard_set hazard)
{
    if (first < 0 || has(before, first))
        return;
    g.hazards |= hazard;
    g.first = first;
}

/* Called when the process relies on a call of another. */
static void require_told(int process, int call) { require(host_of(process), call, NOT_TOLD); }

static void add_access(struct allocation *a, struct access access)
{
    if (g.access_count == ACCESSES)
        abort();
    accesses[g.access_count] = access;
    accesses[g.access_count].next = a->accesses;
    a->accesses = g.access_count++;
}

/* Called when node `n` of the process uses bytes of the allocation. */
static void use(const struct op *op, int n, int allocation, bool imported, bool write)
{
    struct allocation *a = &g.allocations[allocation];
    bool is_owner = owner_of(allocation, &g) == op->process;
    int import = imported || !is_owner ? a->imports[op->process] : 0;
    const struct set *before = &befores[n];
    for (int i = a->accesses; i >= 0; i = accesses[i].next) {
        const struct access *x = &accesses[i];
        if (!x->is_free && (write || x->write) && op->from < x->to && x->from < op->to)
            require(before, x->node,
                    x->process == op->process ? conflict(x->write, write)
                                              : conflict_of_two(x->write, write));
    }
    require(before, a->allocated,
            is_owner ? ONLY(USE_BEFORE_ALLOCATION) : ONLY(USE_BEFORE_ANOTHER_PROCESS_ALLOCATION));
    add_access(a, (struct access){.node = n,
                                  .process = op->process,
                                  .import = import,
                                  .from = op->from,
                                  .to = op->to,
                                  .write = write});
}

/* Called when the process frees what it imported, in the order of node `n` or, with -1, by the
 * host. Only its own accesses through this import must come before. */
static void free_import(const struct op *op, int n, struct allocation *a)
{
    const struct set *before = n < 0 ? host_of(op->process) : &befores[n];
    for (int i = a->accesses; i >= 0; i = accesses[i].next)
        if (!accesses[i].is_free && accesses[i].process == op->process
            && accesses[i].import == a->imports[op->process])
            require(before, accesses[i].node, ONLY(FREE_BEFORE_THE_USE_ENDS));
    a->imports[op->process] = 0;
    if (n >= 0)
        add_access(a, (struct access){.node = n, .process = op->process, .is_free = true});
    a->import_free_call[op->process] = call_node(op->process);
}

/* Called when the exporter frees. */
static void free_allocation(const struct op *op, int n, struct allocation *a)
{
    const struct set *before = n < 0 ? host_of(op->process) : &befores[n];
    for (int i = a->accesses; i >= 0; i = accesses[i].next)
        require(before, accesses[i].node,
                accesses[i].process == op->process ? ONLY(FREE_BEFORE_THE_USE_ENDS)
                                                   : ONLY(FREE_BEFORE_ANOTHER_PROCESS_USE_ENDS));
    require(before, a->allocated, ONLY(FREE_BEFORE_ALLOCATION));
    for (int i = 0; i < g.processes; i++) {
        bool here = i == op->process;
        if (a->imports[i]) {
            g.hazards |= here ? ONLY(FREE_WHILE_THIS_PROCESS_IMPORTS)
                              : ONLY(FREE_WHILE_ANOTHER_PROCESS_HOLDS);
            g.first = -1;
        }
        require_told(op->process, a->import_free_call[i]);
    }
    a->state = FREED;
}

/* ---- the effect of each op ---- */

static bool is_shared(int event) { return event >= LOCAL_EVENTS; }

static int *record_of(const struct op *op)
{
    if (!is_shared(op->event))
        return &g.local_record[op->process][op->event];
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

static bool can_use(int process, int allocation, bool imported)
{
    const struct allocation *a = &g.allocations[allocation];
    bool is_owner = owner_of(allocation, &g) == process;
    return is_owner && !imported ? a->state == ALIVE : a->imports[process] > 0;
}

static bool holds_of(int process, int owner)
{
    for (int b = 0; b < ALLOCATIONS; b++)
        if (owner_of(b, &g) == owner && g.allocations[b].imports[process])
            return true;
    return false;
}

static bool is_possible(const struct op *op)
{
    int p = op->process, shared = op->event - LOCAL_EVENTS, owner = owner_of(op->allocation, &g);
    const struct allocation *a = &g.allocations[op->allocation];
    switch (op->kind) {
    case ALLOCATE: return owner == p && a->state != ALIVE;
    case EXPORT: return owner == p && a->state == ALIVE;
    case IMPORT_POOL: return !g.has_pool[p][op->other];
    case DESTROY_POOL: return g.has_pool[p][op->other] && !holds_of(p, op->other);
    case IMPORT: return g.has_pool[p][owner] && a->exported >= 0 && !a->imports[p];
    case COPY:
        return can_use(p, op->allocation, op->imported)
            && can_use(p, op->source, op->source_imported) && op->source != op->allocation;
    case FILL:
    case ADD:
    case SET:
    case READ:
    case READ_AT_ONCE:
    case FREE:
    case FREE_BY_HOST: return can_use(p, op->allocation, op->imported);
    case RENEW_STREAM: return slots[op->stream].sort != LEGACY && g.instance_count < INSTANCES;
    case RENEW_EVENT: return maker_of(shared) == p && g.event_count < MADE_EVENTS;
    case OPEN_EVENT: return maker_of(shared) != p && g.opened[p][shared] < 0;
    case CLOSE_EVENT: return maker_of(shared) != p && g.opened[p][shared] >= 0;
    case RECORD:
    case WAIT:
    case SYNC_EVENT:
    case POLL_EVENT:
    case QUERY_EVENT: return !is_shared(op->event) || g.opened[p][shared] >= 0;
    case SEND: return g.sent < MESSAGES;
    case RECEIVE: return g.in_flight[op->other][p] > 0;
    default: return true;
    }
}

static void allocate(const struct op *op)
{
    struct allocation *a = &g.allocations[op->allocation];
    *a = (struct allocation){.state = ALIVE,
                             .bytes = op->to,
                             .allocated = stream_node(op->process, op->stream),
                             .exported = -1,
                             .accesses = -1};
    memset(a->import_free_call, -1, sizeof a->import_free_call);
}

static void import(const struct op *op)
{
    struct allocation *a = &g.allocations[op->allocation];
    require_told(op->process, a->exported);
    if (a->state == FREED) {
        bool here = owner_of(op->allocation, &g) == op->process;
        g.hazards |= here ? ONLY(IMPORT_AFTER_THE_FREE) : ONLY(IMPORT_AFTER_ANOTHER_PROCESS_FREE);
        g.first = -1;
    }
    a->imports[op->process] = ++g.import_count;
}

static void free_it(const struct op *op)
{
    struct allocation *a = &g.allocations[op->allocation];
    int n = op->kind == FREE ? stream_node(op->process, op->stream) : -1;
    if (op->imported || owner_of(op->allocation, &g) != op->process)
        free_import(op, n, a);
    else
        free_allocation(op, n, a);
}

static void send_message(const struct op *op)
{
    int *first = &g.first_in_flight[op->process][op->other];
    if (g.in_flight[op->process][op->other]++) {
        while (messages[*first].next >= 0)
            first = &messages[*first].next;
        first = &messages[*first].next;
    }
    *first = g.sent;
    messages[g.sent].host = *host_of(op->process);
    messages[g.sent++].next = -1;
}

static void receive_message(const struct op *op)
{
    int *first = &g.first_in_flight[op->other][op->process];
    unite(host_of(op->process), &messages[*first].host);
    *first = messages[*first].next;
    g.in_flight[op->other][op->process]--;
}

/* The host has waited for the stream's work; for the legacy stream, for what its rule puts before
 * its next work. */
static void acquire_stream(const struct op *op)
{
    struct set waited = {{0}};
    if (slots[op->stream].sort == LEGACY)
        waited = before_next(op->process, op->stream);
    else
        with_node(&waited, *newest_of(op->process, op->stream));
    unite(host_of(op->process), &waited);
}

/* Models that a query has returned cudaSuccess. */
static void query_succeeded(const struct op *op)
{
    if (op->kind == QUERY_STREAM)
        acquire_stream(op);
    else
        with_node(host_of(op->process), *record_of(op));
}

/* Makes the call in the model. Its hazards are in g.hazards. */
static void advance(const struct op *op)
{
    int p = op->process, shared = op->event - LOCAL_EVENTS, n;
    struct set *host = host_of(p);
    g.hazards = 0;
    g.first = -1;
    switch (op->kind) {
    case ALLOCATE: allocate(op); break;
    case EXPORT: g.allocations[op->allocation].exported = call_node(p); break;
    case IMPORT_POOL: g.has_pool[p][op->other] = true; break;
    case DESTROY_POOL: g.has_pool[p][op->other] = false; break;
    case IMPORT: import(op); break;
    case FILL:
    case ADD:
    case SET: use(op, stream_node(p, op->stream), op->allocation, op->imported, true); break;
    case COPY:
        n = stream_node(p, op->stream);
        use(op, n, op->source, op->source_imported, false);
        use(op, n, op->allocation, op->imported, true);
        break;
    case READ:
    case READ_AT_ONCE:
        n = stream_node(p, op->kind == READ ? op->stream : 0);
        use(op, n, op->allocation, op->imported, false);
        with_node(host, n);
        break;
    case FREE:
    case FREE_BY_HOST: free_it(op); break;
    case RENEW_STREAM: new_instance(p, op->stream); break;
    case RENEW_EVENT:
        use_event(op);
        make_event(shared);
        break;
    case OPEN_EVENT:
        g.opened[p][shared] = g.newest_event[shared];
        use_event(op);
        break;
    case CLOSE_EVENT: g.opened[p][shared] = -1; break;
    case RECORD:
        use_event(op);
        *record_of(op) = stream_node(p, op->stream);
        break;
    case WAIT:
        use_event(op);
        /* Waiting for an event that was never recorded does nothing. */
        if (*record_of(op) >= 0)
            with_node(&befores[stream_node(p, op->stream)], *record_of(op));
        break;
    case SYNC_EVENT:
    case POLL_EVENT:
        use_event(op);
        with_node(host, *record_of(op));
        break;
    case SYNC_STREAM:
    case POLL_STREAM: acquire_stream(op); break;
    case SYNC_DEVICE:
        for (int i = 0; i < g.instance_count; i++)
            if (g.instances[i].process == p)
                with_node(host, g.instances[i].last);
        break;
    case SEND: send_message(op); break;
    case RECEIVE: receive_message(op); break;
    case QUERY_EVENT:
    case QUERY_STREAM: break;
    }
}

#endif
