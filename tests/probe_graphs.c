/* Asks a real device about graph memory nodes and stream capture (probe_cases.h says how). */
#define _GNU_SOURCE
#include "probe_graph_cases.h"

/* ---- graph memory ---- */

static void graph_sizes(void)
{
    static const size_t sizes[] = { 1, 65536, MiB, 2 * MiB, 2 * MiB + 1, 32 * MiB, 33 * MiB, 64 * MiB };
    uint64_t zero = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *a;
        cudaGraph_t g;
        cudaGraphExec_t x = small(sizes[i], 1, 0, &a, &g);
        printf("size %zu: address alignment %llu\n", sizes[i], (unsigned long long)((uintptr_t)a & -(uintptr_t)a));
        graph_figures("instantiated"); cudaGraphLaunch(x, s); graph_figures("launched"); cudaStreamSynchronize(s); graph_figures("synchronised"); cudaGraphLaunch(x, s); cudaStreamSynchronize(s); graph_figures("launched again");
        cudaGraphExecDestroy(x); graph_figures("executable graph destroyed"); cudaGraphDestroy(g); graph_figures("graph destroyed"); cudaDeviceGraphMemTrim(0); graph_figures("trimmed");
        cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero); cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero); graph_figures("high marks set to 0");
    }
    cudaGraphExec_t x = small(64 * MiB, 1, 0, NULL, NULL);
    cudaGraphLaunch(x, s); cudaStreamSynchronize(s); cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero); cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero); graph_figures("high marks set to 0 while 64 MiB are kept");
    ASK(cudaDeviceGraphMemTrim(0)); graph_figures("trimmed, executable graph alive"); ASK(cudaGraphLaunch(x, s)); cudaStreamSynchronize(s); graph_figures("launched after the trim");
    uint64_t one = 1, v = 0;
    ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &one)); ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &zero)); ASK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &zero)); ASK(cudaDeviceSetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)9, &zero)); ASK(cudaDeviceSetGraphMemAttribute(99, cudaGraphMemAttrUsedMemHigh, &zero)); ASK(cudaDeviceGetGraphMemAttribute(99, cudaGraphMemAttrUsedMemHigh, &v)); ASK(cudaDeviceGetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)9, &v)); ASK(cudaDeviceGraphMemTrim(99)); ASK(cudaDeviceGraphMemTrim(-1));
}

static void graph_addresses(void)
{
    cudaGraph_t g;
    cudaGraphNode_t n1, n2, f1, n3;
    void *p, *q, *r, *u;
    static const size_t sizes[] = { 1, 4096, MiB, 2 * MiB, 33 * MiB };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cudaGraphCreate(&g, 0);
        n1 = alloc_node(g, NULL, sizes[i], &p); n2 = alloc_node(g, NULL, sizes[i], &q); f1 = free_node(g, n1, p); n3 = alloc_node(g, f1, sizes[i], &r); alloc_node(g, n2, sizes[i], &u); (void)n3;
        printf("size %zu: second at %+lld, after the free of the first %+lld, beside it %+lld\n", sizes[i], (long long)((char *)q - (char *)p), (long long)((char *)r - (char *)p), (long long)((char *)u - (char *)p));
        cudaGraphDestroy(g);
    }
    cudaGraphCreate(&g, 0);
    n1 = alloc_node(g, NULL, 4 * MiB, &p); f1 = free_node(g, n1, p); n2 = alloc_node(g, f1, 1 * MiB, &q); alloc_node(g, n2, 1 * MiB, &r); alloc_node(g, n2, 8 * MiB, &u);
    printf("4 MiB freed, then 1 MiB at %+lld, 1 MiB at %+lld, 8 MiB at %+lld\n", (long long)((char *)q - (char *)p), (long long)((char *)r - (char *)p), (long long)((char *)u - (char *)p));
    cudaGraphExec_t x;
    ASK(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagAutoFreeOnLaunch)); ASK(cudaGraphLaunch(x, s)); graph_figures("1 + 1 + 8 MiB live"); ASK(cudaGraphLaunch(x, s)); graph_figures("launched again"); cudaStreamSynchronize(s);
    struct cudaMemAllocNodeParams got;
    ASK(cudaGraphMemAllocNodeGetParams(n2, &got)); printf("  bytes %zu access %zu location %d id %d same address %d\n", got.bytesize, got.accessDescCount, (int)got.poolProps.location.type, got.poolProps.location.id, got.dptr == q);
}

