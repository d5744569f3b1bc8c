/* What one GPU answers about memory pools: growth, thresholds, high marks, reuse, errors, destroyed
 * pools, what can be exported, graph memory, and what an allocation costs the host.
 *
 *   one-gpu          every section, in five processes
 *   one-gpu SECTION  first (up to "destroying pools"), export, pointers (and what follows), graphs
 *                    or timing */
#define CALL_COLUMNS 78
#include "graphs.h"
#include "workbook.h"
#include <fcntl.h>
#include <stdbool.h>

static cudaMemPool_t def;

static void figures(cudaMemPool_t p, const char *when)
{
    printf("  %-46s reserved %llu high %llu used %llu high %llu\n", when, bytes_reserved(p),
           pool_figure(p, cudaMemPoolAttrReservedMemHigh), bytes_used(p),
           pool_figure(p, cudaMemPoolAttrUsedMemHigh));
}

#define POOL_AFTER(call, p, when) ((void)(call), figures(p, when))

static char *take(cudaMemPool_t p, size_t bytes, cudaStream_t stream)
{
    void *a = NULL;
    cudaMallocFromPoolAsync(&a, bytes, p, stream);
    return a;
}

static void take_four(char *block[4], cudaMemPool_t p, size_t bytes)
{
    for (int i = 0; i < 4; i++)
        block[i] = take(p, bytes, s);
}

static void free_four(char *block[4])
{
    for (int i = 0; i < 4; i++)
        cudaFreeAsync(block[i], s);
}

/* Until the stream is idle, without a synchronise. */
static void idle(cudaStream_t stream)
{
    while (cudaStreamQuery(stream) == cudaErrorNotReady)
        ;
    cudaGetLastError();
}

static void attributes(void)
{
    int driver = 0, runtime = 0, flags[3];
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    printf("driver %d runtime %d\n", driver, runtime);
#define ATTRIBUTE(name)                                                   \
    do {                                                                  \
        int v = 0;                                                        \
        cudaError_t e = cudaDeviceGetAttribute(&v, cudaDevAttr##name, 0); \
        printf("attr " #name " = %d (%s)\n", v, cudaGetErrorName(e));     \
    } while (0)
    ATTRIBUTE(MemoryPoolsSupported);
    ATTRIBUTE(MemoryPoolSupportedHandleTypes);
    ATTRIBUTE(HostNumaMemoryPoolsSupported);
    ATTRIBUTE(HostMemoryPoolsSupported);
    ATTRIBUTE(ConcurrentManagedAccess);
    ATTRIBUTE(IpcEventSupport);
    ATTRIBUTE(PageableMemoryAccess);
    cudaMemPool_t current = NULL;
    cudaDeviceGetMemPool(&current, 0);
    printf("current is default: %d\n", current == def);

    puts("\n## default pool attributes");
    for (int i = 0; i < 3; i++)
        cudaMemPoolGetAttribute(
            def, (enum cudaMemPoolAttr)(cudaMemPoolReuseFollowEventDependencies + i), &flags[i]);
    printf("threshold %llu events %d opportunistic %d internal %d\n",
           pool_figure(def, cudaMemPoolAttrReleaseThreshold), flags[0], flags[1], flags[2]);
    figures(def, "at start");
}

static void growth(void)
{
    static const size_t sizes[] = {1,        255,          256,          257,         511,
                                   512,      513,          1024,         4096,        65536,
                                   MiB,      2 * MiB - 1,  2 * MiB,      2 * MiB + 1, 31 * MiB,
                                   32 * MiB, 32 * MiB + 1, 33 * MiB,     63 * MiB,    64 * MiB,
                                   65 * MiB, 100 * MiB,    256 * MiB + 1};
    puts("\n## growth and used rounding (fresh pool, threshold 0)");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cudaMemPool_t p = new_pool(0);
        char *a = take(p, sizes[i], s);
        unsigned long long r = bytes_reserved(p), u = bytes_used(p);
        char *b = take(p, sizes[i], s);
        unsigned long long align = alignment_of(a);
        /* A range may lie on a rounder address by chance. */
        if (align > 32 * MiB)
            align = 32 * MiB;
        printf("  size %10zu: reserved %llu used %llu | after a 2nd: reserved %llu used %llu gap "
               "%lld align %llu\n",
               sizes[i], r, u, bytes_reserved(p), bytes_used(p), (long long)(b - a), align);
        cudaFreeAsync(a, s);
        cudaFreeAsync(b, s);
        end_pool(p);
    }
}

static void thresholds(void)
{
    static const uint64_t values[] = {0,        1,        16 * MiB,  32 * MiB,
                                      48 * MiB, 64 * MiB, 100 * MiB, UINT64_MAX};
    puts("\n## free, then sync, with thresholds");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cudaMemPool_t p = new_pool(values[i]);
        char *a[4];
        take_four(a, p, 32 * MiB);
        printf("  threshold %llu: alloc %llu | ", (unsigned long long)values[i], bytes_reserved(p));
        free_four(a);
        printf("freed: reserved %llu used %llu | ", bytes_reserved(p), bytes_used(p));
        cudaStreamSynchronize(s);
        printf("stream sync: reserved %llu used %llu | ", bytes_reserved(p), bytes_used(p));
        cudaDeviceSynchronize();
        printf("device sync: %llu\n", bytes_reserved(p));
        cudaMemPoolTrimTo(p, 48 * MiB);
        printf("     trimTo(48 MiB): %llu, ", bytes_reserved(p));
        cudaMemPoolTrimTo(p, 0);
        printf("trimTo(0): %llu\n", bytes_reserved(p));
        end_pool(p);
    }
}

