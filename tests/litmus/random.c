/* Random programs against the checker: random [FIRST [COUNT]] runs COUNT (200) seeds from FIRST (1)
 * on.
 *
 * Each seed makes a program that is correct by construction: wherever two pieces of work must be
 * ordered, it adds an event, a synchronization, a poll, or a host function for which the host
 * waits. The checker must be silent. Then some copies of it lose one of these, query instead of
 * waiting, record earlier, wait later, or lose a graph's edge. A copy must be reported at the first
 * call that is then unordered, and for that hazard; or, when there is another path, not at all.
 *
 * What is unordered is decided by a graph (random_model.h): a node for each piece of work, with the
 * set of all nodes that happen before it. From the simulated device comes only whether "hazard:"
 * was written on stderr after each call. Each program runs in a process of its own.
 *
 * Exit status 0: each program was reported, or not, as the graph says. The others are listed with
 * their seeds. */
#define _GNU_SOURCE
#include "kernels.h"
#include "random_model.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- making a correct program ---- */

static uint64_t dice;
static unsigned roll(unsigned sides)
{
    dice ^= dice >> 12;
    dice ^= dice << 25;
    dice ^= dice >> 27;
    return (unsigned)(dice * 0x2545F4914F6CDD1Du >> 33) % sides;
}

static void emit(struct program *p, struct op op)
{
    if (p->count == OPS)
        abort();
    p->ops[p->count++] = op;
    /* A query may find that it is not ready. */
    advance(&op, op.kind != QUERY_STREAM && op.kind != QUERY_EVENT);
}

static int emit_record(struct program *p, int stream)
{
    int event = (int)roll(EVENTS);
    emit(p, (struct op){
                .kind = RECORD, .stream = stream, .device = slots[stream].device, .event = event});
    return event;
}

/* One way to make node `n` happen before what the stream does next; stream -1: before what the host
 * does next. */
