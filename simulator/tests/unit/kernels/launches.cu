// nvcc: -rdc=true -lcudadevrt
// Kernels that launch kernels: what runs, in which order; and mistakes of kernels that others have
// launched. The argument is a case. What launches, streams, and events answer is in
// launch_answers.cu.
#include "cases.h"

static int failed;
static int *log_, *data;

// log_[0] counts the entries behind it.
static __device__ void note(int *log, int value) { log[1 + atomicAdd(log, 1)] = value; }
static __global__ void noted(int *log, int value) { note(log, value); }

// ---- order ----

static __global__ void in_order(int *log)
{
    // One stream of the block, whichever of its threads launches.
    for (int n = 0; n < 4; n++) {
        if (threadIdx.x == 40 * n % 64)
            noted<<<1, 1>>>(log, 10 + n);
        __syncthreads();
    }
}

static __global__ void with_tail(int *log, int depth)
{
    if (threadIdx.x)
        return;
    noted<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 100 * depth + 3);
    if (depth < 3)
        with_tail<<<1, 32, 0, cudaStreamTailLaunch>>>(log, depth + 1);
    noted<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 100 * depth + 4);
    noted<<<1, 1>>>(log, 100 * depth + 2);
    note(log, 100 * depth + 1);
}

// What a child launches belongs to the child: the next child waits for all of it.
static __global__ void deep(int *log, int depth)
{
    if (depth)
        deep<<<1, 1>>>(log, depth - 1);
    else
        note(log, 7);
}
static __global__ void one_after_the_other(int *log)
{
    deep<<<1, 1>>>(log, 20);
    noted<<<1, 1>>>(log, 8);
}

static __global__ void by_events(int *log)
{
    cudaStream_t s, t;
    cudaEvent_t done;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    noted<<<1, 1, 0, s>>>(log, 1);
    cudaEventRecord(done, s);
    cudaStreamWaitEvent(t, done, 0);
    noted<<<1, 1, 0, t>>>(log, 2);
    cudaEventDestroy(done);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}

// The first kernel after all of them.
static __global__ void sum(int *log)
{
    int all = 0;
    for (int n = 1; n <= log[0]; n++)
        all += log[n];
    log[1] = all;
    log[0] = 1;
}
static __global__ void at_once(int *log)
{
    for (int n = 0; n < 4; n++)
        noted<<<1, 1, 0, cudaStreamFireAndForget>>>(log, 1 << (4 * blockIdx.x + n));
    if (blockIdx.x == 0)
        sum<<<1, 1, 0, cudaStreamTailLaunch>>>(log);
}

// ---- values ----

struct box {
    char c;
    double d[3];
};
static __global__ void filled(int *to, short a, box b, float f, char c)
{
    extern __shared__ int shared[];
    const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z),
              thread = threadIdx.x + blockDim.x * threadIdx.y;
    shared[thread] = a + b.c + (int)(b.d[0] + b.d[2] + f) + c;
    __syncthreads();
    to[6 * block + thread] = shared[5 - thread] + 100 * block;
}
static __global__ void fill(int *to)
{
    const box b = {3, {1000, 0, 20000}};
    filled<<<dim3(1, 2, 2), dim3(3, 2), 6 * sizeof(int)>>>(to, -4, b, 5.5f, 'A');
}

