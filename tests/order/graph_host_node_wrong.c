/* A host node of a graph sets the flag before the kernel behind it is over.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

#include <stdatomic.h>

static atomic_int flag;

static void set_flag(void *unused)
{
    (void)unused;
    atomic_store(&flag, 1);
}

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, a));
    while (!atomic_load(&flag)) (void)cudaStreamQuery(b);
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
    return 0;
}
