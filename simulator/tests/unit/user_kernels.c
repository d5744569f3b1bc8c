/* A program's own kernels (simulator/user_kernels.h). user_kernels values|refused|parameters prints
 * "all as expected". user_kernels CASE correct|incorrect: a correct case ends with 0, and an
 * incorrect one is reported. */
#include "expect.h"

#include "kernels.h"
#include "user_kernels.h"

static cudaStream_t s, t;
static int *p, *q, *pinned;
static int correct;
enum { COUNT = 1024, BYTES = COUNT * sizeof(int) };

/* ---- kernels ---- */

struct numbers {
    size_t count;
    int number;
};

static void multiply(void *const *memory, const void *argument)
{
    const struct numbers *a = argument;
    int *data = memory[0];
    for (size_t i = 0; i < a->count; i++)
        data[i] *= a->number;
}

/* The sum of memory[0] and a number into memory[1]. */
static void sum(void *const *memory, const void *argument)
{
    const struct numbers *a = argument;
    const int *data = memory[0];
    int *result = memory[1];
    *result = a->number;
    for (size_t i = 0; i < a->count; i++)
        *result += data[i];
}

/* Neighbors, in place: memory[0] begins one int before memory[1]. */
static void differences(void *const *memory, const void *argument)
{
    const struct numbers *a = argument;
    const int *from = memory[0];
    int *to = memory[1];
    for (size_t i = a->count; i-- > 0;)
        to[i] -= from[i];
}

static int calls;
static void nothing(void *const *memory, const void *argument)
{
    (void)memory;
    (void)argument;
    calls++;
}

static void checks_null(void *const *memory, const void *argument)
{
    (void)argument;
    calls += memory[0] == NULL && memory[1] != NULL;
}

/* ---- values ---- */

static int first_of(const int *from)
{
    int value;
    OK(cudaMemcpyAsync(&value, from, sizeof value, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    return value;
}

static void in_a_stream(void)
{
    struct numbers a = {COUNT, 7};
    char name[] = "multiply";
    OK(launch_fill(p, 3, COUNT, s));
    OK(sim_launch(s, name, multiply, a, sim_read_write(p, BYTES)));
    a.number = 1000; /* The launch has a copy. */
    name[0] = '?';
    SAME(21, first_of(p));
    OK(sim_launch(s, "sum", sum, a, sim_read(p, BYTES), sim_write(q, sizeof(int))));
    SAME(21 * COUNT + 1000, first_of(q));
    a = (struct numbers){COUNT - 1, 0};
    OK(launch_add(p + 1, 5, COUNT - 1, s));
    OK(sim_launch(s, "differences", differences, a, sim_read(p, BYTES - sizeof(int)),
                  sim_read_write(p + 1, BYTES - sizeof(int))));
    SAME(5, first_of(p + 1));
    SAME(0, first_of(p + 2));
}

static void in_pinned_and_managed_memory(void)
{
    struct numbers a = {COUNT, 0};
    int *managed;
    OK(cudaMallocManaged((void **)&managed, BYTES, cudaMemAttachGlobal));
    for (int i = 0; i < COUNT; i++)
        managed[i] = 1;
    OK(sim_launch(s, "sum", sum, a, sim_read(managed, BYTES), sim_write(pinned, sizeof(int))));
    OK(cudaStreamSynchronize(s));
    SAME(COUNT, *pinned);
    OK(cudaFree(managed));
}

static void captured(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    enum cudaGraphNodeType type;
    struct numbers a = {COUNT, 3};
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(launch_fill(p, 1, COUNT, s));
    OK(sim_launch(s, "multiply", multiply, a, sim_read_write(p, BYTES)));
    a.number = 1000;
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphGetNodes(graph, nodes, &count));
    SAME(2, count);
    OK(cudaGraphNodeGetType(nodes[1], &type));
    SAME(cudaGraphNodeTypeKernel, type);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaGraphExecDestroy(exec)); /* with work pending */
    SAME(3, first_of(p));
}

/* Returns how long the device works on it, in nanoseconds. */
static double time_of(unsigned long long nanoseconds, enum sim_access access)
{
    cudaEvent_t begin, end;
    float milliseconds;
    struct sim_range range = {p, BYTES, access};
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaStreamSynchronize(s));
    OK(launch_fill(p, 0, COUNT, s)); /* so that the device is not idle between the events */
    OK(cudaEventRecord(begin, s));
    if (nanoseconds == 1)
        OK(launch_add(p, 0, COUNT, s));
    else
        OK(sim_launch_kernel(s, "nothing", nothing, NULL, 0, &range, 1, nanoseconds));
    OK(cudaEventRecord(end, s));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&milliseconds, begin, end));
    return (double)milliseconds * 1e6;
}

