/* Calls that share pools, allocations, and events between processes. What they return is in
 * simulator/tests/facts/ipc.txt, probe-ipc.txt, one-gpu.txt "export". */

#include <stdint.h>
#include <string.h>

#include "ipc_calls.inc"
#include "base/fatal.h"
#include "base/handle.h"
#include "base/settings.h"
#include "check/access_tree.h"
#include "ipc/ipc_event.h"
#include "ipc/ipc_memory.h"
#include "ipc/ipc_table.h"
#include "mem/device.h"
#include "mem/memory.h"
#include "os/os.h"
#include "os/process.h"
#include "sched/engine.h"
#include "sched/event.h"
#include "sched/happens_before.h"

_Static_assert(sizeof(struct ipc_event_address) <= sizeof(cudaIpcEventHandle_t),
               "what an event's handle says fits");

static void line_exporter(struct journal_line *line, const struct pool *p)
{
    line_number(line, "process",
                (uint64_t)os_process_pid(ipc_table_heap_info(p->heap.ipc_table).exporter));
}

/* Returns the address of what was imported or opened, which the call's line describes. */
static void *opened_at(struct call *call, const struct address_info *a)
{
    line_number(&call->line, "bytes", a->range->requested);
    line_number(&call->line, "allocation", a->range->id);
    line_number(&call->line, "offset", a->range->offset);
    return memory_address(a->heap, a->range);
}

/* ---- pools ---- */

cudaError_t do_cudaMemPoolExportToShareableHandle(struct call *call, void *handle,
                                                  cudaMemPool_t pool,
                                                  enum cudaMemAllocationHandleType type,
                                                  unsigned int flags)
{
    struct pool *p = pool_from_handle(pool);
    int descriptor;
    line_pool(&call->line, p);
    /* Measured, here and below: one-gpu.txt, "export"; probe-ipc.txt, "pool_export",
     * "pool_other_types". */
    if (!handle || !p || flags)
        return cudaErrorInvalidValue;
    if (type == cudaMemHandleTypeFabric
        && p->props.handleTypes == (cudaMemHandleTypeFabric | cudaMemHandleTypePosixFileDescriptor))
        fatal_hazard(HAZARD_FABRIC_HANDLE, call->origin.call,
                     "cudaMemPoolExportToShareableHandle was to return a fabric handle of a pool "
                     "that has two handle types. "
                     "A real driver without a fabric dies of SIGSEGV here.\n"
                     "  To do:     make the pool with the one handle type that is wanted.");
    if (type == cudaMemHandleTypeFabric && p->props.handleTypes & cudaMemHandleTypeFabric)
        return cudaErrorNotPermitted;
    if (type != cudaMemHandleTypePosixFileDescriptor)
        return cudaErrorInvalidValue;
    cudaError_t e = ipc_pool_export(p, &descriptor);
    if (e)
        return e;
    /* Documented: an int for this type. */
    memcpy(handle, &descriptor, sizeof descriptor);
    line_signed(&call->line, "value", descriptor);
    return cudaSuccess;
}

cudaError_t do_cudaMemPoolImportFromShareableHandle(struct call *call, cudaMemPool_t *pool,
                                                    void *handle,
                                                    enum cudaMemAllocationHandleType type,
                                                    unsigned int flags)
{
    struct pool *p;
    bool fabric =
        type == cudaMemHandleTypeFabric && settings.driver_version >= DRIVER_WITH_FABRIC_HANDLES;
    if (fabric && handle && (uintptr_t)handle < 65536)
        fatal_hazard(HAZARD_DESCRIPTOR_AS_FABRIC_HANDLE, call->origin.call,
                     "cudaMemPoolImportFromShareableHandle was given %d as the address of a fabric "
                     "handle. A real driver dies of SIGSEGV here.\n"
                     "  To do:     for a file descriptor the handle type is "
                     "cudaMemHandleTypePosixFileDescriptor.",
                     (int)(uintptr_t)handle);
    /* Measured, all of this: probe-ipc.txt, "pool_import", "pool_empty_fabric"; one-gpu.txt,
     * "export". Descriptor 0 is a null handle. */
    if (!pool || !handle || flags)
        return cudaErrorInvalidValue;
    if (fabric)
        return cudaErrorNotSupported;
    if (type != cudaMemHandleTypePosixFileDescriptor)
        return cudaErrorInvalidValue;
    line_text(&call->line, "descriptor", ipc_pool_fd_kind((int)(intptr_t)handle));
    cudaError_t e = ipc_pool_import((int)(intptr_t)handle, &p);
    if (e)
        return e;
    line_pool(&call->line, p);
    line_exporter(&call->line, p);
    *pool = p->handle;
    return cudaSuccess;
}

