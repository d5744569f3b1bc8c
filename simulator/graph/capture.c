/* Stream capture. A capture is a graph and the streams that add to it. Each stream has its tips:
 * the nodes on which its next node will depend. An event recorded in such a stream stores the
 * current tips. A stream that waits for the event takes the tips over and is captured from then on.
 *
 * The rules come from the comments of the CUDA header and the programming guide, "stream capture",
 * unless said otherwise: an action that would tie captured work to other work is rejected and
 * invalidates the capture. Every code is measured: simulator/tests/facts/probe-graphs.txt,
 * probe-graph-nodes.txt, "capture"; which error comes first, probe-odd-captures.txt. */
#include "graph/capture.h"

#include <stdio.h>
#include <string.h>

#include "base/fatal.h"
#include "check/checker.h"
#include "check/failed_call.h"
#include "mem/device.h"
#include "graph/graph_memory.h"
#include "os/needs_lock.h"
#include "os/os.h"

struct capture {
    struct capture *next;
    unsigned long long id;
    struct graph *graph;
    /* The program made the graph and keeps it. */
    bool is_program_graph;
    /* The capture cannot become a graph: the call at this site may not be made during it. */
    bool invalid;
    void *invalid_at;
    struct stream *origin_stream;
    enum cudaStreamCaptureMode mode;
    int thread;
    struct capture_member *members;
};

struct capture_member {
    struct capture_member *next;
    struct capture *capture;
    /* NULL once the stream has been destroyed. */
    struct stream *stream;
    struct node **tips;
    size_t count;
    /* The last result of capture_state. */
    void **handles;
    cudaGraphEdgeData *edges;
};

/* The state of an event that was recorded in a capture: one allocation, freed by the event. */
struct event_capture {
    unsigned long long capture_id;
    size_t count;
    struct node *tips[];
};

unsigned capture_count;

/* Needs the lock. Invariant: capture_count is the length of the list, and each member of a capture
 * is the `capturing` of its stream. */
static struct {
    struct capture *first;
    unsigned long long last_id;
} captures;

/* Set by cudaThreadExchangeStreamCaptureMode. */
static _Thread_local enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

/* ---- rules ---- */

/* Returns the capture in which the event was recorded, or NULL if it is invalid or has ended. */
static struct capture *capture_of_event(const struct event *e)
{
    for (struct capture *c = captures.first; e->captured && c; c = c->next)
        if (c->id == e->captured->capture_id && !c->invalid)
            return c;
    return NULL;
}

static void invalidate(struct capture *c)
{
    if (!c->invalid)
        c->invalid_at = fatal_site;
    c->invalid = true;
}

static bool has_stream_of(const struct capture *c, int device, bool blocking)
{
    for (struct capture_member *m = c->members; m; m = m->next)
        if (m->stream && m->stream->device == device
            && (!blocking || stream_is_blocking(m->stream)))
            return true;
    return false;
}

/* Returns whether a stream of this device (with `blocking`: a blocking one) is being captured. With
 * `invalidates`, also invalidates such captures. */
static bool is_encompassed(int device, bool blocking, bool invalidates)
{
    bool any = false;
    for (struct capture *c = captures.first; c; c = c->next) {
        if (!has_stream_of(c, device, blocking))
            continue;
        any = true;
        if (invalidates)
            invalidate(c);
    }
    return any;
}

/* Documented: cudaThreadExchangeStreamCaptureMode. */
static bool forbids_unsafe(const struct capture *c)
{
    if (thread_mode == cudaStreamCaptureModeRelaxed || c->mode == cudaStreamCaptureModeRelaxed)
        return false;
    if (c->thread == os_thread_index())
        return true;
    return thread_mode == cudaStreamCaptureModeGlobal && c->mode == cudaStreamCaptureModeGlobal;
}

