/* Records graph memory nodes (sizes, addresses, who shares the memory, result codes) and stream
 * capture (what ends it, what it forbids, forks, its border with other streams). */
#include "graphs.h"

static cudaGraph_t g;
static cudaGraphExec_t x, y;
static void *a;

/* ---- memory ---- */

static void reset_high_marks(void)
{
    uint64_t zero = 0;
    cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero);
    cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero);
}

static void trim_and_print(void) { FIGURES_AFTER(cudaDeviceGraphMemTrim(0), "trimmed"); }

CASE(graph_sizes)
{
    static const size_t sizes[] = {1,           65536,    MiB,      2 * MiB,
                                   2 * MiB + 1, 32 * MiB, 33 * MiB, 64 * MiB};
    uint64_t zero = 0, one = 1, v = 0;

    /* How much memory does a graph take for an allocation of some size, and when does it go
     * back? */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i];
        x = small_graph(size, 1, 0, &a, &g);
        printf("size %zu: address alignment %llu\n", size, alignment_of(a));
        print_graph_figures("instantiated");
        FIGURES_AFTER(cudaGraphLaunch(x, s), "launched");
        FIGURES_AFTER(cudaStreamSynchronize(s), "synchronised");
        FIGURES_AFTER(launch_and_wait(x), "launched again");
        FIGURES_AFTER(cudaGraphExecDestroy(x), "executable graph destroyed");
        FIGURES_AFTER(cudaGraphDestroy(g), "graph destroyed");
        trim_and_print();
        FIGURES_AFTER(reset_high_marks(), "high marks set to 0");
    }

    /* What does a reset of the high marks leave, and can a graph be launched after a trim? */
    x = freeing_graph(64 * MiB);
    launch_and_wait(x);
    FIGURES_AFTER(reset_high_marks(), "high marks set to 0 while 64 MiB are kept");
    FIGURES_AFTER(RECORD(cudaDeviceGraphMemTrim(0)), "trimmed, executable graph alive");
    RECORD(cudaGraphLaunch(x, s));
    FIGURES_AFTER(cudaStreamSynchronize(s), "launched after the trim");

    /* Which attributes of graph memory can be set and read? */
    RECORD(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &one));
    RECORD(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &zero));
    RECORD(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &zero));
    RECORD(cudaDeviceSetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)9, &zero));
    RECORD(cudaDeviceSetGraphMemAttribute(99, cudaGraphMemAttrUsedMemHigh, &zero));
    RECORD(cudaDeviceGetGraphMemAttribute(99, cudaGraphMemAttrUsedMemHigh, &v));
    RECORD(cudaDeviceGetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)9, &v));
    RECORD(cudaDeviceGraphMemTrim(99));
    RECORD(cudaDeviceGraphMemTrim(-1));
}

CASE(graph_addresses)
{
    static const size_t sizes[] = {1, 4096, MiB, 2 * MiB, 33 * MiB};
    void *p, *q, *r, *u;

    /* Where do nodes allocate: beside one another, and where one was freed before? */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i];
        g = new_graph();
        cudaGraphNode_t first = alloc_node(g, NULL, size, &p),
                        second = alloc_node(g, NULL, size, &q);
        cudaGraphNode_t freed = free_node(g, first, p);
        alloc_node(g, freed, size, &r);
        alloc_node(g, second, size, &u);
        printf("size %zu: second at %+lld, after the free of the first %+lld, beside it %+lld\n",
               size, distance(q, p), distance(r, p), distance(u, p));
        cudaGraphDestroy(g);
    }

    /* Which addresses do smaller and larger nodes get after a free? */
    g = new_graph();
    cudaGraphNode_t n = alloc_node(g, NULL, 4 * MiB, &p);
    n = free_node(g, n, p);
    cudaGraphNode_t n2 = alloc_node(g, n, 1 * MiB, &q);
    alloc_node(g, n2, 1 * MiB, &r);
    alloc_node(g, n2, 8 * MiB, &u);
    printf("4 MiB freed, then 1 MiB at %+lld, 1 MiB at %+lld, 8 MiB at %+lld\n", distance(q, p),
           distance(r, p), distance(u, p));
    RECORD(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    FIGURES_AFTER(RECORD(cudaGraphLaunch(x, s)), "1 + 1 + 8 MiB live");
    FIGURES_AFTER(RECORD(cudaGraphLaunch(x, s)), "launched again");
    cudaStreamSynchronize(s);
    struct cudaMemAllocNodeParams got;
    RECORD(cudaGraphMemAllocNodeGetParams(n2, &got));
    printf("  bytes %zu access %zu location %d id %d same address %d\n", got.bytesize,
           got.accessDescCount, (int)got.poolProps.location.type, got.poolProps.location.id,
           got.dptr == q);
}

