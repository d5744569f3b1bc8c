// The host touches memory that it shares with a kernel: host_side CASE correct|incorrect.
#include "cases.h"

#define N 4096

__managed__ int variable[N];
__global__ void set_variable() { variable[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void set(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void add(int *sums, const int *a) { atomicAdd(sums, a[threadIdx.x]); }
__global__ void tell(volatile int *done) { done[threadIdx.x] = 1; }
__global__ void tell_fenced(int *a, int *done)
{
    a[threadIdx.x] = 1;
    __threadfence_system();
    done[threadIdx.x] = 1;
}
__global__ void tell_atomically(int *done) { atomicExch_system(done + threadIdx.x, 1); }
__global__ void count(int *done) { atomicAdd_system(done, 1); }
__global__ void tell_one(int *done) { *done = 1; }

static int *a;
static cudaStream_t s, t;
static volatile int seen;

static void managed(int count)
{
    CHECK(cudaMallocManaged(&a, count * sizeof *a));
    memset(a, 0, count * sizeof *a);
}
static void mapped(int count)
{
    CHECK(cudaHostAlloc(&a, count * sizeof *a, cudaHostAllocMapped));
    memset(a, 0, count * sizeof *a);
}
static void wait_if(bool wanted)
{
    if (wanted)
        CHECK(cudaDeviceSynchronize());
}

CASE(managed_write)
{
    int *sum;
    managed(N);
    CHECK(cudaMalloc(&sum, 4));
    CHECK(cudaMemset(sum, 0, 4));
    add<<<1, 1024>>>(sum, a);
    wait_if(!wrong);
    a[5] = 1;
    CHECK(cudaFree(sum));
}
CASE(variable_read)
{
    set_variable<<<N / 256, 256>>>();
    wait_if(!wrong);
    seen = variable[5];
}
CASE(small_mapped)
{
    mapped(64);
    set<<<1, 64, 0, s>>>(a);
    wait_if(!wrong);
    seen = a[5];
}
CASE(in_two_streams)
{
    cudaEvent_t e;
    mapped(2 * N);
    CHECK(cudaEventCreate(&e));
    set<<<N / 256, 256, 0, s>>>(a);
    CHECK(cudaEventRecord(e, s));
    CHECK(cudaStreamWaitEvent(t, e, 0));
    set<<<N / 256, 256, 0, t>>>(a + N);
    if (wrong)
        CHECK(cudaStreamSynchronize(s));
    else
        CHECK(cudaStreamSynchronize(t));
    seen = a[2 * N - 1];
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(e));
}

// ---- what the host may touch at any time ----

static void poll(volatile int *flag)
{
    while (!*flag)
        cudaStreamQuery(s);
}
CASE(by_volatile)
{
    mapped(N);
    tell<<<1, 1024, 0, s>>>(a);
    poll(a + 7);
}
CASE(by_fence)
{
    mapped(N);
    tell_fenced<<<1, 1024, 0, s>>>(a, a + N / 2);
    poll(a + N / 2);
}
CASE(by_atomic)
{
    mapped(N);
    tell_atomically<<<1, 1024, 0, s>>>(a);
    poll(a + 7);
}
CASE(one_flag)
{
    mapped(1);
    tell_one<<<1, 1, 0, s>>>(a);
    poll(a);
}
CASE(in_managed)
{
    managed(N);
    tell_fenced<<<1, 1024, 0, s>>>(a, a + N / 2);
    poll(a + N / 2);
}
CASE(counted)
{
    managed(1);
    count<<<1, 64, 0, s>>>(a);
    poll(a);
}
CASE(other_half)
{
    managed(2 * N);
    set<<<N / 256, 256, 0, s>>>(a);
    a[N] = 1;
    seen = a[2 * N - 1];
}

int main(int argc, char **argv)
{
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    int status = run_cases(argc, argv);
    CHECK(cudaDeviceSynchronize());
    cudaPointerAttributes where;
    if (a && !cudaPointerGetAttributes(&where, a))
        CHECK(where.type == cudaMemoryTypeManaged ? cudaFree(a) : cudaFreeHost(a));
    return status;
}
