/* Records pools in other locations than a device's own memory, and managed memory: which
 * there are, who may touch their memory, what it takes, and which pool is current. */
#include "probe.h"

static struct cudaMemLocation device_0 = {DEVICE, 0}, host_0 = {HOST, 0}, nowhere = {NOWHERE, 0},
                              no_device = {DEVICE, 99};

/* What the calls are given. */
static struct cudaMemLocation l = {HOST, 0};
static void *a;

/* ---- what the lines show ---- */

static void print_figures(cudaMemPool_t p, const char *what)
{
    printf("  %-40s reserved %llu used %llu threshold %llu\n", what, bytes_reserved(p),
           bytes_used(p), pool_figure(p, cudaMemPoolAttrReleaseThreshold));
    cudaGetLastError();
}

#define FIGURES_AFTER(call, p, what) ((void)(call), print_figures(p, what))

static void print_access(cudaMemPool_t p)
{
    static const struct cudaMemLocation locations[] = {
        {DEVICE, 0}, {HOST, 0}, {NUMA, 0}, {NUMA, 1}, {cudaMemLocationTypeHostNumaCurrent, 0},
    };
    for (size_t i = 0; i < sizeof locations / sizeof *locations; i++) {
        struct cudaMemLocation l = locations[i];
        enum cudaMemAccessFlags flags = (enum cudaMemAccessFlags)77;
        cudaError_t error = cudaMemPoolGetAccess(&flags, p, &l);
        printf("  access of location %d id %d: %s %d\n", (int)l.type, l.id, cudaGetErrorName(error),
               error ? -1 : (int)flags);
        cudaGetLastError();
    }
}

static void set_access(cudaMemPool_t p, int location, int id, int flags)
{
    cudaError_t error = give_access(p, location_of(location, id), flags);
    printf("  set access of location %d id %d to %d: %s\n", location, id, flags,
           cudaGetErrorName(error));
    cudaGetLastError();
}

static void set_device_access(cudaMemPool_t p, int flags) { set_access(p, DEVICE, 0, flags); }

static cudaMemPool_t make_device_pool(void) { return make_pool(PINNED, DEVICE, 0); }
static cudaMemPool_t make_host_pool(void) { return make_pool(PINNED, HOST, 0); }
static cudaMemPool_t make_managed_pool(void) { return make_pool(MANAGED, DEVICE, 0); }

static struct cudaMemPoolProps host_props(void) { return pool_props(PINNED, HOST, 0); }
static struct cudaMemPoolProps numa_props(void) { return pool_props(PINNED, NUMA, 0); }
static struct cudaMemPoolProps managed_props(void) { return pool_props(MANAGED, DEVICE, 0); }

CASE(kinds)
{
    cudaMemPool_t pool;

    /* Which types of pools can be made in which locations? */
    for (int type = 0; type <= 2; type++)
        for (int location = 0; location <= 4; location++)
            for (int id = 0; id <= 2; id++) {
                cudaMemPool_t p = make_pool(type == 2 ? MANAGED : type, location, id);
                if (p)
                    cudaMemPoolDestroy(p);
            }

    /* Which types of pools can be exported, by which handle types? */
    for (int types = 1; types <= 9; types++) {
        struct cudaMemPoolProps p = host_props(), n = numa_props(), g = managed_props();
        p.handleTypes = n.handleTypes = g.handleTypes = (enum cudaMemAllocationHandleType)types;
        printf("handle types %d: host %s", types, cudaGetErrorName(cudaMemPoolCreate(&pool, &p)));
        printf(" NUMA %s", cudaGetErrorName(cudaMemPoolCreate(&pool, &n)));
        printf(" managed %s\n", cudaGetErrorName(cudaMemPoolCreate(&pool, &g)));
        cudaGetLastError();
    }

    /* Which types of pools may have a maxSize? */
    struct cudaMemPoolProps p = host_props(), g = managed_props();
    p.maxSize = g.maxSize = 1 * MiB;
    printf("maxSize 1 MiB: host %s", cudaGetErrorName(cudaMemPoolCreate(&pool, &p)));
    printf(" managed %s\n", cudaGetErrorName(cudaMemPoolCreate(&pool, &g)));
}

