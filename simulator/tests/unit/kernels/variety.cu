// More of what kernels of nvcc do: floats of 16 bits, __managed__ variables, calls by address,
// virtual functions, a shuffle from a thread that takes no part. Prints the same on a GPU.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <new>

__managed__ int counter = 5;
__device__ __managed__ float table[4] = {1, 2, 3, 4};

typedef int (*function)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int thrice(int x) { return 3 * x; }
__device__ function functions[2] = {twice, thrice};

struct Shape {
    __device__ virtual int area() const { return 1; }
};
struct Square : Shape {
    int side;
    __device__ Square(int side) : side(side) {}
    __device__ int area() const override { return side * side; }
};

__global__ void managed()
{
    atomicAdd(&counter, 1);
    table[threadIdx.x] *= 2;
}
__global__ void by_address(int *out, function given)
{
    out[threadIdx.x] = functions[threadIdx.x & 1](5) + given(100);
}
__global__ void place(void *at) { new (at) Square(9); }
__global__ void ask(const Shape *shape, int *out) { *out = shape->area(); }
__global__ void shuffled(int *out)
{
    int value = threadIdx.x + 1;
    unsigned mask = __ballot_sync(~0u, threadIdx.x < 8);
    if (threadIdx.x < 8)
        for (int d = 16; d; d /= 2)
            value += __shfl_down_sync(mask, value, d);
    if (!threadIdx.x)
        *out = value;
}

__device__ unsigned mixed(unsigned x)
{
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
}
__device__ unsigned bits(__half x) { return __half_as_ushort(x); }
__device__ unsigned bits(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
__device__ __half made(unsigned x, __half) { return __ushort_as_half(x); }
__device__ __nv_bfloat16 made(unsigned x, __nv_bfloat16) { return __ushort_as_bfloat16(x); }

// What each operation gives for all bits that a and b can have, or for many of them.
template <class T> __global__ void computed(unsigned *out)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, x = mixed(thread);
    T a = made(thread & 0xFFFF, T()), b = made(x & 0xFFFF, T()), c = made(x >> 16, T());
    unsigned all[10] = {bits(__hadd(a, b)),
                        bits(__hsub(a, b)),
                        bits(__hmul(a, b)),
                        bits(__hfma(a, b, c)),
                        bits(__hneg(a)),
                        bits(__hmin(a, b)),
                        bits(__hmax(a, b)),
                        (unsigned)__hlt(a, b) + 2 * __heq(a, b) + 4 * __hgeu(a, b),
                        __float_as_uint((float)a),
                        bits((T)__uint_as_float(x))};
    for (int n = 0; n < 10; n++)
        atomicXor(&out[n], mixed(thread + mixed(all[n])));
}

template <class T> static void compute(const char *name, unsigned *out)
{
    cudaMemset(out, 0, 10 * sizeof *out);
    computed<T><<<1024, 256>>>(out);
    printf("%s: %s,", name, cudaGetErrorName(cudaDeviceSynchronize()));
    for (int n = 0; n < 10; n++)
        printf(" %08x", out[n]);
    printf("\n");
}

// The warps of a group meet in reserved shared memory, between the kernel's own and the dynamic.
__global__ void groups(int *out)
{
    extern __shared__ int copies[];
    __shared__ int own[7];
    __shared__ cooperative_groups::block_tile_memory<256> space;
    auto group =
        cooperative_groups::tiled_partition<128>(cooperative_groups::this_thread_block(space));
    copies[threadIdx.x] = own[threadIdx.x % 7] = 1;
    for (int n = 0; n < 3; n++)
        copies[threadIdx.x] =
            cooperative_groups::reduce(group, copies[threadIdx.x], cooperative_groups::plus<int>());
    if (group.thread_rank() == 0)
        out[group.meta_group_rank()] = copies[threadIdx.x] - own[threadIdx.x % 7];
}

int main()
{
    printf("%d %g\n", counter, table[2]);
    counter = 10;
    managed<<<1, 4>>>();
    cudaDeviceSynchronize();
    printf("%d %g\n", counter, table[2]);

    int *out;
    void *memory;
    function given[2];
    cudaMallocManaged(&out, 64);
    cudaMalloc(&memory, 64);
    cudaMemcpyFromSymbol(given, functions, sizeof given);
    by_address<<<1, 2>>>(out, given[1]);
    cudaDeviceSynchronize();
    printf("%d %d\n", out[0], out[1]);
    place<<<1, 1>>>(memory);
    ask<<<1, 1>>>((const Shape *)memory, out);
    cudaDeviceSynchronize();
    printf("%d\n", out[0]);
    shuffled<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    printf("%d\n", out[0]);
    compute<__half>("half", (unsigned *)out);
    compute<__nv_bfloat16>("bfloat16", (unsigned *)out);

    cudaFuncAttributes of_groups;
    groups<<<2, 256, 1024>>>(out);
    cudaDeviceSynchronize();
    cudaFuncGetAttributes(&of_groups, groups);
    if (out[0] != 128 * 128 * 128 - 1 || out[1] != out[0] || of_groups.sharedSizeBytes != 32)
        printf("%d %d, %zu bytes\n", out[0], out[1], of_groups.sharedSizeBytes);
    cudaFree(memory);
    cudaFree(out);
}
