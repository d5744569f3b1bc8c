/* Launches. The nodes of a graph are laid out on branches. A node continues a branch that ends with
 * one of its dependencies; if there is none, it begins a new branch. The first branch is the
 * launch's own stream, and the others have streams of their own. Edges between branches are records
 * and waits, as between streams.
 *
 *        a            branch 0:  a -> b -> d, which waits for c
 *      /   \          branch 1:  c, which waits for a
 *     b     c
 *      \   /
 *        d
 *
 * So the checker and the engine treat the inside of a graph like streams: one node happens before
 * another if and only if a path of edges leads from one to the other.
 *
 * The call of cudaGraphLaunch decides all that a launch does, node by node, as if the program had
 * made the calls then.
 *
 * What a conditional node runs depends on what kernels before it have set, so the call waits at the
 * node until they have run. The host's time passes, but the host acquires nothing. (On a GPU the
 * call returns earlier, because the device decides.) A body is launched at the node's place like a
 * graph of its own: after all that the node depends on, and before all that depends on the node
 * (documented). */
#include "graph/graph_exec.h"

#include "base/device_state.h"
#include "base/fatal.h"
#include "base/hazards.h"
#include "check/checker.h"
#include "check/failed_call.h"
#include "os/needs_lock.h"
#include "mem/device.h"
#include "graph/dispatch.h"
#include "graph/graph_memory.h"
#include "base/handle.h"
#include "os/os.h"
#include "sched/engine.h"
#include "run/commands.h"

/* Needs the lock. The number of the last launch, in the journal and in origins. */
static uint32_t last_launch_id;

/* ---- instantiation ---- */

/* The last node of each branch so far. */
struct layout {
    size_t *tails;
    size_t count;
};

/* Returns the branch that a node continues, after a dependency on the same device, or a new one. */
static size_t find_branch(const struct graph_exec *x, const struct node *n,
                          const struct layout *layout)
{
    for (size_t k = 0; k < n->dependency_count; k++) {
        size_t b = n->dependencies[k]->position;
        if (layout->tails[x->nodes[b].branch] == b && x->nodes[b].task.device == n->task.device)
            return x->nodes[b].branch;
    }
    return layout->count;
}

/* Assigns node `i` of `sorted` to a branch, and lists the nodes for which it waits. */
static void assign_branch(struct graph_exec *x, struct node *const *sorted, struct layout *layout,
                          size_t i)
{
    struct node *n = sorted[i];
    struct exec_node *p = &x->nodes[i];
    p->branch = find_branch(x, n, layout);
    if (p->branch == layout->count)
        layout->count++;
    layout->tails[p->branch] = i;
    p->waits_for = os_allocate(n->dependency_count * sizeof *p->waits_for);
    p->dependencies = os_allocate(n->dependency_count * sizeof *p->dependencies);
    p->dependency_count = n->dependency_count;
    p->is_root = n->dependency_count == 0;
    for (size_t k = 0; k < n->dependency_count; k++) {
        size_t b = n->dependencies[k]->position;
        p->dependencies[k] = b;
        x->nodes[b].is_last = false;
        if (x->nodes[b].branch == p->branch)
            continue;
        x->nodes[b].is_waited_for = true;
        p->waits_for[p->wait_count++] = b;
    }
}

bool graph_memset_fits(const struct task *t)
{
    NEEDS_LOCK();
    size_t span = rows_span(&t->rows, t->rows.to_pitch), room = graph_memory_bytes_left(t->to);
    return room ? span <= room : command_allows_memset(t->to, span, t->device);
}

static bool memsets_fit(struct node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i]->task.kind == TASK_MEMSET && !graph_memset_fits(&nodes[i]->task))
            return false;
    return true;
}

/* Makes an executable graph of nodes whose order the edges allow. */
static struct graph_exec *instantiate(struct graph *g, struct node *const *sorted, size_t count,
                                      unsigned long long flags)
{
    struct graph_exec *x = os_allocate(sizeof *x);
    struct layout layout = {os_allocate(count * sizeof(size_t)), 0};
    *x =
        (struct graph_exec){.id = g->id, .graph_handle = g->handle, .flags = flags, .count = count};
    x->nodes = os_allocate(count * sizeof *x->nodes);
    x->allocations = os_allocate(count * sizeof(struct graph_allocation *));
    for (size_t i = 0; i < count; i++) {
        x->nodes[i] = (struct exec_node){
            .task = task_copy(&sorted[i]->task), .node_handle = sorted[i]->handle, .is_last = true};
        if (sorted[i]->task.kind == TASK_ALLOCATE) {
            x->allocations[x->allocation_count++] = sorted[i]->task.allocation;
            sorted[i]->task.allocation->instantiated = true;
        }
        if (sorted[i]->task.allocation)
            graph_allocation_add_exec(sorted[i]->task.allocation);
        assign_branch(x, sorted, &layout, i);
    }
    x->branch_count = layout.count;
    x->handle = handle_new(HANDLE_GRAPH_EXEC, x);
    x->is_the_only_one = g->has_memory_nodes || graph_has_conditionals(g);
    g->instantiated |= x->is_the_only_one;
    os_free(layout.tails);
    return x;
}