CASE(graph_sharing)
{
    cudaGraphExec_t x[3];
    cudaStream_t u[3];
    for (int i = 0; i < 3; i++) {
        x[i] = freeing_graph(64 * MiB);
        cudaStreamCreateWithFlags(&u[i], cudaStreamNonBlocking);
    }

    /* Do graphs that are launched in one stream share their memory? */
    for (int i = 0; i < 3; i++) {
        FIGURES_AFTER(cudaGraphLaunch(x[i], s), "in one stream");
    }
    cudaStreamSynchronize(s);
    trim_and_print();
    RECORD(cudaGraphUpload(x[0], s));
    FIGURES_AFTER(cudaStreamSynchronize(s), "uploaded");
    trim_and_print();

    /* Do graphs that are pending in streams of their own share their memory? */
    close_gate();
    for (int i = 0; i < 3; i++) {
        launch_hold(gate, u[i]);
        FIGURES_AFTER(cudaGraphLaunch(x[i], u[i]), "in streams of their own, held back");
    }
    FIGURES_AFTER(cudaDeviceGraphMemTrim(0), "trimmed while they are held back");
    open_gate();
    FIGURES_AFTER(RECORD(cudaDeviceSynchronize()), "over");
    trim_and_print();

    /* What becomes of memory that a graph does not free: at a second launch, a trim, a free, a
     * second free? */
    y = small_graph(64 * MiB, 0, 0, &a, NULL);
    FIGURES_AFTER(RECORD(cudaGraphLaunch(y, s)), "not freed");
    RECORD(cudaGraphLaunch(y, s));
    FIGURES_AFTER(cudaGraphLaunch(x[0], s), "another graph beside it");
    cudaStreamSynchronize(s);
    trim_and_print();
    print_pointer(a, "of a graph");
    FIGURES_AFTER(RECORD(cudaFreeAsync(a, s)), "freed");
    FIGURES_AFTER(cudaStreamSynchronize(s), "synchronised");
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaFree(a));
    trim_and_print();
    print_pointer(a, "freed");

    /* Can a graph that does not free its memory be launched again after cudaFree, and its memory be
     * freed in another stream? */
    RECORD(cudaGraphLaunch(y, s));
    RECORD(cudaFree(a));
    RECORD(cudaGraphLaunch(y, s));
    RECORD_SYNC(cudaFreeAsync(a, t), t);
    RECORD(cudaStreamSynchronize(s));
}

