/* The part of probe_ipc.c that needs one process: what export and import answer where they were made, and the helpers of both parts. */
#ifndef PROBE_IPC_ALONE_H
#define PROBE_IPC_ALONE_H

#include "probe_pairs.h"

static cudaMemPool_t p, im, im2;
static cudaEvent_t e, f;
static void *a, *b, *q, *r;
static struct cudaMemPoolPtrExportData x, y;
static cudaIpcEventHandle_t eh;
static cudaIpcMemHandle_t mh;
static int fd2 = -1;

/* ---- helpers ---- */

static cudaMemPool_t pool(int types)
{
    struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned, .handleTypes = (enum cudaMemAllocationHandleType)types, .location.type = cudaMemLocationTypeDevice };
    uint64_t all = UINT64_MAX;
    cudaMemPool_t made = NULL;
    cudaMemPoolCreate(&made, &props);
    cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &all);
    return made;
}

/* A pool, exported, with one exported block. */
static void share(void)
{
    p = pool(1);
    cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0);
    cudaMallocFromPoolAsync(&a, 4 * MiB, p, s);
    cudaMemsetAsync(a, 7, 4 * MiB, s);
    cudaStreamSynchronize(s);
    cudaMemPoolExportPointer(&x, a);
}

static void put_shared(void) { share(); put_descriptor(); put(&x, sizeof x); }
static void get_shared(void)
{
    get_descriptor();
    get(&x, sizeof x);
    cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0);
    cudaMemPoolImportPointer(&q, im, &x);
}

static cudaEvent_t event(void)
{
    cudaEvent_t made;
    cudaEventCreateWithFlags(&made, cudaEventDisableTiming | cudaEventInterprocess);
    return made;
}

static int *hold(void)
{
    int *gate;
    cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped);
    *gate = 0;
    launch_hold(gate, s);
    return gate;
}

static int access_of(cudaMemPool_t of)
{
    enum cudaMemAccessFlags flags = (enum cudaMemAccessFlags)9;
    struct cudaMemLocation where = { cudaMemLocationTypeDevice, 0 };
    cudaMemPoolGetAccess(&flags, of, &where);
    return (int)flags;
}

static cudaError_t set_access(cudaMemPool_t of, int flags)
{
    struct cudaMemAccessDesc wanted = { { cudaMemLocationTypeDevice, 0 }, (enum cudaMemAccessFlags)flags };
    return cudaMemPoolSetAccess(of, &wanted, 1);
}

/* ---- pools, in one process ---- */

static void pool_export(void)
{
    p = pool(1);
    cudaMallocFromPoolAsync(&a, MiB, p, s);
    cudaMallocFromPoolAsync(&b, MiB, p, s);
    SAY("a block, before its pool is exported");
    ASK(cudaMemPoolExportPointer(&x, a));
    ASK(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd2, p, cudaMemHandleTypePosixFileDescriptor, 0));
    SAY("two descriptors %d, close-on-exec %d", fd != fd2, fcntl(fd, F_GETFD));
    ASK(cudaMemPoolExportToShareableHandle(NULL, p, cudaMemHandleTypePosixFileDescriptor, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd2, p, cudaMemHandleTypeFabric, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd2, p, cudaMemHandleTypeWin32, 0));
    ASK(cudaMemPoolExportPointer(&x, a));
    ASK(cudaMemPoolExportPointer(&y, a));
    SAY("the same bytes %d", !memcmp(&x, &y, sizeof x));
    ASK(cudaMemPoolExportPointer(&y, (char *)a + 512));
    ASK(cudaMemPoolExportPointer(&y, &fd));
    ASK(cudaMemPoolExportPointer(NULL, a));
    ASK(cudaMemPoolExportPointer(&y, NULL));
    cudaFreeAsync(b, s);
    SAY("a freed block, then a synchronised one");
    ASK(cudaMemPoolExportPointer(&y, b));
    cudaStreamSynchronize(s);
    ASK(cudaMemPoolExportPointer(&y, b));
}