cudaError_t capture_check_unsafe(void)
{
    NEEDS_LOCK();
    bool forbidden = false;
    for (struct capture *c = captures.first; c; c = c->next) {
        if (!forbids_unsafe(c))
            continue;
        invalidate(c);
        forbidden = true;
    }
    return forbidden ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t capture_check_device_wait(void)
{
    NEEDS_LOCK();
    return is_encompassed(device_current(), false, true) ? cudaErrorStreamCaptureUnsupported
                                                         : cudaSuccess;
}

cudaError_t capture_check_legacy_copy(void)
{
    NEEDS_LOCK();
    return is_encompassed(device_current(), true, true) ? cudaErrorStreamCaptureImplicit
                                                        : cudaSuccess;
}

cudaError_t capture_implicit(const struct stream *s)
{
    NEEDS_LOCK();
    return s->kind == STREAM_LEGACY && is_encompassed(s->device, true, false)
             ? cudaErrorStreamCaptureImplicit
             : cudaSuccess;
}

cudaError_t capture_check(const struct stream *s)
{
    NEEDS_LOCK();
    if (!capture_count)
        return cudaSuccess;
    if (s->kind == STREAM_LEGACY && is_encompassed(s->device, true, true))
        return cudaErrorStreamCaptureImplicit;
    return s->capturing && s->capturing->capture->invalid ? cudaErrorStreamCaptureInvalidated
                                                          : cudaSuccess;
}

cudaError_t capture_forbid(struct stream *s)
{
    NEEDS_LOCK();
    if (!s->capturing)
        return capture_check(s);
    invalidate(s->capturing->capture);
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t capture_forbid_wait(struct stream *s)
{
    NEEDS_LOCK();
    cudaError_t e = capture_forbid(s);
    return e || !capture_count ? e : capture_check_unsafe();
}

cudaError_t capture_check_memory(const struct stream *s)
{
    NEEDS_LOCK();
    cudaError_t e = capture_check(s);
    return e || !capture_count || s->capturing ? e : capture_check_unsafe();
}

cudaError_t capture_event_error(const struct event *e)
{
    NEEDS_LOCK();
    if (!e->captured)
        return cudaSuccess;
    return capture_of_event(e) ? cudaErrorCapturedEvent : cudaErrorInvalidValue;
}

cudaError_t capture_forbid_event(const struct event *e)
{
    NEEDS_LOCK();
    struct capture *c = capture_of_event(e);
    cudaError_t error = capture_event_error(e);
    if (c)
        invalidate(c);
    if (error)
        return error;
    return capture_count ? capture_check_unsafe() : cudaSuccess;
}

/* ---- members ---- */

static bool is_among(const struct node *n, struct node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i] == n)
            return true;
    return false;
}

static void add_tips(struct capture_member *m, struct node *const *tips, size_t count)
{
    m->tips = os_grow(m->tips, (m->count + count + 1) * sizeof(struct node *));
    for (size_t i = 0; i < count; i++)
        if (!is_among(tips[i], m->tips, m->count))
            m->tips[m->count++] = tips[i];
}

static void add_member(struct capture *c, struct stream *s, struct node *const *tips, size_t count)
{
    struct capture_member *m = os_allocate(sizeof *m);
    *m = (struct capture_member){.next = c->members, .capture = c, .stream = s};
    c->members = m;
    s->capturing = m;
    add_tips(m, tips, count);
}

void capture_add(struct call *call, struct stream *s, struct task *t)
{
    struct capture_member *m = s->capturing;
    t->call = call->origin.call;
    t->site = call->origin.site;
    t->newest_allocation = checker_newest_allocation();
    t->is_captured = true;
    t->device = m->stream->device;
    struct node *n = graph_add_node(m->capture->graph, t, m->tips, m->count);
    if (t->allocation)
        graph_allocation_add_node(n);
    m->count = 0;
    add_tips(m, &n, 1);
    call->made.graph = n->graph->id;
    call->made.node = n->id;
}

/* ---- captures ---- */

cudaError_t capture_check_begin(const struct stream *s)
{
    NEEDS_LOCK();
    if (s->capturing)
        return cudaErrorIllegalState;
    cudaError_t e = capture_check(s);
    return !e && s->kind == STREAM_LEGACY ? cudaErrorStreamCaptureUnsupported : e;
}

