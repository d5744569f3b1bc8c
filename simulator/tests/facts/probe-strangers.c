/* Records what other people's programs rely on: a free node for memory whose graph is destroyed, a
 * host pool with a file descriptor, a stream handle of -1, the pointer of a refused allocation, a
 * pool imported by its own process. Each question has a process of its own. */
#define CALL_COLUMNS 70
#include "pairs.h"

static void print_call(int columns, const char *call, cudaError_t result)
{
    printf("%-*s %s\n", columns, call, cudaGetErrorName(result));
    cudaGetLastError();
}

#define PRINT(call)          print_call(70, #call, (call))
#define PRINT_WIDE(call)     print_call(80, #call, (call))
#define PRINT_INDENTED(call) print_call(94, "  " #call, (call))

enum before { NOT_LAUNCHED, LAUNCHED, LAUNCHED_AND_FREED };

static void free_node_of_destroyed_graph(enum before before)
{
    cudaGraph_t g, f;
    cudaGraphExec_t x, y;
    cudaGraphNode_t a, n;
    struct cudaMemAllocNodeParams p = {.poolProps = device_props(), .bytesize = MiB};
    printf("launched before the free node is made: %d\n", (int)before);
    cudaStreamCreate(&s);
    PRINT(cudaGraphCreate(&g, 0));
    PRINT(cudaGraphAddMemAllocNode(&a, g, 0, 0, &p));
    PRINT(cudaGraphInstantiate(&x, g, 0));
    PRINT(cudaGraphDestroy(g));
    if (before >= LAUNCHED)
        PRINT(cudaGraphLaunch(x, s));
    if (before == LAUNCHED_AND_FREED) {
        PRINT(cudaFreeAsync(p.dptr, s));
        PRINT(cudaStreamSynchronize(s));
    }
    PRINT(cudaGraphCreate(&f, 0));
    PRINT(cudaGraphAddMemFreeNode(&n, f, 0, 0, p.dptr));
    PRINT(cudaGraphInstantiate(&y, f, 0));
    PRINT(cudaGraphDestroy(f));
    if (before != LAUNCHED)
        PRINT(cudaGraphLaunch(x, s));
    PRINT(cudaGraphLaunch(y, s));
    PRINT(cudaStreamSynchronize(s));
    PRINT(cudaGraphExecDestroy(x));
    PRINT(cudaGraphExecDestroy(y));
    PRINT(cudaStreamDestroy(s));
}

CASE(free_node_after_graph)
{
    free_node_of_destroyed_graph(NOT_LAUNCHED);
    free_node_of_destroyed_graph(LAUNCHED);
    free_node_of_destroyed_graph(LAUNCHED_AND_FREED);
}

static void export_pool(int location, size_t max_size)
{
    struct cudaMemPoolProps q = pool_props(PINNED, location, 0);
    cudaMemPool_t m = NULL;
    void *p = NULL;
    q.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    q.maxSize = max_size;
    printf("location type %d, maxSize %zu\n", location, max_size);
    cudaStreamCreate(&s);
    PRINT_INDENTED(cudaMemPoolCreate(&m, &q));
    if (!m)
        return;
    PRINT_INDENTED(
        cudaMemPoolExportToShareableHandle(&fd, m, cudaMemHandleTypePosixFileDescriptor, 0));
    PRINT_INDENTED(cudaMallocFromPoolAsync(&p, 4096, m, s));
    PRINT_INDENTED(cudaMemPoolExportPointer(&x, p));
    PRINT_INDENTED(cudaFreeAsync(p, s));
    PRINT_INDENTED(cudaStreamSynchronize(s));
    PRINT_INDENTED(cudaMemPoolDestroy(m));
    close(fd);
}

CASE(pool_with_descriptor)
{
    int types;
    cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes, 0);
    printf("handle types %d\n", types);
    for (int location = DEVICE; location <= NUMA; location++) {
        export_pool(location, 0);
        export_pool(location, 42);
    }
}

CASE(import_in_own_process)
{
    cudaMemPool_t m = shared_pool(0), i;
    void *b;
    cudaStreamCreate(&s);
    PRINT_WIDE(cudaMallocFromPoolAsync(&a, 4096, m, s));
    PRINT_WIDE(cudaStreamSynchronize(s));
    PRINT_WIDE(cudaMemPoolExportToShareableHandle(&fd, m, cudaMemHandleTypePosixFileDescriptor, 0));
    PRINT_WIDE(cudaMemPoolExportPointer(&x, a));
    PRINT_WIDE(cudaMemPoolImportFromShareableHandle(&i, (void *)(uintptr_t)fd,
                                                    cudaMemHandleTypePosixFileDescriptor, 0));
    PRINT_WIDE(cudaMemPoolImportPointer(&b, i, &x));
    printf("same address %d\n", a == b);
    PRINT_WIDE(cudaMemsetAsync(b, 7, 4096, s));
    PRINT_WIDE(cudaStreamSynchronize(s));
    PRINT_WIDE(cudaFreeAsync(a, s));
    PRINT_WIDE(cudaStreamSynchronize(s));
}

