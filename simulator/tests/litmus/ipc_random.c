/* Random programs of two and three processes against the checker.
 *
 *   ipc_random [FIRST [COUNT [LISTED]]]   runs COUNT (500) seeds from FIRST (1) on, each under four
 *                                         schedules, and lists the first LISTED (10) runs that do
 *                                         not end as they should
 *
 * Each seed makes a program of 10 to 120 calls of several processes: they share pools, allocations
 * and events, and send each other messages. Where two calls must be ordered, it adds an edge; in
 * some programs one is left out, in others one call that synchronizes is taken out when the program
 * is complete. What is incorrect is decided by a graph (ipc_random_model.h).
 *
 * The processes make their calls one after the other, in the order of the program: the checker must
 * report the first call that is incorrect, in its process, for that hazard, and be silent before.
 * Programs that are correct by their messages alone are also run without that order, under one of
 * the schedules, each process as fast as it can: the checker must be silent.
 *
 * Exit status 0: each run was reported, or not, as the graph says. */
#define _GNU_SOURCE
#include "../unit/ipc_pair.h"
#include "ipc_random_model.h"
#include "random_runs.h"
#include "workbook.h"

#include <errno.h>
#include <poll.h>

enum { SCHEDULES = 4 };
static const char *const schedules[SCHEDULES] = {"measured", "instant", "late", "random:"};

/* ---- making a program ---- */

static bool has_room(const struct program *p)
{
    return p->count < OPS - 60 && g.node_count < NODES - 150 && g.access_count < ACCESSES - 50
        && g.instance_count < INSTANCES - 4 && g.event_count < MADE_EVENTS - 2
        && g.sent < MESSAGES - 20;
}

static void emit(struct program *p, struct op op)
{
    if (p->count == OPS)
        abort();
    if (!is_possible(&op))
        return;
    p->ops[p->count++] = op;
    advance(&op);
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
        struct state before = g;
        advance(op);
        int first = g.hazards & NOT_TOLD ? g.first : -1;
        g = before;
        /* Several may be missing; g.first is the node of the last one. */
        if (first < 0 || !nodes[first].of_host)
            return;
        emit_message(p, nodes[first].process, op->process);
    }
}

static void emit_told(struct program *p, struct op op)
{
    if (!is_possible(&op))
        return;
    tell(p, &op);
    emit(p, op);
}

/* Returns a shared event that both processes have, or -1 if none could be made. */
static int event_of_both(struct program *p, int a, int b)
{
    int shared = roll(SHARED_EVENTS), pair[] = {a, b};
    for (int i = 0; i < 2; i++) {
        struct op close = {.kind = CLOSE_EVENT, .process = pair[i], .event = LOCAL_EVENTS + shared};
        if (g.opened[pair[i]][shared] == g.newest_event[shared])
            continue;
        emit(p, close);
        close.kind = OPEN_EVENT;
        emit_told(p, close);
    }
    return LOCAL_EVENTS + shared;
}

/* Finds the process and the slot of a stream that has the node, or whose newest work comes after
 * it. Returns false if there is none. */
static bool stream_behind(int n, int *process, int *slot)
{
    int start = roll(g.processes * STREAMS);
    for (int i = 0; i < g.processes * STREAMS; i++) {
        int at = (start + i) % (g.processes * STREAMS);
        int last = *newest_of(at / STREAMS, at % STREAMS);
        *process = at / STREAMS;
        *slot = at % STREAMS;
        if (last >= 0 && (last == n || has(&befores[last], n)))
            return true;
    }
    return false;
}

static void emit_event(struct program *p, int kind, int process, int stream, int event)
{
    emit_told(
        p,
        (struct op){.kind = (enum kind)kind, .process = process, .stream = stream, .event = event});
}

/* Adds an edge from a stream to a stream or, with stream -1, the host of a process, by an event. */
static void add_event_edge(struct program *p, int from, int slot, int process, int stream)
{
    int event = from == process && roll(3) ? roll(LOCAL_EVENTS) : event_of_both(p, from, process);
    emit_event(p, RECORD, from, slot, event);
    int wait = stream < 0 ? ONE_OF(SYNC_EVENT, POLL_EVENT) : WAIT;
    emit_event(p, wait, process, stream < 0 ? 0 : stream, event);
}

