/* Lesson 09 as a .cu file: a program with kernels of its own that has always worked, with
 * cudaMalloc and cudaFree in its loop.
 *
 *     make mine FILE=docs/programs/migration_before.cu
 *
 * Replace the calls in a copy of it, and run that: the reports name the kernels and their lines. */
#include "workbook.h"

enum { FRAMES = 6, COUNT = 1 << 18 };

static cudaStream_t load, work;
static int *input, *answer; /* both live as long as the program */

/* Number i of `data` becomes i + frame. */
__global__ void make_input(int *data, int frame)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = i + frame;
}

/* out[i] = in[i] + in[i of the thread at the other end] */
__global__ void fold(int *out, const int *in)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + in[COUNT - 1 - i];
}

/* `load` makes the input, `work` the result, whose last number is returned. */
static int run_frame(int frame)
{
    size_t bytes = COUNT * sizeof(int);
    int *staging, *result;
    CHECK(cudaMalloc(&result, bytes));
    CHECK(cudaMalloc(&staging, bytes));

    make_input<<<COUNT / 256, 256, 0, load>>>(staging, frame);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(input, staging, bytes, cudaMemcpyDeviceToDevice, load));
    CHECK(cudaFree(staging));

    fold<<<COUNT / 256, 256, 0, work>>>(result, input);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(answer, result + COUNT - 1, sizeof(int), cudaMemcpyDeviceToHost, work));
    CHECK(cudaFree(result));
    return *answer;
}

int main()
{
    CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&input, COUNT * sizeof(int)));
    CHECK(cudaMallocHost(&answer, sizeof *answer));

    int correct = 0;
    for (int frame = 1; frame <= FRAMES; frame++)
        correct += run_frame(frame) == COUNT - 1 + 2 * frame;
    printf("%d of %d frames are correct\n", correct, FRAMES);

    CHECK(cudaFreeHost(answer));
    CHECK(cudaFree(input));
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(load));
    return correct == FRAMES ? 0 : 1;
}