static void pool_import(void)
{
    int nothing = open("/dev/null", O_RDWR), pipes[2];
    cudaMemPool_t second;
    if (pipe(pipes)) return;
    share();
    ASK(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
    ASK(cudaMemPoolImportFromShareableHandle(&im2, FD(fd), 0));
    SAY("twice: the same pool %d; the exported one %d", im == im2, im == p);
    ASK(cudaMemPoolImportFromShareableHandle(&im2, FD(fd), 1));
    ASK(cudaMemPoolImportFromShareableHandle(&im2, (void *)(uintptr_t)fd, cudaMemHandleTypeNone, 0));
    ASK(cudaMemPoolImportFromShareableHandle(NULL, FD(fd), 0));
    ASK(cudaMemPoolImportFromShareableHandle(&im2, FD(nothing), 0));
    ASK(cudaMemPoolImportFromShareableHandle(&im2, FD(pipes[0]), 0));
    ASK(cudaMemPoolImportFromShareableHandle(&im2, FD(-1), 0));
    ASK(cudaMemPoolImportPointer(&q, im, &x));
    SAY("the exporter's address %d", q == a);
    r = q;
    ASK(cudaMemPoolImportPointer(&r, p, &x));
    SAY("a failed import leaves the pointer alone %d", r == q);
    ASK(cudaMemPoolImportPointer(NULL, im, &x));
    ASK(cudaMemPoolImportPointer(&r, im, NULL));
    memset(&y, 0, sizeof y);
    ASK(cudaMemPoolImportPointer(&r, im, &y));
    memset(&y, 0x5a, sizeof y);
    ASK(cudaMemPoolImportPointer(&r, im, &y));
    second = pool(1);
    cudaMemPoolExportToShareableHandle(&fd2, second, cudaMemHandleTypePosixFileDescriptor, 0);
    cudaMallocFromPoolAsync(&b, MiB, second, s);
    cudaMemPoolExportPointer(&y, b);
    SAY("a block of another pool");
    ASK(cudaMemPoolImportPointer(&r, im, &y));
    SAY("through the imported pointer");
    int v = 0;
    ASK(cudaMemsetAsync(q, 5, MiB, s));
    ASK(cudaMemcpyAsync(&v, a, sizeof v, cudaMemcpyDeviceToHost, s));
    ASK(cudaStreamSynchronize(s));
    SAY("value through the exporter's %x", v);
}

static void pool_import_destroyed(void)
{
    share();
    ASK(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
    ASK(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
    ASK(cudaMemPoolDestroy(im));
    ASK(cudaMemPoolImportPointer(&q, im, &x));
    ASK(cudaMemPoolDestroy(im));
    ASK(cudaFreeAsync(q, s));
    ASK(cudaMemPoolDestroy(im));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaMemPoolDestroy(im));
    ASK(cudaMemPoolImportPointer(&q, im, &x));
    SAY("access %d", access_of(im));
    ASK(cudaMemPoolImportFromShareableHandle(&im2, FD(fd), 0));
    SAY("imported again: the same pool %d", im == im2);
}

static void pool_exporter_destroyed(void)
{
    share();
    cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0);
    ASK(cudaMemPoolDestroy(p));
    ASK(cudaMemPoolExportPointer(&y, a));
    ASK(cudaMemPoolImportPointer(&q, im, &x));
    ASK(cudaFreeAsync(a, s));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaMemPoolImportFromShareableHandle(&im2, FD(fd), 0));
}

static void pool_freed_block(void)
{
    share();
    cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0);
    ASK(cudaFreeAsync(a, s));
    ASK(cudaMemPoolImportPointer(&q, im, &x));
    ASK(cudaStreamSynchronize(s));
    ASK(cudaMemPoolImportPointer(&q, im, &x));
    ASK(cudaMemPoolTrimTo(p, 0));
    ASK(cudaMemPoolImportPointer(&r, im, &x));
}

static void pool_other_types(void)
{
    cudaMemFabricHandle_t fabric;
    p = pool(8);
    SAY("a pool for fabric handles");
    ASK(cudaMemPoolExportToShareableHandle(&fabric, p, cudaMemHandleTypeFabric, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    p = pool(9);
    SAY("a pool for both");
    ASK(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fabric, p, cudaMemHandleTypeFabric, 0));
}

static void pool_empty_fabric(void)
{
    cudaMemFabricHandle_t fabric;
    memset(&fabric, 0, sizeof fabric);
    ASK(cudaMemPoolImportFromShareableHandle(&im, &fabric, cudaMemHandleTypeFabric, 0));
}

static void pool_descriptor_as_fabric(void)
{
    share();
    ASK(cudaMemPoolImportFromShareableHandle(&im, (void *)(uintptr_t)fd, cudaMemHandleTypeFabric, 0));
}

/* ---- events and cudaMalloc's memory, in one process ---- */

static void event_handles(void)
{
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    SAY("an event of this process alone, none, an interprocess one");
    ASK(cudaIpcGetEventHandle(&eh, e));
    ASK(cudaIpcGetEventHandle(&eh, NULL));
    e = event();
    ASK(cudaIpcGetEventHandle(&eh, e));
    cudaIpcEventHandle_t again;
    cudaIpcGetEventHandle(&again, e);
    SAY("twice: the same bytes %d", !memcmp(&eh, &again, sizeof eh));
    SAY("its own");
    ASK(cudaIpcOpenEventHandle(&f, eh));
    ASK(cudaIpcOpenEventHandle(NULL, eh));
    memset(&eh, 0, sizeof eh);
    ASK(cudaIpcOpenEventHandle(&f, eh));
    memset(&eh, 0x5a, sizeof eh);
    ASK(cudaIpcOpenEventHandle(&f, eh));
}

static void event_handle_nowhere(void) { e = event(); ASK(cudaIpcGetEventHandle(NULL, e)); }

#endif
