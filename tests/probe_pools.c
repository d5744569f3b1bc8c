/* Asks a real device about pools in other locations than a device's own memory, and about managed memory (probe_cases.h says how). */
#define _GNU_SOURCE
#include "probe_cases.h"
#include "probe_wait.h"

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

/* ---- which pool, once one is current or gone ---- */

static const char *name_of(cudaMemPool_t p, cudaMemPool_t own, cudaMemPool_t def) { return !p ? "none" : p == own ? "the pool" : p == def ? "the default" : "another"; }

/* A current pool is destroyed: which one is current then? */
static void destroyed_current(int type, int location)
{
    cudaMemPool_t def = NULL, cur = NULL, p = make(type, location, 0);
    struct cudaMemLocation l = { (enum cudaMemLocationType)location, 0 };
    cudaMemGetDefaultMemPool(&def, &l, (enum cudaMemAllocationType)type);
    ASK(cudaMemSetMemPool(&l, (enum cudaMemAllocationType)type, p)); ASK(cudaMemPoolDestroy(p));
    ASK(cudaMemGetMemPool(&cur, &l, (enum cudaMemAllocationType)type)); printf("  current is %s\n", name_of(cur, p, def)); fflush(stdout);
    ASK(cudaMemSetMemPool(&l, (enum cudaMemAllocationType)type, def)); ASK(cudaMemGetMemPool(&cur, &l, (enum cudaMemAllocationType)type)); printf("  current is %s\n", name_of(cur, p, def));
}

/* A destroyed pool is made current. */
static void destroyed_made_current(void)
{
    cudaMemPool_t def = NULL, cur = NULL, p = make(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0);
    struct cudaMemLocation l = { cudaMemLocationTypeHost, 0 };
    void *a = NULL;
    cudaMemGetDefaultMemPool(&def, &l, cudaMemAllocationTypePinned); ASK(cudaMemPoolDestroy(p));
    ASK(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p)); ASK(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned)); printf("  current is %s\n", name_of(cur, p, def)); fflush(stdout);
    ASK(cudaMallocFromPoolAsync(&a, 64, cur, s)); pointer(a, "of the current pool");
}

/* As destroyed_host, with other calls before it. */
static void destroyed_after(int seen, int refused)
{
    cudaMemPool_t def = NULL, again = NULL, cur = NULL, p;
    struct cudaMemLocation l = { cudaMemLocationTypeHost, 0 };
    cudaMemGetDefaultMemPool(&def, &l, cudaMemAllocationTypePinned);
    if (refused) ASK(cudaMemPoolDestroy(def));
    p = make(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0);
    ASK(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p));
    if (seen) { ASK(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned)); printf("  current is %s\n", name_of(cur, p, def)); }
    ASK(cudaMemPoolDestroy(p)); ASK(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned)); printf("  current is %s\n", name_of(cur, p, def));
    ASK(cudaMemGetDefaultMemPool(&again, &l, cudaMemAllocationTypePinned)); printf("  the default is %s, current the default %d\n", name_of(again, p, def), cur == again);
}
static void destroyed_seen(void) { destroyed_after(1, 0); }
static void destroyed_refused(void) { destroyed_after(0, 1); }
static void destroyed_seen_refused(void) { destroyed_after(1, 1); }
static void destroyed_host(void) { destroyed_current(cudaMemAllocationTypePinned, cudaMemLocationTypeHost); }
static void destroyed_numa(void) { destroyed_current(cudaMemAllocationTypePinned, cudaMemLocationTypeHostNuma); }
static void destroyed_managed(void) { destroyed_current(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice); }
static void destroyed_managed_host(void) { destroyed_current(cudaMemAllocationTypeManaged, cudaMemLocationTypeHost); }
static void destroyed_device(void) { destroyed_current(cudaMemAllocationTypePinned, cudaMemLocationTypeDevice); }

/* The same, used at once. */
static void destroyed_host_used(void)
{
    cudaMemPool_t cur = NULL, p = make(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0);
    struct cudaMemLocation l = { cudaMemLocationTypeHost, 0 };
    void *a = NULL;
    ASK(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p)); ASK(cudaMemPoolDestroy(p)); ASK(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned));
    ASK(cudaMallocFromPoolAsync(&a, 64, cur, s)); ASK(cudaStreamSynchronize(s)); ASK(cudaFreeAsync(a, s)); ASK(cudaStreamSynchronize(s)); figures(cur, "current pool");
}