/* Makes node `n` happen before what the stream (-1: the host) does next, in one of several ways. */
static void order_before(struct program *p, int n, int process, int stream)
{
    int from, slot, other = roll(g.processes);
    if (nodes[n].of_host) {
        emit_message(p, nodes[n].process, process);
        return;
    }
    if (!stream_behind(n, &from, &slot)) {
        /* Its stream may be destroyed, so only the device can be waited for. */
        from = nodes[n].process;
        emit(p, (struct op){.kind = SYNC_DEVICE, .process = from});
        emit_message(p, from, process);
        return;
    }
    switch (roll(8)) {
    case 0: emit(p, (struct op){.kind = SYNC_DEVICE, .process = from}); break;
    case 1: emit(p, (struct op){.kind = SYNC_STREAM, .process = from, .stream = slot}); break;
    case 2: emit(p, (struct op){.kind = POLL_STREAM, .process = from, .stream = slot}); break;
    case 3:
        /* The host of a third process waits. */
        add_event_edge(p, from, slot, other, -1);
        emit_message(p, other, process);
        return;
    case 4: {
        /* By way of a stream of a third process. */
        int third = roll(STREAMS);
        add_event_edge(p, from, slot, other, third);
        add_event_edge(p, other, third, process, stream);
        return;
    }
    default: add_event_edge(p, from, slot, process, stream); return;
    }
    emit_message(p, from, process);
}

static bool is_risky(const struct op *op, int *first)
{
    static struct state before;
    before = g;
    advance(op);
    bool risky = g.hazards;
    *first = g.first;
    g = before;
    return risky;
}

static void emit_ordered(struct program *p, struct op op)
{
    int first;
    if (!is_possible(&op))
        return;
    tell(p, &op);
    for (int tries = 0; is_risky(&op, &first); tries++) {
        bool is_lost = first < 0 || tries == 10;
        /* Mistakes that no edge repairs are rare. */
        if (roll(100) < (first < 0 && careless ? 50 : careless)) {
            emit(p, op);
            is_over = g.hazards;
            return;
        }
        if (is_lost || !has_room(p))
            return;
        order_before(p, first, op.process, op.kind == FREE_BY_HOST ? -1 : op.stream);
        if (!is_possible(&op))
            return;
    }
    emit(p, op);
}

/* Picks some whole ints of the allocation for the op. */
static void pick_range(const struct allocation *a, struct op *op)
{
    int count = (int)(a->bytes / sizeof(int));
    op->from = roll(3) ? 0 : sizeof(int) * (size_t)roll(count);
    op->to = roll(3) ? a->bytes : op->from + sizeof(int) * (size_t)(1 + roll(count));
    if (op->to > a->bytes)
        op->to = a->bytes;
}

/* Finds something for the process to use: its own, or imported if possible. Returns false if there
 * is nothing. */
static bool pick_allocation(struct program *p, int process, int *allocation, bool *imported)
{
    int b = *allocation = roll(ALLOCATIONS), owner = owner_of(b, &g);
    const struct allocation *a = &g.allocations[b];
    *imported = owner != process || roll(6) == 0;
    if (!*imported || a->imports[process])
        return can_use(process, b, *imported);
    if (a->state != ALIVE)
        return false;
    if (a->exported < 0)
        emit(p, (struct op){.kind = EXPORT, .process = owner, .allocation = b});
    emit(p, (struct op){.kind = IMPORT_POOL, .process = process, .other = owner});
    emit_told(p, (struct op){.kind = IMPORT, .process = process, .allocation = b});
    return can_use(process, b, *imported);
}

static void add_use(struct program *p, int process)
{
    struct op op = {.kind = (enum kind)ONE_OF(FILL, FILL, ADD, SET, COPY, READ, READ_AT_ONCE),
                    .process = process,
                    .stream = roll(STREAMS)};
    if (!pick_allocation(p, process, &op.allocation, &op.imported))
        return;
    const struct allocation *a = &g.allocations[op.allocation];
    pick_range(a, &op);
    if (op.kind == READ_AT_ONCE)
        op.stream = 0;
    if (op.kind == COPY
        && (!pick_allocation(p, process, &op.source, &op.source_imported)
            || g.allocations[op.source].bytes < op.to))
        op.kind = ADD;
    emit_ordered(p, op);
}

