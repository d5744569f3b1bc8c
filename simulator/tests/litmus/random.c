/* Random programs against the checker.
 *
 *   random [FIRST [COUNT [LISTED]]]    runs COUNT (1,000) seeds from FIRST (1) on, and lists the
 *                                      first LISTED (10) that do not end as they should
 *
 * Each seed makes a program of 6 to 600 calls. Where two pieces of work must be ordered, it adds an
 * event, a synchronization, a poll, or a host function for whose flag the host waits, in sleeps or
 * in queries; in some programs one such edge is left out, or a host function that merely runs is
 * put in its place, or a call is made that no order repairs. What is incorrect is decided by a
 * graph (random_model.h), while the program runs: the checker must report the first call that is
 * incorrect, for that hazard, and be silent before. It must be silent to the end, and name each
 * leak there, where nothing is incorrect. From the simulated device come only the answers of
 * queries, whether a host function has begun, whether a device had memory left, and what was
 * written on stderr.
 *
 * Host functions are launched before and behind gates, and captured, as gates are; several threads
 * of the host make the calls, one at a time; and in some programs the devices have so little memory
 * that allocations and launches fail.
 *
 * A call that would be incorrect in a way that the book says is not seen is left out of the run: a
 * touch of the host where it is not seen (page_guard.h), and a use by an old pointer whose address
 * is another allocation's now. Each program runs in a process of its own, under one of the
 * schedules.
 *
 * Exit status 0: each program was reported, or not, as the graph says. The others are listed with
 * their seeds, without the calls that can be left out. */
#define _GNU_SOURCE
#include "kernels.h"
#include "random_model.h"
#include "random_runs.h"
#include "workbook.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- making a program ---- */

static bool has_room(const struct program *p)
{
    return p->count < OPS - 60 && g.node_count < NODES - 200 && g.access_count < ACCESSES - 200
        && g.postponed_count < POSTPONED - 200 && g.instance_count < INSTANCES - 4
        && p->function_count < FUNCTIONS - 8;
}

static void emit(struct program *p, struct op op)
{
    if (p->count == OPS)
        abort();
    if (!is_possible(p, &op))
        return;
    if (op.kind == FUNCTION)
        op.event = p->function_count++;
    p->ops[p->count++] = op;
    advance(p, &op);
}

static int emit_record(struct program *p, int stream)
{
    int event = roll(EVENTS);
    emit(p, (struct op){
                .kind = RECORD, .stream = stream, .device = slots[stream].device, .event = event});
    return event;
}

/* Returns the slot of a stream that has the node, or whose newest work comes after it, or -1. */
static int stream_behind(int n)
{
    int start = roll(STREAMS);
    for (int i = 0; i < STREAMS; i++) {
        int slot = (start + i) % STREAMS, last = *newest_of(slot);
        if (last >= 0 && (last == n || has(&befores[last], n)))
            return slot;
    }
    return -1;
}

/* Makes node `n` happen before what the stream does next or, with stream -1, before what the host
 * does next, in one of several ways. */
static void order_before(struct program *p, int n, int stream)
{
    int from = stream_behind(n), device = from < 0 ? 0 : slots[from].device, event;
    for (int gate = 0; stream < 0 && gate < GATES; gate++)
        emit(p, (struct op){.kind = OPEN, .gate = gate});
    switch (from < 0 ? 0 : stream < 0 ? roll(6) : roll(14)) {
    case 0:
        /* Its stream may be destroyed, so only the devices can be waited for. */
        emit(p, (struct op){.kind = SYNC_DEVICE, .device = device});
        if (from < 0)
            emit(p, (struct op){.kind = SYNC_DEVICE, .device = 1});
        break;
    case 1: emit(p, (struct op){.kind = SYNC_STREAM, .stream = from}); break;
    case 2: emit(p, (struct op){.kind = POLL_STREAM, .stream = from}); break;
    case 3:
    case 4:
        event = emit_record(p, from);
        emit(p, (struct op){.kind = ONE_OF(SYNC_EVENT, POLL_EVENT, POLL_TIME),
                            .device = device,
                            .event = event});
        break;
    case 5:
        if (roll(4))
            break;
        emit(p, (struct op){.kind = FUNCTION, .stream = from});
        emit(p, (struct op){.kind = ONE_OF(AWAIT, AWAIT_ASKING),
                            .stream = from,
                            .event = p->function_count - 1});
        break;
    case 6:
    case 7: {
        /* By way of a third stream. */
        int third = roll(STREAMS);
        event = emit_record(p, from);
        emit(p, (struct op){.kind = WAIT, .stream = third, .device = device, .event = event});
        event = emit_record(p, third);
        emit(p, (struct op){
                    .kind = WAIT, .stream = stream, .device = slots[third].device, .event = event});
        break;
    }
    default:
        event = emit_record(p, from);
        emit(p, (struct op){.kind = WAIT, .stream = stream, .device = device, .event = event});
    }
}

/* Returns whether the op is incorrect, or could be by what is decided only later. g.first and
 * g.second are the two nodes. */
static bool is_risky(const struct program *p, const struct op *op)
{
    static struct state before;
    before = g;
    advance(p, op);
    bool risky = g.hazards || g.postponed_count > before.postponed_count;
    int first = g.first, second = g.second;
    g = before;
    g.first = first;
    g.second = second;
    return risky;
}

/* The program often has host functions and gates between uses of the same memory. */
static bool is_held_often;

/* Orders nothing, instead of an edge: after node `n` a host function for which no one waits, and
 * sometimes calls that do not wait either. */
static void order_by_nothing(struct program *p, int n)
{
    int from = n < 0 ? -1 : stream_behind(n);
    if (from < 0)
        return;
    emit(p, (struct op){.kind = FUNCTION, .stream = from});
    for (unsigned calls = roll(8); calls; calls--)
        emit_record(p, from);
}

static void emit_ordered(struct program *p, struct op op)
{
    if (!is_possible(p, &op))
        return;
    for (int tries = 0; is_risky(p, &op); tries++) {
        bool is_lost = g.first < 0 || tries == 8;
        if (roll(100) < careless) {
            if (roll(2))
                order_by_nothing(p, g.first);
            emit(p, op);
            is_over = g.hazards;
            return;
        }
        if (is_lost)
            return;
        bool host = g.second < 0 || op.kind == LOAD || op.kind == STORE;
        order_before(p, g.first, host ? -1 : op.stream);
        if (!is_possible(p, &op))
            return;
    }
    emit(p, op);
}