static void async_gets(cudaMemPool_t host_pool, cudaMemPool_t managed_pool)
{
    void *a = NULL;
    ASK(cudaMallocAsync(&a, MiB, s)); pointer(a, "of cudaMallocAsync");
    figures(host_pool, "host pool"); figures(managed_pool, "managed pool");
    ASK(cudaFreeAsync(a, s)); ASK(cudaStreamSynchronize(s));
}

/* Which pools does cudaMallocAsync look at? */
static void which_is_used(void)
{
    cudaMemPool_t dd, cur, h = make(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0), g = make(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0), d = make(cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, 0);
    struct cudaMemLocation lh = { cudaMemLocationTypeHost, 0 }, ld = { cudaMemLocationTypeDevice, 0 };
    cudaDeviceGetDefaultMemPool(&dd, 0);
    ASK(cudaMemSetMemPool(&lh, cudaMemAllocationTypePinned, h)); async_gets(h, g);
    ASK(cudaMemSetMemPool(&ld, cudaMemAllocationTypeManaged, g)); async_gets(h, g);
    ASK(cudaDeviceGetMemPool(&cur, 0)); printf("  the device's current pool is %s\n", name_of(cur, g, dd));
    ASK(cudaDeviceSetMemPool(0, d)); ASK(cudaMemGetMemPool(&cur, &ld, cudaMemAllocationTypeManaged)); printf("  the current managed pool is %s\n", name_of(cur, g, d));
    ASK(cudaDeviceSetMemPool(0, dd));
    ASK(cudaDeviceSetMemPool(0, g)); ASK(cudaDeviceGetMemPool(&cur, 0)); printf("  the device's current pool is %s\n", name_of(cur, g, dd)); async_gets(h, g);
    ASK(cudaMemGetMemPool(&cur, &ld, cudaMemAllocationTypeManaged)); printf("  the current managed pool is %s\n", name_of(cur, g, dd));
}

static void same_place(const char *what, struct cudaMemLocation a, struct cudaMemLocation b, int type)
{
    cudaMemPool_t p = NULL, q = NULL;
    cudaMemGetDefaultMemPool(&p, &a, (enum cudaMemAllocationType)type); cudaMemGetDefaultMemPool(&q, &b, (enum cudaMemAllocationType)type);
    printf("  type %d, %s: same default pool %d\n", type, what, p && p == q); cudaGetLastError();
}

static void same_places(void)
{
    struct cudaMemLocation d = { cudaMemLocationTypeDevice, 0 }, h = { cudaMemLocationTypeHost, 0 }, h1 = { cudaMemLocationTypeHost, 1 }, n = { cudaMemLocationTypeHostNuma, 0 }, none = { cudaMemLocationTypeNone, 0 }, none1 = { cudaMemLocationTypeNone, 1 };
    same_place("host 0, host 1", h, h1, cudaMemAllocationTypePinned); same_place("host, NUMA", h, n, cudaMemAllocationTypePinned);
    same_place("host 0, host 1", h, h1, cudaMemAllocationTypeManaged); same_place("host, NUMA", h, n, cudaMemAllocationTypeManaged); same_place("device, host", d, h, cudaMemAllocationTypeManaged); same_place("device, none", d, none, cudaMemAllocationTypeManaged); same_place("none 0, none 1", none, none1, cudaMemAllocationTypeManaged);
}

/* The default pools of other places: do they serve? */
static void default_pools(void)
{
    static const int type[] = { cudaMemAllocationTypePinned, cudaMemAllocationTypePinned, cudaMemAllocationTypeManaged, cudaMemAllocationTypeManaged }, location[] = { cudaMemLocationTypeHost, cudaMemLocationTypeHostNuma, cudaMemLocationTypeDevice, cudaMemLocationTypeNone };
    for (int i = 0; i < 4; i++) {
        struct cudaMemLocation l = { (enum cudaMemLocationType)location[i], 0 };
        cudaMemPool_t p = NULL;
        int *a = NULL;
        ASK(cudaMemGetDefaultMemPool(&p, &l, (enum cudaMemAllocationType)type[i])); access_of(p); set_access(p, cudaMemLocationTypeDevice, 0, 3);
        ASK(cudaMallocFromPoolAsync((void **)&a, 4096, p, s)); ASK(cudaStreamSynchronize(s)); *(volatile int *)a = 40; ASK(launch_add(a, 2, 1, s)); ASK(cudaStreamSynchronize(s)); printf("  the host reads %d\n", *(volatile int *)a);
        figures(p, "4096 bytes"); ASK(cudaFreeAsync(a, s)); ASK(cudaStreamSynchronize(s)); figures(p, "freed"); set_access(p, cudaMemLocationTypeDevice, 0, 0);
    }
}