static void durations(void)
{
    const char *schedule = getenv("SIM_SCHEDULE");
    if (schedule && strcmp(schedule, "measured"))
        return;
    SAME(1, time_of(0, SIM_READ_WRITE) == time_of(1, SIM_READ_WRITE));
    SAME(1, time_of(0, SIM_READ) < time_of(0, SIM_READ_WRITE));
    SAME(1, time_of(2000000, SIM_READ) > 1.9e6 && time_of(2000000, SIM_READ) < 2.1e6);
}

static void edges_of_the_interface(void)
{
    struct sim_range ranges[SIM_RANGES_MAX];
    struct numbers a = {0, 0};
    for (int i = 0; i < SIM_RANGES_MAX; i++)
        ranges[i] = sim_read(p + i, sizeof(int));
    calls = 0;
    OK(sim_launch_kernel(s, "nothing", nothing, NULL, 0, ranges, SIM_RANGES_MAX, 0));
    OK(sim_launch_kernel(s, "nothing", nothing, NULL, 0, NULL, 0, 0));
    IS(cudaErrorInvalidResourceHandle,
       sim_launch_kernel((cudaStream_t)-1, "nothing", nothing, NULL, 0, NULL, 0, 0));
    OK(sim_launch(s, "checks_null", checks_null, a, sim_read(NULL, 0), sim_read(p, 1)));
    OK(cudaStreamSynchronize(s));
    SAME(3, calls);
}

static void on_another_device(void)
{
    cudaStream_t u;
    struct numbers a = {COUNT, 7};
    OK(launch_fill(p, 3, COUNT, s));
    OK(cudaStreamSynchronize(s));
    cudaMemPool_t pool;
    struct cudaMemAccessDesc access = {{.type = cudaMemLocationTypeDevice, .id = 1},
                                       cudaMemAccessFlagsProtReadWrite};
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&u));
    OK(sim_launch(u, "multiply", multiply, a, sim_read_write(p, BYTES)));
    OK(cudaStreamSynchronize(u));
    OK(cudaSetDevice(0));
    SAME(21, first_of(p));
}

/* A range whose memory is no device's is a fault when the work runs. */
CASE(fault)
{
    struct numbers a = {COUNT, 7};
    static int pageable[COUNT];
    OK(sim_launch(s, "multiply", multiply, a, sim_read_write(pageable, BYTES)));
    IS(cudaErrorIllegalAddress, cudaStreamSynchronize(s));
}

/* ---- rejected launches ---- */

CASE(refused)
{
    static const char long_name[65] =
        "a name of 64 characters, which is one more than a name may be...";
    struct sim_range one = sim_read(p, 4), many[SIM_RANGES_MAX + 1];
    struct numbers a = {0, 0};
    for (int i = 0; i <= SIM_RANGES_MAX; i++)
        many[i] = one;
#define REFUSED(...) IS(cudaErrorInvalidValue, sim_launch_kernel(s, __VA_ARGS__))
    REFUSED(NULL, nothing, NULL, 0, &one, 1, 0);
    REFUSED("", nothing, NULL, 0, &one, 1, 0);
    REFUSED("a \"name\"", nothing, NULL, 0, &one, 1, 0);
    REFUSED(long_name, nothing, NULL, 0, &one, 1, 0);
    REFUSED("none", NULL, NULL, 0, &one, 1, 0);
    REFUSED("no argument", nothing, NULL, 8, &one, 1, 0);
    REFUSED("argument too large", nothing, &a, SIM_ARGUMENT_MAX + 1, &one, 1, 0);
    REFUSED("no ranges", nothing, NULL, 0, NULL, 1, 0);
    REFUSED("too many ranges", nothing, NULL, 0, many, SIM_RANGES_MAX + 1, 0);
    one = sim_read(NULL, 16);
    REFUSED("range at NULL", nothing, NULL, 0, &one, 1, 0);
    one = sim_read(p, SIZE_MAX);
    REFUSED("range without end", nothing, NULL, 0, &one, 1, 0);
    one = (struct sim_range){p, 4, (enum sim_access)4};
    REFUSED("access of no kind", nothing, NULL, 0, &one, 1, 0);
    OK(cudaStreamSynchronize(s));
    SAME(0, calls);
}

