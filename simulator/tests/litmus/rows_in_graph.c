/* Two branches of a captured graph write the same rows, each its half of them, and join.
 *
 * WRONG: one branch writes whole rows.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(a, b)
{
    const size_t half = 512, height = 100, pitch = 1024;
    char *data;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaMalloc((void **)&data, pitch * height));

    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, a));
    CHECK(cudaStreamWaitEvent(b, fork, 0));
#ifdef WRONG
    CHECK(cudaMemset2DAsync(data, pitch, 1, 2 * half, height, a)); /* previous access */
#else
    CHECK(cudaMemset2DAsync(data, pitch, 1, half, height, a));
#endif
    CHECK(cudaMemset2DAsync(data + half, pitch, 2, half, height, b)); /* access */
    CHECK(cudaEventRecord(join, b));
    CHECK(cudaStreamWaitEvent(a, join, 0));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
}
