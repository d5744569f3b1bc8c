/* Updates an executable graph from a graph of the same form. Two nodes are partners if they have
 * the same index in the order of graph_flatten. Graphs that were made by the same calls have the
 * same order. (Assumed: a driver pairs nodes by the order of the edges, and finds partners in more
 * graphs.) */
#include "graph/graph_update.h"

#include "base/hazards.h"
#include "mem/memory.h"
#include "os/needs_lock.h"
#include "os/os.h"

/* Returns the device of the memory, or NO_DEVICE for the host's. */
static int place_of(const struct address_info *a)
{
    return a->heap && !a->heap->host_visible ? memory_home(a->heap, a->offset) : NO_DEVICE;
}

/* Returns whether a copy may use one address instead of the other. Measured (probe-odd-peers.txt,
 * "updates"): the same device must have made the memory at both. Assumed: where that is unknown,
 * both are on one device, and the host's memory differs from other memory. */
static bool is_alike(const void *address, const void *other)
{
    struct address_info a = memory_find(address), b = memory_find(other);
    int maker = memory_maker(&a);
    return maker == memory_maker(&b) && !a.heap == !b.heap
        && (maker != NO_DEVICE || place_of(&a) == place_of(&b));
}

bool graph_task_may_become(const struct task *old, const struct task *changed)
{
    NEEDS_LOCK();
    bool copies = old->kind == TASK_COPY, sets = old->kind == TASK_MEMSET;
    if (sets && old->rows.height > 1
        && (old->rows.width != changed->rows.width || old->rows.height != changed->rows.height))
        return false;
    /* Measured (probe-odd-peers.txt, "updates"): a memset must run on the same device. */
    if (sets)
        return old->device == changed->device;
    return !copies || (is_alike(old->to, changed->to) && is_alike(old->from, changed->from));
}

/* Returns why node `i` cannot get the task of its partner. */
static enum cudaGraphExecUpdateResult compare_task(const struct exec_node *p, const struct node *n)
{
    if (task_type(&p->task) != task_type(&n->task))
        return cudaGraphExecUpdateErrorNodeTypeChanged;
    /* Measured (probe-graph-nodes.txt, "updates"): the result for another allocation. */
    if (p->task.allocation != n->task.allocation)
        return cudaGraphExecUpdateError;
    if (!graph_task_may_become(&p->task, &n->task)
        || (n->task.kind == TASK_MEMSET && !graph_memset_fits(&n->task)))
        return cudaGraphExecUpdateErrorParametersChanged;
    return cudaGraphExecUpdateSuccess;
}

/* Returns whether the partner depends on the same nodes. Otherwise sets `from` to the first
 * dependency that differs. */
static bool has_same_edges(const struct exec_node *p, const struct node *n, struct node **from)
{
    if (p->dependency_count != n->dependency_count)
        return false;
    for (size_t k = 0; k < n->dependency_count; k++)
        if (p->dependencies[k] != n->dependencies[k]->position) {
            *from = n->dependencies[k];
            return false;
        }
    return true;
}

static void compare_node(const struct exec_node *p, struct node *n,
                         cudaGraphExecUpdateResultInfo *result)
{
    struct node *from = NULL;
    result->result = compare_task(p, n);
    if (result->result == cudaGraphExecUpdateSuccess && !has_same_edges(p, n, &from))
        result->result = cudaGraphExecUpdateErrorTopologyChanged;
    if (result->result == cudaGraphExecUpdateSuccess)
        return;
    result->errorNode = n->handle;
    result->errorFromNode = from ? from->handle : NULL;
}

/* Compares all nodes. `result` gets the first obstacle, without a node if the graphs have other
 * numbers of edges or roots. */
static void compare(const struct graph_exec *x, struct node *const *sorted,
                    cudaGraphExecUpdateResultInfo *result)
{
    size_t edges = 0, roots = 0;
    for (size_t i = 0; i < x->count; i++) {
        edges += x->nodes[i].dependency_count - sorted[i]->dependency_count;
        roots += !x->nodes[i].dependency_count - !sorted[i]->dependency_count;
    }
    if (edges || roots)
        result->result = cudaGraphExecUpdateErrorTopologyChanged;
    /* Measured (probe-odd-answers.txt, "updates"): a driver compares the newest root first. */
    for (size_t i = x->count; i && result->result == cudaGraphExecUpdateSuccess; i--)
        if (!sorted[i - 1]->dependency_count)
            compare_node(&x->nodes[i - 1], sorted[i - 1], result);
    for (size_t i = 0; i < x->count && result->result == cudaGraphExecUpdateSuccess; i++)
        compare_node(&x->nodes[i], sorted[i], result);
}

static void take_tasks(struct graph_exec *x, struct node *const *sorted)
{
    for (size_t i = 0; i < x->count; i++) {
        task_release(&x->nodes[i].task);
        x->nodes[i].task = task_copy(&sorted[i]->task);
    }
}

static enum cudaGraphExecUpdateResult refuse_conditionals(void)
{
    diag("cudaGraphExecUpdate: updates of graphs with conditional nodes are not simulated: the "
         "call returns cudaErrorGraphExecUpdateFailure, with the reason "
         "cudaGraphExecUpdateErrorNotSupported. Instantiate the new graph instead.");
    hazards_gave_up("an update of a graph was refused");
    return cudaGraphExecUpdateErrorNotSupported;
}

cudaError_t graph_exec_update(struct graph_exec *x, struct graph *g,
                              cudaGraphExecUpdateResultInfo *result)
{
    NEEDS_LOCK();
    *result = (cudaGraphExecUpdateResultInfo){.result = cudaGraphExecUpdateSuccess};
    /* Measured (probe-odd-answers.txt, "updates"): such a graph has one executable graph at a time,
     * which this is not. */
    if (g->has_memory_nodes && g->instantiated
        && !(x->is_the_only_one && x->graph_handle == g->handle))
        return cudaErrorNotSupported;
    size_t count;
    struct node **sorted = graph_flatten(g, &count);
    if (!sorted || g->capturing)
        result->result = cudaGraphExecUpdateError;
    else if (x->has_conditionals)
        result->result = refuse_conditionals();
    else if (count != x->count)
        result->result = cudaGraphExecUpdateErrorTopologyChanged;
    else
        compare(x, sorted, result);
    if (result->result == cudaGraphExecUpdateSuccess)
        take_tasks(x, sorted);
    if (sorted)
        graph_free_flat(sorted, count);
    return result->result == cudaGraphExecUpdateSuccess ? cudaSuccess
                                                        : cudaErrorGraphExecUpdateFailure;
}
