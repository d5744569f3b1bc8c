/* One executable graph is launched in two streams: the second launch waits for the first.
 *
 * WRONG: two executable graphs of the same graph are launched, which nothing orders: no edge from
 * the one's write to the other's.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    int *data;
    cudaGraph_t graph;
    cudaGraphExec_t first, second;
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(launch_add(data, 1, count, a)); /* previous access */
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&first, graph, 0));
    CHECK(cudaGraphInstantiate(&second, graph, 0));
    CHECK(cudaGraphLaunch(first, a));
#ifdef WRONG
    CHECK(cudaGraphLaunch(second, b));
#else
    CHECK(cudaGraphLaunch(first, b));
#endif
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(first));
    CHECK(cudaGraphExecDestroy(second));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
}
