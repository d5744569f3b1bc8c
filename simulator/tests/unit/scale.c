/* The cost of a call on the simulated device as a program grows: each row at three sizes, a
 * factor of ten apart. It prints microseconds of processor time for one call, the peak of
 * resident memory, and the factors by which they grow.
 *
 *   scale                    every row; a size may take 20 seconds of processor time
 *   scale SECONDS            the same with another limit
 *   scale SECONDS TEXT       only the rows with this text in their names
 *
 * Each size runs in a process of its own; short sizes run in several, and the least counts. A
 * process that exceeds the limit is ended, and its row says so; so does a row in which a call
 * fails. SIM_SCHEDULE and SIM_CHECK apply as in any program. Exit status 0, whatever was
 * measured. */
#define _GNU_SOURCE
#include <pthread.h>
#include "kernels.h"
#include "measure.h"

#define BUDGET 2.5 /* A row may grow by this factor for ten times the size. */
enum {
    MOST = 100000,
    SIZES = 3,
    CALLS = 20000,
    ROUNDS = 9,
    BRANCHES = 8,
    READERS = 32,
    CHAINED = 16
};

static double started;
static void begin(void) { started = now_us(); }
/* Notes that this many calls were made since `begin`. */
static void end(int calls)
{
    result.figures[0] = (now_us() - started) / calls;
    finish();
}
/* Repeats a statement this often, with the number `i`, as what is measured of a row. */
#define TIMED(times, calls) for (int i = (begin(), 0); i < (times) || (end(calls), false); i++)

static int pick_int(int n) { return (int)pick((uint32_t)n); }

static cudaStream_t s, many[MOST];
static cudaEvent_t events[MOST];
static cudaMemPool_t pools[MOST];
static int *data[MOST];

static int *device_memory(size_t bytes)
{
    void *p;
    need(cudaMalloc(&p, bytes));
    return p;
}

static void make_streams(int n, unsigned flags)
{
    for (int i = 0; i < n; i++)
        need(cudaStreamCreateWithFlags(&many[i], flags));
}

static cudaEvent_t make_event(void)
{
    cudaEvent_t e;
    need(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
}

/* ---- allocations ---- */

/* Picks one of the n pointers in `data`, and prefetches the next one: a program has what it frees
 * at hand, so a cache miss of the row's own table must not count as a cost of the call. */
static int pick_pointer(int n)
{
    static int next;
    int now = next;
    next = pick_int(n);
    __builtin_prefetch(&data[next]);
    return now;
}

static void live(int n)
{
    for (int i = 0; i < n; i++)
        need(cudaMallocAsync((void **)&data[i], some_size(), s));
    TIMED (CALLS, CALLS) {
        int victim = pick_pointer(n);
        need(cudaFreeAsync(data[victim], s));
        need(cudaMallocAsync((void **)&data[victim], some_size(), s));
    }
}

static void frees_synchronized(int n)
{
    for (int i = 0; i < n; i++)
        need(cudaMallocAsync((void **)&data[i], some_size(), s));
    for (int i = 0; i < n; i += 2)
        need(cudaFreeAsync(data[i], s));
    begin();
    need(cudaStreamSynchronize(s));
    end(n / 2);
}

static void frees_pending(int n)
{
    make_streams(BRANCHES, cudaStreamNonBlocking);
    for (int i = 0; i < n; i++)
        need(cudaMallocAsync((void **)&data[i], 4096, many[i % BRANCHES]));
    for (int i = 0; i < n; i++)
        need(cudaFreeAsync(data[i], many[i % BRANCHES]));
    TIMED (CALLS, CALLS) {
        need(cudaMallocAsync((void **)&data[0], 1024, s));
        need(cudaFreeAsync(data[0], s));
    }
}

static void cuda_malloc(int n)
{
    for (int i = 0; i < n; i++)
        data[i] = device_memory(1024);
    TIMED (CALLS, CALLS) {
        int victim = pick_pointer(n);
        need(cudaFree(data[victim]));
        data[victim] = device_memory(1024);
    }
}

static void make_pinned(int n)
{
    for (int i = 0; i < n; i++)
        need(cudaMallocHost((void **)&data[i], 4096));
}

/* Each copy has work of its own, with n as with 100 n. A copy from a source of a pending copy costs
 * less, because the host's view of it is already closed, so all copies between two waits are of
 * different allocations. The first touch of a page costs the operating system something. */
static void pinned_copy(int n)
{
    int *to = device_memory(4096);
    make_pinned(n);
    for (int i = 0; i < n; i++) {
        memset(data[i], 1, 4096);
        need(cudaMemcpy(to, data[i], 4096, cudaMemcpyDefault));
    }
    for (int i = n - 1; i > 0; i--) {
        int other = pick_int(i + 1), *kept = data[i];
        data[i] = data[other];
        data[other] = kept;
    }
    TIMED (2000, 2000) {
        need(cudaMemcpyAsync(to, data[i % n], 4096, cudaMemcpyDefault, s));
        if (i % 100 == 99)
            need(cudaStreamSynchronize(s));
    }
}

static void pinned_free(int n)
{
    make_pinned(n);
    TIMED (n, n)
        need(cudaFreeHost(data[i]));
}

static void make_pools(int n)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location.type = cudaMemLocationTypeDevice};
    for (int i = 0; i < n; i++)
        need(cudaMemPoolCreate(&pools[i], &props));
}

