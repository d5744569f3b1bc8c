// Writes to an allocation to which no argument of the launch points: strays CASE correct|incorrect,
// where the kernel leaves its own allocation, or does not; and strays form_..., where the kernel
// gets the address in this form, which is right.
#include <cstdint>

#include "cases.h"

#define N 128 // An allocation has this many ints: 512 bytes, as much as its place.

static int *a, *b, *c, *d;
static int ints_apart() { return (int)(b - a); }

// ---- cases ----

__global__ void set(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void count(int *x, int at) { atomicAdd(x + at, 1); }
__global__ void loop(int *x, int n)
{
    for (int *end = x + n; x < end; x++)
        *x = 1;
}
__global__ void scatter(int *x, const int *index) { x[index[threadIdx.x]] = 1; }
__global__ void before(int *x, int first) { x[(int)threadIdx.x + first] = 1; }
__global__ void around(int *end, int *x) { end[-1] = x[0] = 1; }
__global__ void far(char *x, int64_t distance) { x[distance] = 1; }

// Pool memory that has been freed in the stream's order when the kernel runs.
CASE(freed)
{
    int *x, *y;
    CHECK(cudaMallocAsync(&x, N * sizeof *x, 0));
    CHECK(cudaMallocAsync(&y, N * sizeof *y, 0));
    CHECK(cudaMemsetAsync(y, 0, N * sizeof *y, 0));
    set<<<wrong ? 2 : 1, N>>>(x);
    CHECK(cudaFreeAsync(x, 0));
    CHECK(cudaFreeAsync(y, 0));
}
CASE(too_many) { set<<<wrong ? 2 : 1, N>>>(a); }
CASE(atomic) { count<<<1, 1>>>(a, wrong ? ints_apart() + 1 : 1); }
CASE(one_more) { loop<<<1, 1>>>(a, wrong ? N + 1 : N); }
CASE(scattered)
{
    int index[2] = {3, wrong ? ints_apart() + 1 : 4};
    CHECK(cudaMemcpy(d, index, sizeof index, cudaMemcpyHostToDevice));
    scatter<<<1, 2>>>(a, d);
}
CASE(one_before) { before<<<1, N>>>(b, wrong ? -1 : 0); }
CASE(far_away) { far<<<1, 1>>>((char *)a, wrong ? 4 * ints_apart() + 5 : 5); }

// ---- forms ----

struct Node {
    Node *next;
    int value[30];
};
__device__ int *variable;
__constant__ int *constant;

__global__ void list(Node *n)
{
    for (; n; n = n->next)
        n->value[threadIdx.x] = 1;
}
struct Eight {
    int *all[8];
};
__global__ void indexed(Eight e) { e.all[blockIdx.x][threadIdx.x] = 1; }
__global__ void from_variable(int *x) { variable[threadIdx.x] = x[threadIdx.x] = 1; }
__global__ void from_constant(int *x) { constant[threadIdx.x] = x[threadIdx.x] = 1; }
__global__ void shifted(uint64_t p) { ((int *)(p >> 8))[threadIdx.x] = 1; }
__global__ void from_end(int *end) { end[-1 - (int)threadIdx.x] = 1; }
__global__ void shuffled(int **p, int *x)
{
    uint64_t mine = threadIdx.x ? (uint64_t)(x + 1) : (uint64_t)*p;
    ((int *)__shfl_sync(~0u, mine, 0))[threadIdx.x] = 1;
}
__global__ void exchanged(unsigned long long *p) { ((int *)atomicExch(p, 0))[0] = 1; }

static void *put(const void *value, size_t bytes)
{
    CHECK(cudaMemcpy(c, value, bytes, cudaMemcpyHostToDevice));
    return c;
}

// The address of b, in memory of the device.
static void *put_b() { return put(&b, sizeof b); }

CASE(form_list)
{
    Node node = {(Node *)b, {0}}, last = {nullptr, {0}};
    CHECK(cudaMemcpy(b, &last, sizeof last, cudaMemcpyHostToDevice));
    list<<<1, 30>>>((Node *)put(&node, sizeof node));
}
CASE(form_indexed) { indexed<<<2, N>>>(Eight{{a, b}}); }
CASE(form_variable)
{
    CHECK(cudaMemcpyToSymbol(variable, &b, sizeof b));
    from_variable<<<1, N>>>(a);
}
CASE(form_constant)
{
    CHECK(cudaMemcpyToSymbol(constant, &b, sizeof b));
    from_constant<<<1, N>>>(a);
}
CASE(form_shifted) { shifted<<<1, 32>>>((uint64_t)b << 8); }
CASE(form_from_end) { from_end<<<1, N>>>(b + N); }
CASE(form_around) { around<<<1, 1>>>(a + N, b); }
CASE(form_shuffled) { shuffled<<<1, 32>>>((int **)put_b(), a); }
CASE(form_exchanged) { exchanged<<<1, 1>>>((unsigned long long *)put_b()); }

int main(int argc, char **argv)
{
    CHECK(cudaMalloc(&a, N * sizeof *a));
    CHECK(cudaMalloc(&b, N * sizeof *b));
    CHECK(cudaMalloc(&c, N * sizeof *c));
    CHECK(cudaMalloc(&d, N * sizeof *d));
    CHECK(cudaMemset(a, 0, N * sizeof *a));
    CHECK(cudaMemset(b, 0, N * sizeof *b));
    int status = run_cases(argc, argv);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    CHECK(cudaFree(d));
    return status;
}
