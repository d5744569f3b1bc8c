/* Records, with two GPUs, calls that a program should not make: memory that is not
 * there or goes too early, access that is taken away, streams and events of the GPU that is not
 * current, callbacks in a capture, the same memory freed by two threads. */
#include "probe.h"

#include <sys/mman.h>

/* ---- captures ---- */

static void back(cudaStream_t stream, cudaError_t error, void *unused) { puts("  called back"); }

/* Can a callback be added to a stream that is captured, or to another one (`other`) meanwhile? */
static void add_callback(enum cudaStreamCaptureMode mode, int other)
{
    cudaGraph_t g = NULL;
    size_t nodes = 0;
    RECORD(cudaStreamBeginCapture(s, mode));
    RECORD(cudaStreamAddCallback(other ? t : s, back, NULL, 0));
    RECORD(cudaStreamEndCapture(s, &g));
    if (g && !cudaGraphGetNodes(g, NULL, &nodes))
        printf("  nodes %zu\n", nodes);
    RECORD(cudaStreamSynchronize(t));
}

CASE(callback_relaxed) { add_callback(cudaStreamCaptureModeRelaxed, 0); }
CASE(callback_global) { add_callback(cudaStreamCaptureModeGlobal, 0); }
CASE(callback_beside) { add_callback(cudaStreamCaptureModeGlobal, 1); }

/* ---- host memory ---- */

