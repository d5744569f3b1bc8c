/* Two executable graphs of one graph run in two streams; nothing orders them.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaGraph_t graph;
    cudaGraphExec_t first, second;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(launch_add(data, 1, count, a));               /* one */
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&first, graph, 0));
    CHECK(cudaGraphInstantiate(&second, graph, 0));
    CHECK(cudaGraphLaunch(first, a));
    CHECK(cudaGraphLaunch(second, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(first));
    CHECK(cudaGraphExecDestroy(second));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
    return 0;
}
