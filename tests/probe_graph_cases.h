/* What the probes of graphs share: nodes with memory, figures, captures. */
#ifndef PROBE_GRAPH_CASES_H
#define PROBE_GRAPH_CASES_H

#include "probe_cases.h"

/* ---- graph memory ---- */

static inline uint64_t graph_figure(enum cudaGraphMemAttributeType a) { uint64_t v = UINT64_MAX; cudaDeviceGetGraphMemAttribute(0, a, &v); return v; }
static inline void graph_figures(const char *what)
{
    printf("  %-44s used %llu high %llu reserved %llu high %llu\n", what, (unsigned long long)graph_figure(cudaGraphMemAttrUsedMemCurrent), (unsigned long long)graph_figure(cudaGraphMemAttrUsedMemHigh), (unsigned long long)graph_figure(cudaGraphMemAttrReservedMemCurrent), (unsigned long long)graph_figure(cudaGraphMemAttrReservedMemHigh));
    fflush(stdout);
}

static inline cudaGraphNode_t alloc_node(cudaGraph_t g, cudaGraphNode_t before, size_t bytes, void **address)
{
    struct cudaMemAllocNodeParams p;
    cudaGraphNode_t n = NULL;
    memset(&p, 0, sizeof p);
    p.poolProps = props_of(cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, 0);
    p.bytesize = bytes;
    cudaError_t e = cudaGraphAddMemAllocNode(&n, g, &before, before != NULL, &p);
    if (e) printf("  allocation node of %zu: %s\n", bytes, cudaGetErrorName(e));
    *address = p.dptr;
    return n;
}

static inline cudaGraphNode_t free_node(cudaGraph_t g, cudaGraphNode_t before, void *address)
{
    cudaGraphNode_t n = NULL;
    cudaError_t e = cudaGraphAddMemFreeNode(&n, g, &before, before != NULL, address);
    if (e) printf("  free node: %s\n", cudaGetErrorName(e));
    return n;
}

/* allocate, set, free (or not) */
static inline cudaGraphExec_t small(size_t bytes, int with_free, unsigned flags, void **address, cudaGraph_t *graph)
{
    cudaGraph_t g;
    cudaGraphExec_t x = NULL;
    cudaGraphNode_t n;
    void *a;
    cudaGraphCreate(&g, 0);
    n = alloc_node(g, NULL, bytes, &a);
    struct cudaMemsetParams p = { .dst = a, .value = 1, .elementSize = 1, .width = bytes, .height = 1 };
    cudaGraphAddMemsetNode(&n, g, &n, 1, &p);
    if (with_free) free_node(g, n, a);
    cudaError_t e = cudaGraphInstantiate(&x, g, flags);
    if (e) printf("  instantiate: %s\n", cudaGetErrorName(e));
    if (address) *address = a;
    if (graph) *graph = g;
    return x;
}

/* ---- capture ---- */

static inline void begin(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    cudaError_t e = cudaStreamBeginCapture(stream, mode);
    if (e) printf("  begin: %s\n", cudaGetErrorName(e));
}

static inline void end(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus now = (enum cudaStreamCaptureStatus)77;
    cudaGraph_t g = (cudaGraph_t)1;
    size_t nodes = 0, edges = 0;
    cudaStreamIsCapturing(stream, &now);
    cudaError_t e = cudaStreamEndCapture(stream, &g);
    if (!e) { cudaGraphGetNodes(g, NULL, &nodes); cudaGraphGetEdges(g, NULL, NULL, NULL, &edges); }
    printf("    status %d, end %s, graph %s, nodes %zu, edges %zu\n", (int)now, cudaGetErrorName(e), !g ? "null" : e ? "not null" : "there", nodes, edges);
    cudaGetLastError();
    fflush(stdout);
}
#define CAPTURE(stream, mode, call) do { begin(stream, mode); ASK(call); end(stream); } while (0)
#define RELAXED cudaStreamCaptureModeRelaxed
#define GLOBAL cudaStreamCaptureModeGlobal
#define LOCAL cudaStreamCaptureModeThreadLocal

#endif
