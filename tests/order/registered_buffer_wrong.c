/* The copy to registered memory is not ordered before the kernel that writes it.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

static int host[4 * MiB / sizeof(int)];

int main(void)
{
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaHostRegister(host, sizeof host, cudaHostRegisterMapped));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));

    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a));     /* one */
    CHECK(launch_fill(host, 1, 100, b));                /* other */
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaHostUnregister(host));
    CHECK(cudaDeviceSynchronize());
    return 0;
}