CASE(by_location)
{
    cudaMemPool_t dd, cur, p, def = NULL;
    cudaDeviceGetDefaultMemPool(&dd, 0);

    /* Which location has a default pool of which type, and is it the current one, or the
     * device's? */
    static const int types[] = {cudaMemAllocationTypeInvalid, PINNED, MANAGED};
    for (int i = 0; i < 3; i++)
        for (int location = 0; location <= 4; location++)
            for (int id = 0; id <= 2; id++) {
                enum cudaMemAllocationType type = (enum cudaMemAllocationType)types[i];
                struct cudaMemLocation l = {(enum cudaMemLocationType)location, id};
                cudaMemPool_t def = NULL, cur = NULL;
                cudaError_t error = cudaMemGetDefaultMemPool(&def, &l, type);
                cudaError_t error_of_current = cudaMemGetMemPool(&cur, &l, type);
                printf("type %d location %d id %d: default %s current %s same %d device's %d\n",
                       types[i], location, id, cudaGetErrorName(error),
                       cudaGetErrorName(error_of_current), def && def == cur, def == dd);
                cudaGetLastError();
            }

    /* What is the host's default pool like, and can it be destroyed? */
    RECORD(cudaMemGetDefaultMemPool(NULL, &l, cudaMemAllocationTypePinned));
    RECORD(cudaMemGetDefaultMemPool(&def, NULL, cudaMemAllocationTypePinned));
    RECORD(cudaMemGetDefaultMemPool(&def, &l, cudaMemAllocationTypePinned));
    FIGURES_AFTER(RECORD(cudaMemPoolDestroy(def)), def, "default host pool");
    print_access(def);

    /* Which pool can be made the host's current one, and which is current when that is
     * destroyed? */
    p = make_host_pool();
    RECORD(cudaDeviceSetMemPool(0, p));
    RECORD(cudaMemSetMemPool(&l, cudaMemAllocationTypeManaged, p));
    RECORD(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, NULL));
    RECORD(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, dd));
    RECORD(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p));
    RECORD(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned));
    printf("  set %d\n", cur == p);
    RECORD(cudaMemPoolDestroy(p));
    RECORD(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned));
    printf("  default again %d\n", cur == def);

    /* Can a managed pool be made the device's current one, and is it the current pinned pool,
     * too? */
    l = device_0;
    p = make_managed_pool();
    RECORD(cudaDeviceSetMemPool(0, p));
    RECORD(cudaMemSetMemPool(&l, cudaMemAllocationTypeManaged, p));
    RECORD(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p));
    RECORD(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned));
    printf("  device's pinned pool is its default %d\n", cur == dd);
    p = make_device_pool();
    RECORD(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p));
    RECORD(cudaDeviceGetMemPool(&cur, 0));
    printf("  is the device's current %d\n", cur == p);
}

/* ---- the memory of such a pool ---- */

static void memory_of(int type, int location)
{
    cudaMemPool_t p = make_pool(type, location, 0);
    void *a = NULL, *c = NULL, *q = NULL;
    enum { HOLD = 7 }; /* the value that a kernel writes */
    if (!p)
        return;

    /* How does such a pool grow? */
    print_figures(p, "fresh");
    print_access(p);
    free_at_first = free_now();
    FIGURES_AFTER(RECORD(cudaMallocFromPoolAsync(&a, 1, p, s)), p, "1 byte");
    RECORD(cudaMallocFromPoolAsync(&c, 1, p, s));
    printf("  gap %lld alignment %llu\n", distance(c, a), alignment_of(a));
    cudaFreeAsync(c, s);
    FIGURES_AFTER(RECORD(cudaMallocFromPoolAsync(&c, 33 * MiB, p, s)), p, "and 33 MiB");
    cudaStreamSynchronize(s);
    printf("  device memory fell by %lld\n", fallen());

    /* Which calls take its memory before the device was granted access? */
    print_pointer(a, "of the pool");
    RECORD(cudaHostGetDevicePointer(&q, a, 0));
    RECORD(cudaFreeHost(a));
    RECORD(cudaMemsetAsync(a, 1, 1, s));
    RECORD(cudaMemcpyAsync(host, a, 1, cudaMemcpyDefault, s));
    RECORD(cudaMemcpyAsync(m, a, 1, cudaMemcpyHostToDevice, s));
    RECORD_SYNC(cudaMemcpyAsync(m, a, 1, cudaMemcpyDeviceToDevice, s), s);

    /* Which calls take its memory after the device was granted access? */
    set_device_access(p, 3);
    RECORD(cudaMemsetAsync(a, 1, 1, s));
    RECORD(cudaMemcpyAsync(m, a, 1, cudaMemcpyHostToDevice, s));
    RECORD(cudaMemcpyAsync(m, a, 1, cudaMemcpyDeviceToDevice, s));
    RECORD_SYNC(launch_fill((int *)c, HOLD, 1, s), s);

    /* Which access can be granted and taken back? */
    print_access(p);
    set_device_access(p, 1);
    set_device_access(p, 0);
    set_access(p, HOST, 0, 3);
    set_access(p, HOST, 0, 1);
    set_access(p, HOST, 0, 0);
    set_access(p, NUMA, 0, 3);
    set_access(p, NUMA, 0, 0);
    print_access(p);

    /* When does its memory go back? */
    FIGURES_AFTER(RECORD(cudaFreeAsync(c, s)), p, "33 MiB freed");
    FIGURES_AFTER(cudaStreamSynchronize(s), p, "synchronised");
    FIGURES_AFTER(RECORD(cudaFree(a)), p, "cudaFree of the rest");
    FIGURES_AFTER(RECORD(cudaMemPoolTrimTo(p, 0)), p, "trimmed");
    print_pointer(a, "freed");
    RECORD(cudaMemPoolDestroy(p));
}

