/* Records to which pool an address belongs. cudart has no call for that; the driver API has:
 * cuPointerGetAttribute(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE), documented to return NULL for
 * memory of no pool. */
#include "ask_driver.h"
#include "workbook.h"

static cudaMemPool_t default_pool, own_pool;

static const char *name_of(CUmemoryPool owner)
{
    if (!owner)
        return "no pool";
    return owner == own_pool     ? "its own pool"
         : owner == default_pool ? "the default pool"
                                 : "another pool";
}

static void print_owner(const char *what, const void *address)
{
    CUmemoryPool owner = NULL;
    CUresult result = DRIVER(cuPointerGetAttribute)(&owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                                    (CUdeviceptr)address);
    printf("owner %-40s result %d  %s\n", what, (int)result, result ? "-" : name_of(owner));
}

int main(void)
{
    char *block, *own, *plain, *pinned;
    struct cudaMemPoolProps props = device_props();
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaDeviceGetDefaultMemPool(&default_pool, 0));
    CHECK(cudaMemPoolCreate(&own_pool, &props));
    CHECK(cudaMallocAsync((void **)&block, MiB, s));
    CHECK(cudaMallocFromPoolAsync((void **)&own, MiB, own_pool, s));
    CHECK(cudaMalloc((void **)&plain, MiB));
    CHECK(cudaMallocHost((void **)&pinned, MiB));

    print_owner("cudaMallocAsync", block);
    print_owner("cudaMallocFromPoolAsync", own);
    print_owner("cudaMallocFromPoolAsync, inside the block", own + 1000);
    print_owner("cudaMallocFromPoolAsync, behind the block", own + MiB);
    print_owner("cudaMalloc", plain);
    print_owner("cudaMallocHost", pinned);
    cudaFreeAsync(own, s);
    print_owner("freed, before a synchronise", own);
    cudaStreamSynchronize(s);
    print_owner("freed, synchronised", own);
    cudaDeviceSetMemPool(0, own_pool);
    print_owner("made before another pool became current", block);
    return 0;
}