static char *map_pages(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

CASE(registered)
{
    char *p = map_pages(16 * MiB), *half = map_pages(MiB);
    void *shown = NULL;

    /* Can memory be registered that is not there, or not all of it? */
    munmap(half + MiB / 2, MiB / 2);
    RECORD(cudaHostRegister((void *)4096, 4096, 0));
    RECORD(cudaHostRegister(half, MiB, 0));
    RECORD(cudaHostRegister(p, SIZE_MAX, 0));
    RECORD(cudaHostRegister(p, 0, 0));

    /* Can memory be registered that overlaps what is registered, pinned, or a device's? */
    RECORD(cudaHostRegister(p + 4 * MiB, 4 * MiB, 0));
    RECORD(cudaHostRegister(p + 4 * MiB, 4 * MiB, 0));
    RECORD(cudaHostRegister(p, 16 * MiB, 0));
    RECORD(cudaHostRegister(p + 5 * MiB, MiB, 0));
    RECORD(cudaHostRegister(p, 5 * MiB, 0));
    RECORD(cudaHostRegister(p + 7 * MiB, 2 * MiB, 0));
    RECORD(cudaHostRegister(p + 8 * MiB, MiB, 0));
    RECORD(cudaHostRegister(host, MiB, 0));
    RECORD(cudaHostRegister((char *)host + 4096, 4096, 0));
    RECORD(cudaHostRegister(m, 4096, 0));

    /* Can registered memory be named by an address inside, and unregistered by it? */
    RECORD(cudaHostGetDevicePointer(&shown, p + 5 * MiB, 0));
    RECORD(cudaHostUnregister(p + 5 * MiB));
    RECORD(cudaHostUnregister(p + 4 * MiB));
    RECORD(cudaHostUnregister(p + 4 * MiB));
    RECORD(cudaHostRegister(p, 16 * MiB, 0));
    RECORD(cudaHostRegister(p, 4096, 99));
}

/* Does a copy, with a stream or without, notice that the host has no memory at its source, or at
 * its destination? */
CASE(copy_from_nothing) { RECORD(cudaMemcpy(m, (void *)4096, 64, cudaMemcpyHostToDevice)); }
CASE(copy_to_nothing) { RECORD(cudaMemcpy((void *)4096, m, 64, cudaMemcpyDeviceToHost)); }

CASE(copy_async_from_nothing)
{
    RECORD_SYNC(cudaMemcpyAsync(m, (void *)4096, 64, cudaMemcpyHostToDevice, s), s);
}

CASE(copy_async_to_nothing)
{
    RECORD_SYNC(cudaMemcpyAsync((void *)4096, m, 64, cudaMemcpyDeviceToHost, s), s);
}

/* Does a graph's launch notice that the host's memory is gone which was there at the capture? */
CASE(graph_with_gone_memory)
{
    char *h = map_pages(MiB);
    cudaGraph_t g;
    cudaGraphExec_t x;
    memset(h, 1, MiB);
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    RECORD(cudaMemcpyAsync(m, h, MiB, cudaMemcpyHostToDevice, s));
    RECORD(cudaStreamEndCapture(s, &g));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    munmap(h, MiB);
    RECORD_SYNC(cudaGraphLaunch(x, s), s);
}

/* Are sizes refused that no memory has, or that reach round the end of the addresses? */
CASE(large)
{
    void *p = NULL;
    RECORD(cudaMallocHost(&p, SIZE_MAX));
    RECORD(cudaHostAlloc(&p, SIZE_MAX / 2, cudaHostAllocDefault));
    RECORD(cudaMalloc(&p, SIZE_MAX));
    RECORD(cudaMallocAsync(&p, SIZE_MAX, s));
    RECORD(cudaMemcpy(m, host, SIZE_MAX, cudaMemcpyHostToDevice));
    RECORD(cudaMemset(m, 0, SIZE_MAX));
    RECORD(cudaMemsetAsync(m, 0, 2 * MiB, s));
    RECORD(cudaMemcpyAsync(m, host, 2 * MiB, cudaMemcpyHostToDevice, s));
    RECORD(cudaDeviceSynchronize());
}

/* ---- memory that goes before its work comes ---- */

enum work { A_MEMSET, A_KERNEL, A_COPY };

/* What does work come to when its allocation was freed and the pool destroyed before it began? */
static void pool_gone(enum work work)
{
    cudaMemPool_t pool = new_pool(0);
    int *d;
    d = ready_memory(pool, 64 * MiB);
    hold(s);
    if (work == A_MEMSET)
        RECORD(cudaMemsetAsync(d, 1, 64 * MiB, s));
    if (work == A_KERNEL)
        RECORD(launch_fill(d, 1, 64 * MiB / sizeof *d, s));
    if (work == A_COPY)
        RECORD(cudaMemcpyAsync(host, d, MiB, cudaMemcpyDeviceToHost, s));
    RECORD_SYNC(cudaFreeAsync(d, t), t);
    size_t before = free_now();
    RECORD(cudaMemPoolDestroy(pool));
    printf("  the destroy gives back %zu MiB\n", (free_now() - before) / MiB);
    open_gate();
    RECORD(cudaStreamSynchronize(s));
}

CASE(pool_gone_memset) { pool_gone(A_MEMSET); }
CASE(pool_gone_kernel) { pool_gone(A_KERNEL); }
CASE(pool_gone_copy) { pool_gone(A_COPY); }

/* ---- two threads ---- */

static void *shared;
static cudaError_t (*free_shared)(void *), result_of_thread;

static void *free_in_thread(void *unused)
{
    result_of_thread = free_shared(shared);
    return unused;
}

/* What do two threads get that free the same memory, while work is pending that both wait for?
 * Which of them was first is chance: so both codes are printed in order. */
static void freed_twice(cudaError_t (*free_it)(void *))
{
    pthread_t thread, opener;
    hold(s);
    cudaMemsetAsync(shared, 0, 64, s);
    free_shared = free_it;
    pthread_create(&thread, NULL, free_in_thread, NULL);
    pthread_create(&opener, NULL, open_gate_late, NULL);
    cudaError_t result = free_it(shared);
    pthread_join(thread, NULL);
    pthread_join(opener, NULL);
    cudaError_t low = result < result_of_thread ? result : result_of_thread;
    cudaError_t high = result < result_of_thread ? result_of_thread : result;
    printf("  one thread %s, the other %s\n", cudaGetErrorName(low), cudaGetErrorName(high));
    cudaGetLastError();
    RECORD(cudaDeviceSynchronize());
}

CASE(free_twice)
{
    cudaMalloc(&shared, MiB);
    freed_twice(cudaFree);
}

CASE(free_host_twice)
{
    cudaMallocHost(&shared, MiB);
    freed_twice(cudaFreeHost);
}

/* Puts a hold that does not end behind what the other thread waits for, and opens the gate. */
static void *queue_more(void *unused)
{
    usleep(200000);
    launch_hold(gate + 1, s);
    open_gate();
    return NULL;
}

enum waited_for { A_STREAM, AN_EVENT, THE_DEVICE };

/* Does a synchronization wait for what another thread queues meanwhile? */
static void queued_meanwhile(enum waited_for what)
{
    pthread_t thread;
    gate[1] = 0;
    hold(s);
    cudaEventRecord(ev, s);
    pthread_create(&thread, NULL, queue_more, NULL);
    if (what == A_STREAM)
        RECORD(cudaStreamSynchronize(s));
    if (what == AN_EVENT)
        RECORD(cudaEventSynchronize(ev));
    if (what == THE_DEVICE)
        RECORD(cudaDeviceSynchronize());
    pthread_join(thread, NULL);
    RECORD(cudaStreamQuery(s));
    gate[1] = 1;
    RECORD(cudaStreamSynchronize(s));
}

CASE(queued_stream) { queued_meanwhile(A_STREAM); }
CASE(queued_event) { queued_meanwhile(AN_EVENT); }
CASE(queued_device) { queued_meanwhile(THE_DEVICE); }

/* ---- the GPU that is not current ---- */

static void function(void *unused) { puts("  host function"); }

static cudaStream_t far; /* of GPU 1 */

/* Makes GPU 1 current, and returns 1 MiB of its memory. */
static int *go_to_gpu_1(void)
{
    int *memory;
    cudaSetDevice(1);
    cudaStreamCreateWithFlags(&far, cudaStreamNonBlocking);
    cudaMalloc((void **)&memory, MiB);
    return memory;
}

CASE(other_gpu)
{
    cudaEvent_t far_event, near_event;
    int *d = go_to_gpu_1(), *d1;
    cudaGraph_t g;
    cudaGraphExec_t x;
    float ms = 0;
    cudaEventCreate(&far_event);
    cudaSetDevice(0);
    cudaEventCreate(&near_event);

    /* Which work does a stream of GPU 1 take while GPU 0 is current? */
    RECORD(cudaMemsetAsync(d, 0, 64, far));
    RECORD(cudaMemcpyAsync(host, d, 64, cudaMemcpyDeviceToHost, far));
    RECORD(launch_fill(d, 1, 16, far));
    RECORD(launch_add(d, 1, 16, far));
    RECORD(cudaLaunchHostFunc(far, function, NULL));
    RECORD(cudaMallocAsync((void **)&d1, MiB, far));
    RECORD_SYNC(cudaFreeAsync(d1, far), far);

    /* Which events can be recorded in which GPU's streams, and waited for? */
    RECORD(cudaEventRecord(far_event, far));
    RECORD(cudaEventRecord(far_event, s));
    RECORD(cudaEventRecord(near_event, s));
    RECORD(cudaEventRecord(near_event, far));
    RECORD(cudaStreamWaitEvent(far, near_event, 0));
    RECORD_SYNC(cudaStreamWaitEvent(s, far_event, 0), far);
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaEventElapsedTime(&ms, near_event, far_event));
    RECORD(cudaEventElapsedTime(&ms, far_event, far_event));

    /* Can a graph that was captured on GPU 0 be launched into a stream of GPU 1? */
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    RECORD(cudaMemsetAsync(m, 0, 64, s));
    RECORD(cudaStreamEndCapture(s, &g));
    RECORD(cudaGraphInstantiate(&x, g, 0));
    RECORD_SYNC(cudaGraphLaunch(x, far), far);
    RECORD(cudaStreamDestroy(far));
    RECORD(cudaEventDestroy(far_event));
    RECORD(cudaFree(d));
}

