/* 01 First allocation
 *
 * Question: What does the host have when cudaMallocAsync returns? During which time
 *   may the memory be used? Which memory does the next allocation of the same size get?
 * Task (fill): two gaps, marked YOUR WORK: four calls in a stream, and one call in which the host
 *   waits.
 * Calls: launch_fill(int *data, int value, size_t count, cudaStream_t stream)
 *        launch_add(int *data, int value, size_t count, cudaStream_t stream)
 *        cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
 *                        cudaStream_t stream)
 *        cudaFreeAsync(void *ptr, cudaStream_t stream)
 *        cudaStreamSynchronize(cudaStream_t stream)
 * Run:   make 01          Check: make check-01          Page: docs/01_first_allocation
 */
#include "kernels.h"
#include "workbook.h"

#include <string.h>

static size_t count_of(int wanted, const int *values, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += values[i] == wanted;
    return found;
}

/* Allocates, uses and frees memory in `stream`, and then allocates as much again. */
static void use_stream(int *result, size_t count, int first, int more, cudaStream_t stream)
{
    size_t bytes = count * sizeof *result;
    int *data, *again;
    CHECK(cudaMallocAsync((void **)&data, bytes, stream));
    printf("allocated        pointer %s   stream %s\n", data != NULL ? "known" : "null",
           cudaGetErrorName(cudaStreamQuery(stream)));

    /* YOUR WORK, 1 of 2. Four calls in `stream`, none of which waits: set every element of `data`
     * to `first`, add `more` to every element, copy all of them to `result` (cudaMemcpyAsync), free
     * `data` (cudaFreeAsync). */

    /* `result` is read before any wait, only to show what the copy has done. The page explains
     * why that is safe here, and only here. */
    printf("used and freed   %d in %zu of %zu elements   stream %s\n", first + more,
           count_of(first + more, result, count), count, cudaGetErrorName(cudaStreamQuery(stream)));

    CHECK(cudaMallocAsync((void **)&again, bytes, stream));
    printf("allocated again  %s address   stream %s\n", again == data ? "same" : "other",
           cudaGetErrorName(cudaStreamQuery(stream)));
    CHECK(cudaFreeAsync(again, stream));
}

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 8) * MiB, count = bytes / sizeof(int);
    int *result;
    cudaStream_t stream;
    /* Every CUDA call returns an error code. CHECK (workbook.h) ends the program at an error. */
    CHECK(cudaStreamCreate(&stream));
    /* Page-locked memory: a copy to it does not make the host wait. */
    CHECK(cudaMallocHost((void **)&result, bytes));
    memset(result, 0, bytes);
    volatile int *gate = gate_create();

    /* The stream holds at the gate: launch_hold puts a kernel into it, which runs until the gate
     * opens. */
    CHECK(launch_hold(gate, stream));
    use_stream(result, count, 40, 2, stream);
    gate_open(gate);

    /* YOUR WORK, 2 of 2. One call: the host waits until the stream has done all its work. */

    size_t correct = count_of(42, result, count);
    printf("synchronized     42 in %zu of %zu elements   stream %s\n", correct, count,
           cudaGetErrorName(cudaStreamQuery(stream)));

    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(result));
    gate_destroy(gate);
    return correct == count ? 0 : 1;
}
