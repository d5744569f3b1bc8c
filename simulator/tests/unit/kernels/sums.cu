// Where simulator/tests/unit/kernels/sums.ptx comes from: nvcc -ptx sums.cu, without comments
// and empty lines.
__device__ __noinline__ int twice_or_less(int n) { return n > 1 ? 2 + twice_or_less(n - 1) : n; }

extern "C" __global__ void sums(const int *data, int *each, int *all, int n)
{
    __shared__ int part[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
#pragma unroll 1
    for (int k = i; k < n; k += gridDim.x * blockDim.x)
        sum += twice_or_less(data[k]);
    part[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll 1
    for (int d = 32; d > 0; d /= 2) {
        if (threadIdx.x < d)
            part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (!threadIdx.x) {
        each[blockIdx.x] = part[0];
        atomicAdd(all, part[0]);
    }
}