static void graph_sharing(void)
{
    cudaGraphExec_t x[3], y;
    void *a;
    cudaStream_t u[3];
    for (int i = 0; i < 3; i++) { x[i] = small(64 * MiB, 1, 0, NULL, NULL); cudaStreamCreateWithFlags(&u[i], cudaStreamNonBlocking); }
    for (int i = 0; i < 3; i++) { cudaGraphLaunch(x[i], s); graph_figures("in one stream"); }
    cudaStreamSynchronize(s); cudaDeviceGraphMemTrim(0); graph_figures("trimmed"); ASK(cudaGraphUpload(x[0], s)); cudaStreamSynchronize(s); graph_figures("uploaded"); cudaDeviceGraphMemTrim(0); graph_figures("trimmed");
    *gate = 0;
    for (int i = 0; i < 3; i++) { launch_hold(gate, u[i]); cudaGraphLaunch(x[i], u[i]); graph_figures("in streams of their own, held back"); }
    cudaDeviceGraphMemTrim(0); graph_figures("trimmed while they are held back"); *gate = 1; ASK(cudaDeviceSynchronize()); graph_figures("over"); cudaDeviceGraphMemTrim(0); graph_figures("trimmed");
    y = small(64 * MiB, 0, 0, &a, NULL);
    ASK(cudaGraphLaunch(y, s)); graph_figures("not freed"); ASK(cudaGraphLaunch(y, s)); cudaGraphLaunch(x[0], s); graph_figures("another graph beside it"); cudaStreamSynchronize(s); cudaDeviceGraphMemTrim(0); graph_figures("trimmed"); pointer(a, "of a graph"); ASK(cudaFreeAsync(a, s)); graph_figures("freed"); cudaStreamSynchronize(s); graph_figures("synchronised"); ASK(cudaFreeAsync(a, s)); ASK(cudaFree(a)); cudaDeviceGraphMemTrim(0); graph_figures("trimmed"); pointer(a, "freed");
    ASK(cudaGraphLaunch(y, s)); ASK(cudaFree(a)); ASK(cudaGraphLaunch(y, s)); ASK(cudaFreeAsync(a, t)); ASK(cudaStreamSynchronize(t)); ASK(cudaStreamSynchronize(s));
}

