/* Records the attributes and limits of a device, the result codes of calls, and when the memory of
 * a pool goes back. */
#define CALL_COLUMNS 76
#include "probe.h"

static int dummy[1 << 20]; /* memory of the host that CUDA does not know */
static void *h, *hm, *mg;  /* 1 MiB each, as m: pinned, pinned and mapped, managed */
static cudaMemPool_t pool; /* the pool of the questions about pools */
static void *a, *a1, *a2;  /* allocations */

static void print_attributes_of(const char *what, const void *p)
{
    printf("pointer %-44s ", what);
    print_attributes(p);
}

CASE(device)
{
    /* What does cudaGetDeviceProperties return? */
    struct cudaDeviceProp p;
    int n = 0;
    cudaGetDeviceCount(&n);
    printf("devices %d\n", n);
    cudaGetDeviceProperties(&p, 0);
    printf("name %s totalGlobalMem %zu major %d minor %d multiProcessorCount %d ", p.name,
           p.totalGlobalMem, p.major, p.minor, p.multiProcessorCount);
    printf("unifiedAddressing %d canMapHostMemory %d asyncEngineCount %d ", p.unifiedAddressing,
           p.canMapHostMemory, p.asyncEngineCount);
    printf("memoryPoolsSupported %d l2CacheSize %d warpSize %d\n", p.memoryPoolsSupported,
           p.l2CacheSize, p.warpSize);

    /* Which attributes does a device have, and with which values? */
    for (int i = 0; i < 160; i++) {
        int value = -777;
        cudaError_t error = cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)i, 0);
        if (error)
            printf("attribute %d %s\n", i, cudaGetErrorName(error));
        else
            printf("attribute %d = %d\n", i, value);
    }
    cudaGetLastError();

    /* Which limits does it have? */
    for (int i = 0; i < 8; i++) {
        size_t value = 0;
        cudaError_t error = cudaDeviceGetLimit(&value, (enum cudaLimit)i);
        printf("limit %d %s %zu\n", i, cudaGetErrorName(error), value);
    }
    cudaGetLastError();

    /* What do calls about the device return, also where there is no room for the result? */
    int v = 0, w = 0;
    size_t fr = 0, total = 0;
    unsigned fl = 0;
    RECORD(cudaDeviceGetStreamPriorityRange(&v, &w));
    printf("  least %d greatest %d\n", v, w);
    RECORD(cudaMemGetInfo(&fr, &total));
    printf("  free %zu total %zu\n", fr, total);
    RECORD(cudaMemGetInfo(0, &total));
    RECORD(cudaMemGetInfo(&fr, 0));
    RECORD(cudaMemGetInfo(0, 0));
    RECORD(cudaGetDevice(&v));
    RECORD(cudaGetDevice(0));
    RECORD(cudaSetDevice(99));
    RECORD(cudaSetDevice(-1));
    RECORD(cudaGetDeviceCount(0));
    RECORD(cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)9999, 0));
    RECORD(cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 99));
    RECORD(cudaDeviceGetAttribute(0, cudaDevAttrWarpSize, 0));
    RECORD(cudaDriverGetVersion(&v));
    RECORD(cudaDriverGetVersion(0));
    RECORD(cudaRuntimeGetVersion(0));
    RECORD(cudaSetDeviceFlags(0xffff));
    RECORD(cudaGetDeviceFlags(&fl));
    printf("  flags %u\n", fl);

    /* Which calls change the last error? */
    void *q = 0;
    puts("## last error");
    cudaMalloc(&q, (size_t)1 << 50);
    printf("peek %s", cudaGetErrorName(cudaPeekAtLastError()));
    printf(" then a success %s", cudaGetErrorName(cudaStreamQuery(s)));
    printf(" peek %s", cudaGetErrorName(cudaPeekAtLastError()));
    printf(" get %s", cudaGetErrorName(cudaGetLastError()));
    printf(" get again %s\n", cudaGetErrorName(cudaGetLastError()));
    hold(s);
    printf("query of a busy stream %s", cudaGetErrorName(cudaStreamQuery(s)));
    printf(" last error %s\n", cudaGetErrorName(cudaGetLastError()));
    printf("query of a busy legacy stream: hold is on a non-blocking stream %s\n",
           cudaGetErrorName(cudaStreamQuery(0)));
    cudaGetLastError();
    open_gate();
    cudaStreamSynchronize(s);
}