CASE(graph_codes)
{
    void *pool = NULL;
    cudaGraph_t c, h2;
    cudaGraphNode_t f, n, z[4];
    struct cudaMemAllocNodeParams np = {.bytesize = 0};
    size_t count = 4;
    pool = ready_memory(NULL, 64);

    /* Which nodes does a graph with memory nodes take once it is instantiated? */
    x = small_graph(64 * MiB, 1, 0, &a, &g);
    cudaGraphGetNodes(g, z, &count);
    printf("nodes %zu\n", count);
    RECORD(cudaGraphInstantiate(&y, g, 0));
    RECORD(cudaGraphClone(&c, g));
    RECORD(cudaGraphAddMemFreeNode(&n, g, &z[count - 1], 1, a));
    RECORD(cudaGraphCreate(&h2, 0));
    RECORD(cudaGraphAddMemFreeNode(&n, h2, NULL, 0, a));
    RECORD(cudaGraphAddMemFreeNode(&n, g, NULL, 0, pool));
    RECORD(cudaGraphAddMemFreeNode(&n, g, NULL, 0, m));
    RECORD(cudaGraphAddMemFreeNode(&n, g, NULL, 0, (char *)a + 512));
    RECORD(cudaGraphAddMemFreeNode(&n, g, NULL, 0, NULL));
    RECORD(cudaGraphAddEmptyNode(&n, h2, &z[0], 1));
    RECORD(cudaGraphDestroyNode(z[0]));

    /* May calls use a graph's memory before a launch, and after a launch that freed it? */
    RECORD(cudaMemsetAsync(a, 0, 4, s));
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaFree(a));
    print_pointer(a, "before any launch");
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
    print_pointer(a, "after a launch that freed it");
    RECORD(cudaMemsetAsync(a, 0, 4, s));
    RECORD(cudaFreeAsync(a, s));

    /* How often, and with which flags, can a graph with memory nodes be instantiated? */
    RECORD(cudaGraphExecDestroy(x));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD(cudaGraphExecDestroy(x));
    RECORD(cudaGraphInstantiate(&x, g, 16));
    RECORD(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagUpload));
    RECORD(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagDeviceLaunch));
    cudaGraphDestroy(g);
    cudaGraphDestroy(h2);

    /* May a free node come after no other node? */
    g = new_graph();
    alloc_node(g, NULL, 64, &a);
    RECORD(cudaGraphAddMemFreeNode(&f, g, NULL, 0, a));
    RECORD(cudaGraphInstantiate(&x, g, 0));

    /* Which sizes, devices, locations, types and handle types does an allocation node take? */
    g = new_graph();
    RECORD(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np));
    np.poolProps = device_props();
    RECORD(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np));
    np.bytesize = 64;
    np.poolProps.location.id = 99;
    RECORD(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np));
    for (int location = 0; location <= 4; location++)
        for (int type = 1; type <= 2; type++) {
            np.poolProps = pool_props(type, location, 0);
            cudaError_t error = cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np);
            printf("  allocation node type %d location %d: %s\n", type, location,
                   cudaGetErrorName(error));
        }
    np.poolProps = device_props();
    np.bytesize = (size_t)1 << 50;
    RECORD(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np));
    np.bytesize = 64;
    np.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    RECORD(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np));

    /* Which call refuses an allocation that the device has no memory for? */
    np =
        (struct cudaMemAllocNodeParams){.poolProps = device_props(), .bytesize = (size_t)145 << 30};
    g = new_graph();
    RECORD(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD_SYNC(cudaGraphLaunch(x, s), s);

    /* Which dependencies are refused: the same twice, of a node on itself, a cycle? */
    g = new_graph();
    RECORD(cudaGraphAddEmptyNode(&z[0], g, NULL, 0));
    RECORD(cudaGraphAddEmptyNode(&z[1], g, z, 1));
    RECORD(cudaGraphAddDependencies(g, z, z + 1, NULL, 1));
    RECORD(cudaGraphAddDependencies(g, z, z, NULL, 1));
    RECORD(cudaGraphAddDependencies(g, z + 1, z, NULL, 1));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD(cudaGraphCreate(&g, 1));
    RECORD(cudaGraphCreate(NULL, 0));
    RECORD(cudaGraphAddEmptyNode(NULL, g, NULL, 0));
}

