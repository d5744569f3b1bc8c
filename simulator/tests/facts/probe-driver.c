/* Records what the driver API tells about memory by its address: what libraries ask that pass
 * memory to other processes and to network cards. The simulated device has no DMA-BUF
 * descriptors. */
#include "ask_driver.h"

/* An attribute that is a number of 4 bytes or fewer, or one of 8. */
static void print_number(const char *name, CUpointer_attribute attribute, const void *address)
{
    uint64_t value = 0;
    CUresult result = DRIVER(cuPointerGetAttribute)(&value, attribute, (CUdeviceptr)address);
    printf("  %-28s result %d", name, (int)result);
    if (!result)
        printf(" value %llu", (unsigned long long)value);
    puts("");
}

static void print_all(const char *what, const void *address)
{
    printf("%s\n", what);

    CUcontext context = NULL, current = NULL;
    CUresult result =
        DRIVER(cuPointerGetAttribute)(&context, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)address);
    DRIVER(cuCtxGetCurrent)(&current);
    const char *which = !context ? "null" : context == current ? "the current one" : "another";
    printf("  %-28s result %d %s\n", "context", (int)result, result ? "" : which);
    print_number("memory type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    print_number("managed", CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    print_number("device", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    print_number("mapped", CU_POINTER_ATTRIBUTE_MAPPED, address);
    print_number("legacy IPC capable", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address);
    print_number("allowed handle types", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, address);
    print_number("GPUDirect RDMA capable", CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
                 address);
    print_number("access flags", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address);
    print_number("range size", CU_POINTER_ATTRIBUTE_RANGE_SIZE, address);

    CUdeviceptr start = 0;
    size_t bytes = 0;
    result = DRIVER(cuMemGetAddressRange)(&start, &bytes, (CUdeviceptr)address);
    printf("  %-28s result %d", "cuMemGetAddressRange", (int)result);
    if (!result)
        printf(" starts %lld before, %zu bytes", (long long)((CUdeviceptr)address - start), bytes);
    puts("");
}

static cudaMemPool_t pool;
static void *p;

static void *of_pool(int type, int location, enum cudaMemAllocationHandleType handles)
{
    struct cudaMemPoolProps props = pool_props(type, location, 0);
    p = NULL;
    props.handleTypes = handles;
    if (!cudaMemPoolCreate(&pool, &props))
        p = ready_memory(pool, 4 * MiB);
    return p;
}

static void all_of(const char *what, const void *address)
{
    CUipcMemHandle handle;
    print_all(what, address);

    /* A DMA-BUF descriptor and a handle for another process. */
    int fd = -1;
    CUresult dma_buf = DRIVER(cuMemGetHandleForAddressRange)(
        &fd, (CUdeviceptr)address, 2 * MiB, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    printf("  %-28s result %d\n", "DMA-BUF descriptor", (int)dma_buf);
    if (fd >= 0)
        close(fd);
    printf("  %-28s result %d\n", "cuIpcGetMemHandle",
           (int)DRIVER(cuIpcGetMemHandle)(&handle, (CUdeviceptr)address));
}

CASE(of_cuda_malloc)
{
    cudaMalloc(&p, 4 * MiB);
    all_of("cudaMalloc", p);
}

CASE(of_cuda_malloc_async)
{
    cudaMallocAsync(&p, 4 * MiB, s);
    ready_memory(NULL, 4 * MiB); /* behind it */
    all_of("cudaMallocAsync", p);
    print_all("cudaMallocAsync, an address inside", (char *)p + MiB);
    cudaFreeAsync(p, s);
    print_all("freed, before a synchronization", p);
    cudaStreamSynchronize(s);
    print_all("freed, synchronized", p);
}

CASE(of_own_pool)
{
    all_of("a pool without a handle type", of_pool(PINNED, DEVICE, cudaMemHandleTypeNone));
}

CASE(of_shared_pool)
{
    all_of("a pool for descriptors", of_pool(PINNED, DEVICE, cudaMemHandleTypePosixFileDescriptor));
}

CASE(of_host_pool) { all_of("a pool of the host", of_pool(PINNED, HOST, cudaMemHandleTypeNone)); }

CASE(of_managed_pool) { all_of("a managed pool", of_pool(MANAGED, DEVICE, cudaMemHandleTypeNone)); }

CASE(of_managed_memory)
{
    cudaMallocManaged(&p, 4 * MiB, cudaMemAttachGlobal);
    all_of("cudaMallocManaged", p);
}

CASE(of_pinned_memory)
{
    cudaMallocHost(&p, 4 * MiB);
    all_of("cudaMallocHost", p);
}

/* Is a pool's handle the same in both APIs? */
CASE(handles_of_pools)
{
    CUmemoryPool owner = NULL;
    void *p = of_pool(PINNED, DEVICE, cudaMemHandleTypeNone);
    CUresult result =
        DRIVER(cuPointerGetAttribute)(&owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, (CUdeviceptr)p);
    printf("the driver's handle: result %d, the same as cudaMemPool_t %d\n", (int)result,
           (void *)owner == (void *)pool);
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
