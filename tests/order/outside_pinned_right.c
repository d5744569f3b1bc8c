/* It does not. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    CHECK(cudaMallocHost((void **)&data, 4096));        /* one */
    CHECK(launch_fill(data, 1, 1024, 0));
    (void)cudaDeviceSynchronize();
    (void)cudaFreeHost(data);
    return 0;
}
