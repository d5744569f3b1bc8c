// Writes to an allocation to which no argument of the launch points: strays CASE correct|incorrect,
// where the kernel leaves its own allocation, or does not; and strays form_..., where the kernel
// gets the address in this form, which is right.
#include <cstdint>
#include <new>

#include "cases.h"

#define N 128 // An allocation has this many ints: 512 bytes, as much as its place.

static int *a, *b, *c, *d;
static int ints_apart() { return (int)(b - a); }

// ---- cases ----

__global__ void set(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void add(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void count(int *x, int at) { atomicAdd(x + at, 1); }
__global__ void loop(int *x, int n)
{
    for (int *end = x + n; x < end; x++)
        *x = 1;
}
__global__ void scatter(int *x, const int *index) { x[index[threadIdx.x]] = 1; }
__global__ void far(char *x, int64_t distance) { x[distance] = 1; }
__global__ void wide(int4 *x, int at) { x[at] = make_int4(1, 2, 3, 4); }
struct Rows {
    int *x;
    int stride;
};
__global__ void rows(Rows r) { r.x[blockIdx.x * r.stride + threadIdx.x] = 1; }

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
CASE(added) { add<<<wrong ? 2 : 1, N>>>(a); }
CASE(atomic) { count<<<1, 1>>>(a, wrong ? ints_apart() + 1 : 1); }
CASE(one_more) { loop<<<1, 1>>>(a, wrong ? N + 1 : N); }
CASE(scattered)
{
    int index[2] = {3, wrong ? ints_apart() + 1 : 4};
    CHECK(cudaMemcpy(d, index, sizeof index, cudaMemcpyHostToDevice));
    scatter<<<1, 2>>>(a, d);
}
CASE(far_away) { far<<<1, 1>>>((char *)a, wrong ? 4 * ints_apart() + 5 : 5); }
CASE(below) { far<<<1, 1>>>((char *)c, wrong ? (char *)a - (char *)c + 5 : 5); }
CASE(four_at_once) { wide<<<1, 1>>>((int4 *)a, wrong ? ints_apart() / 4 : 1); }
CASE(by_rows) { rows<<<2, 32>>>(Rows{a, wrong ? N : 32}); }

// ---- forms ----

struct Node {
    Node *next;
    int value[30];
};
struct Pair {
    int *first, *second;
};
struct Base {
    int *x;
    __device__ virtual void write() { x[0] = 1; }
};
__device__ int *variable;
__constant__ int *constant;
__device__ int own[N];

__global__ void list(Node *n)
{
    for (; n; n = n->next)
        n->value[threadIdx.x] = 1;
}
__global__ void popped(Node **head)
{
    Node *n = *head;
    *head = nullptr;
    n->value[0] = 1;
    n->next = nullptr;
}
__global__ void array(int **all) { all[blockIdx.x][threadIdx.x] = 1; }
__global__ void structure(Pair p) { (threadIdx.x ? p.first : p.second)[threadIdx.x] = 1; }
struct Eight {
    int *all[8];
};
__global__ void indexed(Eight e) { e.all[blockIdx.x][threadIdx.x] = 1; }
__global__ void from_variable(int *x) { variable[threadIdx.x] = x[threadIdx.x] = 1; }
__global__ void from_constant(int *x) { constant[threadIdx.x] = x[threadIdx.x] = 1; }
__global__ void to_variable(int *x) { own[threadIdx.x] = x[threadIdx.x] = 1; }
__global__ void halves(const uint32_t *half, int *x)
{
    uint64_t whole = (uint64_t)half[1] << 32 | half[0];
    ((int *)whole)[threadIdx.x] = x[threadIdx.x] = 1;
    whole = ((uint64_t)half[1] << 32) + half[0];
    ((int *)whole)[threadIdx.x + 32] = 1;
}
__global__ void halves_given(uint32_t low, uint32_t high, int *x)
{
    ((int *)((uint64_t)high << 32 | low))[threadIdx.x] = x[threadIdx.x] = 1;
}
__global__ void tagged(const uint64_t *p) { ((int *)(*p & ~(uint64_t)7))[threadIdx.x] = 1; }
__global__ void shifted(uint64_t p) { ((int *)(p >> 8))[threadIdx.x] = 1; }
__global__ void relative(char *x, const int64_t *distance) { x[*distance] = 1; }
__global__ void one_based(int *x) { x[1 + threadIdx.x] = 1; }
__global__ void from_end(int *end) { end[-1 - (int)threadIdx.x] = 1; }
__global__ void through_shared(int **p, int *x)
{
    __shared__ int *s;
    if (!threadIdx.x)
        s = *p;
    __syncthreads();
    s[threadIdx.x] = x[threadIdx.x] = 1;
}
__global__ void swapped(int *x, int **other)
{
    int *y = *other;
    for (int i = 0; i < 4; i++) {
        x[threadIdx.x] = i;
        int *z = x;
        x = y;
        y = z;
    }
}
__device__ __noinline__ int *chosen(int **all, int which) { return all[which]; }
__global__ void called(int **all, int *x) { chosen(all, 1)[threadIdx.x] = x[threadIdx.x] = 1; }
__global__ void make(Base *base, int *x)
{
    new (base) Base;
    base->x = x;
}
__global__ void virtual_call(Base *base) { base->write(); }
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
static void *put_both()
{
    int *both[] = {a, b};
    return put(both, sizeof both);
}

CASE(form_list)
{
    Node node = {(Node *)b, {0}}, last = {nullptr, {0}};
    CHECK(cudaMemcpy(b, &last, sizeof last, cudaMemcpyHostToDevice));
    list<<<1, 30>>>((Node *)put(&node, sizeof node));
}
CASE(form_popped) { popped<<<1, 1>>>((Node **)put_b()); }
CASE(form_array) { array<<<2, N>>>((int **)put_both()); }
CASE(form_structure) { structure<<<1, N>>>(Pair{a, b}); }
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
CASE(form_own_variable) { to_variable<<<1, N>>>(a); }
CASE(form_halves) { halves<<<1, 32>>>((uint32_t *)put_b(), a); }
CASE(form_halves_given)
{
    halves_given<<<1, 32>>>((uint32_t)(uint64_t)b, (uint32_t)((uint64_t)b >> 32), a);
}
CASE(form_tagged)
{
    const uint64_t marked = (uint64_t)b | 5;
    tagged<<<1, 32>>>((uint64_t *)put(&marked, sizeof marked));
}
CASE(form_shifted) { shifted<<<1, 32>>>((uint64_t)b << 8); }
CASE(form_relative)
{
    const int64_t apart = (char *)b - (char *)a;
    relative<<<1, 1>>>((char *)a, (int64_t *)put(&apart, sizeof apart));
}
CASE(form_one_based) { one_based<<<1, N>>>(b - 1); }
CASE(form_from_end) { from_end<<<1, N>>>(b + N); }
CASE(form_through_shared) { through_shared<<<1, N>>>((int **)put_b(), a); }
CASE(form_swapped) { swapped<<<1, N>>>(a, (int **)put_b()); }
CASE(form_called) { called<<<1, N>>>((int **)put_both(), a); }
CASE(form_virtual_call)
{
    make<<<1, 1>>>((Base *)c, b);
    virtual_call<<<1, 1>>>((Base *)c);
}
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
