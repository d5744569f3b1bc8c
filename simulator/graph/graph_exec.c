/* Launches. The nodes of a graph are laid out on lanes: a node goes on in the lane of a node that it depends on, if that one is the lane's end;
 * else it begins a lane. The first lane is the launch's own stream, the others are branches of it. Edges between lanes are records and
 * waits, as between streams.
 *
 *        a               lane 0:  a -> b -> d      So what the checker and the timeline know about streams holds inside a graph: two nodes are ordered
 *      /   \             lane 1:  c (after a)      exactly when a path of edges leads from one to the other.
 *     b     c            d waits for c
 *      \   /
 *        d
 *
 * All that a launch does is decided at the call of cudaGraphLaunch, node by node, as if the program had made the calls then. */
#include "graph/graph_exec.h"

#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "sched/event.h"
#include "graph/graph_memory.h"
#include "base/handle.h"
#include "os/os.h"
#include "base/journal.h"
#include "sched/engine.h"
#include "run/commands.h"

static uint32_t launches;

/* ---- instantiation ---- */

/* The lanes' ends, while lanes are being laid out. */
struct layout { size_t *tail; size_t count; };

static void lay_out(struct exec *x, struct node *const *order, struct layout *layout, size_t i)
{
    struct node *n = order[i];
    struct plan *p = &x->plans[i];
    p->lane = layout->count;
    for (size_t k = 0; k < n->before_count && p->lane == layout->count; k++) {
        size_t b = n->before[k]->position;
        if (layout->tail[x->plans[b].lane] == b && x->plans[b].task.device == n->task.device) p->lane = x->plans[b].lane;
    }
    if (p->lane == layout->count) layout->count++;
    layout->tail[p->lane] = i;
    p->before = host_allocate(n->before_count * sizeof *p->before);
    p->is_root = n->before_count == 0;
    for (size_t k = 0; k < n->before_count; k++) {
        size_t b = n->before[k]->position;
        x->plans[b].is_last = false;
        if (x->plans[b].lane == p->lane) continue;
        x->plans[b].is_waited_for = true;
        p->before[p->before_count++] = b;
    }
}

/* measured (probe-graph-nodes.txt, "range"): a memset node may use all of the steps that its graph has addresses in, of other memory one allocation. */
static bool memset_fits(const struct task *t)
{
    size_t bytes = t->count * t->element, room = graph_memory_room(t->to);
    return room ? bytes <= room : work_allows(t->to, bytes, t->device, false, t->peer);
}

static bool memsets_fit(const struct graph *g)
{
    for (const struct node *n = g->first; n; n = n->next)
        if (n->task.kind == TASK_MEMSET && !memset_fits(&n->task)) return false;
    return true;
}

cudaError_t exec_new(struct graph *g, unsigned long long flags, struct exec **made)
{
    if (g->has_memory_nodes && g->instantiated) return cudaErrorNotSupported;
    struct node **order = host_allocate(g->count * sizeof(struct node *));
    if (!graph_order(g, order) || !memsets_fit(g)) {
        host_free(order);
        return cudaErrorInvalidValue;
    }
    struct exec *x = host_allocate(sizeof *x);
    struct layout layout = { host_allocate(g->count * sizeof(size_t)), 0 };
    *x = (struct exec){ .id = g->id, .graph = g->handle, .flags = flags, .count = g->count };
    x->plans = host_allocate(g->count * sizeof *x->plans);
    x->blocks = host_allocate(g->count * sizeof(struct graph_block *));
    for (size_t i = 0; i < g->count; i++) {
        x->plans[i] = (struct plan){ .task = order[i]->task, .is_last = true };
        if (order[i]->task.kind == TASK_ALLOCATE) x->blocks[x->block_count++] = order[i]->task.block;
        if (order[i]->task.block) graph_block_instantiated(order[i]->task.block);
        lay_out(x, order, &layout, i);
    }
    x->lanes = layout.count;
    x->handle = handle_new(HANDLE_GRAPH_EXEC, x);
    g->instantiated = true;
    host_free(layout.tail);
    host_free(order);
    *made = x;
    return cudaSuccess;
}

void exec_destroy(struct exec *x)
{
    struct graph *g = handle_object(HANDLE_GRAPH, x->graph);
    if (g) g->instantiated = false;
    handle_retire(HANDLE_GRAPH_EXEC, x->handle);
    for (size_t i = 0; i < x->count; i++) {
        if (x->plans[i].task.block) graph_block_released(x->plans[i].task.block);
        host_free(x->plans[i].before);
    }
    if (x->last) record_release(x->last);
    host_free(x->plans);
    host_free(x->blocks);
    host_free(x);
}

/* ---- one node ---- */

