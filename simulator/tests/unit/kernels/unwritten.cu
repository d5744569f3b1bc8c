// Reads of memory that nobody has written, each beside its correct form:
// unwritten CASE correct|incorrect.
// compute-sanitizer --tool initcheck looks for the same.
#include "cases.h"

#define N 96

// Their padding is 7 and 8 bytes.
struct odd {
    char c;
    double d;
};
struct alignas(16) wide {
    double d;
};

__global__ void add_one(const int *in, int *out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
__global__ void accumulate(int *x) { x[threadIdx.x] += 1; }
__global__ void count(int *counter) { atomicAdd(counter, 1); }
__global__ void count_in_two(int *x)
{
    x[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x)
        atomicAdd(x, x[threadIdx.x]);
}
__global__ void copy(const int *in, int *out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void copy_four(const int4 *in, int4 *out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void set(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = i;
}
__global__ void set_fields(odd *a, wide *b)
{
    a[threadIdx.x].c = (char)threadIdx.x;
    a[threadIdx.x].d = threadIdx.x;
    b[threadIdx.x].d = threadIdx.x;
}
__global__ void copy_whole(const odd *a, const wide *b, odd *c, wide *d)
{
    c[threadIdx.x] = a[threadIdx.x];
    d[threadIdx.x] = b[threadIdx.x];
}
__global__ void sum_fields(const odd *a, const wide *b, double *sum)
{
    sum[threadIdx.x] = a[threadIdx.x].c + a[threadIdx.x].d + b[threadIdx.x].d;
}
__global__ void choose(const int *x, int *out, int n)
{
    int i = threadIdx.x, value = x[i];
    out[i] = i < n ? value : -1;
}

__global__ void shared_part(int *out, int n)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    if (t < n)
        s[t] = t;
    __syncthreads();
    out[t] = s[t];
}
__global__ void sum_in_shared(int *out, int n)
{
    __shared__ int s[N + 1], total;
    int t = threadIdx.x, sum = 0;
    s[t] = t;
    if (!t)
        total = 0;
    __syncthreads();
    for (int i = 0; i < n; i++)
        sum += 3 * s[i];
    atomicAdd(&total, sum);
    __syncthreads();
    out[t] = total + s[(t + 1) % N];
}
__global__ void counter_in_shared(int *out, bool cleared)
{
    __shared__ int count[2];
    if (threadIdx.x < 2 && cleared)
        count[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&count[threadIdx.x & 1], 1);
    __syncthreads();
    out[threadIdx.x] = count[threadIdx.x & 1];
}
// What is behind the end is loaded and compared, and not used; one thread more computes with it,
// and stores nothing.
__global__ void behind_in_shared(int *out, int n)
{
    __shared__ int s[N + 1];
    int t = threadIdx.x;
    if (t < n)
        s[t] = 2 * (t / 2);
    __syncthreads();
    int here = s[t], next = s[t + 1];
    bool different = t + 1 < n && here != next;
    int sum = here * 5 + next;
    if (t < n - 1)
        out[t] = sum + different;
}
// What a warp adds to values that nobody wrote stays in shared memory, which is then all written;
// another warp stores it to device memory.
__global__ void shared_handed_on(int *out, bool cleared)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    if (t >= 32 || cleared)
        s[t] = 0;
    s[t] += t;
    __syncthreads();
    out[t] = s[N - 1 - t];
}
// Values that nobody wrote are copied within shared memory, and then stored.
__global__ void shared_staged(const int *in, int *out)
{
    __shared__ int s[N];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[N - 1 - threadIdx.x];
}

static int *a, *b, here[N];

static void memset_all() { CHECK(cudaMemset(a, 0, N * sizeof *a)); }

CASE(read)
{
    if (!wrong)
        memset_all();
    add_one<<<1, N>>>(a, b);
}
// The count of a memset is in bytes.
CASE(part)
{
    CHECK(cudaMemset(a, 0, wrong ? N : N * sizeof *a));
    add_one<<<1, N>>>(a, b);
}
CASE(sums)
{
    if (!wrong)
        memset_all();
    accumulate<<<1, N>>>(a);
}
CASE(counter)
{
    if (!wrong)
        memset_all();
    count<<<1, N>>>(a);
}
CASE(one_kernel)
{
    if (wrong)
        count<<<1, 1>>>(a + 1);
    count_in_two<<<1, N>>>(a);
}
// In the incorrect form the kernel writes one element less than is read.
CASE(last_element)
{
    set<<<1, N>>>(a, wrong ? N - 1 : N);
    add_one<<<1, N>>>(a, b);
}
// A pool returns the same memory, which is as unwritten as new memory.
CASE(pool)
{
    int *p, *q;
    CHECK(cudaMallocAsync(&p, N * sizeof *p, 0));
    set<<<1, N>>>(p, N);
    CHECK(cudaFreeAsync(p, 0));
    CHECK(cudaMallocAsync(&q, N * sizeof *q, 0));
    if (!wrong)
        CHECK(cudaMemsetAsync(q, 0, N * sizeof *q, 0));
    accumulate<<<1, N>>>(q);
    CHECK(cudaFreeAsync(q, 0));
}
// All is queued before any of it runs.
CASE(queued)
{
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    for (int i = 0; i < 3; i++) {
        int *p;
        CHECK(cudaMallocAsync(&p, N * sizeof *p, s));
        if (!wrong || i < 2)
            CHECK(cudaMemsetAsync(p, 0, N * sizeof *p, s));
        accumulate<<<1, N, 0, s>>>(p);
        add_one<<<1, N, 0, s>>>(p, p);
        CHECK(cudaMemcpyAsync(here, p, sizeof here, cudaMemcpyDeviceToHost, s));
        CHECK(cudaFreeAsync(p, s));
    }
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaStreamDestroy(s));
}
// A copy of bytes without a value gives them none.
CASE(copied)
{
    if (!wrong)
        memset_all();
    CHECK(cudaMemcpy(b, a, N * sizeof *a, cudaMemcpyDeviceToDevice));
    accumulate<<<1, N>>>(b);
}
CASE(copied_by_kernel)
{
    if (!wrong)
        memset_all();
    copy<<<1, N>>>(a, b);
    copy_four<<<1, N / 4>>>((int4 *)b, (int4 *)(b + N));
    accumulate<<<1, N>>>(b + N);
}
// What is copied is written again before it is read.
CASE(written_over)
{
    copy<<<1, N>>>(a, b);
    if (!wrong)
        set<<<1, N>>>(b, N);
    accumulate<<<1, N>>>(b);
}
CASE(download)
{
    if (!wrong)
        set<<<1, N>>>(a, N / 2);
    CHECK(cudaMemcpy(here, a, sizeof here, cudaMemcpyDeviceToHost));
}
CASE(padding)
{
    odd *from = (odd *)a, *to = from + 16;
    wide *wide_from = (wide *)b, *wide_to = wide_from + 16;
    odd odds[16];
    if (!wrong)
        set_fields<<<1, 16>>>(from, wide_from);
    copy_whole<<<1, 16>>>(from, wide_from, to, wide_to);
    sum_fields<<<1, 16>>>(to, wide_to, (double *)b + 3 * N / 2);
    CHECK(cudaMemcpy(odds, to, sizeof odds, cudaMemcpyDeviceToHost));
}
// A value that is loaded and not chosen.
CASE(chosen)
{
    set<<<1, N>>>(a, N / 2);
    choose<<<1, N>>>(a, b, N / 2);
    if (wrong)
        add_one<<<1, N>>>(a, b);
}
CASE(graph)
{
    cudaGraph_t made;
    cudaGraphExec_t exec;
    cudaStream_t s;
    int *p;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&p, N * sizeof *p, s));
    if (!wrong)
        CHECK(cudaMemsetAsync(p, 0, N * sizeof *p, s));
    accumulate<<<1, N, 0, s>>>(p);
    CHECK(cudaFreeAsync(p, s));
    /* Another one at the same address. */
    CHECK(cudaMallocAsync(&p, N * sizeof *p, s));
    CHECK(cudaMemcpyAsync(p, here, N * sizeof *p, cudaMemcpyHostToDevice, s));
    accumulate<<<1, N, 0, s>>>(p);
    CHECK(cudaFreeAsync(p, s));
    CHECK(cudaStreamEndCapture(s, &made));
    CHECK(cudaGraphInstantiate(&exec, made, 0));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(made));
    CHECK(cudaStreamDestroy(s));
}
CASE(rows)
{
    CHECK(cudaMemset2D(a, 32, 0, 16, wrong ? 1 : 2));
    CHECK(cudaMemcpy2D(b, 16, a, 32, 16, 2, cudaMemcpyDeviceToDevice));
    add_one<<<1, 8>>>(b, b + 8);
}
CASE(peer)
{
    int *there, devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    CHECK(cudaSetDevice(devices > 1));
    CHECK(cudaMalloc(&there, N * sizeof *there));
    if (!wrong)
        CHECK(cudaMemset(there, 0, N * sizeof *there));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyPeer(a, 0, there, devices > 1, N * sizeof *a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceSynchronize());
    accumulate<<<1, N>>>(a);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(there));
}

