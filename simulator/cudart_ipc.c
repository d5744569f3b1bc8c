/* The API's skin: pools, their blocks and events of several processes. Which calls answer what: tests/facts/ipc.txt, one-gpu.txt "export".
 * Memory of cudaMalloc cannot be shared here (cudaIpcGetMemHandle); it can on a device. */
#include "export.h"

#include <stdint.h>
#include <string.h>

#include "call.h"
#include "device.h"
#include "durations.h"
#include "event.h"
#include "handle.h"
#include "host.h"
#include "host_processes.h"
#include "journal.h"
#include "memory.h"
#include "share.h"

_Static_assert(sizeof(struct event_address) <= sizeof(cudaIpcEventHandle_t), "what an event's handle says fits");

static void journal_pool(const struct pool *p)
{
    if (p) journal_number("pool", (uint64_t)p->id);
}

static void journal_process(const struct pool *p)
{
    if (p) journal_number("process", (uint64_t)host_process_pid(border_of(p->border).exporter));
}

/* ---- pools ---- */

cudaError_t cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type, unsigned int flags)
{
    cudaError_t e = CALL("cudaMemPoolExportToShareableHandle", COST_POOL_CREATE);
    struct pool *p = e ? NULL : pool_of(pool);
    int descriptor = -1;
    journal_pool(p);
    if (!e && (!handle || !p || type != cudaMemHandleTypePosixFileDescriptor || flags)) e = cudaErrorInvalidValue;        /* measured */
    if (!e) e = share_pool(p, &descriptor);
    if (!e) {
        memcpy(handle, &descriptor, sizeof descriptor);      /* documented: an int for this type */
        journal_signed("value", descriptor);
    }
    return call_end(e);
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle, enum cudaMemAllocationHandleType type, unsigned int flags)
{
    cudaError_t e = CALL("cudaMemPoolImportFromShareableHandle", COST_POOL_CREATE);
    struct pool *p = NULL;
    if (!e && (!pool || type != cudaMemHandleTypePosixFileDescriptor || flags)) e = cudaErrorInvalidValue;
    if (!e) e = share_import((int)(intptr_t)handle, &p);
    journal_pool(p);
    journal_process(p);
    if (!e) *pool = p->handle;
    return call_end(e);
}

cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *pointer)
{
    cudaError_t e = CALL("cudaMemPoolExportPointer", COST_SMALL);
    struct place place = e ? (struct place){ .kind = PLACE_PAGEABLE } : memory_find(pointer);
    journal_pool(place.pool);
    journal_number("block", memory_block(&place));
    if (!e && !data) e = cudaErrorInvalidValue;
    if (!e) e = share_pointer(pointer, data);
    return call_end(e);
}

cudaError_t cudaMemPoolImportPointer(void **pointer, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data)
{
    cudaError_t e = CALL("cudaMemPoolImportPointer", COST_SMALL);
    struct pool *p = e ? NULL : pool_of(pool);
    struct place place;
    journal_pool(p);
    if (!e && (!pointer || !p || !data)) e = cudaErrorInvalidValue;
    if (!e) e = share_import_pointer(p, data, &place);
    if (!e) {
        *pointer = memory_address(place.heap, place.chunk);
        journal_number("bytes", place.chunk->asked);
        journal_number("block", place.chunk->id);
        journal_number("offset", place.chunk->offset);
        journal_process(p);
    }
    return call_end(e);
}

/* ---- events ---- */

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    cudaError_t e = CALL("cudaIpcGetEventHandle", COST_SMALL);
    struct event *v = e || !event ? NULL : handle_object(HANDLE_EVENT, event);
    if (!e && event && !v) call_bad_handle("an event", HANDLE_EVENT, event, "cudaEventDestroy", "cudaEventCreate");
    if (v) journal_number("event", (uint64_t)v->id);
    if (!e && !v) e = cudaErrorInvalidResourceHandle;
    /* documented: the event must have been created with cudaEventInterprocess; chosen: the codes, and that an opened one can be handed on */
    if (!e && (!handle || !v->page)) e = handle ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
    if (!e) {
        struct event_address address = event_page_address(v->page);
        memset(handle, 0, sizeof *handle);
        memcpy(handle, &address, sizeof address);
    }
    return call_end(e);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    cudaError_t e = CALL("cudaIpcOpenEventHandle", COST_EVENT_CREATE);
    struct event_address address;
    memcpy(&address, &handle, sizeof address);
    if (!e && (!event || !address.magic)) e = cudaErrorInvalidValue;
    struct event_page *page = e || !device_exists(address.device) ? NULL : event_page_open(&address);
    if (!e && !page) {
        /* documented code: cudaErrorMapBufferObjectFailed; chosen: for a process that has ended or destroyed the event */
        host_say("cudaIpcOpenEventHandle: process %d has no such event any more, or may not be looked into.", host_process_pid(address.process));
        e = cudaErrorMapBufferObjectFailed;
    }
    if (!e) {
        struct event *v = event_new(address.device, cudaEventDisableTiming | cudaEventInterprocess, page);
        journal_number("event", (uint64_t)v->id);
        journal_number("process", (uint64_t)host_process_pid(address.process));
        *event = v->handle;
    }
    return call_end(e);
}

/* ---- memory of cudaMalloc ---- */

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
    static bool said;
    cudaError_t e = CALL("cudaIpcGetMemHandle", COST_SMALL);
    struct place p = e ? (struct place){ .kind = PLACE_PAGEABLE } : memory_find(pointer);
    journal_number("block", memory_block(&p));
    if (!e && (!handle || p.kind != PLACE_BLOCK)) e = cudaErrorInvalidValue;
    if (!e && p.pool) {
        host_say("cudaIpcGetMemHandle is for memory of cudaMalloc; block %u is a pool's (documented: cudaErrorInvalidValue). Use cudaMemPoolExportPointer.", p.chunk->id);
        e = cudaErrorInvalidValue;
    }
    if (!e) {
        if (!said) host_say("cudaIpcGetMemHandle is not simulated: it returns cudaErrorNotSupported. Pools can be shared: cudaMemPoolExportToShareableHandle.");
        said = true;
        e = cudaErrorNotSupported;
    }
    return call_end(e);
}