static void graph_codes(void)
{
    cudaGraph_t g, h2, c;
    cudaGraphExec_t x, y;
    cudaGraphNode_t n, f, z[4];
    void *a, *pool = NULL, *p;
    struct cudaMemAllocNodeParams np;
    cudaMallocAsync(&pool, 64, s); cudaStreamSynchronize(s);
    x = small(64 * MiB, 1, 0, &a, &g);
    size_t count = 4;
    cudaGraphGetNodes(g, z, &count); printf("nodes %zu\n", count);
    ASK(cudaGraphInstantiate(&y, g, 0)); ASK(cudaGraphClone(&c, g)); ASK(cudaGraphAddMemFreeNode(&n, g, &z[count - 1], 1, a)); ASK(cudaGraphCreate(&h2, 0)); ASK(cudaGraphAddMemFreeNode(&n, h2, NULL, 0, a)); ASK(cudaGraphAddMemFreeNode(&n, g, NULL, 0, pool)); ASK(cudaGraphAddMemFreeNode(&n, g, NULL, 0, m)); ASK(cudaGraphAddMemFreeNode(&n, g, NULL, 0, (char *)a + 512)); ASK(cudaGraphAddMemFreeNode(&n, g, NULL, 0, NULL)); ASK(cudaGraphAddEmptyNode(&n, h2, &z[0], 1)); ASK(cudaGraphDestroyNode(z[0]));
    ASK(cudaMemsetAsync(a, 0, 4, s)); ASK(cudaFreeAsync(a, s)); ASK(cudaFree(a)); pointer(a, "before any launch"); ASK(cudaGraphLaunch(x, s)); ASK(cudaStreamSynchronize(s)); pointer(a, "after a launch that freed it"); ASK(cudaMemsetAsync(a, 0, 4, s)); ASK(cudaFreeAsync(a, s));
    ASK(cudaGraphExecDestroy(x)); ASK(cudaGraphInstantiate(&x, g, 0)); ASK(cudaGraphExecDestroy(x)); ASK(cudaGraphInstantiate(&x, g, 16)); ASK(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagUpload)); ASK(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagDeviceLaunch));
    cudaGraphDestroy(g); cudaGraphDestroy(h2);
    cudaGraphCreate(&g, 0); alloc_node(g, NULL, 64, &a); ASK(cudaGraphAddMemFreeNode(&f, g, NULL, 0, a)); ASK(cudaGraphInstantiate(&x, g, 0));
    cudaGraphCreate(&g, 0); memset(&np, 0, sizeof np); ASK(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np)); np.poolProps = props_of(1, 1, 0); ASK(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np)); np.bytesize = 64; np.poolProps.location.id = 99; ASK(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np));
    for (int location = 0; location <= 4; location++) for (int type = 1; type <= 2; type++) { np.poolProps = props_of(type, location, 0); cudaError_t e = cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np); printf("  allocation node type %d location %d: %s\n", type, location, cudaGetErrorName(e)); }
    np.poolProps = props_of(1, 1, 0); np.bytesize = (size_t)1 << 50; ASK(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np)); np.bytesize = 64; np.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor; ASK(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np));
    np.poolProps = props_of(1, 1, 0); np.bytesize = (size_t)145 << 30; cudaGraphCreate(&g, 0); ASK(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &np)); ASK(cudaGraphInstantiate(&x, g, 0)); ASK(cudaGraphLaunch(x, s)); ASK(cudaStreamSynchronize(s));
    cudaGraphCreate(&g, 0); ASK(cudaGraphAddEmptyNode(&z[0], g, NULL, 0)); ASK(cudaGraphAddEmptyNode(&z[1], g, z, 1)); ASK(cudaGraphAddDependencies(g, z, z + 1, NULL, 1)); ASK(cudaGraphAddDependencies(g, z, z, NULL, 1)); ASK(cudaGraphAddDependencies(g, z + 1, z, NULL, 1)); ASK(cudaGraphInstantiate(&x, g, 0));
    ASK(cudaGraphCreate(&g, 1)); ASK(cudaGraphCreate(NULL, 0)); ASK(cudaGraphAddEmptyNode(NULL, g, NULL, 0)); (void)p;
}

static void graph_freed_elsewhere(void)
{
    cudaGraph_t g, h2;
    cudaGraphExec_t x, y, k;
    cudaGraphNode_t n;
    void *a;
    x = small(64 * MiB, 0, 0, &a, &g);
    cudaGraphCreate(&h2, 0); ASK(cudaGraphAddMemFreeNode(&n, h2, NULL, 0, a)); ASK(cudaGraphAddMemFreeNode(&n, g, NULL, 0, a)); ASK(cudaGraphInstantiate(&y, h2, 0)); ASK(cudaGraphInstantiate(&k, h2, 0));
    ASK(cudaGraphLaunch(y, s)); ASK(cudaStreamSynchronize(s)); ASK(cudaGraphLaunch(x, s)); ASK(cudaGraphLaunch(y, s)); ASK(cudaStreamSynchronize(s)); ASK(cudaGraphLaunch(y, s)); ASK(cudaStreamSynchronize(s)); ASK(cudaFreeAsync(a, s)); ASK(cudaGraphLaunch(x, s)); ASK(cudaFreeAsync(a, s)); ASK(cudaStreamSynchronize(s));
    ASK(cudaGraphLaunch(x, s)); ASK(cudaGraphExecDestroy(x)); ASK(cudaGraphDestroy(g)); ASK(cudaMemsetAsync(a, 1, 4, s)); ASK(cudaFreeAsync(a, s)); ASK(cudaStreamSynchronize(s)); graph_figures("all of the owner destroyed and freed");
}

static void graph_auto_free(void)
{
    void *a;
    cudaGraph_t g;
    cudaGraphExec_t x = small(64 * MiB, 0, cudaGraphInstantiateFlagAutoFreeOnLaunch, &a, &g);
    for (int i = 0; i < 3; i++) { ASK(cudaGraphLaunch(x, s)); graph_figures("launched"); }
    ASK(cudaGraphExecDestroy(x)); ASK(cudaGraphDestroy(g)); ASK(launch_add(a, 1, 1, s)); ASK(cudaStreamSynchronize(s)); ASK(cudaFreeAsync(a, s)); ASK(cudaStreamSynchronize(s)); graph_figures("freed"); ASK(cudaDeviceGraphMemTrim(0)); graph_figures("trimmed");
}