static void going_back(void)
{
    cudaMemPool_t p = new_pool(0);
    cudaEvent_t e;
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
#define FREED(bytes)                        \
    do {                                    \
        char *block = take(p, bytes, s);    \
        cudaMemsetAsync(block, 0, 4096, s); \
        cudaFreeAsync(block, s);            \
    } while (0)
    FREED(64 * MiB);
    POOL_AFTER(idle(s), p, "freed, no sync, idle");
    cudaEventRecord(e, s);
    POOL_AFTER(cudaEventSynchronize(e), p, "after event sync");
    FREED(64 * MiB);
    POOL_AFTER(idle(s), p, "after stream query = success");
    cudaEventRecord(e, s);
    while (cudaEventQuery(e) == cudaErrorNotReady)
        ;
    figures(p, "after event query");
    POOL_AFTER(cudaStreamSynchronize(t), p, "after sync of an unrelated idle stream");
    POOL_AFTER(cudaStreamSynchronize(s), p, "after its own stream sync");
    for (int i = 0; i < 2; i++) {
        size_t bytes = i ? MiB : 32 * MiB;
        char *a = take(p, bytes, s), *b = take(p, bytes, s);
        free_and_wait(a);
        figures(p, i ? "two 1 MiB, one freed, sync" : "two 32 MiB chunks, one freed, sync");
        POOL_AFTER(free_and_wait(b), p, "both freed, sync");
    }
    set_threshold(p, UINT64_MAX);
    FREED(96 * MiB);
    figures(p, "threshold max, 96 MiB freed");
    POOL_AFTER(set_threshold(p, 0), p, "lowering the threshold to 0 alone");
    POOL_AFTER(cudaStreamSynchronize(s), p, "then stream sync");
    POOL_AFTER(cudaDeviceSynchronize(), p, "then device sync");
    hold(s);
    FREED(96 * MiB);
    POOL_AFTER(cudaMemPoolTrimTo(p, 0), p, "trimTo(0) while the free is pending");
    open_gate();
    POOL_AFTER(cudaStreamSynchronize(s), p, "after sync");
    cudaEventDestroy(e);
    end_pool(p);
}

