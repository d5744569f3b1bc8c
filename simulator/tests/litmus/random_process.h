/* A process of random.c, which makes the calls that it is told to make. */
#ifndef RANDOM_PROCESS_H
#define RANDOM_PROCESS_H

#include "../unit/ipc_pair.h"
#include "random_model.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>

/* Visible to all processes. */
static struct {
    /* By whether the pointer was imported, and by process. */
    char *addresses[2][PROCESSES][ALL_ALLOCATIONS];
    struct cudaMemPoolPtrExportData exports[ALLOCATIONS];
    cudaIpcEventHandle_t handles[SHARED_EVENTS];
    /* How often each host function has begun: now, when the newest call began, and at its end. */
    volatile int begun[FLAGS];
    int begun_at_call[FLAGS], begun_at_end[FLAGS];
} * board;

/* A socket between each two processes, at the first of them; and one between each and the process
 * that runs them. */
static int sockets[PROCESSES][PROCESSES], controls[PROCESSES];

/* ---- what a process has ---- */

static cudaStream_t streams[STREAMS];
static cudaEvent_t events[DEVICES][EVENTS];
static cudaMemPool_t pool_handles[POOLS], imported_pools[PROCESSES];
static int descriptors[PROCESSES];
static cudaGraphExec_t execs[PLANS];
static cudaGraph_t graphs[PLANS];
static volatile int *gates;
/* Takes half of the memory of each device; NULL: it has all of it. */
static void *other_half[DEVICES];
/* How, and for which device, each allocation was made. */
static struct {
    enum kind by;
    int device;
    bool is_registered;
} made[ALL_ALLOCATIONS];

static void make_stream(int s)
{
    if (slots[s].sort == LEGACY)
        streams[s] = cudaStreamLegacy;
    else if (slots[s].sort == PER_THREAD)
        streams[s] = cudaStreamPerThread;
    else
        OK(cudaStreamCreateWithFlags(
            &streams[s], slots[s].sort == BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking));
}

static cudaError_t create_event(const struct op *op)
{
    cudaEvent_t *event = &events[op->device][op->event];
    if (!is_shared(op->event))
        return cudaEventCreate(event);
    *event = shared_event();
    return cudaIpcGetEventHandle(&board->handles[op->event - LOCAL_EVENTS], *event);
}

/* Whether a pool may make a stream wait for a free in another one. */
static void set_internal(int pool, int allowed)
{
    OK(cudaMemPoolSetAttribute(pool_handles[pool], cudaMemPoolReuseAllowInternalDependencies,
                               &allowed));
}

