/* Asks a real device the questions that the simulated device answers, and prints each answer as a line.
 *
 *   probe answers    attributes, limits, pointer attributes, error codes of calls
 *   probe waits [N]  which calls wait for work that is pending on another stream; N looks are enough to know it (probe_wait.h)
 *   probe times      host microseconds of calls, device microseconds of work (medians)
 *   probe gone       what follows when a destroyed pool is made current (the process may die)
 *   probe dying K    50 pools are destroyed (the process may die): K 0 empty and synchronised, 1 with a live block, 2 with frees that are not
 *                    synchronised, 3 as 1 with the largest threshold, 4 as 3 without a synchronise
 *
 * The recorded answers are tests/facts/probe-*.txt; tests/probes.sh asks a device anew. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "kernels.h"
#include "probe_wait.h"

#define MiB ((size_t)1 << 20)
#define ASK(call) do { cudaError_t e_ = (call); printf("%-76s -> %s", #call, cudaGetErrorName(e_)); \
        cudaError_t l_ = cudaGetLastError(); if (l_ != e_) printf("  (last error %s)", cudaGetErrorName(l_)); puts(""); fflush(stdout); } while (0)

static double now_us(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec; }
static cudaStream_t s, t;
static int *gate, *gate_device;
static void *d;
static int dummy[1 << 20];

static void pointer_line(const char *what, const void *p)
{
    struct cudaPointerAttributes a;
    memset(&a, 0xff, sizeof a);
    cudaError_t e = cudaPointerGetAttributes(&a, p);
    printf("pointer %-44s %s", what, cudaGetErrorName(e));
    if (!e) printf(" type %d device %d devicePointer %s hostPointer %s", (int)a.type, a.device,
                   !a.devicePointer ? "null" : a.devicePointer == p ? "same" : "other", !a.hostPointer ? "null" : a.hostPointer == p ? "same" : "other");
    puts("");
    cudaGetLastError();
}

static void nothing(void *unused) { (void)unused; }
static void sleep_10ms(void *unused) { (void)unused; usleep(10000); }

static void answers(void)
{
    int v = 0, w = 0, n = 0;
    size_t fr = 0, total = 0, before = 0;
    cudaGetDeviceCount(&n);
    printf("devices %d\n", n);
    struct cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    printf("name %s totalGlobalMem %zu major %d minor %d multiProcessorCount %d unifiedAddressing %d canMapHostMemory %d asyncEngineCount %d memoryPoolsSupported %d l2CacheSize %d warpSize %d\n",
           p.name, p.totalGlobalMem, p.major, p.minor, p.multiProcessorCount, p.unifiedAddressing, p.canMapHostMemory, p.asyncEngineCount, p.memoryPoolsSupported, p.l2CacheSize, p.warpSize);
    for (int i = 0; i < 160; i++) { int x = -777; cudaError_t e = cudaDeviceGetAttribute(&x, (enum cudaDeviceAttr)i, 0); if (!e) printf("attribute %d = %d\n", i, x); else printf("attribute %d %s\n", i, cudaGetErrorName(e)); }
    cudaGetLastError();
    ASK(cudaDeviceGetStreamPriorityRange(&v, &w)); printf("  least %d greatest %d\n", v, w);
    ASK(cudaMemGetInfo(&fr, &total)); printf("  free %zu total %zu\n", fr, total);
    ASK(cudaMemGetInfo(0, &total)); ASK(cudaMemGetInfo(&fr, 0)); ASK(cudaMemGetInfo(0, 0));
    ASK(cudaGetDevice(&v)); ASK(cudaGetDevice(0)); ASK(cudaSetDevice(99)); ASK(cudaSetDevice(-1)); ASK(cudaGetDeviceCount(0));
    ASK(cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)9999, 0)); ASK(cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 99)); ASK(cudaDeviceGetAttribute(0, cudaDevAttrWarpSize, 0));
    ASK(cudaDriverGetVersion(&v)); ASK(cudaDriverGetVersion(0)); ASK(cudaRuntimeGetVersion(0));
    ASK(cudaSetDeviceFlags(0xffff)); unsigned fl = 0; ASK(cudaGetDeviceFlags(&fl)); printf("  flags %u\n", fl);

    puts("## last error");
    void *q = 0, *m = 0, *h = 0, *hm = 0, *mg = 0;
    cudaMalloc(&q, (size_t)1 << 50);
    printf("peek %s", cudaGetErrorName(cudaPeekAtLastError()));
    printf(" then a success %s", cudaGetErrorName(cudaStreamQuery(s)));
    printf(" peek %s", cudaGetErrorName(cudaPeekAtLastError()));
    printf(" get %s", cudaGetErrorName(cudaGetLastError())); printf(" get again %s\n", cudaGetErrorName(cudaGetLastError()));
    *gate = 0; launch_hold(gate_device, s);
    printf("query of a busy stream %s", cudaGetErrorName(cudaStreamQuery(s))); printf(" last error %s\n", cudaGetErrorName(cudaGetLastError()));
    printf("query of a busy legacy stream: hold is on a non-blocking stream %s\n", cudaGetErrorName(cudaStreamQuery(0))); cudaGetLastError();
    *gate = 1; cudaStreamSynchronize(s);

    puts("## memory");
    ASK(cudaMalloc(&m, 0)); printf("  null %d\n", m == 0);
    ASK(cudaMalloc(0, 4)); ASK(cudaMallocHost(&h, 0)); printf("  null %d\n", h == 0); ASK(cudaMallocHost(0, 4));
    ASK(cudaHostAlloc(&h, 4, 0xff)); ASK(cudaHostAlloc(&h, 0, 0)); ASK(cudaFreeHost(0)); ASK(cudaFreeHost(dummy));
    ASK(cudaMalloc(&m, (size_t)1 << 50)); ASK(cudaMalloc(&m, SIZE_MAX)); ASK(cudaMallocHost(&h, (size_t)1 << 50));
    static const size_t sizes[] = { 1, 4096, 1 * MiB, 2 * MiB, 2 * MiB + 1, 31 * MiB, 32 * MiB, 33 * MiB, 100 * MiB };
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cudaMemGetInfo(&before, &total); cudaMalloc(&m, sizes[i]); cudaMemGetInfo(&fr, &total); void *n2 = 0; cudaMalloc(&n2, sizes[i]); size_t fr2; cudaMemGetInfo(&fr2, &total);
        printf("cudaMalloc %zu: free fell by %zu, by a second %zu, gap %lld, alignment %llu", sizes[i], before - fr, fr - fr2, (long long)((char *)n2 - (char *)m), (unsigned long long)((uintptr_t)m & -(uintptr_t)m));
        cudaFree(m); cudaFree(n2); cudaMemGetInfo(&fr, &total); printf(", after both frees %lld\n", (long long)(before - fr));
    }
    cudaMalloc(&m, MiB); cudaHostAlloc(&h, MiB, 0); cudaHostAlloc(&hm, MiB, cudaHostAllocMapped); cudaMallocManaged(&mg, MiB, cudaMemAttachGlobal);
    void *a = 0; cudaMallocAsync(&a, MiB, s); cudaStreamSynchronize(s);
    pointer_line("cudaMalloc", m); pointer_line("cudaMalloc + 100", (char *)m + 100); pointer_line("cudaMalloc past the end", (char *)m + 3 * MiB); pointer_line("cudaHostAlloc", h); pointer_line("cudaHostAlloc + 100", (char *)h + 100);
    pointer_line("cudaHostAlloc mapped", hm); pointer_line("managed", mg); pointer_line("stack", &v); pointer_line("null", 0); pointer_line("pool", a); pointer_line("pool + 100", (char *)a + 100); pointer_line("pool + 2 MiB (same step)", (char *)a + 2 * MiB);
    ASK(cudaFreeAsync(a, s)); pointer_line("pool, freed, not synchronised", a); cudaStreamSynchronize(s); pointer_line("pool, freed, synchronised", a);
    ASK(cudaPointerGetAttributes(0, m));
    ASK(cudaHostGetDevicePointer(&q, h, 0)); printf("  same %d\n", q == h); ASK(cudaHostGetDevicePointer(&q, dummy, 0)); ASK(cudaHostGetDevicePointer(&q, h, 1)); ASK(cudaHostGetDevicePointer(&q, m, 0));
    ASK(cudaHostGetFlags(&fl, h)); printf("  %u\n", fl); ASK(cudaHostGetFlags(&fl, hm)); printf("  %u\n", fl); ASK(cudaHostGetFlags(&fl, dummy));
    ASK(cudaHostRegister(dummy, sizeof dummy, 0)); pointer_line("registered", dummy); ASK(cudaHostRegister(dummy, sizeof dummy, 0)); ASK(cudaHostUnregister(dummy)); ASK(cudaHostUnregister(dummy));
    ASK(cudaFree(h)); ASK(cudaFreeHost(m)); ASK(cudaFree((char *)m + 256)); ASK(cudaFreeHost((char *)h + 256));

    puts("## copies and memsets");
    char *c = (char *)m; int x = 5, y = 0;
    ASK(cudaMemcpy(m, &x, 4, cudaMemcpyHostToDevice)); ASK(cudaMemcpy(&y, m, 4, cudaMemcpyDeviceToHost)); printf("  y %d\n", y);
    ASK(cudaMemcpy(m, &x, 4, cudaMemcpyDefault)); ASK(cudaMemcpy(&y, &x, 4, cudaMemcpyHostToHost)); ASK(cudaMemcpy(&y, &x, 4, cudaMemcpyDefault));
    ASK(cudaMemcpy(m, &x, 0, cudaMemcpyHostToDevice)); ASK(cudaMemcpy(0, 0, 0, cudaMemcpyHostToDevice)); ASK(cudaMemcpy(0, &x, 4, cudaMemcpyHostToDevice)); ASK(cudaMemcpy(m, 0, 4, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(m, &x, 4, (enum cudaMemcpyKind)9)); ASK(cudaMemcpy(m, &x, 4, cudaMemcpyDeviceToHost)); ASK(cudaMemcpy(&y, m, 4, cudaMemcpyHostToDevice)); ASK(cudaMemcpy(&y, &x, 4, cudaMemcpyDeviceToDevice)); ASK(cudaMemcpy(&y, &x, 4, cudaMemcpyHostToDevice)); ASK(cudaMemcpy(c, c + 512, 4, cudaMemcpyHostToHost)); ASK(cudaMemcpy(c, c + 512, 4, cudaMemcpyHostToDevice)); ASK(cudaMemcpy(c, c + 512, 4, cudaMemcpyDefault));
    ASK(cudaMemcpy(c + MiB - 2, &x, 4, cudaMemcpyHostToDevice)); ASK(cudaMemcpy(c + 3 * MiB, &x, 4, cudaMemcpyHostToDevice));
    ASK(cudaMemset(m, 1, MiB)); ASK(cudaMemset(m, 1, MiB + 1)); ASK(cudaMemset(0, 1, 4)); ASK(cudaMemset(0, 1, 0)); ASK(cudaMemset(&x, 1, 4)); ASK(cudaMemset(h, 1, 4)); ASK(cudaMemset(hm, 1, 4)); ASK(cudaMemset(mg, 1, 4));
    cudaMallocAsync(&a, 64, s);
    ASK(cudaMemsetAsync(a, 0, 64, s)); ASK(cudaMemsetAsync(a, 0, 65, s)); ASK(cudaMemsetAsync((char *)a + 64, 0, 1, s)); ASK(cudaMemcpyAsync(&y, (char *)a + 61, 4, cudaMemcpyDeviceToHost, s)); ASK(cudaMemcpyAsync(&y, (char *)a + 60, 4, cudaMemcpyDeviceToHost, s));
    cudaFreeAsync(a, s); ASK(cudaMemsetAsync(a, 0, 64, s)); ASK(cudaMemcpyAsync(&y, a, 4, cudaMemcpyDeviceToHost, s)); cudaStreamSynchronize(s); ASK(cudaMemsetAsync(a, 0, 64, s)); ASK(cudaMemcpyAsync(&y, a, 4, cudaMemcpyDeviceToHost, s));
    void *a1 = 0, *a2 = 0, *m2 = 0; cudaMallocAsync(&a1, 1024, s); cudaMallocAsync(&a2, 1024, s); printf("neighbours %lld apart\n", (long long)((char *)a2 - (char *)a1));
    ASK(cudaMemsetAsync(a1, 0, 2048, s)); ASK(cudaMemsetAsync(a1, 0, 1025, s)); ASK(cudaMemcpyAsync(m, a1, 1025, cudaMemcpyDeviceToDevice, s)); ASK(cudaMemcpyAsync(m, a1, 1024, cudaMemcpyDeviceToDevice, s));
    ASK(launch_fill((int *)a1, 1, 256, s)); ASK(launch_fill((int *)a1, 1, 0, s)); cudaFreeAsync(a1, s); cudaFreeAsync(a2, s); cudaStreamSynchronize(s);

    puts("## streams and events");
    cudaStream_t u; cudaEvent_t e, f; float ms;
    ASK(cudaStreamCreate(0)); ASK(cudaStreamCreateWithFlags(&u, 7)); ASK(cudaStreamCreateWithFlags(&u, cudaStreamDefault)); ASK(cudaStreamGetFlags(u, &fl)); printf("  %u\n", fl); ASK(cudaStreamGetFlags(0, &fl)); printf("  %u\n", fl); ASK(cudaStreamGetPriority(u, &v)); printf("  %d\n", v);
    ASK(cudaStreamGetDevice(u, &v)); ASK(cudaStreamDestroy(u)); ASK(cudaStreamDestroy(0)); ASK(cudaStreamDestroy(cudaStreamLegacy)); ASK(cudaStreamDestroy(cudaStreamPerThread)); ASK(cudaStreamSynchronize(cudaStreamLegacy)); ASK(cudaStreamSynchronize(cudaStreamPerThread)); ASK(cudaStreamQuery(0));
    ASK(cudaStreamCreateWithPriority(&u, cudaStreamNonBlocking, -99)); ASK(cudaStreamGetPriority(u, &v)); printf("  %d\n", v); ASK(cudaStreamDestroy(u));
    ASK(cudaEventCreate(0)); ASK(cudaEventCreateWithFlags(&e, 0x99)); ASK(cudaEventCreate(&e)); ASK(cudaEventCreate(&f)); ASK(cudaEventQuery(e)); ASK(cudaEventSynchronize(e)); ASK(cudaEventElapsedTime(&ms, e, f)); ASK(cudaStreamWaitEvent(s, e, 0)); ASK(cudaStreamWaitEvent(s, e, 5)); ASK(cudaStreamWaitEvent(s, 0, 0)); ASK(cudaEventRecord(0, s)); ASK(cudaEventDestroy(0)); ASK(cudaEventSynchronize(0)); ASK(cudaEventQuery(0));
    ASK(cudaEventRecord(e, s)); ASK(cudaEventElapsedTime(&ms, e, f)); ASK(cudaEventRecord(f, s)); cudaStreamSynchronize(s); ASK(cudaEventElapsedTime(&ms, e, f)); ASK(cudaEventElapsedTime(0, e, f)); ASK(cudaEventElapsedTime(&ms, f, e)); printf("  negative %d\n", ms < 0);
    *gate = 0; launch_hold(gate_device, s); cudaEventRecord(f, s); ASK(cudaEventElapsedTime(&ms, e, f)); ASK(cudaEventQuery(f)); *gate = 1; cudaStreamSynchronize(s);
    cudaEvent_t nt; cudaEventCreateWithFlags(&nt, cudaEventDisableTiming); cudaEventRecord(nt, s); cudaStreamSynchronize(s); ASK(cudaEventElapsedTime(&ms, e, nt)); ASK(cudaEventRecordWithFlags(e, s, 7)); ASK(cudaEventDestroy(e));
    ASK(cudaEventCreateWithFlags(&e, cudaEventInterprocess)); ASK(cudaLaunchHostFunc(s, 0, 0)); ASK(cudaLaunchHostFunc(s, nothing, 0)); ASK(cudaStreamSynchronize(s));
    unsigned long long id = 0; ASK(cudaStreamGetId(s, &id)); ASK(cudaStreamAddCallback(s, 0, 0, 0));

    puts("## pools");
    cudaMemPool_t pool, cur; struct cudaMemPoolProps props; uint64_t big = UINT64_MAX, got = 0; memset(&props, 0, sizeof props); props.allocType = cudaMemAllocationTypePinned; props.location.type = cudaMemLocationTypeDevice;
    ASK(cudaMemPoolCreate(&pool, &props));
    for (int i = 1; i <= 8; i++) { got = 77; cudaError_t r = cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)i, &got); printf("fresh pool attribute %d %s %llu\n", i, cudaGetErrorName(r), (unsigned long long)got); }
    cudaGetLastError();
    ASK(cudaDeviceGetMemPool(&cur, 99)); ASK(cudaDeviceGetDefaultMemPool(0, 0)); ASK(cudaDeviceSetMemPool(0, pool)); ASK(cudaDeviceSetMemPool(0, pool)); ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &big)); ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    cudaMemGetInfo(&before, &total); cudaMallocAsync(&a, 1, s); cudaMemGetInfo(&fr, &total); printf("1 byte from a fresh pool: free fell by %zu\n", before - fr); cudaMallocAsync(&a1, 40 * MiB, s); cudaMemGetInfo(&fr, &total); printf("then 40 MiB: free fell by %zu\n", before - fr);
    ASK(cudaMemPoolDestroy(pool)); cudaMemGetInfo(&fr, &total); printf("destroyed with live blocks: fell by %lld\n", (long long)(before - fr)); ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got)); ASK(cudaMemPoolTrimTo(pool, 0)); ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &big));
    ASK(cudaFreeAsync(a, s)); ASK(cudaFreeAsync(a1, s)); cudaMemGetInfo(&fr, &total); printf("blocks freed: fell by %lld\n", (long long)(before - fr)); cudaStreamSynchronize(s); cudaMemGetInfo(&fr, &total); printf("and synchronised: fell by %lld\n", (long long)(before - fr)); ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &got));
    props.maxSize = (size_t)1 << 50; ASK(cudaMemPoolCreate(&pool, &props)); props.maxSize = 33; ASK(cudaMemPoolCreate(&pool, &props)); ASK(cudaMallocFromPoolAsync(&a, 33 * MiB, pool, s)); ASK(cudaMallocFromPoolAsync(&a, 32 * MiB, pool, s)); ASK(cudaFreeAsync(a, s)); ASK(cudaMallocFromPoolAsync(&a, 32 * MiB, pool, s)); ASK(cudaFree(a)); ASK(cudaStreamSynchronize(s)); got = 0; cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &got); printf("  reserved %llu\n", (unsigned long long)got); ASK(cudaMemPoolDestroy(pool));
    props.maxSize = 0; cudaMemPoolCreate(&pool, &props); cudaMallocFromPoolAsync(&a, MiB, pool, s); cudaMemsetAsync(a, 0, MiB, s); cudaFreeAsync(a, s); cudaMallocFromPoolAsync(&a1, MiB, pool, 0); printf("freed on a non-blocking stream, allocated on the legacy stream: reused %d\n", a == a1); cudaFreeAsync(a1, 0); cudaDeviceSynchronize();
    cudaStream_t b; cudaStreamCreate(&b); int off = 0; cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off); cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &off); cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &big);
    cudaMallocFromPoolAsync(&a, MiB, pool, b); cudaFreeAsync(a, b); cudaMallocFromPoolAsync(&a1, MiB, pool, 0); printf("follow events only: freed on a blocking stream, allocated on the legacy stream: reused %d\n", a == a1); cudaFreeAsync(a1, 0); cudaMallocFromPoolAsync(&a2, MiB, pool, b); printf("freed on the legacy stream, allocated on a blocking stream: reused %d\n", a1 == a2); cudaFreeAsync(a2, b); cudaDeviceSynchronize();
    cudaMallocFromPoolAsync(&a, MiB, pool, s); cudaFreeAsync(a, s); ASK(cudaMemPoolTrimTo(pool, 0)); cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &got); printf("free on an idle stream, no synchronise, then trim: reserved %llu\n", (unsigned long long)got);
    usleep(100000); cudaMemPoolTrimTo(pool, 0); cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &got); printf("100 ms later, trim again: reserved %llu\n", (unsigned long long)got); cudaStreamQuery(s); cudaMemPoolTrimTo(pool, 0); cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &got); printf("after a query that said done, trim again: reserved %llu\n", (unsigned long long)got);
    cudaStreamSynchronize(s); cudaMemPoolTrimTo(pool, 0); cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &got); printf("after a synchronise, trim again: reserved %llu\n", (unsigned long long)got);
    uint64_t zero = 0;
#define RESERVED(text) do { cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &got); printf("%-76s reserved %llu\n", text, (unsigned long long)got / MiB); } while (0)
#define AGAIN(threshold, stream) do { cudaDeviceSynchronize(); cudaMemPoolTrimTo(pool, 0); uint64_t th_ = (threshold); cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &th_); cudaMallocFromPoolAsync(&a, 64 * MiB, pool, stream); cudaMemsetAsync(a, 0, MiB, stream); cudaFreeAsync(a, stream); } while (0)
    cudaMemPoolTrimTo(pool, 0);
    AGAIN(big, s); cudaStreamSynchronize(s); cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &zero); RESERVED("64 MiB freed and synchronised, then threshold 0"); cudaStreamSynchronize(s); RESERVED("  stream synchronise again, nothing new freed"); cudaDeviceSynchronize(); RESERVED("  device synchronise, nothing new freed"); cudaMallocFromPoolAsync(&a1, 1, pool, s); cudaFreeAsync(a1, s); cudaStreamSynchronize(s); RESERVED("  a byte allocated, freed, synchronised");
    AGAIN(0, s); cudaMemcpy(&x, m, 4, cudaMemcpyDeviceToHost); RESERVED("freed on a non-blocking stream, then a blocking cudaMemcpy"); cudaStreamSynchronize(t); RESERVED("  another stream synchronised"); cudaEventCreate(&e); cudaEventRecord(e, t); cudaEventSynchronize(e); RESERVED("  an event of another stream synchronised");
    AGAIN(0, b); cudaMemcpy(&x, m, 4, cudaMemcpyDeviceToHost); RESERVED("freed on a blocking stream, then a blocking cudaMemcpy"); cudaStreamSynchronize(0); RESERVED("  then the legacy stream synchronised");
    AGAIN(0, (cudaStream_t)0); cudaMemcpy(&x, m, 4, cudaMemcpyDeviceToHost); RESERVED("freed on the legacy stream, then a blocking cudaMemcpy"); cudaStreamSynchronize(b); RESERVED("  then a blocking stream synchronised");
    AGAIN(0, s); cudaEventRecord(e, s); cudaStreamWaitEvent(t, e, 0); cudaStreamSynchronize(t); RESERVED("freed on s, t waits for an event after it, t synchronised");
    AGAIN(0, s); cudaFree(m2 = 0); RESERVED("freed on s, cudaFree(NULL)"); cudaMalloc(&m2, 4 * MiB); RESERVED("  cudaMalloc"); cudaFree(m2); RESERVED("  cudaFree of it");
    AGAIN(0, s); void *hh = 0; cudaMallocHost(&hh, MiB); RESERVED("freed on s, cudaMallocHost"); cudaFreeHost(hh); RESERVED("  cudaFreeHost");
    AGAIN(0, s); cudaStream_t u2; cudaStreamCreateWithFlags(&u2, cudaStreamNonBlocking); cudaFreeAsync((cudaMallocFromPoolAsync(&a1, MiB, pool, u2), a1), u2); cudaStreamSynchronize(s); RESERVED("freed on s and on u, s synchronised"); cudaStreamDestroy(u2); RESERVED("  u destroyed"); cudaStreamSynchronize(s); RESERVED("  s synchronised again"); cudaDeviceSynchronize(); RESERVED("  device synchronise");
    AGAIN(0, s); cudaMemcpyAsync(dummy, m, MiB, cudaMemcpyDeviceToHost, s); RESERVED("freed on s, then a pageable copy to the host on s");
    AGAIN(0, s); cudaLaunchHostFunc(s, nothing, 0); usleep(1000); cudaMallocFromPoolAsync(&a1, 128 * MiB, pool, s); RESERVED("freed on s, 1 ms later 128 MiB on s"); cudaFreeAsync(a1, s);
    cudaDeviceSynchronize(); int on = 1;
#define FRESH_POOL(opportunistic) do { cudaMemPoolDestroy(pool); cudaMemPoolCreate(&pool, &props); int o_ = (opportunistic); cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &o_); cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &off); cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &big); cudaMallocFromPoolAsync(&a, 64 * MiB, pool, s); cudaMemsetAsync(a, 0, MiB, s); cudaFreeAsync(a, s); } while (0)
#define LARGER(text) do { cudaMallocFromPoolAsync(&a1, 128 * MiB, pool, s); RESERVED(text); cudaFreeAsync(a1, s); cudaDeviceSynchronize(); } while (0)
    for (int o = 0; o < 2; o++) {
        printf("opportunistic %d\n", o);
        FRESH_POOL(o); LARGER("64 MiB freed on s, at once 128 MiB on s");
        FRESH_POOL(o); usleep(1000); LARGER("  1 ms later");
        FRESH_POOL(o); while (cudaStreamQuery(s) == cudaErrorNotReady) ; LARGER("  after a query that said done");
        FRESH_POOL(o); usleep(1000); while (cudaStreamQuery(s) == cudaErrorNotReady) ; LARGER("  1 ms later, after a query");
        FRESH_POOL(o); cudaLaunchHostFunc(s, nothing, 0); usleep(1000); LARGER("  with a host function behind it, 1 ms later");
        FRESH_POOL(o); cudaEventRecord(e, s); while (cudaEventQuery(e) == cudaErrorNotReady) ; LARGER("  after an event query that said done");
        FRESH_POOL(o); launch_fill((int *)m, 1, 4, s); usleep(1000); LARGER("  with a kernel behind it, 1 ms later");
        FRESH_POOL(o); cudaMemcpyAsync(dummy, m, MiB, cudaMemcpyDeviceToHost, s); LARGER("  after a pageable copy to the host on s");
        FRESH_POOL(o); cudaMemcpy(dummy, m, MiB, cudaMemcpyDeviceToHost); LARGER("  after a blocking cudaMemcpy");
    }
    FRESH_POOL(0); cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &zero); cudaStreamSynchronize(s); RESERVED("freed, threshold 0, synchronised"); 
    FRESH_POOL(0); cudaStreamSynchronize(s); cudaMallocFromPoolAsync(&a1, 1, pool, s); cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &zero); cudaStreamSynchronize(s); RESERVED("home, a byte live, threshold lowered to 0, synchronised"); cudaFreeAsync(a1, s); cudaDeviceSynchronize();
    FRESH_POOL(0); cudaStreamSynchronize(s); cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &zero); cudaStreamSynchronize(t); RESERVED("home, threshold lowered to 0, another stream synchronised"); cudaStreamQuery(s); RESERVED("  a query"); cudaStreamSynchronize(s); RESERVED("  its own stream synchronised");
    FRESH_POOL(0); cudaStreamSynchronize(s); cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &zero); cudaStreamSynchronize(s); cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &on); RESERVED("home, threshold lowered to 0, its own stream synchronised");
    FRESH_POOL(0); cudaStreamSynchronize(s); cudaMallocFromPoolAsync(&a1, 32 * MiB, pool, s); cudaFreeAsync(a1, t); cudaStreamDestroy(b); cudaStreamCreate(&b); RESERVED("home, 32 MiB again, freed on t"); cudaMallocFromPoolAsync(&a2, 32 * MiB, pool, s); RESERVED("  32 MiB more on s"); cudaFreeAsync(a2, s); cudaDeviceSynchronize();
    FRESH_POOL(0); cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &zero); cudaLaunchHostFunc(s, nothing, 0); usleep(1000); RESERVED("freed on s, threshold 0, a host function behind it, 1 ms later"); cudaMemPoolTrimTo(pool, 0); RESERVED("  trimmed"); cudaDeviceSynchronize();
    FRESH_POOL(0); cudaLaunchHostFunc(s, nothing, 0); usleep(1000); cudaMallocFromPoolAsync(&a1, 64 * MiB, pool, t); printf("freed on s, a host function behind it, 1 ms later, allocated on t: reused %d\n", a == a1); cudaFreeAsync(a1, t); cudaDeviceSynchronize();
    cudaDeviceSynchronize();
    cudaStreamDestroy(b); ASK(cudaMemPoolDestroy(pool)); ASK(cudaDeviceSynchronize());
    ASK(cudaFree(m)); ASK(cudaFree(m)); ASK(cudaFreeHost(h)); ASK(cudaFreeHost(h)); cudaFreeHost(hm); ASK(cudaFree(mg));
    puts("end");
}

/* A pool that is gone made current: the call succeeds; does the process survive what comes next? */
static void gone_pool(void)
{
    cudaMemPool_t gone, current; void *a = 0; struct cudaMemPoolProps props; memset(&props, 0, sizeof props); props.allocType = cudaMemAllocationTypePinned; props.location.type = cudaMemLocationTypeDevice;
    cudaMemPoolCreate(&gone, &props); cudaMemPoolDestroy(gone);
    ASK(cudaDeviceSetMemPool(0, gone)); ASK(cudaDeviceGetMemPool(&current, 0)); printf("  current is the destroyed pool: %d\n", current == gone); fflush(stdout);
    ASK(cudaMallocAsync(&a, MiB, s)); ASK(cudaDeviceGetDefaultMemPool(&current, 0)); ASK(cudaDeviceSetMemPool(0, current));
    puts("end");
}