static void pools_made(int n)
{
    begin();
    make_pools(n);
    end(n);
}

static void pools_synchronized(int n)
{
    make_pools(n);
    for (int i = 0; i < n; i++)
        need(cudaMallocFromPoolAsync((void **)&data[i], 4096, pools[i], s));
    /* The first touch of a page costs the operating system something. */
    for (int i = 0; i < n; i++)
        need(launch_fill(data[i], 1, 16, s));
    need(cudaStreamSynchronize(s));
    TIMED (1000, 1000) {
        need(launch_fill(data[i % n], 1, 16, s));
        need(cudaStreamSynchronize(s));
    }
}

/* ---- streams and events ---- */

static void streams_made(int n)
{
    begin();
    make_streams(n, cudaStreamDefault);
    end(n);
}

/* Fills of different places, one in each stream. */
static void fill_in_each(int n)
{
    int *p = device_memory((size_t)n * 64);
    make_streams(n, cudaStreamDefault);
    begin();
    for (int i = 0; i < n; i++)
        need(launch_fill(p + 16 * i, 1, 16, many[i]));
}

static void streams_filled(int n)
{
    fill_in_each(n);
    end(n);
}

static void streams_legacy(int n)
{
    int *p = device_memory(64);
    /* These count, too: the legacy stream's first fill waits for each of them. */
    fill_in_each(n);
    for (int i = 0; i < 100; i++) {
        need(launch_fill(p, 1, 16, cudaStreamLegacy));
        need(launch_fill(p, 1, 16, many[pick_int(n)]));
    }
    end(n + 200);
}

static void streams_joined(int n)
{
    cudaEvent_t e = make_event();
    fill_in_each(n);
    TIMED (n, n) {
        need(cudaEventRecord(e, many[i]));
        need(cudaStreamWaitEvent(s, e, 0));
    }
}

static void streams_waited_for(int n)
{
    fill_in_each(n);
    begin();
    need(cudaDeviceSynchronize());
    end(n);
}

/* Nothing waits: each stream is made, used, joined by an event, and destroyed. */
static void stream_churn(int n)
{
    cudaEvent_t e = make_event();
    int *p = device_memory(64);
    TIMED (n, n) {
        need(cudaStreamCreateWithFlags(&many[0], cudaStreamNonBlocking));
        need(cudaEventRecord(e, s));
        need(cudaStreamWaitEvent(many[0], e, 0));
        need(launch_fill(p, 1, 16, many[0]));
        need(cudaEventRecord(e, many[0]));
        need(cudaStreamWaitEvent(s, e, 0));
        need(cudaStreamDestroy(many[0]));
    }
}