CASE(shared) { shared_part<<<1, N>>>(a, wrong ? N - 1 : N); }
CASE(shared_sum) { sum_in_shared<<<1, N>>>(a, wrong ? N + 1 : N); }
CASE(shared_counter) { counter_in_shared<<<1, N>>>(a, !wrong); }
CASE(shared_behind)
{
    behind_in_shared<<<1, N>>>(a, N / 2);
    if (wrong)
        shared_part<<<1, N>>>(a, 1);
}
CASE(handed_on) { shared_handed_on<<<1, N>>>(a, !wrong); }
CASE(staged)
{
    if (!wrong)
        memset_all();
    shared_staged<<<1, N>>>(a, b);
}
// The host has written its memory, or a memset half of it.
CASE(managed)
{
    int *m;
    CHECK(cudaMallocManaged(&m, N * sizeof *m));
    if (!wrong)
        memset(m, 0, N * sizeof *m);
    accumulate<<<1, N>>>(m);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(m));
}
CASE(managed_half)
{
    const size_t bytes = 32 << 10;
    int *m;
    CHECK(cudaMallocManaged(&m, bytes));
    CHECK(cudaMemset(m, 0, wrong ? bytes / 2 : bytes));
    accumulate<<<1, N>>>(m + bytes / 8);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(m));
}
// Between two launches the host touches the page that the second one reads.
CASE(managed_later)
{
    const int page = 4096 / sizeof(int);
    int *m;
    CHECK(cudaMallocManaged(&m, 2 * page * sizeof *m));
    memset(m, 0, page * sizeof *m);
    accumulate<<<1, N>>>(m);
    CHECK(cudaDeviceSynchronize());
    if (!wrong)
        memset(m + page, 0, page * sizeof *m);
    accumulate<<<1, N>>>(m + page);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(m));
}
CASE(pinned)
{
    int *p;
    CHECK(cudaMallocHost(&p, N * sizeof *p));
    if (!wrong)
        p[N - 1] = 1; // Of a page that the host has touched, nothing is reported.
    add_one<<<1, N>>>(p, a);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(p));
}

int main(int argc, char **argv)
{
    CHECK(cudaMalloc(&a, 2 * N * sizeof *a));
    CHECK(cudaMalloc(&b, 4 * N * sizeof *b));
    int status = run_cases(argc, argv);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    return status;
}
