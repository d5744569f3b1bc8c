/* Records what cudaDeviceReset waits for and returns, with work pending and after a fault, and what
 * the handles and the memory from before are good for. */
#include "probe.h"

#include <sys/mman.h>

static cudaMemPool_t pool, default_pool;
static void *a; /* 32 MiB of the pool */

static void prepare(void)
{
    /* The gate of the other probes goes with the device, and with it the thread that opens it. */
    volatile int *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cudaHostRegister((void *)page, 4096, cudaHostRegisterMapped);
    gate = page;
    open_gate();

    pool = new_pool(0);
    cudaDeviceGetDefaultMemPool(&default_pool, 0);
    cudaMallocFromPoolAsync(&a, 32 * MiB, pool, s);
    cudaDeviceSynchronize();
    cudaGetLastError();
}

/* Is the device as good as new? */
static void next_calls(void)
{
    void *p = NULL, *q = NULL;
    int value = 0;
    RECORD(cudaGetLastError());
    RECORD(cudaMalloc(&p, MiB));
    RECORD(cudaMemset(p, 1, MiB));
    RECORD(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    NOTE("value %x", (unsigned)value);
    RECORD(cudaMallocAsync(&q, MiB, 0));
    RECORD(launch_fill(q, 1, 16, 0));
    RECORD(cudaFreeAsync(q, 0));
    RECORD(cudaDeviceSynchronize());
    RECORD(cudaFree(p));
}

static void observed_reset(void)
{
    const char *waits = OBSERVE(cudaDeviceReset());
    print_wait("cudaDeviceReset()", waits);
}

/* Does a reset of an idle device give all of its memory back, and can there be two? */
CASE_AFTER(prepare, idle)
{
    int device = 7;
    size_t before = free_now() / MiB;
    RECORD(cudaDeviceReset());
    RECORD(cudaGetDevice(&device));
    NOTE("device %d; free rose by %lld MiB", device, (long long)(free_now() / MiB - before));
    next_calls();
    RECORD(cudaDeviceReset());
    RECORD(cudaDeviceReset());
    next_calls();
}

/* Does a reset wait for a kernel that is running, and for work behind it? */
CASE_AFTER(prepare, pending_kernel)
{
    hold(s);
    observed_reset();
    next_calls();
}

CASE_AFTER(prepare, pending_work)
{
    hold(s);
    launch_fill(m, 1, 16, s);
    cudaFreeAsync(a, s);
    observed_reset();
    next_calls();
}

CASE_AFTER(prepare, pending_in_legacy)
{
    hold(0);
    observed_reset();
    next_calls();
}

/* Does a reset wait for a host function? */
CASE_AFTER(prepare, pending_host_function)
{
    cudaLaunchHostFunc(s, sleep_300ms, NULL);
    usleep(50000);
    RECORD(cudaDeviceReset());
    NOTE("the host function is over: %d", function_over);
    usleep(500000);
    NOTE("half a second later: %d", function_over);
    next_calls();
}

/* Memory that went back to the device is touched by a kernel. */
static void fault(void)
{
    free_and_wait(a);
    RECORD(launch_fill(a, 1, 16, s));
}

/* What do calls return between a fault and the reset, and after it? */
CASE_AFTER(prepare, after_fault)
{
    void *p;
    fault();
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaMalloc(&p, MiB));
    RECORD(cudaDeviceReset());
    next_calls();
    RECORD(cudaDeviceReset());
    next_calls();
}

/* What does a reset return when no call has returned the fault before? */
CASE_AFTER(prepare, after_unseen_fault)
{
    fault();
    usleep(100000);
    RECORD(cudaDeviceReset());
    next_calls();
}

CASE_AFTER(prepare, while_capturing)
{
    cudaGraph_t graph = NULL;
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    RECORD(cudaDeviceReset());
    RECORD(cudaStreamEndCapture(s, &graph));
}

/* Are the default pool and its attributes new, and is it current? */
CASE_AFTER(prepare, default_pools)
{
    cudaMemPool_t after = NULL, current = NULL;
    set_threshold(default_pool, 64 * MiB);
    cudaDeviceSetMemPool(0, pool);
    RECORD(cudaDeviceReset());
    RECORD(cudaDeviceGetDefaultMemPool(&after, 0));
    RECORD(cudaDeviceGetMemPool(&current, 0));
    NOTE("the same handle %d, current %d, threshold %llu", after == default_pool, current == after,
         pool_figure(after, cudaMemPoolAttrReleaseThreshold));
}

/* ---- handles and memory from before: each may end the process ---- */

static void reset_first(void)
{
    prepare();
    RECORD(cudaDeviceReset());
}

CASE_AFTER(reset_first, old_memory)
{
    RECORD(cudaMemset(m, 0, 4));
    RECORD(cudaFree(m));
    print_pointer(m, "of cudaMalloc");
}

CASE_AFTER(reset_first, old_memory_in_kernel)
{
    RECORD(launch_fill(m, 1, 16, 0));
    RECORD(cudaDeviceSynchronize());
}

CASE_AFTER(reset_first, old_pool_memory)
{
    RECORD(cudaMemset(a, 0, 4));
    RECORD(cudaFreeAsync(a, 0));
    RECORD(cudaFree(a));
}

CASE_AFTER(reset_first, old_pinned_memory)
{
    print_pointer(host, "of cudaMallocHost");
    RECORD(cudaFreeHost(host));
}

CASE_AFTER(reset_first, old_pinned_memory_read)
{
    NOTE("the host can read it: %d", *(volatile int *)host || 1);
}

CASE_AFTER(reset_first, old_registered_memory) { RECORD(cudaHostUnregister((void *)gate)); }

CASE_AFTER(reset_first, old_stream)
{
    RECORD(cudaStreamQuery(s));
    RECORD(cudaStreamDestroy(s));
}

CASE_AFTER(reset_first, old_stream_used) { RECORD(cudaMallocAsync(&a, MiB, s)); }

CASE_AFTER(reset_first, old_event)
{
    RECORD(cudaEventQuery(ev));
    RECORD(cudaEventRecord(ev, 0));
    RECORD(cudaEventDestroy(ev));
}

CASE_AFTER(reset_first, old_pool)
{
    uint64_t value;
    RECORD(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
    RECORD(cudaMemPoolTrimTo(pool, 0));
    RECORD(cudaMallocFromPoolAsync(&a, MiB, pool, 0));
    RECORD(cudaMemPoolDestroy(pool));
}

CASE_AFTER(reset_first, old_default_pool)
{
    uint64_t value;
    RECORD(cudaMemPoolGetAttribute(default_pool, cudaMemPoolAttrUsedMemCurrent, &value));
    RECORD(cudaMallocFromPoolAsync(&a, MiB, default_pool, 0));
}

int main(int argc, char **argv) { return run_cases(argc, argv); }