/* ---- what may touch a block ---- */

static void copies(int type, int location)
{
    cudaMemPool_t p = make(type, location, 0);
    char *a = NULL, pageable[64] = { 0 };
    void *q = NULL;
    ASK(cudaMallocFromPoolAsync((void **)&a, 2 * MiB, p, s)); ASK(cudaStreamSynchronize(s));
    for (int granted = 0; granted < 2; granted++) {
        if (granted) set_access(p, cudaMemLocationTypeDevice, 0, 3);
        pointer(a, granted ? "granted" : "not granted"); ASK(cudaHostGetDevicePointer(&q, a, 0));
        for (int kind = cudaMemcpyHostToHost; kind <= cudaMemcpyDefault; kind++) {
            printf("  kind %d: device %s,", kind, cudaGetErrorName(cudaMemcpyAsync(m, a, 64, (enum cudaMemcpyKind)kind, s))); printf(" from device %s,", cudaGetErrorName(cudaMemcpyAsync(a, m, 64, (enum cudaMemcpyKind)kind, s)));
            printf(" pinned %s,", cudaGetErrorName(cudaMemcpyAsync(host, a, 64, (enum cudaMemcpyKind)kind, s))); printf(" pageable %s,", cudaGetErrorName(cudaMemcpyAsync(pageable, a, 64, (enum cudaMemcpyKind)kind, s))); printf(" from pageable %s\n", cudaGetErrorName(cudaMemcpyAsync(a, pageable, 64, (enum cudaMemcpyKind)kind, s))); cudaGetLastError();
        }
        ASK(cudaMemcpyPeerAsync(m, 0, a, 0, 64, s)); ASK(cudaMemcpyAsync(m, a + 2 * MiB - 1, 2, cudaMemcpyDefault, s)); ASK(cudaMemsetAsync(a + 2 * MiB - 1, 0, 2, s)); ASK(cudaStreamSynchronize(s));
    }
    set_access(p, cudaMemLocationTypeDevice, 0, 0); pointer(a, "taken back"); ASK(cudaMemsetAsync(a, 1, 1, s)); ASK(cudaMemcpyAsync(m, a, 64, cudaMemcpyDefault, s)); ASK(cudaStreamSynchronize(s));
    ASK(launch_add((int *)a, 1, 1, s)); ASK(cudaStreamSynchronize(s)); printf("  the host reads %d\n", *(volatile int *)a);
}
static void copies_host(void) { copies(cudaMemAllocationTypePinned, cudaMemLocationTypeHost); }
static void copies_numa(void) { copies(cudaMemAllocationTypePinned, cudaMemLocationTypeHostNuma); }
static void copies_managed(void) { copies(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice); }

#define WAITS(call) WAITS_LINE(gate, launch_hold(gate, s), call, #call)

