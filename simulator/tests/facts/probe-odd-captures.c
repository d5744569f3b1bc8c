/* Records how calls fail while streams are captured: which error comes first, which captures end by
 * it, and what is left of events and graphs. Random calls of two threads found these. */
#include "graphs.h"

#include <pthread.h>

static cudaStream_t other;
static cudaEvent_t event, outside;
static cudaGraph_t graph, result;
static cudaGraphExec_t exec;
static char *memory;

static void set_up(void)
{
    cudaStreamCreate(&other);
    cudaEventCreate(&event);
    cudaEventCreate(&outside);
    cudaGraphCreate(&graph, 0);
    cudaMalloc((void **)&memory, 4096);
    cudaDeviceSynchronize();
}

static void begin(enum cudaStreamCaptureMode mode) { RECORD(cudaStreamBeginCapture(s, mode)); }

static void begin_in_graph(void)
{
    RECORD(cudaStreamBeginCaptureToGraph(s, graph, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
}

static void invalidate(void) { RECORD(cudaStreamSynchronize(s)); }

static void note_status(void)
{
    enum cudaStreamCaptureStatus status = 7;
    cudaStreamIsCapturing(s, &status);
    NOTE("status of the capture: %d", status);
}

static void *end_in_thread(void *unused)
{
    RECORD(cudaStreamEndCapture(s, &result));
    return unused;
}

/* Records a call during a new capture, and whether the capture goes on. */
#define DURING(call)                         \
    do {                                     \
        begin(cudaStreamCaptureModeRelaxed); \
        RECORD(call);                        \
        note_status();                       \
        cudaStreamEndCapture(s, &result);    \
        cudaGetLastError();                  \
    } while (0)

/* The legacy stream, while a stream that it waits for is captured. */
CASE_AFTER(set_up, legacy)
{
    cudaStreamCreate(&s);
    DURING(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeRelaxed));
    DURING(cudaStreamBeginCaptureToGraph(NULL, NULL, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    DURING(cudaStreamEndCapture(NULL, &result));
    DURING(cudaEventRecordWithFlags(event, NULL, 2));
    DURING(cudaEventRecordWithFlags(event, NULL, cudaEventRecordExternal));
    DURING(cudaStreamWaitEvent(NULL, event, 2));
    DURING(cudaStreamWaitEvent(NULL, event, cudaEventWaitExternal));
    DURING(cudaStreamUpdateCaptureDependencies(NULL, NULL, NULL, 0, 5));
    DURING(cudaMemsetAsync(memory, 0, 0, NULL));
    DURING(cudaMemsetAsync(memory, 0, 1, NULL));
}

/* Flags without a name, in a stream that is captured, in one that is not, and in one whose capture
 * is invalid. */
CASE_AFTER(set_up, flags)
{
    RECORD(cudaStreamUpdateCaptureDependencies(s, NULL, NULL, 0, 5));
    begin(cudaStreamCaptureModeGlobal);
    RECORD(cudaStreamUpdateCaptureDependencies(s, NULL, NULL, 0, 5));
    RECORD(cudaStreamWaitEvent(s, event, 2));
    RECORD(cudaEventRecordWithFlags(event, s, 2));
    RECORD(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagUpload));
    note_status();
    invalidate();
    RECORD(cudaStreamUpdateCaptureDependencies(s, NULL, NULL, 0, 5));
    RECORD(cudaStreamWaitEvent(s, event, 2));
    RECORD(cudaEventRecordWithFlags(event, s, 2));
    RECORD(cudaStreamBeginCaptureToGraph(s, NULL, NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    RECORD(cudaGraphInstantiate(&exec, NULL, 0));
}

/* Another thread ends a capture that is invalid. */
CASE_AFTER(set_up, ends)
{
    pthread_t thread;
    begin(cudaStreamCaptureModeGlobal);
    invalidate();
    pthread_create(&thread, NULL, end_in_thread, NULL);
    pthread_join(thread, NULL);
    note_status();
}

/* An event of a capture that is invalid, and of one that is not. */
CASE_AFTER(set_up, events)
{
    float ms;
    RECORD(cudaEventRecord(outside, other));
    begin(cudaStreamCaptureModeGlobal);
    RECORD(cudaEventRecord(event, s));
    RECORD(cudaStreamWaitEvent(other, event, cudaEventWaitExternal));
    RECORD(cudaEventElapsedTime(&ms, event, outside));
    note_status();
    RECORD(cudaEventQuery(event));
    note_status();
    RECORD(cudaEventQuery(event));
    RECORD(cudaEventSynchronize(event));
    RECORD(cudaEventElapsedTime(&ms, event, outside));
    RECORD(cudaStreamWaitEvent(other, event, 0));
    RECORD(cudaStreamWaitEvent(other, event, cudaEventWaitExternal));
}

/* A graph of the program, to which a capture adds that fails. */
CASE_AFTER(set_up, graphs)
{
    for (int way = 0; way < 2; way++) {
        cudaGraph_t clone;
        RECORD(cudaGraphCreate(&graph, 0));
        begin_in_graph();
        RECORD(cudaGraphDestroy(graph));
        note_status();
        invalidate();
        RECORD(cudaGraphDestroy(graph));
        RECORD(cudaGraphInstantiate(&exec, graph, 0));
        if (way)
            RECORD(cudaStreamDestroy(s));
        else
            RECORD(cudaStreamEndCapture(s, &result));
        RECORD(cudaGraphClone(&clone, graph));
        RECORD(cudaGraphInstantiate(&exec, graph, 0));
        RECORD(cudaGraphDestroy(graph));
    }
}

/* An update, which allocates nothing, during a capture. */
CASE_AFTER(set_up, updates)
{
    cudaGraphExecUpdateResultInfo info;
    RECORD(cudaGraphInstantiate(&exec, graph, 0));
    begin(cudaStreamCaptureModeGlobal);
    RECORD(cudaGraphExecUpdate(exec, graph, &info));
    note_status();
    RECORD(cudaGraphInstantiate(&exec, graph, 0));
    note_status();
}

/* A free that a capture refuses. */
CASE_AFTER(set_up, refused_free)
{
    cudaGraph_t clone;
    begin(cudaStreamCaptureModeRelaxed);
    RECORD(cudaFreeAsync(memory, s));
    RECORD(cudaStreamEndCapture(s, &result));
    RECORD(cudaGraphClone(&clone, result));
}

/* An event of which a graph has a node is destroyed: after instantiation, and before. */
CASE_AFTER(set_up, launch_after_event)
{
    cudaGraphNode_t node;
    RECORD(cudaGraphAddEventRecordNode(&node, graph, NULL, 0, event));
    RECORD(cudaGraphInstantiate(&exec, graph, 0));
    RECORD(cudaEventDestroy(event));
    RECORD_SYNC(cudaGraphLaunch(exec, s), s);
}

CASE_AFTER(set_up, destroyed_event)
{
    cudaGraphNode_t node;
    RECORD(cudaGraphAddEventRecordNode(&node, graph, NULL, 0, event));
    RECORD(cudaEventDestroy(event));
    RECORD(cudaGraphInstantiate(&exec, graph, 0));
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