CASE(graph_freed_elsewhere)
{
    cudaGraphExec_t k;
    cudaGraphNode_t n;

    /* May another graph free what this one allocates? */
    x = small_graph(64 * MiB, 0, 0, &a, &g);
    cudaGraph_t h2 = new_graph();
    RECORD(cudaGraphAddMemFreeNode(&n, h2, NULL, 0, a));
    RECORD(cudaGraphAddMemFreeNode(&n, g, NULL, 0, a));
    RECORD(cudaGraphInstantiate(&y, h2, 0));
    RECORD(cudaGraphInstantiate(&k, h2, 0));

    /* May the graph that frees be launched before the one that allocates, and twice after it? */
    RECORD_SYNC(cudaGraphLaunch(y, s), s);
    RECORD(cudaGraphLaunch(x, s));
    RECORD_SYNC(cudaGraphLaunch(y, s), s);
    RECORD_SYNC(cudaGraphLaunch(y, s), s);
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaGraphLaunch(x, s));
    RECORD_SYNC(cudaFreeAsync(a, s), s);

    /* Does the memory live on when the graph that allocated it is destroyed? */
    RECORD(cudaGraphLaunch(x, s));
    RECORD(cudaGraphExecDestroy(x));
    RECORD(cudaGraphDestroy(g));
    RECORD(cudaMemsetAsync(a, 1, 4, s));
    RECORD_SYNC(cudaFreeAsync(a, s), s);
    print_graph_figures("all of the owner destroyed and freed");
}

/* How much memory does a graph hold that frees on its next launch? */
CASE(graph_auto_free)
{
    x = small_graph(64 * MiB, 0, cudaGraphInstantiateFlagAutoFreeOnLaunch, &a, &g);
    for (int i = 0; i < 3; i++) {
        FIGURES_AFTER(RECORD(cudaGraphLaunch(x, s)), "launched");
    }
    RECORD(cudaGraphExecDestroy(x));
    RECORD(cudaGraphDestroy(g));
    RECORD_SYNC(launch_add(a, 1, 1, s), s);
    RECORD_SYNC(cudaFreeAsync(a, s), s);
    print_graph_figures("freed");
    FIGURES_AFTER(RECORD(cudaDeviceGraphMemTrim(0)), "trimmed");
}

/* Can a kernel use a graph's memory that was freed, and that was trimmed? */
CASE(graph_kernel_after_trim)
{
    x = small_graph(64 * MiB, 1, 0, &a, NULL);
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
    RECORD_SYNC(launch_fill(a, 1, 1, s), s);
    RECORD(cudaDeviceGraphMemTrim(0));
    RECORD_SYNC(launch_fill(a, 1, 1, s), s);
}

/* Can a kernel use a graph's memory before the first launch? */
CASE(graph_kernel_before_launch)
{
    small_graph(64 * MiB, 1, 0, &a, NULL);
    RECORD_SYNC(launch_fill(a, 1, 1, s), s);
}

/* ---- captures ---- */

static const enum cudaStreamCaptureMode modes[] = {GLOBAL, LOCAL, RELAXED};

/* Which streams can be captured, and may a capture begin or end twice? */
CASE(capture_ends)
{
    RECORD(cudaStreamBeginCapture(0, RELAXED));
    RECORD(cudaStreamBeginCapture(cudaStreamLegacy, RELAXED));
    RECORD(cudaStreamBeginCapture(s, (enum cudaStreamCaptureMode)7));
    RECORD(cudaStreamEndCapture(s, &g));
    RECORD(cudaStreamEndCapture(0, &g));
    CAPTURE(s, GLOBAL, cudaStreamBeginCapture(s, GLOBAL));
    CAPTURE(s, GLOBAL, cudaStreamEndCapture(s, NULL));
    RECORD(cudaStreamBeginCapture(cudaStreamPerThread, GLOBAL));
    end_capture(cudaStreamPerThread);
}

