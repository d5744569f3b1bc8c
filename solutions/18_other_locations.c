/* 18 Other locations
 *
 * Shows  a pool need not lie in a device's memory: it may lie in the host's, or be managed, with
 *        the same calls, steps and figures. The place decides who may touch a block: of a host pool
 *        the host, and a device only when it was given access; of a managed pool both. The order of
 *        a stream holds for all of them, also for the host.
 * Yours  fill: one function, in which host and device share a block.
 * Run    make 18          check   make check-18          page   docs/18_other_locations
 */
#include "kernels.h"
#include "workbook.h"

#if CUDART_VERSION < 13000
int main(void)
{
    puts("skipped: host pools, managed pools and pools by location need CUDA 13.0; this was "
         "compiled for less");
    return 77;
}
#else
struct place {
    const char *name;
    struct cudaMemLocation location;
    enum cudaMemAllocationType type;
};

/* YOUR WORK. The host writes 40 into each int of the block, the device adds 2, and the host counts
 * how many are 42. The block has just been asked for in `stream`. Nothing is copied: both sides
 * work on the block itself. */
static size_t work_together(cudaMemPool_t pool, int *block, size_t count, cudaStream_t stream)
{
    size_t right = 0;
    struct cudaMemAccessDesc device = {{cudaMemLocationTypeDevice, 0},
                                       cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &device, 1));
    CHECK(cudaStreamSynchronize(stream)); /* the block is there */
    for (size_t i = 0; i < count; i++)
        block[i] = 40;
    CHECK(launch_add(block, 2, count, stream));
    CHECK(cudaStreamSynchronize(stream)); /* the device is done with it */
    for (size_t i = 0; i < count; i++)
        right += block[i] == 42;
    return right;
}

static const char *memory_of(const void *block)
{
    static const char *const names[] = {"unknown", "host", "device", "managed"};
    struct cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, block));
    return names[attributes.type];
}

/* A block of a place's default pool: what the device may do with it, and what happens when it
 * tries. */
static void show(struct place place, size_t mib, cudaStream_t stream)
{
    struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    enum cudaMemAccessFlags access;
    cudaMemPool_t pool, of_device;
    int *block;
    CHECK(cudaMemGetDefaultMemPool(&pool, &place.location, place.type));
    CHECK(cudaDeviceGetDefaultMemPool(&of_device, 0));
    CHECK(cudaMallocFromPoolAsync((void **)&block, mib * MiB, pool, stream));
    CHECK(cudaMemPoolGetAccess(&access, pool, &device));
    printf("%-8s %-10s %-8s %7zu %5zu   %-11s", place.name,
           pool == of_device ? "the same" : "another", memory_of(block), reserved_mib(pool),
           used_mib(pool), access ? "read, write" : "none");
    printf("  %s\n", cudaGetErrorName(cudaMemsetAsync(block, 0, mib * MiB, stream)));
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 33), count = mib * MiB / sizeof(int), free_before,
           free_after, total;
    struct place device = {"device", {cudaMemLocationTypeDevice, 0}, cudaMemAllocationTypePinned},
                 host = {"host", {cudaMemLocationTypeHost, 0}, cudaMemAllocationTypePinned},
                 managed = {
                     "managed", {cudaMemLocationTypeDevice, 0}, cudaMemAllocationTypeManaged};
    struct cudaMemPoolProps props = {.allocType = host.type, .location = host.location};
    cudaMemPool_t pool;
    int *block, *other;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    printf("place    its pool   memory   reserved used  MiB  device may   memset by the device\n");
    show(device, mib, stream);
    show(host, mib, stream);
    show(managed, mib, stream);

    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMemGetInfo(&free_before, &total));
    CHECK(cudaMallocFromPoolAsync((void **)&block, mib * MiB, pool, stream));
    CHECK(cudaMemGetInfo(&free_after, &total));
    printf("a block of a host pool takes %zu MiB from the device\n",
           (free_before - free_after) / MiB);
    size_t right = work_together(pool, block, count, stream);
    printf("host and device worked on one block: %s\n",
           right == count ? "every int is 42" : "not every int is 42");

    CHECK(cudaMemSetMemPool(&host.location, host.type, pool));
    CHECK(cudaMallocAsync((void **)&other, mib * MiB, stream));
    printf("the host pool is current, and cudaMallocAsync gives %s memory\n", memory_of(other));
    printf("cudaDeviceSetMemPool with the host pool: %s\n",
           cudaGetErrorName(cudaDeviceSetMemPool(0, pool)));

    CHECK(cudaFreeAsync(other, stream));
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    return right == count ? 0 : 1;
}
#endif
