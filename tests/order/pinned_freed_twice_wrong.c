/* Pinned memory is freed twice.
 * Kind: double free */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    CHECK(cudaMallocHost((void **)&data, MiB));
    CHECK(cudaFreeHost(data));                          /* one */
    (void)cudaFreeHost(data);                           /* other */
    return 0;
}