/* Pools that are destroyed while something of theirs is alive or not synchronised, again and again: how many rounds does the process survive? */
static void dying_pools(int kind)
{
    uint64_t most = UINT64_MAX; struct cudaMemPoolProps props; memset(&props, 0, sizeof props); props.allocType = cudaMemAllocationTypePinned; props.location.type = cudaMemLocationTypeDevice;
    size_t before, after, total; void *a, *b; cudaMemGetInfo(&before, &total);
    for (int round = 0; round < 50; round++) {
        cudaMemPool_t pool; cudaMemPoolCreate(&pool, &props); if (kind >= 3) cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most);
        cudaMallocFromPoolAsync(&a, 64 * MiB, pool, s); cudaMallocFromPoolAsync(&b, 64 * MiB, pool, s); cudaMemsetAsync(a, 0, MiB, s); cudaFreeAsync(a, s);
        if (kind != 2) cudaStreamSynchronize(s);
        if (kind == 0 || kind == 2) cudaFreeAsync(b, s);
        if (kind == 0) cudaStreamSynchronize(s);
        cudaMemPoolDestroy(pool);
        cudaMemGetInfo(&after, &total); if (!round) printf("destroyed: free memory is lower by %lld MiB\n", (long long)(before - after) / (long long)MiB);
        if (kind == 1 || kind >= 3) cudaFreeAsync(b, s);
        if (kind != 4) cudaStreamSynchronize(s);
        cudaMemGetInfo(&after, &total); if (!round) printf("all freed%s: lower by %lld MiB\n", kind == 4 ? "" : " and synchronised", (long long)(before - after) / (long long)MiB);
    }
    puts("survived 50 rounds");
}

