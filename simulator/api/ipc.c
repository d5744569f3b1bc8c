/* The API's skin: pools, their blocks and events of several processes. Which calls answer what:
 * tests/facts/ipc.txt, probe-ipc.txt, one-gpu.txt "export". */
#include "api/export.h"

#include <stdint.h>
#include <string.h>

#include "api/call.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "base/fatal.h"
#include "sched/event.h"
#include "base/handle.h"
#include "os/os.h"
#include "os/process.h"
#include "base/journal.h"
#include "mem/memory.h"
#include "ipc/ipc_pool.h"

_Static_assert(sizeof(struct ipc_event_address) <= sizeof(cudaIpcEventHandle_t),
               "what an event's handle says fits");

static void journal_pool(const struct pool *p)
{
    if (p)
        journal_number("pool", (uint64_t)p->id);
}

static void journal_process(const struct pool *p)
{
    if (p)
        journal_number("process",
                       (uint64_t)os_process_pid(ipc_table_pool_info(p->ipc_table).exporter));
}

/* ---- pools ---- */

cudaError_t cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t pool,
                                               enum cudaMemAllocationHandleType type,
                                               unsigned int flags)
{
    cudaError_t e = CALL("cudaMemPoolExportToShareableHandle", COST_POOL_CREATE);
    struct pool *p = e ? NULL : pool_from_handle(pool);
    int descriptor = -1;
    journal_pool(p);
    /* Measured, here and below. */
    if (!e && (!handle || !p || flags))
        e = cudaErrorInvalidValue;
    if (!e && type == cudaMemHandleTypeFabric
        && p->props.handleTypes == (cudaMemHandleTypeFabric | cudaMemHandleTypePosixFileDescriptor))
        fatal_hazard("fabric handle", "cudaMemPoolExportToShareableHandle",
                     "cudaMemPoolExportToShareableHandle was asked for a fabric handle of a pool "
                     "that has two handle types. "
                     "A real driver without a fabric dies of SIGSEGV here.\n"
                     "  To do: make the pool with the one handle type that is wanted.");
    if (!e && type == cudaMemHandleTypeFabric && p->props.handleTypes & cudaMemHandleTypeFabric)
        e = cudaErrorNotPermitted;
    if (!e && type != cudaMemHandleTypePosixFileDescriptor)
        e = cudaErrorInvalidValue;
    if (!e)
        e = ipc_pool_export(p, &descriptor);
    if (!e) {
        memcpy(handle, &descriptor, sizeof descriptor); /* documented: an int for this type */
        journal_signed("value", descriptor);
    }
    return call_end(e);
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle,
                                                 enum cudaMemAllocationHandleType type,
                                                 unsigned int flags)
{
    cudaError_t e = CALL("cudaMemPoolImportFromShareableHandle", COST_POOL_CREATE);
    struct pool *p = NULL;
    if (!e && type == cudaMemHandleTypeFabric && handle && (uintptr_t)handle < 65536)
        fatal_hazard("descriptor as fabric handle", "cudaMemPoolImportFromShareableHandle",
                     "cudaMemPoolImportFromShareableHandle was given %d as the address of a fabric "
                     "handle. A real driver dies of SIGSEGV here.\n"
                     "  To do: for a file descriptor the handle type is "
                     "cudaMemHandleTypePosixFileDescriptor.",
                     (int)(uintptr_t)handle);
    /* measured, all of this; descriptor 0 is a null handle */
    if (!e && (!pool || !handle || flags))
        e = cudaErrorInvalidValue;
    if (!e && type == cudaMemHandleTypeFabric)
        e = cudaErrorNotSupported;
    if (!e && type != cudaMemHandleTypePosixFileDescriptor)
        e = cudaErrorInvalidValue;
    if (!e)
        journal_text("descriptor", ipc_pool_fd_kind((int)(intptr_t)handle));
    if (!e)
        e = ipc_pool_import((int)(intptr_t)handle, &p);
    journal_pool(p);
    journal_process(p);
    if (!e)
        *pool = p->handle;
    return call_end(e);
}

cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *pointer)
{
    cudaError_t e = CALL("cudaMemPoolExportPointer", COST_SMALL);
    struct address_info info =
        e ? (struct address_info){.kind = ADDRESS_PAGEABLE} : memory_find(pointer);
    journal_pool(info.pool);
    journal_number("block", memory_allocation_id(&info));
    if (!e && !data)
        e = cudaErrorInvalidValue;
    if (!e)
        e = ipc_pool_export_pointer(pointer, data);
    return call_end(e);
}

cudaError_t cudaMemPoolImportPointer(void **pointer, cudaMemPool_t pool,
                                     struct cudaMemPoolPtrExportData *data)
{
    cudaError_t e = CALL("cudaMemPoolImportPointer", COST_SMALL);
    struct pool *p = e ? NULL : pool_from_handle(pool);
    struct address_info info;
    journal_pool(p);
    if (!e && p && p->imported && !p->import_count)
        fatal_hazard("bad handle", "cudaMemPoolImportPointer",
                     "cudaMemPoolImportPointer was given an imported pool that is destroyed. A "
                     "real driver dies of SIGSEGV here.\n"
                     "  To do: import the blocks that are wanted before cudaMemPoolDestroy.");
    /* Measured: a failed import leaves a null pointer. */
    if (!e && pointer)
        *pointer = NULL;
    if (!e && (!pointer || !p || !data))
        e = cudaErrorInvalidValue;
    if (!e)
        e = ipc_pool_import_pointer(p, data, &info);
    if (!e) {
        *pointer = memory_address(info.heap, info.range);
        journal_number("bytes", info.range->requested);
        journal_number("block", info.range->id);
        journal_number("offset", info.range->offset);
        journal_process(p);
    }
    return call_end(e);
}

/* ---- events ---- */

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    cudaError_t e = CALL("cudaIpcGetEventHandle", COST_SMALL);
    struct event *v = e || !event ? NULL : handle_object(HANDLE_EVENT, event);
    if (!e && event && !v)
        call_bad_handle("an event", HANDLE_EVENT, event, "cudaEventDestroy", "cudaEventCreate");
    if (v)
        journal_number("event", (uint64_t)v->id);
    /* Measured, all of this: also that an opened event cannot be handed on. */
    if (!e && !v)
        e = cudaErrorInvalidValue;
    /* Measured: the driver writes to the null pointer. */
    if (!e && !handle)
        fatal_hazard("null handle", "cudaIpcGetEventHandle",
                     "cudaIpcGetEventHandle was given a null pointer for the handle. "
                     "A real driver dies of SIGSEGV here.\n"
                     "  To do: pass the address of a cudaIpcEventHandle_t.");
    if (!e && (!v->ipc || ipc_event_is_opened(v->ipc)))
        e = cudaErrorInvalidResourceHandle;
    if (!e) {
        struct ipc_event_address address = ipc_event_address_of(v->ipc);
        memset(handle, 0, sizeof *handle);
        memcpy(handle, &address, sizeof address);
    }
    return call_end(e);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    cudaError_t e = CALL("cudaIpcOpenEventHandle", COST_EVENT_CREATE);
    struct ipc_event_address address;
    memcpy(&address, &handle, sizeof address);
    bool has_magic = address.magic == IPC_EVENT_MAGIC;
    if (!e && !event)
        e = cudaErrorInvalidValue;
    /* Measured: no event of one's own. */
    if (!e && has_magic && address.process == os_process())
        e = cudaErrorDeviceUninitialized;
    struct ipc_event *ipc =
        e || !has_magic || !device_exists(address.device) ? NULL : ipc_event_open(&address);
    if (!e && !ipc) {
        /* measured: this code for bytes that are no handle. A device also opens the event of a
         * process that has ended: here it is gone (chosen: the same code) */
        if (has_magic)
            diag("cudaIpcOpenEventHandle: process %d has no such event any more, or may not be "
                 "looked into.",
                 os_process_pid(address.process));
        e = cudaErrorMapBufferObjectFailed;
    }
    if (!e) {
        struct event *v =
            event_new(address.device, cudaEventDisableTiming | cudaEventInterprocess, ipc);
        journal_number("event", (uint64_t)v->id);
        journal_number("process", (uint64_t)os_process_pid(address.process));
        *event = v->handle;
    }
    return call_end(e);
}
