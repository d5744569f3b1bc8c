// Barriers, shuffles, and votes to which not all threads come that should, each case beside its
// correct form: misused CASE correct|incorrect. compute-sanitizer --tool synccheck looks for these.
#include <cooperative_groups.h>

#include "cases.h"

namespace cg = cooperative_groups;

#define N    128
#define FULL 0xffffffffu

__global__ void in_condition(int *x, bool wrong)
{
    if (!wrong || threadIdx.x < 48)
        __syncthreads();
    x[threadIdx.x] += 1;
}
// The threads come to the barrier a different number of times.
__global__ void in_loop(int *x, bool wrong)
{
    for (int i = 0; i < (wrong ? 2 + threadIdx.x / 40 : 3); i++) {
        __syncthreads();
        x[threadIdx.x] += i;
    }
    x[threadIdx.x] *= 2;
}
__global__ void two_branches(int *x, bool wrong)
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
__global__ void early_return(int *x, bool wrong)
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
__global__ void shuffle(int *x, bool wrong)
{
    int t = threadIdx.x, v = x[t];
    if (t % 32 < 16)
        v = __shfl_xor_sync(wrong ? FULL : 0xffffu, v, 1);
    __syncthreads();
    x[t] = v;
}
__global__ void vote(int *x, bool wrong)
{
    int t = threadIdx.x, v = 0;
    if (x[t] % 3)
        v = __ballot_sync(wrong ? FULL : __activemask(), x[t] & 1);
    __syncthreads();
    x[t] = v;
}
__global__ void not_in_mask(int *x, bool wrong)
{
    int t = threadIdx.x;
    if (t % 32 < 16 || wrong)
        x[t] = __shfl_sync(0xffffu, x[t], 3);
}
// Each group of equal keys has its own mask.
__global__ void groups(int *x, bool wrong)
{
    int t = threadIdx.x;
    unsigned mask = __match_any_sync(FULL, x[t] % 5);
    int sum = __reduce_add_sync(mask, x[t]);
    if (x[t] % 5 == 2 && wrong)
        sum += __shfl_sync(FULL, sum, 0);
    __syncthreads();
    x[t] = sum + __popc(__ballot_sync(FULL, 1));
}
__global__ void sync_warp(int *x, bool wrong)
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
__global__ void sync_warp_in_both(int *x, bool wrong)
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
__global__ void with_groups(int *x, bool wrong)
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

static const struct {
    const char *name;
    void (*kernel)(int *, bool);
} cases[] = {{"condition", in_condition},    {"loop", in_loop},
             {"two_branches", two_branches}, {"early_return", early_return},
             {"shuffle", shuffle},           {"vote", vote},
             {"not_in_mask", not_in_mask},   {"groups", groups},
             {"sync_warp", sync_warp},       {"sync_warp_in_both", sync_warp_in_both},
             {"with_groups", with_groups}};

int main(int argc, char **argv)
{
    return run_case(argc, argv, cases, [](const auto &c, bool wrong) {
        int *a = new_numbers(N);
        c.kernel<<<1, N>>>(a, wrong);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(a));
    });
}
