/* Records what sharing between processes returns, beyond what facts/ipc.txt has: pools, their
 * allocations, events and cudaMalloc's memory, in one process and between an exporter and an
 * importer: ipc [CASE]. */
#define CALL_COLUMNS 96
#include "pairs.h"

static int fd = -1; /* the descriptor that crosses */

static cudaMemPool_t p, im, im2; /* the exporter's pool; the imported ones */
static cudaEvent_t e, f;         /* an event, and the one that its handle opens */
static void *a, *q, *r;          /* the exporter's allocation; the importer's addresses */
static struct cudaMemPoolPtrExportData x, y;
static cudaIpcEventHandle_t eh;
static cudaIpcMemHandle_t mh, mh2;
static int fd2 = -1;

/* ---- what the questions begin with ---- */

/* A pool, exported, with one exported allocation. */
static void export_shared(void)
{
    p = shared_pool(UINT64_MAX);
    cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0);
    cudaMallocFromPoolAsync(&a, 4 * MiB, p, s);
    cudaMemsetAsync(a, 7, 4 * MiB, s);
    cudaStreamSynchronize(s);
    cudaMemPoolExportPointer(&x, a);
}

static void send_shared(void)
{
    export_shared();
    send_descriptor(fd);
    send_bytes(&x, sizeof x);
}

static void receive_shared(void)
{
    fd = receive_descriptor();
    receive_bytes(&x, sizeof x);
    cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0);
    cudaMemPoolImportPointer(&q, im, &x);
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

static cudaError_t set_access(cudaMemPool_t pool, int flags)
{
    struct cudaMemAccessDesc d = {{cudaMemLocationTypeDevice, 0}, (enum cudaMemAccessFlags)flags};
    return cudaMemPoolSetAccess(pool, &d, 1);
}

/* ---- pools, in one process ---- */

