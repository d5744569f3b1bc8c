/* Graphs: their nodes and edges, and walks over them. */
#include "graph/graph.h"

#include "graph/graph_memory.h"
#include "base/handle.h"
#include "os/os.h"

static int last_id;
static uint64_t current_walk;

struct graph *graph_new(void)
{
    struct graph *g = os_allocate(sizeof *g);
    g->id = ++last_id;
    g->handle = handle_new(HANDLE_GRAPH, g);
    return g;
}

void graph_destroy(struct graph *g)
{
    handle_retire(HANDLE_GRAPH, g->handle);
    for (struct node *n = g->first, *next; n; n = next) {
        next = n->next;
        handle_retire(HANDLE_GRAPH_NODE, n->handle);
        if (n->task.allocation)
            graph_allocation_remove_node(n);
        os_free(n->dependencies);
        os_free(n);
    }
    graph_memory_graph_destroyed(g);
    os_free(g);
}

struct node *graph_add_node(struct graph *g, const struct task *task,
                            struct node *const *dependencies, size_t count)
{
    struct node *n = os_allocate(sizeof *n);
    n->graph = g;
    n->id = (uint32_t)++g->count;
    n->handle = handle_new(HANDLE_GRAPH_NODE, n);
    n->task = *task;
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

bool graph_add_edge(struct node *from, struct node *to)
{
    for (size_t i = 0; i < to->dependency_count; i++)
        if (to->dependencies[i] == from)
            return false;
    to->dependencies =
        os_grow(to->dependencies, (to->dependency_count + 1) * sizeof(struct node *));
    to->dependencies[to->dependency_count++] = from;
    return true;
}

/* A stack of our own: a graph may be a long line. */
void graph_visit_ancestors(struct node *const *nodes, size_t count)
{
    static struct node **stack;
    static size_t capacity;
    size_t used = 0;
    current_walk++;
    for (size_t i = 0; i < count || used;) {
        struct node *n = used ? stack[--used] : nodes[i++];
        if (n->visited == current_walk)
            continue;
        n->visited = current_walk;
        if (used + n->dependency_count > capacity) {
            capacity = 2 * (used + n->dependency_count);
            stack = os_grow(stack, capacity * sizeof(struct node *));
        }
        for (size_t k = 0; k < n->dependency_count; k++)
            stack[used++] = n->dependencies[k];
    }
}

bool graph_is_visited(const struct node *n) { return n->visited == current_walk; }

bool graph_toposort(struct graph *g, struct node **sorted)
{
    size_t sorted_count = 0;
    current_walk++;
    for (bool any = true; any && sorted_count < g->count;) {
        any = false;
        for (struct node *n = g->first; n; n = n->next) {
            if (n->visited == current_walk)
                continue;
            size_t met = 0;
            while (met < n->dependency_count && n->dependencies[met]->visited == current_walk)
                met++;
            if (met < n->dependency_count)
                continue;
            n->visited = current_walk;
            n->position = sorted_count;
            sorted[sorted_count++] = n;
            any = true;
        }
    }
    return sorted_count == g->count;
}

enum cudaGraphNodeType task_type(const struct task *t)
{
    switch (t->kind) {
    case TASK_MEMSET: return cudaGraphNodeTypeMemset;
    case TASK_COPY: return cudaGraphNodeTypeMemcpy;
    case TASK_FILL:
    case TASK_ADD:
    case TASK_HOLD: return cudaGraphNodeTypeKernel;
    case TASK_HOST: return cudaGraphNodeTypeHost;
    case TASK_RECORD: return cudaGraphNodeTypeEventRecord;
    case TASK_WAIT: return cudaGraphNodeTypeWaitEvent;
    case TASK_ALLOCATE: return cudaGraphNodeTypeMemAlloc;
    case TASK_FREE: return cudaGraphNodeTypeMemFree;
    default: return cudaGraphNodeTypeEmpty;
    }
}
