/* Random programs against the checker: random [FIRST [COUNT]] runs COUNT (200) seeds from FIRST (1) on.
 *
 * Each seed makes a program that is right by construction: wherever two pieces of work must be ordered, it puts in an event, a synchronise or a
 * poll. The checker must be silent. Then some copies of it lose one of these, ask instead of waiting, get a record earlier or a wait later; a copy must be accused
 * exactly at the first call that is then unordered, and of that, or, when there is another path, not at all.
 *
 * What is unordered is decided here, by a graph: a node for each piece of work, with the set of all nodes that come before it. This knows nothing of
 * the simulated device; from it comes only whether "hazard:" was written on stderr after each call. Each program runs in a process of its own.
 *
 * Exit status 0: every program was judged as the graph says. Otherwise each other one is listed with its seed. */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 9, EVENTS = 5, BLOCKS = 10, PINNED = 2, OPS = 600, NODES = 1024, WORDS = NODES / 64, LANES = 128, ACCESSES = 512, COPIES = 4 };

/* ---- programs ---- */

enum kind { ALLOCATE, ALLOCATE_CAPPED, FILL, ADD, SET, COPY, FREE, FREE_BY_HOST, RENEW, RECORD, WAIT, SYNC_STREAM, SYNC_EVENT, SYNC_DEVICE, POLL_STREAM, POLL_EVENT, ASK_STREAM, ASK_EVENT };
static const char *const kind_names[] = { "allocate", "allocate (capped pool)", "fill", "add", "memset", "copy", "free", "cudaFree", "destroy and create", "record", "wait", "synchronise stream",
                                          "synchronise event", "synchronise device", "poll stream", "poll event", "ask stream", "ask event" };

struct op { enum kind kind; int stream, device, event, block, source; size_t from, to, source_from; };
struct program { struct op ops[OPS]; int count; };

/* What each place for a stream holds: the default streams stay, the others may be destroyed and made anew. */
enum sort { LEGACY, PER_THREAD, BLOCKING, NON_BLOCKING };
static const struct { enum sort sort; int device; } places[STREAMS] = {
    { LEGACY, 0 }, { PER_THREAD, 0 }, { BLOCKING, 0 }, { BLOCKING, 0 }, { NON_BLOCKING, 0 }, { NON_BLOCKING, 0 }, { NON_BLOCKING, 1 }, { BLOCKING, 1 }, { LEGACY, 1 } };

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
    struct { bool alive, capped; int allocated, count; size_t ints; struct { int node; size_t from, to; bool write; } uses[ACCESSES]; } blocks[BLOCKS];
} g;

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
enum { WRITES = 1, WRITE_READ = 2, READ_WRITE = 4, USE_ALLOCATION = 8, FREE_USE = 16, FREE_ALLOCATION = 32 };
static const char *const hazard_names[] = { "unordered writes", "write not ordered after a read", "read not ordered after a write", "use before allocation", "free before the use ends", "free before allocation" };

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

static unsigned judge(const struct op *op, int *missing)
{
    struct set before = op->kind == FREE_BY_HOST ? g.host : before_next(op->stream);
    unsigned wrong;
    switch (op->kind) {
    case COPY:
        wrong = judge_use(&before, op->source, op->source_from, op->source_from + op->to - op->from, false, missing);
        return wrong | judge_use(&before, op->block, op->from, op->to, true, missing);
    case FILL: case ADD: case SET: return judge_use(&before, op->block, op->from, op->to, true, missing);
    case FREE: case FREE_BY_HOST: return judge_free(&before, op->block, missing);
    default: return 0;
    }
}

static void add_use(int block, int node, size_t from, size_t to, bool write)
{
    int i = g.blocks[block].count++;
    if (i == ACCESSES) abort();
    g.blocks[block].uses[i].node = node;
    g.blocks[block].uses[i].from = from;
    g.blocks[block].uses[i].to = to;
    g.blocks[block].uses[i].write = write;
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
        add_use(op->source, n, op->source_from, op->source_from + op->to - op->from, false);
        add_use(op->block, n, op->from, op->to, true);
        break;
    case FILL: case ADD: case SET: add_use(op->block, new_node(op->stream), op->from, op->to, true); break;
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
    case SYNC_EVENT: case POLL_EVENT: case ASK_EVENT: if (yes) with_node(&g.host, g.record[op->device][op->event]); break;
    }
}