/* How much memory does cudaMalloc take for a size, and for a second one of that size? */
static void memory_taken(size_t size)
{
    void *p, *n2 = 0;
    size_t before = free_now();
    cudaMalloc(&p, size);
    size_t first = free_now();
    cudaMalloc(&n2, size);
    printf("cudaMalloc %zu: free fell by %zu, by a second %zu, gap %lld, alignment %llu", size,
           before - first, first - free_now(), distance(n2, p), alignment_of(p));
    cudaFree(p);
    cudaFree(n2);
    printf(", after both frees %lld\n", (long long)(before - free_now()));
}

CASE(memory)
{
    int v;
    unsigned fl;
    void *q = 0;
    puts("## memory");

    /* Which sizes, flags and addresses do allocations and frees take? */
    RECORD(cudaMalloc(&m, 0));
    printf("  null %d\n", m == 0);
    RECORD(cudaMalloc(0, 4));
    RECORD(cudaMallocHost(&h, 0));
    printf("  null %d\n", h == 0);
    RECORD(cudaMallocHost(0, 4));
    RECORD(cudaHostAlloc(&h, 4, 0xff));
    RECORD(cudaHostAlloc(&h, 0, 0));
    RECORD(cudaFreeHost(0));
    RECORD(cudaFreeHost(dummy));
    RECORD(cudaMalloc(&m, (size_t)1 << 50));
    RECORD(cudaMalloc(&m, SIZE_MAX));
    RECORD(cudaMallocHost(&h, (size_t)1 << 50));

    static const size_t sizes[] = {1,        4096,     1 * MiB,  2 * MiB,  2 * MiB + 1,
                                   31 * MiB, 32 * MiB, 33 * MiB, 100 * MiB};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        memory_taken(sizes[i]);
    cudaMalloc(&m, MiB);
    cudaHostAlloc(&h, MiB, 0);
    cudaHostAlloc(&hm, MiB, cudaHostAllocMapped);
    cudaMallocManaged(&mg, MiB, cudaMemAttachGlobal);
    a = ready_memory(NULL, MiB);

    /* What does cudaPointerGetAttributes return for an address of which memory? */
    print_attributes_of("cudaMalloc", m);
    print_attributes_of("cudaMalloc + 100", (char *)m + 100);
    print_attributes_of("cudaMalloc past the end", (char *)m + 3 * MiB);
    print_attributes_of("cudaHostAlloc", h);
    print_attributes_of("cudaHostAlloc + 100", (char *)h + 100);
    print_attributes_of("cudaHostAlloc mapped", hm);
    print_attributes_of("managed", mg);
    print_attributes_of("stack", &v);
    print_attributes_of("null", 0);
    print_attributes_of("pool", a);
    print_attributes_of("pool + 100", (char *)a + 100);
    print_attributes_of("pool + 2 MiB (same step)", (char *)a + 2 * MiB);
    RECORD(cudaFreeAsync(a, s));
    print_attributes_of("pool, freed, not synchronised", a);
    cudaStreamSynchronize(s);
    print_attributes_of("pool, freed, synchronised", a);
    RECORD(cudaPointerGetAttributes(0, m));

    /* Which memory of the host has a device address, and flags? */
    RECORD(cudaHostGetDevicePointer(&q, h, 0));
    printf("  same %d\n", q == h);
    RECORD(cudaHostGetDevicePointer(&q, dummy, 0));
    RECORD(cudaHostGetDevicePointer(&q, h, 1));
    RECORD(cudaHostGetDevicePointer(&q, m, 0));
    RECORD(cudaHostGetFlags(&fl, h));
    printf("  %u\n", fl);
    RECORD(cudaHostGetFlags(&fl, hm));
    printf("  %u\n", fl);
    RECORD(cudaHostGetFlags(&fl, dummy));

    /* Can memory be registered and unregistered twice, and freed by the wrong call? */
    RECORD(cudaHostRegister(dummy, sizeof dummy, 0));
    print_attributes_of("registered", dummy);
    RECORD(cudaHostRegister(dummy, sizeof dummy, 0));
    RECORD(cudaHostUnregister(dummy));
    RECORD(cudaHostUnregister(dummy));
    RECORD(cudaFree(h));
    RECORD(cudaFreeHost(m));
    RECORD(cudaFree((char *)m + 256));
    RECORD(cudaFreeHost((char *)h + 256));
}

