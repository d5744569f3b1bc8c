/* Asks a real device about pools in other locations than a device's own memory, and about managed memory (probe_cases.h says how). */
#define _GNU_SOURCE
#include "probe_cases.h"

/* ---- pools ---- */

static void figures(cudaMemPool_t p, const char *what)
{
    uint64_t v[3] = { 0, 0, 0 };
    cudaMemPoolGetAttribute(p, cudaMemPoolAttrReservedMemCurrent, &v[0]);
    cudaMemPoolGetAttribute(p, cudaMemPoolAttrUsedMemCurrent, &v[1]);
    cudaMemPoolGetAttribute(p, cudaMemPoolAttrReleaseThreshold, &v[2]);
    printf("  %-40s reserved %llu used %llu threshold %llu\n", what, (unsigned long long)v[0], (unsigned long long)v[1], (unsigned long long)v[2]);
    cudaGetLastError();
}

static void access_of(cudaMemPool_t p)
{
    static const struct cudaMemLocation where[] = { { cudaMemLocationTypeDevice, 0 }, { cudaMemLocationTypeHost, 0 }, { cudaMemLocationTypeHostNuma, 0 }, { cudaMemLocationTypeHostNuma, 1 }, { cudaMemLocationTypeHostNumaCurrent, 0 } };
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        struct cudaMemLocation l = where[i];
        enum cudaMemAccessFlags f = (enum cudaMemAccessFlags)77;
        cudaError_t e = cudaMemPoolGetAccess(&f, p, &l);
        printf("  access of location %d id %d: %s %d\n", (int)l.type, l.id, cudaGetErrorName(e), e ? -1 : (int)f);
        cudaGetLastError();
    }
}

static void set_access(cudaMemPool_t p, int location, int id, int flags)
{
    struct cudaMemAccessDesc d = { { (enum cudaMemLocationType)location, id }, (enum cudaMemAccessFlags)flags };
    cudaError_t e = cudaMemPoolSetAccess(p, &d, 1);
    printf("  set access of location %d id %d to %d: %s\n", location, id, flags, cudaGetErrorName(e));
    cudaGetLastError();
}

static void kinds(void)
{
    for (int type = 0; type <= 2; type++)
        for (int location = 0; location <= 4; location++)
            for (int id = 0; id <= 2; id++) {
                cudaMemPool_t p = make(type == 2 ? cudaMemAllocationTypeManaged : type, location, id);
                if (p) cudaMemPoolDestroy(p);
            }
    for (int types = 1; types <= 9; types++) {
        struct cudaMemPoolProps p = props_of(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0), n = props_of(cudaMemAllocationTypePinned, cudaMemLocationTypeHostNuma, 0), g = props_of(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0);
        cudaMemPool_t pool;
        p.handleTypes = n.handleTypes = g.handleTypes = (enum cudaMemAllocationHandleType)types;
        printf("handle types %d: host %s", types, cudaGetErrorName(cudaMemPoolCreate(&pool, &p)));
        printf(" NUMA %s", cudaGetErrorName(cudaMemPoolCreate(&pool, &n)));
        printf(" managed %s\n", cudaGetErrorName(cudaMemPoolCreate(&pool, &g)));
        cudaGetLastError();
    }
    struct cudaMemPoolProps p = props_of(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0), g = props_of(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0);
    cudaMemPool_t pool;
    p.maxSize = g.maxSize = 1 * MiB;
    printf("maxSize 1 MiB: host %s", cudaGetErrorName(cudaMemPoolCreate(&pool, &p)));
    printf(" managed %s\n", cudaGetErrorName(cudaMemPoolCreate(&pool, &g)));
}

