// Kernels that nvcc built, against each other and against copies and memsets: order CASE correct,
// or order CASE incorrect. A correct case ends with 0, an incorrect one is reported.
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { COUNT = 1 << 16 };
struct pair {
    int a, b;
};

__global__ void set(int *data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void copy(int *to, const int *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}
__global__ void set_a(pair *pairs) { pairs[blockIdx.x * blockDim.x + threadIdx.x].a = 1; }
__global__ void set_b(pair *pairs) { pairs[blockIdx.x * blockDim.x + threadIdx.x].b = 2; }
__global__ void count(const int *data, int *bins)
{
    atomicAdd(&bins[data[blockIdx.x * blockDim.x + threadIdx.x] & 15], 1);
}
__global__ void gather(int *to, const int *from, const int *index)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[index[i]];
}

__global__ void set_and_trigger(int *data, int value)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] = value;
    cudaTriggerProgrammaticLaunchCompletion();
}
template <bool waits> __global__ void copy_beside(int *to, const int *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (waits)
        cudaGridDependencySynchronize();
    to[i] = from[i];
}

static bool correct;
static cudaStream_t s, t;
static cudaEvent_t event;
static int *p, *q, *r;

// t waits for what s has so far, in the correct case.
static void order()
{
    if (!correct)
        return;
    cudaEventRecord(event, s);
    cudaStreamWaitEvent(t, event, 0);
}

static void on(const char *wanted, const char *name, void (*body)())
{
    if (strcmp(wanted, name))
        return;
    body();
    cudaError_t e = cudaDeviceSynchronize();
    if (e)
        printf("%s\n", cudaGetErrorName(e));
}

#define KERNEL(stream) <<<COUNT / 256, 256, 0, stream>>>

// The second launch runs after the first in time, whatever orders them.
static void two_writes()
{
    set KERNEL(s)(p, 1);
    order();
    set KERNEL(t)(p, 2);
}
static void write_and_read()
{
    set KERNEL(s)(p, 1);
    order();
    copy KERNEL(t)(q, p);
}
// What comes later in the program may run first.
static void memset_behind()
{
    set KERNEL(s)(p, 1);
    order();
    cudaMemsetAsync(p, 0, COUNT * 4, t);
}
static void memset_before()
{
    cudaMemsetAsync(p, 0, COUNT * 4, s);
    order();
    set KERNEL(t)(p, 1);
}
static void fields()
{
    set_a<<<COUNT / 512, 256, 0, s>>>((pair *)p);
    if (correct)
        set_b<<<COUNT / 512, 256, 0, t>>>((pair *)p);
    else
        set_a<<<COUNT / 512, 256, 0, t>>>((pair *)p);
}
static void slices()
{
    set<<<COUNT / 512, 256, 0, s>>>(p, 1);
    set<<<COUNT / 512, 256, 0, t>>>(p + COUNT / 2 - !correct, 2);
}
static void atomics()
{
    cudaMemset(q, 0, 64);
    cudaMemset(p, 0, COUNT * 4);
    cudaDeviceSynchronize();
    count KERNEL(s)(p, q);
    if (correct)
        count KERNEL(t)(p, q);
    else
        set<<<1, 16, 0, t>>>(q, 0);
}
// The addresses are data: only what was read is touched.
static void by_data()
{
    static int index[COUNT];
    for (int i = 0; i < COUNT; i++)
        index[i] = i * 7 % (COUNT / 2);
    index[5] = correct ? 5 : COUNT / 2 + 5;
    cudaMemset(p, 0, COUNT * 4);
    cudaMemcpy(q, index, sizeof index, cudaMemcpyHostToDevice);
    cudaDeviceSynchronize();
    gather KERNEL(s)(r, p, q);
    cudaMemsetAsync(p + COUNT / 2, 1, COUNT * 2, t);
}
// The allocation is given back before the kernel runs, and its memory is another's by then.
static void freed_behind()
{
    int *mine, *other;
    cudaMallocAsync(&mine, COUNT * 4, s);
    set KERNEL(s)(mine, 1);
    order();
    cudaFreeAsync(mine, t);
    cudaMallocAsync(&other, COUNT * 4, t);
    set KERNEL(t)(other, 2);
    cudaFreeAsync(other, t);
}
static void before_allocation()
{
    int *mine;
    cudaMallocAsync(&mine, COUNT * 4, s);
    order();
    set KERNEL(t)(mine, 1);
    cudaStreamSynchronize(t);
    cudaFreeAsync(mine, s);
}
static void after_free()
{
    int *mine;
    cudaMallocAsync(&mine, COUNT * 4, s);
    if (!correct)
        cudaFreeAsync(mine, s);
    set KERNEL(s)(mine, 1);
    if (correct)
        cudaFreeAsync(mine, s);
}
static void outside() { set<<<1, correct ? 25 : 26, 0, s>>>(p + COUNT, 1); }
// Each launch may begin before the kernel before it has ended.
static void dependent()
{
    cudaLaunchAttribute a = {cudaLaunchAttributeProgrammaticStreamSerialization};
    cudaLaunchConfig_t c = {COUNT / 256, 256, 0, s, &a, 1};
    a.val.programmaticStreamSerializationAllowed = 1;
    const int *from = p;
    set KERNEL(s)(p, 1);
    cudaLaunchKernelEx(&c, copy_beside<false>, q, from);
    set_and_trigger KERNEL(s)(p, 2);
    cudaEventRecord(event, s);
    cudaLaunchKernelEx(&c, copy_beside<false>, q, from);
    set_and_trigger KERNEL(s)(p, 3);
    cudaStreamSynchronize(s);
    cudaLaunchKernelEx(&c, copy_beside<false>, q, from);
    set_and_trigger KERNEL(s)(p, 4);
    cudaLaunchKernelEx(&c, correct ? copy_beside<true> : copy_beside<false>, q, from);
}

static void captured()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t fork;
    cudaEventCreate(&fork);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, s);
    cudaStreamWaitEvent(t, fork, 0);
    set KERNEL(s)(p, 1);
    order();
    set KERNEL(t)(p, 2);
    cudaEventRecord(fork, t);
    cudaStreamWaitEvent(s, fork, 0);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    correct = !strcmp(argv[2], "correct");
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaMalloc(&p, COUNT * 4 + 100);
    cudaMalloc(&q, COUNT * 4);
    cudaMalloc(&r, COUNT * 4);
    on(argv[1], "two_writes", two_writes);
    on(argv[1], "write_and_read", write_and_read);
    on(argv[1], "memset_behind", memset_behind);
    on(argv[1], "memset_before", memset_before);
    on(argv[1], "fields", fields);
    on(argv[1], "slices", slices);
    on(argv[1], "atomics", atomics);
    on(argv[1], "by_data", by_data);
    on(argv[1], "freed_behind", freed_behind);
    on(argv[1], "before_allocation", before_allocation);
    on(argv[1], "after_free", after_free);
    on(argv[1], "outside", outside);
    on(argv[1], "captured", captured);
    on(argv[1], "dependent", dependent);
    cudaFree(p);
    cudaFree(q);
    cudaFree(r);
    return 0;
}