static void graph_kernel_after_trim(void)
{
    void *a;
    cudaGraphExec_t x = small(64 * MiB, 1, 0, &a, NULL);
    ASK(cudaGraphLaunch(x, s)); ASK(cudaStreamSynchronize(s)); ASK(launch_fill(a, 1, 1, s)); ASK(cudaStreamSynchronize(s)); ASK(cudaDeviceGraphMemTrim(0)); ASK(launch_fill(a, 1, 1, s)); ASK(cudaStreamSynchronize(s));
}

static void graph_kernel_before_launch(void)
{
    void *a;
    small(64 * MiB, 1, 0, &a, NULL);
    ASK(launch_fill(a, 1, 1, s)); ASK(cudaStreamSynchronize(s));
}

/* ---- capture ---- */

static void capture_ends(void)
{
    cudaGraph_t g;
    ASK(cudaStreamBeginCapture(0, RELAXED)); ASK(cudaStreamBeginCapture(cudaStreamLegacy, RELAXED)); ASK(cudaStreamBeginCapture(s, (enum cudaStreamCaptureMode)7)); ASK(cudaStreamEndCapture(s, &g)); ASK(cudaStreamEndCapture(0, &g));
    CAPTURE(s, GLOBAL, cudaStreamBeginCapture(s, GLOBAL)); CAPTURE(s, GLOBAL, cudaStreamEndCapture(s, NULL)); ASK(cudaStreamBeginCapture(cudaStreamPerThread, GLOBAL)); end(cudaStreamPerThread);
}

static void capture_waiting(void)
{
    static const enum cudaStreamCaptureMode modes[] = { GLOBAL, LOCAL, RELAXED };
    cudaStream_t u;
    for (int i = 0; i < 3; i++) {
        printf("mode %d\n", (int)modes[i]);
        CAPTURE(s, modes[i], cudaStreamSynchronize(s)); CAPTURE(s, modes[i], cudaStreamQuery(s)); CAPTURE(s, modes[i], cudaDeviceSynchronize()); CAPTURE(s, modes[i], cudaStreamSynchronize(t)); CAPTURE(s, modes[i], cudaStreamQuery(t)); CAPTURE(s, modes[i], cudaStreamSynchronize(0)); CAPTURE(s, modes[i], cudaStreamQuery(0));
        cudaEventRecord(ev, t); cudaStreamSynchronize(t); CAPTURE(s, modes[i], cudaEventQuery(ev)); CAPTURE(s, modes[i], cudaEventSynchronize(ev)); begin(s, modes[i]); cudaEventRecord(ev, s); ASK(cudaEventQuery(ev)); end(s); begin(s, modes[i]); cudaEventRecord(ev, s); ASK(cudaEventSynchronize(ev)); end(s);
        cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking); begin(s, modes[i]); ASK(cudaStreamCreate(&u)); ASK(cudaStreamDestroy(u)); end(s);
    }
}

static void capture_unsafe(void)
{
    static const enum cudaStreamCaptureMode modes[] = { GLOBAL, LOCAL, RELAXED };
    void *p = NULL, *h2 = NULL, *pool = NULL;
    cudaMemPool_t def, made;
    cudaEvent_t e2;
    size_t fr, tot;
    uint64_t v = 0;
    struct cudaPointerAttributes pa;
    struct cudaMemPoolProps props = props_of(1, 1, 0);
    cudaDeviceGetDefaultMemPool(&def, 0);
    for (int i = 0; i < 3; i++) {
        printf("mode %d\n", (int)modes[i]);
        p = NULL; CAPTURE(s, modes[i], cudaMalloc(&p, 64)); if (!p) cudaMalloc(&p, 64);
        CAPTURE(s, modes[i], cudaFree(p)); CAPTURE(s, modes[i], cudaFree(0)); h2 = NULL; CAPTURE(s, modes[i], cudaMallocHost(&h2, 64)); if (!h2) cudaMallocHost(&h2, 64);
        CAPTURE(s, modes[i], cudaFreeHost(h2)); p = NULL; CAPTURE(s, modes[i], cudaMallocManaged(&p, 64, cudaMemAttachGlobal)); CAPTURE(s, modes[i], cudaMemGetInfo(&fr, &tot)); CAPTURE(s, modes[i], cudaMemPoolTrimTo(def, 0)); CAPTURE(s, modes[i], cudaMemPoolGetAttribute(def, cudaMemPoolAttrUsedMemCurrent, &v)); CAPTURE(s, modes[i], cudaMemPoolSetAttribute(def, cudaMemPoolAttrReleaseThreshold, &v));
        CAPTURE(s, modes[i], cudaMemPoolCreate(&made, &props)); CAPTURE(s, modes[i], cudaMemPoolDestroy(made)); CAPTURE(s, modes[i], cudaEventCreate(&e2)); CAPTURE(s, modes[i], cudaEventDestroy(e2)); CAPTURE(s, modes[i], cudaPointerGetAttributes(&pa, m)); CAPTURE(s, modes[i], cudaDeviceGraphMemTrim(0)); CAPTURE(s, modes[i], cudaMemcpy(m, host, 4, cudaMemcpyHostToDevice)); CAPTURE(s, modes[i], cudaMemset(m, 0, 4)); CAPTURE(s, modes[i], cudaMallocAsync(&pool, 64, t)); CAPTURE(s, modes[i], cudaFreeAsync(pool, t)); CAPTURE(s, modes[i], cudaMemsetAsync(m, 0, 4, t));
    }
}

