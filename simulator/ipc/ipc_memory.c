/* Sharing allocations, memory of cudaMalloc, and pools between processes. Measured:
 * simulator/tests/facts/probe-ipc.txt, ipc.txt, and one-gpu.txt, "export". */
#include "ipc/ipc_memory.h"

#include <string.h>

#include "base/settings.h"
#include "base/summary.h"
#include "check/access_tree.h"
#include "check/written.h"
#include "ipc/ipc_check.h"
#include "ipc/ipc_table.h"
#include "mem/device.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "os/process.h"

/* What names an exported allocation. The same allocation gives the same bytes (measured:
 * probe-ipc.txt, "pool_export", "memory_handles"), so the struct has no padding, whose bytes would
 * be random. */
struct allocation_name {
    uint64_t magic; /* Tells which call made the name. */
    uint64_t heap, generation;
    uint64_t process; /* The exporter. */
    int32_t entry;
    int32_t file; /* The heap's file, as a descriptor of the exporter. */
};

_Static_assert(sizeof(struct allocation_name) == 4 * sizeof(uint64_t) + 2 * sizeof(int32_t),
               "the name of an allocation has no padding");

static void end_sharing(struct heap *h)
{
    ipc_table_close(h->ipc_table);
    os_fd_close(h->file);
    h->ipc_table = NULL;
}

/* Shares a heap, which owns the table and the file from now on. */
static void share_heap(struct heap *h, struct ipc_table *table, int file)
{
    ipc_check_start();
    h->ipc_table = table;
    h->end_sharing = end_sharing;
    h->file = file;
}

/* Shares a heap by a new file. Returns false, after a message about `what`, if there is none. */
static bool share_heap_new(struct heap *h, int location, const char *what)
{
    int file = ipc_file_new(what);
    struct ipc_table *table = file < 0 ? NULL : ipc_table_new(file, location, h->limit);
    if (table)
        share_heap(h, table, file);
    else if (file >= 0)
        os_fd_close(file);
    return table;
}

/* Says that the host's touches of shared memory are not checked against the devices of other
 * processes. Page guards would harm a program that knows from a message that work is over. */
static void say_what_is_unchecked(const struct heap *h)
{
    static bool said;
    if (said || !h->host_visible || !settings.check)
        return;
    said = true;
    diag("memory of the host is shared between processes. This process's loads and stores there "
         "are not compared with the work of other processes.");
}

/* ---- exporting an allocation ---- */

/* Gives an allocation an entry in its heap's table. Returns false if the table is full. */
static bool ensure_entry(const struct address_info *a)
{
    struct range *r = a->range;
    if (r->shadow.ipc_ref)
        return true;
    int entry = ipc_table_export(a->heap->ipc_table, r->offset, r->requested);
    if (entry < 0) {
        diag(
            "more than 1024 allocations of one %s are exported and not freed; the simulated device "
            "keeps no list of more.",
            a->pool ? "pool" : "device");
        return false;
    }
    say_what_is_unchecked(a->heap);
    written_end(&r->shadow);
    summary.shared++;
    r->shadow.ipc_ref = ipc_table_ref(a->heap->ipc_table, entry, IPC_EXPORTER);
    ipc_check_exported(memory_shadow(a));
    return true;
}

/* Names an allocation of a shared heap, so that others can import it. Returns false, after a
 * message, if the table is full. */
static bool export_allocation(const struct address_info *a, uint64_t magic,
                              struct allocation_name *name)
{
    struct ipc_table *t = a->heap->ipc_table;
    if (!ensure_entry(a))
        return false;
    int entry = ipc_table_entry(a->range->shadow.ipc_ref);
    *name = (struct allocation_name){.magic = magic,
                                     .heap = ipc_table_heap_info(t).id,
                                     .generation = ipc_table_read(t, entry).generation,
                                     .process = os_process(),
                                     .entry = entry,
                                     .file = a->heap->file};
    return true;
}

/* ---- importing an allocation ---- */