/* Which calls wait for pending work? */
static void waits(void)
{
    cudaMemPool_t h = make(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0), g = make(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0);
    void *a = NULL, *c = NULL, *d = NULL, *e = NULL;
    cudaMallocFromPoolAsync(&a, 4 * MiB, h, s);
    WAITS(cudaMemcpyAsync(m, a, MiB, cudaMemcpyDefault, s)); WAITS(cudaMemcpyAsync(a, m, MiB, cudaMemcpyDefault, s)); WAITS(cudaMemcpyAsync(host, a, MiB, cudaMemcpyDefault, s));
    set_access(h, cudaMemLocationTypeDevice, 0, 3);
    cudaMallocFromPoolAsync(&c, 4 * MiB, g, s); cudaMallocFromPoolAsync(&e, 4 * MiB, h, s); cudaMallocManaged(&d, 4 * MiB, cudaMemAttachGlobal);
    WAITS(cudaMemcpyAsync(m, a, MiB, cudaMemcpyDefault, s)); WAITS(cudaMemcpyAsync(a, m, MiB, cudaMemcpyDefault, s)); WAITS(cudaMemcpyAsync(host, a, MiB, cudaMemcpyDefault, s)); WAITS(cudaMemcpyAsync(a, e, 4 * MiB, cudaMemcpyDefault, s)); WAITS(cudaMemsetAsync(a, 0, MiB, s));
    WAITS(cudaMemcpyAsync(m, c, MiB, cudaMemcpyDefault, s)); WAITS(cudaMemsetAsync(c, 0, MiB, s)); WAITS(cudaMallocFromPoolAsync(&e, 40 * MiB, h, s)); WAITS(cudaMallocFromPoolAsync(&e, 40 * MiB, g, s)); WAITS(cudaFreeAsync(a, s)); WAITS(cudaFreeAsync(c, s)); WAITS(cudaMemPoolTrimTo(h, 0)); WAITS(cudaFree(d));
}

static void gate_in_host_pool(void)
{
    cudaMemPool_t h = make(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0);
    int *a = NULL;
    set_access(h, cudaMemLocationTypeDevice, 0, 3);
    ASK(cudaMallocFromPoolAsync((void **)&a, 4096, h, s)); ASK(cudaStreamSynchronize(s)); *(volatile int *)a = 0;
    ASK(launch_hold(a, s)); ASK(cudaStreamQuery(s)); *(volatile int *)a = 1; ASK(cudaStreamSynchronize(s));
}

/* ---- how much of the device's memory managed memory takes ---- */

static size_t free_at_first;
static void fell(const char *what)
{
    size_t now, total;
    cudaMemGetInfo(&now, &total);
    printf("  %-40s device memory fell by %lld MiB\n", what, ((long long)free_at_first - (long long)now) >> 20);
}

static void managed_takes(void)
{
    struct cudaMemLocation d = { cudaMemLocationTypeDevice, 0 }, h = { cudaMemLocationTypeHost, 0 };
    size_t total;
    int *p[4];
    cudaMemGetInfo(&free_at_first, &total);
    for (int i = 0; i < 4; i++) { cudaMallocManaged((void **)&p[i], (size_t)(32 << i) * MiB, cudaMemAttachGlobal); printf("%d MiB of cudaMallocManaged\n", 32 << i); fell("allocated"); ASK(cudaMemPrefetchAsync(p[i], (size_t)(32 << i) * MiB, d, 0, s)); cudaStreamSynchronize(s); fell("prefetched"); }
    ASK(cudaMemPrefetchAsync(p[3], 256 * MiB, h, 0, s)); cudaStreamSynchronize(s); fell("the last one to the host");
    launch_fill(p[3], 1, 64 * MiB, s); cudaStreamSynchronize(s); fell("a kernel wrote it");
    for (size_t i = 0; i < 64 * MiB; i += 1024) ((volatile int *)p[3])[i] = 1;
    fell("the host wrote it");
    for (int i = 3; i >= 0; i--) { cudaFree(p[i]); fell("freed"); }
    ASK(cudaMallocManaged((void **)&p[0], 0, cudaMemAttachGlobal)); pointer(p[0], "of 0 bytes"); printf("  null %d\n", !p[0]);
}

static void managed_pool_takes(void)
{
    size_t total;
    void *p[4];
    cudaMemPool_t g = make(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0);
    cudaMemGetInfo(&free_at_first, &total);
    for (int i = 0; i < 4; i++) { cudaMallocFromPoolAsync(&p[i], (size_t)(32 << i) * MiB, g, s); printf("%d MiB of a managed pool\n", 32 << i); fell("allocated"); cudaStreamSynchronize(s); fell("synchronised"); figures(g, "allocated"); }
    for (int i = 3; i >= 0; i--) { cudaFreeAsync(p[i], s); fell("freed"); cudaStreamSynchronize(s); fell("synchronised"); figures(g, "freed"); }
    ASK(cudaMemPoolDestroy(g)); fell("destroyed");
}