/* Returns an allocation in this state, or -1 if none was found. */
static int pick_allocation(int state, int count)
{
    for (int tries = 0; tries < 20; tries++) {
        int b = roll((unsigned)count);
        if ((int)g.allocations[b].state == state
            || (state == FREED && g.allocations[b].state == NEVER))
            return b;
    }
    return -1;
}

/* Picks at most 16 KiB of an allocation: whole ints or any bytes. */
static void pick_range(size_t bytes, bool ints, size_t *from, size_t *to)
{
    size_t unit = ints ? sizeof(int) : 1, count = bytes / unit;
    if (count > 16384 / unit)
        count = 16384 / unit;
    *from = roll(3) ? 0 : roll((unsigned)count);
    *to = roll(3) ? count : *from + 1 + roll(roll(3) ? (unsigned)(count - *from) : 1);
    *from *= unit;
    *to *= unit;
    if (roll(3) == 0 && bytes <= 16384)
        *to = ints ? bytes / unit * unit : bytes;
}

static size_t some_size(void)
{
    size_t bytes = (size_t)256 << roll(9);
    return roll(4) ? bytes : bytes - 4 * roll(60);
}

static void add_allocation(struct program *p, int stream)
{
    struct op op = {.kind = ONE_OF(ALLOCATE, ALLOCATE, ALLOCATE, ALLOCATE, ALLOCATE_DEVICE,
                                   ALLOCATE_MANAGED, ALLOCATE_PINNED, REGISTER),
                    .stream = stream,
                    .device = roll(DEVICES),
                    .allocation = pick_allocation(FREED, ALLOCATIONS),
                    .pool = roll(POOLS),
                    .to = some_size()};
    if (op.allocation < 0)
        return;
    if (op.kind == ALLOCATE && roll(2))
        op.pool = slots[stream].device;
    if (op.kind == ALLOCATE && op.pool == CAPPED)
        op.to = 12 * MiB;
    else if (p->is_full && (op.kind == ALLOCATE || op.kind == ALLOCATE_DEVICE) && roll(2))
        op.to = (1 + roll(40)) * MiB;
    emit(p, op);
}

/* Returns whether ordinary memory can be an end of this kind of copy. */
static bool takes_ordinary(enum kind kind) { return kind == COPY || kind == COPY_AT_ONCE; }

static void add_use(struct program *p, int stream)
{
    struct op op = {.kind = ONE_OF(FILL, FILL, ADD, SET, SET, SET_AT_ONCE, COPY, COPY, COPY,
                                   COPY_AT_ONCE, COPY_AT_ONCE, COPY_PEER, COPY_PEER_AT_ONCE,
                                   PREFETCH, LOAD, STORE),
                    .stream = stream,
                    .device = roll(DEVICES),
                    .allocation = pick_allocation(ALIVE, ALL_ALLOCATIONS)};
    if (op.allocation < 0)
        return;
    const struct allocation *a = &g.allocations[op.allocation];
    if (a->memory == CUDA_MANAGED && roll(6) == 0)
        op.kind = PREFETCH;
    else if ((a->memory == PINNED || is_host_visible(a)) && roll(3) == 0)
        op.kind = roll(2) ? LOAD : STORE;
    if (op.kind == SET_AT_ONCE || op.kind == COPY_AT_ONCE || op.kind == COPY_PEER_AT_ONCE)
        op.stream = op.device;
    pick_range(g.allocations[op.allocation].bytes, op.kind == FILL || op.kind == ADD, &op.from,
               &op.to);
    if (op.kind >= COPY && op.kind <= COPY_PEER_AT_ONCE) {
        size_t bytes = op.to - op.from;
        op.source = takes_ordinary(op.kind) && roll(4) == 0
                      ? ORDINARY
                      : pick_allocation(ALIVE, ALL_ALLOCATIONS);
        if (op.source >= 0 && bytes < g.allocations[op.source].bytes)
            op.source_from = roll(2) ? 0 : roll((unsigned)(g.allocations[op.source].bytes - bytes));
        else if (op.source == ORDINARY && !takes_ordinary(op.kind))
            return;
        if (op.source >= 0 && takes_ordinary(op.kind) && roll(4) == 0) {
            op.allocation = ORDINARY;
            op.from = 0;
            op.to = bytes;
        }
    }
    emit_ordered(p, op);
}

static void add_free(struct program *p, int stream, int allocation)
{
    const struct allocation *a = &g.allocations[allocation];
    bool by_host =
        a->memory == CUDA_MANAGED || a->memory == PINNED || a->memory == REGISTERED || roll(6) == 0;
    emit_ordered(p, (struct op){.kind = by_host ? FREE_BY_HOST : FREE,
                                .stream = stream,
                                .allocation = allocation});
}

/* Makes a call that no order makes correct. */
static void add_mistake(struct program *p, int stream)
{
    struct op op = {.kind =
                        ONE_OF(FILL_BEYOND, FILL_FREED, SET_FREED, FREE_FREED, FREE_FREED_BY_HOST),
                    .stream = stream};
    op.allocation = pick_allocation(op.kind == FILL_BEYOND ? ALIVE : FREED, ALLOCATIONS);
    if (op.allocation < 0)
        return;
    const struct allocation *a = &g.allocations[op.allocation];
    if (a->state == NEVER || (a->state == FREED && a->memory == REGISTERED)
        || (op.kind == FREE_FREED && a->memory != POOL && a->memory != DEVICE))
        return;
    pick_range(a->bytes, true, &op.from, &op.to);
    if (op.kind == FILL_BEYOND)
        op.to = a->bytes / sizeof(int) * sizeof(int) + sizeof(int) * (1 + roll(100));
    if (!is_possible(p, &op))
        return;
    emit(p, op);
    is_over = g.hazards;
}

/* ---- graphs ---- */

/* The tasks that happen before each task, and before each branch's next one, as bits. */
struct shape {
    unsigned before[PLAN_TASKS], branch[BRANCHES];
};

static void add_task(struct plan *plan, struct shape *shape, struct task t)
{
    int i = plan->count;
    if (i == PLAN_TASKS)
        return;
    shape->before[i] = shape->branch[t.branch];
    if (t.kind == TASK_EDGE)
        shape->before[i] |= shape->branch[t.other];
    shape->branch[t.branch] = shape->before[i] | 1u << i;
    plan->tasks[plan->count++] = t;
}

static bool overlap(int a, size_t from, size_t to, int b, size_t other_from, size_t other_to)
{
    return a == b && from < other_to && other_from < to;
}

