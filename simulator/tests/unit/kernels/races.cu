// Threads of a launch that touch the same bytes, each case beside its incorrect form:
// races CASE correct|incorrect. compute-sanitizer --tool racecheck looks for these.
#include <cooperative_groups.h>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>

#include "cases.h"

namespace cg = cooperative_groups;

#define N 128

// ---- in a block: barriers of all threads ----

KERNEL(reverse, 1, N)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = x[t];
    if (!wrong)
        __syncthreads();
    x[t] = s[N - 1 - t];
}
KERNEL(sum_tree, 1, N)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int half = N / 2; half; half /= 2) {
        if (t < half)
            s[t] += s[t + half];
        if (!wrong)
            __syncthreads();
    }
    if (!t)
        x[0] = s[0];
}
// Without a barrier, the second turn writes what the first one reads.
KERNEL(two_turns, 1, N)
{
    __shared__ int s[N];
    int t = threadIdx.x, sum = 0;
    for (int turn = 0; turn < 2; turn++) {
        s[t] = x[t] + turn;
        __syncthreads();
        sum += s[(t + 40) % N];
        if (!wrong)
            __syncthreads();
    }
    x[t] = sum;
}
KERNEL(bytes, 1, N)
{
    __shared__ char s[N];
    int t = threadIdx.x;
    s[t] = (char)t;
    if (!wrong)
        __syncthreads();
    x[t] = s[t ^ 64];
}
KERNEL(histogram, 1, N)
{
    __shared__ int bins[16];
    int t = threadIdx.x;
    if (t < 16)
        bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[x[t] & 15], 1);
    if (!wrong)
        __syncthreads();
    if (t < 16)
        x[t] = bins[t];
}
KERNEL(counter, 1, N)
{
    __shared__ int count;
    if (!threadIdx.x)
        count = 0;
    __syncthreads();
    if (wrong)
        count++;
    else
        atomicAdd(&count, 1);
    __syncthreads();
    x[threadIdx.x] = count;
}
// All write the same value; incorrect: each its own.
KERNEL(found, 1, N)
{
    __shared__ int s;
    if (x[threadIdx.x] > 3)
        s = wrong ? threadIdx.x : 7;
    __syncthreads();
    x[threadIdx.x] = s;
}

// ---- loads that nvcc moves in front of a condition ----

// All threads load both variables; incorrect: thread 64 also uses them.
KERNEL(two_conditions, 1, N)
{
    __shared__ int flag, count;
    int t = threadIdx.x;
    if (!t) {
        flag = x[1];
        count = x[2];
    }
    __syncthreads();
    if (t == (wrong ? 64 : 0) && flag && count > 1)
        x[0] = count + flag;
    if (!t)
        flag = count = 0;
}
// The load moves out of the loop.
KERNEL(in_loop, 1, N)
{
    __shared__ int factor;
    int t = threadIdx.x, sum = 0;
    if (!t)
        factor = x[5];
    __syncthreads();
    for (int i = 0; i < x[9]; i++)
        if (t == (wrong ? 64 : 0))
            sum += factor * x[i];
    y[t] = sum;
    if (!t)
        factor = 1;
}
// The value is computed before it is chosen, and the condition twice.
KERNEL(computed, 1, N)
{
    __shared__ float share;
    int t = threadIdx.x, chosen = x[wrong ? 64 : 0];
    if (!t)
        share = x[5];
    __syncthreads();
    float half = t == chosen ? share * 0.5f + 1 : 0;
    if (!t)
        share = 1;
    y[t] = (int)half + (t != chosen);
}

// Two conditions choose the thread, and only together mean the same in both places.
KERNEL(two_places, 1, N)
{
    __shared__ int flag;
    int t = threadIdx.x, lane = t % 32, warp = t / 32, chosen = wrong ? 2 : 0;
    if (!t)
        flag = x[1];
    __syncthreads();
    int sum = lane == 0 && warp == chosen ? flag : x[t];
    if (lane == 0 && warp == chosen && flag != sum)
        sum ^= flag;
    y[t] = sum;
    if (!t)
        flag = 0;
}
// The new value is stored once, if any turn has changed it.
KERNEL(any_turn, 1, N)
{
    __shared__ int count;
    int t = threadIdx.x, sum = 0;
    if (!t)
        count = x[2];
    __syncthreads();
    for (int i = 0; i < 3; i++) {
        if (t == (wrong ? 64 : 0) && count == 2) {
            sum = t;
            count = 3;
        }
        sum += 5;
    }
    y[t] = sum;
    if (!t)
        count = 0;
}

// ---- in a warp ----

KERNEL(sum_warp, 1, 32)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    s[t + 32] = x[t + 32];
    if (!wrong)
        __syncwarp();
    int v = s[(t + 1) % 32];
    __syncwarp();
    for (int half = 16; half; half /= 2) {
        int other = s[t + half];
        __syncwarp();
        s[t] += other;
        __syncwarp();
    }
    x[t] = s[t] + v;
}
// One lane writes for its warp.
KERNEL(lane_zero, 1, N)
{
    __shared__ int s[N / 32];
    int t = threadIdx.x, warp = t / 32;
    if (t % 32 == 0)
        s[warp] = x[t];
    if (!wrong)
        __syncwarp();
    x[t] = s[warp];
}
KERNEL(tiles, 1, N)
{
    __shared__ int s[N];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    s[t] = x[t];
    if (!wrong)
        tile.sync();
    x[t] = s[t ^ 5];
}
KERNEL(volatile_warp, 1, 32)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    s[t + 32] = 0;
    __syncwarp();
    volatile int *v = s;
    for (int half = 16; half; half /= 2)
        v[t] += v[t + half];
    if (wrong)
        s[t] = s[t ^ 1] + 1;
    __syncwarp();
    x[t] = s[t];
}

