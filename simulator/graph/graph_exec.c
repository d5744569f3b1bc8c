/* Launches. The nodes of a graph are laid out on lanes: a node goes on in the lane of a node that
 * it depends on, if that one is the lane's end; else it begins a lane. The first lane is the
 * launch's own stream, the others are branches of it. Edges between lanes are records and waits, as
 * between streams.
 *
 *        a               lane 0:  a -> b -> d      So what the checker and the timeline know about streams holds inside a graph: two nodes are ordered
 *      /   \             lane 1:  c (after a)      exactly when a path of edges leads from one to the other.
 *     b     c            d waits for c
 *      \   /
 *        d
 *
 * All that a launch does is decided at the call of cudaGraphLaunch, node by node, as if the program
 * had made the calls then. */
#include "graph/graph_exec.h"

#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "sched/event.h"
#include "graph/graph_memory.h"
#include "base/handle.h"
#include "os/os.h"
#include "sched/engine.h"
#include "run/commands.h"

static uint32_t last_launch_id;

/* ---- instantiation ---- */

/* The lanes' ends, while lanes are being laid out. */
struct layout {
    size_t *tails;
    size_t count;
};

static void assign_branch(struct graph_exec *x, struct node *const *sorted, struct layout *layout,
                          size_t i)
{
    struct node *n = sorted[i];
    struct exec_node *p = &x->nodes[i];
    p->branch = layout->count;
    for (size_t k = 0; k < n->dependency_count && p->branch == layout->count; k++) {
        size_t b = n->dependencies[k]->position;
        if (layout->tails[x->nodes[b].branch] == b && x->nodes[b].task.device == n->task.device)
            p->branch = x->nodes[b].branch;
    }
    if (p->branch == layout->count)
        layout->count++;
    layout->tails[p->branch] = i;
    p->waits_for = os_allocate(n->dependency_count * sizeof *p->waits_for);
    p->is_root = n->dependency_count == 0;
    for (size_t k = 0; k < n->dependency_count; k++) {
        size_t b = n->dependencies[k]->position;
        x->nodes[b].is_last = false;
        if (x->nodes[b].branch == p->branch)
            continue;
        x->nodes[b].is_waited_for = true;
        p->waits_for[p->wait_count++] = b;
    }
}

/* measured (probe-graph-nodes.txt, "range"): a memset node may use all of the steps that its graph
 * has addresses in, of other memory one allocation. */
static bool memset_fits(const struct task *t)
{
    size_t bytes = t->count * t->element_bytes, room = graph_memory_bytes_left(t->to);
    return room ? bytes <= room : command_allows(t->to, bytes, t->device, false, t->peer);
}

static bool memsets_fit(const struct graph *g)
{
    for (const struct node *n = g->first; n; n = n->next)
        if (n->task.kind == TASK_MEMSET && !memset_fits(&n->task))
            return false;
    return true;
}

cudaError_t graph_exec_new(struct graph *g, unsigned long long flags, struct graph_exec **made)
{
    if (g->has_memory_nodes && g->instantiated)
        return cudaErrorNotSupported;
    struct node **sorted = os_allocate(g->count * sizeof(struct node *));
    if (!graph_toposort(g, sorted) || !memsets_fit(g)) {
        os_free(sorted);
        return cudaErrorInvalidValue;
    }
    struct graph_exec *x = os_allocate(sizeof *x);
    struct layout layout = {os_allocate(g->count * sizeof(size_t)), 0};
    *x = (struct graph_exec){
        .id = g->id, .graph_handle = g->handle, .flags = flags, .count = g->count};
    x->nodes = os_allocate(g->count * sizeof *x->nodes);
    x->allocations = os_allocate(g->count * sizeof(struct graph_allocation *));
    for (size_t i = 0; i < g->count; i++) {
        x->nodes[i] = (struct exec_node){.task = sorted[i]->task, .is_last = true};
        if (sorted[i]->task.kind == TASK_ALLOCATE)
            x->allocations[x->allocation_count++] = sorted[i]->task.allocation;
        if (sorted[i]->task.allocation)
            graph_allocation_add_exec(sorted[i]->task.allocation);
        assign_branch(x, sorted, &layout, i);
    }
    x->branch_count = layout.count;
    x->handle = handle_new(HANDLE_GRAPH_EXEC, x);
    g->instantiated = true;
    os_free(layout.tails);
    os_free(sorted);
    *made = x;
    return cudaSuccess;
}

void graph_exec_destroy(struct graph_exec *x)
{
    struct graph *g = handle_object(HANDLE_GRAPH, x->graph_handle);
    if (g)
        g->instantiated = false;
    handle_retire(HANDLE_GRAPH_EXEC, x->handle);
    for (size_t i = 0; i < x->count; i++) {
        if (x->nodes[i].task.allocation)
            graph_allocation_remove_exec(x->nodes[i].task.allocation);
        os_free(x->nodes[i].waits_for);
    }
    if (x->last_record)
        record_release(x->last_record);
    os_free(x->nodes);
    os_free(x->allocations);
    os_free(x);
}

/* ---- one node ---- */

static cudaError_t run_task(struct call *call, const struct task *t, struct stream *s)
{
    struct event *event = t->event ? handle_object(HANDLE_EVENT, t->event) : NULL;
    switch (t->kind) {
    case TASK_MEMSET:
        command_memset_node(call, t->to, t->value, t->element_bytes, t->count, s);
        break;
    case TASK_COPY:
        return command_copy(call, t->to, t->from, t->count, t->direction, s, t->peer, NULL);
    case TASK_FILL: return command_fill(call, (int *)t->to, t->value, t->count, s);
    case TASK_ADD: return command_add(call, (int *)t->to, t->value, t->count, s);
    case TASK_HOLD: return command_hold(call, t->gate, s);
    case TASK_HOST: return command_host_function(t->function, t->argument, s);
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
    case TASK_EMPTY: stream_enqueue_marker(s); break;
    }
    return cudaSuccess;
}