static void watermarks(void)
{
    puts("\n## watermarks");
    cudaMemPool_t p = new_pool(UINT64_MAX);
    uint64_t z = 0, x = 5;
    int two = 2, now = 0;
    cudaFreeAsync(take(p, 96 * MiB, s), s);
    char *a = take(p, MiB, s);
    figures(p, "96 MiB freed, 1 MiB live");
    RECORD(cudaMemPoolSetAttribute(p, cudaMemPoolAttrUsedMemHigh, &z));
    RECORD(cudaMemPoolSetAttribute(p, cudaMemPoolAttrReservedMemHigh, &z));
    figures(p, "reset with 0");
    RECORD(cudaMemPoolSetAttribute(p, cudaMemPoolAttrUsedMemHigh, &x));
    RECORD(cudaMemPoolSetAttribute(p, cudaMemPoolAttrReservedMemHigh, &x));
    RECORD(cudaMemPoolSetAttribute(p, cudaMemPoolAttrReservedMemCurrent, &x));
    RECORD(cudaMemPoolSetAttribute(p, cudaMemPoolAttrUsedMemCurrent, &z));
    RECORD(cudaMemPoolSetAttribute(p, (enum cudaMemPoolAttr)99, &z));
    RECORD(cudaMemPoolGetAttribute(p, (enum cudaMemPoolAttr)99, &z));
    RECORD(cudaMemPoolGetAttribute(0, cudaMemPoolAttrUsedMemCurrent, &z));
    RECORD(cudaMemPoolGetAttribute(p, cudaMemPoolAttrUsedMemCurrent, 0));
    RECORD(cudaMemPoolSetAttribute(p, cudaMemPoolReuseAllowOpportunistic, &two));
    cudaMemPoolGetAttribute(p, cudaMemPoolReuseAllowOpportunistic, &now);
    printf("  opportunistic now %d\n", now);
    cudaFreeAsync(a, s);
    end_pool(p);
}

static void same_stream(void)
{
    puts("\n## reuse: same stream");
    cudaMemPool_t p = new_pool(UINT64_MAX);
    hold(s);
    char *a = take(p, 64 * MiB, s), *b, *c;
    cudaFreeAsync(a, s);
    b = take(p, 64 * MiB, s);
    printf("  same size, pending work: same pointer %d\n", a == b);
    figures(p, "");
    cudaFreeAsync(b, s);
    b = take(p, 16 * MiB, s);
    printf("  smaller: within the freed block %d, at its start %d\n",
           b >= a && b + 16 * MiB <= a + 64 * MiB, a == b);
    figures(p, "");
    c = take(p, 65 * MiB, s);
    figures(p, "65 MiB while 48 MiB of 64 are free (pending)");
    cudaFreeAsync(b, s);
    cudaFreeAsync(c, s);
    end_pool(p);

    char *block[4];
    p = new_pool(UINT64_MAX);
    POOL_AFTER(take_four(block, p, 8 * MiB), p, "4 x 8 MiB");
    for (int i = 0; i < 4; i++)
        printf("  offset %zu MiB\n", (size_t)(block[i] - block[0]) / MiB);
    cudaFreeAsync(block[1], s);
    cudaFreeAsync(block[2], s);
    b = take(p, 16 * MiB, s);
    printf("  16 MiB out of two freed neighbours (coalesced): at offset %zu MiB\n",
           (size_t)(b - block[0]) / MiB);
    figures(p, "");
    cudaFreeAsync(block[0], s);
    cudaFreeAsync(b, s);
    cudaFreeAsync(block[3], s);
    end_pool(p);

    p = new_pool(UINT64_MAX);
    POOL_AFTER(take_four(block, p, 32 * MiB), p, "4 x 32 MiB");
    free_four(block);
    b = take(p, 128 * MiB, s);
    figures(p, "then 128 MiB after freeing all four");
    printf("  at first's address %d\n", b == block[0]);
    cudaFreeAsync(b, s);
    end_pool(p);

    p = new_pool(UINT64_MAX);
    take_four(block, p, 32 * MiB);
    cudaFreeAsync(block[0], s);
    cudaFreeAsync(block[2], s);
    b = take(p, 64 * MiB, s);
    figures(p, "64 MiB out of two separated 32 MiB holes");
    cudaFreeAsync(block[1], s);
    cudaFreeAsync(block[3], s);
    cudaFreeAsync(b, s);
    end_pool(p);
}

