/* Pools in other locations than a device's own memory, pools by location, and managed memory. One
 * function for each rule. */
#include "expect.h"

#include "kernels.h"

static cudaStream_t s;

static struct cudaMemPoolProps props(enum cudaMemAllocationType type,
                                     enum cudaMemLocationType location, int id)
{
    struct cudaMemPoolProps p;
    memset(&p, 0, sizeof p);
    p.allocType = type;
    p.location.type = location;
    p.location.id = id;
    return p;
}

static cudaError_t create(cudaMemPool_t *pool, enum cudaMemAllocationType type,
                          enum cudaMemLocationType location, int id)
{
    struct cudaMemPoolProps p = props(type, location, id);
    return cudaMemPoolCreate(pool, &p);
}

/* Which pools there can be (measured: simulator/tests/facts/probe-pools.txt, "kinds"). */
static void which(void)
{
    cudaMemPool_t p;
    struct cudaMemPoolProps host = props(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0),
                            managed =
                                props(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 1);
    IS(cudaErrorInvalidValue, create(&p, cudaMemAllocationTypePinned, cudaMemLocationTypeNone, 0));
    IS(cudaErrorInvalidValue,
       create(&p, cudaMemAllocationTypePinned, cudaMemLocationTypeHostNumaCurrent, 0));
    IS(cudaErrorInvalidValue,
       create(&p, cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, 99));
    IS(cudaSuccess, create(&p, cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0));
    IS(cudaSuccess, cudaMemPoolDestroy(p));
    IS(cudaSuccess, create(&p, cudaMemAllocationTypePinned, cudaMemLocationTypeHostNuma, 0));
    IS(cudaSuccess, cudaMemPoolDestroy(p));
    IS(cudaSuccess, create(&p, cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0));
    IS(cudaSuccess, cudaMemPoolDestroy(p));
    IS(cudaSuccess, create(&p, cudaMemAllocationTypeManaged, cudaMemLocationTypeNone, 0));
    IS(cudaSuccess, cudaMemPoolDestroy(p));
    IS(cudaErrorInvalidValue,
       create(&p, cudaMemAllocationTypePinned, cudaMemLocationTypeHostNuma, 99));
    host.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    IS(cudaErrorInvalidValue, cudaMemPoolCreate(&p, &host));
    managed.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    IS(cudaErrorInvalidValue, cudaMemPoolCreate(&p, &managed));
    managed.handleTypes = cudaMemHandleTypeNone;
    managed.maxSize = 64 * MiB;
    IS(cudaErrorInvalidValue, cudaMemPoolCreate(&p, &managed));
    IS(cudaSuccess,
       create(&p, cudaMemAllocationTypeManaged, cudaMemLocationTypeHostNumaCurrent, 0));
    IS(cudaSuccess, cudaMemPoolDestroy(p));
}

static void attributes(const void *address, enum cudaMemoryType type, int device,
                       int device_pointer, int host_pointer)
{
    struct cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, address));
    SAME(type, a.type);
    SAME(device, a.device);
    SAME(device_pointer, a.devicePointer == address);
    SAME(host_pointer, a.hostPointer == address);
}

/* A host pool: the host writes, the device must be given access. */
static void host_pool(enum cudaMemLocationType location)
{
    cudaMemPool_t pool;
    int *p, *d, check[4] = {0};
    size_t before = 0, after = 0, total;
    uint64_t value = 0, max = UINT64_MAX;
    enum cudaMemAccessFlags flags;
    struct cudaMemLocation host = {cudaMemLocationTypeHost, 0},
                           device = {cudaMemLocationTypeDevice, 0};
    struct cudaMemAccessDesc grant = {device, cudaMemAccessFlagsProtReadWrite};
    OK(create(&pool, cudaMemAllocationTypePinned, location, 0));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &max));
    OK(cudaMalloc((void **)&d, 64));
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMallocFromPoolAsync((void **)&p, 33 * MiB, pool, s));
    OK(cudaMemGetInfo(&after, &total));
    SAME(before, after); /* none of the device's memory */
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
    SAME(64 * MiB, value);
    OK(cudaMemPoolGetAccess(&flags, pool, &host));
    SAME(cudaMemAccessFlagsProtReadWrite, flags);
    OK(cudaMemPoolGetAccess(&flags, pool, &device));
    SAME(cudaMemAccessFlagsProtNone, flags);
    attributes(p, cudaMemoryTypeHost, 0, 0, 1);
    OK(cudaStreamSynchronize(s));
    for (int i = 0; i < 4; i++)
        p[i] = i;
    IS(cudaErrorInvalidValue, cudaMemsetAsync(p + 8, 0, 4, s)); /* the device has no access */
    /* A copy needs no access, because it treats the block as ordinary host memory, ... */
    OK(cudaMemcpyAsync(d, p, 16, cudaMemcpyDefault, s));
    /* ... which has been copied aside when the call returns. */
    p[3] = 30;
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(check, d, 16, cudaMemcpyDefault));
    SAME(3, check[3]);
    p[3] = 3;
    IS(cudaErrorInvalidValue, cudaMemcpyAsync(d, p, 16, cudaMemcpyDeviceToDevice, s));
    OK(cudaMemPoolSetAccess(pool, &grant, 1));
    attributes(p, cudaMemoryTypeHost, 0, 1, 1);
    IS(cudaErrorInvalidValue, cudaMemcpyAsync(d, p, 16, cudaMemcpyDeviceToDevice, s));
    IS(cudaErrorInvalidValue, cudaMemcpyPeerAsync(d, 0, p, 0, 16, s));
    OK(cudaMemPoolGetAccess(&flags, pool, &device));
    SAME(cudaMemAccessFlagsProtReadWrite, flags);
    OK(launch_add(p, 10, 4, s));
    OK(cudaMemcpyAsync(d, p, 16, cudaMemcpyDefault, s));
    OK(cudaStreamSynchronize(s));
    SAME(12, p[2]);
    OK(cudaMemcpy(check, d, 16, cudaMemcpyDefault));
    SAME(13, check[3]);
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolTrimTo(pool, 0));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
    SAME(0, value);
    OK(cudaMemPoolDestroy(pool));
    OK(cudaFree(d));
}