static void by_location(void)
{
    static const int types[] = { cudaMemAllocationTypeInvalid, cudaMemAllocationTypePinned, cudaMemAllocationTypeManaged };
    cudaMemPool_t def = NULL, cur, p, dd;
    struct cudaMemLocation l;
    cudaDeviceGetDefaultMemPool(&dd, 0);
    for (int i = 0; i < 3; i++)
        for (int location = 0; location <= 4; location++)
            for (int id = 0; id <= 2; id++) {
                l = (struct cudaMemLocation){ (enum cudaMemLocationType)location, id };
                def = cur = NULL;
                cudaError_t e = cudaMemGetDefaultMemPool(&def, &l, (enum cudaMemAllocationType)types[i]), f = cudaMemGetMemPool(&cur, &l, (enum cudaMemAllocationType)types[i]);
                printf("type %d location %d id %d: default %s current %s same %d device's %d\n", types[i], location, id, cudaGetErrorName(e), cudaGetErrorName(f), def && def == cur, def == dd);
                cudaGetLastError();
            }
    l = (struct cudaMemLocation){ cudaMemLocationTypeHost, 0 };
    ASK(cudaMemGetDefaultMemPool(NULL, &l, cudaMemAllocationTypePinned)); ASK(cudaMemGetDefaultMemPool(&def, NULL, cudaMemAllocationTypePinned));
    ASK(cudaMemGetDefaultMemPool(&def, &l, cudaMemAllocationTypePinned)); ASK(cudaMemPoolDestroy(def)); figures(def, "default host pool"); access_of(def);
    p = make(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0);
    ASK(cudaDeviceSetMemPool(0, p)); ASK(cudaMemSetMemPool(&l, cudaMemAllocationTypeManaged, p)); ASK(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, NULL)); ASK(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, dd));
    ASK(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p)); ASK(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned)); printf("  set %d\n", cur == p); ASK(cudaMemPoolDestroy(p)); ASK(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned)); printf("  default again %d\n", cur == def);
    p = make(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0); ASK(cudaDeviceSetMemPool(0, p));
    l = (struct cudaMemLocation){ cudaMemLocationTypeDevice, 0 };
    ASK(cudaMemSetMemPool(&l, cudaMemAllocationTypeManaged, p)); ASK(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p));
    ASK(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned)); printf("  device's pinned pool is its default %d\n", cur == dd);
    p = make(cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, 0); ASK(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p)); ASK(cudaDeviceGetMemPool(&cur, 0)); printf("  is the device's current %d\n", cur == p);
}

/* Memory of a pool of some kind: what may touch it, how it grows and goes back. */
static void memory_of(int type, int location)
{
    cudaMemPool_t p = make(type, location, 0);
    void *a = NULL, *c = NULL, *q = NULL;
    size_t before, after, total;
    enum { HOLD = 7 };
    if (!p) return;
    figures(p, "fresh"); access_of(p);
    cudaMemGetInfo(&before, &total);
    ASK(cudaMallocFromPoolAsync(&a, 1, p, s)); figures(p, "1 byte"); ASK(cudaMallocFromPoolAsync(&c, 1, p, s)); printf("  gap %lld alignment %llu\n", (long long)((char *)c - (char *)a), (unsigned long long)((uintptr_t)a & -(uintptr_t)a));
    cudaFreeAsync(c, s); ASK(cudaMallocFromPoolAsync(&c, 33 * MiB, p, s)); figures(p, "and 33 MiB"); cudaStreamSynchronize(s); cudaMemGetInfo(&after, &total); printf("  device memory fell by %lld\n", (long long)before - (long long)after);
    pointer(a, "of the pool"); ASK(cudaHostGetDevicePointer(&q, a, 0)); ASK(cudaFreeHost(a)); ASK(cudaMemsetAsync(a, 1, 1, s)); ASK(cudaMemcpyAsync(host, a, 1, cudaMemcpyDefault, s)); ASK(cudaMemcpyAsync(m, a, 1, cudaMemcpyHostToDevice, s)); ASK(cudaMemcpyAsync(m, a, 1, cudaMemcpyDeviceToDevice, s)); ASK(cudaStreamSynchronize(s));
    set_access(p, cudaMemLocationTypeDevice, 0, 3); ASK(cudaMemsetAsync(a, 1, 1, s)); ASK(cudaMemcpyAsync(m, a, 1, cudaMemcpyHostToDevice, s)); ASK(cudaMemcpyAsync(m, a, 1, cudaMemcpyDeviceToDevice, s)); ASK(launch_fill((int *)c, HOLD, 1, s)); ASK(cudaStreamSynchronize(s));
    access_of(p); set_access(p, cudaMemLocationTypeDevice, 0, 1); set_access(p, cudaMemLocationTypeDevice, 0, 0); set_access(p, cudaMemLocationTypeHost, 0, 3); set_access(p, cudaMemLocationTypeHost, 0, 1); set_access(p, cudaMemLocationTypeHost, 0, 0); set_access(p, cudaMemLocationTypeHostNuma, 0, 3); set_access(p, cudaMemLocationTypeHostNuma, 0, 0); access_of(p);
    ASK(cudaFreeAsync(c, s)); figures(p, "33 MiB freed"); cudaStreamSynchronize(s); figures(p, "synchronised"); ASK(cudaFree(a)); figures(p, "cudaFree of the rest"); ASK(cudaMemPoolTrimTo(p, 0)); figures(p, "trimmed"); pointer(a, "freed"); ASK(cudaMemPoolDestroy(p));
}

