/* docs/programs/migration_before.cu, brought to a pool: the calls, the order that cudaFree had
 * given, and the threshold.
 *
 *     make mine FILE=docs/programs/migration.cu */
#include "workbook.h"

enum { FRAMES = 6, COUNT = 1 << 18 };

static cudaStream_t load, work;
static cudaEvent_t loaded;
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
    CHECK(cudaMallocAsync(&result, bytes, work));
    CHECK(cudaMallocAsync(&staging, bytes, load));

    make_input<<<COUNT / 256, 256, 0, load>>>(staging, frame);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(input, staging, bytes, cudaMemcpyDeviceToDevice, load));
    CHECK(cudaFreeAsync(staging, load));
    CHECK(cudaEventRecord(loaded, load));

    CHECK(cudaStreamWaitEvent(work, loaded, 0));
    fold<<<COUNT / 256, 256, 0, work>>>(result, input);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(answer, result + COUNT - 1, sizeof(int), cudaMemcpyDeviceToHost, work));
    CHECK(cudaFreeAsync(result, work));
    CHECK(cudaStreamSynchronize(work));
    return *answer;
}

int main()
{
    CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&loaded, cudaEventDisableTiming));
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    CHECK(cudaMalloc(&input, COUNT * sizeof(int)));
    CHECK(cudaMallocHost(&answer, sizeof *answer));

    int correct = 0;
    for (int frame = 1; frame <= FRAMES; frame++)
        correct += run_frame(frame) == COUNT - 1 + 2 * frame;
    printf("%d of %d frames are correct\n", correct, FRAMES);

    CHECK(cudaFreeHost(answer));
    CHECK(cudaFree(input));
    CHECK(cudaEventDestroy(loaded));
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(load));
    return correct == FRAMES ? 0 : 1;
}
