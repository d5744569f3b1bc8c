/* How random.c makes a program from a seed. Where two pieces of work must be ordered, it adds an
 * edge, unless it is careless. */
#ifndef RANDOM_PROGRAMS_H
#define RANDOM_PROGRAMS_H

#include "random_model.h"

static uint64_t dice;
static int roll(int sides)
{
    dice ^= dice >> 12;
    dice ^= dice << 25;
    dice ^= dice >> 27;
    return (int)((dice * 0x2545F4914F6CDD1Du >> 33) % (uint64_t)sides);
}

static void take_dice(unsigned seed)
{
    dice = seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
    roll(2);
}

/* Returns one of the listed kinds, each as likely as it is often listed. */
#define ONE_OF(...) \
    ((const int[]){__VA_ARGS__})[roll((int)(sizeof(const int[]){__VA_ARGS__} / sizeof(int)))]

/* The percentage of edges that are left out; the first one ends the program. */
static int careless;
static bool is_over;

/* The program often has host functions and gates between uses of the same memory. */
static bool is_held_often;

static bool has_room(const struct program *p)
{
    return p->count < OPS - 60 && g.node_count < NODES - 200 && g.access_count < ACCESSES - 200
        && g.postponed_count < POSTPONED - 200 && g.instance_count < INSTANCES - 4
        && g.event_count < MADE_EVENTS - 2 && g.sent < MESSAGES - 20
        && p->function_count < FUNCTIONS - 8;
}

/* Returns whether the op is incorrect, or could be by what is decided only later. g.hazards are its
 * hazards, and g.first and g.second two nodes of one of them. */
static bool is_risky(const struct program *p, const struct op *op)
{
    static struct state before;
    before = g;
    advance(p, op);
    before.hazards = g.hazards;
    before.first = g.first;
    before.second = g.second;
    bool risky = g.hazards || g.postponed_count > before.postponed_count;
    g = before;
    return risky;
}

static void tell(struct program *p, const struct op *op);

static void emit(struct program *p, struct op op)
{
    if (!is_possible(p, &op))
        return;
    tell(p, &op);
    if (p->count == OPS)
        abort();
    if (op.kind == FUNCTION)
        op.event = p->function_count++;
    p->ops[p->count++] = op;
    advance(p, &op);
}

static void emit_message(struct program *p, int from, int to)
{
    if (from == to || !p->by_messages)
        return;
    emit(p, (struct op){.kind = SEND, .process = from, .other = to});
    emit(p, (struct op){.kind = RECEIVE, .process = to, .other = from});
}

/* Tells the process about the calls on which this op relies. Other hazards stay. */
static void tell(struct program *p, const struct op *op)
{
    for (int tries = 0; p->by_messages && tries < 6; tries++) {
        /* Several may be missing; g.first is the node of the last one. */
        if (!is_risky(p, op) || !(g.hazards & NOT_TOLD) || g.first < 0 || !nodes[g.first].of_host)
            return;
        emit_message(p, nodes[g.first].process, op->process);
    }
}

/* ---- edges ---- */

/* Returns whether the newest work of the stream is the node, or comes after it. */
static bool is_behind(int process, int slot, int n)
{
    int last = *newest_of(process, slot);
    return last >= 0 && (last == n || has(&befores[last], n));
}

/* Finds the process and the slot of a stream behind the node. Returns false if there is none. */
static bool stream_behind(int n, int *process, int *slot)
{
    int streams = slot_count(), all = g.processes * streams, start = roll(all);
    for (int i = 0; i < all; i++) {
        int at = (start + i) % all;
        *process = at / streams;
        *slot = nth_slot(at % streams);
        if (is_behind(*process, *slot, n))
            return true;
    }
    return false;
}

/* Returns a shared event that both processes have. */
static int event_of_both(struct program *p, int a, int b)
{
    int shared = roll(SHARED_EVENTS), pair[] = {a, b};
    for (int i = 0; i < 2; i++) {
        struct op op = {.kind = CLOSE_EVENT, .process = pair[i], .event = LOCAL_EVENTS + shared};
        if (g.opened[pair[i]][shared] == g.newest_event[shared])
            continue;
        emit(p, op);
        op.kind = OPEN_EVENT;
        emit(p, op);
    }
    return LOCAL_EVENTS + shared;
}