CASE(capture_waiting)
{
    cudaStream_t u;
    for (int i = 0; i < 3; i++) {
        enum cudaStreamCaptureMode mode = modes[i];
        printf("mode %d\n", (int)mode);

        /* May the host wait for a stream, or query one? */
        CAPTURE(s, mode, cudaStreamSynchronize(s));
        CAPTURE(s, mode, cudaStreamQuery(s));
        CAPTURE(s, mode, cudaDeviceSynchronize());
        CAPTURE(s, mode, cudaStreamSynchronize(t));
        CAPTURE(s, mode, cudaStreamQuery(t));
        CAPTURE(s, mode, cudaStreamSynchronize(0));
        CAPTURE(s, mode, cudaStreamQuery(0));

        /* May the host wait for an event, or query one, of another stream or of the capture? */
        cudaEventRecord(ev, t);
        cudaStreamSynchronize(t);
        CAPTURE(s, mode, cudaEventQuery(ev));
        CAPTURE(s, mode, cudaEventSynchronize(ev));
        CAPTURE_AFTER(cudaEventRecord(ev, s), s, mode, cudaEventQuery(ev));
        CAPTURE_AFTER(cudaEventRecord(ev, s), s, mode, cudaEventSynchronize(ev));

        /* May streams be created and destroyed? */
        cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
        begin_capture(s, mode);
        RECORD(cudaStreamCreate(&u));
        RECORD(cudaStreamDestroy(u));
        end_capture(s);
    }
}

CASE(capture_unsafe)
{
    cudaMemPool_t def, made;
    struct cudaMemPoolProps props = device_props();
    struct cudaPointerAttributes pa;
    cudaEvent_t e2;
    void *p, *h2, *pool;
    uint64_t v;
    size_t fr, tot;
    cudaDeviceGetDefaultMemPool(&def, 0);
    made = def; /* where none can be made */
    for (int i = 0; i < 3; i++) {
        enum cudaStreamCaptureMode mode = modes[i];
        printf("mode %d\n", (int)mode);

        /* May memory be allocated and freed without a stream? What was refused is done
         * afterwards. */
        p = h2 = pool = NULL;
        CAPTURE(s, mode, cudaMalloc(&p, 64));
        if (!p)
            cudaMalloc(&p, 64);
        CAPTURE(s, mode, cudaFree(p));
        CAPTURE(s, mode, cudaFree(0));
        CAPTURE(s, mode, cudaMallocHost(&h2, 64));
        if (!h2)
            cudaMallocHost(&h2, 64);
        CAPTURE(s, mode, cudaFreeHost(h2));
        p = NULL;
        CAPTURE(s, mode, cudaMallocManaged(&p, 64, cudaMemAttachGlobal));

        /* May pools be made, read, set and trimmed? */
        v = 0;
        CAPTURE(s, mode, cudaMemGetInfo(&fr, &tot));
        CAPTURE(s, mode, cudaMemPoolTrimTo(def, 0));
        CAPTURE(s, mode, cudaMemPoolGetAttribute(def, cudaMemPoolAttrUsedMemCurrent, &v));
        CAPTURE(s, mode, cudaMemPoolSetAttribute(def, cudaMemPoolAttrReleaseThreshold, &v));
        CAPTURE(s, mode, cudaMemPoolCreate(&made, &props));
        CAPTURE(s, mode, cudaMemPoolDestroy(made));

        /* May other calls be made, and work be put into a stream that is not captured? */
        CAPTURE(s, mode, cudaEventCreate(&e2));
        CAPTURE(s, mode, cudaEventDestroy(e2));
        CAPTURE(s, mode, cudaPointerGetAttributes(&pa, m));
        CAPTURE(s, mode, cudaDeviceGraphMemTrim(0));
        CAPTURE(s, mode, cudaMemcpy(m, host, 4, cudaMemcpyHostToDevice));
        CAPTURE(s, mode, cudaMemset(m, 0, 4));
        CAPTURE(s, mode, cudaMallocAsync(&pool, 64, t));
        CAPTURE(s, mode, cudaFreeAsync(pool, t));
        CAPTURE(s, mode, cudaMemsetAsync(m, 0, 4, t));
    }
}

/* May another thread allocate while the stream is captured? */
static void *thread_malloc(void *unused)
{
    void *p;
    RECORD(cudaMalloc(&p, 64));
    return NULL;
}