static struct shadow_ref shadow_of(const struct heap *h, struct range *r)
{
    return (struct shadow_ref){&r->shadow, r->id, memory_address(h, r), r->requested};
}

/* Ends imported allocations that overlap a new one, since their exporter must have freed them and
 * reused the addresses (assumed). */
static void free_overlapping(const struct call *call, struct heap *h, size_t offset, size_t bytes)
{
    struct range *r = h->first;
    while (r) {
        if (!r->live || r->offset >= offset + bytes || r->offset + r->bytes <= offset) {
            r = r->next;
            continue;
        }
        ipc_check_ended(call, shadow_of(h, r), NULL, 0);
        if (r->shadow.accesses)
            access_tree_clear(&r->shadow);
        heap_put(h, r, SHARED_LIST, 0);
        /* Start again, because freeing may have merged ranges. */
        r = h->first;
    }
}

/* Returns whether the name and the table's entry, which others wrote, are valid for the heap. */
static bool is_valid_import(const struct heap *h, const struct allocation_name *name,
                            const struct ipc_allocation *allocation)
{
    /* Assumed: the allocation was freed, and its entry now belongs to another one. */
    if (!allocation->generation || allocation->generation != name->generation)
        return false;
    return allocation->offset % ALIGNMENT == 0 && allocation->bytes && allocation->offset < h->limit
        && round_up(allocation->bytes, ALIGNMENT) <= h->limit - allocation->offset;
}

/* Maps the heap. Returns false if the file is too short or there are no addresses. */
static bool open_heap(struct heap *h, size_t bytes)
{
    return os_fd_size(h->file) >= HEAP_FILE_HEADER + bytes && heap_open(h);
}

/* Takes the range of an imported allocation. Returns false if it cannot be taken. */
static bool take_imported(const struct call *call, struct heap *h, uint32_t ipc_ref,
                          const struct ipc_allocation *allocation, enum allocation_kind kind)
{
    size_t size = round_up(allocation->bytes, ALIGNMENT);
    say_what_is_unchecked(h);
    free_overlapping(call, h, allocation->offset, size);
    struct range *r = heap_free_at(h, allocation->offset, size);
    if (!r)
        return false;
    heap_map(h, allocation->offset, size);
    r = heap_take(h, r, allocation->offset, size);
    r->requested = allocation->bytes;
    r->shadow.ipc_ref = ipc_ref;
    ipc_table_add_importer(ipc_ref);
    summary.shared++;
    memory_born(call, h, r, kind, NULL, 0);
    return true;
}

/* Finds the allocation of that name in an imported heap, and imports it, as allocated by the call,
 * unless this process already has. Importing an allocation that its exporter has freed is reported,
 * and succeeds (measured: probe-ipc.txt, "pool_freed_block", "memory"), unless its memory is
 * released. */
static cudaError_t import_allocation(const struct call *call, struct heap *h,
                                     const struct allocation_name *name, enum allocation_kind kind,
                                     struct address_info *info)
{
    struct ipc_table *t = h->ipc_table;
    struct ipc_allocation allocation = ipc_table_read(t, name->entry);
    if (name->heap != ipc_table_heap_info(t).id || !is_valid_import(h, name, &allocation))
        return cudaErrorInvalidValue;
    uint32_t ipc_ref = ipc_table_ref(t, name->entry, IPC_IMPORTER);
    if (!open_heap(h, allocation.offset + round_up(allocation.bytes, ALIGNMENT)))
        return cudaErrorMemoryAllocation;
    char *address = h->base + allocation.offset;
    *info = memory_find(address);
    bool is_open = info->kind == ADDRESS_ALLOCATED && info->range->shadow.ipc_ref == ipc_ref;
    /* Measured (probe-ipc.txt, "memory" and "memory_freed..."): freed memory of cudaMalloc can be
     * opened while a neighbor or another opening keeps its segments. */
    if (allocation.released && !is_open)
        return cudaErrorInvalidValue;
    if (allocation.freed)
        ipc_check_imported_freed(call, ipc_ref);
    if (is_open)
        return cudaSuccess;
    if (!take_imported(call, h, ipc_ref, &allocation, kind))
        return cudaErrorInvalidValue;
    *info = memory_find(address);
    return cudaSuccess;
}