/* Adds an edge from a stream to a stream or, with stream -1, the host of a process, by an event. */
static void add_event_edge(struct program *p, int from, int slot, int process, int stream)
{
    bool shared = from != process || (g.processes > 1 && roll(3) == 0);
    struct op op = {.kind = RECORD,
                    .process = from,
                    .stream = slot,
                    .device = slots[slot].device,
                    .event = shared ? event_of_both(p, from, process) : roll(LOCAL_EVENTS)};
    emit(p, op);
    op.kind = stream < 0 ? ONE_OF(SYNC_EVENT, POLL_EVENT, shared ? POLL_EVENT : POLL_TIME) : WAIT;
    op.process = process;
    op.stream = stream < 0 ? 0 : stream;
    emit(p, op);
}

/* Makes node `n` happen before what the stream (-1: the host) does next, in one of several ways. */
static void order_before(struct program *p, int n, int process, int stream)
{
    int from, slot, other = roll(g.processes), third = nth_slot(roll(slot_count()));
    if (nodes[n].of_host) {
        emit_message(p, nodes[n].process, process);
        return;
    }
    bool is_found = stream_behind(n, &from, &slot);
    for (int gate = 0; stream < 0 && g.processes == 1 && gate < GATES; gate++)
        emit(p, (struct op){.kind = OPEN, .gate = gate});
    if (!is_found) {
        /* Its stream may be destroyed, so only the devices can be waited for. */
        from = nodes[n].process;
        for (int d = 0; d < device_count(); d++)
            emit(p, (struct op){.kind = SYNC_DEVICE, .process = from, .device = d});
        emit_message(p, from, process);
        return;
    }
    struct op wait = {.process = from, .stream = slot, .device = slots[slot].device};
    switch (stream < 0 ? roll(6) : roll(14)) {
    case 0:
    case 1:
    case 2:
        wait.kind = ONE_OF(SYNC_DEVICE, SYNC_STREAM, POLL_STREAM);
        emit(p, wait);
        emit_message(p, from, process);
        break;
    case 3:
    case 4:
        /* The host of a third process may wait. */
        add_event_edge(p, from, slot, other, -1);
        emit_message(p, other, process);
        break;
    case 5:
        if (g.processes > 1 || roll(4))
            break;
        wait.kind = FUNCTION;
        emit(p, wait);
        wait.kind = ONE_OF(AWAIT, AWAIT_ASKING);
        wait.event = p->function_count - 1;
        emit(p, wait);
        break;
    case 6:
    case 7:
        /* By way of a third stream. */
        add_event_edge(p, from, slot, other, third);
        add_event_edge(p, other, third, process, stream);
        break;
    default: add_event_edge(p, from, slot, process, stream);
    }
}

/* Orders nothing, instead of an edge: after node `n` a host function for which no one waits, and
 * sometimes calls that do not wait either. */
static void order_by_nothing(struct program *p, int n)
{
    struct op op = {.kind = FUNCTION};
    if (g.processes > 1 || n < 0 || !stream_behind(n, &op.process, &op.stream))
        return;
    emit(p, op);
    op.kind = RECORD;
    op.device = slots[op.stream].device;
    for (int calls = roll(8); calls; calls--) {
        op.event = roll(LOCAL_EVENTS);
        emit(p, op);
    }
}

static void emit_ordered(struct program *p, struct op op)
{
    if (!is_possible(p, &op))
        return;
    tell(p, &op);
    for (int tries = 0; is_risky(p, &op); tries++) {
        bool is_lost = g.first < 0 || tries == 10;
        /* Of several processes, mistakes that no edge repairs are rare. */
        bool is_rare = g.processes > 1 && g.first < 0 && careless;
        if (roll(100) < (is_rare ? 50 : careless)) {
            if (roll(2))
                order_by_nothing(p, g.first);
            emit(p, op);
            is_over = g.hazards;
            return;
        }
        if (is_lost || !has_room(p))
            return;
        bool host = g.second < 0 || op.kind == LOAD || op.kind == STORE;
        order_before(p, g.first, op.process, host ? -1 : op.stream);
        if (!is_possible(p, &op))
            return;
    }
    emit(p, op);
}

/* ---- calls ---- */

