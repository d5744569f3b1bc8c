/* Records what may be done with graphs that have memory nodes: which free addresses their nodes
 * get, what a free comes to that nothing orders, ranges of memsets and copies, trims, changes,
 * child graphs; and more of what a capture forbids. */
#include "graphs.h"

static cudaGraph_t g;
static cudaGraphExec_t x, y;
static void *a, *c, *p;

/* Where the allocations of a chain lie. */
static void *at[8];

/* Makes a graph of nodes one after the other, and returns the last. A step is an allocation of so
 * many MiB, or FREE(i) of the allocation with that number. */
#define FREE(i)    (-1 - (i))
#define CHAIN(...) chain((const int[]){__VA_ARGS__, 0})

static cudaGraphNode_t chain(const int *steps)
{
    cudaGraphNode_t n = NULL;
    int count = 0;
    g = new_graph();
    for (; *steps; steps++)
        n = *steps > 0 ? alloc_node(g, n, (size_t)*steps * MiB, &at[count++])
                       : free_node(g, n, at[FREE(*steps)]);
    return n;
}

/* Which of the free ranges does a node get? */
CASE(fits)
{
    cudaGraphNode_t n, frees[2];

    /* Do two free neighbours become one range? */
    CHAIN(1, 1, 1, FREE(0), FREE(1), 2);
    printf("two neighbours freed, then twice as much: %+lld\n", distance(at[3], at[0]));

    /* Does a node get the smallest free range that fits, when a larger one lies before it? */
    CHAIN(4, 1, 1, 1, FREE(0), FREE(2), 1, 1);
    printf("4 MiB and 1 MiB (at %+lld) freed, then 1 MiB: %+lld, again: %+lld\n",
           distance(at[2], at[0]), distance(at[4], at[0]), distance(at[5], at[0]));

    /* Does a node get the smallest free range that fits, when a larger one lies after it? */
    CHAIN(1, 1, 4, 1, FREE(0), FREE(2), 1, 1);
    printf("1 MiB and 4 MiB (at %+lld) freed, then 1 MiB: %+lld, again: %+lld\n",
           distance(at[2], at[0]), distance(at[4], at[0]), distance(at[5], at[0]));

    /* Is a free range extended when more is wanted, as long as the segment has room? */
    CHAIN(4, FREE(0), 8, FREE(1), 16, FREE(2), 28);
    printf("4 MiB freed, then 8 MiB: %+lld, freed, then 16 MiB: %+lld, freed, then 28 MiB: %+lld\n",
           distance(at[1], at[0]), distance(at[2], at[0]), distance(at[3], at[0]));

    /* Do neighbours become one range when they are freed in branches that join? */
    n = CHAIN(1, 1);
    frees[0] = free_node(g, n, at[0]);
    frees[1] = free_node(g, n, at[1]);
    cudaGraphAddEmptyNode(&n, g, frees, 2);
    alloc_node(g, n, 2 * MiB, &at[2]);
    printf("two neighbours freed in branches that join, then twice as much: %+lld\n",
           distance(at[2], at[0]));

    /* Do branches share what was freed before them? */
    n = CHAIN(3, FREE(0));
    for (int i = 1; i <= 4; i++)
        alloc_node(g, n, MiB, &at[i]);
    printf("3 MiB freed, then four branches of 1 MiB: %+lld %+lld %+lld %+lld\n",
           distance(at[1], at[0]), distance(at[2], at[0]), distance(at[3], at[0]),
           distance(at[4], at[0]));

    /* Is a range of more than one segment extended, and used for less? */
    CHAIN(40, FREE(0), 64, FREE(1), 1);
    printf("40 MiB freed, then 64 MiB: %+lld, freed, then 1 MiB: %+lld\n", distance(at[1], at[0]),
           distance(at[2], at[0]));
}

static void launch_three_times(const char *what)
{
    for (int i = 0; i < 3; i++) {
        RECORD_SYNC(cudaGraphLaunch(x, s), s);
        print_graph_figures(what);
    }
}

/* What becomes of a free that nothing orders after its allocation? */
CASE(unordered_free)
{
    cudaGraphNode_t f;
    g = new_graph();
    alloc_node(g, NULL, 64 * MiB, &a);
    RECORD(cudaGraphAddMemFreeNode(&f, g, NULL, 0, a));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    launch_three_times("a free beside its allocation, launched");
    FIGURES_AFTER(RECORD(cudaDeviceGraphMemTrim(0)), "trimmed");
}

/* What becomes of a free that is ordered before its allocation? */
CASE(free_first)
{
    cudaGraphNode_t n, f;
    g = new_graph();
    n = alloc_node(g, NULL, 64 * MiB, &a);
    RECORD(cudaGraphAddMemFreeNode(&f, g, NULL, 0, a));
    RECORD(cudaGraphAddDependencies(g, &f, &n, NULL, 1));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    launch_three_times("a free before its allocation, launched");
    RECORD(cudaFreeAsync(a, s));
    FIGURES_AFTER(RECORD(cudaDeviceGraphMemTrim(0)), "trimmed");
}

