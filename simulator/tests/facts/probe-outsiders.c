/* Records what programs of outsiders asked about one GPU: what an allocation that fails orders,
 * which neighbors are joined, what gives memory back, and an allocation that is imported twice, or
 * never freed. Each question has a process of its own, or two; the lines are those that the
 * programs printed, so they are made here as they were there. */
#include "graphs.h"
#include "pairs.h"
#include "workbook.h"

/* ---- what an allocation that fails queues ---- */

/* Blocking stream a is held, and b gets a memset. Does b wait for a? */
static void memset_beside_hold(int allocates)
{
    cudaStream_t held, beside;
    size_t free_bytes, total_bytes;
    void *p = NULL;
    CHECK(cudaStreamCreate(&held));
    CHECK(cudaStreamCreate(&beside));
    CHECK(cudaMallocHost((void **)&gate, sizeof *gate));
    CHECK(cudaMalloc(&m, 4096));
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    hold(held);
    if (allocates) {
        cudaError_t result = cudaMallocAsync(&p, 2 * total_bytes, 0);
        printf("cudaMallocAsync, legacy stream, twice the device: %s\n", cudaGetErrorName(result));
    }
    printf("cudaMemsetAsync in b: %s\n", cudaGetErrorName(cudaMemsetAsync(m, 0, 4096, beside)));
    usleep(100000);
    printf("b is done while a is held: %s\n",
           cudaStreamQuery(beside) == cudaSuccess ? "yes" : "no");
    open_gate();
    CHECK(cudaDeviceSynchronize());
}

CASE(failed_allocation) { memset_beside_hold(1); }
CASE(no_allocation) { memset_beside_hold(0); }

/* One stream frees A, records an event, and then frees A's neighbor B, or leaves it. Another stream
 * waits for the event and allocates as much as A. */
static void one_merge(int frees_neighbor, cudaStream_t allocating)
{
    size_t bytes = 64 * MiB;
    void *first, *neighbor, *p;
    cudaMemPool_t pool = pool_create();
    cudaEvent_t event;
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    pool_set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    gate = gate_create();
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMallocFromPoolAsync(&first, bytes, pool, allocating));
    CHECK(cudaMallocFromPoolAsync(&neighbor, bytes, pool, s));
    CHECK(cudaDeviceSynchronize());
    hold(s);
    CHECK(cudaFreeAsync(first, s));
    CHECK(cudaEventRecord(event, s));
    if (frees_neighbor)
        CHECK(cudaFreeAsync(neighbor, s));
    CHECK(cudaStreamWaitEvent(t, event, 0));
    CHECK(cudaMallocFromPoolAsync(&p, bytes, pool, t));
    printf("B %s: %s, reserved %zu MiB\n", frees_neighbor ? "freed after the record" : "live",
           p == first      ? "A's address"
           : p == neighbor ? "B's address"
                           : "new memory",
           reserved_mib(pool));
    open_gate();
    CHECK(cudaDeviceSynchronize());
}

CASE(merged_neighbors)
{
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    one_merge(0, s);
    one_merge(1, s);
    one_merge(0, t);
    one_merge(1, t);
}

static void note_end(void *unused) { function_over = 1; }

/* A host function behind the free, and no synchronization. */
CASE(host_function_behind_free)
{
    cudaMemPool_t pool;
    void *p;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocAsync(&p, 64 * MiB, s));
    CHECK(cudaFreeAsync(p, s));
    printf("freed: reserved %zu MiB\n", reserved_mib(pool));
    CHECK(cudaLaunchHostFunc(s, note_end, NULL));
    for (int i = 0; i < 500 && !function_over; i++) {
        usleep(2000);
        cudaStreamQuery(s);
    }
    usleep(20000);
    printf("host function ran %d, no synchronization, no trim, device not full: reserved %zu MiB\n",
           function_over, reserved_mib(pool));
}

static unsigned long long mib_kept_for_graphs(void)
{
    return graph_figure(cudaGraphMemAttrReservedMemCurrent) / MiB;
}