/* With the last of its imports a process may destroy the pool. */
static void may_destroy_pool(struct program *p, int process, int allocation)
{
    if (roll(2))
        emit(p, (struct op){
                    .kind = DESTROY_POOL, .process = process, .other = owner_of(allocation, &g)});
}

static void add_free(struct program *p, int process, int b)
{
    bool is_owner = owner_of(b, &g) == process;
    struct op op = {.kind = roll(6) ? FREE : FREE_BY_HOST,
                    .process = process,
                    .stream = roll(STREAMS),
                    .allocation = b,
                    .imported = !is_owner || g.allocations[b].imports[process]};
    for (int i = 0; is_owner && i < g.processes; i++)
        if (g.allocations[b].imports[i] && roll(100) >= careless) {
            struct op import_free = op;
            import_free.process = i;
            import_free.imported = true;
            import_free.stream = roll(STREAMS);
            emit_ordered(p, import_free);
            may_destroy_pool(p, i, b);
        }
    if (is_over)
        return;
    op.imported &= g.allocations[b].imports[process] > 0;
    emit_ordered(p, op);
}

/* Frees an import, imports the allocation again, and uses it. That edge is left out more often. */
static void import_again(struct program *p, struct op op)
{
    int usual = careless;
    op.imported = true;
    op.kind = roll(3) ? FREE : FREE_BY_HOST;
    if (!can_use(op.process, op.allocation, true))
        return;
    emit_ordered(p, op);
    may_destroy_pool(p, op.process, op.allocation);
    if (is_over || g.allocations[op.allocation].state != ALIVE)
        return;
    op.kind = IMPORT_POOL;
    op.other = owner_of(op.allocation, &g);
    emit(p, op);
    op.kind = IMPORT;
    emit_told(p, op);
    op.kind = (enum kind)ONE_OF(FILL, ADD, READ);
    op.stream = roll(STREAMS);
    pick_range(&g.allocations[op.allocation], &op);
    careless = careless ? 50 : 0;
    emit_ordered(p, op);
    careless = usual;
}

static void add_something(struct program *p)
{
    int process = roll(p->processes), b = roll(ALLOCATIONS), what = roll(40);
    struct op op = {.process = process,
                    .other = roll(p->processes),
                    .stream = roll(STREAMS),
                    .event = roll(EVENTS),
                    .allocation = b};
    if (what < 5) {
        op.kind = ALLOCATE;
        op.process = owner_of(b, &g);
        op.to = (size_t)ONE_OF(256, 4096, 4096, 65536);
        for (int i = 0; i < p->processes; i++)
            if (g.allocations[b].imports[i])
                return;
        emit(p, op);
    } else if (what < 8) {
        if (can_use(process, b, false) || can_use(process, b, true))
            add_free(p, process, b);
    } else if (what < 16) {
        op.kind = (enum kind)ONE_OF(RECORD, RECORD, WAIT, WAIT, SYNC_STREAM, SYNC_EVENT,
                                    POLL_STREAM, POLL_EVENT, RENEW_STREAM, RENEW_EVENT, CLOSE_EVENT,
                                    OPEN_EVENT, DESTROY_POOL, IMPORT_POOL);
        if (op.kind >= RENEW_EVENT && op.kind <= CLOSE_EVENT)
            op.event = LOCAL_EVENTS + roll(SHARED_EVENTS);
        emit_told(p, op);
    } else if (what < 18) {
        op.kind = (enum kind)ONE_OF(QUERY_STREAM, QUERY_EVENT);
        if (!p->by_messages)
            emit(p, op);
    } else if (what < 19) {
        emit_message(p, process, op.other);
    } else if (what < 21) {
        import_again(p, op);
    } else if (what < 22 && careless) {
        op.kind = IMPORT;
        if (g.allocations[b].state == FREED)
            emit_ordered(p, op);
    } else {
        add_use(p, process);
    }
}