/* ---- ranges ---- */

static int *const nowhere = (int *)0x7000dead0000;
static char pageable[64];

static void print_memset_node(cudaGraphNode_t before, const char *what, void *to, size_t bytes)
{
    cudaGraphNode_t n;
    struct cudaMemsetParams set = memset_params(to, 0, bytes);
    cudaError_t error = cudaGraphAddMemsetNode(&n, g, &before, 1, &set);
    printf("memset node %s: %s\n", what, cudaGetErrorName(error));
}

static void print_copy_node(cudaGraphNode_t before, const char *what, void *to, const void *from,
                            size_t bytes)
{
    cudaGraphNode_t n;
    cudaError_t error =
        cudaGraphAddMemcpyNode1D(&n, g, &before, 1, to, from, bytes, cudaMemcpyDefault);
    printf("copy node %s: %s\n", what, cudaGetErrorName(error));
}

#define CAPTURED(what, call)                                       \
    do {                                                           \
        begin_capture(s, RELAXED);                                 \
        printf("captured %s: %s\n", what, cudaGetErrorName(call)); \
        cudaGetLastError();                                        \
        end_capture(s);                                            \
    } while (0)

CASE(range_codes)
{
    cudaGraphNode_t n;
    void *pool, *gone, *stale;
    cudaMallocAsync(&pool, MiB, s);
    cudaMallocAsync(&stale, MiB, s);
    free_and_wait(stale);
    cudaMalloc(&gone, 64 * MiB);
    cudaFree(gone);
    g = new_graph();
    n = alloc_node(g, NULL, MiB, &a);

    /* Which ranges does a memset node take? */
    print_memset_node(n, "inside", a, MiB);
    print_memset_node(n, "past the end of graph memory", a, MiB + 1);
    print_memset_node(n, "past the step", a, 64 * MiB);
    print_memset_node(n, "past the end of a pool's block", pool, 2 * MiB);
    print_memset_node(n, "past the end of cudaMalloc's", m, 2 * MiB);
    print_memset_node(n, "of a freed pool's block", stale, 4);
    print_memset_node(n, "of freed cudaMalloc's", gone, 4);
    print_memset_node(n, "nowhere", nowhere, 4);
    print_memset_node(n, "in ordinary memory", pageable, 4);
    print_memset_node(n, "in pinned memory", host, 4);
    print_memset_node(n, "past the end of pinned memory", host, 2 * MiB);
    print_memset_node(n, "of no bytes", a, 0);
    print_memset_node(n, "at null", NULL, 4);

    /* Which ranges does a copy node take? */
    print_copy_node(n, "inside", a, m, MiB);
    print_copy_node(n, "past the end of graph memory", a, host, 2 * MiB);
    print_copy_node(n, "past the end of cudaMalloc's", host, m, 2 * MiB);
    print_copy_node(n, "from nowhere", m, nowhere, 4);
    print_copy_node(n, "from a freed pool's block", m, stale, 4);
    print_copy_node(n, "from ordinary memory", m, pageable, 64);
    print_copy_node(n, "of no bytes", m, host, 0);

    /* Which ranges does a captured memset take? */
    CAPTURED("memset past the end of cudaMalloc's", cudaMemsetAsync(m, 0, 2 * MiB, s));
    CAPTURED("memset of a freed pool's block", cudaMemsetAsync(stale, 0, 4, s));
    CAPTURED("memset of freed cudaMalloc's", cudaMemsetAsync(gone, 0, 4, s));
    CAPTURED("memset nowhere", cudaMemsetAsync(nowhere, 0, 4, s));
    CAPTURED("memset in ordinary memory", cudaMemsetAsync(pageable, 0, 4, s));
    CAPTURED("memset at null", cudaMemsetAsync(NULL, 0, 4, s));
    CAPTURED("memset of no bytes", cudaMemsetAsync(m, 0, 0, s));

    /* Which ranges does a captured copy take? */
    CAPTURED("copy past the end of cudaMalloc's",
             cudaMemcpyAsync(host, m, 2 * MiB, cudaMemcpyDefault, s));
    CAPTURED("copy past the end of a pool's block",
             cudaMemcpyAsync(pool, m, 2 * MiB, cudaMemcpyDefault, s));
    CAPTURED("copy from nowhere", cudaMemcpyAsync(m, nowhere, 4, cudaMemcpyDefault, s));
    CAPTURED("copy from a freed pool's block", cudaMemcpyAsync(m, stale, 4, cudaMemcpyDefault, s));
    CAPTURED("copy of no bytes", cudaMemcpyAsync(m, host, 0, cudaMemcpyDefault, s));
    CAPTURED("copy in a wrong direction",
             cudaMemcpyAsync(pageable, m, 4, cudaMemcpyHostToDevice, s));
    CAPTURED("copy of kind 7", cudaMemcpyAsync(m, m, 4, (enum cudaMemcpyKind)7, s));

    /* Which ranges does a captured copy take of memory that the capture allocated? */
    begin_capture(s, RELAXED);
    cudaMallocAsync(&a, MiB, s);
    printf("captured copy past the end of graph memory: %s\n",
           cudaGetErrorName(cudaMemcpyAsync(a, host, 2 * MiB, cudaMemcpyDefault, s)));
    printf("captured copy from inside graph memory: %s\n",
           cudaGetErrorName(cudaMemcpyAsync(host, a, MiB, cudaMemcpyDefault, s)));
    end_capture(s);
}