/* Nothing waits for what the destroyed streams have done and freed. */
static void stream_churn_unwaited(int n)
{
    TIMED (n, 5 * n) {
        cudaStream_t one;
        void *p;
        need(cudaStreamCreate(&one));
        need(cudaMallocAsync(&p, 512, one));
        need(launch_fill(p, 1, 8, one));
        need(cudaFreeAsync(p, one));
        need(cudaStreamDestroy(one));
    }
}

static void events_used(int n)
{
    make_streams(1, cudaStreamNonBlocking);
    begin();
    for (int i = 0; i < n; i++)
        events[i] = make_event();
    for (int i = 0; i < n; i++)
        need(cudaEventRecord(events[i], s));
    for (int i = 0; i < n; i++)
        need(cudaStreamWaitEvent(many[0], events[i], 0));
    end(n);
}

static void event_chain(int n)
{
    int *p = device_memory(64);
    make_streams(CHAINED, cudaStreamNonBlocking);
    need(cudaMemsetAsync(p, 0, 64, many[0]));
    for (int i = 0; i < CHAINED; i++)
        events[i] = make_event();
    TIMED (n, n) {
        int from = i % CHAINED, to = (i + 1) % CHAINED;
        need(launch_add(p, 1, 16, many[from]));
        need(cudaEventRecord(events[from], many[from]));
        need(cudaStreamWaitEvent(many[to], events[from], 0));
    }
}

/* ---- two processes ---- */

/* Returns memory of a pool that is exported, and the address where it is imported. */
static int *shared_memory(size_t bytes, int **imported)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location.type = cudaMemLocationTypeDevice};
    struct cudaMemPoolPtrExportData exported;
    int *p, descriptor;
    need(cudaMemPoolCreate(&pools[0], &props));
    need(cudaMemPoolExportToShareableHandle(&descriptor, pools[0],
                                            cudaMemHandleTypePosixFileDescriptor, 0));
    need(cudaMallocFromPoolAsync((void **)&p, bytes, pools[0], s));
    need(cudaStreamSynchronize(s));
    need(cudaMemPoolExportPointer(&exported, p));
    need(cudaMemPoolImportFromShareableHandle(&pools[1], (void *)(uintptr_t)descriptor,
                                              cudaMemHandleTypePosixFileDescriptor, 0));
    need(cudaMemPoolImportPointer((void **)imported, pools[1], &exported));
    return p;
}

static void shared_parts(int n)
{
    int *imported, *p = shared_memory((size_t)n * 64, &imported);
    cudaEvent_t e = make_event();
    make_streams(1, cudaStreamNonBlocking);
    begin();
    for (int i = 0; i < n; i++)
        need(launch_fill(p + 16 * i, 1, 16, s));
    need(cudaEventRecord(e, s));
    need(cudaStreamWaitEvent(many[0], e, 0));
    for (int i = 0; i < n; i++)
        need(launch_add(imported + 16 * i, 1, 16, many[0]));
    end(2 * n);
}

static void shared_synchronized(int n)
{
    int *imported, *p = shared_memory(64, &imported);
    fill_in_each(n);
    need(cudaDeviceSynchronize());
    TIMED (1000, 1000) {
        need(launch_fill(p, 1, 16, s));
        need(cudaStreamSynchronize(s));
    }
}

/* ---- accesses ---- */