/* Can a pool be exported twice, and as which types of handle? */
static void export_handles(void)
{
    RECORD(cudaMemPoolExportToShareableHandle(&fd, p, cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolExportToShareableHandle(&fd2, p, cudaMemHandleTypePosixFileDescriptor, 0));
    NOTE("two descriptors %d, close-on-exec %d", fd != fd2, fcntl(fd, F_GETFD));
    RECORD(cudaMemPoolExportToShareableHandle(NULL, p, cudaMemHandleTypePosixFileDescriptor, 0));
    RECORD(cudaMemPoolExportToShareableHandle(&fd2, p, cudaMemHandleTypeFabric, 0));
    RECORD(cudaMemPoolExportToShareableHandle(&fd2, p, cudaMemHandleTypeWin32, 0));
}

/* Which addresses can be exported? */
static void export_pointers(void)
{
    RECORD(cudaMemPoolExportPointer(&x, a));
    RECORD(cudaMemPoolExportPointer(&y, a));
    NOTE("the same bytes %d", !memcmp(&x, &y, sizeof x));
    RECORD(cudaMemPoolExportPointer(&y, (char *)a + 512));
    RECORD(cudaMemPoolExportPointer(&y, &fd));
    RECORD(cudaMemPoolExportPointer(NULL, a));
    RECORD(cudaMemPoolExportPointer(&y, NULL));
}

/* Can an allocation be exported before its pool was, or after its free? */
CASE(pool_export)
{
    void *b;
    p = shared_pool(UINT64_MAX);
    cudaMallocFromPoolAsync(&a, MiB, p, s);
    cudaMallocFromPoolAsync(&b, MiB, p, s);
    NOTE("a block, before its pool is exported");
    RECORD(cudaMemPoolExportPointer(&x, a));
    export_handles();
    export_pointers();
    cudaFreeAsync(b, s);
    NOTE("a freed block, then a synchronised one");
    RECORD(cudaMemPoolExportPointer(&y, b));
    cudaStreamSynchronize(s);
    RECORD(cudaMemPoolExportPointer(&y, b));
}

/* Can a descriptor be imported twice, with other arguments, and can one that is no pool? */
static void import_handles(void)
{
    int nothing = open("/dev/null", O_RDWR), pipes[2];
    if (pipe(pipes))
        return;
    export_shared();
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
}

/* Which addresses can be imported, into which pool? */
static void import_pointers(void)
{
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
}

/* Can an address of another pool be imported? */
static void import_pointer_of_another_pool(void)
{
    void *b;
    cudaMemPool_t second = shared_pool(UINT64_MAX);
    cudaMemPoolExportToShareableHandle(&fd2, second, cudaMemHandleTypePosixFileDescriptor, 0);
    cudaMallocFromPoolAsync(&b, MiB, second, s);
    cudaMemPoolExportPointer(&y, b);
    NOTE("a block of another pool");
    RECORD(cudaMemPoolImportPointer(&r, im, &y));
}

/* Is the memory the same through the imported address? */
static void write_through_import(void)
{
    int v = 0;
    NOTE("through the imported pointer");
    RECORD(cudaMemsetAsync(q, 5, MiB, s));
    RECORD(cudaMemcpyAsync(&v, a, sizeof v, cudaMemcpyDeviceToHost, s));
    RECORD(cudaStreamSynchronize(s));
    NOTE("value through the exporter's %x", v);
}

CASE(pool_import)
{
    import_handles();
    import_pointers();
    import_pointer_of_another_pool();
    write_through_import();
}

/* What may be done with an imported pool that was destroyed? */
CASE(pool_import_destroyed)
{
    export_shared();
    RECORD(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
    RECORD(cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0));
    RECORD(cudaMemPoolDestroy(im));
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    RECORD(cudaMemPoolDestroy(im));
    RECORD(cudaFreeAsync(q, s));
    RECORD(cudaMemPoolDestroy(im));
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaMemPoolDestroy(im));
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    NOTE("access %d", pool_access(im, 0));
    RECORD(cudaMemPoolImportFromShareableHandle(&im2, FD(fd), 0));
    NOTE("imported again: the same pool %d", im == im2);
}

/* What can still be exported and imported when the exporter has destroyed its pool? */
CASE(pool_exporter_destroyed)
{
    export_shared();
    cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0);
    RECORD(cudaMemPoolDestroy(p));
    RECORD(cudaMemPoolExportPointer(&y, a));
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaMemPoolImportFromShareableHandle(&im2, FD(fd), 0));
}

/* Can an allocation be imported that was freed, synchronized, trimmed? */
CASE(pool_freed_block)
{
    export_shared();
    cudaMemPoolImportFromShareableHandle(&im, FD(fd), 0);
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaMemPoolImportPointer(&q, im, &x));
    RECORD(cudaStreamSynchronize(s));
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
    cudaMemFabricHandle_t fabric;
    memset(&fabric, 0, sizeof fabric);
    RECORD(cudaMemPoolImportFromShareableHandle(&im, &fabric, cudaMemHandleTypeFabric, 0));
}

