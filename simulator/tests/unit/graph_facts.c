/* The measured lines of simulator/tests/facts/one-gpu.txt, "graph memory nodes", printed by the
 * same
 * calls. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include "ask.h"

#define MiB ((size_t)1 << 20)

static size_t graph_attribute(enum cudaGraphMemAttributeType attribute)
{
    uint64_t value = UINT64_MAX;
    cudaDeviceGetGraphMemAttribute(0, attribute, &value);
    return (size_t)value;
}

static size_t pool_attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    uint64_t value = UINT64_MAX;
    cudaMemPoolGetAttribute(pool, attribute, &value);
    return (size_t)value;
}

int main(void)
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaMemPool_t def;
    void *a, *b;
    size_t nodes = 0;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaDeviceGetDefaultMemPool(&def, 0);
    puts("## graph memory nodes");
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    ASK(cudaMallocAsync(&a, 64 * MiB, s));
    ASK(cudaMemsetAsync(a, 1, 64 * MiB, s));
    ASK(cudaFreeAsync(a, s));
    ASK(cudaMallocAsync(&b, 64 * MiB, s));
    printf("  second allocation in the same capture: same address %d\n", a == b);
    ASK(cudaFreeAsync(b, s));
    ASK(cudaStreamEndCapture(s, &g));
    cudaGraphGetNodes(g, NULL, &nodes);
    printf("  nodes %zu\n", nodes);
    ASK(cudaGraphInstantiate(&x, g, 0));
    printf("  graph reserved before launch %zu\n",
           graph_attribute(cudaGraphMemAttrReservedMemCurrent));
    ASK(cudaGraphLaunch(x, s));
    cudaStreamSynchronize(s);
    printf("  graph reserved after launch %zu\n",
           graph_attribute(cudaGraphMemAttrReservedMemCurrent));
    printf("  graph used high %zu\n", graph_attribute(cudaGraphMemAttrUsedMemHigh));
    printf("  %-46s reserved %zu used %zu\n", "default pool",
           pool_attribute(def, cudaMemPoolAttrReservedMemCurrent),
           pool_attribute(def, cudaMemPoolAttrUsedMemCurrent));
    ASK(cudaDeviceGraphMemTrim(0));
    printf("  graph reserved after trim %zu\n",
           graph_attribute(cudaGraphMemAttrReservedMemCurrent));
    return 0;
}