/* ---- making a right program ---- */

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
    if (p->count == OPS) abort();
    p->ops[p->count++] = op;
    advance(&op, op.kind != ASK_STREAM && op.kind != ASK_EVENT);     /* a question may be answered with no */
}

static int emit_record(struct program *p, int stream)
{
    int event = (int)roll(EVENTS);
    emit(p, (struct op){ .kind = RECORD, .stream = stream, .device = places[stream].device, .event = event });
    return event;
}

/* One way to make node `n` come before what the stream does next; stream -1: before what the host does next. */
static void put_in_order(struct program *p, int n, int stream)
{
    int from = g.lanes[g.nodes[n].lane].place, device = places[from].device, event;
    bool gone = g.lane_of[from] != g.nodes[n].lane;          /* its stream was destroyed: only the device can be waited for */
    switch (gone ? 0 : stream < 0 ? roll(5) : roll(12)) {
    case 0: emit(p, (struct op){ .kind = SYNC_DEVICE, .device = device }); break;
    case 1: emit(p, (struct op){ .kind = SYNC_STREAM, .stream = from }); break;
    case 2: emit(p, (struct op){ .kind = POLL_STREAM, .stream = from }); break;
    case 3: case 4:
        event = emit_record(p, from);
        emit(p, (struct op){ .kind = roll(2) ? SYNC_EVENT : POLL_EVENT, .device = device, .event = event });
        break;
    case 5: case 6: {                                        /* through a third stream */
        int third = (int)roll(STREAMS);
        event = emit_record(p, from);
        emit(p, (struct op){ .kind = WAIT, .stream = third, .device = device, .event = event });
        event = emit_record(p, third);
        emit(p, (struct op){ .kind = WAIT, .stream = stream, .device = places[third].device, .event = event });
        break;
    }
    default:
        event = emit_record(p, from);
        emit(p, (struct op){ .kind = WAIT, .stream = stream, .device = device, .event = event });
    }
}

static void emit_in_order(struct program *p, struct op op)
{
    int missing = -1;
    while (judge(&op, &missing)) put_in_order(p, missing, op.kind == FREE_BY_HOST ? -1 : op.stream);
    emit(p, op);
}

/* A block that is alive, or not; -1 when there is none. */
static int pick_block(bool alive, int first)
{
    for (int tries = 0; tries < 20; tries++) {
        int b = first + (int)roll((unsigned)(BLOCKS - first));
        if (g.blocks[b].alive == alive) return b;
    }
    return -1;
}

static void pick_range(int block, size_t *from, size_t *to)
{
    size_t ints = g.blocks[block].ints < 4096 ? g.blocks[block].ints : 4096;
    *from = roll(3) ? 0 : roll((unsigned)ints);
    *to = roll(3) ? ints : *from + 1 + roll((unsigned)(ints - *from));
}

static void add_use_of(struct program *p, int stream)
{
    struct op op = { .kind = FILL + roll(4), .stream = stream, .block = pick_block(true, 0) };
    if (op.block < 0) return;
    pick_range(op.block, &op.from, &op.to);
    if (op.kind == COPY) {
        op.source = pick_block(true, 0);
        if (op.source < 0 || op.source == op.block) return;
        size_t ints = op.to - op.from;
        if (ints > g.blocks[op.source].ints) return;
        op.source_from = roll((unsigned)(g.blocks[op.source].ints < 4096 ? g.blocks[op.source].ints - ints + 1 : 1));
    }
    emit_in_order(p, op);
}