static void memory_host(void) { memory_of(cudaMemAllocationTypePinned, cudaMemLocationTypeHost); }
static void memory_numa(void) { memory_of(cudaMemAllocationTypePinned, cudaMemLocationTypeHostNuma); }
static void memory_managed(void) { memory_of(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice); }
static void memory_managed_none(void) { memory_of(cudaMemAllocationTypeManaged, cudaMemLocationTypeNone); }
static void memory_managed_host(void) { memory_of(cudaMemAllocationTypeManaged, cudaMemLocationTypeHost); }

static void device_pool_and_host_access(void)
{
    cudaMemPool_t p = make(cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, 0);
    access_of(p);
    for (int flags = 0; flags <= 3; flags += flags ? 2 : 1) { set_access(p, cudaMemLocationTypeHost, 0, flags); set_access(p, cudaMemLocationTypeHostNuma, 0, flags); }
    access_of(p);
}

/* The host writes, a kernel adds, the host reads. */
static void touch(int type, int location, int grant)
{
    cudaMemPool_t p = make(type, location, 0);
    int *a = NULL;
    if (!p) return;
    if (grant) set_access(p, cudaMemLocationTypeDevice, 0, 3);
    ASK(cudaMallocFromPoolAsync((void **)&a, 4096, p, s)); ASK(cudaStreamSynchronize(s));
    *(volatile int *)a = 40; printf("  the host wrote\n"); fflush(stdout);
    ASK(launch_add(a, 2, 1, s)); ASK(cudaStreamSynchronize(s)); printf("  the host reads %d\n", *(volatile int *)a);
}
static void touch_host(void) { touch(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 1); }
static void touch_numa(void) { touch(cudaMemAllocationTypePinned, cudaMemLocationTypeHostNuma, 1); }
static void touch_managed(void) { touch(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0); }
static void touch_host_not_granted(void) { touch(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0); }
static void touch_numa_not_granted(void) { touch(cudaMemAllocationTypePinned, cudaMemLocationTypeHostNuma, 0); }

static void touch_freed(void)
{
    cudaMemPool_t p = make(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0);
    int *a = NULL;
    ASK(cudaMallocFromPoolAsync((void **)&a, 4096, p, s)); ASK(cudaStreamSynchronize(s)); *(volatile int *)a = 1;
    ASK(cudaFreeAsync(a, s)); ASK(cudaStreamSynchronize(s)); figures(p, "freed, synchronised"); fflush(stdout);
    *(volatile int *)a = 2; printf("  the host wrote to freed memory\n");
}