static bool touches(const struct task *t) { return t->kind < TASK_EDGE || t->kind > TASK_HOLD; }

/* Returns whether two tasks touch the same bytes, or one begins or ends the memory that the other
 * uses. */
static bool meet(const struct task *a, const struct task *b, int own)
{
    size_t n = a->to - a->from, m = b->to - b->from;
    if (!touches(a) || !touches(b))
        return false;
    if (a->kind >= TASK_ALLOCATE)
        return b->allocation == own || (b->kind == TASK_COPY && b->source == own);
    if (b->kind >= TASK_ALLOCATE)
        return meet(b, a, own);
    return overlap(a->allocation, a->from, a->to, b->allocation, b->from, b->to)
        || (b->kind == TASK_COPY
            && overlap(a->allocation, a->from, a->to, b->source, b->source_from,
                       b->source_from + m))
        || (a->kind == TASK_COPY
            && overlap(b->allocation, b->from, b->to, a->source, a->source_from,
                       a->source_from + n));
}

/* Adds the task after the edges that it must have, unless one of those is left out. */
static void add_ordered_task(struct plan *plan, struct shape *shape, struct task t, int own)
{
    for (int i = 0; i < plan->count; i++) {
        if (!meet(&plan->tasks[i], &t, own) || shape->branch[t.branch] >> i & 1)
            continue;
        if (roll(100) >= careless)
            add_task(plan, shape,
                     (struct task){
                         .kind = TASK_EDGE, .branch = t.branch, .other = plan->tasks[i].branch});
    }
    add_task(plan, shape, t);
}

static void add_graph(struct program *p)
{
    struct shape shape = {{0}, {0}};
    int number = p->plan_count, own = ALLOCATIONS + number;
    struct plan *plan = &p->plans[number];
    if (number == PLANS)
        return;
    *plan = (struct plan){.device = roll(DEVICES), .branches = 1 + roll(BRANCHES)};
    if (roll(2)) {
        plan->bytes = some_size();
        add_task(plan, &shape, (struct task){.kind = TASK_ALLOCATE, .allocation = own});
    }
    for (int tasks = 1 + roll(6); tasks; tasks--) {
        struct task t = {.kind = ONE_OF(TASK_FILL, TASK_FILL, TASK_SET, TASK_SET, TASK_COPY,
                                        TASK_COPY, TASK_EDGE, TASK_EDGE, TASK_FUNCTION, TASK_HOLD),
                         .branch = roll((unsigned)plan->branches),
                         .other = roll((unsigned)plan->branches),
                         .gate = roll(GATES),
                         .allocation =
                             plan->bytes && roll(2) ? own : pick_allocation(ALIVE, ALLOCATIONS)};
        t.source = plan->bytes && roll(3) == 0 ? own : pick_allocation(ALIVE, ALLOCATIONS);
        if (!touches(&t)) {
            if (t.kind != TASK_HOLD || roll(3) == 0)
                add_task(plan, &shape, t);
            continue;
        }
        if (t.allocation < 0 || t.source < 0)
            continue;
        size_t bytes = t.allocation == own ? plan->bytes : g.allocations[t.allocation].bytes,
               source = t.source == own ? plan->bytes : g.allocations[t.source].bytes;
        pick_range(t.kind == TASK_COPY && source < bytes ? source : bytes, t.kind == TASK_FILL,
                   &t.from, &t.to);
        if (t.kind != TASK_COPY || (t.allocation != t.source && t.to - t.from <= source))
            add_ordered_task(plan, &shape, t, own);
    }
    if (plan->bytes && roll(2))
        add_ordered_task(plan, &shape, (struct task){.kind = TASK_FREE, .allocation = own}, own);
    p->plan_count++;
    emit(p, (struct op){.kind = MAKE_GRAPH, .plan = number});
}

static void add_launch(struct program *p)
{
    if (!p->plan_count)
        return;
    struct op op = {.kind = LAUNCH, .plan = roll((unsigned)p->plan_count)};
    do
        op.stream = roll(STREAMS);
    while (slots[op.stream].device != p->plans[op.plan].device);
    if (roll(12) == 0)
        op.kind = DESTROY_GRAPH;
    emit_ordered(p, op);
}

/* Before a gate is opened, the host waits for what must precede the work after it. */
static void add_opening(struct program *p, int gate)
{
    for (int i = 0; i < g.postponed_count; i++) {
        const struct postponed *c = &g.postponed[i];
        if (!c->settled && !c->by_function && !has(&g.host, c->first) && roll(100) >= careless)
            for (int slot = 0; slot < STREAMS; slot++)
                if (*newest_of(slot) >= 0
                    && (*newest_of(slot) == c->first
                        || has(&befores[*newest_of(slot)], c->first))) {
                    emit(p, (struct op){.kind = SYNC_STREAM, .stream = slot});
                    if (has(&g.host, c->first))
                        break;
                }
    }
    emit(p, (struct op){.kind = OPEN, .gate = gate});
    is_over = judge_postponed();
}

/* Two uses of the same bytes in one stream with something between that holds up the second: a host
 * function, or a closed gate, perhaps in front of the other. */
static void add_held_use(struct program *p, int stream)
{
    int first = p->count, gate = roll(GATES);
    unsigned between = roll(4);
    add_use(p, stream);
    if (p->count == first || is_over)
        return;
    struct op again = p->ops[p->count - 1];
    if (between != 1)
        emit(p, (struct op){.kind = FUNCTION, .stream = again.stream});
    if (between != 0 && !g.is_open[gate])
        emit(p, (struct op){.kind = HOLD, .stream = again.stream, .gate = gate});
    if (between == 3)
        emit(p, (struct op){.kind = FUNCTION, .stream = again.stream});
    emit_ordered(p, again);
}

