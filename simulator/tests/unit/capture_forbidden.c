/* Stream capture: what it forbids, in which mode, and to which threads and streams. One function
 * for each rule. */
#include "captures.h"

#include <pthread.h>

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
}

/* Assumed, since there is no recording: a copy between two devices is captured as cudaMemcpyAsync,
 * and rejected as cudaMemcpyPeerAsync. */
static void peer_copies(void)
{
    char *near, *far;
    cudaGraph_t graph;
    OK(cudaMalloc((void **)&near, 64));
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&far, 64));
    OK(cudaSetDevice(0));
    begin(s, cudaStreamCaptureModeThreadLocal);
    IS(cudaErrorStreamCaptureUnsupported, cudaMemcpyPeerAsync(far, 1, near, 0, 64, s));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeThreadLocal);
    IS(cudaSuccess, cudaMemcpyAsync(far, near, 64, cudaMemcpyDefault, s));
    IS(cudaSuccess, cudaStreamEndCapture(s, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(near));
    OK(cudaFree(far));
}

/* A wait is unsafe even for a stream that is not captured. */
static void waits(void)
{
    static const enum cudaStreamCaptureMode strict[] = {cudaStreamCaptureModeGlobal,
                                                        cudaStreamCaptureModeThreadLocal};
    for (int i = 0; i < 2; i++) {
        begin(s, strict[i]);
        IS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(t));
        ends_invalid(s);
        begin(s, strict[i]);
        IS(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(0));
        ends_invalid(s);
    }
    begin(s, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(s));
    /* The capture is invalid by now, so the result is the same. */
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(s));
    ends_invalid(s);
}

static void unsafe_calls(void)
{
    void *p, *block;
    cudaMemPool_t pool;
    uint64_t value;
    cudaGraph_t other_graph;
    cudaGraphExec_t exec;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaGraphCreate(&other_graph, 0));
    OK(cudaMallocAsync(&block, 64, t));
    /* Pools: everything but the queries for the default and the current one. */
    begin(s, cudaStreamCaptureModeGlobal);
    IS(cudaErrorStreamCaptureUnsupported,
       cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeThreadLocal);
    IS(cudaErrorStreamCaptureUnsupported, cudaDeviceSetMemPool(0, pool));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaDeviceGetMemPool(&pool, 0));
    SAME(0, ends_well(s));
    /* In a stream that is not being captured. */
    begin(s, cudaStreamCaptureModeGlobal);
    IS(cudaErrorStreamCaptureUnsupported, cudaMallocAsync(&p, 64, t));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeGlobal);
    IS(cudaErrorStreamCaptureUnsupported, cudaFreeAsync(block, t));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeRelaxed);
    OK(cudaFreeAsync(block, t));
    SAME(0, ends_well(s));
    begin(s, cudaStreamCaptureModeGlobal);
    IS(cudaErrorStreamCaptureUnsupported, cudaGraphInstantiate(&exec, other_graph, 0));
    ends_invalid(s);
    OK(cudaGraphInstantiate(&exec, other_graph, 0));
    begin(s, cudaStreamCaptureModeGlobal);
    OK(cudaGraphLaunch(exec, t));
    OK(cudaMemcpy(memory, pinned, 4, cudaMemcpyHostToDevice));
    SAME(0, ends_well(s));
    begin(s, cudaStreamCaptureModeRelaxed);
    /* A graph cannot be launched into a graph. */
    IS(cudaErrorStreamCaptureUnsupported, cudaGraphLaunch(exec, s));
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeGlobal);
    IS(cudaErrorStreamCaptureUnsupported, cudaGraphExecDestroy(exec));
    ends_invalid(s);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(other_graph));
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
    begin(s, cudaStreamCaptureModeGlobal); /* the thread's own mode permits it */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    SAME(cudaStreamCaptureModeGlobal, mode);
    IS(cudaSuccess, cudaMalloc(&p, 64));
    IS(cudaSuccess, cudaFree(p));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    SAME(cudaStreamCaptureModeRelaxed, mode);
    SAME(0, ends_well(s));
    IS(cudaErrorInvalidValue, cudaThreadExchangeStreamCaptureMode(NULL));
}

static void *in_a_thread(void *expected)
{
    void *p;
    is(__FILE__, __LINE__, "cudaMalloc in another thread", cudaMalloc(&p, 64),
       *(cudaError_t *)expected);
    if (*(cudaError_t *)expected == cudaSuccess)
        cudaFree(p);
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
    run_thread(in_a_thread, &(cudaError_t){cudaErrorStreamCaptureUnsupported});
    ends_invalid(s);
    begin(s, cudaStreamCaptureModeThreadLocal);
    run_thread(in_a_thread, &(cudaError_t){cudaSuccess});
    /* The call from the wrong thread ends the capture all the same. */
    run_thread(end_in_a_thread, NULL);
    SAME(cudaStreamCaptureStatusNone, status(s));
}

static void legacy_stream(void)
{
    enum cudaStreamCaptureStatus answer;
    begin(blocking, cudaStreamCaptureModeRelaxed);
    IS(cudaErrorStreamCaptureImplicit, cudaStreamIsCapturing(0, &answer));
    IS(cudaErrorStreamCaptureImplicit,
       cudaStreamGetCaptureInfo(0, &answer, NULL, NULL, NULL, NULL, NULL));
    SAME(cudaStreamCaptureStatusActive, status(blocking)); /* a query invalidates nothing */
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
    begin(s, cudaStreamCaptureModeRelaxed); /* and cannot take part */
    OK(cudaEventRecord(event, s));
    IS(cudaErrorStreamCaptureImplicit, cudaStreamWaitEvent(0, event, 0));
    ends_invalid(s);
    /* A non-blocking stream does not affect the legacy stream. */
    begin(s, cudaStreamCaptureModeRelaxed);
    IS(cudaSuccess, cudaMemsetAsync(memory, 0, 4, 0));
    IS(cudaSuccess, cudaStreamSynchronize(0));
    SAME(0, ends_well(s));
}

int main(void)
{
    void (*const rules[])(void) = {not_while_capturing, peer_copies, waits,
                                   unsafe_calls,        threads,     legacy_stream};
    return RUN_ALL(rules);
}
