/* The block is freed. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t a;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));     /* one */
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return 0;
}
