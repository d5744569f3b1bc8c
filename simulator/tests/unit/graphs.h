/* For programs that test graphs: nodes, figures, and a small graph. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "expect.h"

#include "kernels.h"

static cudaStream_t s, t;
static cudaEvent_t event;
static int *pinned;

static inline size_t figure(enum cudaGraphMemAttributeType attribute)
{
    uint64_t value = UINT64_MAX;
    OK(cudaDeviceGetGraphMemAttribute(0, attribute, &value));
    return (size_t)(value / MiB);
}

static inline size_t reserved(void) { return figure(cudaGraphMemAttrReservedMemCurrent); }
static inline size_t used(void) { return figure(cudaGraphMemAttrUsedMemCurrent); }

static inline cudaGraphNode_t add_alloc(cudaGraph_t g, const cudaGraphNode_t *before, size_t bytes,
                                        void **address)
{
    struct cudaMemAllocNodeParams p;
    cudaGraphNode_t node;
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = bytes;
    OK(cudaGraphAddMemAllocNode(&node, g, before, before != NULL, &p));
    *address = p.dptr;
    return node;
}

static inline cudaGraphNode_t add_free(cudaGraph_t g, cudaGraphNode_t before, void *address)
{
    cudaGraphNode_t node;
    OK(cudaGraphAddMemFreeNode(&node, g, &before, 1, address));
    return node;
}

static inline cudaGraphNode_t add_memset(cudaGraph_t g, cudaGraphNode_t before, void *address,
                                         unsigned value, unsigned element, size_t width)
{
    struct cudaMemsetParams p = {
        .dst = address, .value = value, .elementSize = element, .width = width, .height = 1};
    cudaGraphNode_t node;
    OK(cudaGraphAddMemsetNode(&node, g, &before, 1, &p));
    return node;
}

/* Allocates, sets every int, copies them to pinned memory, and frees (or not). */
static inline cudaGraph_t small_graph(void **address, int with_free)
{
    cudaGraph_t g;
    cudaGraphNode_t node;
    OK(cudaGraphCreate(&g, 0));
    node = add_alloc(g, NULL, 64 * MiB, address);
    node = add_memset(g, node, *address, 0x01020304, 4, 1024);
    OK(cudaGraphAddMemcpyNode1D(&node, g, &node, 1, pinned, *address, 4096,
                                cudaMemcpyDeviceToHost));
    if (with_free)
        add_free(g, node, *address);
    return g;
}

static inline void nothing_left(void)
{
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceGraphMemTrim(0));
    SAME(0, reserved());
    SAME(0, used());
}

static inline void set_up(void)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaMallocHost((void **)&pinned, MiB));
}

static inline int tear_down(void)
{
    OK(cudaFreeHost(pinned));
    if (!wrong)
        puts("all as expected");
    return wrong;
}

#endif
