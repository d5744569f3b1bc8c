/* Graphs: their nodes and edges, and walks over them. */
#include "graph/graph.h"

#include "graph/graph_memory.h"
#include "base/handle.h"
#include "base/list.h"
#include "check/checker.h"
#include "os/needs_lock.h"
#include "os/os.h"

/* Needs the lock. Invariant: a node has been visited if and only if its `visited` is `walk`.
 * Outside of graph_visit_ancestors the stack is empty, but keeps its memory. */
static struct {
    int last_id;
    uint64_t walk;
    struct node **stack;
    size_t capacity;
} graphs;

struct graph *graph_new(void)
{
    NEEDS_LOCK();
    struct graph *g = os_allocate(sizeof *g);
    g->id = ++graphs.last_id;
    g->handle = handle_new(HANDLE_GRAPH, g);
    return g;
}

struct condition *graph_new_condition(struct graph *g, int device)
{
    NEEDS_LOCK();
    struct condition *c = os_allocate(sizeof *c);
    c->handle = handle_new(HANDLE_CONDITION, c);
    c->id = memory_new_id();
    c->device = device;
    c->holders = 1;
    c->next = g->conditions;
    g->conditions = c;
    return c;
}

void condition_release(struct condition *c)
{
    NEEDS_LOCK();
    if (--c->holders)
        return;
    handle_retire(HANDLE_CONDITION, c->handle);
    checker_variable_freed(&c->shadow);
    os_free(c);
}

static void free_conditional(struct conditional *c)
{
    for (unsigned k = 0; k < c->size; k++)
        graph_destroy(c->bodies[k]);
    c->condition->in_node = false;
    condition_release(c->condition);
    os_free(c->bodies);
    os_free(c->handles);
    os_free(c);
}

static void free_node(struct node *n)
{
    handle_retire(HANDLE_GRAPH_NODE, n->handle);
    if (n->task.allocation)
        graph_allocation_remove_node(n);
    task_release(&n->task);
    if (n->task.child)
        graph_destroy(n->task.child);
    if (n->task.conditional)
        free_conditional(n->task.conditional);
    os_free(n->arguments);
    os_free(n->dependencies);
    os_free(n->dependents);
    os_free(n);
}

void graph_destroy(struct graph *g)
{
    NEEDS_LOCK();
    handle_retire(HANDLE_GRAPH, g->handle);
    LIST_END(g->first, free_node);
    LIST_END(g->conditions, condition_release);
    graph_memory_graph_destroyed(g);
    os_free(g);
}

struct node *graph_add_node(struct graph *g, const struct task *task,
                            struct node *const *dependencies, size_t count)
{
    NEEDS_LOCK();
    struct node *n = os_allocate(sizeof *n);
    n->graph = g;
    n->id = ++g->last_node_id;
    g->count++;
    n->handle = handle_new(HANDLE_GRAPH_NODE, n);
    n->task = task_copy(task);
    n->root_number = ++g->last_root_number;
    for (size_t i = 0; i < count; i++)
        graph_add_edge(dependencies[i], n);
    if (g->last)
        g->last->next = n;
    else
        g->first = n;
    g->last = n;
    if (task->kind == TASK_ALLOCATE || task->kind == TASK_FREE)
        g->has_memory_nodes = true;
    return n;
}

void graph_set_child(struct node *n, struct graph *child)
{
    NEEDS_LOCK();
    n->task.child = child;
    child->parent = n->graph;
    /* Measured (probe-graph-nodes.txt, "children"): the child's memory is the parent's, too. */
    n->graph->has_memory_nodes |= child->has_memory_nodes;
}

void graph_set_conditional(struct node *n, struct condition *condition,
                           enum cudaGraphConditionalNodeType type, unsigned size)
{
    NEEDS_LOCK();
    struct conditional *c = os_allocate(sizeof *c);
    *c = (struct conditional){condition, type, size, os_allocate(size * sizeof *c->bodies),
                              os_allocate(size * sizeof *c->handles)};
    condition->holders++;
    condition->in_node = true;
    for (unsigned k = 0; k < size; k++) {
        c->bodies[k] = graph_new();
        c->bodies[k]->parent = n->graph;
        c->bodies[k]->is_body = true;
        c->handles[k] = c->bodies[k]->handle;
    }
    n->task.conditional = c;
}

bool graph_has_conditionals(const struct graph *g)
{
    NEEDS_LOCK();
    for (const struct node *n = g->first; n; n = n->next)
        if (n->task.conditional)
            return true;
    return false;
}

bool graph_has_edge(const struct node *from, const struct node *to)
{
    NEEDS_LOCK();
    for (size_t i = 0; i < to->dependency_count; i++)
        if (to->dependencies[i] == from)
            return true;
    return false;
}

