// Threads that touch the same bytes of device memory, each case beside its incorrect form:
// memory_races CASE correct|incorrect. The first cases are of one block; behind "phases" are
// cooperative launches, whose blocks meet. compute-sanitizer has no tool for these.
#include <cooperative_groups.h>

#include "cases.h"

namespace cg = cooperative_groups;

#define BLOCKS 6
#define N      128
#define ALL    (BLOCKS * N)

__device__ unsigned tickets;

// ---- in a block ----

KERNEL(scratch, 1, N)
{
    int t = threadIdx.x;
    y[t] = x[t];
    if (!wrong)
        __syncthreads();
    x[t] = y[N - 1 - t];
}
KERNEL(bins, 1, N)
{
    int *bin = y + x[threadIdx.x] % 16;
    if (wrong)
        ++*bin;
    else
        atomicAdd(bin, 1);
}
KERNEL(cleared, 1, N)
{
    if (!threadIdx.x)
        y[0] = 0;
    if (!wrong)
        __syncthreads();
    atomicAdd(y, x[threadIdx.x]);
}
KERNEL(characters, 1, N) { ((char *)y)[threadIdx.x & (wrong ? 63 : 127)] = (char)threadIdx.x; }
KERNEL(scan_warps, 1, N)
{
    int t = threadIdx.x;
    for (int by = 1; by < 32; by *= 2) {
        int v = t % 32 >= by ? x[t - by] : 0;
        if (!wrong)
            __syncwarp();
        x[t] += v;
        __syncwarp();
    }
}
// The lock is given back by an ordinary store behind a fence, and all write the same to y[2].
KERNEL(locked, 1, N)
{
    if (threadIdx.x % 32)
        return;
    while (!wrong && atomicCAS(y, 0, 1))
        ;
    y[1] += x[threadIdx.x];
    y[2] = 5;
    __threadfence();
    if (!wrong)
        y[0] = 0;
}
// A flag as programs often have it: only the thread that waits for it has a volatile pointer.
KERNEL(handed_over, 1, N)
{
    volatile int *ready = y;
    if (threadIdx.x == 0) {
        y[1] = x[5];
        __threadfence();
        y[0] = 1;
    } else if (threadIdx.x == 64) {
        while (!wrong && !*ready)
            ;
        x[1] = y[1];
    }
}
// Memory that a thread gets from malloc may have been another one's.
KERNEL(from_heap, 1, N)
{
    y[threadIdx.x % (wrong ? 64 : N)] = threadIdx.x;
    __syncthreads();
    int *own = (int *)malloc(16);
    *own = threadIdx.x;
    x[threadIdx.x] = *own;
    free(own);
}

// ---- in a cooperative launch ----

__device__ int rank() { return blockIdx.x * blockDim.x + threadIdx.x; }

COOPERATIVE_KERNEL(phases, BLOCKS, N)
{
    y[rank()] = x[rank()];
    if (!wrong)
        cg::this_grid().sync();
    x[rank()] = y[(rank() + N) % ALL];
}
// Each turn reads what the one before has written; in the incorrect form one barrier is missing.
COOPERATIVE_KERNEL(turns, BLOCKS, N)
{
    auto grid = cg::this_grid();
    for (int turn = 0; turn < 6; turn++) {
        int *from = turn % 2 ? y : x, *to = turn % 2 ? x : y;
        for (auto i = grid.thread_rank(); i < ALL; i += grid.size())
            to[i] = from[(i + 1) % ALL] + from[(i + ALL - 1) % ALL];
        if (!wrong || turn != 3)
            grid.sync();
    }
}
// Between its two halves the barrier orders nothing yet.
COOPERATIVE_KERNEL(halves, BLOCKS, N)
{
    auto grid = cg::this_grid();
    y[rank()] = x[rank()];
    auto token = grid.barrier_arrive();
    int early = wrong ? y[(rank() + N) % ALL] : 0;
    grid.barrier_wait(std::move(token));
    x[rank()] = y[(rank() + N) % ALL] + early;
}
COOPERATIVE_KERNEL(sum, BLOCKS, N)
{
    if (!threadIdx.x)
        for (int i = 0; i < N; i++)
            y[blockIdx.x] += x[rank() + i];
    cg::this_grid().sync();
    for (int i = 0; i < BLOCKS && (wrong ? !threadIdx.x : !rank()); i++)
        x[0] += y[i];
}
// The program makes a barrier of its own.
COOPERATIVE_KERNEL(own_barrier, BLOCKS, N)
{
    y[rank()] = x[rank()];
    __syncthreads();
    if (!wrong && !threadIdx.x) {
        __threadfence();
        atomicAdd(&tickets, 1);
        while (*(volatile unsigned *)&tickets < BLOCKS)
            ;
    }
    __syncthreads();
    x[rank()] = y[(rank() + N) % ALL];
}
COOPERATIVE_KERNEL(last_block, BLOCKS, N)
{
    __shared__ bool last;
    if (!threadIdx.x) {
        y[blockIdx.x] = x[rank()];
        __threadfence();
        last = wrong ? !blockIdx.x : atomicInc(&tickets, BLOCKS - 1) == BLOCKS - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < BLOCKS)
        atomicAdd(x, y[threadIdx.x]);
}
// All write the same; incorrect: each its own.
COOPERATIVE_KERNEL(found, BLOCKS, N)
{
    if (x[rank()] % 5 == 0)
        y[0] = wrong ? rank() : 1;
    cg::this_grid().sync();
    x[rank()] = y[0];
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
