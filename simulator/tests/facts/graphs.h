/* What the probes of graphs share: graphs with memory, their figures, and captures. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "probe.h"

/* ---- memory ---- */

static inline unsigned long long graph_figure(enum cudaGraphMemAttributeType attribute)
{
    uint64_t value = UINT64_MAX;
    cudaDeviceGetGraphMemAttribute(0, attribute, &value);
    return value;
}

static inline void print_graph_figures(const char *what)
{
    unsigned long long used = graph_figure(cudaGraphMemAttrUsedMemCurrent);
    unsigned long long used_high = graph_figure(cudaGraphMemAttrUsedMemHigh);
    unsigned long long reserved = graph_figure(cudaGraphMemAttrReservedMemCurrent);
    unsigned long long reserved_high = graph_figure(cudaGraphMemAttrReservedMemHigh);
    printf("  %-44s used %llu high %llu reserved %llu high %llu\n", what, used, used_high, reserved,
           reserved_high);
}

#define FIGURES_AFTER(call, what) ((void)(call), print_graph_figures(what))

static inline cudaGraph_t new_graph(void)
{
    cudaGraph_t g = NULL;
    cudaGraphCreate(&g, 0);
    return g;
}

/* Adds a node after the node `before`, or after none if that is NULL, as free_node does, too. */
static inline cudaGraphNode_t alloc_node(cudaGraph_t g, cudaGraphNode_t before, size_t bytes,
                                         void **address)
{
    struct cudaMemAllocNodeParams p = {.poolProps = device_props(), .bytesize = bytes};
    cudaGraphNode_t n = NULL;
    cudaError_t error = cudaGraphAddMemAllocNode(&n, g, &before, before != NULL, &p);
    if (error)
        printf("  allocation node of %zu: %s\n", bytes, cudaGetErrorName(error));
    *address = p.dptr;
    return n;
}

static inline cudaGraphNode_t free_node(cudaGraph_t g, cudaGraphNode_t before, void *address)
{
    cudaGraphNode_t n = NULL;
    cudaError_t error = cudaGraphAddMemFreeNode(&n, g, &before, before != NULL, address);
    if (error)
        printf("  free node: %s\n", cudaGetErrorName(error));
    return n;
}

static inline struct cudaMemsetParams memset_params(void *to, int value, size_t bytes)
{
    return (struct cudaMemsetParams){
        .dst = to, .value = (unsigned)value, .elementSize = 1, .width = bytes, .height = 1};
}

/* Returns a graph that allocates, sets and, with `with_free`, frees its memory, which otherwise
 * lives on. */
static inline cudaGraphExec_t small_graph(size_t bytes, int with_free, unsigned flags,
                                          void **address, cudaGraph_t *graph)
{
    cudaGraphExec_t x = NULL;
    void *a;
    cudaGraph_t g = new_graph();
    cudaGraphNode_t n = alloc_node(g, NULL, bytes, &a);
    struct cudaMemsetParams p = memset_params(a, 1, bytes);
    cudaGraphAddMemsetNode(&n, g, &n, 1, &p);
    if (with_free)
        free_node(g, n, a);
    cudaError_t error = cudaGraphInstantiate(&x, g, flags);
    if (error)
        printf("  instantiate: %s\n", cudaGetErrorName(error));
    if (address)
        *address = a;
    if (graph)
        *graph = g;
    return x;
}

static inline cudaGraphExec_t freeing_graph(size_t bytes)
{
    return small_graph(bytes, 1, 0, NULL, NULL);
}

static inline void launch_and_wait(cudaGraphExec_t x)
{
    cudaGraphLaunch(x, s);
    cudaStreamSynchronize(s);
}

/* ---- captures ---- */

#define RELAXED cudaStreamCaptureModeRelaxed
#define GLOBAL  cudaStreamCaptureModeGlobal
#define LOCAL   cudaStreamCaptureModeThreadLocal

static inline void begin_capture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    cudaError_t error = cudaStreamBeginCapture(stream, mode);
    if (error)
        printf("  begin: %s\n", cudaGetErrorName(error));
}

/* Ends the capture and prints its status before, the result, and what the graph holds. */
static inline void end_capture(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)77;
    cudaGraph_t g = (cudaGraph_t)1;
    size_t nodes = 0, edges = 0;
    cudaStreamIsCapturing(stream, &status);
    cudaError_t error = cudaStreamEndCapture(stream, &g);
    if (!error) {
        cudaGraphGetNodes(g, NULL, &nodes);
        cudaGraphGetEdges(g, NULL, NULL, NULL, &edges);
    }
    const char *graph = !g ? "null" : error ? "not null" : "there";
    printf("    status %d, end %s, graph %s, nodes %zu, edges %zu\n", (int)status,
           cudaGetErrorName(error), graph, nodes, edges);
    cudaGetLastError();
}

/* Makes one call while the stream is captured, and ends the capture. `first` comes before it. */
#define CAPTURE(stream, mode, call) CAPTURE_AFTER((void)0, stream, mode, call)
#define CAPTURE_AFTER(first, stream, mode, call) \
    do {                                         \
        begin_capture(stream, mode);             \
        first;                                   \
        RECORD(call);                            \
        end_capture(stream);                     \
    } while (0)

#endif