static void run_node(const struct call *launch, struct exec_node *p, struct stream *s)
{
    struct call call;
    call.origin = (struct origin){.call = p->task.call,
                                  .site = p->task.site,
                                  .launch = last_launch_id,
                                  .launch_site = launch->origin.site,
                                  .newest_allocation = p->task.newest_allocation};
    line_close(&call.line);
    if (!run_task(&call, &p->task, s))
        return;
    /* a GPU finds out when the node runs; what it would find is known now (chosen: always a
     * fault) */
    diag("illegal address: a node of a graph (%s) touches memory that is not there, or not all of "
         "it, when the graph is launched.",
         p->task.call);
    device_fault(cudaErrorIllegalAddress);
}

/* ---- launch ---- */

/* What makes a launch impossible, before anything of it has happened. */
static cudaError_t check_launch(const struct graph_exec *x)
{
    for (size_t i = 0; i < x->count; i++) {
        const struct task *t = &x->nodes[i].task;
        /* documented: not while an allocation of an earlier launch is not freed, unless it shall be
         * freed then */
        if (t->kind == TASK_ALLOCATE && t->allocation->range
            && !(x->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch))
            return cudaErrorInvalidValue;
        bool allocated_here = false;
        for (size_t k = 0; t->kind == TASK_FREE && k < x->allocation_count && !allocated_here; k++)
            allocated_here = x->allocations[k] == t->allocation;
        /* Chosen: freed already, or not yet allocated. */
        if (t->kind == TASK_FREE && !allocated_here && !t->allocation->range)
            return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

/* Physical memory for a launch or an upload in `s`, which comes after the last one (documented, for
 * both). Measured (probe-graph-nodes.txt, "uploads"): where addresses have to get other memory than
 * they have, the call waits until that one is over. */
static bool back_allocations(struct call *call, struct graph_exec *x, struct stream *s)
{
    bool moved = false, backed = graph_memory_back(x->allocations, x->allocation_count, s, &moved);
    if (!x->last_record)
        return backed;
    if (backed && moved)
        engine_wait_unlocking(x->last_record->stream, x->last_record->seq, call->origin.call);
    record_release(x->last_record);
    x->last_record = NULL;
    return backed;
}

cudaError_t graph_exec_upload(struct call *call, struct graph_exec *x, struct stream *s)
{
    for (size_t i = 0; i < x->allocation_count; i++)
        if (x->allocations[i]->range)
            return cudaSuccess; /* of an earlier launch: all is mapped */
    if (x->last_record)
        stream_wait(s, x->last_record);
    bool backed = back_allocations(call, x, s);
    x->last_record = stream_record(s);
    if (backed)
        graph_memory_launched(x->allocations, x->allocation_count, s);
    return backed ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* The nodes, on the launch's stream and its branches. */
static void run_nodes(const struct call *launch, struct graph_exec *x, struct stream *trunk)
{
    struct stream **branches = os_allocate(x->branch_count * sizeof(struct stream *));
    /* What comes before the nodes that are not on the trunk. */
    struct record *entry = NULL;
    for (size_t i = 0; i < x->count && !entry; i++)
        if (x->nodes[i].is_root && (x->nodes[i].branch || x->nodes[i].task.device != trunk->device))
            entry = stream_record(trunk);
    for (size_t i = 0; i < x->count; i++) {
        struct exec_node *p = &x->nodes[i];
        struct stream *s = branches[p->branch];
        if (!s)
            s = branches[p->branch] = p->branch == 0 && p->task.device == trunk->device
                                        ? trunk
                                        : stream_new_branch(trunk, p->task.device);
        if (p->is_root && s != trunk)
            stream_wait(s, entry);
        for (size_t k = 0; k < p->wait_count; k++)
            stream_wait(s, x->nodes[p->waits_for[k]].record);
        run_node(launch, p, s);
        if (p->is_waited_for || (p->is_last && s != trunk))
            p->record = stream_record(s);
    }
    for (size_t i = 0; i < x->count; i++) {
        struct exec_node *p = &x->nodes[i];
        if (!p->record)
            continue;
        if (p->is_last)
            stream_wait(trunk, p->record);
        record_release(p->record);
        p->record = NULL;
    }
    for (size_t i = 0; i < x->branch_count; i++)
        if (branches[i] != trunk)
            stream_release_branch(branches[i]);
    if (entry)
        record_release(entry);
    os_free(branches);
}

cudaError_t graph_exec_launch(struct call *call, struct graph_exec *x, struct stream *s)
{
    cudaError_t e = check_launch(x);
    if (e)
        return e;
    call->made.launch = ++last_launch_id;
    if (x->last_record)
        stream_wait(s, x->last_record);
    /* Documented: as if cudaFreeAsync were called for each that is left. */
    for (size_t i = 0; i < x->allocation_count; i++)
        if (x->allocations[i]->range)
            graph_allocation_free(call, x->allocations[i], s);
    bool backed = back_allocations(call, x, s);
    if (backed)
        run_nodes(call, x, s);
    x->last_record = stream_record(s);
    if (backed)
        graph_memory_launched(x->allocations, x->allocation_count, s);
    else
        e = cudaErrorMemoryAllocation;
    return e;
}
