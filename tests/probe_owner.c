/* Asks the driver to which pool an address belongs. cudart has no such question; the driver API has:
 * cuPointerGetAttribute(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE), documented to answer NULL for memory of no pool.
 *
 * The recorded answers are tests/facts/probe-owner.txt. Needs a GPU: the simulated device has no driver API. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>

#define MiB ((size_t)1 << 20)

typedef CUresult (*Ask)(void *answer, CUpointer_attribute attribute, CUdeviceptr address);
static Ask ask;
static cudaMemPool_t default_pool, own_pool;

static void owner_line(const char *what, const void *address)
{
    CUmemoryPool owner = NULL;
    CUresult result = ask(&owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, (CUdeviceptr)address);
    printf("owner %-40s result %d  %s\n", what, (int)result,
           result ? "-" : !owner ? "no pool" : owner == own_pool ? "its own pool" : owner == default_pool ? "the default pool" : "another pool");
}

int main(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&ask = driver ? dlsym(driver, "cuPointerGetAttribute") : NULL;
    if (!ask) { puts("There is no libcuda.so.1 here: this program needs a GPU and its driver."); return 77; }

    char *block, *own, *plain, *pinned;
    cudaStream_t stream;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned, .location = {.type = cudaMemLocationTypeDevice}};
    cudaError_t error = cudaStreamCreate(&stream);
    if (!error) error = cudaDeviceGetDefaultMemPool(&default_pool, 0);
    if (!error) error = cudaMemPoolCreate(&own_pool, &props);
    if (!error) error = cudaMallocAsync((void **)&block, MiB, stream);
    if (!error) error = cudaMallocFromPoolAsync((void **)&own, MiB, own_pool, stream);
    if (!error) error = cudaMalloc((void **)&plain, MiB);
    if (!error) error = cudaMallocHost((void **)&pinned, MiB);
    if (error) { fprintf(stderr, "The blocks to ask about could not be made: %s\n", cudaGetErrorName(error)); return 1; }

    owner_line("cudaMallocAsync", block);
    owner_line("cudaMallocFromPoolAsync", own);
    owner_line("cudaMallocFromPoolAsync, inside the block", own + 1000);
    owner_line("cudaMallocFromPoolAsync, behind the block", own + MiB);
    owner_line("cudaMalloc", plain);
    owner_line("cudaMallocHost", pinned);
    cudaFreeAsync(own, stream);
    owner_line("freed, before a synchronise", own);
    cudaStreamSynchronize(stream);
    owner_line("freed, synchronised", own);
    cudaDeviceSetMemPool(0, own_pool);
    owner_line("made before another pool became current", block);
    return 0;
}