CASE(memory_host) { memory_of(PINNED, HOST); }
CASE(memory_numa) { memory_of(PINNED, NUMA); }
CASE(memory_managed) { memory_of(MANAGED, DEVICE); }
CASE(memory_managed_none) { memory_of(MANAGED, NOWHERE); }
CASE(memory_managed_host) { memory_of(MANAGED, HOST); }

/* ---- who may touch it ---- */

/* Can the host be granted access to a device's own pool? */
CASE(device_pool_and_host_access)
{
    static const int flags[] = {0, 1, 3};
    cudaMemPool_t p = make_device_pool();
    print_access(p);
    for (int i = 0; i < 3; i++) {
        set_access(p, HOST, 0, flags[i]);
        set_access(p, NUMA, 0, flags[i]);
    }
    print_access(p);
}

/* Can the host write, a kernel add, the host read, with access granted to the device or not? */
static void touch(int type, int location, int grant)
{
    cudaMemPool_t p = make_pool(type, location, 0);
    int *a = NULL;
    if (!p)
        return;
    if (grant)
        set_device_access(p, 3);
    RECORD_SYNC(cudaMallocFromPoolAsync((void **)&a, 4096, p, s), s);
    *(volatile int *)a = 40;
    printf("  the host wrote\n");
    RECORD_SYNC(launch_add(a, 2, 1, s), s);
    printf("  the host reads %d\n", *(volatile int *)a);
}

CASE(touch_host) { touch(PINNED, HOST, 1); }
CASE(touch_numa) { touch(PINNED, NUMA, 1); }
CASE(touch_managed) { touch(MANAGED, DEVICE, 0); }
CASE(touch_host_not_granted) { touch(PINNED, HOST, 0); }
CASE(touch_numa_not_granted) { touch(PINNED, NUMA, 0); }

/* What becomes of a host that writes to freed memory? */
CASE(touch_freed)
{
    cudaMemPool_t p = make_host_pool();
    int *a = NULL;
    RECORD_SYNC(cudaMallocFromPoolAsync((void **)&a, 4096, p, s), s);
    *(volatile int *)a = 1;
    RECORD_SYNC(cudaFreeAsync(a, s), s);
    print_figures(p, "freed, synchronised");
    *(volatile int *)a = 2;
    printf("  the host wrote to freed memory\n");
}