/* ---- memory of cudaMalloc ---- */

#define MEMORY_MAGIC 0x327972006D656D65u

_Static_assert(sizeof(struct allocation_name) <= sizeof(cudaIpcMemHandle_t),
               "the name of an allocation fits");

/* Gives a heap a file and a table, unless it has them. Returns whether it has them. */
static bool ensure_file(struct heap *h)
{
    if (h->ipc_table)
        return true;
    if (!share_heap_new(h, h->device, "memory of cudaMalloc that is shared"))
        return false;
    h->keep_storage = ipc_table_set_released;
    heap_share_segments(h);
    return true;
}

cudaError_t ipc_memory_export(const struct address_info *a, cudaIpcMemHandle_t *handle)
{
    NEEDS_LOCK();
    struct allocation_name name;
    if (!ensure_file(a->heap) || !heap_move_to_file(a->heap, a->range->offset, a->range->requested)
        || !export_allocation(a, MEMORY_MAGIC, &name))
        return cudaErrorMemoryAllocation;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &name, sizeof name);
    return cudaSuccess;
}

uint64_t ipc_memory_exporter(const cudaIpcMemHandle_t *handle)
{
    NEEDS_LOCK();
    struct allocation_name name;
    memcpy(&name, handle, sizeof name);
    return name.magic == MEMORY_MAGIC ? name.process : 0;
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
static struct heap *open_file(const struct allocation_name *name, int file)
{
    struct ipc_table *table = ipc_table_open(file, MEMORY_GRANULARITY);
    if (table) {
        struct ipc_heap_info info = ipc_table_heap_info(table);
        if (info.id == name->heap && device_exists(info.location)) {
            struct heap *h = memory_new_opened(info.location, device_current(), info.limit);
            share_heap(h, table, file);
            return h;
        }
        ipc_table_close(table);
    }
    os_fd_close(file);
    return NULL;
}

/* Finds the heap of that name, or opens it. */
static cudaError_t open_heap_of(const struct allocation_name *name, struct heap **h)
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
                           const struct allocation_name *name, struct address_info *info)
{
    if (!is_in_reach(h))
        return cudaErrorMapBufferObjectFailed;
    cudaError_t e = import_allocation(call, h, name, ALLOCATION_OPENED, info);
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
    struct allocation_name name;
    memcpy(&name, handle, sizeof name);
    struct heap *h;
    cudaError_t e = open_heap_of(&name, &h);
    if (!e)
        e = open_in(call, h, &name, info);
    memory_close_opened();
    return e;
}

/* ---- pools ---- */

#define POOL_MAGIC 0x31727470656d6973u

/* The output of cudaMemPoolExportPointer is the allocation's name. */
_Static_assert(sizeof(struct allocation_name) <= sizeof(struct cudaMemPoolPtrExportData),
               "an exported pointer fits");

/* For each descriptor below `top`: whether it has been an exported pool's. */
static struct {
    bool *was;
    int top;
} exported;

bool ipc_pool_make_shareable(struct pool *p)
{
    NEEDS_LOCK();
    return !(p->props.handleTypes & cudaMemHandleTypePosixFileDescriptor)
        || share_heap_new(&p->heap, p->location, "a pool that can be shared");
}

