/* A pipeline of two stages, each in a stream of its own: the first fills a batch with squares, the
 * second adds them up and drops the batch. nvcc builds it for a GPU, with its kernels; any other
 * compiler for the simulated device, with functions that stand in for them. Nothing orders the two
 * stages, except with -DREPAIRED. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT       ((size_t)1 << 18)
#define CHECK(call) check((call), #call)
typedef unsigned long long number;

static void check(cudaError_t error, const char *call)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", call, cudaGetErrorName(error));
        exit(1);
    }
}

#ifdef __CUDACC__
static __global__ void squares(number *batch, number first)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < COUNT; i += gridDim.x * blockDim.x)
        batch[i] = (first + i) * (first + i);
}
static __global__ void total(const number *batch, number *sum)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < COUNT; i += gridDim.x * blockDim.x)
        atomicAdd(sum, batch[i]);
}
#else
#include "user_kernels.h"

/* memory[0]: the batch */
static void squares(void *const *memory, const void *first)
{
    for (size_t i = 0; i < COUNT; i++)
        ((number *)memory[0])[i] = (*(const number *)first + i) * (*(const number *)first + i);
}
/* memory[0]: the batch, memory[1]: the sum */
static void total(void *const *memory, const void *unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT; i++)
        *(number *)memory[1] += ((const number *)memory[0])[i];
}
#endif

static cudaError_t launch_squares(number *batch, number first, cudaStream_t stream)
{
#ifdef __CUDACC__
    squares<<<64, 256, 0, stream>>>(batch, first);
    return cudaGetLastError();
#else
    return sim_launch(stream, "squares", squares, first, sim_write(batch, COUNT * sizeof *batch));
#endif
}

static cudaError_t launch_total(const number *batch, number *sum, cudaStream_t stream)
{
#ifdef __CUDACC__
    total<<<64, 256, 0, stream>>>(batch, sum);
    return cudaGetLastError();
#else
    return sim_launch(stream, "total", total, sum, sim_read(batch, COUNT * sizeof *batch),
                      sim_read_write(sum, sizeof *sum));
#endif
}

int main(void)
{
    cudaStream_t making, adding;
    number *batch, *sum, result;
    CHECK(cudaStreamCreateWithFlags(&making, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&adding, cudaStreamNonBlocking));
#ifdef REPAIRED
    cudaEvent_t made;
    CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
#endif
    CHECK(cudaMallocAsync((void **)&sum, sizeof *sum, adding));
    CHECK(cudaMemsetAsync(sum, 0, sizeof *sum, adding));
    for (number first = 0; first < 8 * COUNT; first += COUNT) {
        CHECK(cudaMallocAsync((void **)&batch, COUNT * sizeof *batch, making));
        CHECK(launch_squares(batch, first, making));
#ifdef REPAIRED
        CHECK(cudaEventRecord(made, making));
        CHECK(cudaStreamWaitEvent(adding, made, 0));
#endif
        /* From here on the batch is the second stage's. */
        CHECK(launch_total(batch, sum, adding));
        CHECK(cudaFreeAsync(batch, adding));
    }
    CHECK(cudaMemcpyAsync(&result, sum, sizeof result, cudaMemcpyDeviceToHost, adding));
    CHECK(cudaFreeAsync(sum, adding));
    CHECK(cudaStreamSynchronize(adding));
    number n = 8 * COUNT, expected = (n - 1) * n / 2 * (2 * n - 1) / 3;
    printf("the sum is %llu, expected %llu\n", result, expected);
#ifdef REPAIRED
    CHECK(cudaEventDestroy(made));
#endif
    CHECK(cudaStreamDestroy(making));
    CHECK(cudaStreamDestroy(adding));
    return result == expected ? 0 : 1;
}
