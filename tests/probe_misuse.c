/* Asks a real device with two GPUs about calls that a program should not make: memory that is not there or goes too early, access that is taken away,
 * streams and events of the GPU that is not current, callbacks in a capture, the same memory freed by two threads (probe_cases.h says how). */
#define _GNU_SOURCE
#include "probe_cases.h"
#include "probe_wait.h"

#include <sys/mman.h>

static void back(cudaStream_t stream, cudaError_t e, void *unused) { (void)stream, (void)e, (void)unused; puts("  called back"); }
static void function(void *unused) { (void)unused; puts("  host function"); }

/* ---- captures ---- */

static void capture(enum cudaStreamCaptureMode mode, int other)
{
    cudaGraph_t g = NULL;
    size_t nodes = 0;
    ASK(cudaStreamBeginCapture(s, mode));
    ASK(cudaStreamAddCallback(other ? t : s, back, NULL, 0));
    ASK(cudaStreamEndCapture(s, &g));
    if (g && !cudaGraphGetNodes(g, NULL, &nodes)) printf("  nodes %zu\n", nodes);
    ASK(cudaStreamSynchronize(t));
}

static void callback_relaxed(void) { capture(cudaStreamCaptureModeRelaxed, 0); }
static void callback_global(void) { capture(cudaStreamCaptureModeGlobal, 0); }
static void callback_beside(void) { capture(cudaStreamCaptureModeGlobal, 1); }

/* ---- host memory ---- */