static void add_allocation(struct program *p, int stream)
{
    int b = pick_block(false, PINNED), capped = 0;
    if (b < 0) return;
    for (int i = 0; i < BLOCKS; i++) capped += g.blocks[i].alive && g.blocks[i].capped;
    if (capped < 2 && roll(4) == 0) emit(p, (struct op){ .kind = ALLOCATE_CAPPED, .stream = stream, .block = b, .to = 12 * MiB / sizeof(int) });
    else emit(p, (struct op){ .kind = ALLOCATE, .stream = stream, .block = b, .to = 64u << roll(9) });
}

static void add_something(struct program *p)
{
    int stream = (int)roll(STREAMS), device = places[stream].device, event = (int)roll(EVENTS), b;
    switch (roll(24)) {
    case 0: case 1: case 2: case 3: add_allocation(p, stream); break;
    case 4: case 5: case 6:
        if ((b = pick_block(true, PINNED)) >= 0) emit_in_order(p, (struct op){ .kind = roll(8) ? FREE : FREE_BY_HOST, .stream = stream, .block = b });
        break;
    case 7: case 8: emit(p, (struct op){ .kind = RECORD, .stream = stream, .device = device, .event = event }); break;
    case 9: case 10: emit(p, (struct op){ .kind = WAIT, .stream = stream, .device = (int)roll(2), .event = event }); break;
    case 11: emit(p, (struct op){ .kind = SYNC_STREAM + roll(3), .stream = stream, .device = device, .event = event }); break;
    case 12: emit(p, (struct op){ .kind = ASK_STREAM + roll(2), .stream = stream, .device = device, .event = event }); break;
    case 13: if (places[stream].sort >= BLOCKING) emit(p, (struct op){ .kind = RENEW, .stream = stream }); break;
    default: add_use_of(p, stream);
    }
}

static void make_right(struct program *p, unsigned seed)
{
    dice = seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
    p->count = 0;
    graph_start();
    for (int steps = 10 + (int)roll(50); steps; steps--) add_something(p);
    for (int b = PINNED; b < BLOCKS; b++)
        if (g.blocks[b].alive) emit_in_order(p, (struct op){ .kind = FREE, .stream = (int)roll(STREAMS), .block = b });
    for (int d = 0; d < 2; d++) emit(p, (struct op){ .kind = SYNC_DEVICE, .device = d });
}

/* ---- making it wrong ---- */

/* A copy that lacks one op, or has one elsewhere; `at` and `to` for the listing. False: nothing to change. */
static bool make_wrong(struct program *w, const struct program *p, int *at, int *to)
{
    for (int tries = 0; tries < 100; tries++) {
        int i = (int)roll((unsigned)p->count), j = i;
        struct op op = p->ops[i];
        if (op.kind < RECORD || op.kind > POLL_EVENT) continue;
        unsigned way = roll(4);
        if (way == 3 && op.kind >= SYNC_STREAM && op.kind != SYNC_DEVICE) {          /* asks once, whatever the answer */
            *w = *p;
            *at = i;
            *to = i;
            w->ops[i].kind = op.kind == SYNC_STREAM || op.kind == POLL_STREAM ? ASK_STREAM : ASK_EVENT;
            return true;
        }
        if (way == 0 && op.kind == RECORD) {                 /* before the last op of its stream */
            while (--j >= 0 && (p->ops[j].kind > FREE || p->ops[j].stream != op.stream)) ;
        } else if (way == 1 && op.kind == WAIT) {            /* after the next op of its stream */
            while (++j < p->count && (p->ops[j].kind > FREE || p->ops[j].stream != op.stream)) ;
        }
        if (j < 0 || j >= p->count) continue;
        *w = *p;
        *at = i;
        *to = j == i ? -1 : j;
        if (j == i) memmove(&w->ops[i], &w->ops[i + 1], (size_t)(--w->count - i) * sizeof op);
        else if (j < i) memmove(&w->ops[j + 1], &w->ops[j], (size_t)(i - j) * sizeof op);
        else memmove(&w->ops[i], &w->ops[i + 1], (size_t)(j - i) * sizeof op);
        if (j != i) w->ops[j] = op;
        return true;
    }
    return false;
}

/* ---- running ---- */

