/* A graph copies between two devices and is launched in the legacy stream. Assumed: its copy is no
 * copy in the default stream, which would come after all work of either device: it does not wait
 * for the gate on the other device, and the host can wait for the launch before it opens that. An
 * event orders the copy after what the other device writes.
 * Devices: 2
 *
 * WRONG: nothing orders the copy after that write.
 * Kind: unordered writes */
#include "litmus.h"

LITMUS(capturing)
{
    char *from, *to;
    cudaStream_t other;
    cudaEvent_t written;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    volatile int *gate = gate_create();
    CHECK(cudaMalloc((void **)&from, MiB));
    CHECK(cudaMemset(from, 1, MiB));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreate(&written));
    CHECK(cudaMalloc((void **)&to, MiB));
    CHECK(cudaMemsetAsync(to, 2, MiB, other)); /* previous access */
    CHECK(cudaEventRecord(written, other));
    CHECK(launch_hold(gate, other));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(to, from, MiB, cudaMemcpyDefault, capturing)); /* access */
    CHECK(cudaStreamEndCapture(capturing, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(cudaStreamLegacy, written, 0));
#endif
    CHECK(cudaGraphLaunch(exec, cudaStreamLegacy));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    gate_open(gate);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(from));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaFree(to));
    gate_destroy(gate);
}
