/* The next launch waits for the free. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t launched, freed;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&launched));
    CHECK(cudaEventCreate(&freed));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));     /* other */
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaEventRecord(launched, a));
    CHECK(cudaStreamWaitEvent(b, launched, 0));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));                      /* one */
    CHECK(cudaEventRecord(freed, b));
    CHECK(cudaStreamWaitEvent(a, freed, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return 0;
}