static void add_something(struct program *p)
{
    int stream = roll(STREAMS), device = slots[stream].device, event = roll(EVENTS), b;
    struct op op = {.stream = stream, .device = device, .event = event, .gate = roll(GATES)};
    unsigned what = roll(60);
    if (what < 10)
        add_allocation(p, stream);
    else if (what < 16) {
        if ((b = pick_allocation(ALIVE, ALL_ALLOCATIONS)) >= 0)
            add_free(p, stream, b);
    } else if (what < 20) {
        op.kind = RECORD;
        emit(p, op);
    } else if (what < 24) {
        op.kind = WAIT;
        op.device = roll(DEVICES);
        emit(p, op);
    } else if (what < 27) {
        op.kind = ONE_OF(SYNC_STREAM, SYNC_EVENT, SYNC_DEVICE, POLL_STREAM, POLL_EVENT, POLL_TIME);
        emit(p, op);
    } else if (what < 29) {
        op.kind = ONE_OF(QUERY_STREAM, QUERY_EVENT);
        emit(p, op);
    } else if (what < 31) {
        op.kind = slots[stream].sort >= BLOCKING && roll(2) ? RENEW_STREAM : RENEW_EVENT;
        emit(p, op);
    } else if (what < 32) {
        op.kind = FUNCTION;
        if (roll(3) == 0)
            emit(p, op);
    } else if (what < 50 && what >= 47 && is_held_often) {
        add_held_use(p, stream);
    } else if (what < 34) {
        op.kind = HOLD;
        if (!g.is_open[op.gate])
            emit(p, op);
    } else if (what < 35)
        add_opening(p, op.gate);
    else if (what < 36)
        add_graph(p);
    else if (what < 39)
        add_launch(p);
    else if (what < 40) {
        op.kind = TRIM;
        op.pool = roll(POOLS);
        emit(p, op);
    } else if (what < 41 && careless && roll(3) == 0)
        add_mistake(p, stream);
    else
        add_use(p, stream);
}

static void make_program(struct program *p, unsigned seed)
{
    take_dice(seed);
    p->count = p->plan_count = p->function_count = 0;
    is_over = false;
    careless = roll(5) < 3 ? 8 : 0;
    is_held_often = roll(3) == 0;
    p->is_full = roll(6) == 0;
    p->has_half = roll(2);
    p->may_wait_for_free = roll(2);
    model_start();
    unsigned calls = roll(50) ? 6 + roll(60) : 60 + roll(540);
    for (unsigned i = 0; i < 2 * calls && p->count < (int)calls && !is_over && has_room(p); i++)
        add_something(p);
    for (int gate = 0; gate < GATES && !is_over; gate++)
        if (any_gate_is_closed())
            add_opening(p, gate);
    for (int b = 0; b < ALL_ALLOCATIONS && !is_over; b++)
        if (is_alive(b) && (!careless || roll(40)))
            for (int tries = 0; tries < 5 && is_alive(b) && !is_over; tries++)
                add_free(p, roll(STREAMS), b);
}

/* ---- running ---- */

static cudaStream_t streams[STREAMS];
static cudaEvent_t events[DEVICES][EVENTS];
static char *addresses[ALL_ALLOCATIONS];
static cudaMemPool_t pool_handles[POOLS];
static cudaGraphExec_t execs[PLANS];
static cudaGraph_t graphs[PLANS];
static volatile int *gates;
/* Takes half of the memory of each device; NULL: it has all of it. */
static void *other_half[DEVICES];
static volatile int begun[FLAGS];

static void make_stream(int s)
{
    if (slots[s].sort == LEGACY)
        streams[s] = cudaStreamLegacy;
    else if (slots[s].sort == PER_THREAD)
        streams[s] = cudaStreamPerThread;
    else
        CHECK(cudaStreamCreateWithFlags(
            &streams[s], slots[s].sort == BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking));
}

/* Whether a pool may make a stream wait for a free in another one. */
static void set_internal(int pool, int allowed)
{
    CHECK(cudaMemPoolSetAttribute(pool_handles[pool], cudaMemPoolReuseAllowInternalDependencies,
                                  &allowed));
}

static void make_pool(int pool)
{
    struct cudaMemPoolProps props = {
        .allocType = pool == MANAGED ? cudaMemAllocationTypeManaged : cudaMemAllocationTypePinned,
        .location = {.type = pool == HOST ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice},
        .maxSize = pool == CAPPED ? 32 * MiB : 0};
    CHECK(cudaMemPoolCreate(&pool_handles[pool], &props));
    for (int a = cudaMemPoolReuseFollowEventDependencies;
         pool == NO_REUSE && a <= cudaMemPoolReuseAllowInternalDependencies; a++) {
        int off = 0;
        CHECK(cudaMemPoolSetAttribute(pool_handles[pool], (enum cudaMemPoolAttr)a, &off));
    }
}

static void give_access(int pool)
{
    struct cudaMemAccessDesc both[DEVICES];
    for (int d = 0; d < DEVICES; d++)
        both[d] =
            (struct cudaMemAccessDesc){.location = {.type = cudaMemLocationTypeDevice, .id = d},
                                       .flags = cudaMemAccessFlagsProtReadWrite};
    if (pool != MANAGED)
        CHECK(cudaMemPoolSetAccess(pool_handles[pool], both, DEVICES));
}

/* What a program does not use is not created. */
static void set_up(const struct program *p)
{
    bool used[POOLS] = {false};
    for (int i = 0; i < p->count; i++)
        if (p->ops[i].kind == ALLOCATE || p->ops[i].kind == TRIM)
            used[p->ops[i].pool] = true;
    for (int i = 0; i < POOLS; i++) {
        if (i <= DEFAULT_1)
            CHECK(cudaDeviceGetDefaultMemPool(&pool_handles[i], i));
        else if (used[i])
            make_pool(i);
        if (i <= DEFAULT_1 || used[i])
            give_access(i);
        if (p->is_full && !p->may_wait_for_free && i != CAPPED && (i <= DEFAULT_1 || used[i]))
            set_internal(i, 0);
    }
    for (int d = 0; d < DEVICES; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaDeviceEnablePeerAccess(1 - d, 0));
        for (int e = 0; e < EVENTS; e++)
            CHECK(cudaEventCreate(&events[d][e]));
        if (p->is_full && p->has_half)
            CHECK(cudaMalloc(&other_half[d], 32 * MiB));
    }
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaSetDevice(slots[s].device));
        make_stream(s);
    }
    CHECK(cudaMallocHost((void **)&gates, GATES * sizeof *gates));
    memset((void *)gates, 0, GATES * sizeof *gates);
}

static void begin(void *flag) { ++*(volatile int *)flag; }