/* Documented (cudaConditionalNodeParams): a body has kernels, memsets, copies, empty nodes, child
 * graphs, and conditional nodes, and all its kernels have one context. The code is measured for
 * allocations and frees (probe-graph-again.txt, "conditional_allocation_alone"), host functions
 * (kernels-conditional.txt), events (probe-more-answers.txt, "body_that_records"), and a copy node
 * of another device (probe-more-peers.txt, "copy_from_the_other_in_a_body"). Assumed: a memset node
 * of another device, too. */
static bool body_may_have(const struct task *t, const struct condition *c)
{
    switch (task_type(t)) {
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeMemcpy: return t->device == c->device;
    case cudaGraphNodeTypeEmpty:
    case cudaGraphNodeTypeConditional: return true;
    default: return false;
    }
}

/* Returns whether the graph or, if `of` is its condition, the body can be instantiated. */
static bool can_instantiate(struct graph *g, const struct condition *of)
{
    size_t count;
    struct node **sorted = graph_flatten(g, &count);
    bool is_valid = sorted && memsets_fit(sorted, count) && !(of && g->capturing);
    /* Documented: a condition without a node may make the call fail. Measured: it did
     * (kernels-conditional.txt). */
    for (const struct condition *c = g->conditions; c; c = c->next)
        is_valid = is_valid && c->in_node;
    for (size_t i = 0; is_valid && i < count; i++) {
        const struct conditional *c = sorted[i]->task.conditional;
        is_valid = !of || body_may_have(&sorted[i]->task, of);
        for (unsigned k = 0; c && is_valid && k < c->size; k++)
            is_valid = can_instantiate(c->bodies[k], c->condition);
    }
    if (sorted)
        graph_free_flat(sorted, count);
    return is_valid;
}

/* Instantiates a graph for which can_instantiate returned true, with its bodies. */
static struct graph_exec *instantiate_all(struct graph *g, unsigned long long flags)
{
    size_t count;
    struct node **sorted = graph_flatten(g, &count);
    struct graph_exec *x = instantiate(g, sorted, count, flags);
    for (size_t i = 0; i < count; i++) {
        const struct conditional *c = sorted[i]->task.conditional;
        if (!c)
            continue;
        struct exec_conditional *own = os_allocate(sizeof *own);
        *own = (struct exec_conditional){c->condition, c->type, c->size,
                                         os_allocate(c->size * sizeof *own->bodies)};
        own->condition->holders++;
        for (unsigned k = 0; k < c->size; k++)
            own->bodies[k] = instantiate_all(c->bodies[k], flags);
        x->nodes[i].task.conditional = NULL;
        x->nodes[i].conditional = own;
        x->has_conditionals = true;
    }
    graph_free_flat(sorted, count);
    return x;
}

cudaError_t graph_exec_new(struct graph *g, unsigned long long flags, struct graph_exec **made)
{
    NEEDS_LOCK();
    /* Measured (probe-graph-nodes.txt, "children"; probe-more-answers.txt, "graph_edges"): a graph
     * that another graph owns cannot be instantiated, even without memory nodes. Documented: a
     * graph with conditional nodes has one executable graph at a time; the code is measured
     * (kernels-conditional.txt). */
    if (((g->has_memory_nodes || graph_has_conditionals(g)) && g->instantiated) || g->parent)
        return cudaErrorNotSupported;
    if (!can_instantiate(g, NULL))
        return cudaErrorInvalidValue;
    *made = instantiate_all(g, flags);
    return cudaSuccess;
}

static void free_conditional(struct exec_conditional *c)
{
    for (unsigned k = 0; k < c->size; k++)
        graph_exec_destroy(c->bodies[k]);
    condition_release(c->condition);
    os_free(c->bodies);
    os_free(c);
}