static void events(void)
{
    cudaEvent_t e;
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    puts("\n## reuse across streams: follow event dependencies");
    for (int k = 0; k < 3; k++) { /* on, off, recorded too early */
        cudaMemPool_t p = new_pool(UINT64_MAX);
        set_policies(p, k != 1, 0, 0);
        hold(s);
        char *a = take(p, 64 * MiB, s);
        if (k == 2)
            cudaEventRecord(e, s);
        cudaFreeAsync(a, s);
        if (k != 2)
            cudaEventRecord(e, s);
        cudaStreamWaitEvent(t, e, 0);
        char *b = take(p, 64 * MiB, t);
        if (k == 2)
            printf("  event recorded before the free: reused %d\n", a == b);
        else
            printf("  events=%d: reused %d reserved %llu\n", !k, a == b, bytes_reserved(p));
        cudaFreeAsync(b, t);
        end_pool(p);
    }
    cudaEventDestroy(e);
}

static void opportunistic(void)
{
    puts("\n## reuse across streams: opportunistic");
    for (int k = 0; k < 4; k++) {
        cudaMemPool_t p = new_pool(UINT64_MAX);
        int on = k < 2, finished = k % 2 == 0;
        set_policies(p, 0, on, 0);
        if (!finished)
            hold(s);
        char *a = take(p, 64 * MiB, s);
        cudaMemsetAsync(a, 0, MiB, s);
        cudaFreeAsync(a, s);
        if (finished)
            idle(s);
        char *b = take(p, 64 * MiB, t);
        printf("  opportunistic=%d, free finished on the GPU=%d: reused %d reserved %llu\n", on,
               finished, a == b, bytes_reserved(p));
        cudaFreeAsync(b, t);
        end_pool(p);
    }
    for (int synchronise = 1; synchronise >= 0; synchronise--) {
        cudaMemPool_t p = new_pool(UINT64_MAX);
        set_policies(p, 0, 0, 0);
        char *a = take(p, 64 * MiB, s);
        cudaMemsetAsync(a, 0, MiB, s);
        cudaFreeAsync(a, s);
        if (synchronise)
            cudaStreamSynchronize(s);
        else
            idle(s);
        char *b = take(p, 64 * MiB, t);
        printf(synchronise ? "  all policies off, stream synchronised with the CPU: reused %d\n"
                           : "  all policies off, stream query said done: reused %d\n",
               a == b);
        cudaFreeAsync(b, t);
        end_pool(p);
    }
}

static void internal(void)
{
    puts("\n## reuse across streams: internal dependencies (pool capped by maxSize)");
    for (int k = 0; k < 4; k++) {
        bool capped = k < 2;
        cudaMemPool_t p = pool_with(UINT64_MAX, capped ? 64 * MiB : 0, 0);
        set_policies(p, 0, 0, k % 2 == 0);
        hold(s);
        void *a = take(p, 64 * MiB, s), *b = NULL;
        cudaFreeAsync(a, s);
        cudaError_t e = cudaMallocFromPoolAsync(&b, 64 * MiB, p, t);
        if (capped)
            printf("  internal=%d: %s reused %d; other stream %s\n", !k, cudaGetErrorName(e),
                   !e && a == b, cudaGetErrorName(cudaStreamQuery(t)));
        else
            printf("  internal=%d, pool not capped, memory plentiful: %s reused %d\n", k == 2,
                   cudaGetErrorName(e), a == b);
        cudaGetLastError();
        cudaFreeAsync(b, t);
        end_pool(p);
    }
}