/* Can a descriptor be imported as a fabric handle? */
CASE(pool_descriptor_as_fabric)
{
    export_shared();
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

/* Which memory has handles? */
static void handles_of_memory(void)
{
    void *b;
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
}

/* Can a process open and close its own memory, and what is none? */
CASE(memory_handles)
{
    handles_of_memory();
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
    send_shared();
    cudaMallocFromPoolAsync(&b, 100 * MiB, p, s);
    cudaStreamSynchronize(s);
    cudaMemPoolExportPointer(&y, b);
    send_bytes(&y, sizeof y);
    await_turn();
    RECORD(cudaMemPoolDestroy(p));
    pass_turn();
    await_turn();
}

/* Which access has an importer, and can it be changed? */
static void import_access(void)
{
    NOTE("access %d", pool_access(im, 0));
    RECORD(set_access(im, cudaMemAccessFlagsProtReadWrite));
    RECORD(set_access(im, cudaMemAccessFlagsProtRead));
    RECORD(set_access(im, cudaMemAccessFlagsProtNone));
    NOTE("access %d", pool_access(im, 0));
}

/* Where do the imported allocations lie, and what does the importer know of them? */
static void import_addresses(void)
{
    struct cudaPointerAttributes about;
    RECORD(cudaMemPoolImportPointer(&r, im, &y));
    NOTE("the second block lies %lld MiB further; the first at a multiple of 32 MiB %d",
         distance(r, q) / (long long)MiB, (uintptr_t)q % (32 * MiB) == 0);
    RECORD(cudaPointerGetAttributes(&about, q));
    NOTE("type %d device %d", (int)about.type, about.device);
}

/* What may the importer do with an allocation, and how often can it free it? */
static void import_use_and_free(void)
{
    RECORD(cudaMemsetAsync(q, 1, 4 * MiB, s));
    RECORD(cudaMemsetAsync(q, 1, 4 * MiB + 1, s));
    RECORD(cudaIpcGetMemHandle(&mh, q));
    RECORD(cudaFreeAsync((char *)q + 512, s));
    RECORD(cudaFreeAsync(q, s));
    RECORD(cudaFreeAsync(q, s));
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaMemsetAsync(q, 1, 4096, s));
}

/* Can an allocation be imported again after its free, and used when the imported pool was
 * destroyed? */
static void *import_again(void)
{
    void *again;
    RECORD(cudaMemPoolImportPointer(&again, im, &x));
    NOTE("imported again after the free: the same address %d", again == q);
    RECORD(cudaFree(again));
    RECORD(cudaMemPoolImportPointer(&again, im, &x));
    RECORD(cudaMemPoolDestroy(im));
    RECORD(cudaMemsetAsync(again, 1, 4096, s));
    RECORD(cudaFreeAsync(again, s));
    RECORD(cudaStreamSynchronize(s));
    return again;
}

/* Can an allocation be imported and used when the exporter has destroyed its pool? */
static void import_of_destroyed(void *again)
{
    NOTE("the exporter has destroyed its pool");
    RECORD(cudaMemPoolImportPointer(&again, im, &x));
    RECORD(cudaMemsetAsync(r, 1, 4096, s));
    RECORD(cudaFreeAsync(again, s));
    RECORD(cudaFreeAsync(r, s));
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaMemPoolDestroy(im));
}

static void import_pool(void)
{
    receive_shared();
    receive_bytes(&y, sizeof y);
    import_access();
    import_addresses();
    import_use_and_free();
    void *again = import_again();
    pass_turn();
    await_turn();
    import_of_destroyed(again);
    pass_turn();
}

CASE_OF_TWO(pool, export_pool, import_pool)

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
    pass_turn();
    await_turn();
    open_gate();
    cudaStreamSynchronize(s);
    pass_turn();
    await_turn();
    NOTE("the importer has recorded it behind a hold");
    RECORD(cudaEventQuery(e));
    RECORD(cudaStreamWaitEvent(s, e, 0));
    RECORD(cudaStreamQuery(s));
    pass_turn();
    RECORD(cudaEventSynchronize(e));
    RECORD(cudaStreamSynchronize(s));
    await_turn();
    RECORD(cudaEventDestroy(e));
    pass_turn();
    await_turn();
}

/* Can an event be opened twice, and waited for, queried and shared before it was recorded? */
static void open_event(void)
{
    cudaIpcEventHandle_t again;
    float ms;
    RECORD(cudaIpcOpenEventHandle(&e, eh));
    RECORD(cudaIpcOpenEventHandle(&f, eh));
    NOTE("twice: the same event %d", e == f);
    RECORD(cudaEventQuery(e));
    RECORD(cudaStreamWaitEvent(s, e, 0));
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaEventSynchronize(e));
    RECORD(cudaIpcGetEventHandle(&again, e));
    RECORD(cudaEventElapsedTime(&ms, e, f));
}