static void *thread_malloc(void *unused) { void *p; (void)unused; ASK(cudaMalloc(&p, 64)); return NULL; }
static void *thread_end(void *unused) { cudaGraph_t g = (cudaGraph_t)1; (void)unused; ASK(cudaStreamEndCapture(s, &g)); return NULL; }
static void *thread_memset(void *unused) { (void)unused; ASK(cudaMemsetAsync(m, 0, 4, s)); return NULL; }
static void in_thread(void *(*body)(void *)) { pthread_t th; pthread_create(&th, NULL, body, NULL); pthread_join(th, NULL); }

static void capture_threads(void)
{
    static const enum cudaStreamCaptureMode modes[] = { GLOBAL, LOCAL, RELAXED };
    for (int i = 0; i < 3; i++) {
        printf("mode %d\n", (int)modes[i]);
        begin(s, modes[i]); in_thread(thread_malloc); end(s); begin(s, modes[i]); in_thread(thread_memset); end(s); begin(s, modes[i]); in_thread(thread_end); end(s);
    }
    enum cudaStreamCaptureMode mode = RELAXED;
    begin(s, GLOBAL); ASK(cudaThreadExchangeStreamCaptureMode(&mode)); printf("  was %d\n", (int)mode); void *p; ASK(cudaMalloc(&p, 64)); ASK(cudaThreadExchangeStreamCaptureMode(&mode)); end(s); mode = (enum cudaStreamCaptureMode)7; ASK(cudaThreadExchangeStreamCaptureMode(&mode));
}

static void capture_legacy(void)
{
    enum cudaStreamCaptureStatus now;
    begin(b, RELAXED); ASK(cudaStreamIsCapturing(0, &now)); ASK(cudaStreamGetCaptureInfo(0, &now, NULL, NULL, NULL, NULL, NULL)); end(b);
    CAPTURE(b, RELAXED, cudaMemsetAsync(m, 0, 4, 0)); CAPTURE(b, RELAXED, cudaMemset(m, 0, 4)); CAPTURE(b, RELAXED, cudaMemcpy(m, host, 4, cudaMemcpyHostToDevice)); CAPTURE(b, RELAXED, cudaStreamSynchronize(0)); CAPTURE(b, RELAXED, cudaStreamQuery(0)); CAPTURE(b, RELAXED, cudaEventRecord(ev, 0)); CAPTURE(b, RELAXED, cudaDeviceSynchronize()); CAPTURE(b, GLOBAL, cudaMemcpy(m, host, 4, cudaMemcpyHostToDevice)); CAPTURE(b, RELAXED, launch_fill(m, 1, 1, 0)); CAPTURE(b, RELAXED, cudaMemsetAsync(m, 0, 4, cudaStreamPerThread));
    begin(b, RELAXED); cudaEventRecord(ev, b); ASK(cudaStreamWaitEvent(0, ev, 0)); end(b); begin(s, RELAXED); cudaEventRecord(ev, s); ASK(cudaStreamWaitEvent(0, ev, 0)); end(s); CAPTURE(s, RELAXED, cudaMemsetAsync(m, 0, 4, 0)); CAPTURE(s, RELAXED, cudaMemcpy(m, host, 4, cudaMemcpyHostToDevice));
}