CASE(managed)
{
    struct cudaMemLocation d = device_0, none = nowhere, h = host_0, no = no_device;
    struct cudaMemLocation numa = {NUMA, 99}, now = {cudaMemLocationTypeHostNumaCurrent, 0};
    void *p = NULL;

    /* Which sizes and flags does cudaMallocManaged take? */
    RECORD(cudaMallocManaged(&p, 0, cudaMemAttachGlobal));
    RECORD(cudaMallocManaged(&p, 64, 0));
    RECORD(cudaMallocManaged(&p, 64, 3));
    RECORD(cudaMallocManaged(NULL, 64, cudaMemAttachGlobal));
    RECORD(cudaMallocManaged(&p, 64, cudaMemAttachHost));
    print_pointer(p, "managed, attached to the host");
    RECORD(cudaFree(p));

    /* Does managed memory take a device's memory at once, or when it is prefetched? */
    free_at_first = free_now();
    RECORD(cudaMallocManaged(&p, 64 * MiB, cudaMemAttachGlobal));
    printf("  device memory fell by %lld\n", fallen());
    RECORD_SYNC(cudaMemPrefetchAsync(p, 64 * MiB, d, 0, s), s);
    printf("  after the prefetch by %lld\n", fallen());

    /* Which ranges and locations does a prefetch take? */
    RECORD(cudaMemPrefetchAsync(p, 65 * MiB, d, 0, s));
    RECORD(cudaMemPrefetchAsync(p, 0, d, 0, s));
    RECORD(cudaMemPrefetchAsync(p, MiB, d, 1, s));
    RECORD(cudaMemPrefetchAsync(m, MiB, d, 0, s));
    RECORD(cudaMemPrefetchAsync(p, MiB, no, 0, s));
    RECORD(cudaMemPrefetchAsync(p, MiB, none, 0, s));
    RECORD(cudaMemPrefetchAsync(p, MiB, h, 0, s));
    RECORD(cudaMemPrefetchAsync(p, MiB, numa, 0, s));
    RECORD(cudaMemPrefetchAsync(p, MiB, now, 0, s));

    /* Which advice is taken? */
    RECORD(cudaMemAdvise(p, MiB, cudaMemAdviseSetReadMostly, none));
    RECORD(cudaMemAdvise(p, MiB, cudaMemAdviseSetPreferredLocation, h));
    RECORD(cudaMemAdvise(p, MiB, cudaMemAdviseSetAccessedBy, no));
    RECORD(cudaMemAdvise(p, MiB, cudaMemAdviseSetAccessedBy, none));
    RECORD(cudaMemAdvise(p, MiB, (enum cudaMemoryAdvise)99, d));
    RECORD(cudaMemAdvise(m, MiB, cudaMemAdviseSetReadMostly, d));
    RECORD(cudaMemAdvise(p, 0, cudaMemAdviseSetReadMostly, d));

    RECORD_SYNC(cudaFreeAsync(p, s), s);
    print_pointer(p, "freed by cudaFreeAsync");
}

/* ---- which pool is current when one was destroyed? ---- */

static const char *name_of(cudaMemPool_t p, cudaMemPool_t own, cudaMemPool_t def)
{
    if (!p)
        return "none";
    return p == own ? "the pool" : p == def ? "the default" : "another";
}

static void print_current(cudaMemPool_t cur, cudaMemPool_t own, cudaMemPool_t def)
{
    printf("  current is %s\n", name_of(cur, own, def));
}

/* Which pool is current when the current one was destroyed? */
static void destroyed_current(int type, int location)
{
    cudaMemPool_t def = NULL, cur = NULL, p = make_pool(type, location, 0);
    struct cudaMemLocation l = {(enum cudaMemLocationType)location, 0};
    cudaMemGetDefaultMemPool(&def, &l, (enum cudaMemAllocationType)type);
    RECORD(cudaMemSetMemPool(&l, (enum cudaMemAllocationType)type, p));
    RECORD(cudaMemPoolDestroy(p));
    RECORD(cudaMemGetMemPool(&cur, &l, (enum cudaMemAllocationType)type));
    print_current(cur, p, def);
    RECORD(cudaMemSetMemPool(&l, (enum cudaMemAllocationType)type, def));
    RECORD(cudaMemGetMemPool(&cur, &l, (enum cudaMemAllocationType)type));
    print_current(cur, p, def);
}

CASE(destroyed_host) { destroyed_current(PINNED, HOST); }
CASE(destroyed_numa) { destroyed_current(PINNED, NUMA); }
CASE(destroyed_managed) { destroyed_current(MANAGED, DEVICE); }
CASE(destroyed_managed_host) { destroyed_current(MANAGED, HOST); }
CASE(destroyed_device) { destroyed_current(PINNED, DEVICE); }

