/* Records what calls answer that were given odd arguments, and what they leave in their results.
 * Random calls with such arguments found these. */
#include "graphs.h"

static void *p;
static char pageable[3 * 4096];

/* What a call leaves in a result that held an address before. */
#define LEAVES(call)                                                           \
    do {                                                                       \
        p = m;                                                                 \
        RECORD(call);                                                          \
        NOTE("leaves %s", p == m ? "what was there" : p ? "another" : "NULL"); \
    } while (0)

/* Memory of the host: flags that are none, no bytes, and what is told of other memory. */
CASE(host_memory)
{
    unsigned flags = 77;
    LEAVES(cudaHostAlloc(&p, 4096, 16));
    LEAVES(cudaHostAlloc(&p, 0, 16));
    LEAVES(cudaMallocManaged(&p, 4096, 3));
    LEAVES(cudaMallocManaged(&p, 0, 3));
    LEAVES(cudaHostGetDevicePointer(&p, pageable, 0));
    LEAVES(cudaHostGetDevicePointer(&p, host, 1));
    RECORD(cudaHostRegister(pageable, 4096, cudaHostRegisterIoMemory));
    RECORD(cudaHostRegister(pageable, 4096, cudaHostRegisterReadOnly));
    RECORD(cudaHostGetFlags(&flags, pageable));
    NOTE("%u", flags);
    cudaMallocManaged(&p, 4096, cudaMemAttachGlobal);
    RECORD(cudaHostGetFlags(&flags, p));
    NOTE("%u", flags);
}

/* Limits that have no name, and setting one. */
CASE(limits)
{
    for (int i = -1; i < 12; i++) {
        size_t value = 7;
        cudaError_t error = cudaDeviceGetLimit(&value, (enum cudaLimit)i);
        NOTE("%d: %s, %zu", i, cudaGetErrorName(error), value);
        if (i < 0 || i == 3 || i > 6)
            NOTE("%d: %s", i, cudaGetErrorName(cudaDeviceSetLimit((enum cudaLimit)i, value)));
    }
}

/* Two ways to wait at once, and bits without a name. */
CASE(flags)
{
    for (unsigned wanted = 1; wanted < 256; wanted = wanted < 8 ? wanted + 1 : 2 * wanted) {
        unsigned got = 77;
        cudaError_t error = cudaSetDeviceFlags(wanted);
        cudaGetDeviceFlags(&got);
        NOTE("%#x: %s, %#x", wanted, cudaGetErrorName(error), got);
        cudaSetDeviceFlags(0);
    }
}

/* Which of two wrong arguments does a call tell? */
CASE(places)
{
    cudaMemPool_t pool;
    cudaArray_t array;
    struct cudaMemLocation nowhere = {cudaMemLocationTypeDevice, 99};
    struct cudaMemAccessDesc access = {nowhere, cudaMemAccessFlagsProtRead};
    struct cudaChannelFormatDesc none = {0, 32, 0, 0, cudaChannelFormatKindSigned};
    cudaDeviceGetDefaultMemPool(&pool, 0);
    RECORD(cudaMemPoolSetAccess(pool, &access, 1));
    access.location.type = cudaMemLocationTypeHost;
    access.flags = 2;
    RECORD(cudaMemPoolSetAccess(pool, &access, 1));
    RECORD(cudaMemPrefetchAsync(pageable, 0, nowhere, 0, s));
    RECORD(cudaMemPrefetchAsync(pageable, 64, nowhere, 0, s));
    RECORD(cudaDeviceEnablePeerAccess(99, 1));
    RECORD(cudaMemcpy2D(pageable, 1, pageable + 64, 64, 64, 2, (enum cudaMemcpyKind)5));
    RECORD(cudaMemcpy2D(pageable, 1, pageable + 64, 64, 64, 1, (enum cudaMemcpyKind)5));
    RECORD(cudaMallocArray(&array, &none, 1 << 30, 1, 32));
    RECORD(cudaMallocArray(&array, &none, 0, 1, 32));
    RECORD(cudaMallocArray(&array, &none, 1, 1, cudaArrayLayered));
    none = (struct cudaChannelFormatDesc){8, 0, 0, 0, cudaChannelFormatKindSigned};
    RECORD(cudaMallocArray(&array, &none, 70000, 1, cudaArrayTextureGather));
    struct cudaMemPoolProps large = {.allocType = cudaMemAllocationTypePinned, .maxSize = SIZE_MAX};
    large.location.type = cudaMemLocationTypeHostNuma;
    RECORD(cudaMemPoolCreate(&pool, &large));
    struct cudaMemPoolProps managed = {.allocType = cudaMemAllocationTypeManaged, .usage = 1};
    managed.location.type = cudaMemLocationTypeDevice;
    RECORD(cudaMemPoolCreate(&pool, &managed));
}

