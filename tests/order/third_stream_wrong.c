/* Three streams in a row: c waits for b, but b waited for a only before a's second write.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b, c;
    cudaEvent_t first, second;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaStreamCreate(&c));
    CHECK(cudaEventCreate(&first));
    CHECK(cudaEventCreate(&second));

    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaEventRecord(first, a));
    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaStreamWaitEvent(b, first, 0));
    CHECK(cudaEventRecord(second, b));
    CHECK(cudaStreamWaitEvent(c, second, 0));
    CHECK(launch_add(data, 1, count, c));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, c));
    CHECK(cudaStreamSynchronize(c));
    return 0;
}
