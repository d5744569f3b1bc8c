// Barriers, shuffles, and votes to which not all threads come that should, each case beside its
// correct form: misused CASE correct|incorrect. compute-sanitizer --tool synccheck looks for these.
#include <cooperative_groups.h>

#include "cases.h"

namespace cg = cooperative_groups;

#define N    128
#define FULL 0xffffffffu

KERNEL(condition, 1, N)
{
    if (!wrong || threadIdx.x < 48)
        __syncthreads();
    x[threadIdx.x] += 1;
}
// The threads come to the barrier a different number of times.
KERNEL(loop, 1, N)
{
    for (int i = 0; i < (wrong ? 2 + threadIdx.x / 40 : 3); i++) {
        __syncthreads();
        x[threadIdx.x] += i;
    }
    x[threadIdx.x] *= 2;
}
KERNEL(two_branches, 1, N)
{
    if (threadIdx.x % 2) {
        x[threadIdx.x] += 1;
        if (wrong)
            __syncthreads();
    } else {
        x[threadIdx.x] += 2;
        if (wrong)
            __syncthreads();
    }
    if (!wrong)
        __syncthreads();
    x[threadIdx.x] += 3;
}
// Returning early is allowed: a barrier waits for the threads that have not exited.
KERNEL(early_return, 1, N)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    if (t >= 100 && !wrong)
        return;
    s[t] = x[t];
    if (t < 100)
        __syncthreads();
    x[t] = s[t < 100 ? 99 - t : t];
}
KERNEL(shuffle, 1, N)
{
    int t = threadIdx.x, v = x[t];
    if (t % 32 < 16)
        v = __shfl_xor_sync(wrong ? FULL : 0xffffu, v, 1);
    __syncthreads();
    x[t] = v;
}
KERNEL(vote, 1, N)
{
    int t = threadIdx.x, v = 0;
    if (x[t] % 3)
        v = __ballot_sync(wrong ? FULL : __activemask(), x[t] & 1);
    __syncthreads();
    x[t] = v;
}
KERNEL(not_in_mask, 1, N)
{
    int t = threadIdx.x;
    if (t % 32 < 16 || wrong)
        x[t] = __shfl_sync(0xffffu, x[t], 3);
}
// Each group of equal keys has its own mask.
KERNEL(groups, 1, N)
{
    int t = threadIdx.x;
    unsigned mask = __match_any_sync(FULL, x[t] % 5);
    int sum = __reduce_add_sync(mask, x[t]);
    if (x[t] % 5 == 2 && wrong)
        sum += __shfl_sync(FULL, sum, 0);
    __syncthreads();
    x[t] = sum + __popc(__ballot_sync(FULL, 1));
}
KERNEL(sync_warp, 1, N)
{
    int t = threadIdx.x;
    if (t % 2) {
        x[t] += 1;
        __syncwarp(wrong ? FULL : 0xaaaaaaaau);
    }
    __syncthreads();
    x[t] += 1;
}
// Two branches may come to a __syncwarp each.
KERNEL(sync_warp_in_both, 1, N)
{
    int t = threadIdx.x;
    if (t % 2) {
        x[t] += 1;
        __syncwarp();
        x[t] += 2;
    } else {
        __syncwarp(wrong ? 0xaaaaaaaau : FULL);
    }
    x[t] *= 2;
}
KERNEL(with_groups, 1, N)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = tile.shfl_down(x[threadIdx.x], 2);
    if (tile.meta_group_rank() % 2) {
        tile.sync();
        v += tile.ballot(1) & 3;
        auto together = cg::coalesced_threads();
        if (threadIdx.x & 1) {
            auto odd = cg::coalesced_threads();
            v += odd.shfl(v, 0);
            if (wrong)
                together.sync();
        }
    }
    block.sync();
    x[threadIdx.x] = v;
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