/* Captures the plan in streams of its own, and makes its graph ready to be launched. */
static cudaError_t make_exec(const struct program *p, int number)
{
    const struct plan *plan = &p->plans[number];
    cudaStream_t s[BRANCHES];
    cudaEvent_t e;
    CHECK(cudaSetDevice(plan->device));
    CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (int b = 0; b < plan->branches; b++)
        CHECK(cudaStreamCreateWithFlags(&s[b], cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeRelaxed));
    for (int b = 1; b < plan->branches; b++) {
        CHECK(cudaEventRecord(e, s[0]));
        CHECK(cudaStreamWaitEvent(s[b], e, 0));
    }
    for (int i = 0; i < plan->count; i++) {
        const struct task *t = &plan->tasks[i];
        char *to = addresses[t->allocation] + t->from, *from = addresses[t->source];
        size_t bytes = t->to - t->from;
        cudaStream_t branch = s[t->branch];
        switch (t->kind) {
        case TASK_FILL: CHECK(launch_fill((int *)to, 1, bytes / sizeof(int), branch)); break;
        case TASK_SET: CHECK(cudaMemsetAsync(to, 1, bytes, branch)); break;
        case TASK_COPY:
            CHECK(cudaMemcpyAsync(to, from + t->source_from, bytes, cudaMemcpyDefault, branch));
            break;
        case TASK_EDGE:
            if (t->other == t->branch)
                break;
            CHECK(cudaEventRecord(e, s[t->other]));
            CHECK(cudaStreamWaitEvent(branch, e, 0));
            break;
        case TASK_FUNCTION:
            CHECK(cudaLaunchHostFunc(branch, begin, (void *)&begun[flag_of_task(number, i)]));
            break;
        case TASK_HOLD: CHECK(launch_hold((const int *)&gates[t->gate], branch)); break;
        case TASK_ALLOCATE:
            CHECK(cudaMallocAsync((void **)&addresses[t->allocation], plan->bytes, branch));
            break;
        case TASK_FREE: CHECK(cudaFreeAsync(to, branch)); break;
        }
    }
    for (int b = 1; b < plan->branches; b++) {
        CHECK(cudaEventRecord(e, s[b]));
        CHECK(cudaStreamWaitEvent(s[0], e, 0));
    }
    cudaError_t error = cudaStreamEndCapture(s[0], &graphs[number]);
    if (!error)
        error = cudaGraphInstantiate(&execs[number], graphs[number], 0);
    for (int b = 0; b < plan->branches; b++)
        CHECK(cudaStreamDestroy(s[b]));
    CHECK(cudaEventDestroy(e));
    return error;
}

static char *ordinary_memory(int allocation)
{
    static char buffers[ALLOCATIONS + 1][65536] __attribute__((aligned(4096)));
    return buffers[allocation + 1];
}

/* Forgets the error of a device that has no memory left. */
static cudaError_t without_last_error(cudaError_t answer)
{
    if (answer == cudaErrorMemoryAllocation)
        (void)cudaGetLastError();
    return answer;
}

static cudaError_t allocate(const struct op *op)
{
    void **address = (void **)&addresses[op->allocation];
    switch (op->kind) {
    case ALLOCATE:
        if (op->pool == slots[op->stream].device)
            return cudaMallocAsync(address, op->to, streams[op->stream]);
        return cudaMallocFromPoolAsync(address, op->to, pool_handles[op->pool],
                                       streams[op->stream]);
    case ALLOCATE_DEVICE: return cudaMalloc(address, op->to);
    case ALLOCATE_MANAGED: return cudaMallocManaged(address, op->to, cudaMemAttachGlobal);
    case ALLOCATE_PINNED: return cudaMallocHost(address, op->to);
    default:
        *address = ordinary_memory(op->allocation);
        return cudaHostRegister(*address, op->to, 0);
    }
}

static cudaError_t copy_now(const struct op *op, cudaStream_t s)
{
    char *to = op->allocation < 0 ? ordinary_memory(-1) : addresses[op->allocation] + op->from;
    char *from = op->source < 0 ? ordinary_memory(-1) : addresses[op->source] + op->source_from;
    size_t bytes = op->to - op->from;
    int to_device = op->allocation < 0 ? 0 : g.allocations[op->allocation].device,
        from_device = op->source < 0 ? 0 : g.allocations[op->source].device;
    switch (op->kind) {
    case COPY: return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s);
    case COPY_AT_ONCE: return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
    case COPY_PEER: return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, s);
    default: return cudaMemcpyPeer(to, to_device, from, from_device, bytes);
    }
}

static cudaError_t free_by_host(const struct op *op)
{
    char *p = addresses[op->allocation];
    switch (g.allocations[op->allocation].memory) {
    case PINNED: return cudaFreeHost(p);
    case REGISTERED: return cudaHostUnregister(p);
    default: return cudaFree(p);
    }
}

/* Returns whether the op is made in a stream, whose device must then be current. */
static bool is_of_stream(const struct op *op)
{
    switch (op->kind) {
    case ALLOCATE_DEVICE:
    case ALLOCATE_MANAGED:
    case ALLOCATE_PINNED:
    case REGISTER:
    case SYNC_EVENT:
    case SYNC_DEVICE:
    case POLL_EVENT:
    case POLL_TIME:
    case QUERY_EVENT:
    case RENEW_EVENT: return false;
    default: return true;
    }
}

/* Bits of the functions that have begun since the model was told. */
static uint64_t new_functions(void)
{
    uint64_t bits = 0;
    for (int f = 0; f < g.function_count; f++)
        if (begun[g.functions[f].flag] >= g.functions[f].at && !g.functions[f].begun)
            bits |= (uint64_t)1 << f;
    return bits;
}
/* Bits of the functions that had begun when the op's own call was made. */
static uint64_t begun_at_call;

/* Long enough for all work to end that can end. */
static void be_idle(void) { usleep(600); }