/* `n` fills of one stream, at distances of `apart` ints and `ints` long, and the free. */
static void fills(int n, int apart, int ints)
{
    void *p;
    need(cudaMallocAsync(&p, ((size_t)n * (size_t)apart + (size_t)ints) * sizeof(int), s));
    begin();
    for (int i = 0; i < n; i++)
        need(launch_fill((int *)p + (size_t)i * (size_t)apart, 1, (size_t)ints, s));
    need(cudaFreeAsync(p, s));
    end(n);
}
static void accesses_apart(int n) { fills(n, 16, 8); }
static void accesses_same(int n) { fills(n, 0, 8); }
static void do_nothing(void *unused) { (void)unused; }

/* The host queues faster than its functions run, and waits for none. */
static void accesses_behind_functions(int n)
{
    int *p = device_memory(4096);
    TIMED (n, 2 * n) {
        need(launch_fill(p, 1, 1024, s));
        need(cudaLaunchHostFunc(s, do_nothing, NULL));
    }
}

static void accesses_overlapping(int n) { fills(n, 4, 8); }

/* `n` reads in turn by 32 streams, `bytes` long: at one of 512 addresses, or at distances of 4
 * bytes. */
static void reads(int n, size_t bytes, int addresses)
{
    char *p = (char *)device_memory((size_t)MOST * 4 + bytes), *to[READERS];
    make_streams(READERS, cudaStreamNonBlocking);
    for (int i = 0; i < READERS; i++)
        to[i] = (char *)device_memory(bytes);
    TIMED (n, n)
        need(cudaMemcpyAsync(to[i % READERS], p + 4 * (addresses ? pick_int(addresses) : i), bytes,
                             cudaMemcpyDefault, many[i % READERS]));
}
static void reads_moving(int n) { reads(n, 256, 0); }
static void reads_of_512(int n) { reads(n, 64, 512); }

/* ---- host threads, and a loop ---- */

static int pairs_of_each;
static void *pairs(void *unused)
{
    cudaStream_t mine;
    void *p;
    need(cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking));
    for (int i = 0; i < pairs_of_each; i++) {
        need(cudaMallocAsync(&p, 1024, mine));
        need(cudaFreeAsync(p, mine));
    }
    return unused;
}

static void host_threads(int n)
{
    static pthread_t threads[MOST];
    pairs_of_each = 50 * CALLS / n;
    begin();
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, pairs, NULL))
            need(cudaErrorUnknown);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    end(n * pairs_of_each);
}

static void loop(int n)
{
    cudaEvent_t e = make_event();
    void *p;
    make_streams(1, cudaStreamNonBlocking);
    TIMED (n, 8 * n) {
        need(cudaMallocAsync(&p, 4096, s));
        need(launch_fill(p, 1, 1024, s));
        need(cudaEventRecord(e, s));
        need(cudaStreamWaitEvent(many[0], e, 0));
        need(launch_add(p, 1, 1024, many[0]));
        need(cudaEventRecord(e, many[0]));
        need(cudaStreamWaitEvent(s, e, 0));
        need(cudaFreeAsync(p, s));
    }
}

/* Work is queued faster than the device does it, and nothing waits. */
static void queued_faster(int n)
{
    cudaEvent_t e = make_event();
    int *p = device_memory(64);
    make_streams(1, cudaStreamNonBlocking);
    TIMED (n, 3 * n) {
        need(cudaMemsetAsync(p, 0, 64, s));
        need(cudaEventRecord(e, s));
        need(cudaStreamWaitEvent(many[0], e, 0));
    }
}

static void pools_churned(int n)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice}};
    TIMED (n, 5 * n) {
        void *p;
        need(cudaMemPoolCreate(&pools[0], &props));
        need(cudaMallocFromPoolAsync(&p, 4096, pools[0], s));
        need(cudaFreeAsync(p, s));
        need(cudaStreamSynchronize(s));
        need(cudaMemPoolDestroy(pools[0]));
    }
}

/* ---- graphs ---- */

