/* Clinic, case 8. The shape of https://github.com/pytorch/pytorch/issues/193402 (PyTorch).
 *
 * Kernels of a library need a workspace. A stream has one, allocated at its first use. Graphs are
 * captured in that stream; when one is destroyed, the workspace is freed, too, so that no memory
 * stays allocated. */
#include "kernels.h"
#include "workbook.h"

#define BYTES (64 * MiB)
#define COUNT (BYTES / sizeof(int))

static cudaStream_t stream;
static int *workspace;
static int users; /* graphs that contain its address */

struct program {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
};

/* Captures a call of a library that writes into the workspace. */
static struct program program_capture(int value)
{
    struct program made;
    users++;
    if (!workspace)
        CHECK(cudaMallocAsync((void **)&workspace, BYTES, stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(launch_fill(workspace, value, COUNT, stream));
    CHECK(cudaStreamEndCapture(stream, &made.graph));
    CHECK(cudaGraphInstantiate(&made.exec, made.graph, 0));
    return made;
}

static void program_destroy(struct program *gone)
{
    CHECK(cudaGraphExecDestroy(gone->exec));
    CHECK(cudaGraphDestroy(gone->graph));
    if (--users > 0)
        return;
    CHECK(cudaFreeAsync(workspace, stream));
    workspace = NULL;
}

int main(void)
{
    int *table, value;
    CHECK(cudaStreamCreate(&stream));
    struct program training = program_capture(1), evaluation = program_capture(2);
    CHECK(cudaGraphLaunch(training.exec, stream));
    CHECK(cudaGraphLaunch(evaluation.exec, stream));
    program_destroy(&evaluation);

    CHECK(cudaMallocAsync((void **)&table, BYTES, stream));
    CHECK(launch_fill(table, 5, COUNT, stream));
    CHECK(cudaGraphLaunch(training.exec, stream));
    CHECK(cudaMemcpyAsync(&value, table, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(table, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("the table was filled with 5, and holds %d\n", value);

    program_destroy(&training);
    CHECK(cudaStreamSynchronize(stream));
    return value != 5;
}