/* Makes the op's call. */
static cudaError_t perform(const struct program *p, const struct op *op)
{
    cudaStream_t s = streams[op->stream];
    cudaEvent_t *e = &events[op->device][op->event];
    char *data = op->allocation < 0 ? NULL : addresses[op->allocation] + op->from;
    size_t bytes = op->to - op->from, ints = bytes / sizeof(int);
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = op->device};
    cudaError_t answer;
    float ms;
    CHECK(cudaSetDevice(is_of_stream(op) ? slots[op->stream].device : op->device));
    begun_at_call = new_functions();
    switch (op->kind) {
    case ALLOCATE:
    case ALLOCATE_DEVICE:
    case ALLOCATE_MANAGED:
    case ALLOCATE_PINNED:
    case REGISTER: return without_last_error(allocate(op));
    case FILL:
    case FILL_BEYOND:
    case FILL_FREED: return launch_fill((int *)data, 1, ints, s);
    case ADD: return launch_add((int *)data, 1, ints, s);
    case SET:
    case SET_FREED: return cudaMemsetAsync(data, 1, bytes, s);
    case SET_AT_ONCE: return cudaMemset(data, 1, bytes);
    case COPY:
    case COPY_AT_ONCE:
    case COPY_PEER:
    case COPY_PEER_AT_ONCE: return copy_now(op, s);
    case PREFETCH: return cudaMemPrefetchAsync(data, bytes, here, 0, s);
    case LOAD: (void)*(volatile char *)data; return cudaGetLastError();
    case STORE: *(volatile char *)data = 1; return cudaGetLastError();
    case FUNCTION: return cudaLaunchHostFunc(s, begin, (void *)&begun[op->event]);
    case HOLD: return launch_hold((const int *)&gates[op->gate], s);
    case LAUNCH: return without_last_error(cudaGraphLaunch(execs[op->plan], s));
    case FREE:
    case FREE_FREED: return cudaFreeAsync(addresses[op->allocation], s);
    case FREE_BY_HOST:
    case FREE_FREED_BY_HOST: return free_by_host(op);
    case MAKE_GRAPH: return make_exec(p, op->plan);
    case DESTROY_GRAPH:
        CHECK(cudaGraphExecDestroy(execs[op->plan]));
        return cudaGraphDestroy(graphs[op->plan]);
    case TRIM: return cudaMemPoolTrimTo(pool_handles[op->pool], 0);
    case RENEW_STREAM:
        CHECK(cudaStreamDestroy(s));
        make_stream(op->stream);
        return cudaSuccess;
    case RENEW_EVENT: CHECK(cudaEventDestroy(*e)); return cudaEventCreate(e);
    case RECORD: return cudaEventRecord(*e, s);
    case WAIT: return cudaStreamWaitEvent(s, *e, 0);
    case OPEN: gates[op->gate] = 1; return cudaGetLastError();
    case SYNC_STREAM: return cudaStreamSynchronize(s);
    case SYNC_EVENT: return cudaEventSynchronize(*e);
    case SYNC_DEVICE: return cudaDeviceSynchronize();
    case POLL_STREAM:
        while ((answer = cudaStreamQuery(s)) == cudaErrorNotReady)
            be_idle();
        return answer;
    case POLL_EVENT:
        while ((answer = cudaEventQuery(*e)) == cudaErrorNotReady)
            be_idle();
        return answer;
    case POLL_TIME:
        while ((answer = cudaEventElapsedTime(&ms, *e, *e)) == cudaErrorNotReady)
            be_idle();
        return answer;
    case AWAIT:
        while (!begun[op->event])
            be_idle();
        return cudaSuccess;
    case AWAIT_ASKING:
        while (!begun[op->event])
            (void)cudaStreamQuery(s);
        return cudaSuccess;
    case QUERY_STREAM: return cudaStreamQuery(s);
    case QUERY_EVENT: return cudaEventQuery(*e);
    }
    return cudaErrorUnknown;
}

/* The threads that make the calls of slots that are not the first thread's. */
static struct helper {
    pthread_t thread;
    bool is_there;
    sem_t requested, done;
    const struct program *program;
    const struct op *op;
    cudaError_t answer;
} helpers[THREADS];

static void *help(void *argument)
{
    struct helper *h = argument;
    for (;;) {
        sem_wait(&h->requested);
        h->answer = perform(h->program, h->op);
        sem_post(&h->done);
    }
    return NULL;
}

static cudaError_t perform_somewhere(const struct program *p, const struct op *op)
{
    struct helper *h = &helpers[slots[op->stream].thread];
    if (h == helpers || !is_of_stream(op))
        return perform(p, op);
    if (!h->is_there) {
        sem_init(&h->requested, 0, 0);
        sem_init(&h->done, 0, 0);
        pthread_create(&h->thread, NULL, help, h);
        h->is_there = true;
    }
    h->program = p;
    h->op = op;
    sem_post(&h->requested);
    sem_wait(&h->done);
    return h->answer;
}

/* ---- a run next to the model ---- */

/* What a run's process leaves for the process that started it. */
static struct outcome *outcome;

/* What the model has to repeat when a function turns out to have begun before an op. */
static struct {
    bool was_left_out, has_succeeded;
    /* Bits of the functions that had begun: before the call, so that the host may know of them;
     * when the call began; and at its end. */
    uint64_t begun_before, begun_during, begun_after;
} history[OPS];

static void begin_functions(uint64_t bits)
{
    for (int f = 0; f < g.function_count; f++)
        if (bits >> f & 1)
            function_has_begun(f);
}

static void model_op(const struct program *p, int i)
{
    begin_functions(history[i].begun_before);
    learn_of_functions();
    begin_functions(history[i].begun_during);
    if (!history[i].was_left_out)
        advance(p, &p->ops[i]);
    if (history[i].has_succeeded)
        query_succeeded(&p->ops[i]);
    begin_functions(history[i].begun_after);
}

/* Returns whether another allocation now has the address of what was freed. */
static bool is_taken(const struct op *op)
{
    bool frees = op->kind == FREE_FREED || op->kind == FREE_FREED_BY_HOST;
    const char *start = addresses[op->allocation], *from = frees ? start : start + op->from,
               *to = frees ? start + 1 : start + op->to;
    for (int i = 0; i < ALL_ALLOCATIONS; i++)
        if (is_alive(i) && addresses[i] < to && from < addresses[i] + g.allocations[i].bytes)
            return true;
    return false;
}

/* Returns whether the allocation was freed whose address a graph has. */
static bool is_stale(int plan, int allocation)
{
    return allocation >= 0 && allocation < ALLOCATIONS
        && (!is_alive(allocation)
            || g.allocations[allocation].generation != g.graphs[plan].generations[allocation]);
}

/* Returns whether a graph uses host memory that the device no longer has. A copy may still find the
 * address valid, and the bytes of registered memory exist. The memory that the graph was made for
 * counts, because by now the allocation may be other memory. */
static bool uses_hosts_memory_that_was_freed(const struct program *p, int number)
{
    const struct plan *plan = &p->plans[number];
    const enum memory *memories = g.graphs[number].memories;
    for (int i = 0; i < plan->count; i++) {
        const struct task *t = &plan->tasks[i];
        if (t->kind > TASK_COPY)
            continue;
        if (is_stale(number, t->allocation)
            && (memories[t->allocation] == REGISTERED
                || (memories[t->allocation] == PINNED && t->kind == TASK_COPY)))
            return true;
        if (t->kind == TASK_COPY && is_stale(number, t->source)
            && (memories[t->source] == REGISTERED || memories[t->source] == PINNED))
            return true;
    }
    return false;
}