/* What does a memset of so many bytes come to when its graph runs? It sets `to`, or the graph's own
 * memory where that is NULL. */
static void run_memset(void *to, size_t bytes)
{
    begin_capture(s, RELAXED);
    cudaMallocAsync(&a, MiB, s);
    RECORD(cudaMemsetAsync(to ? to : a, 0, bytes, s));
    cudaFreeAsync(a, s);
    cudaStreamEndCapture(s, &g);
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
    RECORD(cudaStreamSynchronize(s));
}

static void run_memset_of_pool(size_t bytes)
{
    void *pool;
    cudaMallocAsync(&pool, MiB, s);
    run_memset(pool, bytes);
}

CASE(range_in_step) { run_memset(NULL, 2 * MiB); }
CASE(range_past_step) { run_memset(NULL, 64 * MiB); }
CASE(range_of_malloc) { run_memset(m, 64 * MiB); }
CASE(range_of_pool) { run_memset_of_pool(64 * MiB); }
CASE(range_of_pool_in_step) { run_memset_of_pool(2 * MiB); }

/* ---- trims: when does a graph's memory go back? ---- */

static void trim_and_print(const char *what)
{
    cudaDeviceGraphMemTrim(0);
    print_graph_figures(what);
}

#define TRIM_AFTER(call, what) ((void)(call), trim_and_print(what))

static void wait_for_the_device_alone(void) { usleep(200000); }

CASE(trims)
{
    cudaMemPool_t def;

    /* Must the host know that the launch is over, by a query or by a synchronization? */
    x = freeing_graph(64 * MiB);
    cudaGraphLaunch(x, s);
    TRIM_AFTER(wait_for_the_device_alone(), "over, but nobody has synchronised, trimmed");
    cudaGraphLaunch(x, s);
    wait_for_the_device_alone();
    TRIM_AFTER(RECORD(cudaStreamQuery(s)), "over, queried, trimmed");
    TRIM_AFTER(cudaStreamSynchronize(s), "synchronised, trimmed");

    /* Does a trim of the default pool release a graph's memory? */
    cudaDeviceGetDefaultMemPool(&def, 0);
    launch_and_wait(x);
    FIGURES_AFTER(RECORD(cudaMemPoolTrimTo(def, 0)), "cudaMemPoolTrimTo");
    FIGURES_AFTER(cudaMallocAsync(&p, 64 * MiB, s), "64 MiB of the default pool beside it");
    TRIM_AFTER(free_and_wait(p), "trimmed");

    /* What does a trim release while the launch is pending? */
    hold(s);
    TRIM_AFTER(cudaGraphLaunch(x, s), "held back, trimmed");
    open_gate();
    TRIM_AFTER(wait_for_the_device_alone(), "over, trimmed again");
    TRIM_AFTER(cudaStreamSynchronize(s), "synchronised, trimmed again");

    /* What does a trim release while a free of the graph's memory is pending? */
    y = small_graph(64 * MiB, 0, 0, &a, NULL);
    launch_and_wait(y);
    hold(s);
    TRIM_AFTER(cudaFreeAsync(a, s), "its free held back, trimmed");
    open_gate();
    TRIM_AFTER(wait_for_the_device_alone(), "freed, nobody has synchronised, trimmed");
    TRIM_AFTER(cudaStreamSynchronize(s), "synchronised, trimmed");
    launch_and_wait(y);
    TRIM_AFTER(RECORD(cudaFree(a)), "freed by cudaFree, trimmed");

    /* Do the next graphs use the memory of one that was launched in two streams and destroyed? */
    cudaGraphLaunch(x, s);
    FIGURES_AFTER(cudaGraphLaunch(x, t), "launched in two streams");
    cudaDeviceSynchronize();
    FIGURES_AFTER(cudaGraphExecDestroy(x), "synchronised, destroyed");
    x = freeing_graph(16 * MiB);
    FIGURES_AFTER(cudaGraphLaunch(x, s), "16 MiB of another graph");
    cudaStreamSynchronize(s);
    x = freeing_graph(96 * MiB);
    FIGURES_AFTER(cudaGraphLaunch(x, s), "96 MiB of a third");
    TRIM_AFTER(cudaStreamSynchronize(s), "trimmed");

    /* What becomes of the memory of a graph that is destroyed while its launch is pending? */
    x = freeing_graph(64 * MiB);
    hold(s);
    cudaGraphLaunch(x, s);
    TRIM_AFTER(RECORD(cudaGraphExecDestroy(x)), "destroyed while it is held back, trimmed");
    open_gate();
    FIGURES_AFTER(cudaStreamSynchronize(s), "over");
    trim_and_print("trimmed");

    /* Does a graph in another stream use the memory of the first: when an event orders it, while
     * that is pending, when the first is over, when the host has synchronized? */
    x = freeing_graph(64 * MiB);
    y = freeing_graph(64 * MiB);
    cudaGraphLaunch(x, s);
    order(s, t);
    hold(s);
    FIGURES_AFTER(cudaGraphLaunch(y, t), "after an event of the other's stream");
    open_gate();
    cudaDeviceSynchronize();
    cudaDeviceGraphMemTrim(0);

    hold(s);
    cudaGraphLaunch(x, s);
    order(s, t);
    FIGURES_AFTER(cudaGraphLaunch(y, t), "the same, held back");
    open_gate();
    TRIM_AFTER(cudaDeviceSynchronize(), "trimmed");

    cudaGraphLaunch(x, s);
    wait_for_the_device_alone();
    FIGURES_AFTER(cudaGraphLaunch(y, t), "in another stream, over, nobody has synchronised");
    cudaDeviceSynchronize();
    cudaDeviceGraphMemTrim(0);

    launch_and_wait(x);
    FIGURES_AFTER(cudaGraphLaunch(y, t), "in another stream, synchronised");
    TRIM_AFTER(cudaDeviceSynchronize(), "trimmed");
}