/* Can the pool be allocated from at once that is current then? */
CASE(destroyed_host_used)
{
    cudaMemPool_t cur = NULL, p = make_host_pool();
    RECORD(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p));
    RECORD(cudaMemPoolDestroy(p));
    RECORD(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned));
    RECORD_SYNC(cudaMallocFromPoolAsync(&a, 64, cur, s), s);
    RECORD_SYNC(cudaFreeAsync(a, s), s);
    print_figures(cur, "current pool");
}

/* Which pool is current when one that was destroyed is made current? */
CASE(destroyed_made_current)
{
    cudaMemPool_t def = NULL, cur = NULL, p = make_host_pool();
    cudaMemGetDefaultMemPool(&def, &l, cudaMemAllocationTypePinned);
    RECORD(cudaMemPoolDestroy(p));
    RECORD(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p));
    RECORD(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned));
    print_current(cur, p, def);
    RECORD(cudaMallocFromPoolAsync(&a, 64, cur, s));
    print_pointer(a, "of the current pool");
}

/* Which is current when the destroyed one had been looked up before (`seen`), or a destroy of the
 * default had been refused (`refused`)? */
static void destroyed_after(int seen, int refused)
{
    cudaMemPool_t def = NULL, again = NULL, cur = NULL, p;
    cudaMemGetDefaultMemPool(&def, &l, cudaMemAllocationTypePinned);
    if (refused)
        RECORD(cudaMemPoolDestroy(def));
    p = make_host_pool();
    RECORD(cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, p));
    if (seen) {
        RECORD(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned));
        print_current(cur, p, def);
    }
    RECORD(cudaMemPoolDestroy(p));
    RECORD(cudaMemGetMemPool(&cur, &l, cudaMemAllocationTypePinned));
    print_current(cur, p, def);
    RECORD(cudaMemGetDefaultMemPool(&again, &l, cudaMemAllocationTypePinned));
    printf("  the default is %s, current the default %d\n", name_of(again, p, def), cur == again);
}

CASE(destroyed_seen) { destroyed_after(1, 0); }
CASE(destroyed_refused) { destroyed_after(0, 1); }
CASE(destroyed_seen_refused) { destroyed_after(1, 1); }

/* ---- which pool does cudaMallocAsync allocate from? ---- */

static void allocate_and_print(cudaMemPool_t host_pool, cudaMemPool_t managed_pool)
{
    RECORD(cudaMallocAsync(&a, MiB, s));
    print_pointer(a, "of cudaMallocAsync");
    print_figures(host_pool, "host pool");
    print_figures(managed_pool, "managed pool");
    RECORD_SYNC(cudaFreeAsync(a, s), s);
}

/* Which pool does cudaMallocAsync allocate from? */
CASE(which_is_used)
{
    cudaMemPool_t dd, cur, h = make_host_pool(), g = make_managed_pool(), d = make_device_pool();
    struct cudaMemLocation lh = host_0, ld = device_0;
    cudaDeviceGetDefaultMemPool(&dd, 0);
    RECORD(cudaMemSetMemPool(&lh, cudaMemAllocationTypePinned, h));
    allocate_and_print(h, g);
    RECORD(cudaMemSetMemPool(&ld, cudaMemAllocationTypeManaged, g));
    allocate_and_print(h, g);
    RECORD(cudaDeviceGetMemPool(&cur, 0));
    printf("  the device's current pool is %s\n", name_of(cur, g, dd));
    RECORD(cudaDeviceSetMemPool(0, d));
    RECORD(cudaMemGetMemPool(&cur, &ld, cudaMemAllocationTypeManaged));
    printf("  the current managed pool is %s\n", name_of(cur, g, d));
    RECORD(cudaDeviceSetMemPool(0, dd));
    RECORD(cudaDeviceSetMemPool(0, g));
    RECORD(cudaDeviceGetMemPool(&cur, 0));
    printf("  the device's current pool is %s\n", name_of(cur, g, dd));
    allocate_and_print(h, g);
    RECORD(cudaMemGetMemPool(&cur, &ld, cudaMemAllocationTypeManaged));
    printf("  the current managed pool is %s\n", name_of(cur, g, dd));
}

/* ---- asked after these, and so recorded after them ---- */

