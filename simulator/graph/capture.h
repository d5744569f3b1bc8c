/* Stream capture: between cudaStreamBeginCapture and cudaStreamEndCapture, what a stream is given
 * becomes nodes of a graph.
 *
 * All of these functions need the lock. The checks return an error when a capture forbids a call;
 * they make the captures in the call's way invalid, unless said otherwise. */
#ifndef SIM_GRAPH_CAPTURE_H
#define SIM_GRAPH_CAPTURE_H

#include "sched/event.h"
#include "graph/graph.h"

/* How many captures go on. While it is 0, no stream is capturing and every check of a stream
 * returns cudaSuccess, so a call need not make it. */
extern unsigned capture_count;

/* ---- rules ---- */

/* Checks a "potentially unsafe" call, which is none of a stream: one that may wait or allocate, any
 * about a pool, a wait or a query for a stream or event (measured: probe-graphs.txt,
 * "capture_unsafe", "capture_waiting"; probe-graph-nodes.txt, "capture_calls"; the documentation
 * names cudaMalloc). */
cudaError_t capture_check_unsafe(void);
/* Check cudaDeviceSynchronize, and a blocking copy in the legacy stream, on the current device. */
cudaError_t capture_check_device_wait(void);
cudaError_t capture_check_legacy_copy(void);
/* Checks work for this stream. It is refused when the stream is the legacy one and a blocking
 * stream of its device is being captured, or when the stream's own capture is invalid. */
cudaError_t capture_check(const struct stream *s);
/* Checks what no node does: the stream must not be capturing, also when its capture is invalid
 * already. */
cudaError_t capture_forbid(struct stream *s);
/* Checks a synchronization or a query, which a capture's mode may forbid for every stream. */
cudaError_t capture_forbid_wait(struct stream *s);
/* Checks cudaMallocAsync and cudaFreeAsync: they are captured in the stream, or else the modes of
 * all captures must allow them. */
cudaError_t capture_check_memory(const struct stream *s);
/* Checks a query of this event, or a wait for it, by the host. */
cudaError_t capture_forbid_event(const struct event *e);
/* Returns the error of a query of an event that was recorded in a capture, or cudaSuccess for any
 * other event. Invalidates nothing. */
cudaError_t capture_event_error(const struct event *e);
/* Returns the error of a query of the legacy stream while a blocking stream of its device is being
 * captured, else cudaSuccess. Invalidates nothing. */
cudaError_t capture_implicit(const struct stream *s);

/* ---- captures ---- */

cudaError_t capture_begin(struct call *call, struct stream *s, enum cudaStreamCaptureMode mode);
/* The same into a graph of the program, whose nodes `tips` come before the first that is captured.
 * The program keeps the graph, also after an error. */
cudaError_t capture_begin_in(struct call *call, struct stream *s, enum cudaStreamCaptureMode mode,
                             struct graph *g, struct node *const *tips, size_t count);
/* Is what the stream captures added to a graph of the program? */
bool capture_is_in_graph_of_program(const struct stream *s);
/* Ends the capture in any case, unless the stream is not the one that began it. Sets `g` to the
 * graph, which the caller then owns, or to NULL when it returns an error. */
cudaError_t capture_end(struct call *call, struct stream *s, struct graph **g);
/* A stream is destroyed. A capture that began there ends, and its graph is destroyed; in another
 * capture the stream's work stays and was not joined. */
void capture_stream_destroyed(struct stream *s);
/* Sets the mode of the calling thread. Returns the one before. */
enum cudaStreamCaptureMode capture_exchange_mode(enum cudaStreamCaptureMode mode);

/* The capture of a stream. Its arrays live until the stream's next node or capture_state. */
struct capture_state {
    enum cudaStreamCaptureStatus status;
    unsigned long long id;
    struct graph *graph;
    /* The nodes that the next one depends on. */
    struct node **tips;
    /* Their handles. */
    void **handles;
    /* The data of the edges from them: all zero, because no edge has data. */
    cudaGraphEdgeData *edges;
    size_t count;
};
struct capture_state capture_state(const struct stream *s);
/* Makes the next node of the stream depend on these, too, or on these alone (`replace`). */
void capture_depend(struct stream *s, struct node *const *nodes, size_t count, bool replace);

/* Adds a node with this task to the capture of a stream. Fills the task's call, site and device. */
void capture_add(struct call *call, struct stream *s, struct task *t);
/* Record an event and wait for one: now when the stream is not being captured, else by edges of the
 * graph, or by a node of its own (`external`). */
cudaError_t capture_or_record(struct call *call, struct event *e, struct stream *s, bool external);
cudaError_t capture_or_wait(struct call *call, struct stream *s, struct event *e, bool external);

#endif