/* ---- uploads ---- */

/* What is pending in s, behind a gate, when the call comes. */
enum pending { ONLY_A_HOLD, X, Y, X_AND_Y, X_AND_T_WAITS, UPLOAD_OF_X, PENDING_KINDS };

static void put_pending(enum pending pending)
{
    static const char *const lines[] = {
        "only a hold in s",
        "x launched in s",
        "y launched in s",
        "x and y launched in s",
        "x launched in s, event, t waits for it",
        "x uploaded in s",
    };
    puts(lines[pending]);
    if (pending == X || pending == X_AND_Y || pending == X_AND_T_WAITS)
        cudaGraphLaunch(x, s);
    if (pending == Y || pending == X_AND_Y)
        cudaGraphLaunch(y, s);
    if (pending == X_AND_T_WAITS)
        order(s, t);
    if (pending == UPLOAD_OF_X)
        cudaGraphUpload(x, s);
}

#define UPLOAD(call)                                                          \
    do {                                                                      \
        hold(s);                                                              \
        put_pending(pending);                                                 \
        observe();                                                            \
        cudaError_t result_ = (call);                                         \
        const char *waits_ = wait_in_words(call_waited());                    \
        print_graph_figures("after the call");                                \
        end_observation();                                                    \
        printf("%-60s %-14s %s\n", #call, waits_, cudaGetErrorName(result_)); \
        cudaGetLastError();                                                   \
        RECORD(cudaDeviceSynchronize());                                      \
        print_graph_figures("over");                                          \
        trim_and_print("trimmed");                                            \
    } while (0)

/* Does an upload, or a launch in another stream, wait for what is pending, and which memory does it
 * take? */
CASE(uploads)
{
    x = freeing_graph(64 * MiB);
    y = freeing_graph(64 * MiB);
    for (enum pending pending = ONLY_A_HOLD; pending < PENDING_KINDS; pending++) {
        UPLOAD(cudaGraphUpload(x, s));
        UPLOAD(cudaGraphUpload(x, t));
        UPLOAD(cudaGraphLaunch(x, t));
    }
}

static cudaGraphExec_t graph_without_memory(void)
{
    cudaGraphExec_t made = NULL;
    cudaGraphNode_t n;
    struct cudaMemsetParams set = memset_params(m, 1, 4);
    g = new_graph();
    cudaGraphAddMemsetNode(&n, g, NULL, 0, &set);
    cudaGraphInstantiate(&made, g, 0);
    return made;
}

/* Does an upload wait when the graph has no memory nodes? */
CASE(uploads_without_memory)
{
    x = graph_without_memory();
    y = graph_without_memory();
    for (enum pending pending = ONLY_A_HOLD; pending < PENDING_KINDS; pending++) {
        UPLOAD(cudaGraphUpload(x, s));
        UPLOAD(cudaGraphUpload(x, t));
    }
}

/* What does a launch return for which the device has no memory, while an earlier one is pending? */
CASE(launch_without_memory)
{
    void *most = NULL, *more;
    x = freeing_graph(64 * MiB);
    y = freeing_graph(64 * MiB);
    hold(s);
    RECORD(cudaGraphLaunch(x, s));
    FIGURES_AFTER(RECORD(cudaGraphLaunch(y, s)), "two launches held back");

    /* Less than 2 MiB of the device's memory are left. */
    size_t free_bytes = free_now() / (2 * MiB) * (2 * MiB);
    for (size_t left = 32 * MiB; !most && left < free_bytes; left += 2 * MiB)
        cudaMalloc(&most, free_bytes - left);
    while (cudaMalloc(&more, 2 * MiB) == cudaSuccess)
        ;
    cudaGetLastError();
    FIGURES_AFTER(RECORD(cudaGraphLaunch(x, t)), "a third launch, in another stream");
    FIGURES_AFTER(RECORD(cudaGraphUpload(x, t)), "an upload");
    open_gate();
    FIGURES_AFTER(RECORD(cudaDeviceSynchronize()), "over");
    RECORD(cudaGraphLaunch(x, t));
    FIGURES_AFTER(RECORD(cudaDeviceSynchronize()), "launched again");
}

/* Which memory does a node get that is to be of managed memory? */
CASE(managed)
{
    cudaGraphNode_t n;
    struct cudaMemAllocNodeParams p = {.poolProps = pool_props(MANAGED, DEVICE, 0),
                                       .bytesize = 64 * MiB};
    struct cudaMemsetParams fill;
    g = new_graph();
    RECORD(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &p));
    fill = memset_params(p.dptr, 1, 64 * MiB);
    RECORD(cudaGraphAddMemsetNode(&n, g, &n, 1, &fill));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
    print_graph_figures("64 MiB of managed memory");
    print_pointer(p.dptr, "managed");
    RECORD_SYNC(cudaFreeAsync(p.dptr, s), s);
    trim_and_print("freed, trimmed");
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
    printf("  the host reads %d\n", *(volatile char *)p.dptr);
}

