/* The review of the book's fifth part (docs/rules/own_allocator.rst): a piece of a pool, cut in two
 * for two streams, joined again and taken by a third. The argument says for what the third stream
 * waits: 1 both streams, 2 the left part's alone, 3 both, but by an event that the left part's
 * stream recorded at its first return, before it took the part once more. */
#include "kernels.h"
#include "workbook.h"

enum { BOTH = 1, LEFT, EARLY };

static void make_wait(cudaStream_t stream, cudaEvent_t event, cudaStream_t before)
{
    CHECK(cudaEventRecord(event, before));
    CHECK(cudaStreamWaitEvent(stream, event, 0));
}

int main(int argc, char **argv)
{
    size_t variant = mib_argument(argc, argv, BOTH), count = 4 * MiB, begin = 0;
    static const size_t sizes[] = {1, 400, 2000};
    int *piece, last = 0;
    cudaStream_t left, right, third;
    cudaEvent_t event, early;
    CHECK(cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&early, cudaEventDisableTiming));

    for (int i = 0; i < 3; i++)
        begin = (begin + 255) / 256 * 256 + sizes[i];
    printf("an arena needs %zu bytes\n", begin);

    CHECK(cudaMallocAsync((void **)&piece, 2 * count * sizeof *piece, left));
    make_wait(right, event, left);             /* the piece is there */
    CHECK(launch_fill(piece, 1, count, left)); /* the left part, and its first return */
    CHECK(cudaEventRecord(early, left));
    CHECK(launch_add(piece, 1, count, left)); /* taken again by its own stream, and returned */
    CHECK(launch_fill(piece + count, 2, count, right));

    if (variant == EARLY)
        CHECK(cudaStreamWaitEvent(third, early, 0));
    else
        make_wait(third, event, left);
    if (variant != LEFT)
        make_wait(third, event, right);
    CHECK(launch_add(piece, 5, 2 * count, third)); /* both parts as one */
    CHECK(
        cudaMemcpyAsync(&last, piece + 2 * count - 1, sizeof last, cudaMemcpyDeviceToHost, third));
    CHECK(cudaFreeAsync(piece, third));
    CHECK(cudaStreamSynchronize(third));
    printf("the last number is %d\n", last);

    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(early));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(third));
    CHECK(cudaStreamDestroy(right));
    CHECK(cudaStreamDestroy(left));
    return 0;
}