/* Does the importer see that the exporter's record is pending, and that it is over? */
static void see_record_of_exporter(void)
{
    NOTE("the exporter has recorded it behind a hold");
    RECORD(cudaEventQuery(e));
    RECORD(cudaStreamWaitEvent(s, e, 0));
    RECORD(cudaStreamQuery(s));
    pass_turn();
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaEventQuery(e));
    await_turn();
}

/* May the importer record the event, too? */
static void record_by_importer(void)
{
    hold_at_new_gate();
    RECORD(cudaEventRecord(e, s));
    RECORD(cudaEventQuery(f));
    pass_turn();
    await_turn();
    open_gate();
    RECORD(cudaStreamSynchronize(s));
    pass_turn();
    await_turn();
}

/* Does the importer keep the event when the exporter has destroyed it? */
static void use_destroyed_event(void)
{
    NOTE("the exporter has destroyed it");
    RECORD(cudaEventQuery(e));
    RECORD(cudaEventRecord(e, s));
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaEventDestroy(e));
    RECORD(cudaEventDestroy(f));
    RECORD(cudaIpcOpenEventHandle(&f, eh));
}

static void import_event(void)
{
    hold_at_new_gate();
    open_gate();
    cudaStreamSynchronize(s);
    receive_bytes(&eh, sizeof eh);
    open_event();
    pass_turn();
    await_turn();
    see_record_of_exporter();
    record_by_importer();
    use_destroyed_event();
    pass_turn();
}

CASE_OF_TWO(event, export_event, import_event)

/* Can an event be opened whose process has ended? */
static void export_event_and_end(void)
{
    make_shared_event();
    send_bytes(&eh, sizeof eh);
}

/* Can an event be opened whose process has ended? */
static void import_event_of_ended(void)
{
    receive_bytes(&eh, sizeof eh);
    await_end();
    RECORD(cudaIpcOpenEventHandle(&e, eh));
}

CASE_OF_TWO(event_of_ended, export_event_and_end, import_event_of_ended)

/* ---- two processes: one is killed ---- */

/* What has an importer left when the exporter was killed, with a record that is pending? */
static void export_and_die(void)
{
    send_shared();
    make_shared_event();
    send_bytes(&eh, sizeof eh);
    hold_at_new_gate();
    cudaEventRecord(e, s);
    pass_turn();
    await_turn();
    kill(getpid(), SIGKILL);
}

/* What has an importer left when the exporter was killed, with a record that is pending? */
static void import_from_dead(void)
{
    int v = 0;
    receive_shared();
    receive_bytes(&eh, sizeof eh);
    await_turn();
    cudaIpcOpenEventHandle(&e, eh);
    pass_turn();
    await_end();
    RECORD(cudaMemcpyAsync(&v, q, sizeof v, cudaMemcpyDeviceToHost, s));
    RECORD(cudaStreamSynchronize(s));
    NOTE("value %x", v);
    RECORD(cudaMemPoolImportPointer(&r, im, &x));
    RECORD(cudaFreeAsync(q, s));
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaEventQuery(e));
    RECORD(cudaStreamWaitEvent(s, e, 0));
    RECORD(cudaStreamSynchronize(s));
}

CASE_OF_TWO(exporter_killed, export_and_die, import_from_dead)

/* What has an exporter left when the importer was killed? */
static void export_to_dead(void)
{
    send_shared();
    receive_bytes(&eh, sizeof eh);
    cudaIpcOpenEventHandle(&f, eh);
    pass_turn();
    await_end();
    RECORD(cudaMemsetAsync(a, 1, 4 * MiB, s));
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaFreeAsync(a, s));
    RECORD(cudaStreamSynchronize(s));
    RECORD(cudaMemPoolTrimTo(p, 0));
    RECORD(cudaEventQuery(f));
}