template <class T> static __global__ void halved(T *value) { *value /= 2; }
template <class T> static __device__ __noinline__ void halve(T *value) { halved<<<1, 1>>>(value); }
static __device__ double half_of;
static __global__ void visible(int *to)
{
    // Written before the launch, by all threads of the block.
    to[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    halve(to + threadIdx.x);
    if (threadIdx.x == 0) {
        half_of = 5;
        halve(&half_of);
    }
}

static __global__ void copied(int *to)
{
    to[0] = 5;
    cudaMemcpyAsync(to + 1, to, sizeof *to, cudaMemcpyDeviceToDevice, 0);
    cudaMemsetAsync(to + 2, 0x1234567 + 1, 3 * sizeof *to, 0);
    cudaMemcpyAsync(to + 5, to + 4, sizeof *to, cudaMemcpyDeviceToDevice, 0);
}

// ---- answers ----

static __device__ bool is(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}
static __global__ void answers(int *log)
{
    int value = 0;
    size_t limit = 0;
    void *memory = nullptr;
    if (!is(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"))
        note(log, __LINE__);
    if (!is(cudaGetErrorString(cudaSuccess), "no error"))
        note(log, __LINE__);
    if (cudaGetDevice(&value) || value != 0)
        note(log, __LINE__);
    if (cudaGetDeviceCount(&value) || value < 1)
        note(log, __LINE__);
    if (cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0) || value != 32)
        note(log, __LINE__);
    if (cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount) || limit != 40)
        note(log, __LINE__);
    if (cudaMalloc(&memory, 64) || !memory || cudaFree(memory))
        note(log, __LINE__);
}

// ---- mistakes ----

static __global__ void beyond(int *to) { to[1 << 20] = 1; }
static __global__ void launch_beyond(int *to) { beyond<<<1, 1>>>(to); }
static __global__ void racing(int *to) { *to = blockIdx.x; }
static __global__ void launch_racing(int *to) { racing<<<2, 1>>>(to); }
static __global__ void touching(int *to) { *to += 1; }
static __global__ void launch_touching(int *to) { touching<<<1, 1>>>(to); }
static __global__ void deep_touching(int *to, int depth)
{
    if (depth)
        deep_touching<<<1, 1>>>(to, depth - 1);
    else
        touching<<<1, 1>>>(to);
}

static __global__ void launch_much(int *to, bool asks)
{
    for (int n = 0; n < 3000 && cudaPeekAtLastError() == cudaSuccess; n++)
        touching<<<1, 1>>>(to);
    if (!asks)
        touching<<<1, 1025>>>(to);
}
// What a kernel does after a launch has no order with what it has launched.
static __global__ void read_after(int *to, bool incorrect)
{
    to[1] = 0;
    touching<<<1, 1>>>(to);
    to[2] = to[incorrect ? 0 : 1] + 1;
}
static __global__ void write_after(int *to, bool incorrect)
{
    if (!incorrect)
        to[0] = 5;
    deep_touching<<<1, 1>>>(to, 2);
    if (incorrect)
        to[0] = 5;
}
// Neither have launches of two blocks, nor those in two streams.
static __global__ void copying(int *to, const int *from) { *to = *from + 1; }
static __global__ void two_blocks(int *to, bool incorrect)
{
    if (blockIdx.x == 0)
        touching<<<1, 1>>>(to);
    if (blockIdx.x == incorrect)
        copying<<<1, 1>>>(to + 1, to);
}
// The blocks of a kernel go on to be compared with each other when they have launched something.
// What a block wrote before has a value.
static __global__ void shared_behind(int *to, bool incorrect)
{
    const int to_read = 8 + (incorrect ? 1 - blockIdx.x : blockIdx.x);
    to[8 + blockIdx.x] = 4;
    touching<<<1, 1>>>(to + blockIdx.x);
    to[4 + blockIdx.x] = to[to_read] + 1;
}
static __global__ void written_behind(int *to, bool incorrect)
{
    touching<<<1, 1>>>(to + blockIdx.x);
    to[4] = incorrect ? blockIdx.x : 5;
}
static __global__ void two_streams(int *to, bool incorrect)
{
    touching<<<1, 1>>>(to);
    const cudaStream_t s = incorrect ? cudaStreamFireAndForget : cudaStreamTailLaunch;
    copying<<<1, 1, 0, s>>>(to + 1, to);
}

static void expect(int line, int count, const int *values)
{
    int found[64];
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(found, log_, sizeof found, cudaMemcpyDeviceToHost));
    bool same = found[0] == count;
    for (int n = 0; n < count && same; n++)
        same = found[1 + n] == values[n];
    if (!same) {
        printf("line %d: %d:", line, found[0]);
        for (int n = 1; n <= found[0] && n < 64; n++)
            printf(" %d", found[n]);
        puts("");
        failed++;
    }
    CHECK(cudaMemset(log_, 0, 4096));
}
#define EXPECT(...)                                            \
    do {                                                       \
        const int values_[] = {0, ##__VA_ARGS__};              \
        expect(__LINE__, sizeof values_ / 4 - 1, values_ + 1); \
    } while (0)

static void is_data(int line, int n, int value)
{
    int found;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&found, data + n, sizeof found, cudaMemcpyDeviceToHost));
    if (found != value)
        failed++, printf("line %d: data[%d] is %d instead of %d\n", line, n, found, value);
}
#define IS(n, value) is_data(__LINE__, n, value)