/* Returns an allocation in this state, or -1 if none was found. */
static int pick_allocation(int state, int count)
{
    for (int tries = 0; tries < 20; tries++) {
        int b = roll(count);
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
    *from = roll(3) ? 0 : roll(count);
    *to = roll(3) ? count : *from + 1 + roll(roll(3) ? (int)(count - *from) : 1);
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

static void add_allocation(struct program *p, struct op op)
{
    op.to = some_size();
    if (p->processes > 1) {
        op.process = owner_of(op.allocation);
        op.pool = EXPORTED;
        op.to = (size_t)ONE_OF(256, 4096, 4096, 65536);
    } else {
        op.kind = ONE_OF(ALLOCATE, ALLOCATE, ALLOCATE, ALLOCATE, ALLOCATE_DEVICE, ALLOCATE_MANAGED,
                         ALLOCATE_PINNED, REGISTER);
        op.allocation = pick_allocation(FREED, ALLOCATIONS);
        if (op.allocation < 0)
            return;
        if (op.kind == ALLOCATE && roll(2))
            op.pool = slots[op.stream].device;
        if (op.kind == ALLOCATE && op.pool == CAPPED)
            op.to = 12 * MiB;
        else if (p->is_full && (op.kind == ALLOCATE || op.kind == ALLOCATE_DEVICE) && roll(2))
            op.to = (1 + roll(40)) * MiB;
    }
    emit(p, op);
}

/* Finds live memory, and a pointer by which the process can use it: its own, or an imported one.
 * Returns false if there is none. */
static bool pick_memory(struct program *p, int process, int *allocation, bool *imported)
{
    int b = *allocation =
        p->processes > 1 ? roll(FEW_ALLOCATIONS) : pick_allocation(ALIVE, ALL_ALLOCATIONS);
    if (b < 0)
        return false;
    const struct allocation *a = &g.allocations[b];
    *imported = owner_of(b) != process || (p->processes > 1 && roll(6) == 0);
    if (*imported && !a->imports[process] && a->state == ALIVE) {
        struct op op = {.kind = EXPORT, .process = owner_of(b), .allocation = b};
        if (a->exported < 0)
            emit(p, op);
        op = (struct op){.process = process, .other = owner_of(b), .allocation = b};
        op.kind = IMPORT_POOL;
        emit(p, op);
        op.kind = IMPORT;
        emit(p, op);
    }
    return can_use(process, b, *imported);
}

/* Adds a use of the op's allocation by the op's pointer. */
static void add_use_of(struct program *p, struct op op)
{
    const struct allocation *a = &g.allocations[op.allocation];
    op.kind = p->processes > 1
                ? ONE_OF(FILL, FILL, ADD, SET, COPY, COPY, COPY_AT_ONCE, COPY_AT_ONCE)
                : ONE_OF(FILL, FILL, ADD, SET, SET, SET_AT_ONCE, COPY, COPY, COPY, COPY_AT_ONCE,
                         COPY_AT_ONCE, COPY_PEER, COPY_PEER_AT_ONCE, PREFETCH, LOAD, STORE);
    if (a->memory == CUDA_MANAGED && roll(6) == 0)
        op.kind = PREFETCH;
    else if ((a->memory == PINNED || is_host_visible(a)) && roll(3) == 0)
        op.kind = roll(2) ? LOAD : STORE;
    if (op.kind == SET_AT_ONCE || op.kind == COPY_AT_ONCE || op.kind == COPY_PEER_AT_ONCE)
        op.stream = op.device;
    pick_range(a->bytes, op.kind == FILL || op.kind == ADD, &op.from, &op.to);
    if (op.kind >= COPY && op.kind <= COPY_PEER_AT_ONCE) {
        size_t bytes = op.to - op.from;
        int ends = op.kind == COPY || op.kind == COPY_AT_ONCE ? roll(4) : 3;
        if (ends == 0) {
            op.source = ORDINARY;
        } else if (ends == 1 || (ends == 2 && p->processes > 1)) {
            op.source = op.allocation;
            op.source_imported = op.imported;
            op.source_from = op.from;
            op.allocation = ORDINARY;
            op.from = 0;
            op.to = bytes;
        } else if (!pick_memory(p, op.process, &op.source, &op.source_imported)
                   || (p->processes > 1 && op.source == op.allocation)) {
            return;
        } else if (bytes < g.allocations[op.source].bytes) {
            op.source_from = roll(2) ? 0 : roll((int)(g.allocations[op.source].bytes - bytes));
        }
    }
    emit_ordered(p, op);
}

static void add_use(struct program *p, struct op op)
{
    if (pick_memory(p, op.process, &op.allocation, &op.imported))
        add_use_of(p, op);
}

/* With the last of its imports a process may destroy the pool. */
static void may_destroy_pool(struct program *p, struct op op)
{
    op.kind = DESTROY_POOL;
    op.other = owner_of(op.allocation);
    if (roll(2))
        emit(p, op);
}

/* Frees the allocation after its imports or, in a process that does not own it, its import. */
static void add_free(struct program *p, struct op op)
{
    const struct allocation *a = &g.allocations[op.allocation];
    bool is_owner = owner_of(op.allocation) == op.process;
    op.kind =
        a->memory == CUDA_MANAGED || a->memory == PINNED || a->memory == REGISTERED || roll(6) == 0
            ? FREE_BY_HOST
            : FREE;
    for (int i = 0; is_owner && i < g.processes; i++)
        if (a->imports[i] && roll(100) >= careless) {
            struct op import_free = op;
            import_free.process = i;
            import_free.imported = true;
            import_free.stream = nth_slot(roll(slot_count()));
            emit_ordered(p, import_free);
            may_destroy_pool(p, import_free);
        }
    op.imported = a->imports[op.process] > 0;
    if (!is_over)
        emit_ordered(p, op);
}

static void add_some_free(struct program *p, struct op op)
{
    if (p->processes == 1)
        op.allocation = pick_allocation(ALIVE, ALL_ALLOCATIONS);
    if (op.allocation >= 0 && has_pointer(op.process, op.allocation))
        add_free(p, op);
}

static void add_message(struct program *p, struct op op) { emit_message(p, op.process, op.other); }

/* Frees an import, imports the allocation again, and uses it. That edge is left out more often. */
static void import_again(struct program *p, struct op op)
{
    int usual = careless;
    op.imported = true;
    op.kind = roll(3) ? FREE : FREE_BY_HOST;
    if (!can_use(op.process, op.allocation, true))
        return;
    emit_ordered(p, op);
    may_destroy_pool(p, op);
    if (is_over || g.allocations[op.allocation].state != ALIVE)
        return;
    op.kind = IMPORT_POOL;
    op.other = owner_of(op.allocation);
    emit(p, op);
    op.kind = IMPORT;
    emit(p, op);
    op.stream = nth_slot(roll(slot_count()));
    careless = careless ? 50 : 0;
    if (can_use(op.process, op.allocation, true))
        add_use_of(p, op);
    careless = usual;
}

/* Makes a call that no order makes correct. */
static void add_mistake(struct program *p, struct op op)
{
    if (!careless)
        return;
    if (p->processes > 1) {
        op.kind = IMPORT;
        if (g.allocations[op.allocation].state == FREED)
            emit_ordered(p, op);
        return;
    }
    op.kind = ONE_OF(FILL_BEYOND, FILL_FREED, SET_FREED, FREE_FREED, FREE_FREED_BY_HOST);
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

static void add_graph(struct program *p, struct op op)
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
                         .branch = roll(plan->branches),
                         .other = roll(plan->branches),
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
    op.plan = number;
    emit(p, op);
}

static void add_launch(struct program *p, struct op op)
{
    if (!p->plan_count)
        return;
    op.plan = roll(p->plan_count);
    do
        op.stream = roll(STREAMS);
    while (slots[op.stream].device != p->plans[op.plan].device);
    emit_ordered(p, op);
}

/* Before a gate is opened, the host waits for what must precede the work after it. */
static void add_opening(struct program *p, struct op op)
{
    for (int i = 0; i < g.postponed_count; i++) {
        const struct postponed *c = &g.postponed[i];
        if (!c->settled && !c->by_function && !has(&g.host[0], c->first) && roll(100) >= careless)
            for (int slot = 0; slot < STREAMS && !has(&g.host[0], c->first); slot++)
                if (is_behind(0, slot, c->first))
                    emit(p, (struct op){.kind = SYNC_STREAM, .stream = slot});
    }
    emit(p, op);
    is_over = judge_postponed();
}

/* A use and, in some programs, another one of the same bytes in the same stream with something
 * between that holds it up: a host function, or a closed gate, perhaps in front of the other. */
static void add_held_use(struct program *p, struct op op)
{
    int first = p->count, between = roll(4);
    add_use(p, op);
    if (!is_held_often || p->count == first || is_over)
        return;
    struct op again = p->ops[p->count - 1];
    op.stream = again.stream;
    op.kind = FUNCTION;
    if (between != 1)
        emit(p, op);
    op.kind = HOLD;
    if (between != 0)
        emit(p, op);
    op.kind = FUNCTION;
    if (between == 3)
        emit(p, op);
    emit_ordered(p, again);
}

/* ---- programs ---- */

/* What is added to a program of one process, and of several, and how often in comparison. */
static const struct {
    int of_one, of_several;
    enum kind kind;
    void (*add)(struct program *p, struct op op);
} choices[] = {
    {60, 35, ALLOCATE, add_allocation},
    {100, 126, FILL, add_use},
    {18, 0, FILL, add_held_use},
    {36, 21, FREE, add_some_free},
    {2, 20, FILL_BEYOND, add_mistake},
    {24, 8, RECORD, emit},
    {24, 8, WAIT, emit},
    {3, 4, SYNC_STREAM, emit},
    {3, 4, SYNC_EVENT, emit},
    {3, 0, SYNC_DEVICE, emit},
    {3, 4, POLL_STREAM, emit},
    {3, 4, POLL_EVENT, emit},
    {3, 0, POLL_TIME, emit},
    {6, 7, QUERY_STREAM, emit},
    {6, 7, QUERY_EVENT, emit},
    {6, 5, RENEW_STREAM, emit},
    {8, 6, RENEW_EVENT, emit},
    {2, 0, FUNCTION, emit},
    {12, 0, HOLD, emit},
    {6, 0, OPEN, add_opening},
    {6, 0, MAKE_GRAPH, add_graph},
    {16, 0, LAUNCH, add_launch},
    {2, 0, DESTROY_GRAPH, add_launch},
    {6, 0, TRIM, emit},
    {0, 14, IMPORT, import_again},
    {0, 4, IMPORT_POOL, emit},
    {0, 4, DESTROY_POOL, emit},
    {0, 8, OPEN_EVENT, emit},
    {0, 8, CLOSE_EVENT, emit},
    {0, 7, SEND, add_message},
};

static int weight_of(int choice)
{
    return g.processes == 1 ? choices[choice].of_one : choices[choice].of_several;
}

static void add_something(struct program *p)
{
    int all = 0, i = 0;
    struct op op = {.process = roll(g.processes),
                    .other = roll(g.processes),
                    .stream = nth_slot(roll(slot_count())),
                    .device = roll(device_count()),
                    .event = roll(g.processes == 1 ? LOCAL_EVENTS : EVENTS),
                    .gate = roll(GATES),
                    .pool = roll(EXPORTED),
                    .allocation = roll(FEW_ALLOCATIONS)};
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
        all += weight_of((int)k);
    for (int left = roll(all); left >= weight_of(i); i++)
        left -= weight_of(i);
    op.kind = choices[i].kind;
    if (op.kind == RECORD)
        op.device = slots[op.stream].device;
    choices[i].add(p, op);
}

static bool is_synchronizing(const struct op *op)
{
    return op->kind >= RECORD && op->kind <= POLL_TIME;
}

/* Removes one of the calls that synchronize. */
static void take_one_out(struct program *p)
{
    int count = 0;
    for (int i = 0; i < p->count; i++)
        count += is_synchronizing(&p->ops[i]);
    if (!count)
        return;
    int victim = roll(count);
    for (int i = 0; i < p->count; i++)
        if (is_synchronizing(&p->ops[i]) && !victim--) {
            memmove(&p->ops[i], &p->ops[i + 1], (size_t)(--p->count - i) * sizeof p->ops[0]);
            return;
        }
}

static void make_program(struct program *p, unsigned seed, bool has_several)
{
    take_dice(seed);
    int sort = roll(10), calls = roll(50) ? 6 + roll(60) : 60 + roll(540);
    is_over = false;
    is_held_often = roll(3) == 0;
    p->count = p->plan_count = p->function_count = 0;
    p->processes = has_several ? 2 + roll(2) : 1;
    p->by_messages = has_several && sort < 4;
    p->is_full = !has_several && roll(6) == 0;
    p->has_half = roll(2);
    p->may_wait_for_free = roll(2);
    careless = sort < 6 ? 9 : 0;
    if (has_several) {
        careless = sort >= 4 && sort < 7 ? ONE_OF(4, 10, 25) : 0;
        calls = 10 + roll(roll(4) ? 50 : 110);
    }
    model_start(p->processes, p->by_messages);
    for (int i = 0; i < 2 * calls && p->count < calls && !is_over && has_room(p); i++)
        add_something(p);
    for (int gate = 0; gate < GATES && !is_over; gate++)
        if (any_gate_is_closed())
            add_opening(p, (struct op){.kind = OPEN, .gate = gate});
    for (int b = 0; b < ALL_ALLOCATIONS; b++)
        for (int i = 0; i < g.processes; i++) {
            bool is_left = has_several ? roll(12) == 0 : careless && roll(40) == 0;
            for (int tries = 0; tries < 5 && !is_left && !is_over && has_pointer(i, b); tries++)
                add_free(p, (struct op){.process = i,
                                        .stream = nth_slot(roll(slot_count())),
                                        .allocation = b});
        }
    if (has_several && sort >= 7)
        take_one_out(p);
}

#endif