/* Returns whether the op is incorrect in a way that the book says is not seen. */
static bool is_excused(const struct program *p, const struct op *op)
{
    switch (op->kind) {
    case LOAD:
    case STORE: return !judge_touch(op, true) && judge_touch(op, false);
    case FILL_FREED:
    case SET_FREED:
    case FREE_FREED:
    case FREE_FREED_BY_HOST: return is_taken(op);
    case LAUNCH: return uses_hosts_memory_that_was_freed(p, op->plan);
    default: return false;
    }
}

static bool waits_and_queues(const struct program *p, const struct op *op)
{
    struct set s;
    return (op->kind < TRIM && awaited(op, &s)) || (op->kind == LAUNCH && p->plans[op->plan].bytes);
}

static _Noreturn void end_run(enum end end)
{
    outcome->end = end;
    _exit(0);
}

/* The checker may need the work to end before it judges what was postponed. Returns false if that
 * work touched memory that is gone, as an incorrect program's may. */
static bool finish_all(void)
{
    for (int gate = 0; gate < GATES; gate++)
        gates[gate] = 1;
    for (int d = 0; d < DEVICES; d++) {
        CHECK(cudaSetDevice(d));
        cudaError_t e = cudaDeviceSynchronize();
        if (e == cudaErrorIllegalAddress || e == cudaErrorLaunchFailure)
            return false;
        CHECK(e);
    }
    return true;
}

/* A report that the present op does not explain must be about something postponed. Whether that is
 * incorrect shows when nothing holds the work up; then it is not reported again. */
static bool early_report;

static bool may_be_incorrect_later(void)
{
    for (int i = 0; i < g.postponed_count; i++)
        if (!g.postponed[i].settled || g.postponed[i].by_function)
            return true;
    return false;
}

static void repeat_ops(const struct program *p, int last)
{
    model_start();
    for (int k = 0; k <= last; k++)
        model_op(p, k);
}

/* Functions that began during a call that queues work without waiting began before that work, and
 * the host had already made the call. */
static void model_again(const struct program *p, int i, uint64_t functions)
{
    history[i].begun_before |= functions & begun_at_call;
    history[i].begun_during |= functions & ~begun_at_call;
    repeat_ops(p, i);
}

/* Returns whether nothing is incorrect if the functions that have begun by now began before op `i`,
 * which opens a gate. The device sees the opening only when it next looks at the gate, so it may
 * take a function that began in between for an earlier one. */
static bool is_right_with_earlier_functions(const struct program *p, int i)
{
    if (p->ops[i].kind != OPEN)
        return false;
    history[i].begun_before |= history[i].begun_after | new_functions();
    repeat_ops(p, i);
    return !judge_postponed();
}

/* Compares what the checker wrote with the graph after op number `i`. */
static void compare(const struct program *p, int i, off_t before, int postponed)
{
    const char *reported = report_since(0, before);
    bool owed = judge_postponed();
    bool query = p->ops[i].kind == QUERY_STREAM || p->ops[i].kind == QUERY_EVENT;
    if (outcome->hazards && early_report)
        end_run(UNSURE);
    if (outcome->hazards && !reported)
        end_run(MISSED);
    if (outcome->hazards)
        end_run(is_named(reported, outcome->hazards) || g.postponed_count > postponed ? REPORTED
                                                                                      : OTHER_KIND);
    if (owed && !reported && !early_report) {
        finish_all();
        reported = report_since(0, before);
    }
    if (owed && (reported || early_report))
        end_run(REPORTED);
    if (owed)
        end_run(is_right_with_earlier_functions(p, i) ? UNSURE : MISSED);
    if (reported && !may_be_incorrect_later())
        end_run(FALSELY);
    early_report |= reported != NULL;
    /* A use that was reported early, and is undecided, may have met memory that was gone. */
    if (outcome->answer && !query)
        end_run(early_report ? UNSURE : REFUSED);
}

/* Returns whether the op can fail on a full device. Then it has queued nothing, and is not in the
 * graph. */
static bool needs_memory(const struct op *op)
{
    return op->kind == ALLOCATE || op->kind == ALLOCATE_DEVICE || op->kind == LAUNCH;
}

static void run_op(const struct program *p, int i)
{
    static struct state before_op;
    const struct op *op = &p->ops[i];
    outcome->stopped = i;
    history[i].begun_before = new_functions();
    begin_functions(history[i].begun_before);
    learn_of_functions();
    history[i].was_left_out = !is_possible(p, op) || is_excused(p, op);
    if (history[i].was_left_out) {
        outcome->left_out++;
        return;
    }
    outcome->performed++;
    int postponed = g.postponed_count;
    bool both = waits_and_queues(p, op);
    if (p->is_full)
        before_op = g;
    advance(p, op);
    outcome->hazards = g.hazards;
    off_t before = said_by(0);
    outcome->answer = perform_somewhere(p, op);
    if (p->is_full && outcome->answer == cudaErrorMemoryAllocation && needs_memory(op)) {
        g = before_op;
        history[i].was_left_out = true;
        outcome->hazards = 0;
        outcome->answer = cudaSuccess;
        outcome->refused++;
    }
    history[i].has_succeeded =
        (op->kind == QUERY_STREAM || op->kind == QUERY_EVENT) && !outcome->answer;
    if (history[i].has_succeeded)
        query_succeeded(op);
    uint64_t functions = new_functions();
    if (functions && both)
        end_run(UNSURE);
    if (functions && op->kind < TRIM) {
        model_again(p, i, functions);
        outcome->hazards = g.hazards;
    } else {
        history[i].begun_after = functions;
        begin_functions(functions);
    }
    compare(p, i, before, postponed);
}

/* The graph's view of finish_all: the host waits for one device after the other. What it has
 * acquired from the first comes before what a host function of the second still holds up. */
static bool judge_end(void)
{
    bool hazard = false;
    for (int d = 0; d < DEVICES; d++) {
        struct set all = all_of_device(d);
        for (int f = 0; f < g.function_count; f++)
            g.functions[f].begun |= has(&all, g.functions[f].node);
        hazard |= judge_postponed();
        unite(&g.host, &all);
    }
    return hazard;
}