CASE(copies_and_memsets)
{
    char *c = (char *)m;
    int x = 5, y = 0;
    puts("## copies and memsets");

    /* Which directions may a copy name? */
    RECORD(cudaMemcpy(m, &x, 4, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy(&y, m, 4, cudaMemcpyDeviceToHost));
    printf("  y %d\n", y);
    RECORD(cudaMemcpy(m, &x, 4, cudaMemcpyDefault));
    RECORD(cudaMemcpy(&y, &x, 4, cudaMemcpyHostToHost));
    RECORD(cudaMemcpy(&y, &x, 4, cudaMemcpyDefault));
    RECORD(cudaMemcpy(m, &x, 0, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy(0, 0, 0, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy(0, &x, 4, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy(m, 0, 4, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy(m, &x, 4, (enum cudaMemcpyKind)9));
    RECORD(cudaMemcpy(m, &x, 4, cudaMemcpyDeviceToHost));
    RECORD(cudaMemcpy(&y, m, 4, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy(&y, &x, 4, cudaMemcpyDeviceToDevice));
    RECORD(cudaMemcpy(&y, &x, 4, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy(c, c + 512, 4, cudaMemcpyHostToHost));
    RECORD(cudaMemcpy(c, c + 512, 4, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy(c, c + 512, 4, cudaMemcpyDefault));
    RECORD(cudaMemcpy(c + MiB - 2, &x, 4, cudaMemcpyHostToDevice));
    RECORD(cudaMemcpy(c + 3 * MiB, &x, 4, cudaMemcpyHostToDevice));

    /* Which memory can be set, and how far? */
    RECORD(cudaMemset(m, 1, MiB));
    RECORD(cudaMemset(m, 1, MiB + 1));
    RECORD(cudaMemset(0, 1, 4));
    RECORD(cudaMemset(0, 1, 0));
    RECORD(cudaMemset(&x, 1, 4));
    RECORD(cudaMemset(h, 1, 4));
    RECORD(cudaMemset(hm, 1, 4));
    RECORD(cudaMemset(mg, 1, 4));

    /* Is a range refused that ends past an allocation of a pool, or whose allocation was freed? */
    cudaMallocAsync(&a, 64, s);
    RECORD(cudaMemsetAsync(a, 0, 64, s));
    RECORD(cudaMemsetAsync(a, 0, 65, s));
    RECORD(cudaMemsetAsync((char *)a + 64, 0, 1, s));
    RECORD(cudaMemcpyAsync(&y, (char *)a + 61, 4, cudaMemcpyDeviceToHost, s));
    RECORD(cudaMemcpyAsync(&y, (char *)a + 60, 4, cudaMemcpyDeviceToHost, s));
    cudaFreeAsync(a, s);
    RECORD(cudaMemsetAsync(a, 0, 64, s));
    RECORD(cudaMemcpyAsync(&y, a, 4, cudaMemcpyDeviceToHost, s));
    cudaStreamSynchronize(s);
    RECORD(cudaMemsetAsync(a, 0, 64, s));
    RECORD(cudaMemcpyAsync(&y, a, 4, cudaMemcpyDeviceToHost, s));

    /* Is a range refused that reaches into the neighbouring allocation? */
    cudaMallocAsync(&a1, 1024, s);
    cudaMallocAsync(&a2, 1024, s);
    printf("neighbours %lld apart\n", distance(a2, a1));
    RECORD(cudaMemsetAsync(a1, 0, 2048, s));
    RECORD(cudaMemsetAsync(a1, 0, 1025, s));
    RECORD(cudaMemcpyAsync(m, a1, 1025, cudaMemcpyDeviceToDevice, s));
    RECORD(cudaMemcpyAsync(m, a1, 1024, cudaMemcpyDeviceToDevice, s));
    RECORD(launch_fill((int *)a1, 1, 256, s));
    RECORD(launch_fill((int *)a1, 1, 0, s));
    cudaFreeAsync(a1, s);
    free_and_wait(a2);
}

CASE(streams_and_events)
{
    cudaEvent_t e, f, nt;
    cudaStream_t u;
    unsigned fl = 0;
    unsigned long long id = 0;
    int v;
    float ms;
    puts("## streams and events");

    /* Which flags, priorities and streams do calls about streams take? */
    RECORD(cudaStreamCreate(0));
    RECORD(cudaStreamCreateWithFlags(&u, 7));
    RECORD(cudaStreamCreateWithFlags(&u, cudaStreamDefault));
    RECORD(cudaStreamGetFlags(u, &fl));
    printf("  %u\n", fl);
    RECORD(cudaStreamGetFlags(0, &fl));
    printf("  %u\n", fl);
    RECORD(cudaStreamGetPriority(u, &v));
    printf("  %d\n", v);
    RECORD(cudaStreamGetDevice(u, &v));
    RECORD(cudaStreamDestroy(u));
    RECORD(cudaStreamDestroy(0));
    RECORD(cudaStreamDestroy(cudaStreamLegacy));
    RECORD_SYNC(cudaStreamDestroy(cudaStreamPerThread), cudaStreamLegacy);
    RECORD(cudaStreamSynchronize(cudaStreamPerThread));
    RECORD(cudaStreamQuery(0));
    RECORD(cudaStreamCreateWithPriority(&u, cudaStreamNonBlocking, -99));
    RECORD(cudaStreamGetPriority(u, &v));
    printf("  %d\n", v);
    RECORD(cudaStreamDestroy(u));

    /* What do calls return for an event that was never recorded, and for none? */
    RECORD(cudaEventCreate(0));
    RECORD(cudaEventCreateWithFlags(&e, 0x99));
    RECORD(cudaEventCreate(&e));
    RECORD(cudaEventCreate(&f));
    RECORD(cudaEventQuery(e));
    RECORD(cudaEventSynchronize(e));
    RECORD(cudaEventElapsedTime(&ms, e, f));
    RECORD(cudaStreamWaitEvent(s, e, 0));
    RECORD(cudaStreamWaitEvent(s, e, 5));
    RECORD(cudaStreamWaitEvent(s, 0, 0));
    RECORD(cudaEventRecord(0, s));
    RECORD(cudaEventDestroy(0));
    RECORD(cudaEventSynchronize(0));
    RECORD(cudaEventQuery(0));

    /* Between which events is there an elapsed time? */
    RECORD(cudaEventRecord(e, s));
    RECORD(cudaEventElapsedTime(&ms, e, f));
    RECORD(cudaEventRecord(f, s));
    cudaStreamSynchronize(s);
    RECORD(cudaEventElapsedTime(&ms, e, f));
    RECORD(cudaEventElapsedTime(0, e, f));
    RECORD(cudaEventElapsedTime(&ms, f, e));
    printf("  negative %d\n", ms < 0);
    hold(s);
    cudaEventRecord(f, s);
    RECORD(cudaEventElapsedTime(&ms, e, f));
    RECORD(cudaEventQuery(f));
    open_gate();
    cudaStreamSynchronize(s);
    cudaEventCreateWithFlags(&nt, cudaEventDisableTiming);
    cudaEventRecord(nt, s);
    cudaStreamSynchronize(s);
    RECORD(cudaEventElapsedTime(&ms, e, nt));
    RECORD(cudaEventRecordWithFlags(e, s, 7));
    RECORD(cudaEventDestroy(e));
    RECORD(cudaEventCreateWithFlags(&e, cudaEventInterprocess));

    /* Which functions of the host does a stream take? */
    RECORD(cudaLaunchHostFunc(s, 0, 0));
    RECORD_SYNC(cudaLaunchHostFunc(s, nothing, 0), s);
    RECORD(cudaStreamGetId(s, &id));
    RECORD(cudaStreamAddCallback(s, 0, 0, 0));
}

/* ---- pools ---- */

static const uint64_t all = UINT64_MAX;
static struct cudaMemPoolProps props;
CASE(pools)
{
    cudaMemPool_t cur;
    uint64_t got, big = all;
    puts("## pools");
    props = device_props();

    /* What are the attributes of a new pool? */
    RECORD(cudaMemPoolCreate(&pool, &props));
    for (int i = 1; i <= 8; i++) {
        uint64_t value = 77;
        cudaError_t error = cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)i, &value);
        printf("fresh pool attribute %d %s %llu\n", i, cudaGetErrorName(error),
               (unsigned long long)value);
    }
    cudaGetLastError();

    /* Can the pool be made current, and twice? Can its threshold be the largest number? */
    RECORD(cudaDeviceGetMemPool(&cur, 99));
    RECORD(cudaDeviceGetDefaultMemPool(0, 0));
    RECORD(cudaDeviceSetMemPool(0, pool));
    RECORD(cudaDeviceSetMemPool(0, pool));
    RECORD(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &big));
    RECORD(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));

    /* How does a pool grow, and when does its memory go back if it is destroyed with live
     * allocations? */
    free_at_first = free_now();
    cudaMallocAsync(&a, 1, s);
    printf("1 byte from a fresh pool: free fell by %lld\n", fallen());
    cudaMallocAsync(&a1, 40 * MiB, s);
    printf("then 40 MiB: free fell by %lld\n", fallen());
    RECORD(cudaMemPoolDestroy(pool));
    printf("destroyed with live blocks: fell by %lld\n", fallen());
    RECORD(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got));
    RECORD(cudaMemPoolTrimTo(pool, 0));
    RECORD(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &big));
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaFreeAsync(a1, s));
    printf("blocks freed: fell by %lld\n", fallen());
    cudaStreamSynchronize(s);
    printf("and synchronised: fell by %lld\n", fallen());
    RECORD(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got));

    /* Which maxSize can there be, and what does one of 33 bytes allow? */
    props.maxSize = (size_t)1 << 50;
    RECORD(cudaMemPoolCreate(&pool, &props));
    props.maxSize = 33;
    RECORD(cudaMemPoolCreate(&pool, &props));
    RECORD(cudaMallocFromPoolAsync(&a, 33 * MiB, pool, s));
    RECORD(cudaMallocFromPoolAsync(&a, 32 * MiB, pool, s));
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaMallocFromPoolAsync(&a, 32 * MiB, pool, s));
    RECORD_SYNC(cudaFree(a), s);
    printf("  reserved %llu\n", bytes_reserved(pool));
    RECORD(cudaMemPoolDestroy(pool));
    props.maxSize = 0;

    /* Does the legacy stream reuse what was freed in a non-blocking stream? */
    cudaMemPoolCreate(&pool, &props);
    cudaMallocFromPoolAsync(&a, MiB, pool, s);
    cudaMemsetAsync(a, 0, MiB, s);
    cudaFreeAsync(a, s);
    cudaMallocFromPoolAsync(&a1, MiB, pool, 0);
    printf("freed on a non-blocking stream, allocated on the legacy stream: reused %d\n", a == a1);
    cudaFreeAsync(a1, 0);
    cudaDeviceSynchronize();

    /* Do the legacy stream and a blocking one reuse what the other freed, when only the event
     * policy is on? */
    cudaStreamCreate(&b);
    set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    set_threshold(pool, all);
    cudaMallocFromPoolAsync(&a, MiB, pool, b);
    cudaFreeAsync(a, b);
    cudaMallocFromPoolAsync(&a1, MiB, pool, 0);
    printf("follow events only: freed on a blocking stream, allocated on the legacy stream: ");
    printf("reused %d\n", a == a1);
    cudaFreeAsync(a1, 0);
    cudaMallocFromPoolAsync(&a2, MiB, pool, b);
    printf("freed on the legacy stream, allocated on a blocking stream: reused %d\n", a1 == a2);
    cudaFreeAsync(a2, b);
    cudaDeviceSynchronize();

    /* When does a trim release memory whose free the host has not waited for? */
    cudaMallocFromPoolAsync(&a, MiB, pool, s);
    cudaFreeAsync(a, s);
    RECORD(cudaMemPoolTrimTo(pool, 0));
    printf("free on an idle stream, no synchronise, then trim: reserved %llu\n",
           bytes_reserved(pool));
    usleep(100000);
    cudaMemPoolTrimTo(pool, 0);
    printf("100 ms later, trim again: reserved %llu\n", bytes_reserved(pool));
    cudaStreamQuery(s);
    cudaMemPoolTrimTo(pool, 0);
    printf("after a query that said done, trim again: reserved %llu\n", bytes_reserved(pool));
    cudaStreamSynchronize(s);
    cudaMemPoolTrimTo(pool, 0);
    printf("after a synchronise, trim again: reserved %llu\n", bytes_reserved(pool));
    cudaMemPoolTrimTo(pool, 0);
}