/* Advice about memory that is not managed, with nodes of the host. */
CASE(advice)
{
    for (int type = cudaMemLocationTypeHost; type <= cudaMemLocationTypeHostNumaCurrent; type++)
        for (int id = 0; id < 100; id += 99)
            for (int advice = 0; advice < 8; advice++) {
                struct cudaMemLocation at = {(enum cudaMemLocationType)type, id};
                cudaError_t error = cudaMemAdvise(pageable, 64, (enum cudaMemoryAdvise)advice, at);
                NOTE("%d at %d:%d: %s", advice, type, id, cudaGetErrorName(error));
            }
}

/* A memset that its elements do not fit, an allocation of nothing nowhere, an interprocess event. */
CASE(graphs)
{
    cudaGraphNode_t n;
    cudaGraphExec_t x;
    unsigned long long flags = 77;
    cudaGraph_t g = new_graph();
    struct cudaMemsetParams set = {(char *)m + 1, 0, 0, 4, 16, 1};
    struct cudaMemAllocNodeParams none = {.poolProps = {.allocType = cudaMemAllocationTypePinned}};
    none.poolProps.location.type = cudaMemLocationTypeHost;
    RECORD(cudaGraphAddMemsetNode(&n, g, NULL, 0, &set));
    RECORD(cudaGraphAddMemAllocNode(&n, g, NULL, 0, &none));
    RECORD(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagUseNodePriority));
    RECORD(cudaGraphExecGetFlags(x, &flags));
    NOTE("%llu", flags);
    alloc_node(g, NULL, 64, &p);
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    cudaEventCreateWithFlags(&ev2, cudaEventDisableTiming | cudaEventInterprocess);
    begin_capture(s, RELAXED);
    RECORD(cudaEventRecord(ev2, s));
    RECORD(cudaStreamEndCapture(s, &g));
}

/* A driver dies of the second call. */
CASE(itself)
{
    cudaGraphNode_t n;
    cudaGraph_t g = new_graph();
    RECORD(cudaGraphAddEmptyNode(&n, g, NULL, 0));
    RECORD(cudaGraphAddChildGraphNode(&n, g, NULL, 0, g));
}

/* In which order are roots, edges and dependents listed, and what is room for none? */
static cudaGraphNode_t nodes[5];

static int index_of(cudaGraphNode_t node)
{
    int i = 0;
    while (i < 5 && nodes[i] != node)
        i++;
    return i;
}

static void print_lists(cudaGraph_t g)
{
    cudaGraphNode_t from[8], to[8];
    size_t count = 8;
    cudaGraphGetRootNodes(g, from, &count);
    for (size_t i = 0; i < count; i++)
        printf(" %d", index_of(from[i]));
    count = 8;
    cudaGraphGetEdges(g, from, to, NULL, &count);
    for (size_t i = 0; i < count; i++)
        printf(" %d>%d", index_of(from[i]), index_of(to[i]));
    printf("\n");
}

static cudaGraph_t graph_of_five(void)
{
    cudaGraph_t g = new_graph();
    for (int i = 0; i < 5; i++)
        cudaGraphAddEmptyNode(&nodes[i], g, i ? &nodes[i - 1] : NULL, i == 3);
    return g;
}

CASE(lists)
{
    cudaGraph_t g = graph_of_five();
    size_t none = 0;
    print_lists(g);
    cudaGraphAddDependencies(g, &nodes[0], &nodes[4], NULL, 1);
    cudaGraphAddDependencies(g, &nodes[0], &nodes[1], NULL, 1);
    print_lists(g);
    cudaGraphRemoveDependencies(g, &nodes[0], &nodes[1], NULL, 1);
    print_lists(g);
    cudaGraphRemoveDependencies(g, &nodes[2], &nodes[3], NULL, 1);
    print_lists(g);
    RECORD(cudaGraphGetNodes(g, nodes, &none));
    RECORD(cudaGraphGetRootNodes(g, nodes, &none));
    RECORD(cudaGraphGetEdges(g, nodes, nodes, NULL, &none));
    RECORD(cudaGraphNodeGetDependencies(nodes[0], nodes, NULL, &none));
    RECORD(cudaGraphNodeGetDependentNodes(nodes[0], nodes, NULL, &none));
}

/* Which obstacle to an update is told? */
static void update(cudaGraphExec_t x, cudaGraph_t g)
{
    cudaGraphExecUpdateResultInfo found = {.result = cudaGraphExecUpdateSuccess};
    RECORD(cudaGraphExecUpdate(x, g, &found));
    NOTE("result %d, node %d", found.result, index_of(found.errorNode));
}

CASE(updates)
{
    struct cudaHostNodeParams function = {nothing, NULL};
    cudaGraphExec_t x, y;
    cudaGraph_t g = graph_of_five(), other = new_graph();
    cudaGraphInstantiate(&x, g, 0);
    g = graph_of_five();
    cudaGraphAddDependencies(g, &nodes[1], &nodes[4], NULL, 1);
    update(x, g);
    for (int i = 0; i < 5; i++)
        cudaGraphAddHostNode(&nodes[i], other, i ? &nodes[i - 1] : NULL, i == 3, &function);
    update(x, other);
    alloc_node(other, NULL, 1000, &p);
    update(x, other);
    RECORD(cudaGraphInstantiate(&y, other, 0));
    update(x, other);
    update(y, other);
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
