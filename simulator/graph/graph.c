/* Graphs: their nodes and edges, and walks over them. */
#include "graph/graph.h"

#include "graph/graph_memory.h"
#include "base/handle.h"
#include "os/os.h"

static int ids;
static uint64_t walk;

struct graph *graph_new(void)
{
    struct graph *g = host_allocate(sizeof *g);
    g->id = ++ids;
    g->handle = handle_new(HANDLE_GRAPH, g);
    return g;
}

void graph_destroy(struct graph *g)
{
    handle_retire(HANDLE_GRAPH, g->handle);
    for (struct node *n = g->first, *next; n; n = next) {
        next = n->next;
        handle_retire(HANDLE_GRAPH_NODE, n->handle);
        if (n->task.block) graph_block_forget(n);
        host_free(n->before);
        host_free(n);
    }
    graph_memory_leave(g);
    host_free(g);
}

struct node *graph_add(struct graph *g, const struct task *task, struct node *const *before, size_t count)
{
    struct node *n = host_allocate(sizeof *n);
    n->graph = g;
    n->number = (uint32_t)++g->count;
    n->handle = handle_new(HANDLE_GRAPH_NODE, n);
    n->task = *task;
    for (size_t i = 0; i < count; i++) graph_add_edge(before[i], n);
    if (g->last) g->last->next = n;
    else g->first = n;
    g->last = n;
    if (task->kind == TASK_ALLOCATE || task->kind == TASK_FREE) g->has_memory_nodes = true;
    return n;
}

bool graph_add_edge(struct node *from, struct node *to)
{
    for (size_t i = 0; i < to->before_count; i++)
        if (to->before[i] == from) return false;
    to->before = host_grow(to->before, (to->before_count + 1) * sizeof(struct node *));
    to->before[to->before_count++] = from;
    return true;
}

/* A stack of our own: a graph may be a long line. */
void graph_mark(struct node *const *nodes, size_t count)
{
    static struct node **stack;
    static size_t capacity;
    size_t used = 0;
    walk++;
    for (size_t i = 0; i < count || used;) {
        struct node *n = used ? stack[--used] : nodes[i++];
        if (n->visited == walk) continue;
        n->visited = walk;
        if (used + n->before_count > capacity) {
            capacity = 2 * (used + n->before_count);
            stack = host_grow(stack, capacity * sizeof(struct node *));
        }
        for (size_t k = 0; k < n->before_count; k++) stack[used++] = n->before[k];
    }
}

bool graph_marked(const struct node *n) { return n->visited == walk; }

bool graph_order(struct graph *g, struct node **order)
{
    size_t placed = 0;
    walk++;
    for (bool any = true; any && placed < g->count;) {
        any = false;
        for (struct node *n = g->first; n; n = n->next) {
            if (n->visited == walk) continue;
            size_t met = 0;
            while (met < n->before_count && n->before[met]->visited == walk) met++;
            if (met < n->before_count) continue;
            n->visited = walk;
            n->position = placed;
            order[placed++] = n;
            any = true;
        }
    }
    return placed == g->count;
}

enum cudaGraphNodeType task_type(const struct task *t)
{
    switch (t->kind) {
    case TASK_MEMSET:   return cudaGraphNodeTypeMemset;
    case TASK_COPY:     return cudaGraphNodeTypeMemcpy;
    case TASK_FILL:
    case TASK_ADD:
    case TASK_HOLD:     return cudaGraphNodeTypeKernel;
    case TASK_HOST:     return cudaGraphNodeTypeHost;
    case TASK_RECORD:   return cudaGraphNodeTypeEventRecord;
    case TASK_WAIT:     return cudaGraphNodeTypeWaitEvent;
    case TASK_ALLOCATE: return cudaGraphNodeTypeMemAlloc;
    case TASK_FREE:     return cudaGraphNodeTypeMemFree;
    default:            return cudaGraphNodeTypeEmpty;
    }
}
