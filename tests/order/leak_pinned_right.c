/* Pinned memory is freed before the program ends. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *buffer;
    CHECK(cudaMallocHost((void **)&buffer, MiB));       /* one */
    *buffer = 1;
    CHECK(cudaFreeHost(buffer));
    return 0;
}
