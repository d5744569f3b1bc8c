/* Stream capture: what becomes a node, which streams take part, and how it ends. One function for
 * each rule. */
#include "captures.h"

static void beginning_and_end(void)
{
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
    IS(cudaErrorInvalidValue, cudaStreamBeginCapture(s, (enum cudaStreamCaptureMode)7));
    IS(cudaErrorIllegalState, cudaStreamEndCapture(s, &graph));
    begin(s, cudaStreamCaptureModeGlobal);
    IS(cudaErrorIllegalState, cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    SAME(cudaStreamCaptureStatusActive, status(s));
    SAME(cudaStreamCaptureStatusNone, status(t));
    SAME(0, ends_well(s));
    begin(s, cudaStreamCaptureModeGlobal);
    IS(cudaSuccess, cudaStreamEndCapture(s, NULL)); /* ends it; the graph is lost */
    SAME(cudaStreamCaptureStatusNone, status(s));
}

static void nothing(void *unused) { (void)unused; }

static void what_is_captured(void)
{
    size_t count = 0, edges = 0;
    static char pageable[64];
    cudaGraphNode_t nodes[8];
    static const enum cudaGraphNodeType types[] = {cudaGraphNodeTypeMemset, cudaGraphNodeTypeMemcpy,
                                                   cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeKernel,
                                                   cudaGraphNodeTypeKernel, cudaGraphNodeTypeKernel,
                                                   cudaGraphNodeTypeHost};
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaMemsetAsync(memory, 1, 64, s));
    OK(cudaMemcpyAsync(memory, pinned, 64, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpyAsync(pageable, memory, 64, cudaMemcpyDeviceToHost, s));
    OK(launch_fill(memory, 1, 4, s));
    OK(launch_add(memory, 1, 4, s));
    OK(launch_hold(pinned, s));
    OK(cudaLaunchHostFunc(s, nothing, NULL));
    OK(cudaEventRecord(event, s)); /* no node */
    /* The memset runs past the block's end, and the capture continues. */
    IS(cudaErrorInvalidValue, cudaMemcpyAsync(memory, pinned, 2 * MiB, cudaMemcpyHostToDevice, s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &count));
    SAME(7, count);
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    SAME(6, edges);
    count = 8;
    OK(cudaGraphGetNodes(graph, nodes, &count));
    SAME(0, (uintptr_t)nodes[7]);
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type;
        OK(cudaGraphNodeGetType(nodes[i], &type));
        SAME(types[i], type);
    }
    OK(cudaGraphDestroy(graph));
}

static void called_back(cudaStream_t stream, cudaError_t error, void *unused)
{
    (void)stream, (void)error, (void)unused;
}

/* Documented: cudaStreamAddCallback is not supported with a capture, unlike cudaLaunchHostFunc. */
static void callbacks(void)
{
    begin(s, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamAddCallback(s, called_back, NULL, 0));
    IS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s, &graph));
    OK(cudaStreamAddCallback(s, called_back, NULL, 0));
    OK(cudaStreamSynchronize(s));
}

/* A capture checks no kernel's arguments, so a hold without a gate is a node, too. */
static void hold_without_gate(void)
{
    size_t count = 0;
    begin(s, cudaStreamCaptureModeGlobal);
    OK(launch_hold(NULL, s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &count));
    SAME(1, count);
    OK(cudaGraphDestroy(graph));
}

/* Instantiating, not capturing, checks a memset's range: graph memory by segments, other memory by
 * the block. */
static void memset_ranges(void)
{
    cudaGraphExec_t exec;
    void *block;
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaMemsetAsync(memory, 1, 2 * MiB, s));
    OK(cudaStreamEndCapture(s, &graph));
    IS(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (size_t mib = 33; mib >= 32; mib--) {
        begin(s, cudaStreamCaptureModeGlobal);
        OK(cudaMallocAsync(&block, MiB, s));
        OK(cudaMemsetAsync(block, 1, mib * MiB, s));
        OK(cudaFreeAsync(block, s));
        OK(cudaStreamEndCapture(s, &graph));
        IS(mib == 33 ? cudaErrorInvalidValue : cudaSuccess, cudaGraphInstantiate(&exec, graph, 0));
        OK(cudaGraphDestroy(graph));
    }
    OK(cudaGraphExecDestroy(exec));
}

/* Destroying the stream in which the capture began ends the capture. Work of another destroyed
 * stream counts as not joined. */
static void destroyed_streams(void)
{
    cudaStream_t u;
    OK(cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking));
    begin(u, cudaStreamCaptureModeGlobal);
    OK(cudaEventRecord(event, u));
    OK(cudaStreamWaitEvent(s, event, 0));
    OK(cudaStreamDestroy(u));
    SAME(cudaStreamCaptureStatusNone, status(s));
    OK(cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking));
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaEventRecord(event, s));
    OK(cudaStreamWaitEvent(u, event, 0));
    OK(cudaMemsetAsync(memory, 0, 4, u));
    OK(cudaStreamDestroy(u));
    IS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(s, &graph));
}