void capture_begin(struct call *call, struct stream *s, enum cudaStreamCaptureMode mode,
                   struct graph *g, struct node *const *tips, size_t count)
{
    NEEDS_LOCK();
    struct capture *c = os_allocate(sizeof *c);
    *c = (struct capture){.next = captures.first,
                          .id = ++captures.last_id,
                          .graph = g ? g : graph_new(),
                          .is_program_graph = g,
                          .origin_stream = s,
                          .mode = mode,
                          .thread = os_thread_index()};
    captures.first = c;
    capture_count++;
    c->graph->capturing = true;
    add_member(c, s, tips, count);
    call->made.graph = c->graph->id;
}

bool capture_is_in_graph_of_program(const struct stream *s)
{
    NEEDS_LOCK();
    return s->capturing && s->capturing->capture->is_program_graph;
}

static void explain_unjoined(const struct capture *c, const struct capture_member *m)
{
    char name[32] = "a destroyed stream";
    if (m->stream)
        snprintf(name, sizeof name, "stream %d", m->stream->id);
    failed_call_because("nothing makes stream %d, in which the capture began, wait for the last "
                        "work of %s, which has joined it",
                        c->origin_stream->id, name);
}

/* Returns whether the origin stream comes after all work of the other streams. */
static bool is_joined(const struct capture *c)
{
    graph_visit_ancestors(c->origin_stream->capturing->tips, c->origin_stream->capturing->count);
    for (struct capture_member *m = c->members; m; m = m->next)
        for (size_t i = 0; i < m->count; i++)
            if (!graph_is_visited(m->tips[i])) {
                explain_unjoined(c, m);
                return false;
            }
    return true;
}

static void explain_invalid(const struct capture *c)
{
    struct os_source_loc place = {.site = c->invalid_at}, *places[] = {&place};
    os_source_lines(places, 1);
    failed_call_because("the call at %s may not be made during a capture, or failed in it",
                        place.text);
}

static void free_capture(struct capture *c)
{
    struct capture **at = &captures.first;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    capture_count--;
    for (struct capture_member *m = c->members, *next; m; m = next) {
        next = m->next;
        if (m->stream)
            m->stream->capturing = NULL;
        os_free(m->tips);
        os_free(m->handles);
        os_free(m->edges);
        os_free(m);
    }
    os_free(c);
}

/* Measured (probe-odd-captures.txt, "graphs"): a capture that fails also ends a graph of the
 * program to which it has added. */
static void lose_graph(const struct capture *c)
{
    c->graph->capturing = false;
    if (c->is_program_graph)
        c->graph->lost = true;
    else
        graph_destroy(c->graph);
}

static cudaError_t end_error(const struct capture *c)
{
    if (c->invalid) {
        explain_invalid(c);
        return cudaErrorStreamCaptureInvalidated;
    }
    if (!is_joined(c))
        return cudaErrorStreamCaptureUnjoined;
    bool is_wrong = c->mode != cudaStreamCaptureModeRelaxed && c->thread != os_thread_index();
    return is_wrong ? cudaErrorStreamCaptureWrongThread : cudaSuccess;
}

cudaError_t capture_end(struct call *call, struct stream *s, struct graph **g)
{
    NEEDS_LOCK();
    *g = NULL;
    cudaError_t e = s->capturing ? cudaSuccess : capture_check(s);
    if (!s->capturing)
        return e ? e : cudaErrorIllegalState;
    struct capture *c = s->capturing->capture;
    if (c->origin_stream != s) {
        invalidate(c);
        failed_call_because("the capture began in stream %d, where it has to end",
                            c->origin_stream->id);
        return cudaErrorStreamCaptureUnmatched;
    }
    e = end_error(c);
    call->made.graph = c->graph->id;
    if (e) {
        lose_graph(c);
    } else {
        c->graph->capturing = false;
        *g = c->graph;
    }
    free_capture(c);
    return e;
}

void capture_stream_destroyed(struct stream *s)
{
    NEEDS_LOCK();
    if (!s->capturing)
        return;
    struct capture *c = s->capturing->capture;
    s->capturing->stream = NULL;
    s->capturing = NULL;
    if (c->origin_stream != s)
        return;
    lose_graph(c);
    free_capture(c);
}

enum cudaStreamCaptureMode capture_exchange_mode(enum cudaStreamCaptureMode mode)
{
    NEEDS_LOCK();
    enum cudaStreamCaptureMode old = thread_mode;
    thread_mode = mode;
    return old;
}