CASE(order)
{
    in_order<<<1, 64>>>(log_);
    EXPECT(10, 11, 12, 13);
    with_tail<<<1, 32>>>(log_, 1);
    EXPECT(101, 102, 103, 201, 202, 203, 301, 302, 303, 304, 204, 104);
    one_after_the_other<<<1, 1>>>(log_);
    EXPECT(7, 8);
    by_events<<<1, 1>>>(log_);
    EXPECT(1, 2);
    at_once<<<5, 1>>>(log_);
    EXPECT((1 << 20) - 1);
    // The next kernel of the host's stream waits for all of it.
    in_order<<<1, 64>>>(log_);
    noted<<<1, 1>>>(log_, 9);
    EXPECT(10, 11, 12, 13, 9);
}

CASE(values)
{
    fill<<<1, 1>>>(data);
    for (int n = 0; n < 24; n++)
        IS(n, -4 + 3 + 21005 + 'A' + 100 * (n / 6));
    visible<<<1, 8>>>(data);
    for (int n = 0; n < 8; n++)
        IS(n, n);
    double half;
    CHECK(cudaMemcpyFromSymbol(&half, half_of, sizeof half));
    if (half != 2.5)
        failed++, printf("%g\n", half);
    copied<<<1, 1>>>(data);
    IS(1, 5);
    // Whatever the value, an H200's driver (580.159.04) writes 0.
    IS(2, 0);
    IS(4, 0);
    IS(5, 0);
    IS(6, 6);
}

CASE(graph)
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t x;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    in_order<<<1, 64, 0, s>>>(log_);
    CHECK(cudaStreamEndCapture(s, &g));
    CHECK(cudaGraphInstantiate(&x, g, 0));
    for (int n = 0; n < 2; n++) {
        CHECK(cudaGraphLaunch(x, s));
        EXPECT(10, 11, 12, 13);
    }
    CHECK(cudaGraphExecDestroy(x));
    CHECK(cudaGraphDestroy(g));
    CHECK(cudaStreamDestroy(s));
}

CASE(what_is_asked)
{
    CHECK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 40));
    answers<<<1, 1>>>(log_);
    EXPECT();
}

static void run_mistake(void (*launch)(int *)) { launch<<<1, 1>>>(data); }
// Runs it with an allocation that has this many bytes with a value.
static void run_fresh(void (*launch)(int *, bool), int blocks, size_t written)
{
    int *fresh;
    CHECK(cudaMalloc(&fresh, 40));
    CHECK(cudaMemset(fresh, 0, written));
    launch<<<blocks, 1>>>(fresh, wrong);
    CHECK(cudaFree(fresh));
}

CASE(out_of_bounds) { run_mistake(wrong ? launch_beyond : touching); }
CASE(race) { run_mistake(wrong ? launch_racing : touching); }
CASE(unwritten)
{
    int *fresh;
    CHECK(cudaMalloc(&fresh, 4));
    if (!wrong)
        CHECK(cudaMemset(fresh, 0, 4));
    launch_touching<<<1, 1>>>(fresh);
    CHECK(cudaFree(fresh));
}
CASE(streams)
{
    cudaStream_t s, t;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    launch_touching<<<1, 1, 0, s>>>(data);
    if (!wrong)
        CHECK(cudaStreamSynchronize(s));
    launch_touching<<<1, 1, 0, t>>>(data);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaStreamDestroy(t));
}
CASE(unasked) { launch_much<<<1, 1>>>(data, !wrong); }
CASE(reads_after) { run_fresh(read_after, 1, 4); }
CASE(writes_after) { write_after<<<1, 1>>>(data, wrong); }
CASE(of_two_blocks) { two_blocks<<<2, 1>>>(data, wrong); }
CASE(reads_behind) { run_fresh(shared_behind, 2, 8); }
CASE(writes_behind) { written_behind<<<2, 1>>>(data, wrong); }
CASE(in_two_streams) { two_streams<<<1, 1>>>(data, wrong); }

// Without an argument every rule is run.
int main(int argc, char **argv)
{
    int status = 0;
    CHECK(cudaMalloc(&log_, 4096));
    CHECK(cudaMalloc(&data, 4096));
    CHECK(cudaMemset(log_, 0, 4096));
    CHECK(cudaMemset(data, 0, 4096));
    if (argc > 1)
        status = run_cases(argc, argv);
    else
        order(), values(), graph(), what_is_asked();
    const cudaError_t e = cudaDeviceSynchronize();
    if (e)
        puts(cudaGetErrorName(e));
    cudaFree(log_);
    cudaFree(data);
    printf("%d wrong\n", failed);
    return status || failed;
}
