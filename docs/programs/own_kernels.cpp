// Two batches are normalized in turn, in one stream each; the factor of a batch is the largest of
// its numbers. Its kernels are as nvcc compiles them: a launch names the memory that it uses.
#include <cstdio>
#include <vector>

#include "cpu_kernels.hpp"

__global__ void largest(unsigned *result, const unsigned *batch, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicMax(result, batch[i]);
}

__global__ void divide(unsigned *batch, const unsigned *by, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        batch[i] = 1000 * batch[i] / *by;
}

int main()
{
    const int count = 1 << 16, threads = 256, blocks = count / threads;
    const size_t bytes = count * sizeof(unsigned);
    std::vector<unsigned> numbers(count);
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    cudaStream_t stream[2];
    unsigned *batch[2], *factor, last[2];
    cudaMalloc(&factor, sizeof *factor);
    for (int k = 0; k < 2; k++) {
        cudaStreamCreate(&stream[k]);
        cudaMallocAsync(&batch[k], bytes, stream[k]);
        cudaMemcpyAsync(batch[k], numbers.data(), bytes, cudaMemcpyHostToDevice, stream[k]);
        cudaMemsetAsync(factor, 0, sizeof *factor, stream[k]);
        SIM_KERNEL(largest, blocks, threads, stream[k])
        (sim::read_write(factor, sizeof *factor), sim::read(batch[k], bytes), count);
        SIM_KERNEL(divide, blocks, threads, stream[k])
        (sim::read_write(batch[k], bytes), sim::read(factor, sizeof *factor), count);
    }
    for (int k = 0; k < 2; k++) {
        cudaMemcpyAsync(&last[k], batch[k] + count - 1, sizeof last[k], cudaMemcpyDeviceToHost,
                        stream[k]);
        cudaFreeAsync(batch[k], stream[k]);
        cudaStreamSynchronize(stream[k]);
        cudaStreamDestroy(stream[k]);
    }
    std::printf("the last number of each batch: %u %u\n", last[0], last[1]);
    return static_cast<int>(cudaFree(factor));
}