void graph_exec_destroy(struct graph_exec *x)
{
    NEEDS_LOCK();
    struct graph *g = handle_object(HANDLE_GRAPH, x->graph_handle);
    if (g && x->is_the_only_one)
        g->instantiated = false;
    handle_retire(HANDLE_GRAPH_EXEC, x->handle);
    for (size_t i = 0; i < x->count; i++) {
        if (x->nodes[i].task.allocation)
            graph_allocation_remove_exec(x->nodes[i].task.allocation);
        if (x->nodes[i].conditional)
            free_conditional(x->nodes[i].conditional);
        task_release(&x->nodes[i].task);
        os_free(x->nodes[i].waits_for);
        os_free(x->nodes[i].dependencies);
    }
    if (x->last_record)
        record_release(x->last_record);
    os_free(x->nodes);
    os_free(x->allocations);
    os_free(x);
}

/* Looks first at n->position, which is the node's index unless the graph has changed since. */
struct exec_node *graph_exec_find(struct graph_exec *x, const struct node *n)
{
    NEEDS_LOCK();
    if (n->position < x->count && x->nodes[n->position].node_handle == n->handle)
        return &x->nodes[n->position];
    for (size_t i = 0; i < x->count; i++)
        if (x->nodes[i].node_handle == n->handle)
            return &x->nodes[i];
    struct exec_node *found = NULL;
    for (size_t i = 0; i < x->count && x->has_conditionals && !found; i++) {
        const struct exec_conditional *c = x->nodes[i].conditional;
        for (unsigned k = 0; c && k < c->size && !found; k++)
            found = graph_exec_find(c->bodies[k], n);
    }
    return found;
}

/* ---- one node ---- */

static struct call call_of(const struct call *launch, const struct exec_node *p)
{
    struct call call;
    call.origin = (struct origin){.call = p->task.call,
                                  .site = p->task.site,
                                  .number = launch->origin.number,
                                  .is_captured = p->task.is_captured,
                                  .is_nested = launch->origin.is_nested || p->task.is_nested,
                                  .launch = launch->made.launch,
                                  .launch_site = launch->origin.site,
                                  .newest_allocation = p->task.newest_allocation};
    line_close(&call.line);
    return call;
}

static void run_node(const struct call *launch, struct exec_node *p, struct stream *s)
{
    struct call call = call_of(launch, p);
    /* After a fault, which a launch may have waited for, no node runs any more. */
    if (p->is_disabled || device_sticky_error) {
        stream_enqueue_marker(s, BARRIER_FULL);
        return;
    }
    if (!dispatch_now(&call, &p->task, s))
        return;
    /* Assumed: the memory is missing, too, when the node runs, where a GPU would find that out. */
    struct op at_launch = {.stream = s, .seq = s->last_seq + 1};
    command_made_by(&at_launch, &call);
    command_fault(&at_launch, cudaErrorIllegalAddress,
                  "touches memory that is not there, or not all of it, when the graph is launched",
                  NULL, true);
}

/* ---- launch ---- */

static bool allocates(const struct graph_exec *x, const struct graph_allocation *a)
{
    for (size_t i = 0; i < x->allocation_count; i++)
        if (x->allocations[i] == a)
            return true;
    return false;
}

/* Documented: two threads may not use one executable graph at the same time. */
static cudaError_t refuse_launch(void)
{
    diag("cudaGraphLaunch: another thread is launching this executable graph, whose conditional "
         "nodes the launch waits for: the call returns cudaErrorNotSupported. Graphs are not safe "
         "to use from two threads at once.");
    hazards_gave_up("a launch of a graph was refused");
    return cudaErrorNotSupported;
}

/* Returns the error that prevents a launch, or cudaSuccess. Changes nothing. */
static cudaError_t check_launch(const struct graph_exec *x)
{
    for (size_t i = 0; i < x->count; i++) {
        const struct task *t = &x->nodes[i].task;
        /* Documented: what an earlier launch allocated must be freed, unless the launch frees
         * it. */
        if (t->kind == TASK_ALLOCATE && t->allocation->range
            && !(x->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch)) {
            failed_call_because("its memory of the launch before is not freed, and it has no "
                                "cudaGraphInstantiateFlagAutoFreeOnLaunch");
            return cudaErrorInvalidValue;
        }
        /* Assumed: a launch cannot free what is already freed or not yet allocated. */
        if (t->kind == TASK_FREE && !t->allocation->range && !allocates(x, t->allocation)) {
            failed_call_because("it frees memory that is not allocated");
            return cudaErrorInvalidValue;
        }
    }
    return cudaSuccess;
}

