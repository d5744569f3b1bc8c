/* The call that prints a graph as text for Graphviz's dot. Documented: it describes the structure,
 * with the parameters that the flags name. Assumed: its form, which is not a driver's. */
#include <stdio.h>

#include "api/graph_arguments.h"
#include "graph_dot_calls.inc"
#include "graph/graph.h"
#include "graph/graph_memory.h"

/* The name of each type of node, and the flag that adds its parameters. Memory nodes have none. */
static const struct node_type {
    const char *name;
    unsigned flag;
} types[cudaGraphNodeTypeCount] = {
    [cudaGraphNodeTypeKernel] = {"KERNEL", cudaGraphDebugDotFlagsKernelNodeParams},
    [cudaGraphNodeTypeMemcpy] = {"MEMCPY", cudaGraphDebugDotFlagsMemcpyNodeParams},
    [cudaGraphNodeTypeMemset] = {"MEMSET", cudaGraphDebugDotFlagsMemsetNodeParams},
    [cudaGraphNodeTypeHost] = {"HOST", cudaGraphDebugDotFlagsHostNodeParams},
    [cudaGraphNodeTypeGraph] = {"GRAPH", 0},
    [cudaGraphNodeTypeEmpty] = {"EMPTY", 0},
    [cudaGraphNodeTypeWaitEvent] = {"EVENT_WAIT", cudaGraphDebugDotFlagsEventNodeParams},
    [cudaGraphNodeTypeEventRecord] = {"EVENT_RECORD", cudaGraphDebugDotFlagsEventNodeParams},
    [cudaGraphNodeTypeConditional] = {"CONDITIONAL", cudaGraphDebugDotFlagsConditionalNodeParams},
    [cudaGraphNodeTypeMemAlloc] = {"MEM_ALLOC", 0},
    [cudaGraphNodeTypeMemFree] = {"MEM_FREE", 0},
};

static void print_conditional(FILE *f, const struct conditional *c)
{
    static const char *const types[] = {"IF", "WHILE", "SWITCH"};
    fprintf(f, "\\n%s, handle %p, bodies", types[c->type], c->condition->handle);
    for (unsigned k = 0; k < c->size; k++)
        fprintf(f, " graph_%d", c->bodies[k]->id);
}

static void print_parameters(FILE *f, const struct task *t)
{
    switch (t->kind) {
    case TASK_MEMSET:
        fprintf(f, "\\n%p = %d, %zu x %zu bytes", (void *)t->to, t->value, t->rows.height,
                t->rows.width);
        break;
    case TASK_COPY:
        fprintf(f, "\\n%p to %p, %zu x %zu bytes", (const void *)t->from, (void *)t->to,
                t->rows.height, t->rows.width);
        break;
    case TASK_FILL: fprintf(f, "\\nfill %p, %d, %zu", (void *)t->to, t->value, t->count); break;
    case TASK_ADD: fprintf(f, "\\nadd %p, %d, %zu", (void *)t->to, t->value, t->count); break;
    case TASK_USER_KERNEL: fprintf(f, "\\n%s", t->user_kernel->name); break;
    case TASK_NVCC_KERNEL: fprintf(f, "\\n%s", t->nvcc_kernel->kernel->name); break;
    case TASK_HOST: fprintf(f, "\\nargument %p", t->argument); break;
    case TASK_RECORD:
    case TASK_WAIT: fprintf(f, "\\nevent %p", t->event); break;
    case TASK_ALLOCATE:
    case TASK_FREE: fprintf(f, "\\n%p", graph_allocation_address(t->allocation)); break;
    case TASK_CONDITIONAL: print_conditional(f, t->conditional); break;
    case TASK_EMPTY:
    case TASK_HOLD:
    case TASK_CHILD: break;
    }
}

static void print_node(FILE *f, const struct node *n, unsigned flags)
{
    const struct node_type *type = &types[task_type(&n->task)];
    bool verbose = flags & cudaGraphDebugDotFlagsVerbose;
    fprintf(f, "    \"graph_%d_node_%u\" [label=\"%u\\n%s", n->graph->id, n->id, n->id, type->name);
    if (verbose || flags & type->flag)
        print_parameters(f, &n->task);
    if (verbose || flags & cudaGraphDebugDotFlagsHandles)
        fprintf(f, "\\nhandle %p", n->handle);
    fputs("\"];\n", f);
}

static void print_graph(FILE *f, const struct graph *g, unsigned flags)
{
    fprintf(f, "digraph dot {\n  subgraph cluster_%d {\n    label=\"graph_%d\";\n", g->id, g->id);
    fputs("    node [shape=box];\n", f);
    for (const struct node *n = g->first; n; n = n->next)
        print_node(f, n, flags);
    for (const struct node *n = g->first; n; n = n->next)
        for (size_t i = 0; i < n->dependency_count; i++)
            fprintf(f, "    \"graph_%d_node_%u\" -> \"graph_%d_node_%u\";\n", g->id,
                    n->dependencies[i]->id, g->id, n->id);
    fputs("  }\n}\n", f);
}

/* The error codes are documented. */
cudaError_t do_cudaGraphDebugDotPrint(struct call *call, cudaGraph_t graph, const char *path,
                                      unsigned int flags)
{
    struct graph *g = graph_of(call, graph);
    if (!g || !path)
        return cudaErrorInvalidValue;
    FILE *f = fopen(path, "w");
    if (!f)
        return cudaErrorOperatingSystem;
    print_graph(f, g, flags);
    bool written = !ferror(f);
    return !fclose(f) && written ? cudaSuccess : cudaErrorOperatingSystem;
}
