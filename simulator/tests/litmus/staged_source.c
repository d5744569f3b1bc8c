/* The bytes of a pageable source may be changed as soon as the call returns, whether few or many.
 * Prints: 7 7 */
#include "litmus.h"

static int source[8 * MiB / sizeof(int)];

LITMUS(a)
{
    int *data, result[2];
    CHECK(cudaMalloc((void **)&data, 8 * MiB));

    source[0] = 7;
    CHECK(cudaMemcpyAsync(data, source, MiB, cudaMemcpyHostToDevice, a));
    source[0] = 8;
    CHECK(cudaMemcpyAsync(&result[0], data, sizeof(int), cudaMemcpyDeviceToHost, a));
    source[0] = 7;
    CHECK(cudaMemcpyAsync(data, source, 8 * MiB, cudaMemcpyHostToDevice, a));
    source[0] = 8;
    CHECK(cudaMemcpyAsync(&result[1], data, sizeof(int), cudaMemcpyDeviceToHost, a));
    CHECK(cudaStreamSynchronize(a));
    printf("%d %d\n", result[0], result[1]);
    CHECK(cudaFree(data));
}