static void import_and_die(void)
{
    receive_shared();
    make_shared_event();
    hold_at_new_gate();
    cudaEventRecord(e, s);
    send_bytes(&eh, sizeof eh);
    await_turn();
    kill(getpid(), SIGKILL);
}

CASE_OF_TWO(importer_killed, export_to_dead, import_and_die)

/* ---- two processes: cudaMalloc's memory ---- */

static void send_memory_handle(void) { send_bytes(&mh, sizeof mh); }

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
    pass_turn();
    await_turn();
}

/* With which flags can memory be opened, how often, and where does it lie? */
static void open_memory(cudaIpcMemHandle_t next)
{
    struct cudaPointerAttributes about;
    RECORD(cudaIpcOpenMemHandle(&q, mh, 0));
    RECORD(cudaIpcOpenMemHandle(&q, mh, 2));
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    NOTE("twice: the same address %d", q == r);
    RECORD(cudaIpcOpenMemHandle(&r, next, cudaIpcMemLazyEnablePeerAccess));
    NOTE("the neighbour lies %lld KiB further", distance(r, q) / 1024);
    RECORD(cudaPointerGetAttributes(&about, q));
    NOTE("type %d device %d", (int)about.type, about.device);
}

/* May the importer share opened memory on, read it, and write it to its end and past it? */
static void use_opened_memory(void)
{
    int v = 0;
    RECORD(cudaIpcGetMemHandle(&mh2, q));
    RECORD(cudaMemcpy(&v, q, sizeof v, cudaMemcpyDeviceToHost));
    NOTE("value %x", v);
    RECORD(cudaMemset(q, 1, MiB));
    RECORD(cudaMemset(q, 1, MiB + 1));
}

/* What does the handle of an address inside open? */
static void open_inside(cudaIpcMemHandle_t inside)
{
    void *b;
    NOTE("the handle of an address inside");
    RECORD(cudaIpcOpenMemHandle(&b, inside, cudaIpcMemLazyEnablePeerAccess));
    NOTE("it opens %lld bytes further", distance(b, q));
    RECORD(cudaIpcCloseMemHandle(b));
}

/* How can memory be closed that was opened twice? */
static void close_memory(void)
{
    RECORD(cudaFree(q));
    RECORD(cudaFreeAsync(q, s));
    RECORD(cudaIpcCloseMemHandle((char *)q + 512));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaMemset(q, 1, 16));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaMemset(q, 1, 16));
    RECORD(cudaIpcCloseMemHandle(q));
}

/* Does the neighbour live on when the exporter has ended? */
static void memory_of_ended(cudaIpcMemHandle_t next)
{
    void *b;
    NOTE("the exporter has ended");
    RECORD(cudaMemset(r, 1, MiB));
    RECORD(cudaIpcOpenMemHandle(&b, next, cudaIpcMemLazyEnablePeerAccess));
    RECORD(cudaIpcCloseMemHandle(r));
}

static void import_memory(void)
{
    cudaIpcMemHandle_t next, inside;
    receive_bytes(&mh, sizeof mh);
    receive_bytes(&next, sizeof next);
    receive_bytes(&inside, sizeof inside);
    open_memory(next);
    use_opened_memory();
    open_inside(inside);
    close_memory();
    pass_turn();
    await_turn();
    NOTE("the exporter has freed it, but not the neighbour");
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));
    pass_turn();
    await_end();
    memory_of_ended(next);
}

CASE_OF_TWO(memory, export_memory, import_memory)

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

static void *open_gate_late(void *unused)
{
    usleep(500000);
    open_gate();
    return unused;
}

