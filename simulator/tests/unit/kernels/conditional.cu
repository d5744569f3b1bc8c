// Conditional nodes of graphs: what they run, and what the checker says of a body. The argument is
// a case.
#include <initializer_list>

#include "cases.h"

#define IS(error, call)                                                         \
    do {                                                                        \
        cudaError_t e_ = (call);                                                \
        if (e_ != (error)) {                                                    \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); \
            failed++;                                                           \
        }                                                                       \
    } while (0)

typedef cudaGraphConditionalHandle handle;

static int failed;
static cudaGraph_t g;
static cudaStream_t s;
static int *data;

static __global__ void choose(handle h, const int *from) { cudaGraphSetConditional(h, *from); }
static __global__ void set(int *to, int value) { *to = value; }
static __global__ void add(int *to, int value) { *to += value; }
static __global__ void count_down(handle h, int *n, int *turns)
{
    ++*turns;
    cudaGraphSetConditional(h, --*n > 0);
}

template <typename... A>
static cudaGraphNode_t kernel(cudaGraph_t graph, std::initializer_list<cudaGraphNode_t> after,
                              void (*function)(A...), A... values)
{
    cudaGraphNode_t node;
    void *arguments[] = {&values...};
    cudaKernelNodeParams p = {(void *)function, 1, 1, 0, arguments, nullptr};
    CHECK(cudaGraphAddKernelNode(&node, graph, after.begin(), after.size(), &p));
    return node;
}

static handle condition(cudaGraph_t graph, unsigned value, unsigned flags)
{
    handle h;
    CHECK(cudaGraphConditionalHandleCreate(&h, graph, value, flags));
    return h;
}

static cudaGraphNodeParams params(handle h, cudaGraphConditionalNodeType type, unsigned size)
{
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h;
    p.conditional.type = type;
    p.conditional.size = size;
    return p;
}

struct conditional {
    cudaGraphNode_t node;
    cudaGraph_t *bodies;
};

static conditional add_conditional(cudaGraph_t graph, std::initializer_list<cudaGraphNode_t> after,
                                   handle h, cudaGraphConditionalNodeType type, unsigned size)
{
    conditional made;
    cudaGraphNodeParams p = params(h, type, size);
    CHECK(cudaGraphAddNode(&made.node, graph, after.begin(), nullptr, after.size(), &p));
    made.bodies = p.conditional.phGraph_out;
    return made;
}

static cudaGraphExec_t executable()
{
    cudaGraphExec_t x;
    CHECK(cudaGraphInstantiate(&x, g, 0));
    return x;
}

static void set_data(int index, int value)
{
    CHECK(cudaMemcpyAsync(data + index, &value, sizeof value, cudaMemcpyHostToDevice, s));
}

