/* The host reads a small managed array, much less than a page, while the kernel may still be writing it.
 * Kind: host access not ordered after a write */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = 100;
    int *data, sum = 0;
    CHECK(cudaMallocManaged((void **)&data, count * sizeof(int), cudaMemAttachGlobal));
    for (size_t i = 0; i < count; i++)
        data[i] = (int)i;

    CHECK(launch_add(data, 1, count, 0));               /* one */
    for (size_t i = 0; i < count; i++)
        sum += data[i];                                 /* other */
    printf("%s\n", sum > 0 ? "summed" : "nothing");
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
