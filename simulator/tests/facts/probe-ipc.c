/* Records what sharing between processes returns, beyond what facts/ipc.txt has: pools, their
 * allocations, events and cudaMalloc's memory, in one process and between an exporter and an
 * importer: ipc [CASE]. */
#define CALL_COLUMNS 96
#include "pairs.h"

static int fd2 = -1;
static cudaMemPool_t im2;
static void *r;          /* a second address in the importer */
static cudaEvent_t e, f; /* an event, and the one that its handle opens */
static struct cudaMemPoolPtrExportData y;
static cudaIpcEventHandle_t eh;
static cudaIpcMemHandle_t mh, mh2;

/* ---- what the questions begin with ---- */

/* A pool, exported, with one exported allocation, which is set to sevens. */
static void export_sevens(void)
{
    share(shared_pool(UINT64_MAX), 4 * MiB);
    cudaMemsetAsync(a, 7, 4 * MiB, s);
    export_shared();
}

static void send_sevens(void)
{
    export_sevens();
    send_shared();
}

static cudaEvent_t make_interprocess_event(void)
{
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess);
    return event;
}

static void make_shared_event(void)
{
    e = make_interprocess_event();
    cudaIpcGetEventHandle(&eh, e);
}

static void hold_at_new_gate(void)
{
    cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped);
    hold(s);
}

/* The first launch loads the kernel. */
static void load_hold(void)
{
    hold_at_new_gate();
    open_gate();
    cudaStreamSynchronize(s);
}

static cudaError_t set_access(cudaMemPool_t pool, int flags)
{
    return give_access(pool, location_of(DEVICE, 0), flags);
}

/* ---- pools, in one process ---- */