static void compare_defaults(const char *what, struct cudaMemLocation one,
                             struct cudaMemLocation other, int type)
{
    cudaMemPool_t p = NULL, q = NULL;
    cudaMemGetDefaultMemPool(&p, &one, (enum cudaMemAllocationType)type);
    cudaMemGetDefaultMemPool(&q, &other, (enum cudaMemAllocationType)type);
    printf("  type %d, %s: same default pool %d\n", type, what, p && p == q);
    cudaGetLastError();
}

/* Which locations share a default pool? */
CASE(same_places)
{
    struct cudaMemLocation host_1 = {HOST, 1}, numa = {NUMA, 0}, none_1 = {NOWHERE, 1};
    compare_defaults("host 0, host 1", host_0, host_1, PINNED);
    compare_defaults("host, NUMA", host_0, numa, PINNED);
    compare_defaults("host 0, host 1", host_0, host_1, MANAGED);
    compare_defaults("host, NUMA", host_0, numa, MANAGED);
    compare_defaults("device, host", device_0, host_0, MANAGED);
    compare_defaults("device, none", device_0, nowhere, MANAGED);
    compare_defaults("none 0, none 1", nowhere, none_1, MANAGED);
}

/* Do the default pools of other locations serve the host and a kernel? */
CASE(default_pools)
{
    static const int type[] = {PINNED, PINNED, MANAGED, MANAGED},
                     location[] = {HOST, NUMA, DEVICE, NOWHERE};
    for (int i = 0; i < 4; i++) {
        struct cudaMemLocation l = {(enum cudaMemLocationType)location[i], 0};
        cudaMemPool_t p = NULL;
        int *a = NULL;
        RECORD(cudaMemGetDefaultMemPool(&p, &l, (enum cudaMemAllocationType)type[i]));
        print_access(p);
        set_device_access(p, 3);
        RECORD_SYNC(cudaMallocFromPoolAsync((void **)&a, 4096, p, s), s);
        *(volatile int *)a = 40;
        RECORD_SYNC(launch_add(a, 2, 1, s), s);
        printf("  the host reads %d\n", *(volatile int *)a);
        print_figures(p, "4096 bytes");
        RECORD_SYNC(cudaFreeAsync(a, s), s);
        print_figures(p, "freed");
        set_device_access(p, 0);
    }
}

/* Which copies between which memories are refused, by kind? */
static void copies_of_each_kind(char *a, char *pageable)
{
    for (int i = cudaMemcpyHostToHost; i <= cudaMemcpyDefault; i++) {
        enum cudaMemcpyKind kind = (enum cudaMemcpyKind)i;
        printf("  kind %d: device %s,", i, cudaGetErrorName(cudaMemcpyAsync(m, a, 64, kind, s)));
        printf(" from device %s,", cudaGetErrorName(cudaMemcpyAsync(a, m, 64, kind, s)));
        printf(" pinned %s,", cudaGetErrorName(cudaMemcpyAsync(host, a, 64, kind, s)));
        printf(" pageable %s,", cudaGetErrorName(cudaMemcpyAsync(pageable, a, 64, kind, s)));
        printf(" from pageable %s\n", cudaGetErrorName(cudaMemcpyAsync(a, pageable, 64, kind, s)));
        cudaGetLastError();
    }
}

/* Which copies are refused before the device was granted access, afterwards, and when the access
 * was taken back? */
static void copies(int type, int location)
{
    cudaMemPool_t p = make_pool(type, location, 0);
    char *a = NULL, pageable[64] = {0};
    void *q = NULL;
    RECORD_SYNC(cudaMallocFromPoolAsync((void **)&a, 2 * MiB, p, s), s);
    for (int granted = 0; granted < 2; granted++) {
        if (granted)
            set_device_access(p, 3);
        print_pointer(a, granted ? "granted" : "not granted");
        RECORD(cudaHostGetDevicePointer(&q, a, 0));
        copies_of_each_kind(a, pageable);
        RECORD(cudaMemcpyPeerAsync(m, 0, a, 0, 64, s));
        RECORD(cudaMemcpyAsync(m, a + 2 * MiB - 1, 2, cudaMemcpyDefault, s));
        RECORD_SYNC(cudaMemsetAsync(a + 2 * MiB - 1, 0, 2, s), s);
    }
    set_device_access(p, 0);
    print_pointer(a, "taken back");
    RECORD(cudaMemsetAsync(a, 1, 1, s));
    RECORD_SYNC(cudaMemcpyAsync(m, a, 64, cudaMemcpyDefault, s), s);
    RECORD_SYNC(launch_add((int *)a, 1, 1, s), s);
    printf("  the host reads %d\n", *(volatile int *)a);
}

