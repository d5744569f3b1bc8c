/* Pinned memory is freed once. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    CHECK(cudaMallocHost((void **)&data, MiB));
    CHECK(cudaFreeHost(data));                          /* one */
    return 0;
}