/* Records that a launch or upload ends with the stream's newest work. */
static void set_last_record(struct graph_exec *x, struct stream *s)
{
    if (x->last_record)
        record_release(x->last_record);
    x->last_record = stream_record(s);
}

/* Backs the memory for a launch or upload in `s`, and makes the stream wait for the previous launch
 * or upload (documented for both). If addresses have to get other memory than they have, the call
 * itself waits (measured: probe-graph-nodes.txt, "uploads"). Returns false if there is no more
 * memory; then nothing is queued (assumed, because a failed allocation queues nothing, either). */
static bool back_allocations_unlocking(struct call *call, struct graph_exec *x, struct stream *s)
{
    struct vector_clock before = VC_EMPTY;
    struct record *last = x->last_record;
    bool moved = false;
    stream_gather_order(s, &before);
    if (last) {
        vc_join(&before, &last->ordering.known);
        vc_set(&before, last->stream->slot, last->seq);
    }
    bool backed = graph_memory_back(x->allocations, x->allocation_count, s, &before, &moved);
    vc_clear(&before);
    if (backed && last)
        stream_wait(s, last);
    if (backed && last && moved)
        engine_wait_unlocking(last->stream, last->seq, call->origin.call);
    return backed;
}

cudaError_t graph_exec_upload_unlocking(struct call *call, struct graph_exec *x, struct stream *s)
{
    NEEDS_LOCK();
    for (size_t i = 0; i < x->allocation_count; i++)
        /* An earlier launch has made the allocation, so everything is mapped. */
        if (x->allocations[i]->range)
            return cudaSuccess;
    if (!back_allocations_unlocking(call, x, s))
        return cudaErrorMemoryAllocation;
    set_last_record(x, s);
    graph_memory_launched(x->allocations, x->allocation_count, s);
    return cudaSuccess;
}

/* If a node without dependencies runs in another stream than the launch's, returns a record of what
 * precedes the launch, for which that stream waits. Otherwise returns NULL. */
static struct record *record_entry(const struct graph_exec *x, struct stream *trunk)
{
    for (size_t i = 0; i < x->count; i++) {
        const struct exec_node *p = &x->nodes[i];
        if (p->is_root && (p->branch || p->task.device != trunk->device))
            return stream_record(trunk);
    }
    return NULL;
}

/* Returns the stream of a node's branch, and makes it if necessary. */
static struct stream *branch_stream(struct stream **branches, const struct exec_node *p,
                                    struct stream *trunk)
{
    struct stream **s = &branches[p->branch];
    if (*s)
        return *s;
    if (p->branch == 0 && p->task.device == trunk->device)
        *s = trunk;
    else
        *s = stream_new_branch(trunk->trunk ? trunk->trunk : trunk, p->task.device);
    return *s;
}

/* Makes the launch's stream wait for the last nodes, and releases all records. */
static void join_branches(struct graph_exec *x, struct stream *trunk)
{
    for (size_t i = 0; i < x->count; i++) {
        struct exec_node *p = &x->nodes[i];
        if (!p->record)
            continue;
        if (p->is_last)
            stream_wait(trunk, p->record);
        record_release(p->record);
        p->record = NULL;
    }
}

static void run_nodes_unlocking(struct call *launch, struct graph_exec *x, struct stream *trunk);

/* Waits until the stream has come to the conditional node, and returns the condition's value. */
static uint32_t value_unlocking(const struct call *launch, const struct exec_node *p,
                                struct stream *s)
{
    const struct call call = call_of(launch, p);
    struct condition *c = p->conditional->condition;
    stream_enqueue_marker(s, BARRIER_FULL);
    checker_used(&call, condition_shadow(c), s, s->last_seq, 0, sizeof c->value, false);
    engine_wait_unlocking(s, s->last_seq, launch->origin.call);
    if (c->has_value)
        return c->value;
    diag("cudaGraphLaunch: no kernel of this launch has set the condition of a conditional node, "
         "and its handle has no default (cudaGraphCondAssignDefault). On a GPU its value is "
         "undefined; here it is 0.");
    c->has_value = true;
    c->value = 0;
    return c->value;
}

/* Assumed: a loop of this many turns never ends. */
#define MOST_TURNS 1000000u