static bool is_synchronizing(const struct op *op)
{
    return op->kind >= RECORD && op->kind <= SYNC_DEVICE && op->kind != QUERY_EVENT
        && op->kind != QUERY_STREAM;
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

static void make_program(struct program *p, unsigned seed)
{
    take_dice(seed);
    int sort = roll(10);
    *p = (struct program){.processes = 2 + roll(2), .by_messages = sort < 4};
    careless = sort >= 4 && sort < 7 ? ONE_OF(4, 10, 25) : 0;
    is_over = false;
    model_start(p);
    int calls = 10 + roll(roll(4) ? 50 : 110);
    for (int i = 0; i < 2 * calls && p->count < calls && !is_over && has_room(p); i++)
        add_something(p);
    for (int b = 0; b < ALLOCATIONS && !is_over; b++)
        for (int i = 0; i < p->processes && !is_over; i++)
            if ((can_use(i, b, false) || can_use(i, b, true)) && roll(12))
                add_free(p, i, b);
    if (sort >= 7)
        take_one_out(p);
}

/* ---- one process ---- */

/* Visible to all processes. */
static struct {
    struct cudaMemPoolPtrExportData exports[ALLOCATIONS];
    cudaIpcEventHandle_t handles[SHARED_EVENTS];
} * board;

/* For this process. `addresses` are by user: the exporter, or an importer. */
static struct {
    cudaStream_t streams[STREAMS];
    cudaEvent_t events[EVENTS];
    cudaMemPool_t own_pool, pools[PROCESSES];
    int descriptors[PROCESSES];
    char *addresses[ALLOCATIONS][2];
} my;

/* A socket between each two processes, at the first of them; and one between each and the process
 * that runs them. */
static int sockets[PROCESSES][PROCESSES], controls[PROCESSES];

static void make_stream(int s)
{
    my.streams[s] = cudaStreamLegacy;
    if (slots[s].sort != LEGACY)
        OK(cudaStreamCreateWithFlags(
            &my.streams[s], slots[s].sort == BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking));
}

static cudaError_t make_shared_event(int shared)
{
    my.events[LOCAL_EVENTS + shared] = shared_event();
    return cudaIpcGetEventHandle(&board->handles[shared], my.events[LOCAL_EVENTS + shared]);
}

static void set_up(const struct program *p, int me)
{
    for (int s = 0; s < STREAMS; s++)
        make_stream(s);
    for (int e = 0; e < LOCAL_EVENTS; e++)
        OK(cudaEventCreateWithFlags(&my.events[e], cudaEventDisableTiming));
    for (int e = 0; e < SHARED_EVENTS; e++)
        if (e % p->processes == me)
            OK(make_shared_event(e));
    my.own_pool = pool_to_share();
    OK(cudaMemPoolExportToShareableHandle(&my.descriptors[me], my.own_pool,
                                          cudaMemHandleTypePosixFileDescriptor, 0));
    for (int i = 0; i < p->processes; i++)
        if ((channel = sockets[me][i]) && i != me)
            send_descriptor(my.descriptors[me]);
    for (int i = 0; i < p->processes; i++)
        if ((channel = sockets[me][i]) && i != me)
            my.descriptors[i] = receive_descriptor();
}

static cudaError_t allocate_memory(const struct op *op)
{
    char **at = &my.addresses[op->allocation][0];
    return cudaMallocFromPoolAsync((void **)at, op->to, my.own_pool, my.streams[op->stream]);
}

static cudaError_t import_memory(const struct op *op, int owner)
{
    char **at = &my.addresses[op->allocation][1];
    return cudaMemPoolImportPointer((void **)at, my.pools[owner], &board->exports[op->allocation]);
}

static cudaError_t import_pool(int owner)
{
    return cudaMemPoolImportFromShareableHandle(&my.pools[owner],
                                                (void *)(uintptr_t)my.descriptors[owner],
                                                cudaMemHandleTypePosixFileDescriptor, 0);
}

static cudaError_t use_memory(const struct op *op, char *to, const char *from)
{
    static char ordinary[65536];
    cudaStream_t s = my.streams[op->stream];
    size_t bytes = op->to - op->from, count = bytes / sizeof(int);
    int *ints = (int *)(void *)(to + op->from);
    switch (op->kind) {
    case FILL: return launch_fill(ints, 7, count, s);
    case ADD: return launch_add(ints, 1, count, s);
    case SET: return cudaMemsetAsync(ints, 1, bytes, s);
    case COPY: return cudaMemcpyAsync(ints, from + op->from, bytes, cudaMemcpyDeviceToDevice, s);
    case READ: return cudaMemcpyAsync(ordinary, ints, bytes, cudaMemcpyDeviceToHost, s);
    default: return cudaMemcpy(ordinary, ints, bytes, cudaMemcpyDeviceToHost);
    }
}

/* Sleeps for longer than half a millisecond, so that all work continues meanwhile, and one query
 * replaces a thousand. */
static cudaError_t poll_until_ready(cudaError_t (*query)(void *), void *what)
{
    cudaError_t e;
    while ((e = query(what)) == cudaErrorNotReady)
        usleep(1000);
    return e;
}
static cudaError_t query_stream(void *s) { return cudaStreamQuery(*(cudaStream_t *)s); }
static cudaError_t query_event(void *e) { return cudaEventQuery(*(cudaEvent_t *)e); }

static cudaError_t perform(const struct program *p, const struct op *op)
{
    int me = op->process, owner = op->allocation % p->processes;
    int source_owner = op->source % p->processes;
    char *to = my.addresses[op->allocation][op->imported || owner != me];
    const char *from = my.addresses[op->source][op->source_imported || source_owner != me];
    cudaStream_t s = my.streams[op->stream];
    cudaEvent_t *event = &my.events[op->event];
    switch (op->kind) {
    case ALLOCATE: return allocate_memory(op);
    case EXPORT: return cudaMemPoolExportPointer(&board->exports[op->allocation], to);
    case IMPORT_POOL: return import_pool(op->other);
    case DESTROY_POOL: return cudaMemPoolDestroy(my.pools[op->other]);
    case IMPORT: return import_memory(op, owner);
    case FREE: return cudaFreeAsync(to, s);
    case FREE_BY_HOST: return cudaFree(to);
    case RENEW_STREAM:
        OK(cudaStreamDestroy(s));
        make_stream(op->stream);
        return cudaSuccess;
    case RENEW_EVENT:
        OK(cudaEventDestroy(*event));
        return make_shared_event(op->event - LOCAL_EVENTS);
    case OPEN_EVENT: return cudaIpcOpenEventHandle(event, board->handles[op->event - LOCAL_EVENTS]);
    case CLOSE_EVENT: return cudaEventDestroy(*event);
    case RECORD: return cudaEventRecord(*event, s);
    case WAIT: return cudaStreamWaitEvent(s, *event, 0);
    case SYNC_EVENT: return cudaEventSynchronize(*event);
    case POLL_EVENT: return poll_until_ready(query_event, event);
    case QUERY_EVENT: return cudaEventQuery(*event);
    case SYNC_STREAM: return cudaStreamSynchronize(s);
    case POLL_STREAM: return poll_until_ready(query_stream, &s);
    case QUERY_STREAM: return cudaStreamQuery(s);
    case SYNC_DEVICE: return cudaDeviceSynchronize();
    case SEND:
        channel = sockets[me][op->other];
        go();
        return cudaSuccess;
    case RECEIVE:
        channel = sockets[me][op->other];
        wait_for_go();
        return cudaSuccess;
    default: return use_memory(op, to, from);
    }
}

/* What a process is told to do, besides the number of an op. It answers with an error code. */
enum { RUN_ALL = -1, FINISH = -2, EXIT = -3 };

static cudaError_t run_all(const struct program *p, int me)
{
    for (int i = 0; i < p->count; i++) {
        cudaError_t e = p->ops[i].process == me ? perform(p, &p->ops[i]) : cudaSuccess;
        if (e)
            return e;
    }
    return cudaSuccess;
}

static _Noreturn void be_process(const struct program *p, int me)
{
    int command;
    cudaError_t answer = cudaSuccess;
    set_up(p, me);
    for (;;) {
        if (write(controls[me], &answer, sizeof answer) != sizeof answer
            || read(controls[me], &command, sizeof command) != sizeof command)
            _exit(5);
        if (command == EXIT)
            exit(0);
        answer = command == RUN_ALL ? run_all(p, me)
               : command == FINISH  ? cudaDeviceSynchronize()
                                    : perform(p, &p->ops[command]);
    }
}

/* ---- running all of them ---- */

static pid_t pids[PROCESSES];

static void socket_between(int *a, int *b)
{
    int two[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, two))
        abort();
    *a = two[0];
    *b = two[1];
}