/* ---- changes ---- */

/* A graph of three nodes, one after the other: an allocation, a memset, a free. */
static cudaGraph_t three_nodes(void **address, cudaGraphNode_t n[3], size_t bytes, int value)
{
    cudaGraph_t made = new_graph();
    n[0] = alloc_node(made, NULL, bytes, address);
    struct cudaMemsetParams set = memset_params(*address, value, bytes);
    cudaGraphAddMemsetNode(&n[1], made, &n[0], 1, &set);
    n[2] = free_node(made, n[1], *address);
    return made;
}

CASE(destroyed_nodes)
{
    cudaGraphNode_t n[3], e, k;
    size_t nodes, edges = 9;

    /* Which nodes and edges can be taken from a graph with memory nodes? */
    g = three_nodes(&a, n, MiB, 1);
    RECORD(cudaGraphRemoveDependencies(g, &n[0], &n[1], NULL, 1));
    RECORD(cudaGraphRemoveDependencies(g, &n[1], &n[2], NULL, 1));
    RECORD(cudaGraphDestroyNode(n[1]));
    RECORD(cudaGraphDestroyNode(n[2]));
    RECORD(cudaGraphDestroyNode(n[0]));
    cudaGraphGetNodes(g, NULL, &nodes);
    printf("  nodes %zu\n", nodes);
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD(cudaGraphAddEmptyNode(&e, g, NULL, 0));
    RECORD(cudaGraphDestroyNode(e));
    RECORD(cudaGraphAddDependencies(g, &n[0], &n[2], NULL, 1));
    RECORD(cudaGraphExecDestroy(x));
    RECORD(cudaGraphDestroy(g));

    /* Which nodes and edges can be taken from a graph without memory nodes? */
    g = new_graph();
    cudaGraphAddEmptyNode(&e, g, NULL, 0);
    cudaGraphAddEmptyNode(&k, g, &e, 1);
    RECORD(cudaGraphRemoveDependencies(g, &k, &e, NULL, 1));
    RECORD(cudaGraphRemoveDependencies(g, &e, &k, NULL, 1));
    RECORD(cudaGraphRemoveDependencies(g, &e, &k, NULL, 1));
    RECORD(cudaGraphAddDependencies(g, &e, &k, NULL, 1));
    RECORD(cudaGraphDestroyNode(e));
    cudaGraphGetNodes(g, NULL, &nodes);
    cudaGraphGetEdges(g, NULL, NULL, NULL, &edges);
    printf("  nodes %zu, edges %zu\n", nodes, edges);
    RECORD(cudaGraphDestroyNode(NULL));
    RECORD(cudaGraphRemoveDependencies(g, NULL, NULL, NULL, 0));
}

#define UPDATE(exec, graph)                                                                    \
    do {                                                                                       \
        cudaGraphExecUpdateResultInfo info = {.errorNode = NULL};                              \
        RECORD(cudaGraphExecUpdate(exec, graph, &info));                                       \
        printf("  result %d, node %s\n", (int)info.result, info.errorNode ? "there" : "null"); \
    } while (0)

