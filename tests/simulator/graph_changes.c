/* Changes to graphs: graph_changes NAME. What a real device was asked is in
 * tests/hardware/probes/graph_nodes.c ("destroyed_nodes", "updates", "children"). */
#include "expect.h"

#include "kernels.h"

static cudaStream_t s;
static cudaGraph_t g;
static int *data; /* 1 MiB */

static void begin(void)
{
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&data, MiB));
    OK(cudaGraphCreate(&g, 0));
}

static void end(void)
{
    OK(cudaGraphDestroy(g));
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(data));
    OK(cudaStreamDestroy(s));
}

/* ---- lists ---- */

/* A diamond: node 0, then 1 and 2, then 3. */
static void diamond(cudaGraphNode_t n[4])
{
    OK(cudaGraphAddEmptyNode(&n[0], g, NULL, 0));
    OK(cudaGraphAddEmptyNode(&n[1], g, &n[0], 1));
    OK(cudaGraphAddEmptyNode(&n[2], g, &n[0], 1));
    OK(cudaGraphAddEmptyNode(&n[3], g, &n[1], 2));
}

static void lists(void)
{
    cudaGraphNode_t n[4], found[4];
    cudaGraphEdgeData edges[4];
    size_t count = 0;
    begin();
    diamond(n);
    OK(cudaGraphGetRootNodes(g, NULL, &count));
    SAME(1, count);
    count = 4;
    OK(cudaGraphGetRootNodes(g, found, &count));
    SAME(1, count);
    SAME(1, found[0] == n[0]);
    SAME(1, found[1] == NULL && found[3] == NULL);
    OK(cudaGraphNodeGetDependencies(n[3], NULL, NULL, &count));
    SAME(2, count);
    memset(edges, 1, sizeof edges);
    OK(cudaGraphNodeGetDependencies(n[3], found, edges, &count));
    SAME(1, found[0] == n[1] && found[1] == n[2]);
    SAME(0, edges[1].from_port | edges[1].to_port | edges[1].type);
    count = 1;
    OK(cudaGraphNodeGetDependentNodes(n[0], found, NULL, &count));
    SAME(1, count);
    SAME(1, found[0] == n[1]);
    OK(cudaGraphNodeGetDependentNodes(n[3], NULL, NULL, &count));
    SAME(0, count);
    IS(cudaErrorInvalidValue, cudaGraphGetRootNodes(NULL, NULL, &count));
    IS(cudaErrorInvalidValue, cudaGraphGetRootNodes(g, NULL, NULL));
    IS(cudaErrorInvalidValue, cudaGraphNodeGetDependencies(NULL, NULL, NULL, &count));
    IS(cudaErrorInvalidValue, cudaGraphNodeGetDependentNodes(n[0], NULL, NULL, NULL));
    end();
}

/* What is taken away is gone, the rest of the graph and its copies stay. */
static void taken_away(void)
{
    cudaGraphNode_t n[4];
    cudaGraph_t clone;
    cudaGraphExec_t exec;
    size_t count = 0;
    begin();
    diamond(n);
    OK(cudaGraphRemoveDependencies(g, &n[1], &n[3], NULL, 1));
    IS(cudaErrorInvalidValue, cudaGraphRemoveDependencies(g, &n[1], &n[3], NULL, 1));
    OK(cudaGraphNodeGetDependencies(n[3], NULL, NULL, &count));
    SAME(1, count);
    OK(cudaGraphDestroyNode(n[0]));
    OK(cudaGraphGetRootNodes(g, NULL, &count));
    SAME(2, count);
    OK(cudaGraphAddEmptyNode(&n[0], g, &n[3], 1));
    OK(cudaGraphClone(&clone, g));
    OK(cudaGraphGetNodes(clone, NULL, &count));
    SAME(4, count);
    OK(cudaGraphGetEdges(clone, NULL, NULL, NULL, &count));
    SAME(2, count);
    OK(cudaGraphInstantiate(&exec, clone, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroyNode(n[0]));
    OK(cudaGraphDestroyNode(n[3]));
    OK(cudaGraphDestroyNode(n[1]));
    OK(cudaGraphDestroyNode(n[2]));
    OK(cudaGraphGetNodes(g, NULL, &count));
    SAME(0, count);
    OK(cudaGraphAddEmptyNode(&n[0], g, NULL, 0));
    end();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"lists", lists}, {"taken_away", taken_away}};
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name))
            continue;
        cases[i].run();
        if (!wrong)
            puts("all as expected");
        return wrong;
    }
    fprintf(stderr, "graph_changes: no such case\n");
    return 2;
}