static char *pages(size_t bytes) { return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static void registered(void)
{
    char *p = pages(16 * MiB), *half = pages(MiB);
    void *shown = NULL;
    munmap(half + MiB / 2, MiB / 2);
    ASK(cudaHostRegister((void *)4096, 4096, 0));
    ASK(cudaHostRegister(half, MiB, 0));
    ASK(cudaHostRegister(p, SIZE_MAX, 0));
    ASK(cudaHostRegister(p, 0, 0));
    ASK(cudaHostRegister(p + 4 * MiB, 4 * MiB, 0));
    ASK(cudaHostRegister(p + 4 * MiB, 4 * MiB, 0));
    ASK(cudaHostRegister(p, 16 * MiB, 0));
    ASK(cudaHostRegister(p + 5 * MiB, MiB, 0));
    ASK(cudaHostRegister(p, 5 * MiB, 0));
    ASK(cudaHostRegister(p + 7 * MiB, 2 * MiB, 0));
    ASK(cudaHostRegister(p + 8 * MiB, MiB, 0));
    ASK(cudaHostRegister(host, MiB, 0));
    ASK(cudaHostRegister((char *)host + 4096, 4096, 0));
    ASK(cudaHostRegister(m, 4096, 0));
    ASK(cudaHostGetDevicePointer(&shown, p + 5 * MiB, 0));
    ASK(cudaHostUnregister(p + 5 * MiB));
    ASK(cudaHostUnregister(p + 4 * MiB));
    ASK(cudaHostUnregister(p + 4 * MiB));
    ASK(cudaHostRegister(p, 16 * MiB, 0));
    ASK(cudaHostRegister(p, 4096, 99));
}

static void copy_from_nothing(void) { ASK(cudaMemcpy(m, (void *)4096, 64, cudaMemcpyHostToDevice)); }
static void copy_to_nothing(void) { ASK(cudaMemcpy((void *)4096, m, 64, cudaMemcpyDeviceToHost)); }
static void copy_async_from_nothing(void) { ASK(cudaMemcpyAsync(m, (void *)4096, 64, cudaMemcpyHostToDevice, s)); ASK(cudaStreamSynchronize(s)); }
static void copy_async_to_nothing(void) { ASK(cudaMemcpyAsync((void *)4096, m, 64, cudaMemcpyDeviceToHost, s)); ASK(cudaStreamSynchronize(s)); }

static void graph_with_gone_memory(void)
{
    char *h = pages(MiB);
    cudaGraph_t g;
    cudaGraphExec_t x;
    memset(h, 1, MiB);
    ASK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    ASK(cudaMemcpyAsync(m, h, MiB, cudaMemcpyHostToDevice, s));
    ASK(cudaStreamEndCapture(s, &g));
    ASK(cudaGraphInstantiate(&x, g, 0));
    munmap(h, MiB);
    ASK(cudaGraphLaunch(x, s));
    ASK(cudaStreamSynchronize(s));
}

static void large(void)
{
    void *p = NULL;
    ASK(cudaMallocHost(&p, SIZE_MAX));
    ASK(cudaHostAlloc(&p, SIZE_MAX / 2, cudaHostAllocDefault));
    ASK(cudaMalloc(&p, SIZE_MAX));
    ASK(cudaMallocAsync(&p, SIZE_MAX, s));
    ASK(cudaMemcpy(m, host, SIZE_MAX, cudaMemcpyHostToDevice));
    ASK(cudaMemset(m, 0, SIZE_MAX));
    ASK(cudaMemsetAsync(m, 0, 2 * MiB, s));
    ASK(cudaMemcpyAsync(m, host, 2 * MiB, cudaMemcpyHostToDevice, s));
    ASK(cudaDeviceSynchronize());
}

/* ---- memory that goes before its work comes ---- */

/* kind 0: a memset, 1: a kernel, 2: a copy to the host. The block's pool is destroyed, and its memory with it. */
static void pool_gone(int kind)
{
    struct cudaMemPoolProps props = props_of(cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, 0);
    cudaMemPool_t pool;
    int *d;
    size_t before = 0, after = 0, total;
    cudaMemPoolCreate(&pool, &props);
    cudaMallocFromPoolAsync((void **)&d, 64 * MiB, pool, s);
    cudaStreamSynchronize(s);
    *gate = 0;
    __sync_synchronize();
    launch_hold(gate, s);
    if (kind == 0) ASK(cudaMemsetAsync(d, 1, 64 * MiB, s));
    if (kind == 1) ASK(launch_fill(d, 1, 64 * MiB / sizeof *d, s));
    if (kind == 2) ASK(cudaMemcpyAsync(host, d, MiB, cudaMemcpyDeviceToHost, s));
    ASK(cudaFreeAsync(d, t));
    ASK(cudaStreamSynchronize(t));
    cudaMemGetInfo(&before, &total);
    ASK(cudaMemPoolDestroy(pool));
    cudaMemGetInfo(&after, &total);
    printf("  the destroy gives back %zu MiB\n", (after - before) / MiB);
    *(volatile int *)gate = 1;
    ASK(cudaStreamSynchronize(s));
}

static void pool_gone_memset(void) { pool_gone(0); }
static void pool_gone_kernel(void) { pool_gone(1); }
static void pool_gone_copy(void) { pool_gone(2); }

/* ---- two threads ---- */

static void *shared;
static cudaError_t answer;
static void *opens(void *unused) { (void)unused; usleep(500000); *(volatile int *)gate = 1; return NULL; }
static void *frees(void *unused) { (void)unused; answer = cudaFree(shared); return NULL; }
static void *frees_host(void *unused) { (void)unused; answer = cudaFreeHost(shared); return NULL; }

/* Two threads free the same memory while work is pending that both wait for. Who is first cannot be told: so both codes in order. */
static void freed_twice(void *(*body)(void *), cudaError_t (*mine)(void *))
{
    pthread_t thread, opener;
    *gate = 0;
    __sync_synchronize();
    launch_hold(gate, s);
    cudaMemsetAsync(shared, 0, 64, s);
    pthread_create(&thread, NULL, body, NULL);
    pthread_create(&opener, NULL, opens, NULL);
    cudaError_t e = mine(shared);
    pthread_join(thread, NULL);
    pthread_join(opener, NULL);
    const char *low = cudaGetErrorName(e < answer ? e : answer), *high = cudaGetErrorName(e < answer ? answer : e);
    printf("  one thread %s, the other %s\n", low, high);
    cudaGetLastError();
    ASK(cudaDeviceSynchronize());
}

static void free_twice(void)
{
    cudaMalloc(&shared, MiB);
    freed_twice(frees, cudaFree);
}

static void free_host_twice(void)
{
    cudaMallocHost(&shared, MiB);
    freed_twice(frees_host, cudaFreeHost);
}

static void *queues(void *unused)
{
    (void)unused;
    usleep(200000);
    launch_hold(gate + 1, s);          /* behind what the other thread waits for */
    *(volatile int *)gate = 1;
    return NULL;
}

/* A synchronise waits for what was there at the call: another thread queues more meanwhile, which cannot end. kind 0: stream, 1: event, 2: device. */
static void queued_meanwhile(int kind)
{
    pthread_t thread;
    gate[0] = gate[1] = 0;
    __sync_synchronize();
    launch_hold(gate, s);
    cudaEventRecord(ev, s);
    pthread_create(&thread, NULL, queues, NULL);
    if (kind == 0) ASK(cudaStreamSynchronize(s));
    if (kind == 1) ASK(cudaEventSynchronize(ev));
    if (kind == 2) ASK(cudaDeviceSynchronize());
    pthread_join(thread, NULL);
    ASK(cudaStreamQuery(s));
    *(volatile int *)(gate + 1) = 1;
    ASK(cudaStreamSynchronize(s));
}

static void queued_stream(void) { queued_meanwhile(0); }
static void queued_event(void) { queued_meanwhile(1); }
static void queued_device(void) { queued_meanwhile(2); }

/* ---- the GPU that is not current ---- */

static void other_gpu(void)
{
    cudaStream_t far;
    cudaEvent_t far_event, near_event;
    cudaGraph_t g;
    cudaGraphExec_t x;
    int *d, *d1;
    float ms = 0;
    cudaSetDevice(1);
    cudaStreamCreateWithFlags(&far, cudaStreamNonBlocking);
    cudaEventCreate(&far_event);
    cudaMalloc((void **)&d, MiB);
    cudaSetDevice(0);
    cudaEventCreate(&near_event);
    ASK(cudaMemsetAsync(d, 0, 64, far));
    ASK(cudaMemcpyAsync(host, d, 64, cudaMemcpyDeviceToHost, far));
    ASK(launch_fill(d, 1, 16, far));
    ASK(launch_add(d, 1, 16, far));
    ASK(cudaLaunchHostFunc(far, function, NULL));
    ASK(cudaMallocAsync((void **)&d1, MiB, far));
    ASK(cudaFreeAsync(d1, far));
    ASK(cudaStreamSynchronize(far));
    ASK(cudaEventRecord(far_event, far));
    ASK(cudaEventRecord(far_event, s));
    ASK(cudaEventRecord(near_event, s));
    ASK(cudaEventRecord(near_event, far));
    ASK(cudaStreamWaitEvent(far, near_event, 0));
    ASK(cudaStreamWaitEvent(s, far_event, 0));
    ASK(cudaStreamSynchronize(far));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaEventElapsedTime(&ms, near_event, far_event));
    ASK(cudaEventElapsedTime(&ms, far_event, far_event));
    ASK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    ASK(cudaMemsetAsync(m, 0, 64, s));
    ASK(cudaStreamEndCapture(s, &g));
    ASK(cudaGraphInstantiate(&x, g, 0));
    ASK(cudaGraphLaunch(x, far));
    ASK(cudaStreamSynchronize(far));
    ASK(cudaStreamDestroy(far));
    ASK(cudaEventDestroy(far_event));
    ASK(cudaFree(d));
}