static void order_before(struct program *p, int n, int stream)
{
    int from = g.instances[g.nodes[n].instance].slot, device = slots[from].device, event;
    /* Its stream was destroyed: only the device can be waited for. */
    bool gone = g.instance_of[from] != g.nodes[n].instance;
    switch (gone ? 0 : stream < 0 ? roll(6) : roll(14)) {
    case 0: emit(p, (struct op){.kind = SYNC_DEVICE, .device = device}); break;
    case 1: emit(p, (struct op){.kind = SYNC_STREAM, .stream = from}); break;
    case 2: emit(p, (struct op){.kind = POLL_STREAM, .stream = from}); break;
    case 3:
    case 4:
        event = emit_record(p, from);
        emit(p, (struct op){.kind = (enum kind[]){SYNC_EVENT, POLL_EVENT, POLL_TIME}[roll(3)],
                            .device = device,
                            .event = event});
        break;
    case 5:
        /* With no function left, the next roll finds another way. */
        if (g.function_count == FUNCTIONS)
            break;
        emit(p, (struct op){.kind = FUNCTION, .stream = from});
        emit(p, (struct op){.kind = AWAIT, .event = g.function_count - 1});
        break;
    case 6:
    case 7: {
        /* Through a third stream. */
        int third = (int)roll(STREAMS);
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

static void emit_ordered(struct program *p, struct op op)
{
    int missing = -1;
    if (op.kind == GRAPH)
        op.edge = overlaps_itself(&op) || roll(2);
    while (judge(&op, &missing))
        order_before(p, missing,
                     op.kind == FREE_BY_HOST || op.kind == LOAD || op.kind == STORE ? -1
                                                                                    : op.stream);
    emit(p, op);
}

/* An allocation that is alive, or not; -1 when there is none. */
static int pick_allocation(bool alive, int first)
{
    for (int tries = 0; tries < 20; tries++) {
        int b = first + (int)roll((unsigned)(ALLOCATIONS - first));
        if (g.allocations[b].alive == alive)
            return b;
    }
    return -1;
}

static void pick_range(int allocation, size_t *from, size_t *to)
{
    size_t ints = g.allocations[allocation].ints < 4096 ? g.allocations[allocation].ints : 4096;
    *from = roll(3) ? 0 : roll((unsigned)ints);
    *to = roll(3) ? ints : *from + 1 + roll((unsigned)(ints - *from));
}

static void add_use_of(struct program *p, int stream)
{
    struct op op = {.kind = (enum kind[]){FILL, ADD, SET, COPY, COPY, GRAPH, COPY_UP, COPY_DOWN,
                                          LOAD, STORE}[roll(10)],
                    .stream = stream,
                    .allocation = pick_allocation(true, 0)};
    if (op.kind == LOAD || op.kind == STORE)
        op.allocation = (int)roll(PINNED);
    if (op.kind == COPY_UP || op.kind == COPY_DOWN)
        op.stream = legacy_of(op.device = slots[stream].device);
    if (op.allocation < 0)
        return;
    pick_range(op.allocation, &op.from, &op.to);
    if (op.kind == COPY || op.kind == GRAPH) {
        op.source = pick_allocation(true, 0);
        if (op.source < 0 || (op.source == op.allocation && op.kind == COPY))
            return;
        size_t ints = op.to - op.from;
        if (ints > g.allocations[op.source].ints)
            return;
        op.source_from = roll((unsigned)(g.allocations[op.source].ints < 4096
                                             ? g.allocations[op.source].ints - ints + 1
                                             : 1));
    }
    emit_ordered(p, op);
}

static void add_allocation(struct program *p, int stream)
{
    int b = pick_allocation(false, PINNED), capped = 0;
    if (b < 0)
        return;
    for (int i = 0; i < ALLOCATIONS; i++)
        capped += g.allocations[i].alive && g.allocations[i].capped;
    if (capped < 2 && roll(4) == 0)
        emit(p, (struct op){.kind = ALLOCATE_CAPPED,
                            .stream = stream,
                            .allocation = b,
                            .to = 12 * MiB / sizeof(int)});
    else
        emit(p, (struct op){
                    .kind = ALLOCATE, .stream = stream, .allocation = b, .to = 64u << roll(9)});
}

static void add_something(struct program *p)
{
    int stream = (int)roll(STREAMS), device = slots[stream].device, event = (int)roll(EVENTS), b;
    switch (roll(24)) {
    case 0:
    case 1:
    case 2:
    case 3: add_allocation(p, stream); break;
    case 4:
    case 5:
    case 6:
        if ((b = pick_allocation(true, PINNED)) >= 0)
            emit_ordered(p, (struct op){.kind = roll(8) ? FREE : FREE_BY_HOST,
                                        .stream = stream,
                                        .allocation = b});
        break;
    case 7:
    case 8:
        emit(p, (struct op){.kind = RECORD, .stream = stream, .device = device, .event = event});
        break;
    case 9:
    case 10:
        emit(p,
             (struct op){.kind = WAIT, .stream = stream, .device = (int)roll(2), .event = event});
        break;
    case 11:
        emit(p, (struct op){.kind = SYNC_STREAM + roll(3),
                            .stream = stream,
                            .device = device,
                            .event = event});
        break;
    case 12:
        emit(p, (struct op){.kind = QUERY_STREAM + roll(2),
                            .stream = stream,
                            .device = device,
                            .event = event});
        break;
    case 13:
        if (slots[stream].sort >= BLOCKING)
            emit(p, (struct op){.kind = RENEW, .stream = stream});
        break;
    default: add_use_of(p, stream);
    }
}

static void make_correct(struct program *p, unsigned seed)
{
    dice = seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
    p->count = 0;
    graph_start();
    for (int steps = 10 + (int)roll(50); steps; steps--)
        add_something(p);
    for (int b = PINNED; b < ALLOCATIONS; b++)
        if (g.allocations[b].alive)
            emit_ordered(p,
                         (struct op){.kind = FREE, .stream = (int)roll(STREAMS), .allocation = b});
    for (int d = 0; d < 2; d++)
        emit(p, (struct op){.kind = SYNC_DEVICE, .device = d});
}

/* ---- making it incorrect ---- */

/* A copy that lacks one op, or has one elsewhere; `at` and `to` for the listing. False: nothing to
 * change. */
static bool make_incorrect(struct program *w, const struct program *p, int *at, int *to)
{
    for (int tries = 0; tries < 100; tries++) {
        int i = (int)roll((unsigned)p->count), j = i;
        struct op op = p->ops[i];
        /* A graph loses its edge. */
        if (op.kind == GRAPH && op.edge) {
            *w = *p;
            *at = *to = i;
            w->ops[i].edge = false;
            return true;
        }
        if (op.kind < RECORD || op.kind > AWAIT)
            continue;
        unsigned way = roll(4);
        /* A wait becomes a query, whatever the answer. */
        if (way == 3 && op.kind >= SYNC_STREAM && op.kind != SYNC_DEVICE && op.kind != AWAIT) {
            *w = *p;
            *at = i;
            *to = i;
            w->ops[i].kind =
                op.kind == SYNC_STREAM || op.kind == POLL_STREAM ? QUERY_STREAM : QUERY_EVENT;
            return true;
        }
        /* A record comes before the last op of its stream; a wait after the next. */
        if (way == 0 && op.kind == RECORD) {
            while (--j >= 0 && (p->ops[j].kind > FREE || p->ops[j].stream != op.stream))
                ;
        } else if (way == 1 && op.kind == WAIT) {
            while (++j < p->count && (p->ops[j].kind > FREE || p->ops[j].stream != op.stream))
                ;
        }
        if (j < 0 || j >= p->count)
            continue;
        *w = *p;
        *at = i;
        *to = j == i ? -1 : j;
        if (j == i)
            memmove(&w->ops[i], &w->ops[i + 1], (size_t)(--w->count - i) * sizeof op);
        else if (j < i)
            memmove(&w->ops[j + 1], &w->ops[j], (size_t)(i - j) * sizeof op);
        else
            memmove(&w->ops[i], &w->ops[i + 1], (size_t)(j - i) * sizeof op);
        if (j != i)
            w->ops[j] = op;
        return true;
    }
    return false;
}

/* ---- running ---- */

static cudaStream_t streams[STREAMS];
static cudaEvent_t events[2][EVENTS];
static int *allocations[ALLOCATIONS];
static cudaMemPool_t capped;

static void make_stream(int s)
{
    CHECK(cudaSetDevice(slots[s].device));
    if (slots[s].sort == LEGACY)
        streams[s] = cudaStreamLegacy;
    else if (slots[s].sort == PER_THREAD)
        streams[s] = cudaStreamPerThread;
    else
        CHECK(cudaStreamCreateWithFlags(
            &streams[s], slots[s].sort == BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking));
}

static void set_up(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = 0},
                                     .maxSize = 32 * MiB};
    CHECK(cudaMemPoolCreate(&capped, &props));
    for (int d = 0; d < 2; d++) {
        cudaMemPool_t pool;
        struct cudaMemAccessDesc other = {
            .location = {.type = cudaMemLocationTypeDevice, .id = 1 - d},
            .flags = cudaMemAccessFlagsProtReadWrite};
        CHECK(cudaDeviceGetDefaultMemPool(&pool, d));
        CHECK(cudaMemPoolSetAccess(pool, &other, 1));
        if (d == 0)
            CHECK(cudaMemPoolSetAccess(capped, &other, 1));
        CHECK(cudaSetDevice(d));
        for (int e = 0; e < EVENTS; e++)
            CHECK(cudaEventCreate(&events[d][e]));
    }
    for (int s = 0; s < STREAMS; s++)
        make_stream(s);
    for (int b = 0; b < PINNED; b++)
        CHECK(cudaMallocHost((void **)&allocations[b], 4096));
}

static void begin(void *flag) { *(volatile int *)flag = 1; }

static void launch_graph(const struct op *op)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t first, second;
    struct cudaMemsetParams set = {.dst = allocations[op->allocation] + op->from,
                                   .elementSize = sizeof(int),
                                   .width = op->to - op->from,
                                   .height = 1};
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &set));
    set.dst = allocations[op->source] + op->source_from;
    CHECK(cudaGraphAddMemsetNode(&second, graph, &first, op->edge, &set));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, streams[op->stream]));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

