/* Stream capture: between cudaStreamBeginCapture and cudaStreamEndCapture, what a stream is given
 * becomes nodes of a graph. */
#ifndef SIM_GRAPH_CAPTURE_H
#define SIM_GRAPH_CAPTURE_H

#include "sched/event.h"
#include "graph/graph.h"

/* How many captures go on: 0 in nearly every call. */
extern unsigned capture_count;

/* ---- rules ---- */

/* A call that no capture sees: an error when a capture forbids it. Then the captures in its way are
 * invalid. "Potentially unsafe" calls: those that may wait or allocate, all about pools, and waits
 * and queries for a stream or event (measured; the documentation names cudaMalloc). */
cudaError_t capture_check_unsafe(void);
/* cudaDeviceSynchronize, and a blocking copy in the legacy stream, on the current device. */
cudaError_t capture_check_device_wait(void);
cudaError_t capture_check_legacy_copy(void);
/* Work, a query or a synchronise for this stream: an error when it is the legacy stream and a
 * blocking stream of its device is being captured, or when the stream's own capture is invalid. */
cudaError_t capture_check(const struct stream *s);
/* The same for what no node does: the stream must not be capturing, also when its capture is
 * invalid already. */
cudaError_t capture_forbid(struct stream *s);
/* The same for synchronise and query, which a capture's mode may forbid for every stream. */
cudaError_t capture_forbid_wait(struct stream *s);
/* cudaMallocAsync and cudaFreeAsync: captured in the stream, or else allowed by the modes of all
 * captures. */
cudaError_t capture_check_memory(const struct stream *s);
/* A query of, or a wait for, this event by the host. */
cudaError_t capture_forbid_event(const struct event *e);
/* What an event that was recorded in a capture answers instead of a time; cudaSuccess: it was
 * recorded in no capture. */
cudaError_t capture_event_error(const struct event *e);
/* Is the legacy stream of this device in the way of a capture? Then a question about it is answered
 * with this error; nothing is invalidated. */
cudaError_t capture_implicit(const struct stream *s);

/* ---- captures ---- */

cudaError_t capture_begin(struct call *call, struct stream *s, enum cudaStreamCaptureMode mode);
/* The capture ends in any case, unless the stream is not the one that began it. `g` is NULL when
 * there is an error. */
cudaError_t capture_end(struct call *call, struct stream *s, struct graph **g);
/* A stream that takes part is destroyed: a capture that began there ends with its graph, and one
 * that did not knows that the work was not joined. */
void capture_stream_destroyed(struct stream *s);
enum cudaStreamCaptureMode capture_exchange_mode(enum cudaStreamCaptureMode mode);

/* A stream's capture, for those who ask. */
struct capture_state {
    enum cudaStreamCaptureStatus status;
    unsigned long long id;
    struct graph *graph;
    struct node **tips;       /* the nodes that the next one depends on ... */
    void **handles;           /* ... and their handles */
    cudaGraphEdgeData *edges; /* all zero: no edge has data */
    size_t count;
};
struct capture_state capture_state(const struct stream *s);
/* The next node of the stream depends on these, too, or on these alone. */
void capture_depend(struct stream *s, struct node *const *nodes, size_t count, bool replace);

/* The next node of a stream that is being captured. */
void capture_add(struct call *call, struct stream *s, struct task *t);
/* cudaEventRecord and cudaStreamWaitEvent: of the stream, or of its place in the graph. `external`:
 * as a node. */
cudaError_t capture_or_record(struct call *call, struct event *e, struct stream *s, bool external);
cudaError_t capture_or_wait(struct call *call, struct stream *s, struct event *e, bool external);

#endif
