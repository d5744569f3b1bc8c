/* Changes to graphs and to executable graphs: what is refused because of memory nodes, and what a change does. One function for each rule. */
#include "graphs.h"

static int *data;                      /* cudaMalloc's */

static cudaGraphNode_t add_set(cudaGraph_t g, int *to, unsigned value)
{
    struct cudaMemsetParams p = { .dst = to, .value = value, .elementSize = 4, .width = 1, .height = 1 };
    cudaGraphNode_t node;
    OK(cudaGraphAddMemsetNode(&node, g, NULL, 0, &p));
    return node;
}

static int launched(cudaGraphExec_t x, int before)
{
    pinned[0] = -1;
    OK(cudaMemcpyAsync(data, &before, sizeof before, cudaMemcpyHostToDevice, s));
    OK(cudaGraphLaunch(x, s));
    OK(cudaMemcpyAsync(pinned, data, sizeof *pinned, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    return pinned[0];
}

static void memory_nodes_stay(void)
{
    void *a;
    cudaGraph_t g = small_graph(&a, 1), parent;
    cudaGraphNode_t nodes[4], node;
    size_t count = 4;
    OK(cudaGraphGetNodes(g, nodes, &count));
    for (int i = 0; i < 4; i++) IS(cudaErrorNotSupported, cudaGraphDestroyNode(nodes[i]));
    IS(cudaErrorNotSupported, cudaGraphRemoveDependencies(g, &nodes[0], &nodes[1], NULL, 1));
    OK(cudaGraphCreate(&parent, 0));
    IS(cudaErrorNotSupported, cudaGraphAddChildGraphNode(&node, parent, NULL, 0, g));
    OK(cudaGraphAddEmptyNode(&node, g, &nodes[3], 1));       /* adding is allowed */
    OK(cudaGraphAddDependencies(g, &nodes[0], &nodes[3], NULL, 1));
    OK(cudaGraphDestroy(parent));
    OK(cudaGraphDestroy(g));
}

/* a, b after a, c after a and b: without b, c still comes after a */
static void removal(void)
{
    cudaGraph_t g, clone;
    cudaGraphExec_t x;
    cudaGraphNode_t a, b, c, both[2], left[3];
    size_t nodes = 3, edges = 0;
    OK(cudaGraphCreate(&g, 0));
    both[0] = a = add_set(g, data, 1);
    OK(cudaGraphAddEmptyNode(&b, g, &a, 1));
    both[1] = b;
    OK(cudaGraphAddEmptyNode(&c, g, both, 2));
    IS(cudaErrorInvalidValue, cudaGraphRemoveDependencies(g, &c, &a, NULL, 1));
    OK(cudaGraphRemoveDependencies(g, NULL, NULL, NULL, 0));
    OK(cudaGraphDestroyNode(b));
    OK(cudaGraphGetNodes(g, left, &nodes));
    OK(cudaGraphGetEdges(g, NULL, NULL, NULL, &edges));
    SAME(2, nodes);
    SAME(1, left[0] == a && left[1] == c);
    SAME(1, edges);
    OK(cudaGraphRemoveDependencies(g, &a, &c, NULL, 1));
    IS(cudaErrorInvalidValue, cudaGraphRemoveDependencies(g, &a, &c, NULL, 1));
    OK(cudaGraphDestroyNode(c));
    OK(cudaGraphAddEmptyNode(&b, g, &a, 1));                 /* behind the end that moved */
    IS(cudaErrorInvalidValue, cudaGraphDestroyNode(NULL));
    OK(cudaGraphClone(&clone, g));
    OK(cudaGraphInstantiate(&x, clone, 0));
    SAME(1, launched(x, 7));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(g));
}

static void other_values(void)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t node, foreign;
    struct cudaMemsetParams p = { .dst = data, .value = 3, .elementSize = 4, .width = 1, .height = 1 }, got;
    unsigned on = 9;
    OK(cudaGraphCreate(&g, 0));
    node = add_set(g, data, 1);
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphExecMemsetNodeSetParams(x, node, &p));
    SAME(3, launched(x, 7));
    OK(cudaGraphMemsetNodeGetParams(node, &got));            /* the graph itself is as it was */
    SAME(1, got.value);
    p.width = MiB;
    IS(cudaErrorInvalidValue, cudaGraphExecMemsetNodeSetParams(x, node, &p));
    p = (struct cudaMemsetParams){ .dst = data, .value = 4, .elementSize = 4, .width = 1, .height = 1 };
    OK(cudaGraphMemsetNodeSetParams(node, &p));
    SAME(3, launched(x, 7));                                 /* nor does the executable graph see that */
    OK(cudaGraphNodeSetEnabled(x, node, 0));
    OK(cudaGraphNodeGetEnabled(x, node, &on));
    SAME(0, on);
    SAME(7, launched(x, 7));
    OK(cudaGraphNodeSetEnabled(x, node, 1));
    SAME(3, launched(x, 7));
    OK(cudaGraphAddEmptyNode(&foreign, g, NULL, 0));         /* not in x */
    IS(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(x, foreign, 0));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

static enum cudaGraphExecUpdateResult update(cudaGraphExec_t x, cudaGraph_t g, cudaError_t expected)
{
    cudaGraphExecUpdateResultInfo info = { .result = (enum cudaGraphExecUpdateResult)99 };
    IS(expected, cudaGraphExecUpdate(x, g, &info));
    return info.result;
}

static void whole_updates(void)
{
    void *a, *b;
    cudaGraph_t g, other;
    cudaGraphExec_t x;
    cudaGraphNode_t node;
    OK(cudaGraphCreate(&g, 0));
    add_set(g, data, 1);
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphCreate(&other, 0));
    node = add_set(other, data, 2);
    SAME(cudaGraphExecUpdateSuccess, update(x, other, cudaSuccess));
    SAME(2, launched(x, 7));
    OK(cudaGraphAddEmptyNode(&node, other, &node, 1));
    SAME(cudaGraphExecUpdateErrorTopologyChanged, update(x, other, cudaErrorGraphExecUpdateFailure));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&node, other, NULL, 0));
    SAME(cudaGraphExecUpdateErrorNodeTypeChanged, update(x, other, cudaErrorGraphExecUpdateFailure));
    SAME(2, launched(x, 7));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(g));
    g = small_graph(&a, 1);
    other = small_graph(&b, 1);
    OK(cudaGraphInstantiate(&x, g, 0));
    SAME(cudaGraphExecUpdateSuccess, update(x, g, cudaSuccess));     /* memory stays where it is */
    SAME(cudaGraphExecUpdateError, update(x, other, cudaErrorGraphExecUpdateFailure));
    OK(cudaGraphLaunch(x, s));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(g));
    nothing_left();
}

int main(void)
{
    set_up();
    OK(cudaMalloc((void **)&data, 4096));
    memory_nodes_stay();
    removal();
    other_values();
    whole_updates();
    OK(cudaFree(data));
    return tear_down();
}
