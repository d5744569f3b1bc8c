/* Two processes on one device: a pool by descriptor, a pointer and events by bytes. */
#define CALL_COLUMNS 78
#include "probe.h"
#include "../unit/ipc_pair.h"

/* The call with its result, after the name of the process that made it. */
#define ASK(call) (printf("[%s] ", side), record(#call, (call)))

static const char *side;

static const size_t n = 1 << 20;

static uint64_t get(cudaMemPool_t p, int attribute)
{
    uint64_t value = 0;
    cudaError_t e = cudaMemPoolGetAttribute(p, attribute, &value);
    if (e)
        printf("[%s] get attr %d: %s\n", side, attribute, cudaGetErrorName(e));
    cudaGetLastError();
    return value;
}

static void figures(cudaMemPool_t p, const char *when)
{
    unsigned long long used_high = get(p, 8), used = get(p, 7), high = get(p, 6),
                       reserved = get(p, 5);
    printf("[%s]   %-40s reserved %llu high %llu used %llu high %llu\n", side, when, reserved, high,
           used, used_high);
}

static int export_side(void)
{
    cudaStream_t s;
    cudaMemPool_t p;
    struct cudaMemPoolProps pr = {.allocType = cudaMemAllocationTypePinned,
                                  .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                  .location.type = cudaMemLocationTypeDevice};
    uint64_t th = UINT64_MAX, z = 0;
    int fd, *a;
    cudaEvent_t e, f;
    struct cudaMemPoolPtrExportData x;
    cudaIpcEventHandle_t eh, fh;
    side = "export";
    ASK(cudaStreamCreate(&s));
    ASK(cudaMemPoolCreate(&p, &pr));
    ASK(cudaMemPoolSetAttribute(p, cudaMemPoolAttrReleaseThreshold, &th));
    ASK(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    ASK(cudaMallocFromPoolAsync((void **)&a, n * 4, p, s));
    launch_fill(a, 7, n, s);
    ASK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming | cudaEventInterprocess));
    ASK(cudaEventRecord(e, s));
    ASK(cudaMemPoolExportPointer(&x, a));
    ASK(cudaIpcGetEventHandle(&eh, e));
    send_descriptor(fd);
    send_bytes(&x, sizeof x);
    send_bytes(&eh, sizeof eh);
    receive_bytes(&fh, sizeof fh);
    ASK(cudaIpcOpenEventHandle(&f, fh));
    ASK(cudaStreamWaitEvent(s, f, 0));
    ASK(cudaFreeAsync(a, s));
    ASK(cudaStreamSynchronize(s));
    figures(p, "after the export side's free");
    ASK(cudaMemPoolTrimTo(p, 0));
    figures(p, "trimTo(0)");
    ASK(cudaMallocFromPoolAsync((void **)&a, 64 * MiB, p, s));
    cudaStreamSynchronize(s);
    ASK(cudaMemPoolExportPointer(&x, a));
    send_bytes(&x, sizeof x);
    await_turn();
    ASK(cudaFreeAsync(a, s));
    ASK(cudaStreamSynchronize(s));
    figures(p, "exporter frees while the importer still maps 64 MiB");
    ASK(cudaMemPoolTrimTo(p, 0));
    figures(p, "trimTo(0)");
    ASK(cudaMemPoolSetAttribute(p, cudaMemPoolAttrReleaseThreshold, &z));
    ASK(cudaStreamSynchronize(s));
    figures(p, "threshold 0 and sync");
    take_turns();
    ASK(cudaMemPoolTrimTo(p, 0));
    figures(p, "importer freed too, trimTo(0)");
    ASK(cudaMemPoolDestroy(p));
    pass_turn();
    printf("child %d\n", child_status());
    return 0;
}

static int import_side(void)
{
    cudaStream_t s;
    cudaMemPool_t p;
    uint64_t th = UINT64_MAX;
    int fd, fd2, one = 1, *q, wrong = 0;
    static int h[1 << 20];
    void *q2, *w;
    cudaEvent_t e, f;
    struct cudaMemPoolPtrExportData x;
    cudaIpcEventHandle_t eh, fh;
    struct cudaMemLocation loc = {.type = cudaMemLocationTypeDevice, .id = 0};
    enum cudaMemAccessFlags fl = cudaMemAccessFlagsProtNone;
    side = "import";
    fd = receive_descriptor();
    receive_bytes(&x, sizeof x);
    receive_bytes(&eh, sizeof eh);
    ASK(cudaStreamCreate(&s));
    ASK(cudaMemPoolImportFromShareableHandle(&p, (void *)(uintptr_t)fd,
                                             cudaMemHandleTypePosixFileDescriptor, 0));
    ASK(cudaIpcOpenEventHandle(&e, eh));
    ASK(cudaMemPoolImportPointer((void **)&q, p, &x));
    ASK(cudaMemPoolImportPointer(&q2, p, &x));
    printf("[import] second import gives the same address %d\n", q2 == q);
    figures(p, "imported 4 MiB");
    ASK(cudaStreamWaitEvent(s, e, 0));
    ASK(cudaMemcpyAsync(h, q, n * 4, cudaMemcpyDeviceToHost, s));
    ASK(cudaStreamSynchronize(s));
    for (size_t i = 0; i < n; i++)
        wrong += h[i] != 7;
    printf("[import] wrong elements %d\n", wrong);
    ASK(cudaMallocFromPoolAsync(&w, 64, p, s));
    ASK(cudaDeviceSetMemPool(0, p));
    ASK(cudaMemPoolSetAttribute(p, cudaMemPoolAttrReleaseThreshold, &th));
    ASK(cudaMemPoolSetAttribute(p, cudaMemPoolReuseAllowOpportunistic, &one));
    ASK(cudaMemPoolExportToShareableHandle(&fd2, p, cudaMemHandleTypePosixFileDescriptor, 0));
    ASK(cudaMemPoolExportPointer(&x, q));
    ASK(cudaMemPoolTrimTo(p, 0));
    ASK(cudaMemPoolGetAccess(&fl, p, &loc));
    printf("[import] access %d\n", fl);
    ASK(cudaEventCreateWithFlags(&f, cudaEventDisableTiming | cudaEventInterprocess));
    ASK(cudaFreeAsync(q, s));
    ASK(cudaEventRecord(f, s));
    ASK(cudaIpcGetEventHandle(&fh, f));
    ASK(cudaStreamSynchronize(s));
    figures(p, "imported freed");
    send_bytes(&fh, sizeof fh);
    receive_bytes(&x, sizeof x);
    ASK(cudaMemPoolImportPointer((void **)&q, p, &x));
    figures(p, "imported 64 MiB");
    take_turns();
    ASK(cudaMemsetAsync(q, 1, 4096, s));
    ASK(cudaFreeAsync(q, s));
    ASK(cudaStreamSynchronize(s));
    figures(p, "freed");
    take_turns();
    ASK(cudaMemPoolDestroy(p));
    return 0;
}

int main(void)
{
    shows_last_error = 0;
    return split() ? import_side() : export_side();
}
