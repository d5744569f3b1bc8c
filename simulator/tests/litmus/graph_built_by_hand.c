/* Two nodes of a graph write the same bytes, and an edge orders them.
 *
 * WRONG: the second node has no dependency: the edge is missing.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a)
{
    int *data;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t first, second;
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaGraphCreate(&graph, 0));
    struct cudaMemsetParams set = {
        .dst = data, .value = 1, .elementSize = 4, .width = MiB / 4, .height = 1};
    CHECK(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &set)); /* previous access */
#ifdef WRONG
    CHECK(cudaGraphAddMemsetNode(&second, graph, NULL, 0, &set)); /* access */
#else
    CHECK(cudaGraphAddMemsetNode(&second, graph, &first, 1, &set));
#endif
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
}