cudaError_t ipc_pool_export(struct pool *p, int *descriptor)
{
    NEEDS_LOCK();
    if (!p->heap.ipc_table || p->imported)
        return cudaErrorInvalidValue;
    /* Measured on a machine without a fabric (probe-ipc.txt, "pool_other_types"): a pool that also
     * has fabric handles cannot be exported. */
    if (p->props.handleTypes & cudaMemHandleTypeFabric)
        return cudaErrorNotPermitted;
    int fd = os_fd_dup(p->heap.file);
    if (fd < 0) {
        diag("the pool could not be exported: this process has too many files open (ulimit -n).");
        return cudaErrorOperatingSystem;
    }
    *descriptor = fd;
    p->exported = true;
    for (int top = exported.top; top <= fd; top++) {
        exported.was = os_grow(exported.was, ((size_t)top + 1) * sizeof *exported.was);
        exported.was[top] = false;
        exported.top = top + 1;
    }
    exported.was[fd] = true;
    return cudaSuccess;
}

size_t ipc_pool_count_open(void)
{
    NEEDS_LOCK();
    size_t open = 0;
    for (int fd = 0; fd < exported.top; fd++)
        open += exported.was[fd] && os_fd_is_open(fd) && os_fd_is_memfd(fd);
    return open;
}

const char *ipc_pool_fd_kind(int descriptor)
{
    NEEDS_LOCK();
    if (!os_fd_is_open(descriptor))
        return "closed";
    return os_fd_is_memfd(descriptor) ? "a pool" : "another file";
}

static struct pool *find_imported(uint64_t id)
{
    for (struct pool *p = pool_first(); p; p = p->next)
        if (p->imported && p->heap.ipc_table && ipc_table_heap_info(p->heap.ipc_table).id == id)
            return p;
    return NULL;
}

/* Returns whether a pool at this location can be exported. Assumed: also a pool of host memory. */
static bool is_location(int location)
{
    return location == LOCATION_HOST_NUMA || device_exists(location);
}

/* Returns the pool in a file that another process exported, or NULL. A new pool owns the file;
 * otherwise the file is closed. A second import returns the same pool (measured: probe-ipc.txt,
 * "pool_import"). */
static struct pool *import_file(int file)
{
    struct ipc_table *table = ipc_table_open(file, settings.segment);
    if (!table) {
        os_fd_close(file);
        return NULL;
    }
    struct ipc_heap_info info = ipc_table_heap_info(table);
    struct pool *p = find_imported(info.id);
    if (p || !is_location(info.location)) {
        ipc_table_close(table);
        os_fd_close(file);
    } else {
        p = pool_new_imported(info.location, info.limit);
        share_heap(&p->heap, table, file);
    }
    if (p)
        p->import_count++;
    return p;
}

cudaError_t ipc_pool_import(int descriptor, struct pool **p)
{
    NEEDS_LOCK();
    if (!os_fd_is_open(descriptor) || !os_fd_is_memfd(descriptor))
        return cudaErrorUnknown;
    int file = os_fd_dup_high(descriptor);
    if (file < 0)
        return cudaErrorOperatingSystem;
    *p = import_file(file);
    return *p ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t ipc_pool_export_pointer(const void *pointer, struct cudaMemPoolPtrExportData *data)
{
    NEEDS_LOCK();
    struct address_info a = memory_find(pointer);
    struct allocation_name name;
    /* Measured (probe-ipc.txt, "pool_export"): addresses inside or outside of an allocation are
     * rejected, and so is an allocation whose pool has not been exported before. */
    if (a.kind != ADDRESS_ALLOCATED || !a.pool || !a.pool->exported || a.offset != a.range->offset)
        return cudaErrorInvalidValue;
    if (!export_allocation(&a, POOL_MAGIC, &name))
        return cudaErrorMemoryAllocation;
    memset(data, 0, sizeof *data);
    memcpy(data, &name, sizeof name);
    return cudaSuccess;
}

cudaError_t ipc_pool_import_pointer(const struct call *call, struct pool *p,
                                    const struct cudaMemPoolPtrExportData *data,
                                    struct address_info *info)
{
    NEEDS_LOCK();
    struct allocation_name name;
    memcpy(&name, data, sizeof name);
    if (!p->imported || name.magic != POOL_MAGIC)
        return cudaErrorInvalidValue;
    return import_allocation(call, &p->heap, &name, ALLOCATION_AT_CALL, info);
}
