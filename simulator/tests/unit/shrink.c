/* Another process makes a shared pool's file shorter. Here the same process does: shrink. */
#include "expect.h"

#include <errno.h>
#include <unistd.h>

int main(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {.type = cudaMemLocationTypeDevice}};
    struct cudaMemPoolPtrExportData data;
    cudaMemPool_t pool;
    cudaStream_t s;
    int fd;
    void *p;
    OK(cudaStreamCreate(&s));
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    OK(cudaMallocFromPoolAsync(&p, MiB, pool, s));
    SAME(1, ftruncate(fd, 0) == -1 && errno == EPERM);
    OK(cudaMemPoolExportPointer(&data, p));
    OK(cudaMemsetAsync(p, 1, MiB, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
    if (!wrong)
        puts("all as expected");
    return wrong;
}