static void start_process(const struct program *p, int me, int control, const char *schedule)
{
    pids[me] = fork();
    if (pids[me])
        return;
    controls[me] = control;
    setenv("SIM_SCHEDULE", schedule, 1);
    /* Looking up the source lines of a report takes an addr2line each, and would only name this
     * file. */
    setenv("PATH", "", 1);
    dup2(stderr_files[me], STDERR_FILENO);
    alarm(60);
    be_process(p, me);
}

static void start(const struct program *p, const char *schedule)
{
    int theirs[PROCESSES];
    fflush(stdout);
    for (int a = 0; a < p->processes; a++)
        for (int b = 0; b < a; b++)
            socket_between(&sockets[a][b], &sockets[b][a]);
    for (int i = 0; i < p->processes; i++) {
        if (ftruncate(stderr_files[i], 0))
            abort();
        socket_between(&controls[i], &theirs[i]);
    }
    for (int i = 0; i < p->processes; i++)
        start_process(p, i, theirs[i], schedule);
    for (int i = 0; i < p->processes; i++)
        close(theirs[i]);
    for (int a = 0; a < p->processes; a++)
        for (int b = 0; b < p->processes; b++)
            if (a != b)
                close(sockets[a][b]);
}

static void stop(const struct program *p)
{
    for (int i = 0; i < p->processes; i++) {
        if (pids[i]) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
        close(controls[i]);
    }
}