static void managed(void)
{
    void *p = NULL;
    size_t before, after, total;
    struct cudaMemLocation d = { cudaMemLocationTypeDevice, 0 }, none = { cudaMemLocationTypeNone, 0 }, h = { cudaMemLocationTypeHost, 0 }, no = { cudaMemLocationTypeDevice, 99 }, numa = { cudaMemLocationTypeHostNuma, 99 }, now = { cudaMemLocationTypeHostNumaCurrent, 0 };
    ASK(cudaMallocManaged(&p, 0, cudaMemAttachGlobal)); ASK(cudaMallocManaged(&p, 64, 0)); ASK(cudaMallocManaged(&p, 64, 3)); ASK(cudaMallocManaged(NULL, 64, cudaMemAttachGlobal)); ASK(cudaMallocManaged(&p, 64, cudaMemAttachHost)); pointer(p, "managed, attached to the host"); ASK(cudaFree(p));
    cudaMemGetInfo(&before, &total); ASK(cudaMallocManaged(&p, 64 * MiB, cudaMemAttachGlobal)); cudaMemGetInfo(&after, &total); printf("  device memory fell by %lld\n", (long long)before - (long long)after);
    ASK(cudaMemPrefetchAsync(p, 64 * MiB, d, 0, s)); ASK(cudaStreamSynchronize(s)); cudaMemGetInfo(&after, &total); printf("  after the prefetch by %lld\n", (long long)before - (long long)after);
    ASK(cudaMemPrefetchAsync(p, 65 * MiB, d, 0, s)); ASK(cudaMemPrefetchAsync(p, 0, d, 0, s)); ASK(cudaMemPrefetchAsync(p, MiB, d, 1, s)); ASK(cudaMemPrefetchAsync(m, MiB, d, 0, s)); ASK(cudaMemPrefetchAsync(p, MiB, no, 0, s)); ASK(cudaMemPrefetchAsync(p, MiB, none, 0, s)); ASK(cudaMemPrefetchAsync(p, MiB, h, 0, s)); ASK(cudaMemPrefetchAsync(p, MiB, numa, 0, s)); ASK(cudaMemPrefetchAsync(p, MiB, now, 0, s));
    ASK(cudaMemAdvise(p, MiB, cudaMemAdviseSetReadMostly, none)); ASK(cudaMemAdvise(p, MiB, cudaMemAdviseSetPreferredLocation, h)); ASK(cudaMemAdvise(p, MiB, cudaMemAdviseSetAccessedBy, no)); ASK(cudaMemAdvise(p, MiB, cudaMemAdviseSetAccessedBy, none)); ASK(cudaMemAdvise(p, MiB, (enum cudaMemoryAdvise)99, d)); ASK(cudaMemAdvise(m, MiB, cudaMemAdviseSetReadMostly, d)); ASK(cudaMemAdvise(p, 0, cudaMemAdviseSetReadMostly, d));
    ASK(cudaFreeAsync(p, s)); ASK(cudaStreamSynchronize(s)); pointer(p, "freed by cudaFreeAsync");
}

static const struct probe_case cases[] = {
    { "kinds", kinds }, { "by_location", by_location }, { "memory_host", memory_host }, { "memory_numa", memory_numa },
    { "memory_managed", memory_managed }, { "memory_managed_none", memory_managed_none }, { "memory_managed_host", memory_managed_host },
    { "device_pool_and_host_access", device_pool_and_host_access }, { "touch_host", touch_host }, { "touch_numa", touch_numa },
    { "touch_managed", touch_managed }, { "touch_host_not_granted", touch_host_not_granted }, { "touch_numa_not_granted", touch_numa_not_granted },
    { "touch_freed", touch_freed }, { "managed", managed },
};

int main(int argc, char **argv) { return run_cases(argc, argv, cases, sizeof cases / sizeof *cases); }
