/* Kernel nodes: values, parameters, and every code. */
#include "expect.h"

#include "kernels.h"

static cudaStream_t s;
static int *p;
static const size_t COUNT = 1024;

/* The arguments of fill and add. */
static struct {
    int *data;
    int value;
    size_t count;
    void *pointers[3];
} arguments;

static struct cudaKernelNodeParams params(void *function, int *data, int value, size_t count)
{
    arguments.data = data;
    arguments.value = value;
    arguments.count = count;
    arguments.pointers[0] = &arguments.data;
    arguments.pointers[1] = &arguments.value;
    arguments.pointers[2] = &arguments.count;
    struct cudaKernelNodeParams params = {.func = function,
                                          .gridDim = {4, 1, 1},
                                          .blockDim = {64, 1, 1},
                                          .kernelParams = arguments.pointers};
    return params;
}

static void run(cudaGraphExec_t exec, int first, int last)
{
    int back[1024];
    OK(cudaGraphLaunch(exec, s));
    OK(cudaMemcpyAsync(back, p, COUNT * sizeof(int), cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    SAME(first, back[0]);
    SAME(last, back[COUNT - 1]);
}

static void values(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t fill, add;
    enum cudaGraphNodeType type;
    struct cudaKernelNodeParams read, changed;
    OK(cudaGraphCreate(&graph, 0));
    struct cudaKernelNodeParams one = params(kernel_fill(), p, 5, COUNT);
    OK(cudaGraphAddKernelNode(&fill, graph, NULL, 0, &one));
    one = params(kernel_add(), p + 1, 2, COUNT - 1); /* The node has a copy of the arguments. */
    OK(cudaGraphAddKernelNode(&add, graph, &fill, 1, &one));
    OK(cudaGraphNodeGetType(add, &type));
    SAME(cudaGraphNodeTypeKernel, type);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    run(exec, 5, 7);

    OK(cudaGraphKernelNodeGetParams(add, &read));
    SAME(1, read.func == kernel_add());
    SAME(4, read.gridDim.x);
    SAME(64, read.blockDim.x);
    SAME(1, *(int **)read.kernelParams[0] == p + 1);
    SAME(2, *(int *)read.kernelParams[1]);
    SAME(COUNT - 1, *(size_t *)read.kernelParams[2]);
    SAME(1, read.extra == NULL);

    /* A change of a node leaves the executable graph as it was, and the reverse. */
    changed = params(kernel_add(), p, 100, COUNT);
    OK(cudaGraphKernelNodeSetParams(add, &changed));
    run(exec, 5, 7);
    changed = params(kernel_fill(), p, 40, COUNT / 2);
    OK(cudaGraphExecKernelNodeSetParams(exec, add, &changed));
    run(exec, 40, 5);
    OK(cudaGraphKernelNodeGetParams(add, &read));
    SAME(100, *(int *)read.kernelParams[1]);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    run(exec, 105, 105);

    /* The nodes are in another order than at the instantiation. */
    cudaGraphNode_t empty;
    cudaGraphExec_t second;
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    OK(cudaGraphAddDependencies(graph, &empty, &fill, NULL, 1));
    OK(cudaGraphInstantiate(&second, graph, 0));
    changed = params(kernel_fill(), p, 9, COUNT);
    OK(cudaGraphExecKernelNodeSetParams(exec, fill, &changed));
    run(exec, 109, 109);
    run(second, 105, 105);
}

/* A node with a changed pointer does not refer to what had that address when the node was made. */
static void changed_pointer(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    int *old, *newer;
    OK(cudaMallocAsync((void **)&old, COUNT * sizeof(int), s));
    OK(cudaGraphCreate(&graph, 0));
    struct cudaKernelNodeParams one = params(kernel_fill(), old, 5, COUNT);
    OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &one));
    OK(cudaFreeAsync(old, s));
    OK(cudaMallocAsync((void **)&newer, COUNT * sizeof(int), s));
    SAME(1, old == newer);
    one = params(kernel_fill(), newer, 5, COUNT);
    OK(cudaGraphKernelNodeSetParams(node, &one));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaFreeAsync(newer, s));
    OK(cudaStreamSynchronize(s));
}