static cudaStream_t streams[STREAMS];
static cudaEvent_t events[2][EVENTS];
static int *blocks[BLOCKS];
static cudaMemPool_t capped;

static void make_stream(int s)
{
    CHECK(cudaSetDevice(places[s].device));
    if (places[s].sort == LEGACY) streams[s] = cudaStreamLegacy;
    else if (places[s].sort == PER_THREAD) streams[s] = cudaStreamPerThread;
    else CHECK(cudaStreamCreateWithFlags(&streams[s], places[s].sort == BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking));
}

static void set_up(void)
{
    struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned, .location = { .type = cudaMemLocationTypeDevice, .id = 0 }, .maxSize = 32 * MiB };
    CHECK(cudaMemPoolCreate(&capped, &props));
    for (int d = 0; d < 2; d++) {
        cudaMemPool_t pool;
        struct cudaMemAccessDesc other = { .location = { .type = cudaMemLocationTypeDevice, .id = 1 - d }, .flags = cudaMemAccessFlagsProtReadWrite };
        CHECK(cudaDeviceGetDefaultMemPool(&pool, d));
        CHECK(cudaMemPoolSetAccess(pool, &other, 1));
        if (d == 0) CHECK(cudaMemPoolSetAccess(capped, &other, 1));
        CHECK(cudaSetDevice(d));
        for (int e = 0; e < EVENTS; e++) CHECK(cudaEventCreateWithFlags(&events[d][e], cudaEventDisableTiming));
    }
    for (int s = 0; s < STREAMS; s++) make_stream(s);
    for (int b = 0; b < PINNED; b++) CHECK(cudaMallocHost((void **)&blocks[b], 4096));
}

/* Makes the op's call; the answer of a question. */
static bool perform(const struct op *op)
{
    cudaStream_t s = streams[op->stream];
    int *data = blocks[op->block] + op->from;
    size_t ints = op->to - op->from;
    bool of_device = op->kind == SYNC_DEVICE || op->kind == SYNC_EVENT || op->kind == POLL_EVENT || op->kind == ASK_EVENT;
    cudaError_t answer = cudaSuccess;
    CHECK(cudaSetDevice(of_device ? op->device : places[op->stream].device));
    switch (op->kind) {
    case ALLOCATE:        CHECK(cudaMallocAsync((void **)&blocks[op->block], op->to * sizeof(int), s)); break;
    case ALLOCATE_CAPPED: CHECK(cudaMallocFromPoolAsync((void **)&blocks[op->block], op->to * sizeof(int), capped, s)); break;
    case FILL:            CHECK(launch_fill(data, 1, ints, s)); break;
    case ADD:             CHECK(launch_add(data, 1, ints, s)); break;
    case SET:             CHECK(cudaMemsetAsync(data, 0, ints * sizeof(int), s)); break;
    case COPY:            CHECK(cudaMemcpyAsync(data, blocks[op->source] + op->source_from, ints * sizeof(int), cudaMemcpyDefault, s)); break;
    case FREE:            CHECK(cudaFreeAsync(blocks[op->block], s)); break;
    case FREE_BY_HOST:    CHECK(cudaFree(blocks[op->block])); break;
    case RENEW:           CHECK(cudaStreamDestroy(s)); make_stream(op->stream); break;
    case RECORD:          CHECK(cudaEventRecord(events[op->device][op->event], s)); break;
    case WAIT:            CHECK(cudaStreamWaitEvent(s, events[op->device][op->event], 0)); break;
    case SYNC_STREAM:     CHECK(cudaStreamSynchronize(s)); break;
    case SYNC_EVENT:      CHECK(cudaEventSynchronize(events[op->device][op->event])); break;
    case SYNC_DEVICE:     CHECK(cudaDeviceSynchronize()); break;
    case POLL_STREAM:     while ((answer = cudaStreamQuery(s)) == cudaErrorNotReady) ; break;
    case POLL_EVENT:      while ((answer = cudaEventQuery(events[op->device][op->event])) == cudaErrorNotReady) ; break;
    case ASK_STREAM:      answer = cudaStreamQuery(s); break;
    case ASK_EVENT:       answer = cudaEventQuery(events[op->device][op->event]); break;
    }
    if (answer != cudaErrorNotReady) CHECK(answer);
    return answer == cudaSuccess;
}