static void print_stream_line(const char *what, cudaError_t result)
{
    printf("%-34s %s\n", what, cudaGetErrorName(result));
}

CASE(invalid_stream_handle)
{
    const cudaStream_t bad = (cudaStream_t)-1;
    void *p = NULL;
    cudaMemPool_t pool;
    cudaStreamCreate(&s);
    cudaDeviceGetDefaultMemPool(&pool, 0);
    print_stream_line("cudaMallocAsync, stream -1", cudaMallocAsync(&p, 1024, bad));
    print_stream_line("cudaMallocFromPoolAsync, stream -1",
                      cudaMallocFromPoolAsync(&p, 1024, pool, bad));
    p = ready_memory(NULL, 1024);
    print_stream_line("cudaFreeAsync, stream -1", cudaFreeAsync(p, bad));
    print_stream_line("cudaStreamSynchronize, stream -1", cudaStreamSynchronize(bad));
}

CASE(destroyed_stream)
{
    void *p = NULL;
    cudaStreamCreate(&s);
    cudaStreamDestroy(s);
    print_stream_line("cudaMallocAsync, destroyed stream", cudaMallocAsync(&p, 1024, s));
}

CASE(node_parameters)
{
    cudaGraph_t g;
    cudaGraphNode_t n;
    struct cudaMemAccessDesc d = {{DEVICE, 0}, cudaMemAccessFlagsProtReadWrite};
    struct cudaMemAllocNodeParams p = {
        .poolProps = device_props(), .accessDescs = &d, .accessDescCount = 1, .bytesize = MiB};
    struct cudaMemAllocNodeParams q;
    cudaGraphCreate(&g, 0);
    cudaGraphAddMemAllocNode(&n, g, 0, 0, &p);
    cudaGraphMemAllocNodeGetParams(n, &q);
    printf(
        "same: poolProps %d accessDescs %d (null %d, contents %d) count %d bytesize %d dptr %d\n",
        !memcmp(&p.poolProps, &q.poolProps, sizeof p.poolProps), p.accessDescs == q.accessDescs,
        !q.accessDescs, q.accessDescs && !memcmp(q.accessDescs, &d, sizeof d),
        p.accessDescCount == q.accessDescCount, p.bytesize == q.bytesize, p.dptr == q.dptr);
}

static void print_refused(const char *what, cudaError_t result, const void *p)
{
    printf("%-52s %-30s pointer %s\n", what, cudaGetErrorName(result),
           !p                    ? "null"
           : p == (void *)0x1234 ? "as before"
                                 : "set");
    cudaGetLastError();
}

CASE(refused_allocation)
{
    struct cudaMemPoolProps small = device_props(), small_host = pool_props(PINNED, NUMA, 0);
    cudaMemPool_t pool, host_pool;
    void *p;
    small.maxSize = small_host.maxSize = MiB;
    cudaStreamCreate(&s);
    cudaMemPoolCreate(&pool, &small);
    cudaMemPoolCreate(&host_pool, &small_host);
#define REFUSED(what, call)              \
    do {                                 \
        p = (void *)0x1234;              \
        cudaError_t result_ = (call);    \
        print_refused(what, result_, p); \
    } while (0)
    REFUSED("cudaMallocFromPoolAsync, over maxSize",
            cudaMallocFromPoolAsync(&p, 33 * MiB, pool, s));
    REFUSED("cudaMallocFromPoolAsync, host pool, over maxSize",
            cudaMallocFromPoolAsync(&p, 33 * MiB, host_pool, s));
    REFUSED("cudaMallocAsync, 1 << 50", cudaMallocAsync(&p, (size_t)1 << 50, s));
    REFUSED("cudaMallocAsync, SIZE_MAX", cudaMallocAsync(&p, SIZE_MAX, s));
    REFUSED("cudaMallocAsync, 0", cudaMallocAsync(&p, 0, s));
    REFUSED("cudaMalloc, 1 << 50", cudaMalloc(&p, (size_t)1 << 50));
    REFUSED("cudaMalloc, 0", cudaMalloc(&p, 0));
    REFUSED("cudaMallocHost, 1 << 50", cudaMallocHost(&p, (size_t)1 << 50));
    REFUSED("cudaMallocManaged, 1 << 50",
            cudaMallocManaged(&p, (size_t)1 << 50, cudaMemAttachGlobal));
}

int main(void) { return run_plain_pairs(); }