/* Does a close wait for the stream that uses the memory, and for one that does not? */
static void import_and_close_in_use(void)
{
    pthread_t opener;
    receive_bytes(&mh, sizeof mh);
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    hold_at_new_gate();
    open_gate();
    cudaStreamSynchronize(s);
    hold(s);
    RECORD(cudaMemsetAsync(q, 1, 4 * MiB, s));
    pthread_create(&opener, NULL, open_gate_late, NULL);
    double begin = now_us();
    RECORD(cudaIpcCloseMemHandle(r));
    NOTE("not the last close: it waits %d", now_us() - begin > 250000);
    begin = now_us();
    RECORD(cudaIpcCloseMemHandle(q));
    NOTE("the last close: it waits %d", now_us() - begin > 250000);
    pthread_join(opener, NULL);
    RECORD(cudaStreamSynchronize(s));
    pass_turn();
}

CASE_OF_TWO(memory_closed_in_use, export_large_and_wait, import_and_close_in_use)

/* Does a close wait for work that uses something else? */
static void import_and_close_beside(void)
{
    pthread_t opener;
    receive_bytes(&mh, sizeof mh);
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));
    hold_at_new_gate();
    open_gate();
    cudaStreamSynchronize(s);
    hold(s);
    pthread_create(&opener, NULL, open_gate_late, NULL);
    double begin = now_us();
    RECORD(cudaIpcCloseMemHandle(q));
    NOTE("it waits %d", now_us() - begin > 250000);
    pthread_join(opener, NULL);
    RECORD(cudaStreamSynchronize(s));
    pass_turn();
}

CASE_OF_TWO(memory_closed_beside, export_large_and_wait, import_and_close_beside)

/* Can memory be opened whose segments its exporter has freed? */
static void export_freed(void)
{
    send_large();
    RECORD(cudaFree(a));
    pass_turn();
    await_turn();
}

static void import_freed(void)
{
    int v = 0;
    receive_bytes(&mh, sizeof mh);
    await_turn();
    if (!RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess))) {
        RECORD(cudaMemcpy(&v, q, sizeof v, cudaMemcpyDeviceToHost));
        NOTE("value %x", v);
        RECORD(cudaIpcCloseMemHandle(q));
    }
    pass_turn();
}

CASE_OF_TWO(memory_freed, export_freed, import_freed)

/* Does what is open stay when its exporter frees it? */
static void export_and_free_open(void)
{
    send_large();
    await_turn();
    RECORD(cudaFree(a));
    pass_turn();
    await_turn();
}

static void import_and_keep(void)
{
    int v = 0;
    receive_bytes(&mh, sizeof mh);
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));
    pass_turn();
    await_turn();
    RECORD(cudaMemcpy(&v, q, sizeof v, cudaMemcpyDeviceToHost));
    NOTE("value %x", v);
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaIpcCloseMemHandle(q));
    pass_turn();
}

CASE_OF_TWO(memory_freed_open, export_and_free_open, import_and_keep)

/* Can memory be opened whose exporter has ended, when nothing of it is open here? */
static void import_memory_of_ended(void)
{
    receive_bytes(&mh, sizeof mh);
    await_end();
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));
}

CASE_OF_TWO(memory_of_ended, send_large, import_memory_of_ended)

/* What is left of open memory when its exporter was killed? */
static void export_memory_and_die(void)
{
    send_large();
    await_turn();
    kill(getpid(), SIGKILL);
}

static void import_memory_from_dead(void)
{
    int v = 0;
    receive_bytes(&mh, sizeof mh);
    RECORD(cudaIpcOpenMemHandle(&q, mh, cudaIpcMemLazyEnablePeerAccess));
    pass_turn();
    await_end();
    RECORD(cudaMemcpy(&v, q, sizeof v, cudaMemcpyDeviceToHost));
    NOTE("value %x", v);
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaIpcCloseMemHandle(q));
    RECORD(cudaIpcOpenMemHandle(&r, mh, cudaIpcMemLazyEnablePeerAccess));
}

CASE_OF_TWO(memory_of_killed, export_memory_and_die, import_memory_from_dead)

int main(int argc, char **argv) { return run_pairs(argc, argv); }
