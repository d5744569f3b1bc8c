/* While capturing, the kernel that writes over the second stream's work comes before the join.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaMalloc((void **)&data, 2 * MiB));

    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaEventRecord(fork, a));
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaStreamWaitEvent(b, fork, 0));
    CHECK(launch_fill(data + count, 1, count, b));      /* one */
    CHECK(cudaEventRecord(join, b));
    CHECK(launch_add(data, 1, 2 * count, a));           /* other */
    CHECK(cudaStreamWaitEvent(a, join, 0));
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
    return 0;
}
