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

KERNEL(counter, BLOCKS, T)
{
    if (wrong)
        y[0] = y[0] + x[rank()];
    else
        atomicAdd(y, x[rank()]);
}
KERNEL(neighbors, BLOCKS, T)
{
    int i = rank();
    if (i < N - 1)
        (wrong ? x : y)[i] = x[i + 1] + 1;
}
KERNEL(strided, BLOCKS, T)
{
    for (int i = rank(); i < N; i += gridDim.x * blockDim.x / (wrong ? 2 : 1))
        y[i] = i + blockIdx.x;
}
KERNEL(bytes, BLOCKS, T) { ((char *)y)[rank() + (wrong && threadIdx.x == 63)] = (char)blockIdx.x; }
// All write the same value.
KERNEL(flag, BLOCKS, T)
{
    if (x[rank()] % 3 == 0) {
        y[0] = 1;
        found_at = wrong ? rank() : 7;
    }
}
KERNEL(row_of_flags, BLOCKS, T) { y[threadIdx.x] = wrong ? blockIdx.x : 1; }
// The last block sums up what the others have written: a ticket tells which is the last.
KERNEL(last_block, BLOCKS, T)
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
KERNEL(chain, BLOCKS, T)
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
KERNEL(lock, BLOCKS, T)
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
KERNEL(cleared, BLOCKS, T)
{
    if (wrong && !rank())
        y[1] = 5;
    atomicAdd(y + 1, 1);
}
// A look before an atomic operation.
KERNEL(maximum, BLOCKS, T)
{
    int v = x[rank()];
    if (v > y[2])
        atomicMax(y + 2, v);
    if (wrong)
        y[3] = v;
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