/* Makes the op's call. Returns whether a query was answered with cudaSuccess. */
static bool perform(const struct op *op)
{
    static int ordinary[12 * MiB / sizeof(int)];
    static int functions;
    cudaStream_t s = streams[op->stream];
    int *data = allocations[op->allocation] + op->from;
    size_t ints = op->to - op->from;
    float ms;
    bool of_device = (op->kind >= SYNC_EVENT && op->kind <= SYNC_DEVICE) || op->kind == POLL_EVENT
                  || op->kind == POLL_TIME || op->kind == QUERY_EVENT;
    cudaError_t answer = cudaSuccess;
    CHECK(cudaSetDevice(of_device ? op->device : slots[op->stream].device));
    switch (op->kind) {
    case ALLOCATE:
        CHECK(cudaMallocAsync((void **)&allocations[op->allocation], op->to * sizeof(int), s));
        break;
    case ALLOCATE_CAPPED:
        CHECK(cudaMallocFromPoolAsync((void **)&allocations[op->allocation], op->to * sizeof(int),
                                      capped, s));
        break;
    case FILL: CHECK(launch_fill(data, 1, ints, s)); break;
    case ADD: CHECK(launch_add(data, 1, ints, s)); break;
    case SET: CHECK(cudaMemsetAsync(data, 0, ints * sizeof(int), s)); break;
    case COPY:
        CHECK(cudaMemcpyAsync(data, allocations[op->source] + op->source_from, ints * sizeof(int),
                              cudaMemcpyDefault, s));
        break;
    case COPY_UP: CHECK(cudaMemcpy(data, ordinary, ints * sizeof(int), cudaMemcpyDefault)); break;
    case COPY_DOWN: CHECK(cudaMemcpy(ordinary, data, ints * sizeof(int), cudaMemcpyDefault)); break;
    case GRAPH: launch_graph(op); break;
    case FUNCTION: CHECK(cudaLaunchHostFunc(s, begin, (void *)&begun[functions++])); break;
    case LOAD: answer = *(volatile int *)data == -1; break;
    case STORE: *(volatile int *)data = 1; break;
    case AWAIT:
        while (!begun[op->event])
            usleep(20);
        break;
    case FREE: CHECK(cudaFreeAsync(allocations[op->allocation], s)); break;
    case FREE_BY_HOST: CHECK(cudaFree(allocations[op->allocation])); break;
    case RENEW:
        CHECK(cudaStreamDestroy(s));
        make_stream(op->stream);
        break;
    case RECORD: CHECK(cudaEventRecord(events[op->device][op->event], s)); break;
    case WAIT: CHECK(cudaStreamWaitEvent(s, events[op->device][op->event], 0)); break;
    case SYNC_STREAM: CHECK(cudaStreamSynchronize(s)); break;
    case SYNC_EVENT: CHECK(cudaEventSynchronize(events[op->device][op->event])); break;
    case SYNC_DEVICE: CHECK(cudaDeviceSynchronize()); break;
    case POLL_STREAM:
        while ((answer = cudaStreamQuery(s)) == cudaErrorNotReady)
            ;
        break;
    case POLL_EVENT:
        while ((answer = cudaEventQuery(events[op->device][op->event])) == cudaErrorNotReady)
            ;
        break;
    case POLL_TIME:
        while (g.record[op->device][op->event] >= 0
               && (answer = cudaEventElapsedTime(&ms, events[op->device][op->event],
                                                 events[op->device][op->event]))
                      == cudaErrorNotReady)
            ;
        break;
    case QUERY_STREAM: answer = cudaStreamQuery(s); break;
    case QUERY_EVENT: answer = cudaEventQuery(events[op->device][op->event]); break;
    }
    if (answer != cudaErrorNotReady)
        CHECK(answer);
    return answer == cudaSuccess;
}