static void hold(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    volatile int *gate;
    OK(cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped));
    *gate = 0;
    void *pointers[] = {&gate};
    struct cudaKernelNodeParams one = {.func = kernel_hold(),
                                       .gridDim = {1, 1, 1},
                                       .blockDim = {1, 1, 1},
                                       .kernelParams = pointers};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &one));
    OK(cudaGraphKernelNodeGetParams(node, &one));
    SAME(1, *(volatile int **)one.kernelParams[0] == gate);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
    IS(cudaErrorNotReady, cudaStreamQuery(s));
    *gate = 1;
    OK(cudaStreamSynchronize(s));
    OK(cudaFreeHost((void *)gate));
}

/* A captured launch is a kernel node with the parameters that kernels.cu gives. */
static void captured(void)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    struct cudaKernelNodeParams read;
    size_t count = 1;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(launch_fill(p, 8, COUNT, s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphGetNodes(graph, &node, &count));
    OK(cudaGraphKernelNodeGetParams(node, &read));
    SAME(1, read.func == kernel_fill());
    SAME(4, read.gridDim.x);
    SAME(256, read.blockDim.x);
    SAME(8, *(int *)read.kernelParams[1]);
    OK(cudaGraphKernelNodeSetParams(node, &read)); /* its own parameters */
}

static void refused(void)
{
    cudaGraph_t graph, other;
    cudaGraphExec_t exec;
    cudaGraphNode_t node, empty, elsewhere;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    struct cudaKernelNodeParams good = params(kernel_fill(), p, 1, COUNT), one = good;
    OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &good));
    OK(cudaGraphAddKernelNode(&elsewhere, other, NULL, 0, &good));
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
#define ADD(expected) IS(expected, cudaGraphAddKernelNode(&node, graph, NULL, 0, &one))
    one.func = (void *)&arguments;
    ADD(cudaErrorInvalidResourceHandle);
    one.func = NULL;
    ADD(cudaErrorInvalidDeviceFunction);
    one = good;
    one.kernelParams = NULL;
    ADD(cudaErrorInvalidValue);
    one = good;
    one.extra = one.kernelParams;
    ADD(cudaErrorInvalidValue);
    one = good;
    one.gridDim.y = 0;
    ADD(cudaErrorInvalidValue);
    one = good;
    one.blockDim.x = 0;
    ADD(cudaErrorInvalidValue);
    IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, NULL, 0, NULL));
    IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(NULL, graph, NULL, 0, &good));
    IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, NULL, NULL, 0, &good));
    IS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, &elsewhere, 1, &good));
    IS(cudaErrorInvalidValue, cudaGraphKernelNodeGetParams(empty, &one));
    IS(cudaErrorInvalidValue, cudaGraphKernelNodeGetParams(node, NULL));
    IS(cudaErrorInvalidValue, cudaGraphKernelNodeSetParams(empty, &good));
    one = good;
    one.func = (void *)&arguments;
    IS(cudaErrorInvalidResourceHandle, cudaGraphKernelNodeSetParams(node, &one));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    IS(cudaErrorInvalidResourceHandle, cudaGraphExecKernelNodeSetParams(exec, node, &one));
    IS(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, elsewhere, &good));
    IS(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, empty, &good));
    IS(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, node, NULL));
}

/* Two nodes that write the same bytes, with or without an edge between them. */
static void two_nodes(int correct)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t first, second;
    OK(cudaGraphCreate(&graph, 0));
    struct cudaKernelNodeParams one = params(kernel_fill(), p, 1, COUNT);
    OK(cudaGraphAddKernelNode(&first, graph, NULL, 0, &one));
    one = params(kernel_add(), p, 1, COUNT);
    OK(cudaGraphAddKernelNode(&second, graph, &first, correct, &one));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s));
}

int main(int argc, char **argv)
{
    OK(cudaStreamCreate(&s));
    OK(cudaMallocAsync((void **)&p, COUNT * sizeof(int), s));
    if (argc > 1) {
        two_nodes(!strcmp(argv[1], "correct"));
    } else {
        values();
        changed_pointer();
        hold();
        captured();
        refused();
    }
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    if (argc == 1)
        puts(wrong ? "not as expected" : "all as expected");
    return wrong;
}
