/* Graphs: their nodes and edges, and walks over them. */
#include "graph/graph.h"

#include "graph/graph_memory.h"
#include "base/handle.h"
#include "os/needs_lock.h"
#include "os/os.h"

/* Needs the lock. A node is visited exactly when its `visited` is `walk`; the stack is empty
 * outside of graph_visit_ancestors, and only its memory stays. */
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

static void free_node(struct node *n)
{
    handle_retire(HANDLE_GRAPH_NODE, n->handle);
    if (n->task.allocation)
        graph_allocation_remove_node(n);
    task_release(&n->task);
    os_free(n->arguments);
    os_free(n->dependencies);
    os_free(n);
}

void graph_destroy(struct graph *g)
{
    NEEDS_LOCK();
    handle_retire(HANDLE_GRAPH, g->handle);
    for (struct node *n = g->first, *next; n; n = next) {
        next = n->next;
        free_node(n);
    }
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

bool graph_has_edge(const struct node *from, const struct node *to)
{
    NEEDS_LOCK();
    for (size_t i = 0; i < to->dependency_count; i++)
        if (to->dependencies[i] == from)
            return true;
    return false;
}

void graph_remove_edge(const struct node *from, struct node *to)
{
    NEEDS_LOCK();
    size_t kept = 0;
    for (size_t i = 0; i < to->dependency_count; i++)
        if (to->dependencies[i] != from)
            to->dependencies[kept++] = to->dependencies[i];
    to->dependency_count = kept;
}

void graph_remove_node(struct node *n)
{
    NEEDS_LOCK();
    struct graph *g = n->graph;
    struct node *before = NULL;
    for (struct node *other = g->first; other; other = other->next) {
        graph_remove_edge(n, other);
        if (other->next == n)
            before = other;
    }
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
    to->dependencies =
        os_grow(to->dependencies, (to->dependency_count + 1) * sizeof(struct node *));
    to->dependencies[to->dependency_count++] = from;
    return true;
}

struct graph *graph_clone(const struct graph *g)
{
    NEEDS_LOCK();
    struct graph *clone = graph_new();
    struct node **nodes = os_allocate(g->last_node_id * sizeof(struct node *));
    for (const struct node *n = g->first; n; n = n->next)
        nodes[n->id - 1] = graph_add_node(clone, &n->task, NULL, 0);
    for (const struct node *n = g->first; n; n = n->next)
        for (size_t k = 0; k < n->dependency_count; k++)
            graph_add_edge(nodes[n->dependencies[k]->id - 1], nodes[n->id - 1]);
    os_free(nodes);
    return clone;
}

static void ensure_capacity(size_t count)
{
    if (count <= graphs.capacity)
        return;
    graphs.capacity = 2 * count;
    graphs.stack = os_grow(graphs.stack, graphs.capacity * sizeof(struct node *));
}

/* This has a stack of its own and does not recurse, because a graph may be one long line. */
void graph_visit_ancestors(struct node *const *nodes, size_t count)
{
    size_t used = 0;
    graphs.walk++;
    for (size_t i = 0; i < count || used;) {
        struct node *n = used ? graphs.stack[--used] : nodes[i++];
        if (graph_is_visited(n))
            continue;
        n->visited = graphs.walk;
        ensure_capacity(used + n->dependency_count);
        for (size_t k = 0; k < n->dependency_count; k++)
            graphs.stack[used++] = n->dependencies[k];
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

bool graph_toposort(struct graph *g, struct node **sorted)
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

struct task task_copy(const struct task *t)
{
    struct task copy = *t;
    if (t->user_kernel)
        copy.user_kernel = user_kernel_copy(t->user_kernel);
    return copy;
}

void task_release(struct task *t) { os_free(t->user_kernel); }

enum cudaGraphNodeType task_type(const struct task *t)
{
    NEEDS_LOCK();
    switch (t->kind) {
    case TASK_MEMSET: return cudaGraphNodeTypeMemset;
    case TASK_COPY: return cudaGraphNodeTypeMemcpy;
    case TASK_FILL:
    case TASK_ADD:
    case TASK_HOLD:
    case TASK_USER_KERNEL: return cudaGraphNodeTypeKernel;
    case TASK_HOST: return cudaGraphNodeTypeHost;
    case TASK_RECORD: return cudaGraphNodeTypeEventRecord;
    case TASK_WAIT: return cudaGraphNodeTypeWaitEvent;
    case TASK_ALLOCATE: return cudaGraphNodeTypeMemAlloc;
    case TASK_FREE: return cudaGraphNodeTypeMemFree;
    default: return cudaGraphNodeTypeEmpty;
    }
}