/* A thread that makes the calls for the slots that are elsewhere. */
static struct {
    pthread_t thread;
    sem_t requested, done;
    const struct op *op;
    bool ready;
} helper;

static void *help(void *unused)
{
    for (;;) {
        sem_wait(&helper.requested);
        helper.ready = perform(helper.op);
        sem_post(&helper.done);
    }
    return unused;
}

static bool perform_somewhere(const struct op *op)
{
    if (!slots[op->stream].elsewhere)
        return perform(op);
    helper.op = op;
    sem_post(&helper.requested);
    sem_wait(&helper.done);
    return helper.ready;
}

/* The host acquires what happens before each host function that has begun. Returns whether there
 * was one that had not begun before. */
static bool acquire_functions(void)
{
    static bool known[FUNCTIONS];
    bool acquired = false;
    for (int f = 0; f < g.function_count; f++) {
        if (known[f] || !begun[f])
            continue;
        known[f] = acquired = true;
        unite(&g.host, &g.nodes[g.functions[f]].before);
    }
    return acquired;
}

/* How a run ended. UNSURE: nobody can say whether a host function began before or after the work
 * that a call queued. */
enum { SILENT, REPORTED = 40, MISSED, FALSELY, OTHER_KIND, UNSURE };
static const char *const ends[] = {"reported, as the graph says",
                                   "not reported, but it is incorrect",
                                   "reported, but it is correct", "reported for another hazard"};

/* A file in memory: the run's stderr. */
static int stderr_file;