// ---- in a block: other ways to order ----

KERNEL(lock, 1, N)
{
    __shared__ int taken, sum;
    if (!threadIdx.x)
        taken = sum = 0;
    __syncthreads();
    for (int turn = 0; turn < N; turn++) {
        if (turn == threadIdx.x) {
            while (!wrong && atomicCAS(&taken, 0, 1))
                ;
            sum += x[turn];
            __threadfence_block();
            if (!wrong)
                atomicExch(&taken, 0);
        }
        __syncwarp();
    }
    __syncthreads();
    x[threadIdx.x] = sum;
}
KERNEL(flag, 1, N)
{
    __shared__ int value;
    __shared__ volatile int ready;
    if (!threadIdx.x)
        ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        value = x[5];
        __threadfence_block();
        ready = 1;
    } else if (threadIdx.x == 64) {
        while (!wrong && !ready)
            ;
        x[1] = value;
    }
}
// Warps 0 and 1 produce, 2 and 3 consume: barriers of a part of the block.
KERNEL(named, 1, N)
{
    __shared__ int s[N / 2];
    int t = threadIdx.x;
    for (int turn = 0; turn < 3; turn++) {
        if (t < N / 2) {
            if (turn)
                asm volatile("bar.sync 2, 128;" ::: "memory");
            s[t] = x[t] + turn;
            if (!wrong)
                asm volatile("bar.arrive 1, 128;" ::: "memory");
        } else {
            if (!wrong)
                asm volatile("bar.sync 1, 128;" ::: "memory");
            x[t] += s[N - 1 - t];
            if (turn < 2)
                asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
}
KERNEL(last, 1, N)
{
    __shared__ int s[N], done;
    int t = threadIdx.x;
    if (!t)
        done = 0;
    __syncthreads();
    s[t] = x[t];
    __threadfence_block();
    int ticket = wrong ? t : atomicAdd(&done, 1);
    if (ticket == N - 1) {
        int sum = 0;
        for (int i = 0; i < N; i++)
            sum += s[i];
        x[0] = sum;
    }
}
KERNEL(copy_async, 1, N)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(&s[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + t) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (!wrong)
        __syncthreads();
    x[t] = s[N - 1 - t];
}

// ---- copies that go on: behind this line a report says so ----

// Two stages; the incorrect form waits for one group too few.
KERNEL(two_stages, 1, N)
{
    __shared__ int s[2][N];
    int t = threadIdx.x, sum = 0;
    __pipeline_memcpy_async(&s[0][t], x + t, 4);
    __pipeline_commit();
    for (int turn = 0; turn < 4; turn++) {
        if (turn < 3)
            __pipeline_memcpy_async(&s[(turn + 1) & 1][t], x + t, 4);
        __pipeline_commit();
        if (wrong)
            __pipeline_wait_prior(2);
        else
            __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[turn & 1][N - 1 - t];
        __syncthreads();
    }
    x[t] = sum;
}
// The incorrect form waits behind the barrier, so that only a thread's own copy is there.
KERNEL(awaited_late, 1, N)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], x + t, 4);
    __pipeline_commit();
    if (!wrong)
        __pipeline_wait_prior(0);
    __syncthreads();
    x[t] = s[N - 1 - t];
    __pipeline_wait_prior(0);
}
// Each thread reads what it has copied.
KERNEL(own_copy, 1, N)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], x + t, 4);
    __pipeline_commit();
    if (!wrong)
        __pipeline_wait_prior(0);
    x[t] = s[t] + 1;
}
// An mbarrier counts the copies.
KERNEL(counted, 1, N)
{
    __shared__ int s[N];
    __shared__ __mbarrier_t barrier;
    int t = threadIdx.x;
    if (!t)
        __mbarrier_init(&barrier, N);
    __syncthreads();
    __pipeline_memcpy_async(&s[t], x + t, 4);
    __pipeline_arrive_on(&barrier);
    auto token = __mbarrier_arrive(&barrier);
    while (!wrong && !__mbarrier_test_wait(&barrier, token))
        ;
    __syncthreads();
    x[t] = s[N - 1 - t];
}
// One thread copies all bytes at once.
KERNEL(bulk, 1, N)
{
    __shared__ alignas(16) int s[N];
    __shared__ __mbarrier_t barrier;
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(s);
    unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (!t)
        __mbarrier_init(&barrier, N);
    __syncthreads();
    if (!t)
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
            "[%0], [%1], %2, [%3]; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%3], %2;" ::"r"(
                to),
            "l"(x), "r"((unsigned)sizeof s), "r"(at)
            : "memory");
    auto token = __mbarrier_arrive(&barrier);
    while (!wrong && !__mbarrier_test_wait(&barrier, token))
        ;
    y[t] = s[N - 1 - t];
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
