/* Records what the driver API says of calls for a stream of another context than the current one:
 * copies and memsets of a pool's memory and of cuMemAlloc's, and graph nodes with a context. The
 * stream `s`, the pool's memory `a` and `b`, and `m` and `n` of cuMemAlloc belong to the first
 * context, the primary one. */
#include "ask_driver.h"

static CUcontext first, second;
static CUdeviceptr of_pool, to_pool, of_alloc, to_alloc;
static CUstream own; /* a stream of the second context */
static CUevent event;

/* Leaves the second context current; the stream and the memory belong to the first. */
static void set_up(void)
{
    cudaMallocAsync((void **)&of_pool, MiB, s);
    cudaMallocAsync((void **)&to_pool, MiB, s);
    cudaMalloc((void **)&of_alloc, MiB);
    cudaMalloc((void **)&to_alloc, MiB);
    cudaStreamSynchronize(s);
    DRIVER(cuCtxGetCurrent)(&first);
    ASK(cuEventCreate, &event, 0);
    ASK(cuCtxCreate, &second, NULL, 0, 0);
    ASK(cuStreamCreate, &own, CU_STREAM_NON_BLOCKING);
}

static void set_up_with_first_current(void)
{
    set_up();
    DRIVER(cuCtxSetCurrent)(first);
}

/* Every copy, with the memory in each of the two ways, in the stream `in`. */
static void copies(CUstream in)
{
    CUdeviceptr a = of_pool, b = to_pool, m = of_alloc, n = to_alloc;
    ASK(cuMemcpyAsync, b, a, MiB, in);
    ASK(cuMemcpyDtoDAsync, b, a, MiB, in);
    ASK(cuMemcpyDtoHAsync, host, a, MiB, in);
    ASK(cuMemcpyHtoDAsync, a, host, MiB, in);
    ASK(cuMemcpyPeerAsync, b, first, a, first, MiB, in);
    ASK(cuMemcpyPeerAsync, b, second, a, first, MiB, in);
    ASK(cuMemcpyPeerAsync, b, second, a, second, MiB, in);
    ASK(cuMemsetD8Async, a, 1, MiB, in);
    ASK(cuMemcpyDtoDAsync, n, m, MiB, in);
    ASK(cuMemcpyDtoHAsync, host, m, MiB, in);
    ASK(cuMemcpyPeerAsync, n, second, m, second, MiB, in);
    ASK(cuMemsetD8Async, m, 1, MiB, in);
    ASK(cuStreamSynchronize, in);
}

CASE_AFTER(set_up_with_first_current, copies_in_the_stream_of_the_current_context) { copies(s); }

CASE_AFTER(set_up, copies_in_a_stream_of_another_context) { copies(s); }

CASE_AFTER(set_up, copies_in_a_stream_of_the_second_context) { copies(own); }

CASE_AFTER(set_up_with_first_current,
           copies_in_a_stream_of_the_second_context_while_the_first_is_current)
{
    copies(own);
}

CASE_AFTER(set_up, allocations_and_events_in_a_stream_of_another_context)
{
    CUdeviceptr p = 0;
    CUcontext of_stream = NULL;
    ASK(cuStreamGetCtx, s, &of_stream);
    NOTE("the stream's context is %s", of_stream == first ? "the first" : "another");
    ASK(cuMemAllocAsync, &p, MiB, s);
    ASK(cuMemFreeAsync, p, s);
    ASK(cuMemFreeAsync, of_pool, s);
    ASK(cuMemFreeAsync, to_pool, own);
    ASK(cuEventRecord, event, s);
    ASK(cuEventRecord, event, own);
    ASK(cuStreamWaitEvent, own, event, 0);
    ASK(cuStreamWaitEvent, s, event, 0);
    ASK(cuStreamQuery, s);
    ASK(cuStreamSynchronize, s);
    ASK(cuStreamSynchronize, own);
}

static void print_attributes_of(const char *what, CUdeviceptr address)
{
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
    CUcontext context = first;
    unsigned type = 99;
    int ordinal = 99;
    CUmemoryPool owner = NULL;
    cudaMemPool_t pool = NULL;
    void *values[] = {&context, &type, &ordinal, &owner};
    cudaDeviceGetDefaultMemPool(&pool, 0);
    ASK(cuPointerGetAttributes, 4, names, values, address);
    NOTE("%s: context %s, type %u, device %d, pool %s", what,
         !context            ? "null"
         : context == first  ? "the first"
         : context == second ? "the second"
                             : "another",
         type, ordinal,
         !owner                          ? "null"
         : (void *)owner == (void *)pool ? "the default pool"
                                         : "another");
}

CASE_AFTER(set_up, attributes_of_pointers)
{
    CUdeviceptr p = 0;
    print_attributes_of("cudaMallocAsync", of_pool);
    print_attributes_of("cudaMalloc", of_alloc);
    ASK(cuMemAlloc, &p, MiB);
    print_attributes_of("cuMemAlloc", p);
    ASK(cuMemAllocAsync, &p, MiB, own);
    print_attributes_of("cuMemAllocAsync", p);
    DRIVER(cuCtxSetCurrent)(first);
    print_attributes_of("cuMemAllocAsync", p);
}

/* A graph with one memset of the memory at `p`, whose node names a context. */
static void memset_node(CUdeviceptr p, CUcontext context)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = p, .elementSize = 1, .value = 7, .width = MiB, .height = 1};
    unsigned char byte = 0;
    DRIVER(cuGraphCreate)(&graph, 0);
    if (ASK(cuGraphAddMemsetNode, &node, graph, NULL, 0, &set, context))
        return;
    if (ASK(cuGraphInstantiateWithFlags, &exec, graph, 0))
        return;
    ASK(cuGraphLaunch, exec, s);
    ASK(cuStreamSynchronize, s);
    DRIVER(cuMemcpyDtoH)(&byte, p, 1);
    NOTE("the first byte is %d", byte);
}

#define MEMSET_NODE(title, memory, context) \
    CASE_AFTER(set_up_with_first_current, memset_node_##title) { memset_node(memory, context); }
MEMSET_NODE(of_pool_memory, of_pool, first)
MEMSET_NODE(of_pool_memory_with_another_context, of_pool, second)
MEMSET_NODE(of_pool_memory_without_a_context, of_pool, NULL)
MEMSET_NODE(of_cuda_malloc_with_another_context, of_alloc, second)

CASE_AFTER(set_up, memset_node_launched_while_another_context_is_current)
{
    memset_node(of_pool, first);
}

CASE_AFTER(set_up_with_first_current, memset_captured)
{
    CUgraph graph;
    CUgraphExec exec;
    unsigned char byte = 0;
    ASK(cuStreamBeginCapture, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ASK(cuMemsetD8Async, of_pool, 7, MiB, s);
    ASK(cuStreamEndCapture, s, &graph);
    ASK(cuGraphInstantiateWithFlags, &exec, graph, 0);
    ASK(cuGraphLaunch, exec, s);
    ASK(cuStreamSynchronize, s);
    DRIVER(cuMemcpyDtoH)(&byte, of_pool, 1);
    NOTE("the first byte is %d", byte);
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
