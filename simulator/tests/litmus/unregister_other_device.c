/* cudaHostUnregister waits for the GPU that was current when the memory was registered, and for no
 * other, so the host itself waits for the copies of the other GPU.
 * Devices: 2
 *
 * WRONG: the host does not wait: no edge from the copies of GPU 1 to cudaHostUnregister.
 * Kind: free before the use ends */
#include "litmus.h"

int main(void)
{
    char *data, *pinned;
    cudaStream_t stream;
    pinned = malloc(MiB);
    /* GPU 0 is current. */
    CHECK(cudaHostRegister(pinned, MiB, cudaHostRegisterDefault));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc((void **)&data, MiB));
    for (int i = 0; i < 1000; i++)
        CHECK(cudaMemcpyAsync(data, pinned, MiB, cudaMemcpyHostToDevice, stream)); /* access */
#ifndef WRONG
    cudaStreamSynchronize(stream);
#endif
    CHECK(cudaHostUnregister(pinned)); /* free */
#ifdef WRONG
    cudaStreamSynchronize(stream);
#endif
    cudaFree(data);
    free(pinned);
    return 0;
}