/* Runs the program up to the first call that is incorrect, or reported. */
static int run(const struct program *p, int *stopped)
{
    is_running = true;
    graph_start();
    set_up();
    sem_init(&helper.requested, 0, 0);
    sem_init(&helper.done, 0, 0);
    pthread_create(&helper.thread, NULL, help, NULL);
    for (int i = 0; i < p->count; i++) {
        char text[256] = "";
        int missing = -1;
        unsigned hazards = judge(&p->ops[i], &missing);
        off_t before = lseek(stderr_file, 0, SEEK_END);
        bool ready = perform_somewhere(&p->ops[i]), unsure = false;
        /* At the start of a call, what has been held up until then is judged. */
        (void)cudaGetLastError();
        bool acquired = acquire_functions();
        bool was_reported =
            pread(stderr_file, text, sizeof text - 1, before) > 0 && !strncmp(text, "hazard: ", 8);
        *stopped = i;
        /* A copy waits for its own work, before which the function may have begun. */
        if (acquired && p->ops[i].kind >= COPY && p->ops[i].kind <= COPY_DOWN)
            return UNSURE;
        if (acquired && hazards && !was_reported)
            hazards = judge(&p->ops[i], &missing);
        advance(&p->ops[i], ready);
        hazards |= judge_held(&unsure);
        if (unsure)
            return UNSURE;
        if (was_reported != (hazards != 0))
            return hazards ? MISSED : FALSELY;
        for (int k = 0; was_reported && k < 8; k++)
            if (hazards >> k & 1 && !strncmp(text + 8, hazard_names[k], strlen(hazard_names[k])))
                return REPORTED;
        if (was_reported)
            return OTHER_KIND;
    }
    /* Because cudaFreeHost waits for one device only. */
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaDeviceSynchronize());
    }
    for (int b = 0; b < PINNED; b++)
        CHECK(cudaFreeHost(allocations[b]));
    return SILENT;
}

/* The same in a process of its own, under one of the schedules. */
static int run_in_process(const struct program *p, const char *schedule, int *stopped)
{
    int *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;
    if (ftruncate(stderr_file, 0))
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setenv("SIM_SCHEDULE", schedule, 1);
        dup2(stderr_file, STDERR_FILENO);
        int end = run(p, shared);
        if (end != SILENT)
            _exit(end);
        /* With what the simulated device reports at the end. */
        exit(end);
    }
    waitpid(child, &status, 0);
    *stopped = *shared;
    munmap(shared, sizeof *shared);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void list(const struct program *p, int stopped)
{
    for (int i = 0; i <= stopped; i++) {
        const struct op *op = &p->ops[i];
        printf("  %3d %-22s stream %d  device %d  event %d  allocation %d  source %d  ints %zu to "
               "%zu\n",
               i, kind_names[op->kind], op->stream, op->device, op->event, op->allocation,
               op->source, op->from, op->to);
    }
    char text[2048];
    ssize_t n = pread(stderr_file, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    printf("%s\n", text);
}

static unsigned silent, reported, failures;

static void account(const struct program *p, const char *schedule, unsigned seed, const char *what,
                    bool may_be_incorrect)
{
    int stopped, end = run_in_process(p, schedule, &stopped);
    silent += end == SILENT;
    reported += end == REPORTED;
    if (end == SILENT || end == UNSURE || (end == REPORTED && may_be_incorrect))
        return;
    failures++;
    printf("seed %u (%s), SIM_SCHEDULE=%s: %s (status %d), at op %d\n", seed, what, schedule,
           end >= REPORTED && end <= OTHER_KIND ? ends[end - REPORTED] : "it did not end well", end,
           stopped);
    if (failures <= 3)
        list(p, stopped);
}

int main(int argc, char **argv)
{
    static struct program correct, incorrect;
    unsigned first = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1,
             count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 200;
    stderr_file = memfd_create("stderr", 0);
    for (unsigned seed = first; seed < first + count; seed++) {
        static const char *const schedules[] = {"measured", "instant", "late"};
        char schedule[32], what[64];
        int at, to;
        snprintf(schedule, sizeof schedule, "random:%u", seed);
        if (seed % 4)
            snprintf(schedule, sizeof schedule, "%s", schedules[seed % 4 - 1]);
        make_correct(&correct, seed);
        account(&correct, schedule, seed, "correct", false);
        for (int i = 0; i < COPIES && make_incorrect(&incorrect, &correct, &at, &to); i++) {
            snprintf(what, sizeof what,
                     to < 0     ? "without op %d"
                     : to == at ? "op %d only queries"
                                : "op %d put at %d",
                     at, to);
            account(&incorrect, schedule, seed, what, true);
        }
    }
    printf("%u correct programs and their copies: "
           "%u silent and %u reported, as the graph says; %u others\n",
           count, silent, reported, failures);
    return failures || !silent || !reported;
}
