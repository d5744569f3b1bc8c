/* 19 Other locations
 *
 * Question: What changes when a pool's memory is not a device's: who may touch it, and when?
 * Task (fill): one function, in which host and device work on the same allocation.
 * Calls: cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t n)
 *        cudaStreamSynchronize(cudaStream_t stream)
 * Run:   make 19          Check: make check-19          Page: docs/19_other_locations
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
struct memory {
    const char *name;
    struct cudaMemLocation location;
    enum cudaMemAllocationType type;
};

/* YOUR WORK. The host writes 40 into each int, the device adds 2, and the host counts how many are
 * 42. `data` was just allocated from `pool`, a host pool, in `stream`. Nothing is copied: host and
 * device work on the same memory. The host waits for no other stream. */
static size_t work_together(cudaMemPool_t pool, int *data, size_t count, cudaStream_t stream)
{
    size_t correct = 0;
    struct cudaMemAccessDesc device = {{cudaMemLocationTypeDevice, 0},
                                       cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &device, 1));
    CHECK(cudaStreamSynchronize(stream)); /* for the allocation */
    for (size_t i = 0; i < count; i++)
        data[i] = 40;
    CHECK(launch_add(data, 2, count, stream));
    CHECK(cudaStreamSynchronize(stream)); /* for the device's writes */
    for (size_t i = 0; i < count; i++)
        correct += data[i] == 42;
    return correct;
}

/* Not every machine has pools outside of a device's memory. Query before you create one. */
static void need_pools(void)
{
    int host = 0, devices, managed = 1, concurrent;
    if (cudaDeviceGetAttribute(&host, cudaDevAttrHostMemoryPoolsSupported, 0) != cudaSuccess)
        host = 0; /* the driver is older than the attribute */
    CHECK(cudaGetDeviceCount(&devices));
    for (int device = 0; device < devices; device++) {
        CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
        managed = managed && concurrent;
    }
    if (host && managed)
        return;
    printf("skipped: host pools %s, managed pools %s\n", host ? "supported" : "not supported",
           managed ? "supported" : "not supported");
    exit(77);
}

static const char *type_of(const void *data)
{
    static const char *const names[] = {"unknown", "host", "device", "managed"};
    struct cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, data));
    return names[attributes.type];
}

/* An allocation of a default pool: what is it, may the device touch it, and what happens when the
 * device tries? */
static void show(struct memory memory, size_t mib, cudaStream_t stream)
{
    struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    enum cudaMemAccessFlags access;
    cudaMemPool_t pool, of_device;
    int *data;
    CHECK(cudaMemGetDefaultMemPool(&pool, &memory.location, memory.type));
    CHECK(cudaDeviceGetDefaultMemPool(&of_device, 0));
    CHECK(cudaMallocFromPoolAsync((void **)&data, mib * MiB, pool, stream));
    CHECK(cudaMemPoolGetAccess(&access, pool, &device));
    printf("%-8s %-16s %-8s %8zu %5zu   %-13s", memory.name,
           pool == of_device ? "the device's" : "one of its own", type_of(data), reserved_mib(pool),
           used_mib(pool), access ? "read, write" : "none");
    printf("  %s\n", cudaGetErrorName(cudaMemsetAsync(data, 0, mib * MiB, stream)));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 33), count = mib * MiB / sizeof(int), free_before,
           free_after, total;
    struct memory device = {"device", {cudaMemLocationTypeDevice, 0}, cudaMemAllocationTypePinned},
                  host = {"host", {cudaMemLocationTypeHost, 0}, cudaMemAllocationTypePinned},
                  managed = {
                      "managed", {cudaMemLocationTypeDevice, 0}, cudaMemAllocationTypeManaged};
    struct cudaMemPoolProps props = {.allocType = host.type, .location = host.location};
    cudaMemPool_t pool;
    int *data, *other;
    cudaStream_t stream;
    need_pools();
    CHECK(cudaStreamCreate(&stream));
    printf("%zu MiB from each default pool; reserved and used in MiB:\n", mib);
    printf("memory   default pool     type     reserved  used   device access  memset by the "
           "device\n");
    show(device, mib, stream);
    show(host, mib, stream);
    show(managed, mib, stream);

    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMemGetInfo(&free_before, &total));
    CHECK(cudaMallocFromPoolAsync((void **)&data, mib * MiB, pool, stream));
    CHECK(cudaMemGetInfo(&free_after, &total));
    printf("an allocation of a host pool takes %zu MiB from the device\n",
           (free_before - free_after) / MiB);
    size_t correct = work_together(pool, data, count, stream);
    printf("host and device worked on one allocation: %s\n",
           correct == count ? "every int is 42" : "not every int is 42");

    CHECK(cudaMemSetMemPool(&host.location, host.type, pool));
    CHECK(cudaMallocAsync((void **)&other, mib * MiB, stream));
    printf("the host pool is current, and cudaMallocAsync returns %s memory\n", type_of(other));
    printf("cudaDeviceSetMemPool with the host pool: %s\n",
           cudaGetErrorName(cudaDeviceSetMemPool(0, pool)));

    CHECK(cudaFreeAsync(other, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    return correct == count ? 0 : 1;
}
#endif