static void run_conditional_unlocking(struct call *launch, const struct exec_node *p,
                                      struct stream *s)
{
    const struct exec_conditional *c = p->conditional;
    const bool is_nested = launch->origin.is_nested;
    uint32_t value = value_unlocking(launch, p, s);
    launch->origin.is_nested = true;
    unsigned body = c->type == cudaGraphCondTypeIf ? !value : value;
    for (unsigned n = 0; c->type == cudaGraphCondTypeWhile && value && !device_sticky_error; n++) {
        if (n == MOST_TURNS)
            fatal_hazard(HAZARD_WAITING_FOREVER, launch->origin.call,
                         "The body of a WHILE node has run %u times, and its condition is still "
                         "%u. A loop whose condition no kernel sets to 0 never ends, on a GPU "
                         "neither: let a kernel of the body call cudaGraphSetConditional(handle, "
                         "0). If the loop is only long: give it a smaller input.",
                         MOST_TURNS, value);
        run_nodes_unlocking(launch, c->bodies[0], s);
        value = value_unlocking(launch, p, s);
    }
    if (c->type != cudaGraphCondTypeWhile && body < c->size && !device_sticky_error)
        run_nodes_unlocking(launch, c->bodies[body], s);
    launch->origin.is_nested = is_nested;
}

static void run_nodes_unlocking(struct call *launch, struct graph_exec *x, struct stream *trunk)
{
    struct stream **branches = os_allocate(x->branch_count * sizeof(struct stream *));
    struct record *entry = record_entry(x, trunk);
    for (size_t i = 0; i < x->count; i++) {
        struct exec_node *p = &x->nodes[i];
        struct stream *s = branch_stream(branches, p, trunk);
        if (p->is_root && s != trunk)
            stream_wait(s, entry);
        for (size_t k = 0; k < p->wait_count; k++)
            stream_wait(s, x->nodes[p->waits_for[k]].record);
        if (p->conditional)
            run_conditional_unlocking(launch, p, s);
        else
            run_node(launch, p, s);
        if (p->is_waited_for || (p->is_last && s != trunk))
            p->record = stream_record(s);
    }
    join_branches(x, trunk);
    /* In reverse order, so that the next launch gets the same streams for the same branches. */
    for (size_t i = x->branch_count; i-- > 0;)
        if (branches[i] != trunk)
            stream_release_branch(branches[i]);
    if (entry)
        record_release(entry);
    os_free(branches);
}

/* Frees what the last launch left allocated, as if the program had called cudaFreeAsync after it
 * (documented), even if the present launch then fails (assumed). Returns whether anything was
 * left. */
static bool free_what_is_left(struct call *call, struct graph_exec *x, struct stream *s)
{
    bool any = false;
    for (size_t i = 0; i < x->allocation_count; i++) {
        if (!x->allocations[i]->range)
            continue;
        if (!any && x->last_record)
            stream_wait(s, x->last_record);
        any = true;
        graph_allocation_free(call, x->allocations[i], s);
    }
    return any;
}

/* Gives all conditions, also in bodies, their defaults (documented: as each execution begins). */
static void assign_defaults(const struct graph_exec *x)
{
    for (size_t i = 0; i < x->count && x->has_conditionals; i++) {
        const struct exec_conditional *c = x->nodes[i].conditional;
        if (!c)
            continue;
        c->condition->has_value = c->condition->has_default;
        c->condition->value = c->condition->default_value;
        for (unsigned k = 0; k < c->size; k++)
            assign_defaults(c->bodies[k]);
    }
}

cudaError_t graph_exec_launch_unlocking(struct call *call, struct graph_exec *x, struct stream *s)
{
    NEEDS_LOCK();
    cudaError_t e = check_launch(x);
    if (e)
        return e;
    if (x->is_waiting)
        return refuse_launch();
    if (x->refused_update.call)
        failed_call_mattered(&x->refused_update, "cudaErrorGraphExecUpdateFailure",
                             "a later launch runs the graph of before");
    call->made.launch = ++last_launch_id;
    bool freed = free_what_is_left(call, x, s);
    if (!back_allocations_unlocking(call, x, s)) {
        if (freed)
            set_last_record(x, s);
        return cudaErrorMemoryAllocation;
    }
    if (x->has_conditionals && x->last_record)
        engine_wait_unlocking(x->last_record->stream, x->last_record->seq, call->origin.call);
    assign_defaults(x);
    x->is_waiting = x->has_conditionals;
    run_nodes_unlocking(call, x, s);
    x->is_waiting = false;
    set_last_record(x, s);
    graph_memory_launched(x->allocations, x->allocation_count, s);
    return cudaSuccess;
}
