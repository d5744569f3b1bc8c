/* The host writes the next part into the buffer from which a copy is pending.
 * Kind: host write not ordered after a read */
#include "kernels.h"
#include "workbook.h"

#include <string.h>

int main(void)
{
    int *data, *source;
    cudaStream_t a;
    cudaEvent_t copied;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaEventCreate(&copied));
    CHECK(cudaMallocHost((void **)&source, 2 * MiB));
    CHECK(cudaMallocAsync((void **)&data, 2 * MiB, a));
    memset(source, 1, 2 * MiB);
    CHECK(cudaMemcpyAsync(data, source, 2 * MiB, cudaMemcpyHostToDevice, a));       /* one */
    CHECK(cudaEventRecord(copied, a));
    if (source[0] != 0x01010101) return 1;
    memset(source, 2, 2 * MiB);
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(source));
    return 0;
}
