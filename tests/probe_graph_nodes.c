/* Asks a real device what may be done with graphs that have memory nodes: order and fit, ranges, trims, changes, child graphs; and what a capture
 * forbids (probe_cases.h says how). */
#define _GNU_SOURCE
#include "probe_graph_cases.h"
#include "probe_wait.h"

static cudaGraph_t fresh(void) { cudaGraph_t g = NULL; cudaGraphCreate(&g, 0); return g; }
static long long gap(const void *a, const void *b) { return (const char *)a - (const char *)b; }
static struct cudaMemsetParams set(void *to, int value, size_t bytes) { struct cudaMemsetParams p = { .dst = to, .value = (unsigned)value, .elementSize = 1, .width = bytes, .height = 1 }; return p; }
static cudaGraphNode_t empty_after(cudaGraph_t g, cudaGraphNode_t a, cudaGraphNode_t c) { cudaGraphNode_t n, two[] = { a, c }; cudaGraphAddEmptyNode(&n, g, two, 2); return n; }

/* ---- addresses ---- */

static void fits(void)
{
    cudaGraph_t g = fresh();
    cudaGraphNode_t n, n2, f, f2;
    void *a, *c, *d, *e, *k, *l;
    n = alloc_node(g, NULL, MiB, &a); n = alloc_node(g, n, MiB, &c); n = alloc_node(g, n, MiB, &d); n = free_node(g, n, a); n = free_node(g, n, c); n = alloc_node(g, n, 2 * MiB, &e);
    printf("two neighbours freed, then twice as much: %+lld\n", gap(e, a));
    g = fresh(); n = alloc_node(g, NULL, 4 * MiB, &a); n = alloc_node(g, n, MiB, &c); n = alloc_node(g, n, MiB, &d); n = alloc_node(g, n, MiB, &e); n = free_node(g, n, a); n = free_node(g, n, d); n = alloc_node(g, n, MiB, &k); n = alloc_node(g, n, MiB, &l);
    printf("4 MiB and 1 MiB (at %+lld) freed, then 1 MiB: %+lld, again: %+lld\n", gap(d, a), gap(k, a), gap(l, a));
    g = fresh(); n = alloc_node(g, NULL, MiB, &a); n = alloc_node(g, n, MiB, &c); n = alloc_node(g, n, 4 * MiB, &d); n = alloc_node(g, n, MiB, &e); n = free_node(g, n, a); n = free_node(g, n, d); n = alloc_node(g, n, MiB, &k); n = alloc_node(g, n, MiB, &l);
    printf("1 MiB and 4 MiB (at %+lld) freed, then 1 MiB: %+lld, again: %+lld\n", gap(d, a), gap(k, a), gap(l, a));
    g = fresh(); n = alloc_node(g, NULL, 4 * MiB, &a); n = free_node(g, n, a); n = alloc_node(g, n, 8 * MiB, &c); n = free_node(g, n, c); n = alloc_node(g, n, 16 * MiB, &d); n = free_node(g, n, d); n = alloc_node(g, n, 28 * MiB, &e);
    printf("4 MiB freed, then 8 MiB: %+lld, freed, then 16 MiB: %+lld, freed, then 28 MiB: %+lld\n", gap(c, a), gap(d, a), gap(e, a));
    g = fresh(); n = alloc_node(g, NULL, MiB, &a); n = alloc_node(g, n, MiB, &c); f = free_node(g, n, a); f2 = free_node(g, n, c); n = empty_after(g, f, f2); n2 = alloc_node(g, n, 2 * MiB, &d);
    printf("two neighbours freed in branches that join, then twice as much: %+lld\n", gap(d, a));
    (void)n2; g = fresh(); n = alloc_node(g, NULL, 3 * MiB, &a); f = free_node(g, n, a); alloc_node(g, f, MiB, &c); alloc_node(g, f, MiB, &d); alloc_node(g, f, MiB, &e); alloc_node(g, f, MiB, &k);
    printf("3 MiB freed, then four branches of 1 MiB: %+lld %+lld %+lld %+lld\n", gap(c, a), gap(d, a), gap(e, a), gap(k, a));
    g = fresh(); n = alloc_node(g, NULL, 40 * MiB, &a); n = free_node(g, n, a); n = alloc_node(g, n, 64 * MiB, &c); n = free_node(g, n, c); alloc_node(g, n, MiB, &d);
    printf("40 MiB freed, then 64 MiB: %+lld, freed, then 1 MiB: %+lld\n", gap(c, a), gap(d, a));
}

/* ---- order ---- */