static void command(int process, int what)
{
    if (write(controls[process], &what, sizeof what) != sizeof what)
        abort();
}

/* Waits for the answer of a process. False: it hangs, or has ended. */
static bool answer_of(int process, struct outcome *o)
{
    struct pollfd one = {.fd = controls[process], .events = POLLIN};
    int ready = poll(&one, 1, 20000);
    o->process = process;
    o->end = ready ? CRASHED : HANGS;
    return ready > 0 && read(controls[process], &o->answer, sizeof o->answer) == sizeof o->answer;
}

/* Makes all processes finish their work, and then end. */
static bool end_all(const struct program *p, struct outcome *o, bool (*is_left)(int process))
{
    for (int i = 0; i < p->processes; i++) {
        command(i, FINISH);
        if (!answer_of(i, o))
            return false;
        o->end = judge(report_since(i, 0), 0, o->answer);
        if (o->end)
            return false;
    }
    bool reported = false;
    for (int i = 0; i < p->processes; i++) {
        int status;
        command(i, EXIT);
        o->process = i;
        waitpid(pids[i], &status, 0);
        pids[i] = 0;
        const char *report = report_since(i, 0);
        o->hazards = is_left(i) ? ONLY(LEAK) : 0;
        o->end = judge(report, o->hazards, false);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != (report ? 3 : 0))
            o->end = CRASHED;
        if (o->end > REPORTED)
            return false;
        reported |= o->end == REPORTED;
    }
    o->end = reported ? REPORTED : SILENT;
    return true;
}

static bool has_something_left(int process)
{
    for (int b = 0; b < ALLOCATIONS; b++)
        if (can_use(process, b, false) || can_use(process, b, true))
            return true;
    return false;
}

/* Makes one call after the other. Returns false if the run has ended. */
static bool run_op(const struct program *p, int i, struct outcome *o)
{
    const struct op *op = &p->ops[i];
    o->stopped = i;
    if (!is_possible(op))
        return true;
    advance(op);
    o->hazards = g.hazards;
    off_t before = said_by(op->process);
    command(op->process, i);
    if (!answer_of(op->process, o))
        return false;
    bool query = op->kind == QUERY_STREAM || op->kind == QUERY_EVENT;
    if (query && !o->answer)
        query_succeeded(op);
    bool refused = o->answer && !(query && o->answer == cudaErrorNotReady);
    o->end = judge(report_since(op->process, before), o->hazards, refused);
    return !o->end;
}