/* Does a kernel run whose stream is of the GPU that is not current? */
CASE(kernel_of_other_gpu)
{
    int *d = go_to_gpu_1(), back_value = -1;
    cudaMemset(d, 0, MiB);
    cudaDeviceSynchronize();
    cudaSetDevice(0);
    RECORD_SYNC(launch_fill(d, 7, 16, far), far);
    RECORD(cudaMemcpy(&back_value, d, sizeof back_value, cudaMemcpyDeviceToHost));
    printf("  value %d\n", back_value);
}

/* What does work of GPU 1 come to when its access is revoked while it is pending? */
static void revoked(enum work work)
{
    struct cudaMemAccessDesc other = {{DEVICE, 1}, cudaMemAccessFlagsProtReadWrite};
    cudaMemPool_t pool = new_pool(0);
    int *d, *d1;
    RECORD(cudaMemPoolSetAccess(pool, &other, 1));
    d = ready_memory(pool, MiB);
    d1 = go_to_gpu_1();
    launch_fill(d1, 1, 16, far);
    cudaDeviceSynchronize();
    hold(far);
    if (work == A_KERNEL)
        RECORD(launch_fill(d, 1, 16, far));
    if (work == A_MEMSET)
        RECORD(cudaMemsetAsync(d, 1, MiB, far));
    if (work == A_COPY)
        RECORD(cudaMemcpyAsync(d1, d, MiB, cudaMemcpyDeviceToDevice, far));
    other.flags = cudaMemAccessFlagsProtNone;
    const char *waits = OBSERVE(cudaMemPoolSetAccess(pool, &other, 1));
    printf("  to revoke it: %s, %s\n", waits, cudaGetErrorName(observed));
    RECORD(cudaStreamSynchronize(far));
}