static void make_pool(int pool)
{
    struct cudaMemPoolProps props = {
        .allocType = pool == MANAGED ? cudaMemAllocationTypeManaged : cudaMemAllocationTypePinned,
        .location = {.type = pool == HOST ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice},
        .maxSize = pool == CAPPED ? 32 * MiB : 0};
    OK(cudaMemPoolCreate(&pool_handles[pool], &props));
    for (int a = cudaMemPoolReuseFollowEventDependencies;
         pool == NO_REUSE && a <= cudaMemPoolReuseAllowInternalDependencies; a++) {
        int off = 0;
        OK(cudaMemPoolSetAttribute(pool_handles[pool], (enum cudaMemPoolAttr)a, &off));
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
        OK(cudaMemPoolSetAccess(pool_handles[pool], both, DEVICES));
}

/* Makes the pool that a process exports, and exchanges the descriptors of all. */
static void share_pools(int me)
{
    pool_handles[EXPORTED] = pool_to_share();
    OK(cudaMemPoolExportToShareableHandle(&descriptors[me], pool_handles[EXPORTED],
                                          cudaMemHandleTypePosixFileDescriptor, 0));
    for (int i = 0; i < g.processes; i++)
        if ((channel = sockets[me][i]) && i != me)
            send_descriptor(descriptors[me]);
    for (int i = 0; i < g.processes; i++)
        if ((channel = sockets[me][i]) && i != me)
            descriptors[i] = receive_descriptor();
}

/* Pools that a program does not use are not created. */
static void set_up(const struct program *p, int me)
{
    bool used[EXPORTED] = {p->processes == 1, p->processes == 1};
    for (int i = 0; i < p->count; i++)
        if ((p->ops[i].kind == ALLOCATE || p->ops[i].kind == TRIM) && p->ops[i].pool != EXPORTED)
            used[p->ops[i].pool] = true;
    for (int i = 0; i < EXPORTED; i++) {
        if (!used[i])
            continue;
        if (i <= DEFAULT_1)
            OK(cudaDeviceGetDefaultMemPool(&pool_handles[i], i));
        else
            make_pool(i);
        give_access(i);
        if (p->is_full && !p->may_wait_for_free && i != CAPPED)
            set_internal(i, 0);
    }
    for (int d = 0; d < device_count(); d++) {
        OK(cudaSetDevice(d));
        if (p->processes == 1)
            OK(cudaDeviceEnablePeerAccess(1 - d, 0));
        if (p->is_full && p->has_half)
            OK(cudaMalloc(&other_half[d], 32 * MiB));
        for (int e = 0; e < EVENTS; e++)
            if (!is_shared(e) || (p->processes > 1 && maker_of(e - LOCAL_EVENTS) == me))
                OK(create_event(&(struct op){.device = d, .event = e}));
    }
    for (int s = 0; s < slot_count(); s++) {
        OK(cudaSetDevice(slots[nth_slot(s)].device));
        make_stream(nth_slot(s));
    }
    OK(cudaMallocHost((void **)&gates, GATES * sizeof *gates));
    memset((void *)gates, 0, GATES * sizeof *gates);
    if (p->processes > 1)
        share_pools(me);
}

/* ---- calls ---- */

static char *ordinary_memory(int allocation)
{
    static char buffers[ALLOCATIONS + 1][65536] __attribute__((aligned(4096)));
    return buffers[allocation + 1];
}

/* Returns where the process has its pointer, or the imported one. */
static char **address_of(int process, int allocation, bool imported)
{
    return &board->addresses[imported || owner_of(allocation) != process][process][allocation];
}

/* Returns where an end of a copy begins. */
static char *end_of(int process, int allocation, bool imported, size_t from)
{
    return allocation == ORDINARY ? ordinary_memory(ORDINARY)
                                  : *address_of(process, allocation, imported) + from;
}

static void begin(void *flag) { ++*(volatile int *)flag; }

/* Captures the plan in streams of its own, and makes its graph ready to be launched. */
static cudaError_t make_exec(const struct program *p, int number)
{
    const struct plan *plan = &p->plans[number];
    cudaStream_t s[BRANCHES];
    cudaEvent_t e;
    OK(cudaSetDevice(plan->device));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (int b = 0; b < plan->branches; b++)
        OK(cudaStreamCreateWithFlags(&s[b], cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeRelaxed));
    for (int b = 1; b < plan->branches; b++) {
        OK(cudaEventRecord(e, s[0]));
        OK(cudaStreamWaitEvent(s[b], e, 0));
    }
    for (int i = 0; i < plan->count; i++) {
        const struct task *t = &plan->tasks[i];
        char *to = end_of(0, t->allocation, false, t->from);
        char *from = end_of(0, t->source, false, t->source_from);
        size_t bytes = t->to - t->from;
        cudaStream_t branch = s[t->branch];
        switch (t->kind) {
        case TASK_FILL: OK(launch_fill((int *)to, 1, bytes / sizeof(int), branch)); break;
        case TASK_SET: OK(cudaMemsetAsync(to, 1, bytes, branch)); break;
        case TASK_COPY: OK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, branch)); break;
        case TASK_EDGE:
            if (t->other == t->branch)
                break;
            OK(cudaEventRecord(e, s[t->other]));
            OK(cudaStreamWaitEvent(branch, e, 0));
            break;
        case TASK_FUNCTION:
            OK(cudaLaunchHostFunc(branch, begin, (void *)&board->begun[flag_of_task(number, i)]));
            break;
        case TASK_HOLD: OK(launch_hold((const int *)&gates[t->gate], branch)); break;
        case TASK_ALLOCATE:
            OK(cudaMallocAsync((void **)address_of(0, t->allocation, false), plan->bytes, branch));
            made[t->allocation].by = ALLOCATE;
            made[t->allocation].device = plan->device;
            break;
        case TASK_FREE: OK(cudaFreeAsync(to, branch)); break;
        }
    }
    for (int b = 1; b < plan->branches; b++) {
        OK(cudaEventRecord(e, s[b]));
        OK(cudaStreamWaitEvent(s[0], e, 0));
    }
    cudaError_t error = cudaStreamEndCapture(s[0], &graphs[number]);
    if (!error)
        error = cudaGraphInstantiate(&execs[number], graphs[number], 0);
    for (int b = 0; b < plan->branches; b++)
        OK(cudaStreamDestroy(s[b]));
    OK(cudaEventDestroy(e));
    return error;
}