static struct outcome run_once(const struct program *p, const char *schedule)
{
    struct outcome o = {.end = SILENT};
    struct program shared = *p;
    shared.by_messages = false;
    model_start(&shared);
    start(p, schedule);
    bool goes_on = true;
    for (int i = 0; goes_on && i < p->processes; i++)
        goes_on = answer_of(i, &o);
    for (int i = 0; goes_on && i < p->count; i++)
        goes_on = run_op(p, i, &o);
    if (goes_on) {
        o.stopped = p->count;
        o.hazards = 0;
        end_all(p, &o, has_something_left);
    }
    stop(p);
    return o;
}

/* Runs each process as fast as it can. */
static struct outcome run_freely(const struct program *p, const char *schedule)
{
    struct outcome o = {.end = SILENT, .stopped = p->count};
    model_start(p);
    for (int i = 0; i < p->count; i++)
        advance(&p->ops[i]);
    start(p, schedule);
    bool goes_on = true;
    for (int i = 0; goes_on && i < p->processes; i++)
        goes_on = answer_of(i, &o);
    for (int i = 0; goes_on && i < p->processes; i++)
        command(i, RUN_ALL);
    for (int i = 0; goes_on && i < p->processes; i++) {
        goes_on = answer_of(i, &o);
        if (goes_on)
            o.end = judge(report_since(i, 0), 0, o.answer);
        goes_on &= !o.end;
    }
    if (goes_on)
        end_all(p, &o, has_something_left);
    stop(p);
    return o;
}

/* ---- listing ---- */

static void list_op(const struct program *p, const struct op *op)
{
#define KIND(name, words) words,
    static const char *const names[] = {KINDS(KIND)};
    printf("%*sprocess %d: %s(", 4 * op->process, "", op->process, names[op->kind]);
    if (op->kind == IMPORT_POOL || op->kind == DESTROY_POOL || op->kind >= SEND)
        printf("%d", op->other);
    else if (op->kind < RENEW_STREAM)
        printf("%s%c%d [%zu, %zu)", op->imported ? "import of own " : "", 'a' + op->allocation,
               op->allocation % p->processes, op->from, op->to);
    if (op->kind == COPY)
        printf(" from %s%c%d", op->source_imported ? "import of own " : "", 'a' + op->source,
               op->source % p->processes);
    if (op->kind >= RENEW_EVENT && op->kind <= QUERY_EVENT)
        printf("%s event %d", is_shared(op->event) ? "shared" : "own", op->event);
    bool stream = op->kind == ALLOCATE || (op->kind >= FILL && op->kind <= RENEW_STREAM)
               || op->kind == RECORD || op->kind == WAIT
               || (op->kind >= SYNC_STREAM && op->kind <= QUERY_STREAM);
    printf("%s%s)\n", stream ? ", " : "", stream ? slots[op->stream].name : "");
}

int main(int argc, char **argv)
{
    static struct program program;
    unsigned first, count = 500, freely = 0;
    begin_all(argc, argv, &first, &count);
    signal(SIGPIPE, SIG_IGN);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned seed = first; seed < first + count; seed++) {
        make_program(&program, seed);
        for (int k = 0; k < SCHEDULES; k++) {
            char schedule[32];
            snprintf(schedule, sizeof schedule, "%s", schedules[k]);
            if (k == SCHEDULES - 1)
                snprintf(schedule, sizeof schedule, "random:%u", seed);
            account(&program, run_once(&program, schedule), schedule, seed, "", true);
            if (!program.by_messages || k != (int)(seed % SCHEDULES))
                continue;
            freely++;
            account(&program, run_freely(&program, schedule), schedule, seed, ", freely", false);
        }
    }
    printf(
        "%u programs, each under %d schedules (%u runs freely): %u silent and %u reported, as the "
        "graph says; %u others\n",
        count, SCHEDULES, freely, total[SILENT], total[REPORTED], mismatches);
    for (int k = 0; k < HAZARDS; k++)
        if (reported[k])
            printf("%5u %s\n", reported[k], hazard_names[k]);
    /* Some of many programs are correct and some are not; otherwise this compares nothing. */
    return mismatches || (count >= 50 && (!total[SILENT] || !total[REPORTED]));
}