/* Can an allocation be exported before its pool was, or after its free? */
CASE(pool_export)
{
    void *b;
    p = shared_pool(UINT64_MAX);
    cudaMallocFromPoolAsync(&a, MiB, p, s);
    cudaMallocFromPoolAsync(&b, MiB, p, s);
    NOTE("a block, before its pool is exported");
    RECORD(cudaMemPoolExportPointer(&x, a));

    /* Can a pool be exported twice, and as which types of handle? */
    RECORD(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolExportToShareableHandle(&fd2, p, cudaMemHandleTypePosixFileDescriptor, 0));
    NOTE("two descriptors %d, close-on-exec %d", fd != fd2, fcntl(fd, F_GETFD));
    RECORD(cudaMemPoolExportToShareableHandle(NULL, p, cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolExportToShareableHandle(&fd2, p, cudaMemHandleTypeFabric, 0));
    RECORD(cudaMemPoolExportToShareableHandle(&fd2, p, cudaMemHandleTypeWin32, 0));

    /* Which addresses can be exported? */
    RECORD(cudaMemPoolExportPointer(&x, a));
    RECORD(cudaMemPoolExportPointer(&y, a));
    NOTE("the same bytes %d", !memcmp(&x, &y, sizeof x));
    RECORD(cudaMemPoolExportPointer(&y, (char *)a + 512));
    RECORD(cudaMemPoolExportPointer(&y, &fd));
    RECORD(cudaMemPoolExportPointer(NULL, a));
    RECORD(cudaMemPoolExportPointer(&y, NULL));

    cudaFreeAsync(b, s);
    NOTE("a freed block, then a synchronised one");
    RECORD(cudaMemPoolExportPointer(&y, b));
    cudaStreamSynchronize(s);
    RECORD(cudaMemPoolExportPointer(&y, b));
}

CASE(pool_import)
{
    void *b;
    int nothing = open("/dev/null", O_RDWR), pipes[2], v = 0;

    /* Can a descriptor be imported twice, with other arguments, and can one that is no pool? */
    if (pipe(pipes))
        return;
    export_sevens();
    RECORD(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
    RECORD(cudaMemPoolImportFromShareableHandle(&im2, FD(fd), 0));
    NOTE("twice: the same pool %d; the exported one %d", im == im2, im == p);
    RECORD(cudaMemPoolImportFromShareableHandle(&im2, FD(fd), 1));
    RECORD(cudaMemPoolImportFromShareableHandle(&im2, (void *)(uintptr_t)fd, cudaMemHandleTypeNone,
                                                0));
    RECORD(cudaMemPoolImportFromShareableHandle(NULL, FD(fd), 0));
    RECORD(cudaMemPoolImportFromShareableHandle(&im2, FD(nothing), 0));
    RECORD(cudaMemPoolImportFromShareableHandle(&im2, FD(pipes[0]), 0));
    RECORD(cudaMemPoolImportFromShareableHandle(&im2, FD(-1), 0));

    /* Which addresses can be imported, into which pool? */
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    NOTE("the exporter's address %d", q == a);
    r = q;
    RECORD(cudaMemPoolImportPointer(&r, p, &x));
    NOTE("a failed import leaves the pointer alone %d", r == q);
    RECORD(cudaMemPoolImportPointer(NULL, im, &x));
    RECORD(cudaMemPoolImportPointer(&r, im, NULL));
    memset(&y, 0, sizeof y);
    RECORD(cudaMemPoolImportPointer(&r, im, &y));
    memset(&y, 0x5a, sizeof y);
    RECORD(cudaMemPoolImportPointer(&r, im, &y));

    /* Can an address of another pool be imported? */
    cudaMemPool_t second = shared_pool(UINT64_MAX);
    cudaMemPoolExportToShareableHandle(&fd2, second, cudaMemHandleTypePosixFileDescriptor, 0);
    cudaMallocFromPoolAsync(&b, MiB, second, s);
    cudaMemPoolExportPointer(&y, b);
    NOTE("a block of another pool");
    RECORD(cudaMemPoolImportPointer(&r, im, &y));

    /* Is the memory the same through the imported address? */
    NOTE("through the imported pointer");
    RECORD(cudaMemsetAsync(q, 5, MiB, s));
    RECORD_SYNC(cudaMemcpyAsync(&v, a, sizeof v, cudaMemcpyDeviceToHost, s), s);
    NOTE("value through the exporter's %x", v);
}

/* What may be done with an imported pool that was destroyed? */
CASE(pool_import_destroyed)
{
    export_sevens();
    RECORD(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
    RECORD(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
    RECORD(cudaMemPoolDestroy(im));
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    RECORD(cudaMemPoolDestroy(im));
    RECORD(cudaFreeAsync(q, s));
    RECORD_SYNC(cudaMemPoolDestroy(im), s);
    RECORD(cudaMemPoolDestroy(im));
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    NOTE("access %d", pool_access(im, 0));
    RECORD(cudaMemPoolImportFromShareableHandle(&im2, FD(fd), 0));
    NOTE("imported again: the same pool %d", im == im2);
}

/* What can still be exported and imported when the exporter has destroyed its pool? */
CASE(pool_exporter_destroyed)
{
    export_sevens();
    cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0);
    RECORD(cudaMemPoolDestroy(p));
    RECORD(cudaMemPoolExportPointer(&y, a));
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    RECORD_SYNC(cudaFreeAsync(a, s), s);
    RECORD(cudaMemPoolImportFromShareableHandle(&im2, FD(fd), 0));
}

/* Can an allocation be imported that was freed, synchronized, trimmed? */
CASE(pool_freed_block)
{
    export_sevens();
    cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0);
    RECORD(cudaFreeAsync(a, s));
    RECORD_SYNC(cudaMemPoolImportPointer(&q, im, &x), s);
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    RECORD(cudaMemPoolTrimTo(p, 0));
    RECORD(cudaMemPoolImportPointer(&r, im, &x));
}

/* Can a pool be exported as a type of handle that it was not made for? */
CASE(pool_other_types)
{
    cudaMemFabricHandle_t fabric;
    p = pool_with(UINT64_MAX, 0, cudaMemHandleTypeFabric);
    NOTE("a pool for fabric handles");
    RECORD(cudaMemPoolExportToShareableHandle(&fabric, p, cudaMemHandleTypeFabric, 0));
    RECORD(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    p = pool_with(UINT64_MAX, 0, cudaMemHandleTypeFabric | cudaMemHandleTypePosixFileDescriptor);
    NOTE("a pool for both");
    RECORD(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolExportToShareableHandle(&fabric, p, cudaMemHandleTypeFabric, 0));
}

/* Can a fabric handle be imported that is empty? */
CASE(pool_empty_fabric)
{
    cudaMemFabricHandle_t fabric = {.reserved = {0}};
    RECORD(cudaMemPoolImportFromShareableHandle(&im, &fabric, cudaMemHandleTypeFabric, 0));
}

/* Can a descriptor be imported as a fabric handle? */
CASE(pool_descriptor_as_fabric)
{
    export_sevens();
    RECORD(cudaMemPoolImportFromShareableHandle(&im, (void *)(uintptr_t)fd, cudaMemHandleTypeFabric,
                                                0));
}

/* ---- events and cudaMalloc's memory, in one process ---- */

/* Which events have handles, and can a process open its own? */
CASE(event_handles)
{
    cudaIpcEventHandle_t again;
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    NOTE("an event of this process alone, none, an interprocess one");
    RECORD(cudaIpcGetEventHandle(&eh, e));
    RECORD(cudaIpcGetEventHandle(&eh, NULL));
    e = make_interprocess_event();
    RECORD(cudaIpcGetEventHandle(&eh, e));
    cudaIpcGetEventHandle(&again, e);
    NOTE("twice: the same bytes %d", !memcmp(&eh, &again, sizeof eh));
    NOTE("its own");
    RECORD(cudaIpcOpenEventHandle(&f, eh));
    RECORD(cudaIpcOpenEventHandle(NULL, eh));
    memset(&eh, 0, sizeof eh);
    RECORD(cudaIpcOpenEventHandle(&f, eh));
    memset(&eh, 0x5a, sizeof eh);
    RECORD(cudaIpcOpenEventHandle(&f, eh));
}

/* Does the process survive it when there is no room for an event's handle? */
CASE(event_handle_nowhere)
{
    e = make_interprocess_event();
    RECORD(cudaIpcGetEventHandle(NULL, e));
}

CASE(memory_handles)
{
    void *b;

    /* Which memory has handles? */
    cudaMalloc(&a, MiB);
    RECORD(cudaIpcGetMemHandle(&mh, a));
    RECORD(cudaIpcGetMemHandle(&mh2, (char *)a + 512));
    NOTE("an address inside: the same bytes %d", !memcmp(&mh, &mh2, sizeof mh));
    RECORD(cudaIpcGetMemHandle(&mh2, &fd));
    RECORD(cudaIpcGetMemHandle(&mh2, NULL));
    cudaMallocHost(&r, MiB);
    NOTE("pinned memory, cudaMallocAsync's, a pool's that can be shared");
    RECORD(cudaIpcGetMemHandle(&mh2, r));
    cudaMallocAsync(&b, MiB, s);
    RECORD(cudaIpcGetMemHandle(&mh2, b));
    p = shared_pool(UINT64_MAX);
    cudaMallocFromPoolAsync(&b, MiB, p, s);
    RECORD(cudaIpcGetMemHandle(&mh2, b));

    /* Can a process open and close its own memory, and what is none? */
    NOTE("its own");
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    RECORD(cudaIpcOpenMemHandle(&r, mh, 0));
    RECORD(cudaIpcCloseMemHandle(a));
    RECORD(cudaIpcCloseMemHandle(&fd));
    RECORD(cudaIpcCloseMemHandle(NULL));
    memset(&mh, 0, sizeof mh);
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    memset(&mh, 0x5a, sizeof mh);
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    cudaFree(a);
    RECORD(cudaIpcGetMemHandle(&mh, a));
}

/* Does the process survive it when there is no room for the handle of memory? */
CASE(memory_handle_nowhere)
{
    cudaMalloc(&a, MiB);
    RECORD(cudaIpcGetMemHandle(NULL, a));
}

/* Does the process survive it when there is no room for the address of opened memory? */
CASE(memory_opened_nowhere)
{
    cudaMalloc(&a, MiB);
    cudaIpcGetMemHandle(&mh, a);
    RECORD(cudaIpcOpenMemHandle(NULL, mh, cudaIpcMemLazyEnablePeerAccess));
}

/* ---- two processes: a pool ---- */

/* The exporter's side of the questions below: it destroys its pool when it is its turn. */
static void export_pool(void)
{
    void *b;
    send_sevens();
    b = ready_memory(p, 100 * MiB);
    cudaMemPoolExportPointer(&y, b);
    send_bytes(&y, sizeof y);
    await_turn();
    RECORD(cudaMemPoolDestroy(p));
    take_turns();
}

IMPORTER(pool, export_pool)
{
    struct cudaPointerAttributes about;
    void *again;
    import_shared();
    receive_bytes(&y, sizeof y);

    /* Which access has an importer, and can it be changed? */
    NOTE("access %d", pool_access(im, 0));
    RECORD(set_access(im, cudaMemAccessFlagsProtReadWrite));
    RECORD(set_access(im, cudaMemAccessFlagsProtRead));
    RECORD(set_access(im, cudaMemAccessFlagsProtNone));
    NOTE("access %d", pool_access(im, 0));

    /* Where do the imported allocations lie, and what does the importer know of them? */
    RECORD(cudaMemPoolImportPointer(&r, im, &y));
    NOTE("the second block lies %lld MiB further; the first at a multiple of 32 MiB %d",
         distance(r, q) / (long long)MiB, (uintptr_t)q % (32 * MiB) == 0);
    RECORD(cudaPointerGetAttributes(&about, q));
    NOTE("type %d device %d", (int)about.type, about.device);

    /* What may the importer do with an allocation, and how often can it free it? */
    RECORD(cudaMemsetAsync(q, 1, 4 * MiB, s));
    RECORD(cudaMemsetAsync(q, 1, 4 * MiB + 1, s));
    RECORD(cudaIpcGetMemHandle(&mh, q));
    RECORD(cudaFreeAsync((char *)q + 512, s));
    RECORD(cudaFreeAsync(q, s));
    RECORD_SYNC(cudaFreeAsync(q, s), s);
    RECORD(cudaMemsetAsync(q, 1, 4096, s));

    /* Can an allocation be imported again after its free, and used when the imported pool was
     * destroyed? */
    RECORD(cudaMemPoolImportPointer(&again, im, &x));
    NOTE("imported again after the free: the same address %d", again == q);
    RECORD(cudaFree(again));
    RECORD(cudaMemPoolImportPointer(&again, im, &x));
    RECORD(cudaMemPoolDestroy(im));
    RECORD(cudaMemsetAsync(again, 1, 4096, s));
    RECORD_SYNC(cudaFreeAsync(again, s), s);

    /* Can an allocation be imported and used when the exporter has destroyed its pool? */
    take_turns();
    NOTE("the exporter has destroyed its pool");
    RECORD(cudaMemPoolImportPointer(&again, im, &x));
    RECORD(cudaMemsetAsync(r, 1, 4096, s));
    RECORD(cudaFreeAsync(again, s));
    RECORD_SYNC(cudaFreeAsync(r, s), s);
    RECORD(cudaMemPoolDestroy(im));
    pass_turn();
}

/* ---- two processes: an event ---- */

/* The exporter's side of the questions below, and one of its own: does it see that the importer has
 * recorded the event? */
static void export_event(void)
{
    make_shared_event();
    send_bytes(&eh, sizeof eh);
    await_turn();
    hold_at_new_gate();
    cudaEventRecord(e, s);
    take_turns();
    open_gate();
    cudaStreamSynchronize(s);
    take_turns();
    NOTE("the importer has recorded it behind a hold");
    RECORD(cudaEventQuery(e));
    RECORD(cudaStreamWaitEvent(s, e, 0));
    RECORD(cudaStreamQuery(s));
    pass_turn();
    RECORD_SYNC(cudaEventSynchronize(e), s);
    await_turn();
    RECORD(cudaEventDestroy(e));
    take_turns();
}

IMPORTER(event, export_event)
{
    cudaIpcEventHandle_t again;
    float ms;
    load_hold();
    receive_bytes(&eh, sizeof eh);

    /* Can an event be opened twice, and waited for, queried and shared before it was recorded? */
    RECORD(cudaIpcOpenEventHandle(&e, eh));
    RECORD(cudaIpcOpenEventHandle(&f, eh));
    NOTE("twice: the same event %d", e == f);
    RECORD(cudaEventQuery(e));
    RECORD_SYNC(cudaStreamWaitEvent(s, e, 0), s);
    RECORD(cudaEventSynchronize(e));
    RECORD(cudaIpcGetEventHandle(&again, e));
    RECORD(cudaEventElapsedTime(&ms, e, f));
    take_turns();

    /* Does the importer see that the exporter's record is pending, and that it is over? */
    NOTE("the exporter has recorded it behind a hold");
    RECORD(cudaEventQuery(e));
    RECORD(cudaStreamWaitEvent(s, e, 0));
    RECORD(cudaStreamQuery(s));
    pass_turn();
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaEventQuery(e));
    await_turn();

    /* May the importer record the event, too? */
    hold_at_new_gate();
    RECORD(cudaEventRecord(e, s));
    RECORD(cudaEventQuery(f));
    take_turns();
    open_gate();
    RECORD(cudaStreamSynchronize(s));
    take_turns();

    /* Does the importer keep the event when the exporter has destroyed it? */
    NOTE("the exporter has destroyed it");
    RECORD(cudaEventQuery(e));
    RECORD_SYNC(cudaEventRecord(e, s), s);
    RECORD(cudaEventDestroy(e));
    RECORD(cudaEventDestroy(f));
    RECORD(cudaIpcOpenEventHandle(&f, eh));
    pass_turn();
}

/* Can an event be opened whose process has ended? */
static void export_event_and_end(void)
{
    make_shared_event();
    send_bytes(&eh, sizeof eh);
}

IMPORTER(event_of_ended, export_event_and_end)
{
    receive_bytes(&eh, sizeof eh);
    await_end();
    RECORD(cudaIpcOpenEventHandle(&e, eh));
}

/* ---- two processes: one is killed ---- */

/* What has an importer left when the exporter was killed, with a record that is pending? */
static void export_and_die(void)
{
    send_sevens();
    make_shared_event();
    send_bytes(&eh, sizeof eh);
    hold_at_new_gate();
    cudaEventRecord(e, s);
    take_turns();
    kill(getpid(), SIGKILL);
}

IMPORTER(exporter_killed, export_and_die)
{
    int v = 0;
    import_shared();
    receive_bytes(&eh, sizeof eh);
    await_turn();
    cudaIpcOpenEventHandle(&e, eh);
    pass_turn();
    await_end();
    RECORD_SYNC(cudaMemcpyAsync(&v, q, sizeof v, cudaMemcpyDeviceToHost, s), s);
    NOTE("value %x", v);
    RECORD(cudaMemPoolImportPointer(&r, im, &x));
    RECORD_SYNC(cudaFreeAsync(q, s), s);
    RECORD(cudaEventQuery(e));
    RECORD_SYNC(cudaStreamWaitEvent(s, e, 0), s);
}

/* What has an exporter left when the importer was killed? */
static void export_to_dead(void)
{
    send_sevens();
    receive_bytes(&eh, sizeof eh);
    cudaIpcOpenEventHandle(&f, eh);
    pass_turn();
    await_end();
    RECORD_SYNC(cudaMemsetAsync(a, 1, 4 * MiB, s), s);
    RECORD_SYNC(cudaFreeAsync(a, s), s);
    RECORD(cudaMemPoolTrimTo(p, 0));
    RECORD(cudaEventQuery(f));
}

IMPORTER(importer_killed, export_to_dead)
{
    import_shared();
    make_shared_event();
    hold_at_new_gate();
    cudaEventRecord(e, s);
    send_bytes(&eh, sizeof eh);
    await_turn();
    kill(getpid(), SIGKILL);
}

/* ---- two processes: cudaMalloc's memory ---- */

static void send_memory_handle(void) { send_bytes(&mh, sizeof mh); }
static void receive_memory_handle(void) { receive_bytes(&mh, sizeof mh); }

static void read_opened(void)
{
    int v = 0;
    RECORD(cudaMemcpy(&v, q, sizeof v, cudaMemcpyDeviceToHost));
    NOTE("value %x", v);
}

static void receive_and_open(void)
{
    receive_memory_handle();
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));
}