static void max_size(void)
{
    static const size_t sizes[] = {1,        MiB,      2 * MiB,  10 * MiB,
                                   32 * MiB, 40 * MiB, 64 * MiB, 100 * MiB};
    puts("\n## maxSize");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cudaMemPool_t p = pool_with(0, sizes[i], 0);
        void *a[1000];
        int n = 0;
        cudaError_t e;
        while (n < 1000 && !(e = cudaMallocFromPoolAsync(&a[n], MiB, p, s)))
            n++;
        printf("  maxSize %zu: %d x 1 MiB then %s, reserved %llu\n", sizes[i], n,
               cudaGetErrorName(e), bytes_reserved(p));
        while (n)
            cudaFreeAsync(a[--n], s);
        end_pool(p);
    }
}

static void errors(void)
{
    puts("\n## errors");
    void *a = s, *m = NULL, *h = NULL;
    int x = 0;
    cudaMemPool_t p, cur;
    RECORD(cudaMallocAsync(&a, 0, s));
    printf("  pointer %s\n", a ? "not null" : "null");
    RECORD(cudaFreeAsync(0, s));
    RECORD(cudaMallocAsync(0, 64, s));
    RECORD(cudaMallocFromPoolAsync(&a, 64, 0, s));
    RECORD(cudaMallocFromPoolAsync(&a, 0, def, s));
    RECORD(cudaMallocAsync(&a, (size_t)1 << 50, s));
    RECORD(cudaMallocAsync(&a, SIZE_MAX, s));
    cudaMallocAsync(&a, MiB, s);
    cudaFreeAsync(a, s);
    RECORD(cudaFreeAsync(a, s));
    cudaStreamSynchronize(s);
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaFree(a));
    RECORD(cudaFreeAsync(&x, s));
    cudaMallocAsync(&a, MiB, s);
    RECORD(cudaFreeAsync((char *)a + 256, s));
    RECORD(cudaFree((char *)a + 256));
    POOL_AFTER(RECORD(cudaFree(a)), def, "default after cudaFree of a pool allocation");
    POOL_AFTER(RECORD(cudaStreamSynchronize(s)), def, "after sync");
    cudaMalloc(&m, MiB);
    RECORD(cudaFreeAsync(m, s));
    cudaStreamSynchronize(s);
    cudaMalloc(&m, MiB);
    RECORD(cudaFree(m));
    RECORD(cudaFree(0));
    cudaMallocHost(&h, MiB);
    RECORD(cudaFreeAsync(h, s));
    RECORD(cudaFree(h));
    RECORD(cudaFreeHost(h));
    a = ready_memory(NULL, MiB);
    RECORD(cudaMemsetAsync(a, 0, 1 * MiB, t));
    RECORD_SYNC(cudaFreeAsync(a, t), t);
    RECORD(cudaMemPoolTrimTo(0, 0));
    RECORD(cudaMemPoolTrimTo(def, SIZE_MAX));
    RECORD(cudaMemPoolDestroy(def));
    RECORD(cudaMemPoolDestroy(0));
    RECORD(cudaDeviceSetMemPool(0, 0));
    RECORD(cudaDeviceGetDefaultMemPool(&cur, 99));
    RECORD(cudaDeviceSetMemPool(99, def));
    RECORD(cudaDeviceGetMemPool(&cur, -1));

    struct cudaMemPoolProps pr = {0};
    RECORD(cudaMemPoolCreate(&p, &pr)); /* nothing is set */
#define WITH(field, value)                  \
    do {                                    \
        pr = device_props();                \
        pr.field = value;                   \
        RECORD(cudaMemPoolCreate(&p, &pr)); \
    } while (0)
    WITH(location.type, cudaMemLocationTypeInvalid);
    WITH(location.id, 99);
    WITH(location.id, -1);
    WITH(reserved[0], 1);
    WITH(handleTypes, cudaMemHandleTypeWin32);
    WITH(handleTypes, cudaMemHandleTypeFabric);
    WITH(handleTypes, cudaMemHandleTypePosixFileDescriptor);
    WITH(location.type, cudaMemLocationTypeHost);
    WITH(location.type, cudaMemLocationTypeHostNuma);
    WITH(location.type, cudaMemLocationTypeHostNumaCurrent);
    WITH(allocType, cudaMemAllocationTypeManaged);
}