static void unordered_free(void)
{
    cudaGraph_t g = fresh();
    cudaGraphExec_t x = NULL;
    cudaGraphNode_t f;
    void *a;
    alloc_node(g, NULL, 64 * MiB, &a); ASK(cudaGraphAddMemFreeNode(&f, g, NULL, 0, a)); ASK(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 3; i++) { ASK(cudaGraphLaunch(x, s)); ASK(cudaStreamSynchronize(s)); graph_figures("a free beside its allocation, launched"); }
    ASK(cudaDeviceGraphMemTrim(0)); graph_figures("trimmed");
}

static void free_first(void)
{
    cudaGraph_t g = fresh();
    cudaGraphExec_t x = NULL;
    cudaGraphNode_t n, f;
    void *a;
    n = alloc_node(g, NULL, 64 * MiB, &a); ASK(cudaGraphAddMemFreeNode(&f, g, NULL, 0, a)); ASK(cudaGraphAddDependencies(g, &f, &n, NULL, 1)); ASK(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 3; i++) { ASK(cudaGraphLaunch(x, s)); ASK(cudaStreamSynchronize(s)); graph_figures("a free before its allocation, launched"); }
    ASK(cudaFreeAsync(a, s)); ASK(cudaDeviceGraphMemTrim(0)); graph_figures("trimmed");
}

/* ---- ranges ---- */

static void range_codes(void)
{
    cudaGraph_t g = fresh();
    cudaGraphNode_t n, q;
    void *a, *pool, *gone, *stale;
    int *nowhere = (int *)0x7000dead0000;
    static char pageable[64];
    struct cudaMemsetParams p;
    cudaMallocAsync(&pool, MiB, s); cudaMallocAsync(&stale, MiB, s); cudaFreeAsync(stale, s); cudaStreamSynchronize(s); cudaMalloc(&gone, 64 * MiB); cudaFree(gone);
    n = alloc_node(g, NULL, MiB, &a);
#define SET(what, to, bytes) p = set(to, 0, bytes); printf("memset node %s: %s\n", what, cudaGetErrorName(cudaGraphAddMemsetNode(&q, g, &n, 1, &p)))
#define COPY(what, to, from, bytes) printf("copy node %s: %s\n", what, cudaGetErrorName(cudaGraphAddMemcpyNode1D(&q, g, &n, 1, to, from, bytes, cudaMemcpyDefault)))
    SET("inside", a, MiB); SET("past the end of graph memory", a, MiB + 1); SET("past the step", a, 64 * MiB); SET("past the end of a pool's block", pool, 2 * MiB); SET("past the end of cudaMalloc's", m, 2 * MiB); SET("of a freed pool's block", stale, 4); SET("of freed cudaMalloc's", gone, 4); SET("nowhere", nowhere, 4); SET("in ordinary memory", pageable, 4); SET("in pinned memory", host, 4); SET("past the end of pinned memory", host, 2 * MiB); SET("of no bytes", a, 0); SET("at null", NULL, 4);
    COPY("inside", a, m, MiB); COPY("past the end of graph memory", a, host, 2 * MiB); COPY("past the end of cudaMalloc's", host, m, 2 * MiB); COPY("from nowhere", m, nowhere, 4); COPY("from a freed pool's block", m, stale, 4); COPY("from ordinary memory", m, pageable, 64); COPY("of no bytes", m, host, 0);
#define CAP(what, call) begin(s, RELAXED); printf("captured %s: %s\n", what, cudaGetErrorName(call)); cudaGetLastError(); end(s)
    CAP("memset past the end of cudaMalloc's", cudaMemsetAsync(m, 0, 2 * MiB, s)); CAP("memset of a freed pool's block", cudaMemsetAsync(stale, 0, 4, s)); CAP("memset of freed cudaMalloc's", cudaMemsetAsync(gone, 0, 4, s)); CAP("memset nowhere", cudaMemsetAsync(nowhere, 0, 4, s)); CAP("memset in ordinary memory", cudaMemsetAsync(pageable, 0, 4, s)); CAP("memset at null", cudaMemsetAsync(NULL, 0, 4, s)); CAP("memset of no bytes", cudaMemsetAsync(m, 0, 0, s));
    CAP("copy past the end of cudaMalloc's", cudaMemcpyAsync(host, m, 2 * MiB, cudaMemcpyDefault, s)); CAP("copy past the end of a pool's block", cudaMemcpyAsync(pool, m, 2 * MiB, cudaMemcpyDefault, s)); CAP("copy from nowhere", cudaMemcpyAsync(m, nowhere, 4, cudaMemcpyDefault, s)); CAP("copy from a freed pool's block", cudaMemcpyAsync(m, stale, 4, cudaMemcpyDefault, s)); CAP("copy of no bytes", cudaMemcpyAsync(m, host, 0, cudaMemcpyDefault, s)); CAP("copy in a wrong direction", cudaMemcpyAsync(pageable, m, 4, cudaMemcpyHostToDevice, s)); CAP("copy of kind 7", cudaMemcpyAsync(m, m, 4, (enum cudaMemcpyKind)7, s));
    begin(s, RELAXED); cudaMallocAsync(&a, MiB, s); printf("captured copy past the end of graph memory: %s\n", cudaGetErrorName(cudaMemcpyAsync(a, host, 2 * MiB, cudaMemcpyDefault, s))); printf("captured copy from inside graph memory: %s\n", cudaGetErrorName(cudaMemcpyAsync(host, a, MiB, cudaMemcpyDefault, s))); end(s);
}