/* May another thread put work into the stream that is captured? */
static void *thread_memset(void *unused)
{
    RECORD(cudaMemsetAsync(m, 0, 4, s));
    return NULL;
}

/* May another thread end the capture? */
static void *thread_end(void *unused)
{
    cudaGraph_t g = (cudaGraph_t)1;
    RECORD(cudaStreamEndCapture(s, &g));
    return NULL;
}

static void capture_beside_thread(enum cudaStreamCaptureMode mode, void *(*body)(void *))
{
    pthread_t thread;
    begin_capture(s, mode);
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
    end_capture(s);
}

CASE(capture_threads)
{
    void *p;
    for (int i = 0; i < 3; i++) {
        printf("mode %d\n", (int)modes[i]);
        capture_beside_thread(modes[i], thread_malloc);
        capture_beside_thread(modes[i], thread_memset);
        capture_beside_thread(modes[i], thread_end);
    }

    /* Can a thread change what its own capture forbids? */
    enum cudaStreamCaptureMode mode = RELAXED;
    begin_capture(s, GLOBAL);
    RECORD(cudaThreadExchangeStreamCaptureMode(&mode));
    printf("  was %d\n", (int)mode);
    RECORD(cudaMalloc(&p, 64));
    RECORD(cudaThreadExchangeStreamCaptureMode(&mode));
    end_capture(s);
    mode = (enum cudaStreamCaptureMode)7;
    RECORD(cudaThreadExchangeStreamCaptureMode(&mode));
}

CASE(capture_legacy)
{
    enum cudaStreamCaptureStatus now;

    /* What is the legacy stream's status while a blocking stream is captured? */
    begin_capture(b, RELAXED);
    RECORD(cudaStreamIsCapturing(0, &now));
    RECORD(cudaStreamGetCaptureInfo(0, &now, NULL, NULL, NULL, NULL, NULL));
    end_capture(b);

    /* Which calls that use the legacy stream are refused while a blocking stream is captured? */
    CAPTURE(b, RELAXED, cudaMemsetAsync(m, 0, 4, 0));
    CAPTURE(b, RELAXED, cudaMemset(m, 0, 4));
    CAPTURE(b, RELAXED, cudaMemcpy(m, host, 4, cudaMemcpyHostToDevice));
    CAPTURE(b, RELAXED, cudaStreamSynchronize(0));
    CAPTURE(b, RELAXED, cudaStreamQuery(0));
    CAPTURE(b, RELAXED, cudaEventRecord(ev, 0));
    CAPTURE(b, RELAXED, cudaDeviceSynchronize());
    CAPTURE(b, GLOBAL, cudaMemcpy(m, host, 4, cudaMemcpyHostToDevice));
    CAPTURE(b, RELAXED, launch_fill(m, 1, 1, 0));
    CAPTURE(b, RELAXED, cudaMemsetAsync(m, 0, 4, cudaStreamPerThread));

    /* May the legacy stream wait for a captured event? */
    CAPTURE_AFTER(cudaEventRecord(ev, b), b, RELAXED, cudaStreamWaitEvent(0, ev, 0));
    CAPTURE_AFTER(cudaEventRecord(ev, s), s, RELAXED, cudaStreamWaitEvent(0, ev, 0));
    CAPTURE(s, RELAXED, cudaMemsetAsync(m, 0, 4, 0));
    CAPTURE(s, RELAXED, cudaMemcpy(m, host, 4, cudaMemcpyHostToDevice));
}

/* Begins a capture of s and records the event with which t joins it. */
static void begin_fork(void)
{
    begin_capture(s, GLOBAL);
    cudaMemsetAsync(m, 0, 4, s);
    cudaEventRecord(ev, s);
}