/* s forks to t by an event, t works and, with `back`, joins again. */
static void fork_and_join(int back)
{
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaMemsetAsync(memory, 0, 4, s));
    OK(cudaEventRecord(event, s));
    OK(cudaStreamWaitEvent(t, event, 0));
    SAME(cudaStreamCaptureStatusActive, status(t));
    OK(cudaMemsetAsync((char *)memory + 64, 0, 4, t));
    OK(cudaMemsetAsync((char *)memory + 128, 0, 4, s));
    if (!back)
        return;
    OK(cudaEventRecord(event, t));
    OK(cudaStreamWaitEvent(s, event, 0));
    OK(cudaMemsetAsync(memory, 0, 256, s));
}

static void several_streams(void)
{
    size_t count = 0;
    fork_and_join(1);
    OK(cudaStreamEndCapture(s, &graph));
    SAME(cudaStreamCaptureStatusNone, status(t));
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    SAME(4, count);
    OK(cudaGraphDestroy(graph));
    fork_and_join(0);
    IS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(s, &graph));
    SAME(0, (uintptr_t)graph);
    SAME(cudaStreamCaptureStatusNone, status(t));
    fork_and_join(1);
    IS(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(t, &graph));
    ends_invalid(s);
    /* Work that is given to t changes the end of the capture in s, too. */
    fork_and_join(0);
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(t));
    ends_invalid(s);
}

static void borders(void)
{
    begin(s, cudaStreamCaptureModeGlobal);
    /* An event that was never recorded: there is nothing to wait for. */
    OK(cudaStreamWaitEvent(s, other, 0));
    OK(cudaEventRecord(other, t));
    IS(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(s, other, 0));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaStreamWaitEvent(s, other, cudaEventWaitExternal));
    OK(cudaEventRecordWithFlags(event, s, cudaEventRecordExternal));
    SAME(2, ends_well(s));
    begin(s, cudaStreamCaptureModeGlobal);
    begin(t, cudaStreamCaptureModeGlobal);
    OK(cudaEventRecord(event, s));
    IS(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(t, event, 0));
    ends_invalid(s);
    ends_invalid(t);
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaEventRecord(event, s));
    SAME(0, ends_well(s));
    /* The capture of the event is over. */
    IS(cudaErrorInvalidValue, cudaStreamWaitEvent(t, event, 0));
    IS(cudaErrorInvalidValue, cudaEventQuery(event));
    begin(s, cudaStreamCaptureModeGlobal);
    IS(cudaErrorInvalidValue, cudaEventSynchronize(event));
    SAME(cudaStreamCaptureStatusActive, status(s));
    IS(cudaErrorInvalidValue, cudaStreamWaitEvent(s, event, 0));
    ends_invalid(s);
    OK(cudaEventRecord(event, t));
    OK(cudaStreamWaitEvent(s, event, 0));
    OK(cudaEventSynchronize(event));
}

static void information(void)
{
    enum cudaStreamCaptureStatus now;
    unsigned long long id = 0, next = 0;
    cudaGraph_t into = NULL;
    const cudaGraphNode_t *tips = NULL;
    const cudaGraphEdgeData *data = NULL;
    cudaGraphNode_t first;
    size_t count = 0;
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaMemsetAsync(memory, 0, 4, s));
    OK(cudaStreamGetCaptureInfo(s, &now, &id, &into, &tips, &data, &count));
    SAME(0, data[0].from_port | data[0].to_port | data[0].type);
    SAME(cudaStreamCaptureStatusActive, now);
    SAME(1, count);
    first = tips[0];
    IS(cudaErrorInvalidValue, cudaGraphDestroy(into));
    OK(cudaMemsetAsync(memory, 0, 4, s));
    OK(cudaStreamUpdateCaptureDependencies(s, &first, NULL, 1, cudaStreamSetCaptureDependencies));
    OK(cudaStreamGetCaptureInfo(s, &now, NULL, NULL, &tips, NULL, &count));
    SAME(1, tips[0] == first);
    SAME(2, ends_well(s));
    IS(cudaErrorIllegalState, cudaStreamUpdateCaptureDependencies(s, NULL, NULL, 0, 0));
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaStreamGetCaptureInfo(s, &now, &next, NULL, NULL, NULL, NULL));
    SAME(1, next != id);
    SAME(0, ends_well(s));
}

int main(void)
{
    void (*const rules[])(void) = {beginning_and_end, what_is_captured, callbacks,
                                   hold_without_gate, memset_ranges,    destroyed_streams,
                                   several_streams,   borders,          information};
    return RUN_ALL(rules);
}