static void limits(void)
{
    struct cudaMemPoolProps p = props_of(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0);
    cudaMemPool_t h, g = make(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0);
    uint64_t v = 64 * MiB;
    void *a = NULL;
    p.maxSize = 64 * MiB;
    ASK(cudaMemPoolCreate(&h, &p)); ASK(cudaMallocFromPoolAsync(&a, 65 * MiB, h, s)); ASK(cudaMallocFromPoolAsync(&a, 64 * MiB, h, s)); ASK(cudaMallocFromPoolAsync(&a, 0, h, s)); ASK(cudaMallocFromPoolAsync(&a, (size_t)1 << 50, h, s)); ASK(cudaMallocFromPoolAsync(&a, (size_t)1 << 50, g, s));
    p.maxSize = (size_t)1 << 50; ASK(cudaMemPoolCreate(&h, &p)); p.maxSize = 0; ASK(cudaMemPoolCreate(&h, &p));
    ASK(cudaMemPoolSetAttribute(h, cudaMemPoolAttrReleaseThreshold, &v)); ASK(cudaMallocFromPoolAsync(&a, 96 * MiB, h, s)); ASK(cudaFreeAsync(a, s)); cudaStreamSynchronize(s); figures(h, "96 MiB freed, threshold 64 MiB"); ASK(cudaMemPoolTrimTo(h, 0)); figures(h, "trimmed");
    set_access(h, cudaMemLocationTypeHostNuma, 1, 3); set_access(h, cudaMemLocationTypeHostNumaCurrent, 0, 3); set_access(h, cudaMemLocationTypeNone, 0, 3); set_access(h, cudaMemLocationTypeDevice, 99, 3); set_access(g, cudaMemLocationTypeHostNuma, 1, 3); set_access(g, cudaMemLocationTypeDevice, 99, 3); set_access(h, cudaMemLocationTypeHost, 0, 2); set_access(g, cudaMemLocationTypeHost, 0, 2);
}

static void captured(void)
{
    cudaMemPool_t h = make(cudaMemAllocationTypePinned, cudaMemLocationTypeHost, 0), g = make(cudaMemAllocationTypeManaged, cudaMemLocationTypeDevice, 0);
    cudaGraph_t graph = NULL;
    void *a = NULL;
    ASK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)); ASK(cudaMallocFromPoolAsync(&a, MiB, h, s)); ASK(cudaStreamEndCapture(s, &graph));
    ASK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)); ASK(cudaMallocFromPoolAsync(&a, MiB, g, s)); ASK(cudaStreamEndCapture(s, &graph));
}

static const struct probe_case cases[] = {
    { "kinds", kinds }, { "by_location", by_location }, { "memory_host", memory_host }, { "memory_numa", memory_numa },
    { "memory_managed", memory_managed }, { "memory_managed_none", memory_managed_none }, { "memory_managed_host", memory_managed_host },
    { "device_pool_and_host_access", device_pool_and_host_access }, { "touch_host", touch_host }, { "touch_numa", touch_numa },
    { "touch_managed", touch_managed }, { "touch_host_not_granted", touch_host_not_granted }, { "touch_numa_not_granted", touch_numa_not_granted },
    { "touch_freed", touch_freed }, { "managed", managed },
    { "destroyed_host", destroyed_host }, { "destroyed_numa", destroyed_numa }, { "destroyed_managed", destroyed_managed },
    { "destroyed_managed_host", destroyed_managed_host }, { "destroyed_device", destroyed_device }, { "destroyed_host_used", destroyed_host_used },
    { "destroyed_made_current", destroyed_made_current }, { "destroyed_seen", destroyed_seen }, { "destroyed_refused", destroyed_refused }, { "destroyed_seen_refused", destroyed_seen_refused }, { "which_is_used", which_is_used },
    { "same_places", same_places }, { "default_pools", default_pools }, { "copies_host", copies_host }, { "copies_numa", copies_numa },
    { "copies_managed", copies_managed }, { "waits", waits }, { "gate_in_host_pool", gate_in_host_pool }, { "managed_takes", managed_takes },
    { "managed_pool_takes", managed_pool_takes }, { "limits", limits }, { "captured", captured },
};

int main(int argc, char **argv) { return run_cases(argc, argv, cases, sizeof cases / sizeof *cases); }
