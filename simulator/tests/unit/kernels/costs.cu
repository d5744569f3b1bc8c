// The kernels that `make bench` compares with the same loops of C (simulator/tests/unit/bench.c).
// They are what a thread does, without the shortcuts that a compiler finds in a loop of C.
#include <cuda_fp16.h>

#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void arithmetic(float *y, int turns)
{
    float x = 1e-3f * THREAD, sum = 1;
    for (int n = 0; n < turns; n++) {
        x = x * 0.999f + sum;
        sum = sum * 1.0001f + x * 1e-6f;
    }
    y[THREAD] = x + sum;
}

extern "C" __global__ void memory(const float *a, const float *b, float *y)
{
    y[THREAD] = 2 * a[THREAD] + b[THREAD];
}

extern "C" __global__ void divergent(unsigned *y, unsigned most)
{
    unsigned long long x = THREAD + 1;
    unsigned steps = 0;
    for (; x != 1 && steps < most; steps++)
        x = x & 1 ? 3 * x + 1 : x / 2;
    y[THREAD] = steps;
}

extern "C" __global__ void shared(const float *a, const float *b, float *y, int n)
{
    __shared__ float left[16][16], right[16][16];
    const int x = threadIdx.x, row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int at = 0; at < n; at += 16) {
        left[threadIdx.y][x] = a[row * n + at + x];
        right[threadIdx.y][x] = b[(at + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += left[threadIdx.y][k] * right[k][x];
        __syncthreads();
    }
    y[row * n + column] = sum;
}

extern "C" __global__ void doubles(const double *a, double *y, int turns)
{
    double x = a[THREAD], sum = x;
    for (int n = 0; n < turns; n++)
        sum = sum * x + x;
    y[THREAD] = sum;
}

extern "C" __global__ void halves(const __half *a, __half *y, int turns)
{
    __half x = a[THREAD], sum = x;
    for (int n = 0; n < turns; n++)
        sum = __hfma(sum, x, x);
    y[THREAD] = sum;
}
