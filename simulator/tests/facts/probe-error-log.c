/* Records the error log of CUDA (CUDA_LOG_FILE, since CUDA 12.9): what the driver says of calls on
 * pools that are refused, beside the code that they return. */
#include "probe.h"

static cudaMemPool_t pool, shared, capped;
static void *a;

/* Mistakes that readers of the lessons make: to export a pool that was not made for it, and to
 * import what is no handle. */
CASE(sharing)
{
    struct cudaMemPoolPtrExportData data = {.reserved = {0}};
    cudaMemPool_t imported;
    int fd = -1;
    RECORD(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolExportPointer(&data, a));
    RECORD(cudaMemPoolImportFromShareableHandle(&imported, (void *)(uintptr_t)999,
                                                cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolImportFromShareableHandle(&imported, NULL,
                                                cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolImportPointer(&a, shared, &data));
}

CASE(values)
{
    struct cudaMemPoolProps props = device_props();
    uint64_t value = 1;
    cudaMemPool_t made;
    props.location.id = 99;
    RECORD(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
    RECORD(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &value));
    RECORD(cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)77, &value));
    RECORD(cudaMemPoolCreate(&made, &props));
    RECORD(cudaMemPoolTrimTo(NULL, 0));
    RECORD(cudaMemPoolDestroy(NULL));
}

CASE(memory)
{
    void *p;
    RECORD(cudaMallocFromPoolAsync(&p, 65 * MiB, capped, s));
    RECORD(cudaMallocAsync(&p, (size_t)1 << 50, s));
    RECORD(cudaMalloc(&p, (size_t)1 << 50));
    RECORD(cudaFreeAsync((char *)a + 512, s));
    RECORD(cudaFreeAsync(host, s));
    RECORD(cudaMemsetAsync(a, 0, 2 * MiB, s));
    RECORD_SYNC(cudaFreeAsync(a, s), s);
}

CASE(captures)
{
    cudaGraph_t graph = NULL;
    RECORD(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    RECORD_SYNC(cudaMemPoolTrimTo(pool, 0), s);
    RECORD(cudaStreamEndCapture(s, &graph));
}

/* The log begins with the process, so the setting must be there before. record.py takes out the
 * time and the number of the thread that begin each of its lines. */
int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv("CUDA_LOG_FILE")) {
        setenv("CUDA_LOG_FILE", "stdout", 1);
        execv("/proc/self/exe", argv);
        return 127;
    }
    if (set_up_case())
        return 1;
    pool = new_pool(0);
    shared = shared_pool(0);
    capped = pool_with(0, 64 * MiB, 0);
    a = ready_memory(pool, MiB);
    for (const struct named_case *one = named_cases; one; one = one->next) {
        printf("== %s\n", one->name);
        one->run();
    }
    puts("end");
    return 0;
}
