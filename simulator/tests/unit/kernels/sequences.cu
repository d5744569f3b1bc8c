// Kernels whose addresses depend on the number of the thread alone, and some that only seem to:
// numbers of 32 bits that overflow, blocks of two dimensions, parts of warps. Each runs in blocks
// of several shapes; what it stores is what the host computes. With an argument, one thread goes
// too far, and the report names its line.
#include <cstring>

#include "cases.h"

enum { COUNT = 4096, KINDS = 14 };

struct Arguments {
    unsigned n, base, step;
};

template <class T> __host__ __device__ static void move(T *to, const T *from, unsigned i)
{
    T x = from[i];
    x.x += 3;
    to[i] = x;
}

// What thread i of n does; t: its number in its block.
template <int KIND>
__host__ __device__ void work(int *to, const int *from, unsigned i, unsigned t, Arguments a)
{
    if (KIND == 0)
        to[i] = 2 * from[i] + from[3];
    if (KIND == 1)
        to[a.n - 1 - i] = from[i];
    // The sum overflows for some threads, which then store here, and not for the others.
    if (KIND == 2 && i >= 16)
        to[i + a.base] = from[i];
    // A step of -2 ** 31 + 1 in the sense of 32 bits.
    if (KIND == 3 && i % 2 == 0)
        to[i * a.step] = from[i];
    if (KIND == 4)
        ((signed char *)to)[i] = ((const signed char *)from)[i];
    if (KIND == 5 && i < COUNT / 2)
        move((int2 *)to, (const int2 *)from, i);
    if (KIND == 6 && i < COUNT / 4)
        move((int4 *)to, (const int4 *)from, i);
    if (KIND == 7 && i < COUNT / 4)
        move((longlong2 *)to, (const longlong2 *)from, i);
    if (KIND == 8) {
        if (t & 1)
            to[i] = from[i];
        else
            to[i] = from[i] + from[a.n - 1];
    }
    if (KIND == 9) {
        int sum = i;
        for (unsigned k = 0; k < 5 + t % 3; k++)
            sum += from[i] * k + from[(i + k) % COUNT];
        to[i] = sum;
    }
    if (KIND == 10) {
        to[i] = t;
        to[i] += from[i];
    }
    if (KIND == 11 && i + 4 < a.n)
        to[i] = from[i + 4] - from[i];
    // Signed, below 0.
    if (KIND == 12)
        to[i] = (from + a.n)[(int)i - (int)a.n];
    if (KIND == 13 && (int)i - 100 >= 0)
        to[(long long)((int)i - 100) << 1 >> 1] = from[i];
}

template <int KIND> __global__ void run(int *to, const int *from, Arguments a)
{
    unsigned t = threadIdx.x + blockDim.x * threadIdx.y,
             i = blockIdx.x * blockDim.x * blockDim.y + t;
    if (i < a.n)
        work<KIND>(to, from, i, t, a);
}

// Each thread of a grid of one dimension stores, without a bound.
template <int KIND> __global__ void run_all(int *to, const int *from, Arguments a)
{
    work<KIND>(to, from, blockIdx.x * blockDim.x + threadIdx.x, threadIdx.x, a);
}

static const dim3 blocks[] = {{32, 1, 1}, {256, 1, 1}, {96, 1, 1},  {100, 1, 1}, {7, 1, 1},
                              {32, 4, 1}, {16, 16, 1}, {1, 128, 1}, {1024, 1, 1}};
static int tried, failed;

template <int KIND> static void compare(int *to, int *from, dim3 block, bool all)
{
    static int expected[COUNT], found[COUNT], source[COUNT];
    const unsigned threads = block.x * block.y;
    const unsigned grid = all ? COUNT / threads : (COUNT + threads - 1) / threads;
    const Arguments a = {all ? grid * threads : COUNT - 5, 0xFFFFFFF0u, 0x80000001u};
    for (int n = 0; n < COUNT; n++) {
        source[n] = n * 7 + 1;
        expected[n] = -n;
    }
    CHECK(cudaMemcpy(to, expected, sizeof expected, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(from, source, sizeof source, cudaMemcpyHostToDevice));
    for (unsigned i = 0; i < a.n; i++)
        work<KIND>(expected, source, i, i % threads, a);
    if (all)
        run_all<KIND><<<grid, block>>>(to, from, a);
    else
        run<KIND><<<grid, block>>>(to, from, a);
    CHECK(cudaMemcpy(found, to, sizeof found, cudaMemcpyDeviceToHost));
    tried++;
    if (memcmp(found, expected, sizeof found) && ++failed)
        printf("kind %d in blocks of (%u,%u)%s\n", KIND, block.x, block.y, all ? ", all" : "");
}

template <int KIND> static void compare_kinds(int *to, int *from)
{
    for (dim3 block : blocks) {
        compare<KIND>(to, from, block, false);
        if (block.y == 1)
            compare<KIND>(to, from, block, true);
    }
    if constexpr (KIND + 1 < KINDS)
        compare_kinds<KIND + 1>(to, from);
}

__global__ void too_far(int *to, const int *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = from[i];
    to[i] = x;
    to[i + n] = x; // too far
}

int main(int argc, char **)
{
    int *to = new_numbers(COUNT), *from = new_numbers(COUNT);
    if (argc > 1) {
        too_far<<<COUNT / 256, 256>>>(to, from, 1 << 28);
        return cudaDeviceSynchronize() != cudaErrorIllegalAddress;
    }
    compare_kinds<0>(to, from);
    CHECK(cudaFree(to));
    CHECK(cudaFree(from));
    printf("%d launches, %d failed\n", tried, failed);
}
