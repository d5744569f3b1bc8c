/* Work that the skin hands on. A captured call is checked like any other, but nothing of it happens before a launch. */
#include "run/dispatch.h"

#include "graph/graph_memory.h"
#include "os/os.h"

/* Is a range that a node will use inside the graph memory there? -1: it is no graph's memory. */
static int is_in_graph(const void *address, size_t bytes)
{
    size_t room = graph_block_room(address);
    return room ? bytes <= room : -1;
}

static bool allows(const void *address, size_t bytes, const struct task *t, bool copy)
{
    int in_graph = is_in_graph(address, bytes);
    return in_graph < 0 ? work_allows(address, bytes, t->device, copy, t->peer) : in_graph;
}

/* measured (probe-graph-nodes.txt, "range_codes"): a copy takes what is nobody's memory now for the host's. */
static bool allows_copy(const void *address, size_t bytes, const struct task *t)
{
    struct place p = memory_find(address);
    return (p.kind == PLACE_UNUSED && !graph_block_room(address)) || allows(address, bytes, t, true);
}

cudaError_t submit_check_memset(const struct task *t) { return allows(t->to, t->count * t->element, t, false) ? cudaSuccess : cudaErrorInvalidValue; }

cudaError_t submit_check_copy(const struct task *t)
{
    if ((unsigned)t->direction > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (!t->to || !t->from || !allows_copy(t->to, t->count, t) || !allows_copy(t->from, t->count, t)) return cudaErrorInvalidValue;
    return work_kind_allows(t->direction, t->to, t->from) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t submit_memset_task(struct task *t, void *to, size_t pitch, unsigned value, unsigned element, size_t width, size_t height)
{
    if (!to || !width || !height || (element != 1 && element != 2 && element != 4)) return cudaErrorInvalidValue;
    if (width > SIZE_MAX / element / height) return cudaErrorInvalidValue;
    if (height > 1 && pitch != width * element) {
        host_say("memset nodes with gaps between rows are not simulated: the call returns cudaErrorNotSupported.");
        return cudaErrorNotSupported;
    }
    *t = (struct task){ .kind = TASK_MEMSET, .device = t->device, .to = to, .value = (int)value, .element = element, .count = width * height };
    return submit_check_memset(t);
}

cudaError_t submit_memset(void *to, int value, size_t bytes, struct stream *s)
{
    cudaError_t e = capture_check(s);
    if (e || !bytes) return e;
    if (!s->capturing) return work_memset(to, value, bytes, s);
    /* measured: a capture does not look at the range, instantiating does */
    capture_add(s, &(struct task){ .kind = TASK_MEMSET, .device = s->device, .to = to, .value = value, .element = 1, .count = bytes });
    return cudaSuccess;
}

cudaError_t submit_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, struct stream *s, bool peer, enum copy_wait *wait)
{
    cudaError_t e = capture_check(s);
    *wait = COPY_GOES_ON;
    if (e || !bytes) return e;
    if (!s->capturing) return work_copy(to, from, bytes, kind, s, peer, wait);
    struct task t = { .kind = TASK_COPY, .device = s->device, .to = to, .from = from, .direction = kind, .peer = peer, .count = bytes };
    e = submit_check_copy(&t);
    if (!e) capture_add(s, &t);
    return e;
}

static cudaError_t capture_kernel(struct stream *s, enum task_kind kind, int *data, int value, size_t count, const volatile int *gate)
{
    struct task t = { .kind = kind, .to = (char *)data, .value = value, .count = count, .gate = gate };
    if (kind == TASK_HOLD || count) capture_add(s, &t);
    return cudaSuccess;
}

cudaError_t submit_fill(int *data, int value, size_t count, struct stream *s)
{
    cudaError_t e = capture_check(s);
    return e ? e : s->capturing ? capture_kernel(s, TASK_FILL, data, value, count, NULL) : work_fill(data, value, count, s);
}

cudaError_t submit_add(int *data, int value, size_t count, struct stream *s)
{
    cudaError_t e = capture_check(s);
    return e ? e : s->capturing ? capture_kernel(s, TASK_ADD, data, value, count, NULL) : work_add(data, value, count, s);
}

cudaError_t submit_hold(const volatile int *open, struct stream *s)
{
    cudaError_t e = capture_check(s);
    return e ? e : s->capturing ? capture_kernel(s, TASK_HOLD, NULL, 0, 0, open) : work_hold(open, s);
}

cudaError_t submit_host_function(void (*function)(void *), void *argument, struct stream *s)
{
    cudaError_t e = capture_check(s);
    if (e) return e;
    if (!s->capturing) return work_host_function(function, argument, s);
    capture_add(s, &(struct task){ .kind = TASK_HOST, .function = function, .argument = argument });
    return cudaSuccess;
}

/* ---- memory ---- */

cudaError_t submit_allocation(struct stream *s, const struct pool *like, size_t bytes, void **pointer)
{
    const struct capture_state state = capture_state(s);
    if (like->device == NO_DEVICE) return cudaErrorNotSupported;      /* measured: nodes allocate on devices only, also where it is called managed memory */
    /* documented: the node takes the pool's access rights as they are now */
    struct graph_block *b = graph_block_new(state.graph, like->device, bytes, like->access, state.tips, state.count);
    if (!b) return cudaErrorMemoryAllocation;
    capture_add(s, &(struct task){ .kind = TASK_ALLOCATE, .block = b });
    *pointer = graph_block_address(b);
    return cudaSuccess;
}

cudaError_t submit_free(struct stream *s, void *pointer)
{
    struct graph_block *b = graph_block_to_free(capture_state(s).graph, pointer);
    if (!b) return cudaErrorInvalidValue;                    /* documented: only what an allocation node returned, and once */
    capture_add(s, &(struct task){ .kind = TASK_FREE, .block = b });
    return cudaSuccess;
}
