/* Clinic, case 4. The shape of https://github.com/NVIDIA/cccl/issues/878 (CUB's caching allocator).
 *
 * An allocator keeps a buffer that returns, with the stream that used it and an event. The same
 * stream gets it at once; any other stream waits for the event first. Two threads of the host use
 * the allocator, each with cudaStreamPerThread. */
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>

#define BYTES (32 * MiB)
#define COUNT (BYTES / sizeof(int))

static struct {
    int *data;           /* NULL: no buffer is kept */
    cudaStream_t stream; /* that used it last */
    cudaEvent_t ready;
} kept;

static int *block_take(cudaStream_t stream)
{
    int *block = kept.data;
    if (!block)
        CHECK(cudaMallocAsync((void **)&block, BYTES, stream));
    else if (kept.stream != stream)
        CHECK(cudaStreamWaitEvent(stream, kept.ready, 0));
    kept.data = NULL;
    return block;
}

static void block_give_back(int *block, cudaStream_t stream)
{
    CHECK(cudaEventRecord(kept.ready, stream));
    kept.data = block;
    kept.stream = stream;
}

static void *second_worker(void *result)
{
    int *block = block_take(cudaStreamPerThread);
    CHECK(launch_fill(block, 2, COUNT, cudaStreamPerThread));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    *(int **)result = block;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int *block, *second, value;
    CHECK(cudaEventCreateWithFlags(&kept.ready, cudaEventDisableTiming));
    block = block_take(cudaStreamPerThread);
    for (int i = 0; i < 200; i++)
        CHECK(launch_fill(block, 1, COUNT, cudaStreamPerThread));
    block_give_back(block, cudaStreamPerThread);

    if (pthread_create(&thread, NULL, second_worker, &second) || pthread_join(thread, NULL))
        return 1;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&value, second, sizeof value, cudaMemcpyDeviceToHost));
    printf("the second worker wrote 2, and its block holds %d\n", value);
    CHECK(cudaFree(second));
    return value != 2;
}