cudaError_t do_cudaMemPoolExportPointer(struct call *call, struct cudaMemPoolPtrExportData *data,
                                        void *pointer)
{
    struct address_info info = memory_find(pointer);
    line_pool(&call->line, info.pool);
    line_number(&call->line, "allocation", memory_allocation_id(&info));
    if (!data)
        return cudaErrorInvalidValue;
    return ipc_pool_export_pointer(pointer, data);
}

cudaError_t do_cudaMemPoolImportPointer(struct call *call, void **pointer, cudaMemPool_t pool,
                                        struct cudaMemPoolPtrExportData *data)
{
    struct pool *p = pool_from_handle(pool);
    struct address_info info;
    line_pool(&call->line, p);
    if (p && p->imported && !p->import_count)
        fatal_hazard(HAZARD_BAD_HANDLE, call->origin.call,
                     "cudaMemPoolImportPointer was given an imported pool that is destroyed. A "
                     "real driver dies of SIGSEGV here.\n"
                     "  To do:     import what is needed before cudaMemPoolDestroy.");
    /* Measured (probe-ipc.txt, "pool_import"): a failed import leaves a null pointer. */
    if (pointer)
        *pointer = NULL;
    if (!pointer || !p || !data)
        return cudaErrorInvalidValue;
    cudaError_t e = ipc_pool_import_pointer(call, p, data, &info);
    if (e)
        return e;
    *pointer = opened_at(call, &info);
    line_exporter(&call->line, p);
    return cudaSuccess;
}

/* ---- events ---- */

cudaError_t do_cudaIpcGetEventHandle(struct call *call, cudaIpcEventHandle_t *handle,
                                     cudaEvent_t event)
{
    /* Measured, all of this: probe-ipc.txt, "event_handles", "event". */
    if (!event)
        return cudaErrorInvalidValue;
    const struct event *v = call_object(call, HANDLE_EVENT, event);
    line_number(&call->line, "event", (uint64_t)v->id);
    /* The driver writes to the null pointer. */
    if (!handle)
        fatal_hazard(HAZARD_NULL_HANDLE, call->origin.call,
                     "cudaIpcGetEventHandle was given a null pointer for the handle. "
                     "A real driver dies of SIGSEGV here.\n"
                     "  To do:     pass the address of a cudaIpcEventHandle_t.");
    /* An opened event cannot be passed on. */
    if (!v->remote || ipc_event_is_opened(v->remote))
        return cudaErrorInvalidResourceHandle;
    struct ipc_event_address address = ipc_event_address_of(v->remote);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &address, sizeof address);
    return cudaSuccess;
}

cudaError_t do_cudaIpcOpenEventHandle(struct call *call, cudaEvent_t *event,
                                      cudaIpcEventHandle_t handle)
{
    struct ipc_event_address address;
    memcpy(&address, &handle, sizeof address);
    if (!event)
        return cudaErrorInvalidValue;
    /* Measured (probe-ipc.txt, "event_handles"): the error for bytes that are no handle. */
    if (address.magic != IPC_EVENT_MAGIC)
        return cudaErrorMapBufferObjectFailed;
    /* Measured (probe-ipc.txt, "event_handles"): a process cannot open its own event. */
    if (address.process == os_process())
        return cudaErrorDeviceUninitialized;
    struct remote_event *remote = ipc_event_open(&address);
    if (!remote) {
        /* A real device also opens the event of a process that has ended. Here it is gone, and the
         * error is the same as above (assumed). */
        diag("cudaIpcOpenEventHandle: process %d no longer has this event, or may not be "
             "read.",
             os_process_pid(address.process));
        return cudaErrorMapBufferObjectFailed;
    }
    /* Documented: it behaves like an event that was created here, so it is the current device's. */
    struct event *v =
        event_new(device_current(), cudaEventDisableTiming | cudaEventInterprocess, remote);
    line_number(&call->line, "event", (uint64_t)v->id);
    line_number(&call->line, "process", (uint64_t)os_process_pid(address.process));
    *event = v->handle;
    return cudaSuccess;
}

/* ---- memory of cudaMalloc ---- */