/* ---- what makes a pool give memory back? ---- */

static void print_reserved(const char *when)
{
    printf("%-76s reserved %llu\n", when, mib_reserved(pool));
}

#define RESERVED_AFTER(call, when) ((void)(call), print_reserved(when))

/* Frees 64 MiB in a stream; beyond the threshold, they go back at some later call. */
static void free_64_mib(uint64_t threshold, cudaStream_t stream)
{
    cudaDeviceSynchronize();
    cudaMemPoolTrimTo(pool, 0);
    set_threshold(pool, threshold);
    cudaMallocFromPoolAsync(&a, 64 * MiB, pool, stream);
    cudaMemsetAsync(a, 0, MiB, stream);
    cudaFreeAsync(a, stream);
}

static void blocking_copy(void)
{
    int x;
    cudaMemcpy(&x, m, 4, cudaMemcpyDeviceToHost);
}

static void pageable_copy(void) { cudaMemcpyAsync(dummy, m, MiB, cudaMemcpyDeviceToHost, s); }

CASE(given_back)
{
    cudaStream_t u;
    void *p = 0;

    /* Which synchronization releases what a lowered threshold no longer keeps? */
    free_64_mib(all, s);
    cudaStreamSynchronize(s);
    RESERVED_AFTER(set_threshold(pool, 0), "64 MiB freed and synchronised, then threshold 0");
    RESERVED_AFTER(cudaStreamSynchronize(s), "  stream synchronise again, nothing new freed");
    RESERVED_AFTER(cudaDeviceSynchronize(), "  device synchronise, nothing new freed");
    cudaMallocFromPoolAsync(&a1, 1, pool, s);
    RESERVED_AFTER(free_and_wait(a1), "  a byte allocated, freed, synchronised");

    /* Does a blocking copy release what was freed in a non-blocking, a blocking or the legacy
     * stream, or the synchronization of another stream? */
    free_64_mib(0, s);
    RESERVED_AFTER(blocking_copy(), "freed on a non-blocking stream, then a blocking cudaMemcpy");
    RESERVED_AFTER(cudaStreamSynchronize(t), "  another stream synchronised");
    cudaEventCreate(&ev);
    cudaEventRecord(ev, t);
    RESERVED_AFTER(cudaEventSynchronize(ev), "  an event of another stream synchronised");

    free_64_mib(0, b);
    RESERVED_AFTER(blocking_copy(), "freed on a blocking stream, then a blocking cudaMemcpy");
    RESERVED_AFTER(cudaStreamSynchronize(0), "  then the legacy stream synchronised");

    free_64_mib(0, (cudaStream_t)0);
    RESERVED_AFTER(blocking_copy(), "freed on the legacy stream, then a blocking cudaMemcpy");
    RESERVED_AFTER(cudaStreamSynchronize(b), "  then a blocking stream synchronised");

    /* Does the synchronization of a stream release it, when the stream waits for an event after the
     * free? */
    free_64_mib(0, s);
    order(s, t);
    RESERVED_AFTER(cudaStreamSynchronize(t),
                   "freed on s, t waits for an event after it, t synchronised");

    /* Do allocations and frees of other kinds of memory release it? */
    free_64_mib(0, s);
    RESERVED_AFTER(cudaFree(NULL), "freed on s, cudaFree(NULL)");
    RESERVED_AFTER(cudaMalloc(&p, 4 * MiB), "  cudaMalloc");
    RESERVED_AFTER(cudaFree(p), "  cudaFree of it");

    free_64_mib(0, s);
    RESERVED_AFTER(cudaMallocHost(&p, MiB), "freed on s, cudaMallocHost");
    RESERVED_AFTER(cudaFreeHost(p), "  cudaFreeHost");

    /* Does the synchronization of one stream release what was freed in another one, or that one's
     * end? */
    free_64_mib(0, s);
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
    cudaMallocFromPoolAsync(&a1, MiB, pool, u);
    cudaFreeAsync(a1, u);
    RESERVED_AFTER(cudaStreamSynchronize(s), "freed on s and on u, s synchronised");
    RESERVED_AFTER(cudaStreamDestroy(u), "  u destroyed");
    RESERVED_AFTER(cudaStreamSynchronize(s), "  s synchronised again");
    RESERVED_AFTER(cudaDeviceSynchronize(), "  device synchronise");

    /* Does a copy release it that waits, or an allocation that needs more? */
    free_64_mib(0, s);
    RESERVED_AFTER(pageable_copy(), "freed on s, then a pageable copy to the host on s");

    free_64_mib(0, s);
    cudaLaunchHostFunc(s, nothing, 0);
    usleep(1000);
    RESERVED_AFTER(cudaMallocFromPoolAsync(&a1, 128 * MiB, pool, s),
                   "freed on s, 1 ms later 128 MiB on s");
    cudaFreeAsync(a1, s);
    cudaDeviceSynchronize();
}

