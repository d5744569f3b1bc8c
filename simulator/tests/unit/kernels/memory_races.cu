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

__global__ void scratch(int *x, int *y, bool wrong)
{
    int t = threadIdx.x;
    y[t] = x[t];
    if (!wrong)
        __syncthreads();
    x[t] = y[N - 1 - t];
}
__global__ void bins(int *x, int *y, bool wrong)
{
    int *bin = y + x[threadIdx.x] % 16;
    if (wrong)
        ++*bin;
    else
        atomicAdd(bin, 1);
}
__global__ void cleared(int *x, int *y, bool wrong)
{
    if (!threadIdx.x)
        y[0] = 0;
    if (!wrong)
        __syncthreads();
    atomicAdd(y, x[threadIdx.x]);
}
__global__ void characters(int *x, int *y, bool wrong)
{
    ((char *)y)[threadIdx.x & (wrong ? 63 : 127)] = (char)threadIdx.x;
}
__global__ void scan_warps(int *x, int *y, bool wrong)
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
__global__ void locked(int *x, int *y, bool wrong)
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
__global__ void handed_over(int *x, int *y, bool wrong)
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
__global__ void from_heap(int *x, int *y, bool wrong)
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

__global__ void phases(int *x, int *y, bool wrong)
{
    y[rank()] = x[rank()];
    if (!wrong)
        cg::this_grid().sync();
    x[rank()] = y[(rank() + N) % ALL];
}
// Each turn reads what the one before has written; in the incorrect form one barrier is missing.
__global__ void turns(int *x, int *y, bool wrong)
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
__global__ void halves(int *x, int *y, bool wrong)
{
    auto grid = cg::this_grid();
    y[rank()] = x[rank()];
    auto token = grid.barrier_arrive();
    int early = wrong ? y[(rank() + N) % ALL] : 0;
    grid.barrier_wait(std::move(token));
    x[rank()] = y[(rank() + N) % ALL] + early;
}
__global__ void sum(int *x, int *y, bool wrong)
{
    if (!threadIdx.x)
        for (int i = 0; i < N; i++)
            y[blockIdx.x] += x[rank() + i];
    cg::this_grid().sync();
    for (int i = 0; i < BLOCKS && (wrong ? !threadIdx.x : !rank()); i++)
        x[0] += y[i];
}
// The program makes a barrier of its own.
__global__ void own_barrier(int *x, int *y, bool wrong)
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
__global__ void last_block(int *x, int *y, bool wrong)
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
__global__ void found(int *x, int *y, bool wrong)
{
    if (x[rank()] % 5 == 0)
        y[0] = wrong ? rank() : 1;
    cg::this_grid().sync();
    x[rank()] = y[0];
}

static const struct {
    const char *name;
    void (*kernel)(int *, int *, bool);
    int blocks = 1;
} cases[] = {{"scratch", scratch},
             {"bins", bins},
             {"cleared", cleared},
             {"characters", characters},
             {"scan_warps", scan_warps},
             {"locked", locked},
             {"handed_over", handed_over},
             {"from_heap", from_heap},
             {"phases", phases, BLOCKS},
             {"turns", turns, BLOCKS},
             {"halves", halves, BLOCKS},
             {"sum", sum, BLOCKS},
             {"own_barrier", own_barrier, BLOCKS},
             {"last_block", last_block, BLOCKS},
             {"found", found, BLOCKS}};

int main(int argc, char **argv)
{
    return run_case(argc, argv, cases, [](const auto &c, bool wrong) {
        int *a = new_numbers(ALL), *b;
        CHECK(cudaMalloc(&b, ALL * sizeof *b));
        CHECK(cudaMemset(b, 0, ALL * sizeof *b));
        void *arguments[] = {&a, &b, &wrong};
        if (c.blocks > 1)
            CHECK(cudaLaunchCooperativeKernel(c.kernel, c.blocks, N, arguments, 0, 0));
        else
            c.kernel<<<1, N>>>(a, b, wrong);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(a));
        CHECK(cudaFree(b));
    });
}