struct capture_state capture_state(const struct stream *s)
{
    NEEDS_LOCK();
    struct capture_member *m = s->capturing;
    if (!m)
        return (struct capture_state){.status = cudaStreamCaptureStatusNone};
    m->handles = os_grow(m->handles, (m->count + 1) * sizeof(void *));
    m->edges = os_grow(m->edges, (m->count + 1) * sizeof(cudaGraphEdgeData));
    for (size_t i = 0; i < m->count; i++) {
        m->handles[i] = m->tips[i]->handle;
        m->edges[i] = (cudaGraphEdgeData){0};
    }
    return (struct capture_state){m->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                                      : cudaStreamCaptureStatusActive,
                                  m->capture->id,
                                  m->capture->graph,
                                  m->tips,
                                  m->handles,
                                  m->edges,
                                  m->count};
}

void capture_depend(struct stream *s, struct node *const *nodes, size_t count, bool replace)
{
    NEEDS_LOCK();
    if (replace)
        s->capturing->count = 0;
    add_tips(s->capturing, nodes, count);
}

/* ---- events ---- */

cudaError_t capture_or_record(struct call *call, struct event *e, struct stream *s, bool external)
{
    NEEDS_LOCK();
    struct capture_member *m = s->capturing;
    if (!m) {
        event_record(e, s);
        return cudaSuccess;
    }
    /* Measured (probe-odd-answers.txt, "graphs"). */
    if (e->remote)
        return cudaErrorStreamCaptureUnsupported;
    if (external) {
        capture_add(call, s, &(struct task){.kind = TASK_RECORD, .event = e->handle});
        return cudaSuccess;
    }
    os_free(e->captured);
    e->captured = os_allocate(sizeof *e->captured + m->count * sizeof(struct node *));
    e->captured->capture_id = m->capture->id;
    e->captured->count = m->count;
    memcpy(e->captured->tips, m->tips, m->count * sizeof(struct node *));
    return cudaSuccess;
}

/* Makes a stream that waits for an event of the unfinished capture `from` join that capture. */
static cudaError_t join_capture(struct call *call, struct capture *from, struct stream *s,
                                const struct event *e)
{
    struct capture_member *m = s->capturing;
    if (m && m->capture != from) {
        invalidate(from);
        invalidate(m->capture);
        return cudaErrorStreamCaptureMerge;
    }
    /* The legacy stream cannot be captured. */
    if (s->kind == STREAM_LEGACY) {
        invalidate(from);
        return cudaErrorStreamCaptureImplicit;
    }
    if (m) {
        add_tips(m, e->captured->tips, e->captured->count);
    } else {
        add_member(from, s, e->captured->tips, e->captured->count);
        call->made.graph = from->graph->id;
    }
    return cudaSuccess;
}

cudaError_t capture_or_wait(struct call *call, struct stream *s, struct event *e, bool external)
{
    NEEDS_LOCK();
    struct capture_member *m = s->capturing;
    /* Measured (probe-odd-peers.txt, "events"): not for an event of a capture that has ended, and
     * an event for other processes ends the capture. */
    if (external && m && capture_event_error(e) != cudaErrorInvalidValue) {
        capture_add(call, s, &(struct task){.kind = TASK_WAIT, .event = e->handle});
        return cudaSuccess;
    }
    if (m && e->remote)
        return capture_forbid(s);
    struct capture *from = capture_of_event(e);
    if (from)
        return join_capture(call, from, s, e);
    /* The event was recorded in a capture that has ended. */
    if (e->captured) {
        if (m)
            invalidate(m->capture);
        failed_call_because("the event was last recorded in a capture, which has ended");
        return cudaErrorInvalidValue;
    }
    if (m && event_is_recorded(e)) {
        invalidate(m->capture);
        failed_call_because("the event was recorded outside of the capture. Wait for it before the "
                            "capture begins, or with cudaEventWaitExternal");
        return cudaErrorStreamCaptureIsolation;
    }
    /* Waiting for an event that was never recorded does nothing, in a capture too. */
    event_wait(e, s);
    return cudaSuccess;
}
