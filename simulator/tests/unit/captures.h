/* For programs that test captures: streams, events, memory, and the end of a capture. */
#ifndef CAPTURES_H
#define CAPTURES_H

#include "expect.h"

#include "kernels.h"

static cudaStream_t s, t, blocking;
static cudaEvent_t event, other;
static cudaGraph_t graph;
static void *memory, *pinned;

static inline void begin(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    OK(cudaStreamBeginCapture(stream, mode));
}

static inline enum cudaStreamCaptureStatus status(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus answer = (enum cudaStreamCaptureStatus)99;
    OK(cudaStreamIsCapturing(stream, &answer));
    return answer;
}

/* Expects the stream's invalidated capture to end with this error and without a graph. Then the
 * stream works as before. */
static inline void ends_invalid(cudaStream_t stream)
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

static inline size_t ends_well(cudaStream_t stream)
{
    size_t nodes = 0;
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    OK(cudaGraphDestroy(graph));
    return nodes;
}

/* Runs these cases in order, each with idle streams. Returns the exit status. */
static inline int run_all(void (*const *rules)(void), size_t count)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    OK(cudaStreamCreate(&blocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    OK(cudaMalloc(&memory, MiB));
    OK(cudaMallocHost(&pinned, MiB));
    for (size_t i = 0; i < count; i++) {
        rules[i]();
        OK(cudaDeviceSynchronize());
    }
    OK(cudaFree(memory));
    OK(cudaFreeHost(pinned));
    if (!wrong)
        puts("all as expected");
    return wrong;
}
#define RUN_ALL(rules) run_all(rules, sizeof(rules) / sizeof *(rules))

#endif