static void capture_forks(void)
{
    cudaGraph_t g = (cudaGraph_t)1;
    begin(s, GLOBAL); cudaMemsetAsync(m, 0, 4, s); cudaEventRecord(ev, s); ASK(cudaStreamWaitEvent(t, ev, 0)); end(s);
    begin(s, GLOBAL); cudaMemsetAsync(m, 0, 4, s); cudaEventRecord(ev, s); cudaStreamWaitEvent(t, ev, 0); cudaMemsetAsync(m, 0, 4, t); puts("fork with work, not joined"); end(s);
    begin(s, GLOBAL); cudaMemsetAsync(m, 0, 4, s); cudaEventRecord(ev, s); cudaStreamWaitEvent(t, ev, 0); cudaMemsetAsync(m, 0, 4, t); cudaEventRecord(ev, t); cudaStreamWaitEvent(s, ev, 0); puts("joined"); end(s);
    begin(s, GLOBAL); cudaMemsetAsync(m, 0, 4, s); cudaEventRecord(ev, s); cudaStreamWaitEvent(t, ev, 0); cudaMemsetAsync(m, 0, 4, t); cudaEventRecord(ev, t); cudaStreamWaitEvent(s, ev, 0); cudaMemsetAsync(m, 0, 4, t); puts("joined, then more work in the fork"); end(s);
    begin(s, GLOBAL); cudaEventRecord(ev, s); cudaStreamWaitEvent(t, ev, 0); ASK(cudaStreamEndCapture(t, &g)); printf("  graph null %d\n", g == NULL); end(s);
    begin(s, GLOBAL); cudaEventRecord(ev, s); cudaStreamWaitEvent(t, ev, 0); ASK(cudaStreamSynchronize(t)); end(s);
    begin(s, GLOBAL); cudaEventRecord(ev, s); cudaStreamWaitEvent(t, ev, 0); ASK(cudaStreamBeginCapture(t, GLOBAL)); end(s);
}

static void capture_borders(void)
{
    cudaEvent_t fresh;
    float ms;
    cudaEventCreate(&fresh); cudaEventRecord(ev, t); cudaStreamSynchronize(t);
    CAPTURE(s, GLOBAL, cudaStreamWaitEvent(s, fresh, 0)); CAPTURE(s, GLOBAL, cudaStreamWaitEvent(s, ev, 0)); CAPTURE(s, GLOBAL, cudaStreamWaitEvent(s, ev, cudaEventWaitExternal)); CAPTURE(s, GLOBAL, cudaEventRecordWithFlags(ev2, s, cudaEventRecordExternal));
    begin(s, GLOBAL); begin(t, GLOBAL); cudaEventRecord(ev, s); ASK(cudaStreamWaitEvent(t, ev, 0)); end(s); end(t);
    begin(s, GLOBAL); cudaStreamSynchronize(s); cudaGetLastError(); ASK(cudaMemsetAsync(m, 0, 4, s)); ASK(cudaEventRecord(ev2, s)); ASK(cudaStreamSynchronize(s)); ASK(cudaStreamWaitEvent(t, ev2, 0)); end(s);
    begin(s, GLOBAL); cudaEventRecord(ev, s); end(s); ASK(cudaEventQuery(ev)); ASK(cudaEventSynchronize(ev)); ASK(cudaStreamWaitEvent(t, ev, 0)); ASK(cudaEventElapsedTime(&ms, ev, ev)); CAPTURE(s, GLOBAL, cudaStreamWaitEvent(s, ev, 0)); ASK(cudaEventRecord(ev, t)); ASK(cudaEventSynchronize(ev));
    begin(s, RELAXED); cudaEventRecord(ev, s); ASK(cudaEventRecord(ev, t)); ASK(cudaEventQuery(ev)); end(s); begin(s, RELAXED); cudaEventRecord(ev, s); ASK(cudaEventElapsedTime(&ms, ev, ev)); end(s);
}