/* The exporter's side of the questions below: it frees its memory when it is its turn. */
static void export_memory(void)
{
    void *b;
    cudaMalloc(&a, MiB);
    cudaMemset(a, 7, MiB);
    cudaMemset((char *)a + 512, 9, 512);
    cudaDeviceSynchronize();
    cudaMalloc(&b, MiB);
    RECORD(cudaIpcGetMemHandle(&mh, a));
    send_memory_handle();
    RECORD(cudaIpcGetMemHandle(&mh, b));
    send_memory_handle();
    RECORD(cudaIpcGetMemHandle(&mh, (char *)a + 512));
    send_memory_handle();
    await_turn();
    RECORD(cudaFree(a));
    take_turns();
}

IMPORTER(memory, export_memory)
{
    void *b;
    cudaIpcMemHandle_t next, inside;
    struct cudaPointerAttributes about;
    receive_memory_handle();
    receive_bytes(&next, sizeof next);
    receive_bytes(&inside, sizeof inside);

    /* With which flags can memory be opened, how often, and where does it lie? */
    RECORD(cudaIpcOpenMemHandle(&q, mh, 0));
    RECORD(cudaIpcOpenMemHandle(&q, mh, 2));
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    NOTE("twice: the same address %d", q == r);
    RECORD(cudaIpcOpenMemHandle(&r, next, cudaIpcMemLazyEnablePeerAccess));
    NOTE("the neighbour lies %lld KiB further", distance(r, q) / 1024);
    RECORD(cudaPointerGetAttributes(&about, q));
    NOTE("type %d device %d", (int)about.type, about.device);

    /* May the importer share opened memory on, read it, and write it to its end and past it? */
    RECORD(cudaIpcGetMemHandle(&mh2, q));
    read_opened();
    RECORD(cudaMemset(q, 1, MiB));
    RECORD(cudaMemset(q, 1, MiB + 1));

    /* What does the handle of an address inside open? */
    NOTE("the handle of an address inside");
    RECORD(cudaIpcOpenMemHandle(&b, inside, cudaIpcMemLazyEnablePeerAccess));
    NOTE("it opens %lld bytes further", distance(b, q));
    RECORD(cudaIpcCloseMemHandle(b));

    /* How can memory be closed that was opened twice? */
    RECORD(cudaFree(q));
    RECORD(cudaFreeAsync(q, s));
    RECORD(cudaIpcCloseMemHandle((char *)q + 512));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaMemset(q, 1, 16));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaMemset(q, 1, 16));
    RECORD(cudaIpcCloseMemHandle(q));

    take_turns();
    NOTE("the exporter has freed it, but not the neighbour");
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));

    /* Does the neighbour live on when the exporter has ended? */
    pass_turn();
    await_end();
    NOTE("the exporter has ended");
    RECORD(cudaMemset(r, 1, MiB));
    RECORD(cudaIpcOpenMemHandle(&b, next, cudaIpcMemLazyEnablePeerAccess));
    RECORD(cudaIpcCloseMemHandle(r));
}

