/* 01 First allocation
 *
 * Shows  cudaMallocAsync puts an allocation into a stream, like a kernel launch. When it returns,
 *        the host knows the address, but the device need not have reached the allocation. Work that
 *        is put into the same stream after it may use the block, up to the free, with no wait in
 *        between. The host sees results only after a synchronise.
 * Yours  fill: two gaps, marked YOUR WORK.
 * Run    make 01          check   make check-01          page   docs/01_first_allocation
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

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 8) * MiB, count = bytes / sizeof(int);
    int *data, *result;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    /* page-locked: a copy to it does not stop the host. */
    CHECK(cudaMallocHost((void **)&result, bytes));
    memset(result, 0, bytes);
    volatile int *gate = gate_create();

    /* The stream holds at the gate. What is put into it from here on stays pending until the gate
     * opens. */
    CHECK(launch_hold(gate, stream));
    CHECK(cudaMallocAsync((void **)&data, bytes, stream));
    printf("allocated       pointer %s   stream %s\n", data != NULL ? "known" : "null",
           cudaGetErrorName(cudaStreamQuery(stream)));

    /* YOUR WORK, 1 of 2. Four calls on this stream, none of which waits: set every element of the
     * block to 40, add 2 to every element, copy the block to `result` (cudaMemcpyAsync), free the
     * block (cudaFreeAsync). */

    printf("used and freed  42 in %zu of %zu elements   stream %s\n", count_of(42, result, count),
           count, cudaGetErrorName(cudaStreamQuery(stream)));
    gate_open(gate);

    /* YOUR WORK, 2 of 2. One call: the host waits until the stream has done all of it. */

    size_t right = count_of(42, result, count);
    printf("synchronised    42 in %zu of %zu elements   stream %s\n", right, count,
           cudaGetErrorName(cudaStreamQuery(stream)));

    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(result));
    gate_destroy(gate);
    return right == count ? 0 : 1;
}