/* Can it end when a fork with work was not joined, was joined, or has more work after the join? */
static void fork_with_work(int joined, int more, const char *what)
{
    begin_fork();
    cudaStreamWaitEvent(t, ev, 0);
    cudaMemsetAsync(m, 0, 4, t);
    if (joined)
        order(t, s);
    if (more)
        cudaMemsetAsync(m, 0, 4, t);
    puts(what);
    end_capture(s);
}

CASE(capture_forks)
{
    /* Can a capture end when a fork without work was not joined? */
    begin_fork();
    RECORD(cudaStreamWaitEvent(t, ev, 0));
    end_capture(s);

    fork_with_work(0, 0, "fork with work, not joined");
    fork_with_work(1, 0, "joined");
    fork_with_work(1, 1, "joined, then more work in the fork");

    /* May the stream of a fork end the capture? */
    g = (cudaGraph_t)1;
    begin_capture(s, GLOBAL);
    order(s, t);
    RECORD(cudaStreamEndCapture(t, &g));
    printf("  graph null %d\n", g == NULL);
    end_capture(s);

    /* May the host wait for the stream of a fork? */
    CAPTURE_AFTER(order(s, t), s, GLOBAL, cudaStreamSynchronize(t));

    /* May a capture begin in the stream of a fork? */
    begin_capture(s, GLOBAL);
    order(s, t);
    RECORD(cudaStreamBeginCapture(t, GLOBAL));
    end_capture(s);
}

CASE(capture_borders)
{
    cudaEvent_t fresh;
    float ms;

    /* Which events may a captured stream wait for, and which record? */
    cudaEventCreate(&fresh);
    cudaEventRecord(ev, t);
    cudaStreamSynchronize(t);
    CAPTURE(s, GLOBAL, cudaStreamWaitEvent(s, fresh, 0));
    CAPTURE(s, GLOBAL, cudaStreamWaitEvent(s, ev, 0));
    CAPTURE(s, GLOBAL, cudaStreamWaitEvent(s, ev, cudaEventWaitExternal));
    CAPTURE(s, GLOBAL, cudaEventRecordWithFlags(ev2, s, cudaEventRecordExternal));

    /* May one capture wait for another? */
    begin_capture(s, GLOBAL);
    begin_capture(t, GLOBAL);
    cudaEventRecord(ev, s);
    RECORD(cudaStreamWaitEvent(t, ev, 0));
    end_capture(s);
    end_capture(t);

    /* What does a capture that is invalid still take? */
    begin_capture(s, GLOBAL);
    cudaStreamSynchronize(s);
    cudaGetLastError();
    RECORD(cudaMemsetAsync(m, 0, 4, s));
    RECORD_SYNC(cudaEventRecord(ev2, s), s);
    RECORD(cudaStreamWaitEvent(t, ev2, 0));
    end_capture(s);

    /* What do calls return for an event of a capture that is over? */
    begin_capture(s, GLOBAL);
    cudaEventRecord(ev, s);
    end_capture(s);
    RECORD(cudaEventQuery(ev));
    RECORD(cudaEventSynchronize(ev));
    RECORD(cudaStreamWaitEvent(t, ev, 0));
    RECORD(cudaEventElapsedTime(&ms, ev, ev));
    CAPTURE(s, GLOBAL, cudaStreamWaitEvent(s, ev, 0));
    RECORD(cudaEventRecord(ev, t));
    RECORD(cudaEventSynchronize(ev));

    /* May another stream record a captured event during the capture, and has it a time then? */
    begin_capture(s, RELAXED);
    cudaEventRecord(ev, s);
    RECORD(cudaEventRecord(ev, t));
    RECORD(cudaEventQuery(ev));
    end_capture(s);
    CAPTURE_AFTER(cudaEventRecord(ev, s), s, RELAXED, cudaEventElapsedTime(&ms, ev, ev));
}