static void range_run(void *to, size_t bytes)
{
    cudaGraph_t g;
    cudaGraphExec_t x = NULL;
    void *a;
    begin(s, RELAXED); cudaMallocAsync(&a, MiB, s); ASK(cudaMemsetAsync(to ? to : a, 0, bytes, s)); cudaFreeAsync(a, s); cudaStreamEndCapture(s, &g);
    ASK(cudaGraphInstantiate(&x, g, 0)); ASK(cudaGraphLaunch(x, s)); ASK(cudaStreamSynchronize(s)); ASK(cudaStreamSynchronize(s));
}
static void range_in_step(void) { range_run(NULL, 2 * MiB); }
static void range_past_step(void) { range_run(NULL, 64 * MiB); }
static void range_of_malloc(void) { range_run(m, 64 * MiB); }
static void range_of_pool(void) { void *pool; cudaMallocAsync(&pool, MiB, s); range_run(pool, 64 * MiB); }
static void range_of_pool_in_step(void) { void *pool; cudaMallocAsync(&pool, MiB, s); range_run(pool, 2 * MiB); }

/* ---- trims ---- */

static void trims(void)
{
    void *a, *p;
    cudaMemPool_t def;
    cudaGraphExec_t x = small(64 * MiB, 1, 0, NULL, NULL), y = NULL;
    cudaDeviceGetDefaultMemPool(&def, 0);
    cudaGraphLaunch(x, s); usleep(200000); cudaDeviceGraphMemTrim(0); graph_figures("over, but nobody has synchronised, trimmed"); cudaGraphLaunch(x, s); usleep(200000); ASK(cudaStreamQuery(s)); cudaDeviceGraphMemTrim(0); graph_figures("over, queried, trimmed"); cudaStreamSynchronize(s); cudaDeviceGraphMemTrim(0); graph_figures("synchronised, trimmed");
    cudaGraphLaunch(x, s); cudaStreamSynchronize(s); ASK(cudaMemPoolTrimTo(def, 0)); graph_figures("cudaMemPoolTrimTo"); cudaMallocAsync(&p, 64 * MiB, s); graph_figures("64 MiB of the default pool beside it"); cudaFreeAsync(p, s); cudaStreamSynchronize(s); cudaDeviceGraphMemTrim(0); graph_figures("trimmed");
    *gate = 0; launch_hold(gate, s); cudaGraphLaunch(x, s); cudaDeviceGraphMemTrim(0); graph_figures("held back, trimmed"); *gate = 1; usleep(200000); cudaDeviceGraphMemTrim(0); graph_figures("over, trimmed again"); cudaStreamSynchronize(s); cudaDeviceGraphMemTrim(0); graph_figures("synchronised, trimmed again");
    y = small(64 * MiB, 0, 0, &a, NULL); cudaGraphLaunch(y, s); cudaStreamSynchronize(s); *gate = 0; launch_hold(gate, s); cudaFreeAsync(a, s); cudaDeviceGraphMemTrim(0); graph_figures("its free held back, trimmed"); *gate = 1; usleep(200000); cudaDeviceGraphMemTrim(0); graph_figures("freed, nobody has synchronised, trimmed"); cudaStreamSynchronize(s); cudaDeviceGraphMemTrim(0); graph_figures("synchronised, trimmed");
    cudaGraphLaunch(y, s); cudaStreamSynchronize(s); ASK(cudaFree(a)); cudaDeviceGraphMemTrim(0); graph_figures("freed by cudaFree, trimmed");
    cudaGraphLaunch(x, s); cudaGraphLaunch(x, t); graph_figures("launched in two streams"); cudaDeviceSynchronize(); cudaGraphExecDestroy(x); graph_figures("synchronised, destroyed"); x = small(16 * MiB, 1, 0, NULL, NULL); cudaGraphLaunch(x, s); graph_figures("16 MiB of another graph"); cudaStreamSynchronize(s); x = small(96 * MiB, 1, 0, NULL, NULL); cudaGraphLaunch(x, s); graph_figures("96 MiB of a third"); cudaStreamSynchronize(s); cudaDeviceGraphMemTrim(0); graph_figures("trimmed");
    x = small(64 * MiB, 1, 0, NULL, NULL); *gate = 0; launch_hold(gate, s); cudaGraphLaunch(x, s); ASK(cudaGraphExecDestroy(x)); cudaDeviceGraphMemTrim(0); graph_figures("destroyed while it is held back, trimmed"); *gate = 1; cudaStreamSynchronize(s); graph_figures("over"); cudaDeviceGraphMemTrim(0); graph_figures("trimmed");
    x = small(64 * MiB, 1, 0, NULL, NULL); y = small(64 * MiB, 1, 0, NULL, NULL); cudaGraphLaunch(x, s); cudaEventRecord(ev, s); cudaStreamWaitEvent(t, ev, 0); *gate = 0; launch_hold(gate, s); cudaGraphLaunch(y, t); graph_figures("after an event of the other's stream"); *gate = 1; cudaDeviceSynchronize(); cudaDeviceGraphMemTrim(0);
    *gate = 0; launch_hold(gate, s); cudaGraphLaunch(x, s); cudaEventRecord(ev, s); cudaStreamWaitEvent(t, ev, 0); cudaGraphLaunch(y, t); graph_figures("the same, held back"); *gate = 1; cudaDeviceSynchronize(); cudaDeviceGraphMemTrim(0); graph_figures("trimmed");
    cudaGraphLaunch(x, s); usleep(200000); cudaGraphLaunch(y, t); graph_figures("in another stream, over, nobody has synchronised"); cudaDeviceSynchronize(); cudaDeviceGraphMemTrim(0);
    cudaGraphLaunch(x, s); cudaStreamSynchronize(s); cudaGraphLaunch(y, t); graph_figures("in another stream, synchronised"); cudaDeviceSynchronize(); cudaDeviceGraphMemTrim(0); graph_figures("trimmed");
}

