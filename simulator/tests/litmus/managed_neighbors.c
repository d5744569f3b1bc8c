/* Two small managed arrays: the host uses one while a kernel writes the other, or the rest of one
 * beside the kernel. The free of one leaves the other alone. */
#include "litmus.h"

int main(void)
{
    size_t count = 1500;
    int *data, *other;
    CHECK(cudaMallocManaged((void **)&data, count * sizeof(int), cudaMemAttachGlobal));
    CHECK(cudaMallocManaged((void **)&other, count * sizeof(int), cudaMemAttachGlobal));

    CHECK(launch_fill(data, 1, count, 0));
    other[0] = other[count - 1] = 2;
    CHECK(cudaDeviceSynchronize());
    data[count - 1] += other[0];
    CHECK(launch_fill(data, 1, count / 2, 0));
    data[count - 1] += other[count - 1];
    CHECK(cudaFree(data));
    other[0] = 3;
    CHECK(cudaFree(other));
    return 0;
}