/* Forgets the error of a device that has no memory left. */
static cudaError_t without_last_error(cudaError_t answer)
{
    if (answer == cudaErrorMemoryAllocation)
        (void)cudaGetLastError();
    return answer;
}

static cudaError_t make_memory(const struct op *op, void **address)
{
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

static cudaError_t allocate(const struct op *op)
{
    char **address = address_of(op->process, op->allocation, false);
    cudaError_t answer = without_last_error(make_memory(op, (void **)address));
    if (!answer) {
        made[op->allocation].by = op->kind;
        made[op->allocation].device = op->kind == ALLOCATE ? pools[op->pool].device : op->device;
        made[op->allocation].is_registered = op->kind == REGISTER;
    }
    return answer;
}

static cudaError_t copy_now(const struct op *op, cudaStream_t s)
{
    char *to = end_of(op->process, op->allocation, op->imported, op->from);
    char *from = end_of(op->process, op->source, op->source_imported, op->source_from);
    size_t bytes = op->to - op->from;
    switch (op->kind) {
    case COPY: return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s);
    case COPY_AT_ONCE: return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
    case COPY_PEER:
        return cudaMemcpyPeerAsync(to, made[op->allocation].device, from, made[op->source].device,
                                   bytes, s);
    default:
        return cudaMemcpyPeer(to, made[op->allocation].device, from, made[op->source].device,
                              bytes);
    }
}