/* ---- managed memory ---- */

static void managed(void)
{
    cudaGraph_t g = fresh();
    cudaGraphExec_t x = NULL;
    cudaGraphNode_t n;
    struct cudaMemAllocNodeParams p;
    memset(&p, 0, sizeof p);
    p.poolProps = props_of(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0); p.bytesize = 64 * MiB;
    ASK(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &p)); struct cudaMemsetParams fill = set(p.dptr, 1, 64 * MiB); ASK(cudaGraphAddMemsetNode(&n, g, &n, 1, &fill)); ASK(cudaGraphInstantiate(&x, g, 0)); ASK(cudaGraphLaunch(x, s)); ASK(cudaStreamSynchronize(s)); graph_figures("64 MiB of managed memory"); pointer(p.dptr, "managed"); fflush(stdout);
    ASK(cudaFreeAsync(p.dptr, s)); ASK(cudaStreamSynchronize(s)); cudaDeviceGraphMemTrim(0); graph_figures("freed, trimmed"); ASK(cudaGraphLaunch(x, s)); ASK(cudaStreamSynchronize(s)); fflush(stdout);
    printf("  the host reads %d\n", *(volatile char *)p.dptr);
}

/* ---- changes ---- */

static cudaGraph_t line(void **address, cudaGraphNode_t n[3], size_t bytes, int value)
{
    cudaGraph_t g = fresh();
    struct cudaMemsetParams p;
    n[0] = alloc_node(g, NULL, bytes, address); p = set(*address, value, bytes); cudaGraphAddMemsetNode(&n[1], g, &n[0], 1, &p); n[2] = free_node(g, n[1], *address);
    return g;
}

static void destroyed_nodes(void)
{
    void *a;
    cudaGraphNode_t n[3], e, k;
    cudaGraph_t g = line(&a, n, MiB, 1);
    cudaGraphExec_t x = NULL;
    size_t count;
    ASK(cudaGraphRemoveDependencies(g, &n[0], &n[1], NULL, 1)); ASK(cudaGraphRemoveDependencies(g, &n[1], &n[2], NULL, 1)); ASK(cudaGraphDestroyNode(n[1])); ASK(cudaGraphDestroyNode(n[2])); ASK(cudaGraphDestroyNode(n[0])); cudaGraphGetNodes(g, NULL, &count); printf("  nodes %zu\n", count);
    ASK(cudaGraphInstantiate(&x, g, 0)); ASK(cudaGraphAddEmptyNode(&e, g, NULL, 0)); ASK(cudaGraphDestroyNode(e)); ASK(cudaGraphAddDependencies(g, &n[0], &n[2], NULL, 1)); ASK(cudaGraphExecDestroy(x)); ASK(cudaGraphDestroy(g));
    g = fresh(); cudaGraphAddEmptyNode(&e, g, NULL, 0); cudaGraphAddEmptyNode(&k, g, &e, 1); ASK(cudaGraphRemoveDependencies(g, &k, &e, NULL, 1)); ASK(cudaGraphRemoveDependencies(g, &e, &k, NULL, 1)); ASK(cudaGraphRemoveDependencies(g, &e, &k, NULL, 1)); ASK(cudaGraphAddDependencies(g, &e, &k, NULL, 1)); ASK(cudaGraphDestroyNode(e)); size_t edges = 9; cudaGraphGetNodes(g, NULL, &count); cudaGraphGetEdges(g, NULL, NULL, NULL, &edges); printf("  nodes %zu, edges %zu\n", count, edges); ASK(cudaGraphDestroyNode(NULL)); ASK(cudaGraphRemoveDependencies(g, NULL, NULL, NULL, 0));
}

