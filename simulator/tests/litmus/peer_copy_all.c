/* cudaMemcpyPeer is serialized with all work of the current device and of both that it names, even
 * with that of a stream made with cudaStreamNonBlocking (documented: CUDA Runtime API). No event is
 * needed.
 * Devices: 2 */
#include "litmus.h"

NONBLOCKING_LITMUS(here)
{
    int *from, *to;
    cudaStream_t there;
    CHECK(cudaMalloc((void **)&from, MiB));
    CHECK(launch_fill(from, 1, MiB / sizeof(int), here));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreateWithFlags(&there, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&to, MiB));
    CHECK(launch_fill(to, 2, MiB / sizeof(int), there));
    CHECK(cudaMemcpyPeer(to, 1, from, 0, MiB));
    CHECK(launch_add(to, 1, MiB / sizeof(int), there));
    CHECK(cudaMemcpyPeer(from, 0, to, 1, MiB));
    CHECK(launch_add(from, 1, MiB / sizeof(int), here));
    CHECK(cudaStreamSynchronize(here));
    CHECK(cudaFree(to));
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(from));
}