static void destroying(void)
{
    puts("\n## destroying pools");
    cudaMemPool_t p = new_pool(0), cur = NULL;
    void *a = NULL;
    RECORD(cudaDeviceSetMemPool(0, p));
    cudaDeviceGetMemPool(&cur, 0);
    printf("  current is mine %d\n", cur == p);
    POOL_AFTER(cudaMallocAsync(&a, MiB, s), p, "my pool");
    RECORD(cudaMemPoolDestroy(p));
    RECORD(cudaDeviceGetMemPool(&cur, 0));
    printf("  current is default after destroy %d\n", cur == def);
    RECORD_SYNC(cudaMemsetAsync(a, 1, 1 * MiB, s), s);
    RECORD_SYNC(cudaFreeAsync(a, s), s);

    struct cudaMemLocation loc = {.type = cudaMemLocationTypeDevice, .id = 0};
    struct cudaMemAccessDesc d = {.location = loc, .flags = cudaMemAccessFlagsProtNone};
    enum cudaMemAccessFlags f = cudaMemAccessFlagsProtNone;
    RECORD(cudaMemPoolGetAccess(&f, def, &loc));
    printf("  resident access %d\n", (int)f);
    RECORD(cudaMemPoolSetAccess(def, &d, 1));
    d.flags = cudaMemAccessFlagsProtRead;
    RECORD(cudaMemPoolSetAccess(def, &d, 1));
    d.flags = cudaMemAccessFlagsProtReadWrite;
    RECORD(cudaMemPoolSetAccess(def, &d, 1));
    d.location.id = loc.id = 99;
    RECORD(cudaMemPoolSetAccess(def, &d, 1));
    RECORD(cudaMemPoolGetAccess(&f, def, &loc));
    RECORD(cudaMemPoolSetAccess(def, 0, 0));
    int fd;
    p = new_pool(0);
    RECORD(cudaMemPoolExportToShareableHandle(&fd, def, cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    cudaMemPoolDestroy(p);
}

CASE(first)
{
    attributes();
    growth();
    thresholds();
    going_back();
    watermarks();
    same_stream();
    events();
    opportunistic();
    internal();
    max_size();
    errors();
    destroying();
}

static void three_blocks(cudaMemPool_t p)
{
    void *b[3];
    for (int i = 0; i < 3; i++)
        cudaMallocFromPoolAsync(&b[i], 32 * MiB, p, s);
    for (int i = 0; i < 3; i++)
        cudaFreeAsync(b[i], s);
    cudaStreamSynchronize(s);
}

CASE(export)
{
    cudaMemPool_t p = new_pool(0), im;
    struct cudaMemPoolPtrExportData x;
    int fd = -1;
    void *a, *q;
    puts("## export");
    RECORD(cudaMemPoolExportToShareableHandle(&fd, def, cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    p = shared_pool(UINT64_MAX);
    RECORD(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    printf("  fd ok %d\n", fcntl(fd, F_GETFD) >= 0);
    int keep = fd;
    RECORD(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 1));
    RECORD(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypeNone, 0));
    cudaMallocFromPoolAsync(&a, 4096, p, s);
    RECORD(cudaMemPoolExportPointer(&x, a));
    POOL_AFTER(cudaStreamSynchronize(s), p, "ipc pool");
    POOL_AFTER(three_blocks(p), p, "ipc pool, 96 MiB freed, threshold max");
    POOL_AFTER(cudaMemPoolTrimTo(p, 0), p, "ipc pool, trimTo(0)");
    set_threshold(p, 0);
    POOL_AFTER(three_blocks(p), p, "ipc pool, threshold 0, 96 MiB freed and synchronised");
    fd = keep;
    RECORD(cudaMemPoolImportFromShareableHandle(&im, (void *)(uintptr_t)fd,
                                                cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    RECORD(cudaMallocFromPoolAsync(&q, 64, im, s));
    RECORD(cudaDeviceSetMemPool(0, im));
    RECORD(cudaMemPoolImportFromShareableHandle(&im, (void *)(uintptr_t)0,
                                                cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolImportFromShareableHandle(&im, (void *)(uintptr_t)9999,
                                                cudaMemHandleTypePosixFileDescriptor, 0));
}

CASE(pointers)
{
    puts("\n## pointer attributes and memory info");
    void *a = NULL, *b = NULL;
    struct cudaPointerAttributes pa;
    a = ready_memory(NULL, MiB);
    RECORD(cudaPointerGetAttributes(&pa, a));
    printf("  type %d device %d devicePointer==ptr %d hostPointer %s\n", (int)pa.type, pa.device,
           pa.devicePointer == a, pa.hostPointer ? "set" : "null");
    free_and_wait(a);
    set_threshold(def, UINT64_MAX);
    size_t before = free_now();
    cudaMallocAsync(&a, 256 * MiB, s);
    size_t with_allocation = free_now();
    printf("  free fell by %zu on alloc of 256 MiB, ", before - with_allocation);
    free_and_wait(a);
    printf("came back %zu on free+sync with threshold max\n", free_now() - with_allocation);
    cudaMemPoolTrimTo(def, 0);
    printf("  came back %zu after trimTo(0)\n", free_now() - with_allocation);
    set_threshold(def, 0);

    puts("\n## legacy default stream, destroyed stream, host function");
    cudaMallocAsync(&a, MiB, cudaStreamLegacy);
    cudaFreeAsync(a, cudaStreamLegacy);
    cudaMallocAsync(&b, MiB, cudaStreamPerThread);
    printf("  legacy then per-thread: reused %d\n", a == b);
    cudaFreeAsync(b, cudaStreamPerThread);
    cudaDeviceSynchronize();
    cudaStream_t u;
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
    cudaMallocAsync(&a, MiB, u);
    cudaFreeAsync(a, u);
    cudaStreamDestroy(u);
    cudaMallocAsync(&b, MiB, t);
    printf("  freed on a destroyed stream, then another stream: reused %d\n", a == b);
    cudaFreeAsync(b, t);
    POOL_AFTER(cudaDeviceSynchronize(), def, "default at end");
}

CASE(graphs)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    void *a, *b;
    size_t nodes = 0;
    puts("\n## graph memory nodes");
    begin_capture(s, GLOBAL);
    RECORD(cudaMallocAsync(&a, 64 * MiB, s));
    RECORD(cudaMemsetAsync(a, 1, 64 * MiB, s));
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaMallocAsync(&b, 64 * MiB, s));
    printf("  second allocation in the same capture: same address %d\n", a == b);
    RECORD(cudaFreeAsync(b, s));
    RECORD(cudaStreamEndCapture(s, &g));
    cudaGraphGetNodes(g, NULL, &nodes);
    printf("  nodes %zu\n", nodes);
    RECORD(cudaGraphInstantiate(&x, g, 0));
    printf("  graph reserved before launch %llu\n",
           graph_figure(cudaGraphMemAttrReservedMemCurrent));
    RECORD(cudaGraphLaunch(x, s));
    cudaStreamSynchronize(s);
    printf("  graph reserved after launch %llu\n",
           graph_figure(cudaGraphMemAttrReservedMemCurrent));
    printf("  graph used high %llu\n", graph_figure(cudaGraphMemAttrUsedMemHigh));
    figures(def, "default pool");
    RECORD(cudaDeviceGraphMemTrim(0));
    printf("  graph reserved after trim %llu\n", graph_figure(cudaGraphMemAttrReservedMemCurrent));
}

/* ---- what an allocation and its free cost the host, by four ways, and copies of 1 GiB ----
 *
 * A line is the median, the least and the most of five rounds. */

enum { ROUNDS = 5 };

static cudaMemPool_t timed;

static void plain_pair(size_t bytes)
{
    void *p;
    CHECK(cudaMalloc(&p, bytes));
    CHECK(cudaFree(p));
}

static void ordered_pair(size_t bytes)
{
    void *p;
    CHECK(cudaMallocFromPoolAsync(&p, bytes, timed, s));
    CHECK(cudaFreeAsync(p, s));
}

static void synchronized_pair(size_t bytes)
{
    ordered_pair(bytes);
    CHECK(cudaStreamSynchronize(s));
}

/* Each round begins with an idle device and one pair that is not timed. */
static void time_pairs(size_t bytes, const char *what, uint64_t threshold, void (*pair)(size_t))
{
    double times[ROUNDS];
    int pairs = bytes < 64 * MiB ? 1000 : 20;
    set_threshold(timed, threshold);
    for (int round = 0; round < ROUNDS; round++) {
        pair(bytes);
        cudaDeviceSynchronize();
        double begin = now_us();
        for (int i = 0; i < pairs; i++)
            pair(bytes);
        times[round] = (now_us() - begin) / pairs;
        cudaDeviceSynchronize();
    }
    cudaMemPoolTrimTo(timed, 0);
    qsort(times, ROUNDS, sizeof *times, by_value);
    printf("  %10zu bytes  %-34s %9.3f us (min %.3f max %.3f)\n", bytes, what, times[ROUNDS / 2],
           times[0], times[ROUNDS - 1]);
}

static double gigabytes_a_second(void *to, const void *from, enum cudaMemcpyKind kind)
{
    const size_t bytes = 1024 * MiB;
    double begin = now_us();
    CHECK(cudaMemcpy(to, from, bytes, kind));
    cudaDeviceSynchronize();
    return (double)bytes / 1e3 / (now_us() - begin);
}

static void copies(void)
{
    void *device, *pinned, *pageable = malloc(1024 * MiB);
    CHECK(cudaMalloc(&device, 1024 * MiB));
    CHECK(cudaMallocHost(&pinned, 1024 * MiB));
    if (!pageable)
        CHECK(cudaErrorMemoryAllocation);
    memset(pageable, 1, 1024 * MiB);
    memset(pinned, 1, 1024 * MiB);
    for (int i = 0; i < 3; i++)
        printf("  1 GiB copies GB/s: H2D pinned %.1f pageable %.1f; D2H pinned %.1f pageable "
               "%.1f\n",
               gigabytes_a_second(device, pinned, cudaMemcpyHostToDevice),
               gigabytes_a_second(device, pageable, cudaMemcpyHostToDevice),
               gigabytes_a_second(pinned, device, cudaMemcpyDeviceToHost),
               gigabytes_a_second(pageable, device, cudaMemcpyDeviceToHost));
}

CASE(timing)
{
    static const size_t sizes[] = {1024, MiB, 64 * MiB, 1024 * MiB};
    struct cudaMemPoolProps props = device_props();
    CHECK(cudaMemPoolCreate(&timed, &props));
    puts("\n## timing (host microseconds a pair, median of 5 rounds)");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        time_pairs(sizes[i], "cudaMalloc/cudaFree", 0, plain_pair);
        time_pairs(sizes[i], "async, threshold max, no sync", UINT64_MAX, ordered_pair);
        time_pairs(sizes[i], "async, threshold 0, sync each", 0, synchronized_pair);
        time_pairs(sizes[i], "async, threshold max, sync each", UINT64_MAX, synchronized_pair);
    }
    copies();
}

static void set_up(void)
{
    shows_last_error = 0;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped);
    cudaDeviceGetDefaultMemPool(&def, 0);
    open_gate();
    launch_hold(gate, s); /* loads the kernel while nothing waits */
    cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    int status, failed = 0;
    for (const struct named_case *one = named_cases; one; one = one->next) {
        if (argc > 1 ? strcmp(argv[1], one->name) : fork()) {
            failed |= argc > 1 || wait(&status) < 0 || status;
            continue;
        }
        set_up();
        one->run();
        cudaFreeHost((void *)gate);
        /* "first" destroys a pool in use, after which an H200 crashed in two of three processes
         * that ended with exit. */
        if (argc < 2)
            _exit(0);
        return 0;
    }
    if (argc > 1)
        return run_case(argc, argv);
    puts("\nend");
    return failed;
}