static void updates(void)
{
    void *a, *c;
    cudaGraphNode_t n[3], k[3] = { NULL }, e = NULL;
    cudaGraph_t g = line(&a, n, MiB, 1), same, other;
    cudaGraphExec_t x = NULL, y = NULL;
    cudaGraphExecUpdateResultInfo info;
    struct cudaMemsetParams p;
    struct cudaGraphNodeParams q;
    unsigned on = 9;
#define UPDATE(exec, graph) memset(&info, 0, sizeof info); ASK(cudaGraphExecUpdate(exec, graph, &info)); printf("  result %d, node %s\n", (int)info.result, info.errorNode ? "there" : "null")
    cudaGraphInstantiate(&x, g, 0); same = line(&c, k, MiB, 2); UPDATE(x, same); UPDATE(x, g); p = set(m, 7, MiB); ASK(cudaGraphExecMemsetNodeSetParams(x, n[1], &p)); p = set(a, 8, MiB); ASK(cudaGraphExecMemsetNodeSetParams(x, n[1], &p)); ASK(cudaGraphMemsetNodeSetParams(n[1], &p)); ASK(cudaGraphMemsetNodeGetParams(n[1], &p)); printf("  value %u width %zu height %zu\n", p.value, p.width, p.height);
    ASK(cudaGraphNodeSetEnabled(x, n[1], 0)); ASK(cudaGraphNodeGetEnabled(x, n[1], &on)); printf("  enabled %u\n", on); ASK(cudaGraphNodeSetEnabled(x, n[0], 0)); ASK(cudaGraphNodeSetEnabled(x, n[2], 0)); ASK(cudaGraphNodeGetEnabled(x, n[0], &on));
    memset(&q, 0, sizeof q); q.type = cudaGraphNodeTypeMemAlloc; q.alloc.poolProps = props_of(1, 1, 0); q.alloc.bytesize = 2 * MiB; ASK(cudaGraphNodeSetParams(n[0], &q)); ASK(cudaGraphExecNodeSetParams(x, n[0], &q)); memset(&q, 0, sizeof q); q.type = cudaGraphNodeTypeMemFree; q.free.dptr = a; ASK(cudaGraphNodeSetParams(n[2], &q)); ASK(cudaGraphExecNodeSetParams(x, n[2], &q)); ASK(cudaGraphLaunch(x, s)); ASK(cudaStreamSynchronize(s));
    g = fresh(); p = set(m, 1, MiB); cudaGraphAddMemsetNode(&e, g, NULL, 0, &p); cudaGraphInstantiate(&y, g, 0); other = fresh(); p = set(m, 2, MiB); cudaGraphAddMemsetNode(&k[0], other, NULL, 0, &p); UPDATE(y, other); cudaGraphAddEmptyNode(&k[1], other, NULL, 0); UPDATE(y, other); p = set(m, 3, MiB / 2); ASK(cudaGraphExecMemsetNodeSetParams(y, e, &p)); ASK(cudaGraphExecMemsetNodeSetParams(y, k[0], &p)); p = set(m, 3, 2 * MiB); ASK(cudaGraphExecMemsetNodeSetParams(y, e, &p)); ASK(cudaGraphLaunch(y, s)); ASK(cudaStreamSynchronize(s)); UPDATE(y, same); UPDATE(x, other);
}

/* ---- child graphs ---- */

static cudaError_t add_child(cudaGraphNode_t *n, cudaGraph_t into, cudaGraph_t child, enum cudaGraphChildGraphNodeOwnership ownership)
{
    struct cudaGraphNodeParams p;
    memset(&p, 0, sizeof p); p.type = cudaGraphNodeTypeGraph; p.graph.graph = child; p.graph.ownership = ownership;
    return cudaGraphAddNode(n, into, NULL, NULL, 0, &p);
}

