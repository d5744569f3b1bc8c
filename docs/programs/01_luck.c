/* An incorrect program that usually prints the correct value: it reads the result of a copy without
 * waiting for it.
 *
 * Between the copy and the read the host does something else, here a few calls. Usually the copy is
 * over by that time. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data, *result;
    size_t free_bytes, total_bytes;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost((void **)&result, sizeof *result));
    *result = 0;

    CHECK(cudaMallocAsync((void **)&data, sizeof *data, stream));
    CHECK(launch_fill(data, 42, 1, stream));
    CHECK(cudaMemcpyAsync(result, data, sizeof *result, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(data, stream));
    for (int i = 0; i < 5; i++)
        CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    int read = *result; /* no synchronization before this */
    printf("read %d\n", read);

    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(result));
    return read == 42 ? 0 : 1;
}
