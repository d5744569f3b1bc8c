/* The event is recorded by an event node before the graph's kernel.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaEventRecordWithFlags(event, a, cudaEventRecordExternal));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
    return 0;
}
