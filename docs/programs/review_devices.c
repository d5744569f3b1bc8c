/* The review of the book's third part (docs/rules/gpus_and_processes.rst): two GPUs, two pools, and
 * what may be handed to whom. On a machine without them it ends with status 77, skipped. */
#include "kernels.h"
#include "workbook.h"

static cudaMemPool_t pool_on(int device, enum cudaMemAllocationHandleType types)
{
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    props.handleTypes = types;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static void report(const char *line, cudaError_t result)
{
    printf("%-48s %s\n", line, cudaGetErrorName(result));
    cudaGetLastError();
}

int main(void)
{
    int *data, descriptor;
    cudaStream_t stream;
    struct cudaPointerAttributes where;
    cudaMemPool_t other;
    need_two_gpus();
    cudaMemPool_t plain = pool_on(0, cudaMemHandleTypeNone);
    cudaMemPool_t shared = pool_on(0, cudaMemHandleTypePosixFileDescriptor);
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, plain, stream));
    CHECK(cudaPointerGetAttributes(&where, data));
    printf("a pool of GPU 0, a stream of GPU 1: memory of GPU %d\n", where.device);
    report("memset in the stream of GPU 1", cudaMemsetAsync(data, 0, MiB, stream));
    struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 1},
                                       cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(plain, &access, 1));
    report("the same, after cudaMemPoolSetAccess", cudaMemsetAsync(data, 0, MiB, stream));

    CHECK(cudaDeviceGetDefaultMemPool(&other, 0));
    report("export of the default pool",
           cudaMemPoolExportToShareableHandle(&descriptor, other,
                                              cudaMemHandleTypePosixFileDescriptor, 0));
    report("export of the pool without a handle type",
           cudaMemPoolExportToShareableHandle(&descriptor, plain,
                                              cudaMemHandleTypePosixFileDescriptor, 0));
    report("export of the pool with one",
           cudaMemPoolExportToShareableHandle(&descriptor, shared,
                                              cudaMemHandleTypePosixFileDescriptor, 0));

    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(shared));
    CHECK(cudaMemPoolDestroy(plain));
    return 0;
}
