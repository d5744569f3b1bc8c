// nvcc: -g
// Kernels that nvcc built, against each other and against copies and memsets: order CASE correct,
// or order CASE incorrect. A correct case ends with 0, an incorrect one is reported.
#include "cases.h"

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

static cudaStream_t s, t;
static cudaEvent_t event;
static int *p, *q, *r;

// t waits for what s has so far, in the correct case.
static void order()
{
    if (wrong)
        return;
    cudaEventRecord(event, s);
    cudaStreamWaitEvent(t, event, 0);
}

#define IN(stream) <<<COUNT / 256, 256, 0, stream>>>

// The second launch runs after the first in time, whatever orders them.
CASE(two_writes)
{
    set IN(s)(p, 1);
    order();
    set IN(t)(p, 2);
}
CASE(write_and_read)
{
    set IN(s)(p, 1);
    order();
    copy IN(t)(q, p);
}
// What comes later in the program may run first.
CASE(memset_behind)
{
    set IN(s)(p, 1);
    order();
    cudaMemsetAsync(p, 0, COUNT * 4, t);
}
CASE(fields)
{
    set_a<<<COUNT / 512, 256, 0, s>>>((pair *)p);
    if (!wrong)
        set_b<<<COUNT / 512, 256, 0, t>>>((pair *)p);
    else
        set_a<<<COUNT / 512, 256, 0, t>>>((pair *)p);
}
CASE(atomics)
{
    cudaMemset(q, 0, 64);
    cudaMemset(p, 0, COUNT * 4);
    cudaDeviceSynchronize();
    count IN(s)(p, q);
    if (!wrong)
        count IN(t)(p, q);
    else
        set<<<1, 16, 0, t>>>(q, 0);
}
// The addresses are data: only what was read is touched.
CASE(by_data)
{
    static int index[COUNT];
    for (int i = 0; i < COUNT; i++)
        index[i] = i * 7 % (COUNT / 2);
    index[5] = wrong ? COUNT / 2 + 5 : 5;
    cudaMemset(p, 0, COUNT * 4);
    cudaMemcpy(q, index, sizeof index, cudaMemcpyHostToDevice);
    cudaDeviceSynchronize();
    gather IN(s)(r, p, q);
    cudaMemsetAsync(p + COUNT / 2, 1, COUNT * 2, t);
}
// The allocation is given back before the kernel runs, and its memory is another's by then.
CASE(freed_behind)
{
    int *mine, *other;
    cudaMallocAsync(&mine, COUNT * 4, s);
    set IN(s)(mine, 1);
    order();
    cudaFreeAsync(mine, t);
    cudaMallocAsync(&other, COUNT * 4, t);
    set IN(t)(other, 2);
    cudaFreeAsync(other, t);
}
CASE(before_allocation)
{
    int *mine;
    cudaMallocAsync(&mine, COUNT * 4, s);
    order();
    set IN(t)(mine, 1);
    cudaStreamSynchronize(t);
    cudaFreeAsync(mine, s);
}
CASE(after_free)
{
    int *mine;
    cudaMallocAsync(&mine, COUNT * 4, s);
    if (wrong)
        cudaFreeAsync(mine, s);
    set IN(s)(mine, 1);
    if (!wrong)
        cudaFreeAsync(mine, s);
}
CASE(outside) { set<<<1, wrong ? 26 : 25, 0, s>>>(p + COUNT, 1); }
// Each launch may begin before the kernel before it has ended.
CASE(dependent)
{
    cudaLaunchAttribute a = {cudaLaunchAttributeProgrammaticStreamSerialization};
    cudaLaunchConfig_t c = {COUNT / 256, 256, 0, s, &a, 1};
    a.val.programmaticStreamSerializationAllowed = 1;
    const int *from = p;
    set IN(s)(p, 1);
    cudaLaunchKernelEx(&c, copy_beside<false>, q, from);
    set_and_trigger IN(s)(p, 2);
    cudaEventRecord(event, s);
    cudaLaunchKernelEx(&c, copy_beside<false>, q, from);
    set_and_trigger IN(s)(p, 3);
    cudaStreamSynchronize(s);
    cudaLaunchKernelEx(&c, copy_beside<false>, q, from);
    set_and_trigger IN(s)(p, 4);
    cudaLaunchKernelEx(&c, wrong ? copy_beside<false> : copy_beside<true>, q, from);
}

int main(int argc, char **argv)
{
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMalloc(&p, COUNT * 4 + 100));
    CHECK(cudaMalloc(&q, COUNT * 4));
    CHECK(cudaMalloc(&r, COUNT * 4));
    int status = run_cases(argc, argv);
    cudaError_t e = cudaDeviceSynchronize();
    if (e)
        printf("%s\n", cudaGetErrorName(e));
    cudaFree(p);
    cudaFree(q);
    cudaFree(r);
    return status;
}
