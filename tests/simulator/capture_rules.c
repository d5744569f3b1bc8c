/* Stream capture: each rule and each error code, one function for each. */
#include "expect.h"

#include <pthread.h>
#include "kernels.h"

static cudaStream_t s, t, blocking;
static cudaEvent_t event, other;
static cudaGraph_t graph;
static void *memory, *pinned;

static void begin(cudaStream_t stream, enum cudaStreamCaptureMode mode) { OK(cudaStreamBeginCapture(stream, mode)); }

static enum cudaStreamCaptureStatus status(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus answer = (enum cudaStreamCaptureStatus)99;
    OK(cudaStreamIsCapturing(stream, &answer));
    return answer;
}

/* The capture of this stream has been invalidated: it ends with this, and without a graph; then the stream works as before. */
static void ends_invalid(cudaStream_t stream)
{
    char *own = (char *)memory + (stream == s ? 4096 : stream == t ? 8192 : 12288);
    graph = (cudaGraph_t)1;
    SAME(cudaStreamCaptureStatusInvalidated, status(stream));
    IS(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(own, 0, 4, stream));
    IS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    SAME(0, (uintptr_t)graph);
    SAME(cudaStreamCaptureStatusNone, status(stream));
    IS(cudaSuccess, cudaMemsetAsync(own, 0, 4, stream));
}

static size_t ends_well(cudaStream_t stream)
{
    size_t nodes = 0;
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    OK(cudaGraphDestroy(graph));
    return nodes;
}

static void beginning_and_end(void)
{
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
    IS(cudaErrorInvalidValue, cudaStreamBeginCapture(s, (enum cudaStreamCaptureMode)7));
    IS(cudaErrorIllegalState, cudaStreamEndCapture(s, &graph));
    begin(s, cudaStreamCaptureModeGlobal);
    IS(cudaErrorIllegalState, cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    IS(cudaErrorInvalidValue, cudaStreamEndCapture(s, NULL));
    SAME(cudaStreamCaptureStatusActive, status(s));
    SAME(cudaStreamCaptureStatusNone, status(t));
    SAME(0, ends_well(s));
}

static void nothing(void *unused) { (void)unused; }

static void what_is_captured(void)
{
    size_t count = 0, edges = 0;
    static char pageable[64];
    cudaGraphNode_t nodes[8];
    static const enum cudaGraphNodeType types[] = { cudaGraphNodeTypeMemset, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeKernel, cudaGraphNodeTypeKernel, cudaGraphNodeTypeKernel, cudaGraphNodeTypeHost };
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaMemsetAsync(memory, 1, 64, s));
    OK(cudaMemcpyAsync(memory, pinned, 64, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpyAsync(pageable, memory, 64, cudaMemcpyDeviceToHost, s));
    OK(launch_fill(memory, 1, 4, s));
    OK(launch_add(memory, 1, 4, s));
    OK(launch_hold(pinned, s));
    OK(cudaLaunchHostFunc(s, nothing, NULL));
    OK(cudaEventRecord(event, s));                           /* no node */
    IS(cudaErrorInvalidValue, cudaMemsetAsync(memory, 1, 2 * MiB, s));      /* runs past the block's end; the capture goes on */
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

static void not_while_capturing(void)
{
    begin(s, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(s));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(s));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize());
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeRelaxed);
    IS(cudaSuccess, cudaStreamSynchronize(t));
    IS(cudaSuccess, cudaStreamQuery(t));
    OK(cudaEventRecord(event, s));
    IS(cudaErrorCapturedEvent, cudaEventQuery(event));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeRelaxed);
    OK(cudaEventRecord(event, s));
    IS(cudaErrorCapturedEvent, cudaEventSynchronize(event));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamDestroy(s));
    ends_invalid(s);
}

static void unsafe_calls(void)
{
    void *p;
    begin(s, cudaStreamCaptureModeGlobal);
    IS(cudaErrorStreamCaptureUnsupported, cudaMalloc(&p, 64));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeThreadLocal);
    IS(cudaErrorStreamCaptureUnsupported, cudaMallocHost(&p, 64));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeThreadLocal);
    IS(cudaErrorStreamCaptureUnsupported, cudaFree(memory));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeRelaxed);
    IS(cudaSuccess, cudaMalloc(&p, 64));
    IS(cudaSuccess, cudaFree(p));
    SAME(0, ends_well(s));
    begin(s, cudaStreamCaptureModeGlobal);                   /* the thread's own mode lifts it */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    SAME(cudaStreamCaptureModeGlobal, mode);
    IS(cudaSuccess, cudaMalloc(&p, 64));
    IS(cudaSuccess, cudaFree(p));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    SAME(cudaStreamCaptureModeRelaxed, mode);
    SAME(0, ends_well(s));
}

