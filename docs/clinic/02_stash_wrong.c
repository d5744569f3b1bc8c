/* Clinic, case 2. The shape of https://github.com/meta-pytorch/torchrec/pull/4218 (TorchRec on
 * PyTorch's allocator).
 *
 * An allocator of the program's own keeps the buffers that return and hands them out again, all in
 * one stream. To save memory, weights that are not needed for a while are copied to the host in a
 * second stream, and their buffer is returned. */
#include "kernels.h"
#include "workbook.h"

#define BYTES (64 * MiB)
#define COUNT (BYTES / sizeof(int))

static cudaStream_t compute, stashing;
static cudaEvent_t order;
static int *kept; /* a buffer that returned */

static int *block_take(void)
{
    int *block = kept;
    kept = NULL;
    if (!block)
        CHECK(cudaMallocAsync((void **)&block, BYTES, compute));
    return block;
}

static void block_give_back(int *block) { kept = block; }

int main(void)
{
    int *stash;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&stashing, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&order, cudaEventDisableTiming));
    CHECK(cudaMallocHost((void **)&stash, BYTES));

    int *weights = block_take();
    CHECK(launch_fill(weights, 1, COUNT, compute));
    CHECK(cudaEventRecord(order, compute));
    CHECK(cudaStreamWaitEvent(stashing, order, 0));
    CHECK(cudaMemcpyAsync(stash, weights, BYTES, cudaMemcpyDeviceToHost, stashing));
    block_give_back(weights);

    int *activations = block_take();
    CHECK(launch_fill(activations, 7, COUNT, compute));
    printf("the same block: %s\n", activations == weights ? "yes" : "no");
    block_give_back(activations);
    CHECK(cudaStreamSynchronize(compute));
    CHECK(cudaStreamSynchronize(stashing));

    int last = stash[COUNT - 1];
    printf("stashed 1; the stash ends with %d\n", last);
    CHECK(cudaFreeAsync(kept, compute));
    CHECK(cudaStreamSynchronize(compute));
    CHECK(cudaFreeHost(stash));
    return last != 1;
}
