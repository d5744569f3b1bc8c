/* Does the work of a call now, or captures it. A captured call is checked like any other, but
 * nothing happens before a launch. */
#include "graph/dispatch.h"

#include "check/failed_call.h"
#include "graph/graph_memory.h"
#include "os/needs_lock.h"
#include "os/os.h"

/* Returns whether a copy node may use these bytes: in a graph's memory, only what a node allocates.
 * Measured (probe-graph-nodes.txt, "range_codes"): a copy treats device addresses at which nothing
 * is allocated now as host memory. */
static bool allows_copy(const void *address, size_t bytes, const struct task *t, bool write)
{
    size_t bytes_left = graph_allocation_bytes_left(address);
    if (bytes_left)
        return bytes <= bytes_left;
    return memory_find(address).kind == ADDRESS_UNALLOCATED
        || command_allows_copy(address, bytes, t->device, write);
}

static cudaError_t check_memset(const struct task *t)
{
    size_t span = rows_span(&t->rows, t->rows.to_pitch);
    size_t bytes_left = graph_allocation_bytes_left(t->to);
    bool is_valid = bytes_left ? span <= bytes_left : command_allows_memset(t->to, span, t->device);
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
    *t = (struct task){.kind = TASK_MEMSET,
                       .device = t->device,
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
    cudaError_t e = capture_count ? capture_check(s) : cudaSuccess;
    if (e || !r.width)
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

static cudaError_t capture_kernel(struct call *call, struct stream *s, enum task_kind kind,
                                  int *data, int value, size_t count)
{
    if (count)
        capture_add(
            call, s,
            &(struct task){.kind = kind, .to = (char *)data, .value = value, .count = count});
    return cudaSuccess;
}

cudaError_t dispatch_fill(struct call *call, int *data, int value, size_t count, struct stream *s)
{
    NEEDS_LOCK();
    cudaError_t e = capture_count ? capture_check(s) : cudaSuccess;
    if (e)
        return e;
    if (s->capturing)
        return capture_kernel(call, s, TASK_FILL, data, value, count);
    return command_fill(call, data, value, count, s);
}

cudaError_t dispatch_add(struct call *call, int *data, int value, size_t count, struct stream *s)
{
    NEEDS_LOCK();
    cudaError_t e = capture_count ? capture_check(s) : cudaSuccess;
    if (e)
        return e;
    if (s->capturing)
        return capture_kernel(call, s, TASK_ADD, data, value, count);
    return command_add(call, data, value, count, s);
}

cudaError_t dispatch_hold(struct call *call, const volatile int *gate, struct stream *s)
{
    NEEDS_LOCK();
    cudaError_t e = capture_count ? capture_check(s) : cudaSuccess;
    if (e)
        return e;
    if (!s->capturing)
        return command_hold(call, gate, s);
    capture_add(call, s, &(struct task){.kind = TASK_HOLD, .gate = gate});
    return cudaSuccess;
}

cudaError_t dispatch_user_kernel(struct call *call, struct user_kernel *kernel, struct stream *s)
{
    NEEDS_LOCK();
    cudaError_t e = capture_count ? capture_check(s) : cudaSuccess;
    if (e)
        return e;
    if (!s->capturing)
        return command_user_kernel(call, kernel, s);
    capture_add(call, s, &(struct task){.kind = TASK_USER_KERNEL, .user_kernel = kernel});
    return cudaSuccess;
}

cudaError_t dispatch_nvcc_kernel(struct call *call, struct nvcc_kernel *kernel, struct stream *s)
{
    NEEDS_LOCK();
    cudaError_t e = capture_count ? capture_check(s) : cudaSuccess;
    if (e)
        return e;
    if (!s->capturing)
        return command_nvcc_kernel(call, kernel, s);
    capture_add(call, s, &(struct task){.kind = TASK_NVCC_KERNEL, .nvcc_kernel = kernel});
    return cudaSuccess;
}

cudaError_t dispatch_host_function(struct call *call, void (*function)(void *), void *argument,
                                   struct stream *s)
{
    NEEDS_LOCK();
    cudaError_t e = capture_count ? capture_check(s) : cudaSuccess;
    if (e)
        return e;
    if (!s->capturing)
        return command_host_function(call, function, argument, s);
    capture_add(call, s,
                &(struct task){.kind = TASK_HOST, .function = function, .argument = argument});
    return cudaSuccess;
}

/* ---- memory ---- */

cudaError_t dispatch_allocation(struct call *call, struct stream *s, const struct pool *like,
                                size_t bytes, void **pointer)
{
    NEEDS_LOCK();
    const struct capture_state state = capture_state(s);
    /* Measured (probe-pools.txt, "captured"; probe-graphs.txt, "graph_codes"): nodes allocate only
     * on devices, even if they ask for managed memory. */
    if (like->device == NO_DEVICE)
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
    struct graph_allocation *a = graph_allocation_to_free(capture_state(s).graph, pointer);
    /* Documented: only memory that an allocation node returned can be freed, and only once. */
    if (!a) {
        failed_call_because("a capture frees only what it has allocated, and only once");
        return cudaErrorInvalidValue;
    }
    capture_add(call, s, &(struct task){.kind = TASK_FREE, .allocation = a});
    return cudaSuccess;
}