/* ---- two processes: cudaMalloc's memory, and what is pending, freed, or gone ---- */

/* A memory of its own segments, filled with 7, and its handle. */
static void send_large(void)
{
    cudaMalloc(&a, 4 * MiB);
    cudaMemset(a, 7, 4 * MiB);
    cudaDeviceSynchronize();
    cudaIpcGetMemHandle(&mh, a);
    send_memory_handle();
}

static void export_large_and_wait(void)
{
    send_large();
    await_turn();
}

static pthread_t opener;

#define CLOSE_WAITS(address, what)                               \
    do {                                                         \
        double begin_ = now_us();                                \
        RECORD(cudaIpcCloseMemHandle(address));                  \
        NOTE("%sit waits %d", what, now_us() - begin_ > 250000); \
    } while (0)

static void end_closes(void)
{
    pthread_join(opener, NULL);
    RECORD(cudaStreamSynchronize(s));
    pass_turn();
}

/* Does a close wait for the stream that uses the memory, and for one that does not? */
IMPORTER(memory_closed_in_use, export_large_and_wait)
{
    receive_and_open();
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    load_hold();
    hold(s);
    RECORD(cudaMemsetAsync(q, 1, 4 * MiB, s));
    pthread_create(&opener, NULL, open_gate_late, NULL);
    CLOSE_WAITS(r, "not the last close: ");
    CLOSE_WAITS(q, "the last close: ");
    end_closes();
}