CASE(updates)
{
    cudaGraphNode_t n[3], k[3] = {NULL}, e = NULL;
    cudaGraph_t same, other;
    struct cudaMemsetParams p;
    struct cudaGraphNodeParams q;
    unsigned on = 9;
    g = three_nodes(&a, n, MiB, 1);
    cudaGraphInstantiate(&x, g, 0);
    same = three_nodes(&c, k, MiB, 2);

    /* Can an executable graph with memory nodes be updated, and its memset be changed? */
    UPDATE(x, same);
    UPDATE(x, g);
    p = memset_params(m, 7, MiB);
    RECORD(cudaGraphExecMemsetNodeSetParams(x, n[1], &p));
    p = memset_params(a, 8, MiB);
    RECORD(cudaGraphExecMemsetNodeSetParams(x, n[1], &p));
    RECORD(cudaGraphMemsetNodeSetParams(n[1], &p));
    RECORD(cudaGraphMemsetNodeGetParams(n[1], &p));
    printf("  value %u width %zu height %zu\n", p.value, p.width, p.height);

    /* Can the nodes of an executable graph with memory nodes be disabled? */
    RECORD(cudaGraphNodeSetEnabled(x, n[1], 0));
    RECORD(cudaGraphNodeGetEnabled(x, n[1], &on));
    printf("  enabled %u\n", on);
    RECORD(cudaGraphNodeSetEnabled(x, n[0], 0));
    RECORD(cudaGraphNodeSetEnabled(x, n[2], 0));
    RECORD(cudaGraphNodeGetEnabled(x, n[0], &on));

    /* Can the parameters of an allocation node and of a free node be changed in an executable
     * graph? */
    memset(&q, 0, sizeof q);
    q.type = cudaGraphNodeTypeMemAlloc;
    q.alloc.poolProps = device_props();
    q.alloc.bytesize = 2 * MiB;
    RECORD(cudaGraphNodeSetParams(n[0], &q));
    RECORD(cudaGraphExecNodeSetParams(x, n[0], &q));
    memset(&q, 0, sizeof q);
    q.type = cudaGraphNodeTypeMemFree;
    q.free.dptr = a;
    RECORD(cudaGraphNodeSetParams(n[2], &q));
    RECORD(cudaGraphExecNodeSetParams(x, n[2], &q));
    RECORD_SYNC(cudaGraphLaunch(x, s), s);

    /* Which updates does a graph without memory nodes take, and does either kind take the other? */
    g = new_graph();
    p = memset_params(m, 1, MiB);
    cudaGraphAddMemsetNode(&e, g, NULL, 0, &p);
    cudaGraphInstantiate(&y, g, 0);
    other = new_graph();
    p = memset_params(m, 2, MiB);
    cudaGraphAddMemsetNode(&k[0], other, NULL, 0, &p);
    UPDATE(y, other);
    cudaGraphAddEmptyNode(&k[1], other, NULL, 0);
    UPDATE(y, other);
    p = memset_params(m, 3, MiB / 2);
    RECORD(cudaGraphExecMemsetNodeSetParams(y, e, &p));
    RECORD(cudaGraphExecMemsetNodeSetParams(y, k[0], &p));
    p = memset_params(m, 3, 2 * MiB);
    RECORD(cudaGraphExecMemsetNodeSetParams(y, e, &p));
    RECORD_SYNC(cudaGraphLaunch(y, s), s);
    UPDATE(y, same);
    UPDATE(x, other);
}

static cudaError_t add_child(cudaGraphNode_t *n, cudaGraph_t into, cudaGraph_t child,
                             enum cudaGraphChildGraphNodeOwnership ownership)
{
    struct cudaGraphNodeParams params;
    memset(&params, 0, sizeof params);
    params.type = cudaGraphNodeTypeGraph;
    params.graph.graph = child;
    params.graph.ownership = ownership;
    return cudaGraphAddNode(n, into, NULL, NULL, 0, &params);
}