/* ---- which calls wait for pending work ---- */

#define WAITS(prepare, call) do { prepare; WAITS_LINE(gate, launch_hold(gate_device, s), call, #call); } while (0)

static void waits(void)
{
    void *a = 0, *h = 0, *m = 0, *m2 = 0; static char pageable[4 << 20]; cudaMemPool_t pool; cudaStream_t b, u; cudaEvent_t e; int v; size_t fr, tot; struct cudaPointerAttributes pa; uint64_t z = 0;
    struct cudaMemPoolProps props; memset(&props, 0, sizeof props); props.allocType = cudaMemAllocationTypePinned; props.location.type = cudaMemLocationTypeDevice;
    cudaStreamCreate(&b); cudaEventCreate(&e); cudaMalloc(&m2, 4 * MiB); cudaMemPoolCreate(&pool, &props); void *pinned = 0; cudaMallocHost(&pinned, 4 * MiB);
    puts("work is pending on a non-blocking stream s (a hold); t: another non-blocking stream, b: a blocking one");
    WAITS((void)0, cudaMalloc(&m, MiB)); WAITS((void)0, cudaFree(m)); WAITS((void)0, cudaMalloc(&m, 64 * MiB)); WAITS((void)0, cudaFree(m)); WAITS((void)0, cudaFree(0));
    WAITS((void)0, cudaMallocHost(&h, MiB)); WAITS((void)0, cudaFreeHost(h)); WAITS((void)0, cudaHostAlloc(&h, MiB, cudaHostAllocMapped)); WAITS((void)0, cudaFreeHost(h)); WAITS((void)0, cudaHostRegister(dummy, sizeof dummy, 0)); WAITS((void)0, cudaHostUnregister(dummy));
    WAITS((void)0, cudaMallocAsync(&a, MiB, s)); WAITS((void)0, cudaFreeAsync(a, s)); WAITS((void)0, cudaMallocAsync(&a, MiB, t)); WAITS((void)0, cudaFreeAsync(a, t)); WAITS(cudaMallocAsync(&a, MiB, t), cudaFree(a)); WAITS(cudaMallocFromPoolAsync(&a, MiB, pool, s), cudaFree(a));
    WAITS((void)0, cudaMallocAsync(&a, MiB, 0)); WAITS((void)0, cudaFreeAsync(a, 0));
    WAITS((void)0, cudaMemPoolTrimTo(pool, 0)); WAITS((void)0, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &z)); WAITS((void)0, cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &z)); WAITS(cudaMallocFromPoolAsync(&a, MiB, pool, s), cudaMemPoolDestroy(pool)); cudaFreeAsync(a, s); WAITS((void)0, cudaMemPoolCreate(&pool, &props));
    WAITS((void)0, cudaMemset(m2, 0, 4)); WAITS((void)0, cudaMemsetAsync(m2, 0, 4, t)); WAITS((void)0, cudaMemsetAsync(m2, 0, 4, b)); WAITS((void)0, cudaMemsetAsync(m2, 0, 4, s));
    WAITS((void)0, cudaMemcpy(m2, pageable, 4, cudaMemcpyHostToDevice)); WAITS((void)0, cudaMemcpy(m2, pageable, sizeof pageable, cudaMemcpyHostToDevice)); WAITS((void)0, cudaMemcpy(pageable, m2, 4, cudaMemcpyDeviceToHost)); WAITS((void)0, cudaMemcpy(m2, (char *)m2 + MiB, MiB, cudaMemcpyDeviceToDevice));
    WAITS((void)0, cudaMemcpyAsync(m2, pageable, 4, cudaMemcpyHostToDevice, s)); WAITS((void)0, cudaMemcpyAsync(m2, pageable, 65536, cudaMemcpyHostToDevice, s)); WAITS((void)0, cudaMemcpyAsync(m2, pageable, 65537, cudaMemcpyHostToDevice, s)); WAITS((void)0, cudaMemcpyAsync(m2, pageable, sizeof pageable, cudaMemcpyHostToDevice, s)); WAITS((void)0, cudaMemcpyAsync(pageable, m2, 4, cudaMemcpyDeviceToHost, s)); WAITS((void)0, cudaMemcpyAsync(pageable, m2, 4, cudaMemcpyDeviceToHost, t));
    WAITS((void)0, cudaMemcpyAsync(m2, pinned, MiB, cudaMemcpyHostToDevice, s)); WAITS((void)0, cudaMemcpyAsync(pinned, m2, MiB, cudaMemcpyDeviceToHost, s));
    WAITS((void)0, cudaStreamCreate(&u)); WAITS((void)0, cudaStreamDestroy(u)); cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking); *gate = 1; WAITS(launch_hold(gate_device, u), cudaStreamDestroy(u)); WAITS((void)0, cudaEventCreate(&e)); WAITS((void)0, cudaEventRecord(e, s)); WAITS((void)0, cudaEventRecord(e, s) ? cudaErrorUnknown : cudaEventDestroy(e)); cudaEventCreate(&e);
    WAITS((void)0, cudaStreamWaitEvent(t, e, 0)); WAITS((void)0, cudaStreamQuery(s)); WAITS((void)0, cudaStreamSynchronize(t)); WAITS((void)0, cudaStreamSynchronize(b)); WAITS((void)0, cudaStreamSynchronize(0)); WAITS((void)0, cudaStreamSynchronize(s)); WAITS((void)0, cudaDeviceSynchronize());
    WAITS((void)0, cudaMemGetInfo(&fr, &tot)); WAITS((void)0, cudaPointerGetAttributes(&pa, m2)); WAITS((void)0, cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0)); WAITS((void)0, cudaSetDevice(0)); WAITS((void)0, cudaLaunchHostFunc(s, nothing, 0)); WAITS((void)0, cudaLaunchHostFunc(t, nothing, 0)); WAITS((void)0, cudaMallocManaged(&h, MiB, cudaMemAttachGlobal)); WAITS((void)0, cudaFree(h));
    static const size_t pieces[] = { 65536, 131072, 262144, 524288, 1 << 20, 2 << 20, 3 << 20 };
    for (int i = 0; i < 7; i++) { printf("%zu bytes: ", pieces[i]); WAITS((void)0, cudaMemcpyAsync(m2, pageable, pieces[i], cudaMemcpyHostToDevice, s)); }
    puts("work is pending on b, a blocking stream");
    cudaStream_t keep = s; s = b;
    WAITS((void)0, cudaStreamSynchronize(0)); WAITS((void)0, cudaStreamQuery(0)); WAITS((void)0, cudaStreamSynchronize(t)); WAITS((void)0, cudaMemset(m2, 0, 4)); WAITS((void)0, cudaMemcpy(m2, pageable, 4, cudaMemcpyHostToDevice)); WAITS((void)0, cudaMemcpy(m2, (char *)m2 + MiB, MiB, cudaMemcpyDeviceToDevice)); WAITS((void)0, cudaMemcpyAsync(pageable, m2, 4, cudaMemcpyDeviceToHost, t)); WAITS((void)0, cudaStreamSynchronize(cudaStreamPerThread));
    WAITS((void)0, (cudaMemsetAsync(m2, 0, 4, 0), cudaStreamQuery(0))); WAITS((void)0, (cudaMemsetAsync(m2, 0, 4, 0), cudaStreamSynchronize(0)));
    puts("work is pending on the legacy stream");
    s = 0; WAITS((void)0, cudaStreamQuery(b)); WAITS((void)0, cudaStreamSynchronize(b)); WAITS((void)0, (cudaMemsetAsync(m2, 0, 4, b), cudaStreamQuery(b))); WAITS((void)0, (cudaMemsetAsync(m2, 0, 4, b), cudaStreamSynchronize(b))); WAITS((void)0, (cudaMemsetAsync(m2, 0, 4, t), cudaStreamSynchronize(t))); WAITS((void)0, (cudaMemsetAsync(m2, 0, 4, cudaStreamPerThread), cudaStreamSynchronize(cudaStreamPerThread)));
    s = keep;
    puts("end");
}