/* Removes the node from the array, and returns the new length. */
static size_t without(struct node **nodes, size_t count, const struct node *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (nodes[i] != n)
            nodes[kept++] = nodes[i];
    return kept;
}

void graph_remove_edge(struct node *from, struct node *to)
{
    NEEDS_LOCK();
    from->dependent_count = without(from->dependents, from->dependent_count, to);
    to->dependency_count = without(to->dependencies, to->dependency_count, from);
    if (!to->dependency_count)
        to->root_number = ++to->graph->last_root_number;
}

void graph_remove_node(struct node *n)
{
    NEEDS_LOCK();
    struct graph *g = n->graph;
    struct node *before = NULL;
    while (n->dependency_count)
        graph_remove_edge(n->dependencies[0], n);
    while (n->dependent_count)
        graph_remove_edge(n, n->dependents[0]);
    for (struct node *other = g->first; other; other = other->next)
        if (other->next == n)
            before = other;
    if (before)
        before->next = n->next;
    else
        g->first = n->next;
    if (g->last == n)
        g->last = before;
    g->count--;
    free_node(n);
}

bool graph_add_edge(struct node *from, struct node *to)
{
    NEEDS_LOCK();
    if (graph_has_edge(from, to))
        return false;
    *OS_ADD(to->dependencies, to->dependency_count) = from;
    *OS_ADD(from->dependents, from->dependent_count) = to;
    return true;
}

struct graph *graph_clone(const struct graph *g)
{
    NEEDS_LOCK();
    struct graph *clone = graph_new();
    struct node **nodes = os_allocate(g->last_node_id * sizeof(struct node *));
    for (const struct node *n = g->first; n; n = n->next) {
        nodes[n->id - 1] = graph_add_node(clone, &n->task, NULL, 0);
        if (n->task.child)
            graph_set_child(nodes[n->id - 1], graph_clone(n->task.child));
    }
    for (const struct node *n = g->first; n; n = n->next)
        for (size_t k = 0; k < n->dependency_count; k++)
            graph_add_edge(nodes[n->dependencies[k]->id - 1], nodes[n->id - 1]);
    os_free(nodes);
    return clone;
}

/* Uses a stack of its own instead of recursion, because a graph may be one long chain. */
void graph_visit_ancestors(struct node *const *nodes, size_t count)
{
    size_t used = 0;
    graphs.walk++;
    for (size_t i = 0; i < count || used;) {
        struct node *n = used ? graphs.stack[--used] : nodes[i++];
        if (graph_is_visited(n))
            continue;
        n->visited = graphs.walk;
        for (size_t k = 0; k < n->dependency_count; k++) {
            OS_MAKE_ROOM(graphs.stack, used, graphs.capacity)
            graphs.stack[used++] = n->dependencies[k];
        }
    }
}

bool graph_is_visited(const struct node *n) { return n->visited == graphs.walk; }

static bool are_dependencies_visited(const struct node *n)
{
    for (size_t i = 0; i < n->dependency_count; i++)
        if (!graph_is_visited(n->dependencies[i]))
            return false;
    return true;
}

/* Stores all nodes in `sorted`, each after its dependencies, otherwise in the order in which they
 * were added. Returns false if the edges form a cycle. */
static bool sort_nodes(struct graph *g, struct node **sorted)
{
    size_t sorted_count = 0;
    graphs.walk++;
    for (bool any = true; any && sorted_count < g->count;) {
        any = false;
        for (struct node *n = g->first; n; n = n->next) {
            if (graph_is_visited(n) || !are_dependencies_visited(n))
                continue;
            n->visited = graphs.walk;
            n->position = sorted_count;
            sorted[sorted_count++] = n;
            any = true;
        }
    }
    return sorted_count == g->count;
}

/* ---- graphs in graphs ---- */

/* The nodes that graph_flatten has made so far. */
struct flat {
    struct node **nodes;
    size_t count, capacity;
};

static struct node *flat_add(struct flat *flat, const struct node *like, size_t dependencies)
{
    struct node *n = os_allocate(sizeof *n);
    *n = *like;
    n->dependencies = os_allocate(dependencies * sizeof(struct node *));
    n->dependency_count = 0;
    n->position = flat->count;
    OS_MAKE_ROOM(flat->nodes, flat->count, flat->capacity)
    return flat->nodes[flat->count++] = n;
}

static void flat_depend(struct node *n, struct node *on)
{
    n->dependencies[n->dependency_count++] = on;
}