static void expect(int index, int value, int line)
{
    int found;
    CHECK(cudaMemcpyAsync(&found, data + index, sizeof found, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    if (found != value) {
        printf("line %d: data[%d] is %d instead of %d\n", line, index, found, value);
        failed++;
    }
}
#define EXPECT(index, value) expect(index, value, __LINE__)

static void if_else()
{
    handle h = condition(g, 0, 0);
    cudaGraphNode_t first = kernel(g, {}, choose, h, (const int *)data);
    conditional c = add_conditional(g, {first}, h, cudaGraphCondTypeIf, 2);
    kernel(c.bodies[0], {}, set, data + 1, 10);
    kernel(c.bodies[1], {}, set, data + 1, 20);
    kernel(g, {c.node}, add, data + 1, 1);
    cudaGraphExec_t x = executable();
    for (int value : {1, 0, 7}) {
        set_data(0, value);
        CHECK(cudaGraphLaunch(x, s));
        EXPECT(1, value ? 11 : 21);
    }
    CHECK(cudaGraphExecDestroy(x));
}

// The default counts in each launch. Without an ELSE body nothing runs.
static void defaults()
{
    handle yes = condition(g, 1, cudaGraphCondAssignDefault);
    handle no = condition(g, 0, cudaGraphCondAssignDefault);
    conditional c = add_conditional(g, {}, yes, cudaGraphCondTypeIf, 1);
    conditional d = add_conditional(g, {c.node}, no, cudaGraphCondTypeIf, 1);
    kernel(c.bodies[0], {}, add, data, 1);
    kernel(d.bodies[0], {}, add, data, 100);
    // For the condition of the next launch this comes too late.
    kernel(g, {d.node}, choose, yes, (const int *)(data + 1));
    cudaGraphExec_t x = executable();
    for (int n = 0; n < 3; n++)
        CHECK(cudaGraphLaunch(x, s));
    EXPECT(0, 3);
    // The executable graph outlives its graph.
    CHECK(cudaGraphDestroy(g));
    CHECK(cudaGraphLaunch(x, s));
    EXPECT(0, 4);
    CHECK(cudaGraphExecDestroy(x));
    CHECK(cudaGraphCreate(&g, 0));
}

static void loop()
{
    handle h = condition(g, 1, cudaGraphCondAssignDefault);
    conditional c = add_conditional(g, {}, h, cudaGraphCondTypeWhile, 1);
    kernel(c.bodies[0], {}, count_down, h, data, data + 1);
    kernel(g, {c.node}, add, data + 1, 1000);
    cudaGraphExec_t x = executable();
    for (int n = 1; n <= 2; n++) {
        set_data(0, 5);
        CHECK(cudaGraphLaunch(x, s));
        EXPECT(1, 1005 * n);
        EXPECT(0, 0);
    }
    CHECK(cudaGraphExecDestroy(x));
}

static void switches()
{
    handle h = condition(g, 0, 0);
    cudaGraphNode_t first = kernel(g, {}, choose, h, (const int *)data);
    conditional c = add_conditional(g, {first}, h, cudaGraphCondTypeSwitch, 3);
    for (int n = 0; n < 3; n++)
        kernel(c.bodies[n], {}, set, data + 1, 10 + n);
    cudaGraphExec_t x = executable();
    for (int value = 0; value < 5; value++) {
        set_data(0, value);
        set_data(1, 0);
        CHECK(cudaGraphLaunch(x, s));
        EXPECT(1, value < 3 ? 10 + value : 0);
    }
    CHECK(cudaGraphExecDestroy(x));
}

// A loop whose body has branches, a child graph, a captured copy, and another loop.
static void nested()
{
    cudaGraph_t child, captured;
    cudaGraphNode_t inside, last[2];
    handle outer = condition(g, 1, cudaGraphCondAssignDefault), inner = condition(g, 0, 0);
    conditional c = add_conditional(g, {}, outer, cudaGraphCondTypeWhile, 1);
    cudaGraph_t body = c.bodies[0];
    CHECK(cudaGraphCreate(&child, 0));
    kernel(child, {}, set, data + 2, 3);
    CHECK(cudaGraphAddChildGraphNode(&inside, body, nullptr, 0, child));
    CHECK(cudaGraphDestroy(child));
    last[0] = kernel(body, {inside}, add, data + 3, 1);
    last[1] = kernel(body, {inside}, choose, inner, (const int *)(data + 2));
    conditional d = add_conditional(body, {last[1]}, inner, cudaGraphCondTypeWhile, 1);
    kernel(d.bodies[0], {}, count_down, inner, data + 2, data + 4);
    last[1] = d.node;
    CHECK(cudaStreamBeginCaptureToGraph(s, body, last, nullptr, 2, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMemcpyAsync(data + 5, data + 3, sizeof *data, cudaMemcpyDeviceToDevice, s));
    count_down<<<1, 1, 0, s>>>(outer, data, data + 1);
    CHECK(cudaStreamEndCapture(s, &captured));
    cudaGraphExec_t x = executable();
    set_data(0, 4);
    CHECK(cudaGraphLaunch(x, s));
    EXPECT(1, 4);
    EXPECT(3, 4);
    EXPECT(4, 12);
    EXPECT(5, 4);
    CHECK(cudaGraphExecDestroy(x));
}

static void refused()
{
    handle h = condition(g, 0, 0), none;
    cudaGraph_t another, copy;
    cudaGraphNode_t node, nodes[2];
    cudaGraphExec_t x, y;
    cudaGraphNodeType type;
    size_t count = 2;
    IS(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(nullptr, g, 0, 0));
    IS(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(&none, nullptr, 0, 0));
    IS(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(&none, g, 0, 2));
    CHECK(cudaGraphCreate(&another, 0));
    // A handle that no node has.
    IS(cudaErrorInvalidValue, cudaGraphInstantiate(&x, g, 0));
    const struct {
        bool own; // The handle is one of this graph, or one that no graph has.
        int type;
        unsigned size;
    } wrong_params[] = {{true, cudaGraphCondTypeIf, 0},     {true, cudaGraphCondTypeIf, 3},
                        {true, cudaGraphCondTypeWhile, 2},  {true, cudaGraphCondTypeWhile, 0},
                        {true, cudaGraphCondTypeSwitch, 0}, {true, 3, 1},
                        {false, cudaGraphCondTypeIf, 1}};
    for (const auto &w : wrong_params) {
        cudaGraph_t its;
        CHECK(cudaGraphCreate(&its, 0));
        handle own = condition(its, 0, 0);
        cudaGraphNodeParams p =
            params(w.own ? own : 12345, (cudaGraphConditionalNodeType)w.type, w.size);
        cudaError_t error = cudaGraphAddNode(&node, its, nullptr, nullptr, 0, &p);
        if (error != cudaErrorInvalidValue) {
            printf("handle %d, type %d, size %u: %s\n", w.own, w.type, w.size,
                   cudaGetErrorName(error));
            failed++;
        }
        CHECK(cudaGraphDestroy(its));
    }
    conditional c = add_conditional(g, {}, h, cudaGraphCondTypeIf, 1);
    cudaGraphNodeParams again = params(h, cudaGraphCondTypeIf, 1);
    IS(cudaErrorInvalidValue, cudaGraphAddNode(&node, g, nullptr, nullptr, 0, &again));
    CHECK(cudaGraphNodeGetType(c.node, &type));
    if (type != cudaGraphNodeTypeConditional)
        failed++, printf("the type is %d\n", type);
    CHECK(cudaGraphGetNodes(g, nodes, &count));
    if (count != 1 || nodes[0] != c.node)
        failed++, printf("%zu nodes\n", count);
    IS(cudaErrorNotSupported, cudaGraphNodeSetParams(c.node, &again));
    // The graph stays one, and the body belongs to it.
    IS(cudaErrorNotSupported, cudaGraphClone(&copy, g));
    IS(cudaErrorNotSupported, cudaGraphAddChildGraphNode(&node, another, nullptr, 0, g));
    IS(cudaErrorInvalidValue, cudaGraphDestroy(c.bodies[0]));
    IS(cudaErrorNotSupported, cudaGraphInstantiate(&x, c.bodies[0], 0));
    CHECK(cudaGraphInstantiate(&x, g, 0));
    IS(cudaErrorNotSupported, cudaGraphInstantiate(&y, g, 0));
    CHECK(cudaGraphExecDestroy(x));
    // A body has no host functions.
    cudaHostNodeParams host = {[](void *) {}, nullptr};
    CHECK(cudaGraphAddHostNode(&node, c.bodies[0], nullptr, 0, &host));
    IS(cudaErrorInvalidValue, cudaGraphInstantiate(&x, g, 0));
    CHECK(cudaGraphDestroyNode(node));
    CHECK(cudaGraphInstantiate(&x, g, 0));
    CHECK(cudaGraphExecDestroy(x));
    CHECK(cudaGraphDestroyNode(c.node));
    CHECK(cudaGraphDestroy(another));
}

// The parameters of a body's kernel can change in the executable graph.
static void changed()
{
    handle h = condition(g, 1, cudaGraphCondAssignDefault);
    conditional c = add_conditional(g, {}, h, cudaGraphCondTypeIf, 1);
    cudaGraphNode_t node = kernel(c.bodies[0], {}, set, data, 1);
    cudaGraphExec_t x = executable();
    int *to = data, value = 2;
    void *arguments[] = {&to, &value};
    cudaKernelNodeParams p = {(void *)set, 1, 1, 0, arguments, nullptr};
    CHECK(cudaGraphExecKernelNodeSetParams(x, node, &p));
    CHECK(cudaGraphLaunch(x, s));
    EXPECT(0, 2);
    CHECK(
        cudaGraphDebugDotPrint(g, "conditional.dot", cudaGraphDebugDotFlagsConditionalNodeParams));
    CHECK(cudaGraphExecDestroy(x));
}

// A body whose two kernels write the same, ordered or not.
CASE(body)
{
    handle h = condition(g, 1, cudaGraphCondAssignDefault);
    conditional c = add_conditional(g, {}, h, cudaGraphCondTypeIf, 1);
    cudaGraphNode_t first = kernel(c.bodies[0], {}, set, data, 1);
    if (wrong)
        kernel(c.bodies[0], {}, add, data, 1);
    else
        kernel(c.bodies[0], {first}, add, data, 1);
    cudaGraphExec_t x = executable();
    CHECK(cudaGraphLaunch(x, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaGraphExecDestroy(x));
}

// A body, and a node beside the conditional node or after it.
CASE(beside)
{
    handle h = condition(g, 2, cudaGraphCondAssignDefault);
    conditional c = add_conditional(g, {}, h, cudaGraphCondTypeWhile, 1);
    kernel(c.bodies[0], {}, count_down, h, data, data + 1);
    if (wrong)
        kernel(g, {}, add, data + 1, 1);
    else
        kernel(g, {c.node}, add, data + 1, 1);
    cudaGraphExec_t x = executable();
    set_data(0, 2);
    CHECK(cudaGraphLaunch(x, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaGraphExecDestroy(x));
}

// A kernel beside the conditional node sets its condition.
CASE(of_condition)
{
    handle h = condition(g, 0, cudaGraphCondAssignDefault);
    cudaGraphNode_t first = kernel(g, {}, choose, h, (const int *)data);
    if (wrong)
        add_conditional(g, {}, h, cudaGraphCondTypeIf, 1);
    else
        add_conditional(g, {first}, h, cudaGraphCondTypeIf, 1);
    cudaGraphExec_t x = executable();
    for (int i = 0; i < 2; i++)
        CHECK(cudaGraphLaunch(x, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaGraphExecDestroy(x));
}

// The launch has waited for the condition, but the program has waited for nothing.
CASE(after)
{
    cudaStream_t t;
    cudaEvent_t done;
    handle h = condition(g, 1, cudaGraphCondAssignDefault);
    conditional c = add_conditional(g, {}, h, cudaGraphCondTypeIf, 1);
    kernel(c.bodies[0], {}, set, data, 1);
    cudaGraphExec_t x = executable();
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&done));
    CHECK(cudaGraphLaunch(x, s));
    CHECK(cudaEventRecord(done, s));
    if (!wrong)
        CHECK(cudaStreamWaitEvent(t, done, 0));
    add<<<1, 1, 0, t>>>(data, 1);
    CHECK(cudaStreamSynchronize(t));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(t));
    CHECK(cudaGraphExecDestroy(x));
}

static void run_endless(bool with_kernel)
{
    handle h = condition(g, 1, cudaGraphCondAssignDefault);
    conditional c = add_conditional(g, {}, h, cudaGraphCondTypeWhile, 1);
    cudaGraphNode_t node;
    if (with_kernel)
        kernel(c.bodies[0], {}, add, data, 1);
    else
        CHECK(cudaGraphAddEmptyNode(&node, c.bodies[0], nullptr, 0));
    CHECK(cudaGraphLaunch(executable(), s));
}
CASE(endless) { run_endless(false); }
CASE(endless_kernel) { run_endless(true); }

CASE(no_handle)
{
    kernel(g, {}, choose, (handle)4711, (const int *)data);
    CHECK(cudaGraphLaunch(executable(), s));
    CHECK(cudaStreamSynchronize(s));
}

CASE(no_value)
{
    handle h = condition(g, 1, 0);
    conditional c = add_conditional(g, {}, h, cudaGraphCondTypeIf, 1);
    kernel(c.bodies[0], {}, set, data, 1);
    CHECK(cudaGraphLaunch(executable(), s));
    EXPECT(0, 0);
}

// Without an argument every rule is run.
int main(int argc, char **argv)
{
    int status = 0;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&data, 16 * sizeof *data));
    CHECK(cudaMemsetAsync(data, 0, 16 * sizeof *data, s));
    CHECK(cudaGraphCreate(&g, 0));
    if (argc > 1)
        status = run_cases(argc, argv);
    else
        for (auto rule : {if_else, defaults, loop, switches, nested, refused, changed}) {
            rule();
            CHECK(cudaGraphDestroy(g));
            CHECK(cudaGraphCreate(&g, 0));
            CHECK(cudaMemsetAsync(data, 0, 16 * sizeof *data, s));
        }
    CHECK(cudaFree(data));
    printf("%d wrong\n", failed);
    return status || failed;
}