/* All work is over; only what the checker says at exit remains. */
static void end_program(void)
{
    off_t before = said_by(0);
    for (int gate = 0; gate < GATES; gate++)
        advance(NULL, &(struct op){.kind = OPEN, .gate = gate});
    bool may_be = may_be_incorrect_later();
    bool ended_well = finish_all();
    bool owed = judge_end(), has_report = early_report || report_since(0, before);
    if (owed)
        end_run(has_report ? REPORTED : MISSED);
    for (int i = 0; has_report && may_be && i < g.postponed_count; i++)
        if (g.postponed[i].by_function)
            end_run(UNSURE);
    if (has_report)
        end_run(FALSELY);
    if (!ended_well)
        end_run(CRASHED);
    for (int b = 0; b < ALL_ALLOCATIONS; b++)
        if (is_alive(b) && g.allocations[b].memory != REGISTERED)
            outcome->hazards = ONLY(LEAK);
        else if (is_alive(b))
            CHECK(cudaHostUnregister(addresses[b]));
    CHECK(cudaFreeHost((void *)gates));
    for (int d = 0; d < DEVICES; d++)
        CHECK(cudaFree(other_half[d]));
}

/* Runs the program up to the first call that is incorrect or reported. */
static void run(const struct program *p)
{
    model_start();
    set_up(p);
    model_addresses = addresses;
    for (int i = 0; i < p->count; i++)
        run_op(p, i);
    outcome->stopped = p->count;
    end_program();
}

static struct outcome run_once(const struct program *p, const char *schedule)
{
    int status;
    *outcome = (struct outcome){.end = ENDS};
    if (ftruncate(stderr_files[0], 0) || lseek(stderr_files[0], 0, SEEK_SET))
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setenv("SIM_SCHEDULE", schedule, 1);
        /* Looking up the source lines of a report takes an addr2line each, and would only name this
         * file. */
        setenv("PATH", "", 1);
        if (p->is_full)
            setenv("SIM_MEMORY", "64M", 1);
        dup2(stderr_files[0], STDERR_FILENO);
        /* A program that computes forever ends soon; one that sleeps on a busy machine, later. */
        setrlimit(RLIMIT_CPU, &(struct rlimit){20, 20});
        alarm(600);
        run(p);
        /* Including what the simulated device reports at the end. */
        exit(0);
    }
    waitpid(child, &status, 0);
    if (outcome->end == ENDS) {
        const char *report = report_since(0, 0);
        bool ended = WIFEXITED(status) && WEXITSTATUS(status) == (report ? 3 : 0);
        outcome->end = ended ? judge(report, outcome->hazards, false) : CRASHED;
    }
    return *outcome;
}

/* ---- listing ---- */

static char *name_of(int allocation)
{
    static char names[4][16];
    static int next;
    char *name = names[next++ % 4];
    if (allocation == ORDINARY)
        strcpy(name, "ordinary");
    else if (allocation >= ALLOCATIONS)
        snprintf(name, sizeof names[0], "g%d", allocation - ALLOCATIONS);
    else
        snprintf(name, sizeof names[0], "%c", 'a' + allocation);
    return name;
}

/* Prints the words with what the op has. */
static void list(const char *words, const struct op *op, int branch)
{
    const char *stream = slots[op->stream].name;
    size_t bytes = op->to - op->from;
    for (const char *c = words; *c; c++) {
        if (*c != '%') {
            putchar(*c);
            continue;
        }
        switch (*++c) {
        case 'a': printf("%s", name_of(op->allocation)); break;
        case 'r': printf("%s + %zu, %zu", name_of(op->allocation), op->from, bytes); break;
        case '@': printf("%zu", op->from); break;
        case 'c':
            printf("%s + %zu, %s + %zu, %zu", name_of(op->allocation), op->from,
                   name_of(op->source), op->source_from, bytes);
            break;
        case 'n': printf("%zu", op->to); break;
        case 's': printf("%s", stream); break;
        case 'p': printf("%s", pools[op->pool].name); break;
        case 'e': printf("event %d.%d", op->device, op->event); break;
        case 'f': printf("flag %d", op->event); break;
        case 'g': printf("gate %d", op->gate); break;
        case 'G': printf("graph %d", op->plan); break;
        case 'd': printf("%d", op->device); break;
        case 'D': printf("%d", slots[op->stream].device); break;
        case 'o': printf("%d", branch); break;
        }
    }
    puts("");
}

#define WORDS(name, words) words,

static void list_plan(const struct program *p, int number)
{
    static const char *const words[] = {TASKS(WORDS)};
    const struct plan *plan = &p->plans[number];
    for (int i = 0; i < plan->count; i++) {
        const struct task *t = &plan->tasks[i];
        printf("         device %d, branch %d: ", plan->device, t->branch);
        list(words[t->kind],
             &(struct op){.allocation = t->allocation,
                          .from = t->from,
                          .to = t->kind == TASK_ALLOCATE ? plan->bytes : t->to,
                          .source = t->source,
                          .source_from = t->source_from,
                          .event = flag_of_task(number, i),
                          .gate = t->gate},
             t->other);
    }
}

static void list_op(const struct program *p, const struct op *op)
{
    static const char *const words[] = {KINDS(WORDS)};
    list(words[op->kind], op, 0);
    if (op->kind == MAKE_GRAPH)
        list_plan(p, op->plan);
}

int main(int argc, char **argv)
{
    static struct program program;
    unsigned first, count = 1000, performed = 0, left_out = 0, refused = 0;
    begin_all(argc, argv, &first, &count);
    outcome =
        mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned seed = first; seed < first + count; seed++) {
        static const char *const schedules[] = {"measured", "instant", "late"};
        char schedule[32];
        snprintf(schedule, sizeof schedule, "random:%u", seed);
        if (seed % 4)
            snprintf(schedule, sizeof schedule, "%s", schedules[seed % 4 - 1]);
        make_program(&program, seed);
        struct outcome o = run_once(&program, schedule);
        performed += (unsigned)o.performed;
        left_out += (unsigned)o.left_out;
        refused += (unsigned)o.refused;
        account(&program, o, schedule, seed, program.is_full ? ", on full devices" : "", true);
    }
    printf("%u programs of %u calls (%u left out, %u without memory): %u silent and %u reported, "
           "as the graph says; "
           "%u undecided; %u others\n",
           count, performed, left_out, refused, total[SILENT], total[REPORTED], total[UNSURE],
           mismatches);
    /* Some of many programs are correct and some are not; otherwise this compares nothing. */
    return mismatches || (count >= 100 && (!total[SILENT] || !total[REPORTED]));
}