static void *in_a_thread(void *expected)
{
    void *p;
    is(__FILE__, __LINE__, "cudaMalloc in another thread", cudaMalloc(&p, 64), *(cudaError_t *)expected);
    if (*(cudaError_t *)expected == cudaSuccess) cudaFree(p);
    return NULL;
}

static void *end_in_a_thread(void *unused)
{
    (void)unused;
    IS(cudaErrorStreamCaptureWrongThread, cudaStreamEndCapture(s, &graph));
    return NULL;
}

static void run_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    pthread_create(&thread, NULL, body, argument);
    pthread_join(thread, NULL);
}

static void threads(void)
{
    begin(s, cudaStreamCaptureModeGlobal);
    run_thread(in_a_thread, &(cudaError_t){ cudaErrorStreamCaptureUnsupported });
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeThreadLocal);
    run_thread(in_a_thread, &(cudaError_t){ cudaSuccess });
    run_thread(end_in_a_thread, NULL);
    SAME(0, ends_well(s));
}

static void legacy_stream(void)
{
    enum cudaStreamCaptureStatus answer;
    begin(blocking, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureImplicit, cudaStreamIsCapturing(0, &answer));
    IS(cudaErrorStreamCaptureImplicit, cudaStreamGetCaptureInfo(0, &answer, NULL, NULL, NULL, NULL, NULL));
    SAME(cudaStreamCaptureStatusActive, status(blocking));   /* a question invalidates nothing */
    IS(cudaErrorStreamCaptureImplicit, cudaMemsetAsync(memory, 0, 4, 0));
    ends_invalid(blocking);
    begin(blocking, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureImplicit, cudaMemcpy(memory, pinned, 4, cudaMemcpyHostToDevice));
    ends_invalid(blocking);
    begin(blocking, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureImplicit, cudaStreamSynchronize(0));
    ends_invalid(blocking);
    begin(blocking, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureImplicit, cudaEventRecord(event, 0));
    ends_invalid(blocking);
    begin(s, cudaStreamCaptureModeRelaxed);                  /* a non-blocking stream does not tie the legacy one */
    IS(cudaSuccess, cudaMemsetAsync(memory, 0, 4, 0));
    IS(cudaSuccess, cudaStreamSynchronize(0));
    SAME(0, ends_well(s));
}

/* s forks to t by an event; t works; `back`: and joins again. */
static void fork_and_join(int back)
{
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaMemsetAsync(memory, 0, 4, s));
    OK(cudaEventRecord(event, s));
    OK(cudaStreamWaitEvent(t, event, 0));
    SAME(cudaStreamCaptureStatusActive, status(t));
    OK(cudaMemsetAsync((char *)memory + 64, 0, 4, t));
    OK(cudaMemsetAsync((char *)memory + 128, 0, 4, s));
    if (!back) return;
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
    OK(cudaGraphGetRootNodes(graph, NULL, &count));
    SAME(1, count);
    OK(cudaGraphDestroy(graph));
    fork_and_join(0);
    IS(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(s, &graph));
    SAME(0, (uintptr_t)graph);
    SAME(cudaStreamCaptureStatusNone, status(t));
    fork_and_join(1);
    IS(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(t, &graph));
    ends_invalid(s);
    fork_and_join(0);                                        /* what t is told to do ends the capture of s, too */
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(t));
    ends_invalid(s);
}

static void borders(void)
{
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaStreamWaitEvent(s, other, 0));                    /* never recorded: nothing to wait for */
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
    IS(cudaErrorCapturedEvent, cudaStreamWaitEvent(t, event, 0));           /* the capture is over, the event is of it */
    IS(cudaErrorCapturedEvent, cudaEventQuery(event));
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
    cudaGraphNode_t first;
    size_t count = 0;
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaMemsetAsync(memory, 0, 4, s));
    OK(cudaStreamGetCaptureInfo(s, &now, &id, &into, &tips, NULL, &count));
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
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&first, graph, NULL, 0));
    OK(cudaStreamBeginCaptureToGraph(s, graph, &first, NULL, 1, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(memory, 0, 4, s));
    OK(cudaStreamEndCapture(s, &into));
    SAME(1, into == graph);
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    SAME(1, count);
    OK(cudaGraphDestroy(graph));
}

int main(void)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    OK(cudaStreamCreate(&blocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    OK(cudaMalloc(&memory, MiB));
    OK(cudaMallocHost(&pinned, MiB));
    beginning_and_end();
    what_is_captured();
    not_while_capturing();
    unsafe_calls();
    threads();
    OK(cudaDeviceSynchronize());
    legacy_stream();
    OK(cudaDeviceSynchronize());
    several_streams();
    OK(cudaDeviceSynchronize());
    borders();
    OK(cudaDeviceSynchronize());
    information();
    OK(cudaDeviceSynchronize());
    OK(cudaFree(memory));
    OK(cudaFreeHost(pinned));
    if (!wrong) puts("all as expected");
    return wrong;
}