cudaError_t do_cudaIpcGetMemHandle(struct call *call, cudaIpcMemHandle_t *handle, void *pointer)
{
    struct address_info a = memory_find(pointer);
    /* Measured, all of this: probe-ipc.txt, "memory_handles"; for managed memory and host pools,
     * measured with the driver's function (probe-driver.txt). */
    if (a.kind != ADDRESS_ALLOCATED || a.pool || a.heap != memory_heap(memory_device(&a)))
        return cudaErrorInvalidValue;
    line_number(&call->line, "allocation", memory_allocation_id(&a));
    /* The driver writes to the null pointer. */
    if (!handle)
        fatal_hazard(HAZARD_NULL_HANDLE, call->origin.call,
                     "cudaIpcGetMemHandle was given a null pointer for the handle. "
                     "A real driver dies of SIGSEGV here.\n"
                     "  To do:     pass the address of a cudaIpcMemHandle_t.");
    return ipc_memory_export(&a, handle);
}

/* Measured, all of this: probe-ipc.txt, "memory_handles", "memory_opened_nowhere", "memory". */
cudaError_t do_cudaIpcOpenMemHandle(struct call *call, void **pointer, cudaIpcMemHandle_t handle,
                                    unsigned int flags)
{
    struct address_info info;
    uint64_t exporter = ipc_memory_exporter(&handle);
    if (!pointer || flags != cudaIpcMemLazyEnablePeerAccess || !exporter)
        return cudaErrorInvalidValue;
    if (exporter == os_process())
        return cudaErrorDeviceUninitialized;
    line_number(&call->line, "process", (uint64_t)os_process_pid(exporter));
    cudaError_t e = ipc_memory_open(call, &handle, &info);
    if (e)
        return e;
    *pointer = opened_at(call, &info);
    return cudaSuccess;
}

/* Returns whether the host had not waited for all work with this memory when it had acquired
 * `before`. */
static bool was_in_use(struct shadow_ref ref, const struct vector_clock *before)
{
    struct access_list all = {NULL, 0, 0};
    bool any = false;
    if (ref.shadow->accesses)
        access_tree_find(ref.shadow, 0, SIZE_MAX, true, &all);
    for (size_t i = 0; i < all.count; i++) {
        const struct origin *o = &all.items[i]->origin;
        any |= o->slot != HOST_SLOT && !vc_includes(before, o->slot, o->seq);
    }
    access_list_clear(&all);
    return any;
}

static void say_that_close_waits(void)
{
    static bool said;
    if (!said && settings.check)
        diag("cudaIpcCloseMemHandle closes memory that work of this process may still use. It "
             "waits for that work, as an H200 did, but no document promises that. Synchronize "
             "before the call.");
    said = true;
}

/* Waits for the device that has opened the heap. Returns what the pointer means afterwards, because
 * another thread may have closed the memory meanwhile. */
static struct address_info wait_for_opener_unlocking(const struct call *call, int opener,
                                                     const void *pointer)
{
    struct vector_clock before = VC_EMPTY;
    vc_join(&before, &host_acquired.clock);
    engine_finish_device_unlocking(opener, ACQUIRES, call->origin.call);
    struct address_info a = memory_find(pointer);
    if (a.kind == ADDRESS_ALLOCATED && memory_is_opened(&a) && a.range->opens == 1
        && was_in_use(memory_shadow(&a), &before))
        say_that_close_waits();
    vc_clear(&before);
    return a;
}

/* Measured (probe-ipc.txt, "memory", "memory_handles", "memory_closed_..."): only the address that
 * was opened can be closed, the memory ends when it was closed as often as it was opened, and each
 * close waits for the device's work. */
cudaError_t do_cudaIpcCloseMemHandle(struct call *call, void *pointer)
{
    struct address_info a = memory_find(pointer);
    uint32_t id = memory_allocation_id(&a);
    if (a.kind != ADDRESS_ALLOCATED || !memory_is_opened(&a) || a.inner_offset)
        return cudaErrorInvalidValue;
    line_number(&call->line, "allocation", id);
    a = wait_for_opener_unlocking(call, a.heap->opener, pointer);
    if (a.kind != ADDRESS_ALLOCATED || memory_allocation_id(&a) != id)
        return cudaErrorInvalidValue;
    if (--a.range->opens)
        return cudaSuccess;
    checker_freed(call, memory_shadow(&a), NULL, 0);
    heap_put(a.heap, a.range, SHARED_LIST, 0);
    heap_release(a.heap, 0);
    memory_close_opened();
    return cudaSuccess;
}