static void children(void)
{
    void *a;
    cudaGraphNode_t n[3], c = NULL, e;
    cudaGraph_t child = line(&a, n, 64 * MiB, 1), parent = fresh(), plain = fresh(), in = NULL;
    cudaGraphExec_t x = NULL, y = NULL;
    size_t count = 9;
    cudaGraphAddEmptyNode(&e, plain, NULL, 0);
    ASK(cudaGraphAddChildGraphNode(&c, parent, NULL, 0, child)); ASK(add_child(&c, parent, child, cudaGraphChildGraphOwnershipClone)); ASK(cudaGraphAddChildGraphNode(&c, parent, NULL, 0, plain)); ASK(cudaGraphChildGraphNodeGetGraph(c, &in)); printf("  the same graph %d\n", in == plain); alloc_node(in, NULL, MiB, &a); cudaGraphGetNodes(in, NULL, &count); printf("  nodes %zu\n", count);
    ASK(cudaGraphInstantiate(&x, child, 0)); ASK(add_child(&c, parent, child, cudaGraphChildGraphOwnershipMove)); ASK(cudaGraphExecDestroy(x)); ASK(add_child(&c, parent, child, cudaGraphChildGraphOwnershipMove)); ASK(cudaGraphInstantiate(&y, child, 0)); alloc_node(child, NULL, MiB, &a); ASK(cudaGraphAddEmptyNode(&e, child, NULL, 0)); ASK(cudaGraphDestroy(child)); ASK(cudaGraphClone(&in, parent));
    ASK(cudaGraphInstantiate(&x, parent, 0)); ASK(cudaGraphInstantiate(&y, parent, 0)); ASK(cudaGraphLaunch(x, s)); ASK(cudaStreamSynchronize(s)); graph_figures("a child graph with 64 MiB"); ASK(cudaGraphDestroyNode(c)); ASK(cudaGraphExecDestroy(x)); ASK(cudaGraphDestroy(parent)); cudaDeviceGraphMemTrim(0); graph_figures("destroyed, trimmed");
}

static void launch_captured(void)
{
    cudaGraph_t g;
    cudaGraphExec_t x = small(MiB, 1, 0, NULL, &g), y = NULL;
    cudaGraph_t plain = fresh();
    cudaGraphNode_t e;
    cudaGraphAddEmptyNode(&e, plain, NULL, 0); cudaGraphInstantiate(&y, plain, 0);
    CAPTURE(s, GLOBAL, cudaGraphLaunch(x, s)); CAPTURE(s, GLOBAL, cudaGraphLaunch(y, s)); CAPTURE(s, GLOBAL, cudaGraphUpload(x, s)); CAPTURE(s, GLOBAL, cudaGraphLaunch(x, t)); CAPTURE(s, GLOBAL, cudaGraphUpload(x, t));
}

/* ---- capture ---- */

static void nothing(void *unused) { (void)unused; }

