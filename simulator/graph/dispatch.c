/* Does the work of a call now, or captures it. A captured call is checked like any other, but
 * nothing happens before a launch. */
#include "graph/dispatch.h"

#include "base/device_state.h"
#include "base/handle.h"
#include "check/failed_call.h"
#include "graph/graph_memory.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/event.h"

/* Returns whether a copy node may use these bytes: in a graph's memory, only what a node allocates.
 * Measured (probe-graph-nodes.txt, "range_codes"): a copy treats device addresses at which nothing
 * is allocated now as host memory. Measured (probe-odd-peers.txt, "nodes"): the current device must
 * have access to a graph's memory. */
static bool allows_copy(const void *address, size_t bytes, const struct task *t, bool write)
{
    size_t bytes_left = graph_allocation_bytes_left(address);
    struct address_info a = memory_find(address);
    if (bytes_left)
        return bytes <= bytes_left && memory_peer_accessible(&a, device_current());
    return a.kind == ADDRESS_UNALLOCATED || command_allows_copy(address, bytes, t->device, write);
}

/* Measured (probe-odd-peers.txt, "nodes"): the device on which the node runs needs access. */
static cudaError_t check_memset(const struct task *t)
{
    size_t span = rows_span(&t->rows, t->rows.to_pitch);
    size_t bytes_left = graph_allocation_bytes_left(t->to);
    struct address_info a = memory_find(t->to);
    bool is_valid = bytes_left ? span <= bytes_left && memory_peer_accessible(&a, t->device)
                               : command_allows_memset(t->to, span, t->device);
    return is_valid ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t dispatch_check_copy(const struct task *t)
{
    NEEDS_LOCK();
    if ((unsigned)t->direction > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (!t->to || !t->from || !allows_copy(t->to, rows_span(&t->rows, t->rows.to_pitch), t, true)
        || !allows_copy(t->from, rows_span(&t->rows, t->rows.from_pitch), t, false))
        return cudaErrorInvalidValue;
    return command_kind_allows(t->direction, t->to, t->from) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t dispatch_memset_task(struct task *t, void *to, size_t pitch, unsigned value,
                                 unsigned element, size_t width, size_t height)
{
    NEEDS_LOCK();
    if (!to || !width || !height || (element != 1 && element != 2 && element != 4))
        return cudaErrorInvalidValue;
    /* Assumed: overlapping rows are rejected, as by cudaMemset2D. */
    if (width > SIZE_MAX / element / height || (height > 1 && pitch < width * element))
        return cudaErrorInvalidValue;
    /* Measured (probe-odd-answers.txt, "graphs"). */
    if ((uintptr_t)to % element || (height > 1 && pitch % element))
        return cudaErrorInvalidValue;
    struct address_info a = memory_find(to);
    /* Measured (probe-odd-peers.txt, "nodes", "updates"): a memset node runs where the memory was
     * made. */
    int maker = memory_maker(&a);
    *t = (struct task){.kind = TASK_MEMSET,
                       .device = maker == NO_DEVICE ? t->device : maker,
                       .to = to,
                       .value = (int)value,
                       .element_bytes = element,
                       .rows = {width * element, height, .to_pitch = pitch}};
    return check_memset(t);
}

cudaError_t dispatch_memset(struct call *call, void *to, int value, unsigned element, struct rows r,
                            struct stream *s)
{
    NEEDS_LOCK();
    if (!r.width)
        return cudaSuccess;
    cudaError_t e = capture_count ? capture_check(s) : cudaSuccess;
    if (e)
        return e;
    if (!s->capturing)
        return command_memset(call, to, value, element, r, s);
    /* Measured (probe-graph-nodes.txt, "range_codes"): only instantiation checks the range. */
    capture_add(call, s,
                &(struct task){.kind = TASK_MEMSET,
                               .device = s->device,
                               .to = to,
                               .value = value,
                               .element_bytes = element,
                               .rows = r});
    return cudaSuccess;
}

cudaError_t dispatch_copy(struct call *call, void *to, const void *from, struct rows r,
                          enum cudaMemcpyKind kind, struct stream *s, enum copy_wait *wait)
{
    NEEDS_LOCK();
    cudaError_t e = capture_count ? capture_check(s) : cudaSuccess;
    *wait = COPY_QUEUED;
    if (e || !r.width)
        return e;
    if (!s->capturing)
        return command_copy(call, to, from, r, kind, s, wait);
    struct task t = {.kind = TASK_COPY,
                     .device = s->device,
                     .to = to,
                     .from = from,
                     .direction = kind,
                     .rows = r};
    e = dispatch_check_copy(&t);
    if (!e)
        capture_add(call, s, &t);
    return e;
}

cudaError_t dispatch_now(struct call *call, const struct task *t, struct stream *s)
{
    NEEDS_LOCK();
    struct event *event = t->event ? handle_object(HANDLE_EVENT, t->event) : NULL;
    switch (t->kind) {
    case TASK_MEMSET:
        command_memset_node(call, t->to, t->value, t->element_bytes, t->rows, s);
        break;
    case TASK_COPY: return command_copy(call, t->to, t->from, t->rows, t->direction, s, NULL);
    case TASK_FILL:
    case TASK_ADD:
        return command_write_ints(call, t->kind == TASK_ADD, (int *)t->to, t->value, t->count, s);
    case TASK_HOLD: return command_hold(call, t->gate, s);
    case TASK_USER_KERNEL: return command_user_kernel(call, t->user_kernel, s);
    case TASK_NVCC_KERNEL: return command_nvcc_kernel(call, t->nvcc_kernel, s);
    case TASK_HOST: return command_host_function(call, t->function, t->argument, s);
    case TASK_ALLOCATE: graph_allocation_alloc(call, t->allocation, s); break;
    case TASK_FREE: graph_allocation_free(call, t->allocation, s); break;
    case TASK_RECORD:
        if (event)
            event_record(event, s);
        break;
    case TASK_WAIT:
        if (event)
            event_wait(event, s);
        break;
    case TASK_EMPTY:
    case TASK_CONDITIONAL:
    case TASK_CHILD: stream_enqueue_marker(s, BARRIER_FULL); break;
    }
    return cudaSuccess;
}

cudaError_t dispatch(struct call *call, struct task *t, struct stream *s)
{
    NEEDS_LOCK();
    cudaError_t e = capture_count ? capture_check(s) : cudaSuccess;
    if (e)
        return e;
    if (!s->capturing)
        return dispatch_now(call, t, s);
    const bool is_nothing = (t->kind == TASK_FILL || t->kind == TASK_ADD) && !t->count;
    if (!is_nothing)
        capture_add(call, s, t);
    return cudaSuccess;
}

/* ---- memory ---- */

cudaError_t dispatch_allocation(struct call *call, struct stream *s, const struct pool *like,
                                size_t bytes, void **pointer)
{
    NEEDS_LOCK();
    const struct capture_state state = capture_state(s);
    /* Measured (probe-pools.txt, "captured"; probe-graphs.txt, "graph_codes"): nodes allocate only
     * on devices, even if they ask for managed memory, and (probe-odd-peers.txt,
     * "lists") nothing that other processes can open. */
    if (like->device == NO_DEVICE || like->props.handleTypes)
        return cudaErrorNotSupported;
    /* Documented: the node gets the pool's current access rights. */
    struct graph_allocation *a = graph_allocation_new(state.graph, like->device, bytes,
                                                      like->peer_rights, state.tips, state.count);
    if (!a)
        return cudaErrorMemoryAllocation;
    capture_add(call, s, &(struct task){.kind = TASK_ALLOCATE, .allocation = a});
    *pointer = graph_allocation_address(a);
    return cudaSuccess;
}

cudaError_t dispatch_free(struct call *call, struct stream *s, void *pointer)
{
    NEEDS_LOCK();
    struct graph *g = capture_state(s).graph;
    struct graph_allocation *a = graph_allocation_to_free(g, pointer);
    /* Documented: only memory that an allocation node returned can be freed, and only once.
     * Measured (probe-odd-captures.txt, "refused_free"): from then on the graph cannot be copied,
     * as if it had the node. */
    if (!a) {
        g->has_memory_nodes = true;
        failed_call_because("a capture frees only what it has allocated, and only once");
        return cudaErrorInvalidValue;
    }
    capture_add(call, s, &(struct task){.kind = TASK_FREE, .allocation = a});
    return cudaSuccess;
}