/* Access that was given to another device, and is queried. */
static void two_devices(void)
{
    cudaMemPool_t pool;
    int *p;
    cudaStream_t other;
    struct cudaMemAccessDesc grant = {{cudaMemLocationTypeDevice, 1},
                                      cudaMemAccessFlagsProtReadWrite};
    OK(create(&pool, cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0));
    OK(cudaMemPoolSetAccess(pool, &grant, 1));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&other));
    OK(cudaMallocFromPoolAsync((void **)&p, 64, pool, other));
    OK(cudaMemsetAsync(p, 0, 64, other));
    OK(cudaStreamSynchronize(other));
    OK(cudaStreamDestroy(other));
    OK(cudaSetDevice(0));
    IS(cudaErrorInvalidValue, cudaMemsetAsync(p, 0, 64, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
}

/* A gate in a host pool to which the device has access. */
static void gate_in_pool(void)
{
    cudaMemPool_t pool;
    volatile int *gate;
    struct cudaMemAccessDesc grant = {{cudaMemLocationTypeDevice, 0},
                                      cudaMemAccessFlagsProtReadWrite};
    OK(create(&pool, cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0));
    OK(cudaMemPoolSetAccess(pool, &grant, 1));
    OK(cudaMallocFromPoolAsync((void **)&gate, 4096, pool, s));
    OK(cudaStreamSynchronize(s));
    *gate = 0;
    OK(launch_hold(gate, s));
    IS(cudaErrorNotReady, cudaStreamQuery(s));
    *gate = 1;
    OK(cudaStreamSynchronize(s));
    OK(cudaFreeAsync((void *)gate, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
}

static void managed_pool(void)
{
    cudaMemPool_t pool;
    int *p;
    struct cudaMemAccessDesc taken = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtNone};
    OK(create(&pool, cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 1));
    OK(cudaMallocFromPoolAsync((void **)&p, MiB, pool, s));
    OK(cudaStreamSynchronize(s));
    attributes(p, cudaMemoryTypeManaged, 1, 1, 1);
    *p = 7;
    /* Has no effect, because every device may touch managed memory. */
    OK(cudaMemPoolSetAccess(pool, &taken, 1));
    OK(launch_add(p, 1, 1, s)); /* s is on device 0 */
    OK(cudaStreamSynchronize(s));
    SAME(8, *p);
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolDestroy(pool));
}

static void managed_memory(void)
{
    int *p, *d;
    struct cudaMemLocation host = {cudaMemLocationTypeHost, 0},
                           device = {cudaMemLocationTypeDevice, 0},
                           none = {cudaMemLocationTypeDevice, 99};
    IS(cudaErrorInvalidValue, cudaMallocManaged((void **)&p, MiB, 7));
    OK(cudaMallocManaged((void **)&p, 0, cudaMemAttachGlobal));
    SAME(1, p == NULL);
    OK(cudaMallocManaged((void **)&p, MiB, cudaMemAttachGlobal));
    OK(cudaMalloc((void **)&d, 64));
    attributes(p, cudaMemoryTypeManaged, 0, 1, 1);
    p[5] = 5;
    OK(cudaMemPrefetchAsync(p, MiB, device, 0, s));
    OK(cudaMemAdvise(p, MiB, cudaMemAdviseSetPreferredLocation, host));
    OK(cudaMemAdvise(p, MiB, cudaMemAdviseSetReadMostly, host));
    IS(cudaErrorInvalidValue, cudaMemPrefetchAsync(p, 2 * MiB, device, 0, s));
    IS(cudaErrorInvalidValue, cudaMemPrefetchAsync(p, MiB, device, 1, s));
    IS(cudaErrorInvalidValue, cudaMemPrefetchAsync(d, 64, device, 0, s));
    IS(cudaErrorInvalidDevice, cudaMemPrefetchAsync(p, MiB, none, 0, s));
    IS(cudaErrorInvalidValue, cudaMemAdvise(p, MiB, (enum cudaMemoryAdvise)99, host));
    OK(launch_add(p, 1, 6, s));
    OK(cudaStreamSynchronize(s));
    SAME(6, p[5]);
    OK(cudaSetDevice(1));
    OK(cudaMemset(p, 0, 64)); /* from the other device */
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    SAME(0, p[5]);
    IS(cudaErrorNotSupported, cudaFreeAsync(p, s));
    OK(cudaFree(p));
    OK(cudaFree(d));
}

static void by_location(void)
{
    cudaMemPool_t pool, def, got, managed;
    struct cudaMemLocation host = {cudaMemLocationTypeHost, 0},
                           device = {cudaMemLocationTypeDevice, 0},
                           none = {cudaMemLocationTypeNone, 0},
                           now = {cudaMemLocationTypeHostNumaCurrent, 0};
    OK(cudaDeviceGetDefaultMemPool(&def, 0));
    OK(cudaMemGetDefaultMemPool(&got, &device, cudaMemAllocationTypePinned));
    SAME(1, got == def);
    OK(cudaMemGetDefaultMemPool(&managed, &device, cudaMemAllocationTypeManaged));
    SAME(1, managed != def);
    OK(cudaMemGetDefaultMemPool(&got, &none, cudaMemAllocationTypeManaged));
    SAME(1, got != managed);
    IS(cudaErrorInvalidValue, cudaMemGetDefaultMemPool(&got, &none, cudaMemAllocationTypePinned));
    IS(cudaErrorNotSupported, cudaMemGetDefaultMemPool(&got, &now, cudaMemAllocationTypePinned));
    IS(cudaErrorNotSupported, cudaMemSetMemPool(&now, cudaMemAllocationTypeManaged, managed));
    IS(cudaErrorInvalidValue,
       cudaMemGetDefaultMemPool(&got, &device, cudaMemAllocationTypeInvalid));
    OK(cudaMemGetDefaultMemPool(&def, &host, cudaMemAllocationTypePinned));
    OK(cudaMemGetMemPool(&got, &host, cudaMemAllocationTypePinned));
    SAME(1, got == def);
    IS(cudaErrorInvalidValue, cudaMemPoolDestroy(def));
    OK(create(&pool, cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0));
    IS(cudaErrorInvalidValue, cudaMemSetMemPool(&device, cudaMemAllocationTypePinned, pool));
    IS(cudaErrorInvalidValue, cudaMemSetMemPool(&host, cudaMemAllocationTypeManaged, pool));
    IS(cudaErrorInvalidValue, cudaDeviceSetMemPool(0, pool));
    OK(cudaDeviceSetMemPool(0, managed)); /* current for managed memory only */
    OK(cudaDeviceGetMemPool(&got, 0));
    SAME(0, got == managed);
    OK(cudaMemSetMemPool(&host, cudaMemAllocationTypePinned, pool));
    OK(cudaMemGetMemPool(&got, &host, cudaMemAllocationTypePinned));
    SAME(1, got == pool);
    OK(cudaMemPoolDestroy(pool)); /* the default is current again */
    OK(cudaMemGetMemPool(&got, &host, cudaMemAllocationTypePinned));
    SAME(1, got == def);
    OK(create(&pool, cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, 0));
    /* The same as cudaDeviceSetMemPool. */
    OK(cudaMemSetMemPool(&device, cudaMemAllocationTypePinned, pool));
    OK(cudaDeviceGetMemPool(&got, 0));
    SAME(1, got == pool);
    OK(cudaMemPoolDestroy(pool));
}

/* Fatal mistakes: location_rules touch_freed | touch_device | destroyed. A kernel without access:
 * location_rules no_access. */
static int last_words(const char *what)
{
    cudaMemPool_t pool;
    volatile int *p;
    if (!strcmp(what, "touch_device")) {
        OK(cudaMallocAsync((void **)&p, 64, s));
        *p = 1;
    }
    if (!strcmp(what, "destroyed")) {
        struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
        OK(create(&pool, cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, 0));
        OK(cudaMemPoolDestroy(pool));
        OK(cudaMemSetMemPool(&device, cudaMemAllocationTypePinned, pool));
    }
    OK(create(&pool, cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0));
    OK(cudaMallocFromPoolAsync((void **)&p, 64, pool, s));
    OK(cudaStreamSynchronize(s));
    *p = 1;
    if (!strcmp(what, "no_access")) {
        OK(launch_fill((int *)p, 1, 1, s));
        return is(__FILE__, __LINE__, "after a kernel without access", cudaStreamSynchronize(s),
                  cudaErrorIllegalAddress)
                 ? 1
                 : 4;
    }
    OK(cudaFreeAsync((void *)p, s));
    OK(cudaStreamSynchronize(s));
    *p = 2;
    return 0;
}

int main(int argc, char **argv)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    if (argc > 1)
        return last_words(argv[1]);
    which();
    host_pool(cudaMemLocationTypeHost);
    host_pool(cudaMemLocationTypeHostNuma);
    two_devices();
    gate_in_pool();
    managed_pool();
    managed_memory();
    by_location();
    if (!wrong)
        puts("all as expected");
    return wrong;
}