static void capture_calls(void)
{
    cudaGraph_t g = fresh(), c;
    cudaGraphExec_t x = NULL;
    cudaGraphNode_t e;
    cudaMemPool_t def, p = NULL;
    struct cudaMemAccessDesc d = { { cudaMemLocationTypeDevice, 0 }, cudaMemAccessFlagsProtReadWrite };
    struct cudaMemLocation here = { cudaMemLocationTypeDevice, 0 };
    struct cudaMemPoolPtrExportData ed;
    struct cudaMemPoolProps shared = props_of(1, 1, 0);
    cudaIpcMemHandle_t ih;
    cudaIpcEventHandle_t eh;
    enum cudaMemAccessFlags flags;
    uint64_t v = 0;
    void *a, *mg;
    int fd, value;
    float ms;
    cudaEvent_t ie;
    shared.handleTypes = cudaMemHandleTypePosixFileDescriptor; cudaMemPoolCreate(&p, &shared); cudaMallocFromPoolAsync(&a, 64, p, s); cudaStreamSynchronize(s); cudaDeviceGetDefaultMemPool(&def, 0); cudaMallocManaged(&mg, MiB, cudaMemAttachGlobal); cudaEventCreateWithFlags(&ie, cudaEventInterprocess | cudaEventDisableTiming); cudaEventRecord(ev, t); cudaEventRecord(ev2, t); cudaStreamSynchronize(t); cudaGetLastError();
    CAPTURE(s, GLOBAL, cudaMallocFromPoolAsync(&mg, 64, p, t)); CAPTURE(s, GLOBAL, cudaMemPoolGetAccess(&flags, def, &here)); CAPTURE(s, GLOBAL, cudaMemPoolSetAccess(def, &d, 1)); CAPTURE(s, GLOBAL, cudaDeviceGetDefaultMemPool(&def, 0)); CAPTURE(s, GLOBAL, cudaDeviceGetMemPool(&def, 0)); CAPTURE(s, GLOBAL, cudaDeviceSetMemPool(0, def)); CAPTURE(s, GLOBAL, cudaMemGetDefaultMemPool(&def, &here, cudaMemAllocationTypePinned)); CAPTURE(s, GLOBAL, cudaMemGetMemPool(&def, &here, cudaMemAllocationTypePinned)); CAPTURE(s, GLOBAL, cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, def)); CAPTURE(s, GLOBAL, cudaMemPoolExportPointer(&ed, a)); CAPTURE(s, GLOBAL, cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0)); CAPTURE(s, GLOBAL, cudaMemPoolImportFromShareableHandle(&def, (void *)(intptr_t)fd, cudaMemHandleTypePosixFileDescriptor, 0)); CAPTURE(s, GLOBAL, cudaMemPoolImportPointer(&a, def, &ed)); CAPTURE(s, GLOBAL, cudaIpcGetMemHandle(&ih, m)); CAPTURE(s, GLOBAL, cudaIpcGetEventHandle(&eh, ie));
    CAPTURE(s, GLOBAL, cudaGraphCreate(&c, 0)); CAPTURE(s, GLOBAL, cudaGraphAddEmptyNode(&e, g, NULL, 0)); CAPTURE(s, GLOBAL, cudaGraphInstantiate(&x, g, 0)); CAPTURE(s, GLOBAL, cudaGraphLaunch(x, t)); CAPTURE(s, GLOBAL, cudaGraphUpload(x, t)); CAPTURE(s, GLOBAL, cudaGraphExecDestroy(x)); CAPTURE(s, GLOBAL, cudaGraphDestroy(g)); CAPTURE(s, GLOBAL, cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &v)); CAPTURE(s, GLOBAL, cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &(uint64_t){ 0 }));
    CAPTURE(s, GLOBAL, cudaHostAlloc(&mg, 64, 0)); CAPTURE(s, GLOBAL, cudaHostRegister(malloc(4096), 4096, 0)); CAPTURE(s, GLOBAL, cudaLaunchHostFunc(t, nothing, NULL)); CAPTURE(s, GLOBAL, launch_fill(m, 1, 1, t)); CAPTURE(s, GLOBAL, cudaEventRecord(ev, t)); CAPTURE(s, GLOBAL, cudaStreamWaitEvent(t, ev, 0)); CAPTURE(s, GLOBAL, cudaMemcpyAsync(m, host, 4, cudaMemcpyDefault, t)); CAPTURE(s, GLOBAL, cudaEventElapsedTime(&ms, ev, ev2)); CAPTURE(s, GLOBAL, cudaSetDevice(0)); CAPTURE(s, GLOBAL, cudaDeviceGetAttribute(&value, cudaDevAttrMaxPitch, 0)); CAPTURE(s, GLOBAL, cudaMemcpyPeer(m, 0, m, 0, 4)); CAPTURE(s, GLOBAL, cudaMemcpy(host, m, 4, cudaMemcpyDeviceToHost)); CAPTURE(s, GLOBAL, cudaMemcpy(m, malloc(64), 4, cudaMemcpyDefault)); CAPTURE(s, GLOBAL, cudaMemcpyAsync(malloc(64), m, 4, cudaMemcpyDefault, t));
    begin(s, RELAXED); cudaStreamSynchronize(s); cudaGetLastError(); ASK(cudaStreamSynchronize(s)); ASK(cudaStreamQuery(s)); ASK(cudaStreamBeginCapture(s, RELAXED)); ASK(launch_fill(m, 1, 1, s)); ASK(cudaMallocAsync(&mg, 64, s)); end(s);
    begin(b, GLOBAL); ASK(cudaStreamSynchronize(0)); end(b); begin(b, GLOBAL); ASK(cudaMallocAsync(&mg, 64, 0)); end(b); begin(b, RELAXED); ASK(cudaMallocAsync(&mg, 64, 0)); end(b);
    cudaEventRecord(ev, s); begin(s, GLOBAL); cudaEventRecord(ev, s); end(s); begin(t, RELAXED); ASK(cudaEventQuery(ev)); end(t); begin(t, GLOBAL); ASK(cudaEventQuery(ev)); end(t);
}

static void capture_fork_destroyed(void)
{
    cudaStream_t u;
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
    begin(s, GLOBAL); cudaEventRecord(ev, s); cudaStreamWaitEvent(u, ev, 0); cudaMemsetAsync(m, 0, 4, u); cudaEventRecord(ev, u); cudaStreamWaitEvent(s, ev, 0); ASK(cudaStreamDestroy(u)); end(s);
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking); begin(s, GLOBAL); cudaEventRecord(ev, s); cudaStreamWaitEvent(u, ev, 0); cudaMemsetAsync(m, 0, 4, u); ASK(cudaStreamDestroy(u)); cudaMemsetAsync(m, 0, 4, s); end(s);
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking); begin(u, GLOBAL); cudaEventRecord(ev, u); cudaStreamWaitEvent(s, ev, 0); cudaMemsetAsync(m, 0, 4, s); ASK(cudaStreamDestroy(u)); fflush(stdout); ASK(cudaMemsetAsync(m, 0, 4, s)); end(s);
}

static void capture_event_destroyed(void)
{
    begin(s, GLOBAL); cudaMemsetAsync(m, 0, 4, s); cudaEventRecord(ev, s); cudaStreamWaitEvent(t, ev, 0); ASK(cudaEventDestroy(ev)); cudaMemsetAsync(m, 0, 4, t); cudaEventRecord(ev2, t); cudaStreamWaitEvent(s, ev2, 0); end(s);
}