/* How a run ended. */
enum { SILENT, ACCUSED = 40, MISSED, FALSELY, OTHER_KIND };
static const char *const ends[] = { "accused, as the graph says", "not accused, but it is wrong", "accused, but it is right", "accused of something else" };

static int words;                      /* a file in memory: the run's stderr */

/* Runs the program up to the first call that is wrong, or accused. */
static int run(const struct program *p, int *stopped)
{
    graph_start();
    set_up();
    for (int i = 0; i < p->count; i++) {
        char text[256] = "";
        int missing = -1;
        unsigned wrong = judge(&p->ops[i], &missing);
        off_t before = lseek(words, 0, SEEK_END);
        bool yes = perform(&p->ops[i]);
        bool told = pread(words, text, sizeof text - 1, before) > 0 && !strncmp(text, "hazard: ", 8);
        *stopped = i;
        if (told != (wrong != 0)) return wrong ? MISSED : FALSELY;
        for (int k = 0; told && k < 6; k++)
            if (wrong >> k & 1 && !strncmp(text + 8, hazard_names[k], strlen(hazard_names[k]))) return ACCUSED;
        if (told) return OTHER_KIND;
        advance(&p->ops[i], yes);
    }
    for (int b = 0; b < PINNED; b++) CHECK(cudaFreeHost(blocks[b]));
    return SILENT;
}

/* The same in a process of its own, under one of the paces. */
static int run_apart(const struct program *p, const char *pace, int *stopped)
{
    int *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), status;
    if (ftruncate(words, 0)) abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setenv("SIM_PACE", pace, 1);
        dup2(words, STDERR_FILENO);
        int end = run(p, shared);
        if (end != SILENT) _exit(end);
        exit(end);                                           /* with what the simulated device says at the end */
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
        printf("  %3d %-22s stream %d  device %d  event %d  block %d  source %d  ints %zu to %zu\n", i, kind_names[op->kind], op->stream, op->device, op->event, op->block, op->source, op->from, op->to);
    }
    char text[2048];
    ssize_t n = pread(words, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    printf("%s\n", text);
}

static unsigned silent, accused, wrong_ends;

static void account(const struct program *p, const char *pace, unsigned seed, const char *what, bool may_be_wrong)
{
    int stopped, end = run_apart(p, pace, &stopped);
    silent += end == SILENT;
    accused += end == ACCUSED;
    if (end == SILENT || (end == ACCUSED && may_be_wrong)) return;
    wrong_ends++;
    printf("seed %u (%s), SIM_PACE=%s: %s (status %d), at op %d\n", seed, what, pace, end >= ACCUSED && end <= OTHER_KIND ? ends[end - ACCUSED] : "it did not end well", end, stopped);
    if (wrong_ends <= 3) list(p, stopped);
}

int main(int argc, char **argv)
{
    static struct program right, wrong;
    unsigned first = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1, count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 200;
    words = memfd_create("stderr", 0);
    for (unsigned seed = first; seed < first + count; seed++) {
        static const char *const paces[] = { "measured", "instant", "late" };
        char pace[32], what[64];
        int at, to;
        snprintf(pace, sizeof pace, "random:%u", seed);
        if (seed % 4) snprintf(pace, sizeof pace, "%s", paces[seed % 4 - 1]);
        make_right(&right, seed);
        account(&right, pace, seed, "right", false);
        for (int i = 0; i < COPIES && make_wrong(&wrong, &right, &at, &to); i++) {
            snprintf(what, sizeof what, to < 0 ? "without op %d" : to == at ? "op %d only asks" : "op %d put at %d", at, to);
            account(&wrong, pace, seed, what, true);
        }
    }
    printf("%u right programs and their copies: %u silent and %u accused, as the graph says; %u others\n", count, silent, accused, wrong_ends);
    return wrong_ends || !silent || !accused;
}