CASE(children)
{
    cudaGraphNode_t n[3], c = NULL, e;
    cudaGraph_t child = three_nodes(&a, n, 64 * MiB, 1), parent = new_graph(), plain = new_graph();
    cudaGraph_t in = NULL;
    size_t count = 9;
    cudaGraphAddEmptyNode(&e, plain, NULL, 0);

    /* Can a graph with memory nodes be copied into a parent; what is the copy of one without? */
    RECORD(cudaGraphAddChildGraphNode(&c, parent, NULL, 0, child));
    RECORD(add_child(&c, parent, child, cudaGraphChildGraphOwnershipClone));
    RECORD(cudaGraphAddChildGraphNode(&c, parent, NULL, 0, plain));
    RECORD(cudaGraphChildGraphNodeGetGraph(c, &in));
    printf("  the same graph %d\n", in == plain);
    alloc_node(in, NULL, MiB, &a);
    cudaGraphGetNodes(in, NULL, &count);
    printf("  nodes %zu\n", count);

    /* Can a graph with memory nodes be moved into a parent, and what may be done with it then? */
    RECORD(cudaGraphInstantiate(&x, child, 0));
    RECORD(add_child(&c, parent, child, cudaGraphChildGraphOwnershipMove));
    RECORD(cudaGraphExecDestroy(x));
    RECORD(add_child(&c, parent, child, cudaGraphChildGraphOwnershipMove));
    RECORD(cudaGraphInstantiate(&y, child, 0));
    alloc_node(child, NULL, MiB, &a);
    RECORD(cudaGraphAddEmptyNode(&e, child, NULL, 0));
    RECORD(cudaGraphDestroy(child));
    RECORD(cudaGraphClone(&in, parent));

    /* How much memory does a parent of a graph with memory nodes have when it runs, and when it is
     * destroyed? */
    RECORD(cudaGraphInstantiate(&x, parent, 0));
    RECORD(cudaGraphInstantiate(&y, parent, 0));
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
    print_graph_figures("a child graph with 64 MiB");
    RECORD(cudaGraphDestroyNode(c));
    RECORD(cudaGraphExecDestroy(x));
    TRIM_AFTER(RECORD(cudaGraphDestroy(parent)), "destroyed, trimmed");
}

/* ---- captures ---- */

/* Can a graph be launched into a stream that is captured, or beside it? */
CASE(launch_captured)
{
    cudaGraph_t plain = new_graph();
    cudaGraphNode_t e;
    x = small_graph(MiB, 1, 0, NULL, NULL);
    cudaGraphAddEmptyNode(&e, plain, NULL, 0);
    cudaGraphInstantiate(&y, plain, 0);
    CAPTURE(s, GLOBAL, cudaGraphLaunch(x, s));
    CAPTURE(s, GLOBAL, cudaGraphLaunch(y, s));
    CAPTURE(s, GLOBAL, cudaGraphUpload(x, s));
    CAPTURE(s, GLOBAL, cudaGraphLaunch(x, t));
    CAPTURE(s, GLOBAL, cudaGraphUpload(x, t));
}

