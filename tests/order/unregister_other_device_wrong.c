/* cudaHostUnregister waits for the GPU that was current when the memory was registered, and for no other, whether that uses the memory or not.
 * Kind: free before the use ends
 * Devices: 2 */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    char *data, *pinned;
    cudaStream_t stream;
    pinned = malloc(MiB);
    CHECK(cudaHostRegister(pinned, MiB, cudaHostRegisterDefault));       /* GPU 0 is current */
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc((void **)&data, MiB));
    for (int i = 0; i < 1000; i++)
        CHECK(cudaMemcpyAsync(data, pinned, MiB, cudaMemcpyHostToDevice, stream));  /* one */
    CHECK(cudaHostUnregister(pinned));                  /* other */
    cudaStreamSynchronize(stream);
    cudaFree(data);
    free(pinned);
    return 0;
}