/* Does an upload wait for work that is pending behind a gate in s? */
#define UPLOAD(call) do { *gate = 0; launch_hold(gate, s); prepare(x, y, kind); watch_call(gate); cudaError_t e_ = (call); int waited_ = call_waited(); graph_figures("after the call"); call_over(); \
        printf("%-60s %-14s %s\n", #call, waited_ ? "waits" : "does not wait", cudaGetErrorName(e_)); cudaGetLastError(); \
        ASK(cudaDeviceSynchronize()); graph_figures("over"); cudaDeviceGraphMemTrim(0); graph_figures("trimmed"); } while (0)

static void prepare(cudaGraphExec_t x, cudaGraphExec_t y, int kind)
{
    static const char *const kinds[] = { "only a hold in s", "x launched in s", "y launched in s", "x and y launched in s", "x launched in s, event, t waits for it", "x uploaded in s" };
    puts(kinds[kind]);
    if (kind == 1 || kind == 3 || kind == 4) cudaGraphLaunch(x, s);
    if (kind == 2 || kind == 3) cudaGraphLaunch(y, s);
    if (kind == 4) { cudaEventRecord(ev, s); cudaStreamWaitEvent(t, ev, 0); }
    if (kind == 5) cudaGraphUpload(x, s);
}

static void uploads(void)
{
    cudaGraphExec_t x = small(64 * MiB, 1, 0, NULL, NULL), y = small(64 * MiB, 1, 0, NULL, NULL);
    for (int kind = 0; kind < 6; kind++) {
        UPLOAD(cudaGraphUpload(x, s));
        UPLOAD(cudaGraphUpload(x, t));
        UPLOAD(cudaGraphLaunch(x, t));
    }
}

/* The same for graphs without memory nodes. */
static void uploads_without_memory(void)
{
    cudaGraphExec_t x = NULL, y = NULL;
    for (int i = 0; i < 2; i++) {
        cudaGraph_t g = fresh();
        cudaGraphNode_t n;
        struct cudaMemsetParams p = set(m, 1, 4);
        cudaGraphAddMemsetNode(&n, g, NULL, 0, &p);
        cudaGraphInstantiate(i ? &y : &x, g, 0);
    }
    for (int kind = 0; kind < 6; kind++) {
        UPLOAD(cudaGraphUpload(x, s));
        UPLOAD(cudaGraphUpload(x, t));
    }
}

/* A launch for which the device has no memory, while an earlier launch of the graph is pending. */
static void launch_without_memory(void)
{
    cudaGraphExec_t x = small(64 * MiB, 1, 0, NULL, NULL), y = small(64 * MiB, 1, 0, NULL, NULL);
    void *most = NULL;
    size_t free_bytes, total;
    *gate = 0;
    launch_hold(gate, s);
    ASK(cudaGraphLaunch(x, s)); ASK(cudaGraphLaunch(y, s)); graph_figures("two launches held back");
    cudaMemGetInfo(&free_bytes, &total);
    for (size_t left = 32 * MiB; !most && left < free_bytes; left += 2 * MiB) cudaMalloc(&most, free_bytes / (2 * MiB) * (2 * MiB) - left);
    cudaGetLastError();
    for (void *more; cudaMalloc(&more, 2 * MiB) == cudaSuccess; ) ;
    cudaGetLastError();
    ASK(cudaGraphLaunch(x, t)); graph_figures("a third launch, in another stream"); ASK(cudaGraphUpload(x, t)); graph_figures("an upload");
    *gate = 1;
    ASK(cudaDeviceSynchronize()); graph_figures("over"); ASK(cudaGraphLaunch(x, t)); ASK(cudaDeviceSynchronize()); graph_figures("launched again");
}

static const struct probe_case cases[] = {
    { "fits", fits }, { "unordered_free", unordered_free }, { "free_first", free_first }, { "range_codes", range_codes }, { "range_in_step", range_in_step }, { "range_past_step", range_past_step },
    { "range_of_malloc", range_of_malloc }, { "range_of_pool", range_of_pool }, { "range_of_pool_in_step", range_of_pool_in_step }, { "trims", trims }, { "uploads", uploads }, { "uploads_without_memory", uploads_without_memory }, { "launch_without_memory", launch_without_memory }, { "managed", managed },
    { "destroyed_nodes", destroyed_nodes }, { "updates", updates }, { "children", children }, { "launch_captured", launch_captured },
    { "capture_calls", capture_calls }, { "capture_fork_destroyed", capture_fork_destroyed }, { "capture_event_destroyed", capture_event_destroyed },
};

int main(int argc, char **argv) { return run_cases(argc, argv, cases, sizeof cases / sizeof *cases); }