static cudaError_t free_by_host(int allocation, void *address)
{
    switch (made[allocation].by) {
    case ALLOCATE_PINNED: return cudaFreeHost(address);
    case REGISTER: made[allocation].is_registered = false; return cudaHostUnregister(address);
    default: return cudaFree(address);
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

/* Long enough for all work to end that can end. */
static void be_idle(void) { usleep(600); }

/* Makes the op's call. */
static cudaError_t perform(const struct program *p, const struct op *op)
{
    int me = op->process;
    cudaStream_t s = streams[op->stream];
    cudaEvent_t *e = &events[op->device][op->event];
    char *start = end_of(me, op->allocation, op->imported, 0), *data = start + op->from;
    size_t bytes = op->to - op->from, ints = bytes / sizeof(int);
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = op->device};
    cudaError_t answer;
    float ms;
    OK(cudaSetDevice(is_of_stream(op) ? slots[op->stream].device : op->device));
    memcpy(board->begun_at_call, (const void *)board->begun, sizeof board->begun);
    switch (op->kind) {
    case ALLOCATE:
    case ALLOCATE_DEVICE:
    case ALLOCATE_MANAGED:
    case ALLOCATE_PINNED:
    case REGISTER: return allocate(op);
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
    case FUNCTION: return cudaLaunchHostFunc(s, begin, (void *)&board->begun[op->event]);
    case HOLD: return launch_hold((const int *)&gates[op->gate], s);
    case LAUNCH: return without_last_error(cudaGraphLaunch(execs[op->plan], s));
    case FREE:
    case FREE_FREED: return cudaFreeAsync(start, s);
    case FREE_BY_HOST:
    case FREE_FREED_BY_HOST: return free_by_host(op->allocation, start);
    case MAKE_GRAPH: return make_exec(p, op->plan);
    case DESTROY_GRAPH:
        OK(cudaGraphExecDestroy(execs[op->plan]));
        return cudaGraphDestroy(graphs[op->plan]);
    case TRIM: return cudaMemPoolTrimTo(pool_handles[op->pool], 0);
    case RENEW_STREAM:
        OK(cudaStreamDestroy(s));
        make_stream(op->stream);
        return cudaSuccess;
    case EXPORT: return cudaMemPoolExportPointer(&board->exports[op->allocation], start);
    case IMPORT_POOL:
        return cudaMemPoolImportFromShareableHandle(&imported_pools[op->other],
                                                    (void *)(uintptr_t)descriptors[op->other],
                                                    cudaMemHandleTypePosixFileDescriptor, 0);
    case DESTROY_POOL: return cudaMemPoolDestroy(imported_pools[op->other]);
    case IMPORT:
        return cudaMemPoolImportPointer((void **)address_of(me, op->allocation, true),
                                        imported_pools[owner_of(op->allocation)],
                                        &board->exports[op->allocation]);
    case OPEN_EVENT: return cudaIpcOpenEventHandle(e, board->handles[op->event - LOCAL_EVENTS]);
    case CLOSE_EVENT: return cudaEventDestroy(*e);
    case SEND:
        channel = sockets[me][op->other];
        pass_turn();
        return cudaSuccess;
    case RECEIVE:
        channel = sockets[me][op->other];
        await_turn();
        return cudaSuccess;
    case RENEW_EVENT: OK(cudaEventDestroy(*e)); return create_event(op);
    case RECORD: return cudaEventRecord(*e, s);
    case WAIT: return cudaStreamWaitEvent(s, *e, 0);
    case OPEN: gates[op->gate] = 1; return cudaGetLastError();
    case SYNC_STREAM: return cudaStreamSynchronize(s);
    case SYNC_EVENT: return cudaEventSynchronize(*e);
    case SYNC_DEVICE: return cudaDeviceSynchronize();
#define UNTIL_READY(query)                        \
    while ((answer = query) == cudaErrorNotReady) \
        be_idle();                                \
    return answer
    case POLL_STREAM: UNTIL_READY(cudaStreamQuery(s));
    case POLL_EVENT: UNTIL_READY(cudaEventQuery(*e));
    case POLL_TIME: UNTIL_READY(cudaEventElapsedTime(&ms, *e, *e));
    case AWAIT:
        while (!board->begun[op->event])
            be_idle();
        return cudaSuccess;
    case AWAIT_ASKING:
        while (!board->begun[op->event])
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

/* What a process is told to do, besides the number of an op. It answers with an error code. */
enum { RUN_ALL = -1, FINISH = -2, EXIT = -3 };

static cudaError_t run_all(const struct program *p, int me)
{
    for (int i = 0; i < p->count; i++) {
        const struct op *op = &p->ops[i];
        cudaError_t e = op->process == me ? perform_somewhere(p, op) : cudaSuccess;
        if (e)
            return e;
    }
    return cudaSuccess;
}

/* Lets all work end. It may have touched memory that is gone, as an incorrect program's may. */
static cudaError_t finish(void)
{
    cudaError_t answer = cudaSuccess;
    for (int gate = 0; gate < GATES; gate++)
        gates[gate] = 1;
    for (int d = 0; d < device_count() && !answer; d++) {
        OK(cudaSetDevice(d));
        answer = cudaDeviceSynchronize();
    }
    return answer;
}

/* Includes what the simulated device reports at the end. */
static _Noreturn void end_process(void)
{
    for (int b = 0; b < ALLOCATIONS; b++)
        if (made[b].is_registered)
            OK(cudaHostUnregister(ordinary_memory(b)));
    OK(cudaFreeHost((void *)gates));
    for (int d = 0; d < DEVICES; d++)
        OK(cudaFree(other_half[d]));
    exit(0);
}

static _Noreturn void be_process(const struct program *p, int me)
{
    int command;
    cudaError_t answer = cudaSuccess;
    set_up(p, me);
    for (;;) {
        memcpy(board->begun_at_end, (const void *)board->begun, sizeof board->begun);
        if (write(controls[me], &answer, sizeof answer) != sizeof answer
            || read(controls[me], &command, sizeof command) != sizeof command)
            _exit(5);
        if (command == EXIT)
            end_process();
        answer = command == RUN_ALL ? run_all(p, me)
               : command == FINISH  ? finish()
                                    : perform_somewhere(p, &p->ops[command]);
    }
}

#endif