#define ROUNDS 25
static int by_value(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }
static void time_line(const char *what, double *v, int n) { qsort(v, (size_t)n, sizeof *v, by_value); printf("%-66s %10.3f us (min %.3f max %.3f)\n", what, v[n / 2], v[0], v[n - 1]); fflush(stdout); }
/* host microseconds of one call: each round is REP calls between two clock readings, with the device idle before */
#define COST(rep, prepare, call, after) do { double v_[ROUNDS]; for (int r_ = 0; r_ < ROUNDS; r_++) { prepare; cudaDeviceSynchronize(); double a_ = now_us(); for (int i = 0; i < (rep); i++) { call; } v_[r_] = (now_us() - a_) / (rep); after; } time_line("host   " #call, v_, ROUNDS); } while (0)
/* device microseconds of WORK between two events, behind a hold so that the host is not what is measured */
#define WORK(label, work) do { double v_[ROUNDS]; for (int r_ = 0; r_ < ROUNDS; r_++) { *gate = 0; __sync_synchronize(); launch_hold(gate_device, s); cudaEventRecord(e0, s); work; cudaEventRecord(e1, s); __sync_synchronize(); *gate = 1; cudaStreamSynchronize(s); float ms_; cudaEventElapsedTime(&ms_, e0, e1); v_[r_] = 1e3 * ms_; } time_line("device " label, v_, ROUNDS); } while (0)