CASE(capture_memory)
{
    void *pool = NULL, *mg, *outer = NULL;
    struct cudaMemLocation d = {DEVICE, 0};
    cudaMemPool_t hp = make_pool(PINNED, HOST, 0);
    cudaMemPool_t mp = make_pool(MANAGED, DEVICE, 0);
    pool = ready_memory(NULL, MiB);
    cudaMallocManaged(&mg, MiB, cudaMemAttachGlobal);

    /* Which allocations, frees and uses of memory are refused in a capture? */
    CAPTURE(s, GLOBAL, cudaMallocAsync(&a, 0, s));
    CAPTURE(s, GLOBAL, cudaMallocAsync(NULL, 64, s));
    CAPTURE(s, GLOBAL, cudaMallocFromPoolAsync(&a, 64, hp, s));
    CAPTURE(s, GLOBAL, cudaMallocFromPoolAsync(&a, 64, mp, s));
    CAPTURE(s, GLOBAL, cudaMallocFromPoolAsync(&a, 64, NULL, s));
    CAPTURE(s, GLOBAL, cudaMallocAsync(&a, (size_t)1 << 50, s));
    CAPTURE(s, GLOBAL, cudaFreeAsync(pool, s));
    CAPTURE(s, GLOBAL, cudaFreeAsync(m, s));
    CAPTURE(s, GLOBAL, cudaFreeAsync(NULL, s));
    CAPTURE(s, GLOBAL, cudaMemsetAsync(pool, 0, 2 * MiB, s));
    CAPTURE(s, GLOBAL, cudaMemPrefetchAsync(mg, MiB, d, 0, s));

    /* May memory that the capture allocated be used past its end, freed inside, or twice? */
    a = NULL;
    begin_capture(s, GLOBAL);
    cudaMallocAsync(&a, MiB, s);
    RECORD(cudaMemsetAsync(a, 0, MiB, s));
    RECORD(cudaMemsetAsync(a, 0, 2 * MiB, s));
    RECORD(cudaMemsetAsync(a, 0, 64 * MiB, s));
    print_pointer(a, "captured");
    RECORD(cudaFreeAsync((char *)a + 512, s));
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaMemsetAsync(a, 0, 4, s));
    end_capture(s);

    /* May a stream that is not captured use and free memory that the capture allocated? */
    a = NULL;
    begin_capture(s, GLOBAL);
    cudaMallocAsync(&a, MiB, s);
    RECORD(cudaMemsetAsync(a, 0, 4, t));
    RECORD(cudaFreeAsync(a, t));
    end_capture(s);

    /* May another capture use and free memory that the first capture allocated? */
    begin_capture(s, GLOBAL);
    cudaMallocAsync(&outer, MiB, s);
    end_capture(s);
    begin_capture(t, GLOBAL);
    RECORD(cudaMemsetAsync(outer, 0, 4, t));
    RECORD(cudaFreeAsync(outer, t));
    end_capture(t);
}

CASE(capture_destroyed)
{
    cudaStream_t u;
    enum cudaStreamCaptureStatus now;
    const cudaGraphNode_t *tips;
    const cudaGraphEdgeData *data;
    size_t count = 77;
    unsigned long long id = 0;

    /* What does cudaStreamGetCaptureInfo return, and may the dependencies be set? */
    begin_capture(s, GLOBAL);
    cudaMemsetAsync(m, 0, 4, s);
    RECORD(cudaStreamGetCaptureInfo(s, &now, &id, &g, &tips, &data, &count));
    printf("  status %d tips %zu data %s\n", (int)now, count, data ? "there" : "null");
    RECORD(cudaStreamGetCaptureInfo(s, NULL, NULL, NULL, NULL, NULL, NULL));
    RECORD(cudaStreamUpdateCaptureDependencies(s, NULL, NULL, 0, cudaStreamSetCaptureDependencies));
    cudaMemsetAsync(m, 0, 4, s);
    end_capture(s);
    RECORD(cudaStreamUpdateCaptureDependencies(s, NULL, NULL, 0, 0));

    /* May a stream be destroyed while it is captured? */
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
    begin_capture(u, RELAXED);
    RECORD(cudaStreamDestroy(u));
    puts("destroyed");
    end_capture(u);
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