/* Makes `n` depend on each node from index `first` on, unless another such node depends on it. */
static void depend_on_last(struct node *n, const struct flat *flat, size_t first)
{
    size_t count = n->position - first;
    bool *is_waited_for = os_allocate(count * sizeof *is_waited_for);
    for (size_t i = 0; i < count; i++) {
        const struct node *inside = flat->nodes[first + i];
        for (size_t k = 0; k < inside->dependency_count; k++)
            if (inside->dependencies[k]->position >= first)
                is_waited_for[inside->dependencies[k]->position - first] = true;
    }
    for (size_t i = 0; i < count; i++)
        if (!is_waited_for[i])
            flat_depend(n, flat->nodes[first + i]);
    os_free(is_waited_for);
}

static bool flatten_into(struct flat *flat, struct graph *g, const struct node *entry);

/* Adds the replacement of node `n`. `made` has the replacements of its dependencies. Returns the
 * node on which others depend instead of `n`, or NULL if a child graph has a cycle. If `n` has no
 * dependencies, its replacement has those of `entry`, unless that is NULL. */
static struct node *flatten_node(struct flat *flat, const struct node *n, struct node *const *made,
                                 const struct node *entry)
{
    bool is_first = n->dependency_count == 0 && entry;
    size_t count = is_first ? entry->dependency_count : n->dependency_count;
    struct node before = {.dependencies = os_allocate(count * sizeof(struct node *))};
    for (size_t i = 0; i < count; i++)
        flat_depend(&before,
                    is_first ? entry->dependencies[i] : made[n->dependencies[i]->position]);
    size_t first = flat->count;
    bool is_valid = !n->task.child || flatten_into(flat, n->task.child, &before);
    struct node *last = NULL;
    if (is_valid) {
        last = flat_add(flat, n, count + flat->count - first);
        for (size_t i = 0; i < count; i++)
            flat_depend(last, before.dependencies[i]);
        depend_on_last(last, flat, first);
        if (n->task.child)
            last->task.kind = TASK_EMPTY;
        last->task.child = NULL;
        last->task.is_nested = entry;
    }
    os_free(before.dependencies);
    return last;
}

static bool flatten_into(struct flat *flat, struct graph *g, const struct node *entry)
{
    struct node **sorted = os_allocate(g->count * sizeof(struct node *));
    struct node **made = os_allocate(g->count * sizeof(struct node *));
    bool is_valid = sort_nodes(g, sorted);
    for (size_t i = 0; is_valid && i < g->count; i++) {
        made[i] = flatten_node(flat, sorted[i], made, entry);
        is_valid = made[i] != NULL;
    }
    os_free(sorted);
    os_free(made);
    return is_valid;
}

struct node **graph_flatten(struct graph *g, size_t *count)
{
    NEEDS_LOCK();
    struct flat flat = {os_allocate(sizeof(struct node *)), 0, 1};
    bool is_valid = flatten_into(&flat, g, NULL);
    *count = flat.count;
    if (is_valid)
        return flat.nodes;
    graph_free_flat(flat.nodes, flat.count);
    return NULL;
}

void graph_free_flat(struct node **nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        os_free(nodes[i]->dependencies);
        os_free(nodes[i]);
    }
    os_free(nodes);
}

struct task task_copy(const struct task *t)
{
    struct task copy = *t;
    if (t->user_kernel)
        copy.user_kernel = os_copy(t->user_kernel, t->user_kernel->size);
    if (t->nvcc_kernel)
        copy.nvcc_kernel = os_copy(t->nvcc_kernel, t->nvcc_kernel->size);
    return copy;
}

void task_release(struct task *t)
{
    NEEDS_LOCK();
    os_free(t->user_kernel);
    os_free(t->nvcc_kernel);
}

enum cudaGraphNodeType task_type(const struct task *t)
{
    NEEDS_LOCK();
    switch (t->kind) {
    case TASK_MEMSET: return cudaGraphNodeTypeMemset;
    case TASK_COPY: return cudaGraphNodeTypeMemcpy;
    case TASK_FILL:
    case TASK_ADD:
    case TASK_HOLD:
    case TASK_USER_KERNEL:
    case TASK_NVCC_KERNEL: return cudaGraphNodeTypeKernel;
    case TASK_HOST: return cudaGraphNodeTypeHost;
    case TASK_RECORD: return cudaGraphNodeTypeEventRecord;
    case TASK_WAIT: return cudaGraphNodeTypeWaitEvent;
    case TASK_ALLOCATE: return cudaGraphNodeTypeMemAlloc;
    case TASK_FREE: return cudaGraphNodeTypeMemFree;
    case TASK_CONDITIONAL: return cudaGraphNodeTypeConditional;
    case TASK_CHILD: return cudaGraphNodeTypeGraph;
    case TASK_EMPTY: break;
    }
    return cudaGraphNodeTypeEmpty;
}
