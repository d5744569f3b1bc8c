/* Nodes added by calls, as a capture would add them: host functions, events, 3D copies, and a
 * program's own kernels; clones, and captures into a graph. */
#include "graphs.h"

#include "user_kernels.h"

static int calls;
static void count_call(void *argument) { calls += *(int *)argument; }

static void add_one(void *const *memory, const void *argument)
{
    const size_t *count = argument;
    for (size_t i = 0; i < *count; i++)
        ((int *)memory[0])[i]++;
}

static cudaGraphExec_t instantiate(cudaGraph_t g)
{
    cudaGraphExec_t x;
    OK(cudaGraphInstantiate(&x, g, 0));
    return x;
}

static void launch(cudaGraphExec_t x)
{
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
}

static void host_nodes(void)
{
    cudaGraph_t g;
    cudaGraphNode_t first, second;
    enum cudaGraphNodeType type;
    int step = 3;
    struct cudaHostNodeParams p = {count_call, &step}, none = {NULL, NULL};
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddHostNode(&first, g, NULL, 0, &p));
    OK(cudaGraphAddHostNode(&second, g, &first, 1, &p));
    IS(cudaErrorInvalidValue, cudaGraphAddHostNode(&second, g, NULL, 0, &none));
    IS(cudaErrorInvalidValue, cudaGraphAddHostNode(&second, g, NULL, 0, NULL));
    OK(cudaGraphNodeGetType(first, &type));
    SAME(cudaGraphNodeTypeHost, type);
    cudaGraphExec_t x = instantiate(g);
    launch(x);
    SAME(6, calls);
}

/* A record in one graph and a wait in another: the second one's host function comes later. */
static void event_nodes(void)
{
    cudaGraph_t g, h;
    cudaGraphNode_t node;
    enum cudaGraphNodeType type;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&h, 0));
    OK(cudaGraphAddEventRecordNode(&node, g, NULL, 0, event));
    OK(cudaGraphNodeGetType(node, &type));
    SAME(cudaGraphNodeTypeEventRecord, type);
    OK(cudaGraphAddEventWaitNode(&node, h, NULL, 0, event));
    OK(cudaGraphNodeGetType(node, &type));
    SAME(cudaGraphNodeTypeWaitEvent, type);
    cudaGraphExec_t record = instantiate(g), wait = instantiate(h);
    OK(cudaGraphLaunch(record, s));
    OK(cudaGraphLaunch(wait, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaEventQuery(event));
}

static void copy_nodes(void)
{
    cudaGraph_t g;
    cudaGraphNode_t node;
    int from[4][8], to[4][8] = {{0}};
    char *device;
    for (int i = 0; i < 32; i++)
        from[i / 8][i % 8] = i;
    OK(cudaMalloc((void **)&device, 4096));
    OK(cudaGraphCreate(&g, 0));
    /* Two slices of two rows, without the first column. */
    struct cudaMemcpy3DParms up = {.srcPtr = {from, sizeof from[0], 8, 2},
                                   .srcPos = {sizeof(int), 0, 0},
                                   .dstPtr = {device, 64, 7, 2},
                                   .extent = {7 * sizeof(int), 2, 2},
                                   .kind = cudaMemcpyHostToDevice};
    struct cudaMemcpy3DParms down = {.srcPtr = {device, 64, 7, 2},
                                     .srcPos = {0, 1, 1},
                                     .dstPtr = {to, sizeof to[0], 8, 4},
                                     .extent = {7 * sizeof(int), 1, 1},
                                     .kind = cudaMemcpyDeviceToHost};
    OK(cudaGraphAddMemcpyNode(&node, g, NULL, 0, &up));
    OK(cudaGraphAddMemcpyNode(&node, g, &node, 1, &down));
    struct cudaMemcpy3DParms wrong = up;
    wrong.extent.width = 0;
    IS(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&node, g, NULL, 0, &wrong));
    wrong = up;
    wrong.dstPtr.ptr = NULL;
    IS(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&node, g, NULL, 0, &wrong));
    cudaGraphExec_t x = instantiate(g);
    launch(x);
    SAME(25, to[0][0]); /* the fourth row of the source, from its second column */
    SAME(31, to[0][6]);
    SAME(0, to[0][7]);
    OK(cudaFree(device));
}