/* The node of such a kernel has no parameters. */
CASE(parameters)
{
    struct numbers a = {0, 0};
    struct cudaKernelNodeParams params;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    size_t count = 1;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(sim_launch(s, "multiply", multiply, a, sim_read_write(p, BYTES)));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphGetNodes(graph, &node, &count));
    IS(cudaErrorNotSupported, cudaGraphKernelNodeGetParams(node, &params));
}

/* ---- correct or incorrect ---- */

CASE(halves)
{
    struct numbers a = {COUNT / 2, 2};
    OK(sim_launch(s, "multiply", multiply, a, sim_read_write(p, BYTES / 2)));
    OK(sim_launch(t, "multiply other", multiply, a,
                  sim_read_write(p + COUNT / 2 - !correct, BYTES / 2)));
}

/* The kernel's second range is in memory of the other device. */
CASE(access_given)
{
    cudaStream_t u;
    struct numbers a = {COUNT, 2};
    cudaMemPool_t pool;
    struct cudaMemAccessDesc access = {{.type = cudaMemLocationTypeDevice, .id = 1},
                                       cudaMemAccessFlagsProtReadWrite};
    int *far;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&u));
    OK(cudaMallocAsync((void **)&far, BYTES, u));
    if (correct)
        OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(sim_launch(u, "sum", sum, a, sim_read(far, BYTES), sim_write(p, sizeof(int))));
    (void)cudaMemPoolSetAccess(pool, &access, 1);
    (void)cudaFreeAsync(far, u);
    (void)cudaStreamSynchronize(u);
    OK(cudaSetDevice(0));
}

/* ---- accesses outside the declaration ---- */

struct pointer {
    int *data;
    ptrdiff_t at;
};

static void store(void *const *memory, const void *argument)
{
    const struct pointer *a = argument;
    int *data = a->data ? a->data : (int *)memory[0];
    data[a->at]++;
}

static void stores(int *data, ptrdiff_t at, struct sim_range range)
{
    struct pointer a = {data, at};
    OK(sim_launch(s, "store", store, a, range));
}

CASE(by_address) { stores(correct ? NULL : p, 0, sim_write(p, 4)); }
CASE(read_only) { stores(NULL, 7, correct ? sim_write(p, BYTES) : sim_read(p, BYTES)); }
CASE(behind) { stores(NULL, 16, sim_write(p, correct ? 17 * sizeof *p : 64)); }
CASE(before) { stores(NULL, correct ? 0 : -1, sim_write(p + 16, 64)); }
/* Where another range of the launch allows it. */
CASE(neighbor)
{
    struct pointer a = {NULL, 16};
    OK(sim_launch(s, "store", store, a, sim_read_write(p, 64),
                  correct ? sim_write(p + 16, 64) : sim_read(p + 16, 64)));
}

static void call_cuda(void *const *memory, const void *argument)
{
    (void)memory;
    (void)argument;
    cudaStreamSynchronize(s);
}

CASE(calls_cuda)
{
    struct numbers a = {0, 0};
    OK(sim_launch(s, "call_cuda", correct ? nothing : call_cuda, a, sim_read(p, 4)));
}

CASE(values)
{
    in_a_stream();
    in_pinned_and_managed_memory();
    captured();
    durations();
    edges_of_the_interface();
    on_another_device();
}

int main(int argc, char **argv)
{
    correct = argc > 2 && !strcmp(argv[2], "correct");
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    OK(cudaMallocAsync((void **)&p, BYTES, s));
    OK(cudaMallocAsync((void **)&q, BYTES, s));
    OK(cudaMallocHost((void **)&pinned, BYTES));
    OK(launch_fill(p, 1, COUNT, s));
    OK(cudaStreamSynchronize(s));
    int status = run_case(argc, argv);
    if (status || (argc > 1 && !strcmp(argv[1], "fault")))
        return status ? status : wrong;
    OK(cudaDeviceSynchronize());
    OK(cudaFreeAsync(p, s));
    OK(cudaFreeAsync(q, s));
    OK(cudaFreeHost(pinned));
    OK(cudaStreamSynchronize(s));
    if (argc < 3)
        puts(wrong ? "not as expected" : "all as expected");
    return wrong;
}
