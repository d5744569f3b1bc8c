/* Stream capture: between cudaStreamBeginCapture and cudaStreamEndCapture, the work of a stream
 * becomes nodes of a graph.
 *
 * The checks return an error if a capture forbids a call, and invalidate the captures that forbid
 * it, unless said otherwise. All functions here need the lock. */
#ifndef SIM_GRAPH_CAPTURE_H
#define SIM_GRAPH_CAPTURE_H

#include "sched/event.h"
#include "graph/graph.h"

/* The number of unfinished captures. While it is 0, no stream is capturing and every check of a
 * stream returns cudaSuccess, so a call may skip it. */
extern unsigned capture_count;

/* ---- rules ---- */

/* Checks a "potentially unsafe" call that is not on a stream: one that may wait or allocate, any
 * about a pool, and a wait or query for a stream or event (measured: probe-graphs.txt,
 * "capture_unsafe", "capture_waiting"; probe-graph-nodes.txt, "capture_calls"; the documentation
 * names cudaMalloc). */
cudaError_t capture_check_unsafe(void);
/* Check cudaDeviceSynchronize, and a blocking copy in the legacy stream, on the current device. */
cudaError_t capture_check_device_wait(void);
cudaError_t capture_check_legacy_copy(void);
/* Returns an error for work of a stream if the stream's own capture is invalid, or if the stream is
 * the legacy stream and a blocking stream of its device is being captured. */
cudaError_t capture_check(const struct stream *s);
/* Checks a call that cannot become a node: the stream must not be capturing, even invalidly. */
cudaError_t capture_forbid(struct stream *s);
/* Checks a synchronization or query, which the mode of a capture may forbid for all streams. */
cudaError_t capture_forbid_wait(struct stream *s);
/* Checks cudaMallocAsync and cudaFreeAsync: either the stream captures them, or the modes of all
 * captures must allow them. */
cudaError_t capture_check_memory(const struct stream *s);
/* Checks a query of this event or a wait of the host for it. */
cudaError_t capture_forbid_event(const struct event *e);
/* Returns the error of querying an event that was recorded in a capture, or cudaSuccess for other
 * events. Invalidates nothing. */
cudaError_t capture_event_error(const struct event *e);
/* Returns the error of querying the legacy stream while a blocking stream of its device is being
 * captured, or cudaSuccess. Invalidates nothing. */
cudaError_t capture_implicit(const struct stream *s);

/* ---- captures ---- */

/* Returns the error of beginning a capture in this stream. */
cudaError_t capture_check_begin(const struct stream *s);
/* Begins a capture into a new graph or, if `g` is not NULL, into this graph of the program. The
 * first captured node depends on `tips`. */
void capture_begin(struct call *call, struct stream *s, enum cudaStreamCaptureMode mode,
                   struct graph *g, struct node *const *tips, size_t count);
/* Returns whether the stream captures into a graph of the program. */
bool capture_is_in_graph_of_program(const struct stream *s);
/* Ends the capture even if an error is returned, unless another stream began it. Sets `g` to the
 * graph, which the caller then owns, or to NULL on an error. */
cudaError_t capture_end(struct call *call, struct stream *s, struct graph **g);
/* Called when a stream is destroyed. A capture that began in the stream ends, and its graph is
 * destroyed. In any other capture the stream's work remains without being joined. */
void capture_stream_destroyed(struct stream *s);
/* Sets the mode of the calling thread, and returns the previous one. */
enum cudaStreamCaptureMode capture_exchange_mode(enum cudaStreamCaptureMode mode);

/* The capture of a stream. The arrays are valid until the stream's next node or capture_state. */
struct capture_state {
    enum cudaStreamCaptureStatus status;
    unsigned long long id;
    struct graph *graph;
    /* The nodes on which the next node depends. */
    struct node **tips;
    /* The handles of the tips. */
    void **handles;
    /* The data of the edges from the tips: all zero, because no edge has data. */
    cudaGraphEdgeData *edges;
    size_t count;
};
struct capture_state capture_state(const struct stream *s);
/* Makes the stream's next node depend on these nodes too or, with `replace`, only on these. */
void capture_depend(struct stream *s, struct node *const *nodes, size_t count, bool replace);

/* Adds a node with this task to the stream's capture. Sets the task's call, site, and device. */
void capture_add(struct call *call, struct stream *s, struct task *t);
/* Record an event, and make a stream wait for one. In a captured stream both become edges of the
 * graph or, with `external`, a node. */
cudaError_t capture_or_record(struct call *call, struct event *e, struct stream *s, bool external);
cudaError_t capture_or_wait(struct call *call, struct stream *s, struct event *e, bool external);

#endif