CASE(capture_calls)
{
    cudaGraph_t c;
    cudaMemPool_t def, p = shared_pool(0);
    void *mg;
    cudaEvent_t ie;
    enum cudaMemAccessFlags flags;
    struct cudaMemAccessDesc d = {{DEVICE, 0}, cudaMemAccessFlagsProtReadWrite};
    struct cudaMemLocation here = {DEVICE, 0};
    struct cudaMemPoolPtrExportData ed;
    cudaIpcMemHandle_t ih;
    cudaIpcEventHandle_t eh;
    int fd, value;
    cudaGraphNode_t e;
    uint64_t v = 0, zero = 0;
    float ms;
    a = ready_memory(p, 64);
    cudaDeviceGetDefaultMemPool(&def, 0);
    cudaMallocManaged(&mg, MiB, cudaMemAttachGlobal);
    cudaEventCreateWithFlags(&ie, cudaEventInterprocess | cudaEventDisableTiming);
    cudaEventRecord(ev, t);
    cudaEventRecord(ev2, t);
    cudaStreamSynchronize(t);
    cudaGetLastError();

    /* Which calls about pools are refused while another stream is captured? */
    CAPTURE(s, GLOBAL, cudaMallocFromPoolAsync(&mg, 64, p, t));
    CAPTURE(s, GLOBAL, cudaMemPoolGetAccess(&flags, def, &here));
    CAPTURE(s, GLOBAL, cudaMemPoolSetAccess(def, &d, 1));
    CAPTURE(s, GLOBAL, cudaDeviceGetDefaultMemPool(&def, 0));
    CAPTURE(s, GLOBAL, cudaDeviceGetMemPool(&def, 0));
    CAPTURE(s, GLOBAL, cudaDeviceSetMemPool(0, def));
    CAPTURE(s, GLOBAL, cudaMemGetDefaultMemPool(&def, &here, cudaMemAllocationTypePinned));
    CAPTURE(s, GLOBAL, cudaMemGetMemPool(&def, &here, cudaMemAllocationTypePinned));
    CAPTURE(s, GLOBAL, cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, def));

    /* Which calls are refused about what crosses to another process? */
    CAPTURE(s, GLOBAL, cudaMemPoolExportPointer(&ed, a));
    CAPTURE(s, GLOBAL,
            cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    CAPTURE(s, GLOBAL,
            cudaMemPoolImportFromShareableHandle(&def, (void *)(intptr_t)fd,
                                                 cudaMemHandleTypePosixFileDescriptor, 0));
    CAPTURE(s, GLOBAL, cudaMemPoolImportPointer(&a, def, &ed));
    CAPTURE(s, GLOBAL, cudaIpcGetMemHandle(&ih, m));
    CAPTURE(s, GLOBAL, cudaIpcGetEventHandle(&eh, ie));

    /* Which calls about graphs are refused? */
    g = new_graph();
    CAPTURE(s, GLOBAL, cudaGraphCreate(&c, 0));
    CAPTURE(s, GLOBAL, cudaGraphAddEmptyNode(&e, g, NULL, 0));
    CAPTURE(s, GLOBAL, cudaGraphInstantiate(&x, g, 0));
    CAPTURE(s, GLOBAL, cudaGraphLaunch(x, t));
    CAPTURE(s, GLOBAL, cudaGraphUpload(x, t));
    CAPTURE(s, GLOBAL, cudaGraphExecDestroy(x));
    CAPTURE(s, GLOBAL, cudaGraphDestroy(g));
    CAPTURE(s, GLOBAL, cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &v));
    begin_capture(s, GLOBAL);
    record("cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &(uint64_t){ 0 })",
           cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    end_capture(s);

    /* Which are refused about the host's memory, the device, and streams that are not captured? */
    CAPTURE(s, GLOBAL, cudaHostAlloc(&mg, 64, 0));
    CAPTURE(s, GLOBAL, cudaHostRegister(malloc(4096), 4096, 0));
    CAPTURE(s, GLOBAL, cudaLaunchHostFunc(t, nothing, NULL));
    CAPTURE(s, GLOBAL, launch_fill(m, 1, 1, t));
    CAPTURE(s, GLOBAL, cudaEventRecord(ev, t));
    CAPTURE(s, GLOBAL, cudaStreamWaitEvent(t, ev, 0));
    CAPTURE(s, GLOBAL, cudaMemcpyAsync(m, host, 4, cudaMemcpyDefault, t));
    CAPTURE(s, GLOBAL, cudaEventElapsedTime(&ms, ev, ev2));
    CAPTURE(s, GLOBAL, cudaSetDevice(0));
    CAPTURE(s, GLOBAL, cudaDeviceGetAttribute(&value, cudaDevAttrMaxPitch, 0));
    CAPTURE(s, GLOBAL, cudaMemcpyPeer(m, 0, m, 0, 4));
    CAPTURE(s, GLOBAL, cudaMemcpy(host, m, 4, cudaMemcpyDeviceToHost));
    CAPTURE(s, GLOBAL, cudaMemcpy(m, malloc(64), 4, cudaMemcpyDefault));
    CAPTURE(s, GLOBAL, cudaMemcpyAsync(malloc(64), m, 4, cudaMemcpyDefault, t));

    /* What does a stream return whose capture is invalid? */
    begin_capture(s, RELAXED);
    cudaStreamSynchronize(s);
    cudaGetLastError();
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaStreamQuery(s));
    RECORD(cudaStreamBeginCapture(s, RELAXED));
    RECORD(launch_fill(m, 1, 1, s));
    RECORD(cudaMallocAsync(&mg, 64, s));
    end_capture(s);

    /* May the legacy stream be waited for, or allocate, while a blocking one is captured? */
    CAPTURE(b, GLOBAL, cudaStreamSynchronize(0));
    CAPTURE(b, GLOBAL, cudaMallocAsync(&mg, 64, 0));
    CAPTURE(b, RELAXED, cudaMallocAsync(&mg, 64, 0));

    /* May an event of a capture that is over be queried during the next one? */
    cudaEventRecord(ev, s);
    begin_capture(s, GLOBAL);
    cudaEventRecord(ev, s);
    end_capture(s);
    CAPTURE(t, RELAXED, cudaEventQuery(ev));
    CAPTURE(t, GLOBAL, cudaEventQuery(ev));
}

CASE(capture_fork_destroyed)
{
    cudaStream_t u;

    /* May the stream of a fork be destroyed after the join? */
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
    begin_capture(s, GLOBAL);
    order(s, u);
    cudaMemsetAsync(m, 0, 4, u);
    order(u, s);
    RECORD(cudaStreamDestroy(u));
    end_capture(s);

    /* May the stream of a fork be destroyed before the join? */
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
    begin_capture(s, GLOBAL);
    order(s, u);
    cudaMemsetAsync(m, 0, 4, u);
    RECORD(cudaStreamDestroy(u));
    cudaMemsetAsync(m, 0, 4, s);
    end_capture(s);

    /* May the stream be destroyed in which the capture began? */
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
    begin_capture(u, GLOBAL);
    order(u, s);
    cudaMemsetAsync(m, 0, 4, s);
    RECORD(cudaStreamDestroy(u));
    RECORD(cudaMemsetAsync(m, 0, 4, s));
    end_capture(s);
}

/* May the event be destroyed with which a fork began? */
CASE(capture_event_destroyed)
{
    begin_capture(s, GLOBAL);
    cudaMemsetAsync(m, 0, 4, s);
    order(s, t);
    RECORD(cudaEventDestroy(ev));
    cudaMemsetAsync(m, 0, 4, t);
    cudaEventRecord(ev2, t);
    cudaStreamWaitEvent(s, ev2, 0);
    end_capture(s);
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
