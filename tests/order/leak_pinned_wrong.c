/* Pinned memory is never freed.
 * Kind: leak */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *buffer;
    CHECK(cudaMallocHost((void **)&buffer, MiB));       /* one */
    *buffer = 1;
    return 0;
}