/* ---- when does a pool know that freed memory is its own again? ---- */

/* A new pool without internal dependencies, with 64 MiB freed in s. */
static void new_pool_with_free(int opportunistic)
{
    cudaMemPoolDestroy(pool);
    cudaMemPoolCreate(&pool, &props);
    set_flag(pool, cudaMemPoolReuseAllowOpportunistic, opportunistic);
    set_flag(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    set_threshold(pool, all);
    cudaMallocFromPoolAsync(&a, 64 * MiB, pool, s);
    cudaMemsetAsync(a, 0, MiB, s);
    cudaFreeAsync(a, s);
}

/* Do 128 MiB extend the 64 that were freed (reserved 128), or come beside them (192)? */
static void print_larger(const char *when)
{
    cudaMallocFromPoolAsync(&a1, 128 * MiB, pool, s);
    print_reserved(when);
    cudaFreeAsync(a1, s);
    cudaDeviceSynchronize();
}

static void query_until_done(void)
{
    while (cudaStreamQuery(s) == cudaErrorNotReady)
        ;
}

static void query_event(void)
{
    while (cudaEventQuery(ev) == cudaErrorNotReady)
        ;
}

/* After which calls does a pool know that a free is over? */
static void larger_after(int opportunistic)
{
    printf("opportunistic %d\n", opportunistic);
#define LARGER(when, after)                \
    do {                                   \
        new_pool_with_free(opportunistic); \
        after;                             \
        print_larger(when);                \
    } while (0)
    LARGER("64 MiB freed on s, at once 128 MiB on s", );
    LARGER("  1 ms later", usleep(1000));
    LARGER("  after a query that said done", query_until_done());
    LARGER("  1 ms later, after a query", (usleep(1000), query_until_done()));
    LARGER("  with a host function behind it, 1 ms later",
           (cudaLaunchHostFunc(s, nothing, 0), usleep(1000)));
    LARGER("  after an event query that said done", (cudaEventRecord(ev, s), query_event()));
    LARGER("  with a kernel behind it, 1 ms later", (launch_fill((int *)m, 1, 4, s), usleep(1000)));
    LARGER("  after a pageable copy to the host on s", pageable_copy());
    LARGER("  after a blocking cudaMemcpy", cudaMemcpy(dummy, m, MiB, cudaMemcpyDeviceToHost));
}

CASE(known_to_be_free)
{
    larger_after(0);
    larger_after(1);

    /* Does a threshold of 0 release memory that the pool already knew to be free? */
    new_pool_with_free(0);
    set_threshold(pool, 0);
    RESERVED_AFTER(cudaStreamSynchronize(s), "freed, threshold 0, synchronised");

    new_pool_with_free(0);
    cudaStreamSynchronize(s);
    cudaMallocFromPoolAsync(&a1, 1, pool, s);
    set_threshold(pool, 0);
    RESERVED_AFTER(cudaStreamSynchronize(s),
                   "home, a byte live, threshold lowered to 0, synchronised");
    cudaFreeAsync(a1, s);
    cudaDeviceSynchronize();

    new_pool_with_free(0);
    cudaStreamSynchronize(s);
    set_threshold(pool, 0);
    RESERVED_AFTER(cudaStreamSynchronize(t),
                   "home, threshold lowered to 0, another stream synchronised");
    RESERVED_AFTER(cudaStreamQuery(s), "  a query");
    RESERVED_AFTER(cudaStreamSynchronize(s), "  its own stream synchronised");

    new_pool_with_free(0);
    cudaStreamSynchronize(s);
    set_threshold(pool, 0);
    cudaStreamSynchronize(s);
    set_flag(pool, cudaMemPoolReuseAllowOpportunistic, 1);
    print_reserved("home, threshold lowered to 0, its own stream synchronised");

    /* Is memory reused in s that was freed in t, with the policies off? */
    new_pool_with_free(0);
    cudaStreamSynchronize(s);
    cudaMallocFromPoolAsync(&a1, 32 * MiB, pool, s);
    cudaFreeAsync(a1, t);
    cudaStreamDestroy(b);
    RESERVED_AFTER(cudaStreamCreate(&b), "home, 32 MiB again, freed on t");
    RESERVED_AFTER(cudaMallocFromPoolAsync(&a2, 32 * MiB, pool, s), "  32 MiB more on s");
    cudaFreeAsync(a2, s);
    cudaDeviceSynchronize();

    /* Is a host function that has run behind the free as good as a synchronization? */
    new_pool_with_free(0);
    set_threshold(pool, 0);
    cudaLaunchHostFunc(s, nothing, 0);
    RESERVED_AFTER(usleep(1000), "freed on s, threshold 0, a host function behind it, 1 ms later");
    RESERVED_AFTER(cudaMemPoolTrimTo(pool, 0), "  trimmed");
    cudaDeviceSynchronize();

    new_pool_with_free(0);
    cudaLaunchHostFunc(s, nothing, 0);
    usleep(1000);
    cudaMallocFromPoolAsync(&a1, 64 * MiB, pool, t);
    printf("freed on s, a host function behind it, 1 ms later, allocated on t: reused %d\n",
           a == a1);
    cudaFreeAsync(a1, t);
    cudaDeviceSynchronize();
}

/* Can everything be freed twice? */
CASE(freed_twice)
{
    cudaStreamDestroy(b);
    RECORD(cudaMemPoolDestroy(pool));
    RECORD(cudaDeviceSynchronize());
    RECORD(cudaFree(m));
    RECORD(cudaFree(m));
    RECORD(cudaFreeHost(h));
    RECORD(cudaFreeHost(h));
    cudaFreeHost(hm);
    RECORD(cudaFree(mg));
}

int main(void)
{
    set_up_process();
    return run_in_one_process();
}