static void times(void)
{
    cudaEvent_t e0, e1, e; cudaEventCreate(&e0); cudaEventCreate(&e1); cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    void *p[100], *h = 0, *m = 0; cudaStream_t u[100]; cudaEvent_t ev[100]; int *big = 0; char *pinned = 0; cudaMemPool_t pool, def; uint64_t th = UINT64_MAX, got; size_t fr, tot; struct cudaPointerAttributes pa; int v;
    struct cudaMemPoolProps props; memset(&props, 0, sizeof props); props.allocType = cudaMemAllocationTypePinned; props.location.type = cudaMemLocationTypeDevice;
    cudaDeviceGetDefaultMemPool(&def, 0); cudaMemPoolSetAttribute(def, cudaMemPoolAttrReleaseThreshold, &th); cudaMalloc((void **)&big, 1024 * MiB); cudaMallocHost((void **)&pinned, 256 * MiB); char *pageable = malloc(64 * MiB); memset(pageable, 1, 64 * MiB); memset(pinned, 1, 256 * MiB);
    for (int i = 0; i < 100; i++) cudaMallocAsync(&p[i], MiB, s);
    for (int i = 0; i < 100; i++) cudaFreeAsync(p[i], s);
    cudaDeviceSynchronize();
    COST(100, (void)0, cudaMallocAsync(&p[i], MiB, s), for (int i = 0; i < 100; i++) cudaFreeAsync(p[i], s));
    COST(100, for (int i = 0; i < 100; i++) cudaMallocAsync(&p[i], MiB, s), cudaFreeAsync(p[i], s), (void)0);
    COST(1000, (void)0, cudaMallocAsync(&m, MiB, s); cudaFreeAsync(m, s), (void)0);
    COST(100, (void)0, cudaMalloc(&p[i], MiB), for (int i = 0; i < 100; i++) cudaFree(p[i]));
    COST(100, for (int i = 0; i < 100; i++) cudaMalloc(&p[i], MiB), cudaFree(p[i]), (void)0);
    COST(10, (void)0, cudaMallocHost(&p[i], MiB), for (int i = 0; i < 10; i++) cudaFreeHost(p[i])); COST(10, for (int i = 0; i < 10; i++) cudaMallocHost(&p[i], MiB), cudaFreeHost(p[i]), (void)0);
    COST(1, (void)0, cudaMallocHost(&h, 64 * MiB), cudaFreeHost(h)); COST(1, cudaMallocHost(&h, 64 * MiB), cudaFreeHost(h), (void)0);
    COST(50, (void)0, cudaStreamCreateWithFlags(&u[i], cudaStreamNonBlocking), for (int i = 0; i < 50; i++) cudaStreamDestroy(u[i])); COST(50, for (int i = 0; i < 50; i++) cudaStreamCreateWithFlags(&u[i], cudaStreamNonBlocking), cudaStreamDestroy(u[i]), (void)0);
    COST(100, (void)0, cudaEventCreate(&ev[i]), for (int i = 0; i < 100; i++) cudaEventDestroy(ev[i])); COST(100, for (int i = 0; i < 100; i++) cudaEventCreate(&ev[i]), cudaEventDestroy(ev[i]), (void)0);
    COST(100, (void)0, cudaEventRecord(e, s), (void)0); COST(100, cudaEventRecord(e, s), cudaStreamWaitEvent(t, e, 0), (void)0);
    COST(100, (void)0, cudaStreamSynchronize(s), (void)0); COST(100, (void)0, cudaDeviceSynchronize(), (void)0); COST(100, cudaEventRecord(e, s), cudaEventSynchronize(e), (void)0); COST(100, (void)0, cudaStreamQuery(s), (void)0); COST(100, cudaEventRecord(e, s), cudaEventQuery(e), (void)0);
    COST(100, (void)0, launch_fill(big, 1, 1, s), (void)0); COST(100, (void)0, cudaMemsetAsync(big, 0, 4, s), (void)0); COST(100, (void)0, cudaMemcpyAsync(big, pinned, 4, cudaMemcpyHostToDevice, s), (void)0); COST(100, (void)0, cudaMemcpyAsync(pinned, big, 4, cudaMemcpyDeviceToHost, s), (void)0); COST(100, (void)0, cudaMemcpyAsync(big, big + 1024, 4, cudaMemcpyDeviceToDevice, s), (void)0); COST(100, (void)0, cudaMemcpyAsync(big, pageable, 4, cudaMemcpyHostToDevice, s), (void)0); COST(100, (void)0, cudaMemcpyAsync(pageable, big, 4, cudaMemcpyDeviceToHost, s), (void)0);
    COST(100, (void)0, cudaMemcpy(big, pageable, 4, cudaMemcpyHostToDevice), (void)0); COST(100, (void)0, cudaMemcpy(pageable, big, 4, cudaMemcpyDeviceToHost), (void)0); COST(20, (void)0, cudaLaunchHostFunc(s, nothing, 0), (void)0);
    COST(1, (void)0, cudaLaunchHostFunc(s, nothing, 0); cudaStreamSynchronize(s), (void)0); COST(1, (void)0, launch_fill(big, 1, 1, s); cudaStreamSynchronize(s), (void)0); COST(1, (void)0, cudaMemsetAsync(big, 0, 4, s); cudaStreamSynchronize(s), (void)0);
    COST(1, (void)0, cudaMemPoolCreate(&pool, &props), cudaMemPoolDestroy(pool)); COST(1, cudaMemPoolCreate(&pool, &props), cudaMemPoolDestroy(pool), (void)0); COST(100, (void)0, cudaMemPoolSetAttribute(def, cudaMemPoolAttrReleaseThreshold, &th), (void)0); COST(100, (void)0, cudaMemPoolGetAttribute(def, cudaMemPoolAttrReservedMemCurrent, &got), (void)0); COST(100, (void)0, cudaMemPoolTrimTo(def, SIZE_MAX), (void)0);
    COST(100, (void)0, cudaMemGetInfo(&fr, &tot), (void)0); COST(100, (void)0, cudaPointerGetAttributes(&pa, big), (void)0); COST(100, (void)0, cudaGetDevice(&v), (void)0); COST(100, (void)0, cudaSetDevice(0), (void)0); COST(100, (void)0, cudaGetLastError(), (void)0); COST(100, (void)0, cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0), (void)0);
    cudaMemPoolCreate(&pool, &props); cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &th);
    COST(1, (void)0, cudaMallocFromPoolAsync(&m, 32 * MiB, pool, s), cudaFreeAsync(m, s); cudaStreamSynchronize(s); cudaMemPoolTrimTo(pool, 0)); COST(1, (void)0, cudaMallocFromPoolAsync(&m, 320 * MiB, pool, s), cudaFreeAsync(m, s); cudaStreamSynchronize(s); cudaMemPoolTrimTo(pool, 0));
    COST(1, cudaMallocFromPoolAsync(&m, 32 * MiB, pool, s); cudaFreeAsync(m, s); cudaStreamSynchronize(s), cudaMemPoolTrimTo(pool, 0), (void)0); COST(1, cudaMallocFromPoolAsync(&m, 320 * MiB, pool, s); cudaFreeAsync(m, s); cudaStreamSynchronize(s), cudaMemPoolTrimTo(pool, 0), (void)0);
    WORK("two event records", (void)0); WORK("fill 4 B", launch_fill(big, 1, 1, s)); WORK("fill 1 MiB", launch_fill(big, 1, MiB / 4, s)); WORK("fill 64 MiB", launch_fill(big, 1, 16 * MiB, s)); WORK("fill 1 GiB", launch_fill(big, 1, 256 * MiB, s)); WORK("add 1 GiB", launch_add(big, 1, 256 * MiB, s));
    WORK("memset 4 B", cudaMemsetAsync(big, 0, 4, s)); WORK("memset 1 MiB", cudaMemsetAsync(big, 0, MiB, s)); WORK("memset 64 MiB", cudaMemsetAsync(big, 0, 64 * MiB, s)); WORK("memset 1 GiB", cudaMemsetAsync(big, 0, 1024 * MiB, s));
    WORK("copy device to device 4 B", cudaMemcpyAsync(big, (char *)big + 512 * MiB, 4, cudaMemcpyDeviceToDevice, s)); WORK("copy device to device 1 MiB", cudaMemcpyAsync(big, (char *)big + 512 * MiB, MiB, cudaMemcpyDeviceToDevice, s)); WORK("copy device to device 512 MiB", cudaMemcpyAsync(big, (char *)big + 512 * MiB, 512 * MiB, cudaMemcpyDeviceToDevice, s));
    WORK("copy host to device pinned 4 B", cudaMemcpyAsync(big, pinned, 4, cudaMemcpyHostToDevice, s)); WORK("copy host to device pinned 1 MiB", cudaMemcpyAsync(big, pinned, MiB, cudaMemcpyHostToDevice, s)); WORK("copy host to device pinned 256 MiB", cudaMemcpyAsync(big, pinned, 256 * MiB, cudaMemcpyHostToDevice, s));
    WORK("copy device to host pinned 4 B", cudaMemcpyAsync(pinned, big, 4, cudaMemcpyDeviceToHost, s)); WORK("copy device to host pinned 1 MiB", cudaMemcpyAsync(pinned, big, MiB, cudaMemcpyDeviceToHost, s)); WORK("copy device to host pinned 256 MiB", cudaMemcpyAsync(pinned, big, 256 * MiB, cudaMemcpyDeviceToHost, s));
    WORK("host function that does nothing", cudaLaunchHostFunc(s, nothing, 0)); WORK("host function that sleeps 10 ms", cudaLaunchHostFunc(s, sleep_10ms, 0)); WORK("alloc + free of 1 MiB", (cudaMallocAsync(&m, MiB, s), cudaFreeAsync(m, s)));
    puts("end");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "answers") && strcmp(what, "waits") && strcmp(what, "times") && strcmp(what, "gone") && strcmp(what, "dying")) { fprintf(stderr, "probe: the first argument is answers, waits, times, gone or dying, not \"%s\"\n", what); return 2; }
    setvbuf(stdout, NULL, _IOLBF, 0);   /* a process that dies has said all it knew */
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped); cudaHostGetDevicePointer((void **)&gate_device, gate, 0); *gate = 1;
    cudaMalloc(&d, MiB); launch_fill(d, 1, 1, s); launch_add(d, 1, 1, s); launch_hold(gate_device, s);
    cudaError_t e = cudaDeviceSynchronize();
    if (e) { fprintf(stderr, "probe: no working device: %s\n", cudaGetErrorName(e)); return 1; }
    if (*what == 'a') answers(); else if (*what == 'g') gone_pool(); else if (*what == 'd') dying_pools(argc > 2 ? atoi(argv[2]) : 0); else if (*what == 'w') { if (argc > 2) wait_looks = atoi(argv[2]); waits(); } else times();
    return 0;
}