static void capture_memory(void)
{
    void *a = NULL, *pool = NULL, *outer = NULL;
    cudaMemPool_t hp = make(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0), mp = make(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0), def;
    struct cudaMemLocation d = { cudaMemLocationTypeDevice, 0 };
    void *mg;
    cudaDeviceGetDefaultMemPool(&def, 0); cudaMallocAsync(&pool, MiB, s); cudaStreamSynchronize(s); cudaMallocManaged(&mg, MiB, cudaMemAttachGlobal);
    CAPTURE(s, GLOBAL, cudaMallocAsync(&a, 0, s)); CAPTURE(s, GLOBAL, cudaMallocAsync(NULL, 64, s)); CAPTURE(s, GLOBAL, cudaMallocFromPoolAsync(&a, 64, hp, s)); CAPTURE(s, GLOBAL, cudaMallocFromPoolAsync(&a, 64, mp, s)); CAPTURE(s, GLOBAL, cudaMallocFromPoolAsync(&a, 64, NULL, s)); CAPTURE(s, GLOBAL, cudaMallocAsync(&a, (size_t)1 << 50, s)); CAPTURE(s, GLOBAL, cudaFreeAsync(pool, s)); CAPTURE(s, GLOBAL, cudaFreeAsync(m, s)); CAPTURE(s, GLOBAL, cudaFreeAsync(NULL, s)); CAPTURE(s, GLOBAL, cudaMemsetAsync(pool, 0, 2 * MiB, s)); CAPTURE(s, GLOBAL, cudaMemPrefetchAsync(mg, MiB, d, 0, s));
    begin(s, GLOBAL); cudaMallocAsync(&a, MiB, s); ASK(cudaMemsetAsync(a, 0, MiB, s)); ASK(cudaMemsetAsync(a, 0, 2 * MiB, s)); ASK(cudaMemsetAsync(a, 0, 64 * MiB, s)); pointer(a, "captured"); ASK(cudaFreeAsync((char *)a + 512, s)); ASK(cudaFreeAsync(a, s)); ASK(cudaFreeAsync(a, s)); ASK(cudaMemsetAsync(a, 0, 4, s)); end(s);
    begin(s, GLOBAL); cudaMallocAsync(&a, MiB, s); ASK(cudaMemsetAsync(a, 0, 4, t)); ASK(cudaFreeAsync(a, t)); end(s);
    begin(s, GLOBAL); cudaMallocAsync(&outer, MiB, s); end(s); begin(t, GLOBAL); ASK(cudaMemsetAsync(outer, 0, 4, t)); ASK(cudaFreeAsync(outer, t)); end(t);
}

static void capture_destroyed(void)
{
    cudaStream_t u;
    cudaGraph_t g;
    enum cudaStreamCaptureStatus now;
    const cudaGraphNode_t *tips;
    const cudaGraphEdgeData *data;
    size_t count = 77;
    unsigned long long id = 0;
    begin(s, GLOBAL); cudaMemsetAsync(m, 0, 4, s); ASK(cudaStreamGetCaptureInfo(s, &now, &id, &g, &tips, &data, &count)); printf("  status %d tips %zu data %s\n", (int)now, count, data ? "there" : "null"); ASK(cudaStreamGetCaptureInfo(s, NULL, NULL, NULL, NULL, NULL, NULL)); ASK(cudaStreamUpdateCaptureDependencies(s, NULL, NULL, 0, cudaStreamSetCaptureDependencies)); cudaMemsetAsync(m, 0, 4, s); end(s); ASK(cudaStreamUpdateCaptureDependencies(s, NULL, NULL, 0, 0));
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking); begin(u, RELAXED); fflush(stdout); ASK(cudaStreamDestroy(u)); puts("destroyed"); fflush(stdout); end(u);
}

static const struct probe_case cases[] = {
    { "graph_sizes", graph_sizes }, { "graph_addresses", graph_addresses }, { "graph_sharing", graph_sharing }, { "graph_codes", graph_codes },
    { "graph_freed_elsewhere", graph_freed_elsewhere }, { "graph_auto_free", graph_auto_free },
    { "graph_kernel_after_trim", graph_kernel_after_trim }, { "graph_kernel_before_launch", graph_kernel_before_launch },
    { "capture_ends", capture_ends }, { "capture_waiting", capture_waiting }, { "capture_unsafe", capture_unsafe },
    { "capture_threads", capture_threads }, { "capture_legacy", capture_legacy }, { "capture_forks", capture_forks },
    { "capture_borders", capture_borders }, { "capture_memory", capture_memory }, { "capture_destroyed", capture_destroyed },
};

int main(int argc, char **argv) { return run_cases(argc, argv, cases, sizeof cases / sizeof *cases); }
