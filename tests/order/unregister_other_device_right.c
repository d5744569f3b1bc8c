/* cudaHostUnregister waits for the GPU that was current when the memory was registered, and for no other: the host waits itself for the other's copies.
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
    cudaStreamSynchronize(stream);
    CHECK(cudaHostUnregister(pinned));                  /* other */
    cudaFree(data);
    free(pinned);
    return 0;
}