static cudaError_t do_task(const struct task *t, struct stream *s)
{
    struct event *event = t->event ? handle_object(HANDLE_EVENT, t->event) : NULL;
    switch (t->kind) {
    case TASK_MEMSET:   work_memset_node(t->to, t->value, t->element, t->count, s); break;
    case TASK_COPY:     return work_copy(t->to, t->from, t->count, t->direction, s, t->peer, NULL);
    case TASK_FILL:     return work_fill((int *)t->to, t->value, t->count, s);
    case TASK_ADD:      return work_add((int *)t->to, t->value, t->count, s);
    case TASK_HOLD:     return work_hold(t->gate, s);
    case TASK_HOST:     return work_host_function(t->function, t->argument, s);
    case TASK_ALLOCATE: graph_block_allocate(t->block, s); break;
    case TASK_FREE:     graph_block_free(t->block, s); break;
    case TASK_RECORD:   if (event) event_record(event, s); break;
    case TASK_WAIT:     if (event) event_wait(event, s); break;
    case TASK_EMPTY:    stream_mark(s); break;
    }
    return cudaSuccess;
}

static void run_node(struct plan *p, struct stream *s, const struct deed *call)
{
    checker_node(call, p->task.call, p->task.site, launches, p->task.newest);
    if (!do_task(&p->task, s)) return;
    /* a GPU finds out when the node runs; what it would find is known now (chosen: always a fault) */
    host_say("illegal address: a node of a graph (%s) touches memory that is not there, or not all of it, when the graph is launched.", p->task.call);
    device_fault(cudaErrorIllegalAddress);
}

/* ---- launch ---- */

/* What makes a launch impossible, before anything of it has happened. */
static cudaError_t check(const struct exec *x)
{
    for (size_t i = 0; i < x->count; i++) {
        const struct task *t = &x->plans[i].task;
        /* documented: not while an allocation of an earlier launch is not freed, unless it shall be freed then */
        if (t->kind == TASK_ALLOCATE && t->block->chunk && !(x->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch)) return cudaErrorInvalidValue;
        bool own = false;
        for (size_t k = 0; t->kind == TASK_FREE && k < x->block_count && !own; k++) own = x->blocks[k] == t->block;
        if (t->kind == TASK_FREE && !own && !t->block->chunk) return cudaErrorInvalidValue;        /* chosen: freed already, or not yet allocated */
    }
    return cudaSuccess;
}

/* Physical memory for a launch or an upload in `s`, which comes after the last one (documented, for both). Measured (probe-graph-nodes.txt, "uploads"): where
 * addresses have to get other memory than they have, the call waits until that one is over. */
static bool back(struct exec *x, struct stream *s)
{
    bool moved = false, backed = graph_memory_back(x->blocks, x->block_count, s, &moved);
    if (!x->last) return backed;
    if (backed && moved) timeline_wait(x->last->stream, x->last->number, checker_caller().call);
    record_release(x->last);
    x->last = NULL;
    return backed;
}

cudaError_t exec_upload(struct exec *x, struct stream *s)
{
    for (size_t i = 0; i < x->block_count; i++)
        if (x->blocks[i]->chunk) return cudaSuccess;         /* of an earlier launch: all is mapped */
    if (x->last) stream_wait(s, x->last);
    bool backed = back(x, s);
    x->last = stream_record(s);
    if (backed) graph_memory_launched(x->blocks, x->block_count, s);
    return backed ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* The nodes, on the launch's stream and its branches. */
static void run_nodes(struct exec *x, struct stream *trunk, const struct deed *call)
{
    struct stream **lanes = host_allocate(x->lanes * sizeof(struct stream *));
    struct record *start = NULL;       /* what comes before the nodes that are not on the trunk */
    for (size_t i = 0; i < x->count && !start; i++)
        if (x->plans[i].is_root && (x->plans[i].lane || x->plans[i].task.device != trunk->device)) start = stream_record(trunk);
    for (size_t i = 0; i < x->count; i++) {
        struct plan *p = &x->plans[i];
        struct stream *s = lanes[p->lane];
        if (!s) s = lanes[p->lane] = p->lane == 0 && p->task.device == trunk->device ? trunk : stream_branch(trunk, p->task.device);
        if (p->is_root && s != trunk) stream_wait(s, start);
        for (size_t k = 0; k < p->before_count; k++) stream_wait(s, x->plans[p->before[k]].record);
        run_node(p, s, call);
        if (p->is_waited_for || (p->is_last && s != trunk)) p->record = stream_record(s);
    }
    for (size_t i = 0; i < x->count; i++) {
        struct plan *p = &x->plans[i];
        if (!p->record) continue;
        if (p->is_last) stream_wait(trunk, p->record);
        record_release(p->record);
        p->record = NULL;
    }
    for (size_t i = 0; i < x->lanes; i++)
        if (lanes[i] != trunk) stream_branch_over(lanes[i]);
    if (start) record_release(start);
    host_free(lanes);
}

cudaError_t exec_launch(struct exec *x, struct stream *s)
{
    cudaError_t e = check(x);
    if (e) return e;
    struct deed call = checker_caller();
    journal_number("launch", ++launches);
    journal_quiet(true);
    if (x->last) stream_wait(s, x->last);
    for (size_t i = 0; i < x->block_count; i++)              /* documented: as if cudaFreeAsync were called for each that is left */
        if (x->blocks[i]->chunk) graph_block_free(x->blocks[i], s);
    bool backed = back(x, s);
    if (backed) run_nodes(x, s, &call);
    x->last = stream_record(s);
    if (backed) graph_memory_launched(x->blocks, x->block_count, s);
    else e = cudaErrorMemoryAllocation;
    checker_call(call.call, call.site);
    journal_quiet(false);
    return e;
}