/* Does a close wait for work that uses something else? */
IMPORTER(memory_closed_beside, export_large_and_wait)
{
    receive_and_open();
    load_hold();
    hold(s);
    pthread_create(&opener, NULL, open_gate_late, NULL);
    CLOSE_WAITS(q, "");
    end_closes();
}

/* Can memory be opened whose segments its exporter has freed? */
static void export_freed(void)
{
    send_large();
    RECORD(cudaFree(a));
    take_turns();
}

IMPORTER(memory_freed, export_freed)
{
    receive_memory_handle();
    await_turn();
    if (!RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess))) {
        read_opened();
        RECORD(cudaIpcCloseMemHandle(q));
    }
    pass_turn();
}

/* Does what is open stay when its exporter frees it? */
static void export_and_free_open(void)
{
    send_large();
    await_turn();
    RECORD(cudaFree(a));
    take_turns();
}

IMPORTER(memory_freed_open, export_and_free_open)
{
    receive_and_open();
    take_turns();
    read_opened();
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaIpcCloseMemHandle(q));
    pass_turn();
}

/* Can memory be opened whose exporter has ended, when nothing of it is open here? */
IMPORTER(memory_of_ended, send_large)
{
    receive_memory_handle();
    await_end();
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));
}

/* What is left of open memory when its exporter was killed? */
static void export_memory_and_die(void)
{
    send_large();
    await_turn();
    kill(getpid(), SIGKILL);
}

IMPORTER(memory_of_killed, export_memory_and_die)
{
    receive_and_open();
    pass_turn();
    await_end();
    read_opened();
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
}

int main(int argc, char **argv) { return run_pairs(argc, argv); }
