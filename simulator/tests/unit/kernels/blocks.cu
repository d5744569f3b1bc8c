// Blocks of a launch that touch the same bytes of device memory, each case beside its correct form:
// blocks CASE correct|incorrect. compute-sanitizer has no tool for these.
#include <cooperative_groups.h>

#include "cases.h"

namespace cg = cooperative_groups;

#define BLOCKS 8
#define T      64
#define N      (BLOCKS * T)

__device__ unsigned tickets;
__device__ int found_at;

__device__ int rank() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void counter(int *x, int *y, bool wrong)
{
    if (wrong)
        y[0] = y[0] + x[rank()];
    else
        atomicAdd(y, x[rank()]);
}
__global__ void neighbors(int *x, int *y, bool wrong)
{
    int i = rank();
    if (i < N - 1)
        (wrong ? x : y)[i] = x[i + 1] + 1;
}
__global__ void strided(int *x, int *y, bool wrong)
{
    for (int i = rank(); i < N; i += gridDim.x * blockDim.x / (wrong ? 2 : 1))
        y[i] = i + blockIdx.x;
}
__global__ void bytes(int *x, int *y, bool wrong)
{
    ((char *)y)[rank() + (wrong && threadIdx.x == 63)] = (char)blockIdx.x;
}
// All write the same value.
__global__ void flag(int *x, int *y, bool wrong)
{
    if (x[rank()] % 3 == 0) {
        y[0] = 1;
        found_at = wrong ? rank() : 7;
    }
}
__global__ void row_of_flags(int *x, int *y, bool wrong)
{
    y[threadIdx.x] = wrong ? blockIdx.x : 1;
}
// The last block sums up what the others have written: a ticket tells which is the last.
__global__ void last_block(int *x, int *y, bool wrong)
{
    __shared__ bool last;
    int t = threadIdx.x;
    if (!t)
        y[blockIdx.x] = x[rank()];
    if (!wrong)
        __threadfence();
    if (!t)
        last = wrong ? blockIdx.x == BLOCKS - 1 : atomicInc(&tickets, BLOCKS - 1) == BLOCKS - 1;
    __syncthreads();
    if (last && !t) {
        int sum = 0;
        for (int i = 0; i < BLOCKS; i++)
            sum += y[i];
        y[BLOCKS] = sum;
    }
}
// Each block waits for the one before it.
__global__ void chain(int *x, int *y, bool wrong)
{
    volatile int *done = y + N / 2;
    if (threadIdx.x == 0) {
        while (!wrong && blockIdx.x && !done[blockIdx.x - 1])
            ;
        if (!wrong)
            __threadfence();
        y[blockIdx.x + 1] = y[blockIdx.x] + x[blockIdx.x];
        if (!wrong) {
            __threadfence();
            done[blockIdx.x] = 1;
        }
    }
}
__global__ void lock(int *x, int *y, bool wrong)
{
    if (threadIdx.x)
        return;
    while (!wrong && atomicCAS(y, 0, 1))
        ;
    y[1] += x[rank()];
    if (!wrong) {
        __threadfence();
        atomicExch(y, 0);
    }
}
// An initialization by one block that others count on.
__global__ void cleared(int *x, int *y, bool wrong)
{
    if (wrong && !rank())
        y[1] = 5;
    atomicAdd(y + 1, 1);
}
// A look before an atomic operation.
__global__ void maximum(int *x, int *y, bool wrong)
{
    int v = x[rank()];
    if (v > y[2])
        atomicMax(y + 2, v);
    if (wrong)
        y[3] = v;
}

static const struct {
    const char *name;
    void (*kernel)(int *, int *, bool);
} cases[] = {{"counter", counter},       {"neighbors", neighbors}, {"strided", strided},
             {"bytes", bytes},           {"flag", flag},           {"row_of_flags", row_of_flags},
             {"last_block", last_block}, {"chain", chain},         {"lock", lock},
             {"cleared", cleared},       {"maximum", maximum}};

int main(int argc, char **argv)
{
    return run_case(argc, argv, cases, [](const auto &c, bool wrong) {
        int *a = new_numbers(N), *b;
        CHECK(cudaMalloc(&b, N * sizeof *b));
        CHECK(cudaMemset(b, 0, N * sizeof *b));
        c.kernel<<<BLOCKS, T>>>(a, b, wrong);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(a));
        CHECK(cudaFree(b));
    });
}