/* A graph of `n` memsets of one allocation: as a chain, or of different parts in parallel. */
static cudaGraph_t make_graph(int n, bool is_chain)
{
    int *p = device_memory((size_t)n * 64);
    cudaGraphNode_t node = NULL, before;
    cudaGraph_t graph;
    need(cudaGraphCreate(&graph, 0));
    for (int i = 0; i < n; i++) {
        struct cudaMemsetParams set = {.dst = p + (is_chain ? 0 : 16 * i),
                                       .elementSize = sizeof(int),
                                       .width = 16,
                                       .height = 1};
        before = node;
        need(cudaGraphAddMemsetNode(&node, graph, &before, is_chain && i, &set));
    }
    return graph;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    need(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static void graph_made(int n)
{
    begin();
    instantiate(make_graph(n, true));
    end(n);
}

static void launch_graph(int n, bool is_chain)
{
    cudaGraphExec_t exec = instantiate(make_graph(n, is_chain));
    begin();
    need(cudaGraphLaunch(exec, s));
    need(cudaStreamSynchronize(s));
    end(n);
}
static void graph_chain(int n) { launch_graph(n, true); }
static void graph_wide(int n) { launch_graph(n, false); }

static void graph_relaunched(int n)
{
    cudaGraphExec_t exec = instantiate(make_graph(BRANCHES, false));
    TIMED (n, n)
        need(cudaGraphLaunch(exec, s));
}

/* ---- the table ---- */

/* A row, and its smallest size; the others are 10 and 100 times as large. */
static const struct row {
    const char *name;
    void (*measure)(int n);
    int size;
} rows[] = {
    {"live allocations: free, allocate", live, 1000},
    {"pending frees: allocate, free", frees_pending, 1000},
    {"frees: synchronize, a free", frees_synchronized, 1000},
    {"live cudaMalloc: cudaFree, again", cuda_malloc, 1000},
    {"live pinned: copy", pinned_copy, 300},
    {"live pinned: cudaFreeHost", pinned_free, 300},
    {"pools: make", pools_made, 10},
    {"pools: fill, synchronize", pools_synchronized, 10},
    {"streams: make", streams_made, 40},
    {"streams: fill in each", streams_filled, 40},
    {"streams: fill in legacy, in one", streams_legacy, 40},
    {"streams: record, wait", streams_joined, 40},
    {"streams: synchronize, a stream", streams_waited_for, 40},
    {"streams made, joined, destroyed", stream_churn, 100},
    {"streams made, used, destroyed: a call", stream_churn_unwaited, 3000},
    {"events: make, record, wait", events_used, 1000},
    {"event chain of 16 streams: a link", event_chain, 1000},
    {"shared: fill parts, add, imported", shared_parts, 80},
    {"shared: synchronize, of streams", shared_synchronized, 40},
    {"fills apart, and the free", accesses_apart, 1000},
    {"fills of one range", accesses_same, 1000},
    {"fills of one range, host functions", accesses_behind_functions, 100},
    {"fills half overlapping", accesses_overlapping, 1000},
    {"reads of 32 streams, moving on", reads_moving, 300},
    {"reads of 32 streams, 512 ranges", reads_of_512, 300},
    {"host threads: allocate, free", host_threads, 4},
    {"loop without a wait: a call", loop, 1000},
    {"queue that is full: a call", queued_faster, 3000},
    {"pools made, used, destroyed: a call", pools_churned, 300},
    {"graph chain: make, a node", graph_made, 100},
    {"graph chain: launch, a node", graph_chain, 100},
    {"graph wide: launch, a node", graph_wide, 100},
    {"graph of 8 branches: launch", graph_relaunched, 10},
};
#define ROWS (sizeof rows / sizeof *rows)

static void (*of_row)(int n);

/* The process of one size. */
static void measure(int n)
{
    /* The first calls of a process cost more than others. */
    int *p = device_memory(64);
    need(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    need(launch_fill(p, 1, 16, s));
    need(cudaDeviceSynchronize());
    of_row(n);
}

/* Measures a row's sizes in turn, so that a busy moment of the machine affects them all, and
 * repeats those below 0.1 s, whose least time counts. Returns how many come to their end. */
static int measure_sizes(const struct row *row, int seconds, struct result r[SIZES])
{
    int done = SIZES;
    of_row = row->measure;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0, n = row->size; i < done; i++, n *= 10) {
            if (round && *r[i].figures * n > 1e5)
                continue;
            struct result now = measure_once(measure, n, seconds);
            if (!round || *now.figures < *r[i].figures || *now.failure)
                r[i] = now;
            if (*now.failure)
                done = i;
        }
    return done;
}

static double larger(double a, double b) { return a > b ? a : b; }

static void nothing(int n) { end(n); }

static void print_row(const struct row *row, int seconds, double empty)
{
    struct result r[SIZES] = {0};
    double time = 0, memory = 0;
    int done = measure_sizes(row, seconds, r);
    for (int i = 1; i < done; i++) {
        time = larger(time, *r[i].figures / *r[i - 1].figures);
        /* A few MiB more or less mean nothing. */
        if (r[i].mib > empty + 16)
            memory = larger(memory, (r[i].mib - empty) / (10 * larger(r[i - 1].mib - empty, 1)));
    }
    printf("%c %-38s %5d", time > BUDGET || memory > BUDGET || done < SIZES ? '*' : ' ', row->name,
           row->size);
    for (int i = 0; i < SIZES; i++)
        if (i < done)
            printf(" %8.2f", *r[i].figures);
        else
            printf(" %8s", "-");
    printf(" %5.1f ", time);
    for (int i = 0; i < done; i++)
        printf(" %5.0f", r[i].mib);
    if (done < SIZES)
        printf(" %s", r[done].failure);
    else
        printf(" %5.1f", memory);
    puts("");
}

/* Returns how long the machine's memory takes for each of `n` records of the size of an
 * allocation's: nanoseconds for one, each found through another. */
static double memory_alone(int n)
{
    enum { RECORD = 192, READS = 1000000 };
    char *records = calloc((size_t)n, RECORD), **at = (char **)records;
    int *order = calloc((size_t)n, sizeof *order);
    if (!records || !order)
        exit(1);
    for (int i = 0; i < n; i++) {
        int other = pick_int(i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (int i = 0; i < n; i++)
        *(char **)(records + (size_t)order[i] * RECORD) =
            records + (size_t)order[(i + 1) % n] * RECORD;
    double start = now_us();
    for (int i = 0; i < READS; i++)
        at = (char **)*at;
    double each = 1e3 * (now_us() - start) / READS;
    /* Never true, but it keeps the reads. */
    if (!at)
        puts("");
    free(records);
    free(order);
    return each;
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 20;
    if (seconds < 1 || seconds > 3600) {
        fprintf(stderr, "scale: expected seconds from 1 to 3600, not \"%s\"\n", argv[1]);
        return 2;
    }
    of_row = nothing;
    double empty = measure_once(measure, 1, seconds).mib;
    printf("%-35s %5s %26s %6s %17s\n", "", "", "processor us per call, of", "", "MiB, of");
    printf("  %-38s %5s %8s %8s %8s %6s %5s %5s %5s %5s\n", "", "n", "n", "10 n", "100 n", "grow ",
           "n", "10 n", "100 n", "grow");
    for (size_t i = 0; i < ROWS; i++)
        if (argc < 3 || strstr(rows[i].name, argv[2]))
            print_row(&rows[i], seconds, empty);
    printf("\nMemory alone, a read out of order: of 1000 records %.0f ns, of 10000 %.0f ns, of "
           "100000 %.0f ns.\nA row grows by that too, for each record that a call has to find.\n",
           memory_alone(1000), memory_alone(10000), memory_alone(100000));
    puts("\ngrow: the larger factor for ten times n; of memory, for each of the n.\n"
         "*: it is more than 2.5, or the row did not come to its end.");
    return 0;
}