CASE(copies_host) { copies(PINNED, HOST); }
CASE(copies_numa) { copies(PINNED, NUMA); }
CASE(copies_managed) { copies(MANAGED, DEVICE); }

#define WAITS(call) RECORD_WAIT(launch_hold(gate, s), call, #call)

CASE(waits)
{
    cudaMemPool_t h = make_host_pool(), g = make_managed_pool();
    void *a = NULL, *c = NULL, *d = NULL, *e = NULL;
    cudaMallocFromPoolAsync(&a, 4 * MiB, h, s);

    /* Do copies wait as long as the device has no access? */
    WAITS(cudaMemcpyAsync(m, a, MiB, cudaMemcpyDefault, s));
    WAITS(cudaMemcpyAsync(a, m, MiB, cudaMemcpyDefault, s));
    WAITS(cudaMemcpyAsync(host, a, MiB, cudaMemcpyDefault, s));

    /* Do copies and memsets wait once the device has access? */
    set_device_access(h, 3);
    cudaMallocFromPoolAsync(&c, 4 * MiB, g, s);
    cudaMallocFromPoolAsync(&e, 4 * MiB, h, s);
    cudaMallocManaged(&d, 4 * MiB, cudaMemAttachGlobal);
    WAITS(cudaMemcpyAsync(m, a, MiB, cudaMemcpyDefault, s));
    WAITS(cudaMemcpyAsync(a, m, MiB, cudaMemcpyDefault, s));
    WAITS(cudaMemcpyAsync(host, a, MiB, cudaMemcpyDefault, s));
    WAITS(cudaMemcpyAsync(a, e, 4 * MiB, cudaMemcpyDefault, s));
    WAITS(cudaMemsetAsync(a, 0, MiB, s));
    WAITS(cudaMemcpyAsync(m, c, MiB, cudaMemcpyDefault, s));
    WAITS(cudaMemsetAsync(c, 0, MiB, s));

    /* Do allocations, frees and a trim wait? */
    WAITS(cudaMallocFromPoolAsync(&e, 40 * MiB, h, s));
    WAITS(cudaMallocFromPoolAsync(&e, 40 * MiB, g, s));
    WAITS(cudaFreeAsync(a, s));
    WAITS(cudaFreeAsync(c, s));
    WAITS(cudaMemPoolTrimTo(h, 0));
    WAITS(cudaFree(d));
}

/* Can a kernel wait for a flag in a host pool's memory? */
CASE(gate_in_host_pool)
{
    cudaMemPool_t h = make_host_pool();
    int *a = NULL;
    set_device_access(h, 3);
    RECORD_SYNC(cudaMallocFromPoolAsync((void **)&a, 4096, h, s), s);
    *(volatile int *)a = 0;
    RECORD(launch_hold(a, s));
    RECORD(cudaStreamQuery(s));
    *(volatile int *)a = 1;
    RECORD(cudaStreamSynchronize(s));
}

static void print_taken(const char *what)
{
    printf("  %-40s device memory fell by %lld MiB\n", what, fallen() >> 20);
}

#define TAKEN_AFTER(call, what) ((void)(call), print_taken(what))