/* As a kernel's stream is of the other GPU: does it run, and where? */
static void kernel_of_other_gpu(void)
{
    cudaStream_t far;
    int *d, back_value = -1;
    cudaSetDevice(1);
    cudaStreamCreateWithFlags(&far, cudaStreamNonBlocking);
    cudaMalloc((void **)&d, MiB);
    cudaMemset(d, 0, MiB);
    cudaDeviceSynchronize();
    cudaSetDevice(0);
    ASK(launch_fill(d, 7, 16, far));
    ASK(cudaStreamSynchronize(far));
    ASK(cudaMemcpy(&back_value, d, sizeof back_value, cudaMemcpyDeviceToHost));
    printf("  value %d\n", back_value);
}

/* Access is taken from the other GPU while its work is pending. kind 0: a kernel, 1: a memset, 2: a copy. */
static void revoked(int kind)
{
    struct cudaMemAccessDesc other = { { cudaMemLocationTypeDevice, 1 }, cudaMemAccessFlagsProtReadWrite };
    struct cudaMemPoolProps props = props_of(cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, 0);
    cudaMemPool_t pool;
    cudaStream_t far;
    int *d, *d1;
    cudaMemPoolCreate(&pool, &props);
    ASK(cudaMemPoolSetAccess(pool, &other, 1));
    cudaMallocFromPoolAsync((void **)&d, MiB, pool, s);
    cudaStreamSynchronize(s);
    cudaSetDevice(1);
    cudaStreamCreateWithFlags(&far, cudaStreamNonBlocking);
    cudaMalloc((void **)&d1, MiB);
    launch_fill(d1, 1, 16, far);
    cudaDeviceSynchronize();
    *gate = 0;
    __sync_synchronize();
    launch_hold(gate, far);
    if (kind == 0) ASK(launch_fill(d, 1, 16, far));
    if (kind == 1) ASK(cudaMemsetAsync(d, 1, MiB, far));
    if (kind == 2) ASK(cudaMemcpyAsync(d1, d, MiB, cudaMemcpyDeviceToDevice, far));
    other.flags = cudaMemAccessFlagsProtNone;
    watch_call(gate);
    cudaError_t e = cudaMemPoolSetAccess(pool, &other, 1);
    int waited = call_waited();
    call_over();
    printf("  to revoke it: %s, %s\n", waited ? "waits" : "does not wait", cudaGetErrorName(e));
    ASK(cudaStreamSynchronize(far));
}