CASE(revoked_kernel) { revoked(A_KERNEL); }
CASE(revoked_memset) { revoked(A_MEMSET); }
CASE(revoked_copy) { revoked(A_COPY); }

static void put_pending(cudaStream_t stream, void *used)
{
    launch_hold(gate, stream);
    if (used)
        cudaMemsetAsync(used, 0, 64, stream);
}

/* For which GPU's work does a call wait that frees? The memory is GPU `of`'s; the work, which uses
 * it or not, is pending on GPU `on`; GPU `current` is current at the call. */
static void freed_for(int of, int on, int current, int used)
{
    cudaStream_t stream;
    int *d, *h, *r = (int *)map_pages(MiB);
    cudaSetDevice(on);
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaDeviceEnablePeerAccess(!on, 0);
    launch_hold(gate, stream);
    cudaDeviceSynchronize();
    cudaGetLastError();
    printf("memory of GPU %d, %s pending on GPU %d, GPU %d current\n", of,
           used ? "work on it" : "other work", on, current);
    cudaSetDevice(of);
    cudaMalloc((void **)&d, MiB);
    cudaMallocHost((void **)&h, MiB);
    cudaHostRegister(r, MiB, 0);
    cudaSetDevice(current);
    RECORD_WAIT(put_pending(stream, used ? d : NULL), cudaFree(d), "cudaFree");
    RECORD_WAIT(put_pending(stream, used ? h : NULL), cudaFreeHost(h), "cudaFreeHost");
    RECORD_WAIT(put_pending(stream, used ? r : NULL), cudaHostUnregister(r), "cudaHostUnregister");
    RECORD(cudaStreamSynchronize(stream));
}

CASE(frees_used_of_0_on_0_current_1) { freed_for(0, 0, 1, 1); }
CASE(frees_used_of_0_on_1_current_0) { freed_for(0, 1, 0, 1); }
CASE(frees_used_of_0_on_1_current_1) { freed_for(0, 1, 1, 1); }
CASE(frees_unused_of_0_on_0_current_1) { freed_for(0, 0, 1, 0); }
CASE(frees_unused_of_0_on_1_current_0) { freed_for(0, 1, 0, 0); }
CASE(frees_unused_of_0_on_1_current_1) { freed_for(0, 1, 1, 0); }
CASE(frees_unused_of_0_on_0_current_0) { freed_for(0, 0, 0, 0); }

int main(int argc, char **argv) { return run_cases(argc, argv); }