/* How much of the device's memory does managed memory take, and when? */
CASE(managed_takes)
{
    struct cudaMemLocation d = device_0, h = host_0;
    int *p[4];
    free_at_first = free_now();
    for (int i = 0; i < 4; i++) {
        cudaMallocManaged((void **)&p[i], (size_t)(32 << i) * MiB, cudaMemAttachGlobal);
        printf("%d MiB of cudaMallocManaged\n", 32 << i);
        print_taken("allocated");
        RECORD(cudaMemPrefetchAsync(p[i], (size_t)(32 << i) * MiB, d, 0, s));
        TAKEN_AFTER(cudaStreamSynchronize(s), "prefetched");
    }
    RECORD(cudaMemPrefetchAsync(p[3], 256 * MiB, h, 0, s));
    TAKEN_AFTER(cudaStreamSynchronize(s), "the last one to the host");
    launch_fill(p[3], 1, 64 * MiB, s);
    TAKEN_AFTER(cudaStreamSynchronize(s), "a kernel wrote it");
    for (size_t i = 0; i < 64 * MiB; i += 1024)
        ((volatile int *)p[3])[i] = 1;
    print_taken("the host wrote it");
    for (int i = 3; i >= 0; i--) {
        TAKEN_AFTER(cudaFree(p[i]), "freed");
    }
    RECORD(cudaMallocManaged((void **)&p[0], 0, cudaMemAttachGlobal));
    print_pointer(p[0], "of 0 bytes");
    printf("  null %d\n", !p[0]);
}

/* How much does a managed pool take, and when? */
CASE(managed_pool_takes)
{
    void *p[4];
    cudaMemPool_t g = make_managed_pool();
    free_at_first = free_now();
    for (int i = 0; i < 4; i++) {
        cudaMallocFromPoolAsync(&p[i], (size_t)(32 << i) * MiB, g, s);
        printf("%d MiB of a managed pool\n", 32 << i);
        print_taken("allocated");
        TAKEN_AFTER(cudaStreamSynchronize(s), "synchronised");
        print_figures(g, "allocated");
    }
    for (int i = 3; i >= 0; i--) {
        TAKEN_AFTER(cudaFreeAsync(p[i], s), "freed");
        TAKEN_AFTER(cudaStreamSynchronize(s), "synchronised");
        print_figures(g, "freed");
    }
    TAKEN_AFTER(RECORD(cudaMemPoolDestroy(g)), "destroyed");
}

CASE(limits)
{
    cudaMemPool_t g = make_managed_pool(), h;
    struct cudaMemPoolProps p = host_props();
    uint64_t v = 64 * MiB;

    /* What do such pools refuse: sizes beyond maxSize, sizes of 0, more than there is? */
    p.maxSize = 64 * MiB;
    RECORD(cudaMemPoolCreate(&h, &p));
    RECORD(cudaMallocFromPoolAsync(&a, 65 * MiB, h, s));
    RECORD(cudaMallocFromPoolAsync(&a, 64 * MiB, h, s));
    RECORD(cudaMallocFromPoolAsync(&a, 0, h, s));
    RECORD(cudaMallocFromPoolAsync(&a, (size_t)1 << 50, h, s));
    RECORD(cudaMallocFromPoolAsync(&a, (size_t)1 << 50, g, s));
    p.maxSize = (size_t)1 << 50;
    RECORD(cudaMemPoolCreate(&h, &p));
    p.maxSize = 0;
    RECORD(cudaMemPoolCreate(&h, &p));

    /* Does a host pool keep as much as its threshold? */
    RECORD(cudaMemPoolSetAttribute(h, cudaMemPoolAttrReleaseThreshold, &v));
    RECORD(cudaMallocFromPoolAsync(&a, 96 * MiB, h, s));
    RECORD(cudaFreeAsync(a, s));
    FIGURES_AFTER(cudaStreamSynchronize(s), h, "96 MiB freed, threshold 64 MiB");
    FIGURES_AFTER(RECORD(cudaMemPoolTrimTo(h, 0)), h, "trimmed");

    /* To which locations can access be granted? */
    set_access(h, NUMA, 1, 3);
    set_access(h, cudaMemLocationTypeHostNumaCurrent, 0, 3);
    set_access(h, NOWHERE, 0, 3);
    set_access(h, DEVICE, 99, 3);
    set_access(g, NUMA, 1, 3);
    set_access(g, DEVICE, 99, 3);
    set_access(h, HOST, 0, 2);
    set_access(g, HOST, 0, 2);
}

/* Can such pools be allocated from while a stream is captured? */
CASE(captured)
{
    cudaMemPool_t h = make_host_pool(), g = make_managed_pool();
    cudaGraph_t graph = NULL;
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    RECORD(cudaMallocFromPoolAsync(&a, MiB, h, s));
    RECORD(cudaStreamEndCapture(s, &graph));
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    RECORD(cudaMallocFromPoolAsync(&a, MiB, g, s));
    RECORD(cudaStreamEndCapture(s, &graph));
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