/* cudaMalloc on a device that lacks what it keeps for graphs. */
CASE(full_with_graph_memory)
{
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t executable;
    void *p;
    CHECK(cudaStreamCreate(&s));
    cudaGraphNode_t allocation = alloc_node(graph, NULL, 64 * MiB, &p);
    free_node(graph, allocation, p);
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, s));
    CHECK(cudaStreamSynchronize(s));
    printf("after a launch: kept for graphs %llu MiB\n", mib_kept_for_graphs());
    cudaError_t result = cudaMalloc(&p, free_now() + 32 * MiB);
    printf("cudaMalloc of free + 32 MiB: %s, kept for graphs %llu MiB\n", cudaGetErrorName(result),
           mib_kept_for_graphs());
}

/* ---- two processes ---- */

enum { INTS = 2 << 20 };

static void send_sevens(void)
{
    CHECK(cudaStreamCreate(&s));
    share(shared_pool(0), INTS * sizeof(int));
    CHECK(launch_fill(a, 7, INTS, s));
    send_shared();
}

static void receive_pool_and_place(void)
{
    receive_shared();
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
}

static void export_to_import_twice(void)
{
    send_sevens();
    await_turn();
    CHECK(cudaFreeAsync(a, s));
    CHECK(cudaStreamSynchronize(s));
}

#define PRINT(call) printf("importer  %-52s %s\n", #call, cudaGetErrorName(call))

/* One allocation is imported twice; what does the first free leave? */
IMPORTER(imported_twice, export_to_import_twice)
{
    struct {
        struct cudaMemPoolPtrExportData place;
    } p;
    int *a = NULL, *b = NULL, v = 0;
    receive_pool_and_place();
    cudaMemPool_t pool = im;
    p.place = x;
    PRINT(cudaMemPoolImportPointer((void **)&a, pool, &p.place));
    PRINT(cudaMemPoolImportPointer((void **)&b, pool, &p.place));
    printf("importer  addresses %s\n", a == b ? "same" : "different");
    PRINT(cudaMemcpyAsync(&v, b, sizeof v, cudaMemcpyDeviceToHost, s));
    PRINT(cudaStreamSynchronize(s));
    printf("importer  value %d\n", v);
    PRINT(cudaFreeAsync(a, s));
    PRINT(cudaStreamSynchronize(s));
    v = -1;
    PRINT(cudaMemcpyAsync(&v, b, sizeof v, cudaMemcpyDeviceToHost, s));
    PRINT(cudaStreamSynchronize(s));
    printf("importer  value %d\n", v);
    PRINT(cudaFreeAsync(b, s));
    PRINT(cudaStreamSynchronize(s));
    pass_turn();
}

/* The importer adds, and frees nothing, whatever its line says. Both destroy the pool at the
 * end. */
static void export_to_no_free(void)
{
    int value = 0;
    send_sevens();
    await_turn();
    CHECK(cudaMemcpyAsync(&value, (int *)a + INTS - 1, sizeof value, cudaMemcpyDeviceToHost, s));
    CHECK(cudaFreeAsync(a, s));
    CHECK(cudaStreamSynchronize(s));
    printf("exporter  the data is %d\n", value);
    printf("exporter  used after its free: %zu MiB\n", used_mib(p));
    pass_turn();
    await_end();
    printf("exporter's destroy: %s\n", cudaGetErrorName(cudaMemPoolDestroy(p)));
}

IMPORTER(imported_and_not_freed, export_to_no_free)
{
    receive_pool_and_place();
    CHECK(cudaMemPoolImportPointer(&q, im, &x));
    CHECK(launch_add(q, 1, INTS, s));
    CHECK(cudaStreamSynchronize(s));
    puts("importer  has put its add and its free into its stream");
    take_turns();
    printf("importer's destroy: %s\n", cudaGetErrorName(cudaMemPoolDestroy(im)));
}

int main(void) { return run_plain_pairs(); }