static void own_kernels(void)
{
    cudaGraph_t g, clone;
    cudaGraphNode_t node, other;
    size_t count = 1024;
    int *data, back[1024];
    OK(cudaMalloc((void **)&data, sizeof back));
    OK(cudaMemsetAsync(data, 0, sizeof back, s));
    OK(cudaGraphCreate(&g, 0));
    struct sim_range range = sim_read_write(data, sizeof back);
    OK(sim_graph_add_kernel_node(&node, g, NULL, 0, "add_one", add_one, &count, sizeof count,
                                 &range, 1, 0));
    OK(sim_graph_add_kernel_node(&other, g, &node, 1, "add_one", add_one, &count, sizeof count,
                                 &range, 1, 0));
    OK(cudaGraphClone(&clone, g));
    size_t nodes = 0, edges = 0;
    OK(cudaGraphGetNodes(clone, NULL, &nodes));
    OK(cudaGraphGetEdges(clone, NULL, NULL, NULL, &edges));
    SAME(2, nodes);
    SAME(1, edges);
    cudaGraphExec_t x = instantiate(g);
    OK(cudaGraphDestroy(g));
    cudaGraphExec_t y = instantiate(clone);
    launch(x);
    launch(y);
    OK(cudaMemcpy(back, data, sizeof back, cudaMemcpyDeviceToHost));
    SAME(4, back[0]);
    SAME(4, back[1023]);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphExecDestroy(y));
    OK(cudaGraphDestroy(clone));
    void *memory;
    g = small_graph(&memory, 1);
    IS(cudaErrorNotSupported, cudaGraphClone(&clone, g));
    OK(cudaFree(data));
}

static void captured_into(void)
{
    cudaGraph_t g, back = NULL;
    cudaGraphNode_t first;
    int step = 1;
    struct cudaHostNodeParams p = {count_call, &step};
    calls = 0;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddHostNode(&first, g, NULL, 0, &p));
    OK(cudaStreamBeginCaptureToGraph(s, g, &first, NULL, 1, cudaStreamCaptureModeRelaxed));
    IS(cudaErrorIllegalState,
       cudaStreamBeginCaptureToGraph(t, g, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    OK(cudaLaunchHostFunc(s, count_call, &step));
    OK(cudaStreamEndCapture(s, &back));
    SAME(1, back == g);
    size_t edges = 0;
    OK(cudaGraphGetEdges(g, NULL, NULL, NULL, &edges));
    SAME(1, edges);
    /* Again, without an address for the graph, which remains the program's. */
    OK(cudaStreamBeginCaptureToGraph(s, g, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    OK(cudaLaunchHostFunc(s, count_call, &step));
    OK(cudaStreamEndCapture(s, NULL));
    cudaGraphExec_t x = instantiate(g);
    launch(x);
    SAME(3, calls);
}

/* Each of these prints a sentence. */
static int refused(void)
{
    cudaGraph_t g;
    cudaGraphNode_t node;
    int from[8][8], *device;
    OK(cudaMalloc((void **)&device, sizeof from));
    OK(cudaGraphCreate(&g, 0));
    struct cudaMemcpy3DParms slices = {.srcPtr = {from, 32, 8, 4},
                                       .dstPtr = {device, 32, 8, 2},
                                       .extent = {32, 2, 2},
                                       .kind = cudaMemcpyHostToDevice};
    IS(cudaErrorNotSupported, cudaGraphAddMemcpyNode(&node, g, NULL, 0, &slices));
    IS(cudaErrorInvalidValue,
       sim_graph_add_kernel_node(&node, g, NULL, 0, NULL, add_one, NULL, 0, NULL, 0, 0));
    OK(cudaFree(device));
    puts(wrong ? "not as expected" : "all as expected");
    return wrong;
}

/* Two kernels of one graph write the same bytes. In "incorrect" the edge between them is
 * missing. */
static int without_edge(int is_correct)
{
    cudaGraph_t g;
    cudaGraphNode_t node;
    size_t count = 16;
    int *data;
    OK(cudaMalloc((void **)&data, 64));
    OK(cudaMemset(data, 0, 64));
    OK(cudaStreamCreate(&s));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphCreate(&g, 0));
    struct sim_range range = sim_read_write(data, 64);
    OK(sim_graph_add_kernel_node(&node, g, NULL, 0, "first", add_one, &count, sizeof count, &range,
                                 1, 0));
    OK(sim_graph_add_kernel_node(&node, g, &node, (size_t)is_correct, "second", add_one, &count,
                                 sizeof count, &range, 1, 0));
    launch(instantiate(g));
    OK(cudaFree(data));
    return 0;
}

int main(int count, char **arguments)
{
    if (count > 1 && !strcmp(arguments[1], "refused"))
        return refused();
    if (count > 1)
        return without_edge(!strcmp(arguments[count - 1], "correct"));
    set_up();
    host_nodes();
    event_nodes();
    copy_nodes();
    own_kernels();
    captured_into();
    return tear_down();
}