static void revoked_kernel(void) { revoked(0); }
static void revoked_memset(void) { revoked(1); }
static void revoked_copy(void) { revoked(2); }

/* For which GPU's work does a call wait that frees? Memory of GPU `of`, work on GPU `on` that uses it or not, and GPU `current`. */
static void freed_for(int of, int on, int current, int used)
{
    cudaStream_t stream;
    int *d, *h, *r = (int *)pages(MiB);
    cudaSetDevice(on);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaDeviceEnablePeerAccess(!on, 0);
    launch_hold(gate, stream);
    cudaDeviceSynchronize();
    cudaGetLastError();
    printf("memory of GPU %d, %s pending on GPU %d, GPU %d current\n", of, used ? "work on it" : "other work", on, current);
    cudaSetDevice(of);
    cudaMalloc((void **)&d, MiB);
    cudaMallocHost((void **)&h, MiB);
    cudaHostRegister(r, MiB, 0);
    cudaSetDevice(current);
    WAITS_LINE(gate, { launch_hold(gate, stream); if (used) cudaMemsetAsync(d, 0, 64, stream); }, cudaFree(d), "cudaFree");
    WAITS_LINE(gate, { launch_hold(gate, stream); if (used) cudaMemsetAsync(h, 0, 64, stream); }, cudaFreeHost(h), "cudaFreeHost");
    WAITS_LINE(gate, { launch_hold(gate, stream); if (used) cudaMemsetAsync(r, 0, 64, stream); }, cudaHostUnregister(r), "cudaHostUnregister");
    ASK(cudaStreamSynchronize(stream));
}

#define FREES(of, on, current, used) static void frees_##of##on##current##used(void) { freed_for(of, on, current, used); }
FREES(0, 0, 1, 1) FREES(0, 1, 0, 1) FREES(0, 1, 1, 1) FREES(0, 0, 1, 0) FREES(0, 1, 0, 0) FREES(0, 1, 1, 0) FREES(0, 0, 0, 0)

static const struct probe_case cases[] = {
    { "callback_relaxed", callback_relaxed }, { "callback_global", callback_global }, { "callback_beside", callback_beside },
    { "registered", registered },
    { "copy_from_nothing", copy_from_nothing }, { "copy_to_nothing", copy_to_nothing },
    { "copy_async_from_nothing", copy_async_from_nothing }, { "copy_async_to_nothing", copy_async_to_nothing },
    { "graph_with_gone_memory", graph_with_gone_memory }, { "large", large },
    { "pool_gone_memset", pool_gone_memset }, { "pool_gone_kernel", pool_gone_kernel }, { "pool_gone_copy", pool_gone_copy },
    { "free_twice", free_twice }, { "free_host_twice", free_host_twice },
    { "queued_stream", queued_stream }, { "queued_event", queued_event }, { "queued_device", queued_device },
    { "other_gpu", other_gpu }, { "kernel_of_other_gpu", kernel_of_other_gpu },
    { "revoked_kernel", revoked_kernel }, { "revoked_memset", revoked_memset }, { "revoked_copy", revoked_copy },
    { "frees_used_of_0_on_0_current_1", frees_0011 }, { "frees_used_of_0_on_1_current_0", frees_0101 }, { "frees_used_of_0_on_1_current_1", frees_0111 },
    { "frees_unused_of_0_on_0_current_1", frees_0010 }, { "frees_unused_of_0_on_1_current_0", frees_0100 }, { "frees_unused_of_0_on_1_current_1", frees_0110 },
    { "frees_unused_of_0_on_0_current_0", frees_0000 },
};

int main(int argc, char **argv) { return run_cases(argc, argv, cases, sizeof cases / sizeof *cases); }
