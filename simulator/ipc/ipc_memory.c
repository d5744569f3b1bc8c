/* Sharing memory of cudaMalloc between processes. Measured: simulator/tests/facts/probe-ipc.txt,
 * "memory" and "memory_handles". */
#include "ipc/ipc_memory.h"

#include <string.h>

#include "base/settings.h"
#include "ipc/ipc_allocation.h"
#include "mem/device.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "os/process.h"

#define MAGIC 0x327972006D656D65u

_Static_assert(sizeof(struct ipc_allocation_name) <= sizeof(cudaIpcMemHandle_t),
               "the name of an allocation fits");

/* ---- exporting ---- */

/* Gives a heap a file and a table, unless it has them. Returns whether it has them. */
static bool ensure_file(struct heap *h)
{
    if (h->ipc_table)
        return true;
    if (!ipc_heap_share_new(h, h->device, "memory of cudaMalloc that is shared"))
        return false;
    h->keep_storage = ipc_table_set_released;
    heap_share_segments(h);
    return true;
}

cudaError_t ipc_memory_export(const struct address_info *a, cudaIpcMemHandle_t *handle)
{
    NEEDS_LOCK();
    struct ipc_allocation_name name;
    if (!ensure_file(a->heap) || !heap_move_to_file(a->heap, a->range->offset, a->range->requested)
        || !ipc_allocation_export(a, MAGIC, &name))
        return cudaErrorMemoryAllocation;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &name, sizeof name);
    return cudaSuccess;
}

/* ---- importing ---- */

uint64_t ipc_memory_exporter(const cudaIpcMemHandle_t *handle)
{
    NEEDS_LOCK();
    struct ipc_allocation_name name;
    memcpy(&name, handle, sizeof name);
    return name.magic == MAGIC ? name.process : 0;
}

/* Finds a heap that the current device has opened. Measured (probe-more-peers.txt,
 * "opened_on_both"): each device that opens a heap has addresses of its own. */
static struct heap *find_opened(uint64_t id)
{
    struct heap *h = memory_first_opened();
    while (h && (ipc_table_heap_info(h->ipc_table).id != id || h->opener != device_current()))
        h = h->next_opened;
    return h;
}

/* Returns the heap of that name in this file of its exporter, or NULL. A new heap owns the file;
 * otherwise the file is closed. */
static struct heap *open_file(const struct ipc_allocation_name *name, int file)
{
    struct ipc_table *table = ipc_table_open(file, MEMORY_GRANULARITY);
    if (table) {
        struct ipc_heap_info info = ipc_table_heap_info(table);
        if (info.id == name->heap && device_exists(info.location)) {
            struct heap *h = memory_new_opened(info.location, device_current(), info.limit);
            ipc_heap_share(h, table, file);
            return h;
        }
        ipc_table_close(table);
    }
    os_fd_close(file);
    return NULL;
}

/* Finds the heap of that name, or opens it. */
static cudaError_t open_heap_of(const struct ipc_allocation_name *name, struct heap **h)
{
    *h = find_opened(name->heap);
    if (*h)
        return cudaSuccess;
    int pid = os_process_pid(name->process);
    /* Measured (probe-ipc.txt, "memory_of_ended", "memory_of_killed"): such a handle opens
     * nothing. */
    if (!os_process_alive(name->process)) {
        diag("cudaIpcOpenMemHandle: process %d, which made this handle, has ended, and its memory "
             "is gone. The call fails.",
             pid);
        return cudaErrorInvalidResourceHandle;
    }
    int file = os_fd_of_process(name->process, name->file);
    *h = file >= 0 ? open_file(name, file) : NULL;
    if (*h)
        return cudaSuccess;
    diag("cudaIpcOpenMemHandle: process %d no longer has this memory, or may not be read, or this "
         "process lacks its device. What a GPU returns then is not recorded; here the call fails.",
         pid);
    return cudaErrorMapBufferObjectFailed;
}

/* Returns whether the current device can use the heap (documented: cudaDeviceCanAccessPeer). */
static bool is_in_reach(const struct heap *h)
{
    int device = device_current();
    bool reaches = device == h->device || settings_reaches(device, h->device);
    if (!reaches)
        diag("cudaIpcOpenMemHandle: device %d, which is current, cannot reach device %d, which has "
             "the memory (cudaDeviceCanAccessPeer says so). The call fails.",
             device, h->device);
    return reaches;
}

/* Returns the error for an allocation of a heap that is open here. */
static cudaError_t open_in(const struct call *call, struct heap *h,
                           const struct ipc_allocation_name *name, struct address_info *info)
{
    if (!is_in_reach(h))
        return cudaErrorMapBufferObjectFailed;
    cudaError_t e = ipc_allocation_import(call, h, name, ALLOCATION_OPENED, info);
    if (e)
        return e;
    if (info->range->opens == UINT16_MAX) {
        diag("cudaIpcOpenMemHandle: this allocation is opened %d times and not closed; the "
             "simulated device counts no more.",
             UINT16_MAX);
        return cudaErrorMapBufferObjectFailed;
    }
    info->range->opens++;
    return cudaSuccess;
}

cudaError_t ipc_memory_open(const struct call *call, const cudaIpcMemHandle_t *handle,
                            struct address_info *info)
{
    NEEDS_LOCK();
    struct ipc_allocation_name name;
    memcpy(&name, handle, sizeof name);
    struct heap *h;
    cudaError_t e = open_heap_of(&name, &h);
    if (!e)
        e = open_in(call, h, &name, info);
    memory_close_opened();
    return e;
}
