/* Clinic, case 7. The shape of https://github.com/NVIDIA/warp/issues/1418 (Warp).
 *
 * A graph is captured on one stream, and a second stream takes part. What is freed during a capture
 * is freed by a node of the graph, which a function of the program's own adds. */
#include "kernels.h"
#include "workbook.h"

#define BYTES (16 * MiB)
#define COUNT (BYTES / sizeof(int))

static cudaStream_t capturing, forked;
static cudaEvent_t event;

static void follow(cudaStream_t waiting, cudaStream_t stream)
{
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(waiting, event, 0));
}

/* Adds a node that frees `data`, after what has been captured so far. */
static void capture_free(int *data)
{
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    const cudaGraphNode_t *before;
    cudaGraphNode_t node;
    size_t count;
    CHECK(cudaStreamGetCaptureInfo(capturing, &status, NULL, &graph, &before, NULL, &count));
    CHECK(cudaGraphAddMemFreeNode(&node, graph, before, count, data));
    CHECK(cudaStreamUpdateCaptureDependencies(capturing, &node, NULL, 1,
                                              cudaStreamSetCaptureDependencies));
}

int main(void)
{
    int *scratch, *table, *result;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&capturing));
    CHECK(cudaStreamCreate(&forked));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMallocHost((void **)&result, BYTES));

    CHECK(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&scratch, BYTES, capturing));
    follow(forked, capturing);
    for (int i = 0; i < 40; i++)
        CHECK(launch_fill(scratch, 1, COUNT, forked));
    capture_free(scratch);

    CHECK(cudaMallocAsync((void **)&table, BYTES, capturing));
    CHECK(launch_fill(table, 5, COUNT, capturing));
    CHECK(cudaMemcpyAsync(result, table, BYTES, cudaMemcpyDeviceToHost, capturing));
    CHECK(cudaFreeAsync(table, capturing));
    follow(capturing, forked);
    CHECK(cudaStreamEndCapture(capturing, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    CHECK(cudaGraphLaunch(exec, capturing));
    CHECK(cudaStreamSynchronize(capturing));
    printf("the same address: %s\n", table == scratch ? "yes" : "no");
    int last = result[COUNT - 1];
    printf("the table was filled with 5, and ends with %d\n", last);

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFreeHost(result));
    return last != 5;
}
