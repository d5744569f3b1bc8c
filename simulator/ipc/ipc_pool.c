/* Sharing pools between processes. Sources: tests/hardware/facts/ipc.txt, probe-ipc.txt,
 * one-gpu.txt "export". */
#include "ipc/ipc_pool.h"

#include <string.h>

#include "ipc/ipc_table.h"
#include "ipc/ipc_check.h"
#include "os/os.h"
#include "os/process.h"
#include "mem/address_map.h"
#include "mem/device.h"

#define MAGIC 0x31727470656d6973u

struct exported_pointer {
    uint64_t magic, pool, generation, offset, bytes;
    int32_t entry;
};

_Static_assert(sizeof(struct exported_pointer) <= sizeof(struct cudaMemPoolPtrExportData),
               "what is exported fits");

static void end_sharing(struct pool *p)
{
    ipc_table_close(p->ipc_table);
    os_fd_close(p->heap.file);
    p->ipc_table = NULL;
}

static void share(struct pool *p, struct ipc_table *table, int file)
{
    ipc_check_start();
    p->ipc_table = table;
    p->end_sharing = end_sharing;
    p->heap.file = file;
}

bool ipc_pool_make_shareable(struct pool *p)
{
    if (!(p->props.handleTypes & cudaMemHandleTypePosixFileDescriptor) || p->heap.host_visible)
        return true;
    int file = os_memfd_new();
    if (file < 0) {
        diag("no file in memory could be made for a pool that can be shared: this process has too "
             "many files open (ulimit -n).");
        return false;
    }
    struct ipc_table *table = ipc_table_new(file, p->device, p->heap.limit);
    if (table)
        share(p, table, file);
    else
        os_fd_close(file);
    return table;
}

cudaError_t ipc_pool_export(struct pool *p, int *descriptor)
{
    if (!p->ipc_table || p->imported)
        return cudaErrorInvalidValue;
    /* Measured, where no fabric is set up: then neither type can be exported. */
    if (p->props.handleTypes & cudaMemHandleTypeFabric)
        return cudaErrorNotPermitted;
    int fd = os_fd_dup(p->heap.file);
    if (fd < 0) {
        diag("the pool could not be exported: this process has too many files open (ulimit -n).");
        return cudaErrorOperatingSystem;
    }
    *descriptor = fd;
    p->exported = true;
    return cudaSuccess;
}

const char *ipc_pool_fd_kind(int descriptor)
{
    return !os_fd_is_open(descriptor) ? "closed"
         : os_fd_is_memfd(descriptor) ? "a pool"
                                      : "another file";
}

/* The pool in a file of another process, which becomes this one's; NULL, with the file closed, when
 * it is none. Measured: a pool that was imported before is the same again. */
static struct pool *import_file(int file)
{
    struct ipc_table *table = ipc_table_open(file);
    struct ipc_pool_info from =
        table ? ipc_table_pool_info(table) : (struct ipc_pool_info){.device = -1};
    struct pool *p = pool_first();
    while (p && !(p->imported && p->ipc_table && ipc_table_pool_info(p->ipc_table).id == from.id))
        p = p->next;
    if (p || !device_exists(from.device)) {
        if (table)
            ipc_table_close(table);
        os_fd_close(file);
    } else {
        p = pool_new_imported(from.device, from.limit);
        share(p, table, file);
    }
    if (p)
        p->import_count++;
    return p;
}

cudaError_t ipc_pool_import(int descriptor, struct pool **p)
{
    if (!os_fd_is_open(descriptor))
        return cudaErrorUnknown;
    if (!os_fd_is_memfd(descriptor))
        return cudaErrorUnknown;
    int file = os_fd_dup_high(descriptor);
    if (file < 0)
        return cudaErrorOperatingSystem;
    *p = import_file(file);
    return *p ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t ipc_pool_export_pointer(const void *pointer, struct cudaMemPoolPtrExportData *data)
{
    struct address_info a = memory_find(pointer);
    /* measured: a place inside a block is refused, like one outside; so is a block whose pool has
     * not been exported before */
    if (a.kind != ADDRESS_ALLOCATED || !a.pool || !a.pool->exported || a.offset != a.range->offset)
        return cudaErrorInvalidValue;
    struct shadow *shadow = &a.range->shadow;
    struct ipc_table *t = a.pool->ipc_table;
    if (!shadow->ipc_ref) {
        int entry = ipc_table_export(t, a.offset, a.range->requested);
        if (entry < 0) {
            diag("more than 1024 allocations of one pool are exported and not freed; the simulated "
                 "device keeps no list of more.");
            return cudaErrorMemoryAllocation;
        }
        shadow->ipc_ref = ipc_table_ref(t, entry, IPC_EXPORTER);
        ipc_check_exported(memory_shadow(&a, NULL));
    }
    int entry = ipc_table_entry(shadow->ipc_ref);
    struct ipc_allocation allocation = ipc_table_read(t, entry);
    struct exported_pointer e = {MAGIC,
                                 ipc_table_pool_info(t).id,
                                 allocation.generation,
                                 allocation.offset,
                                 allocation.bytes,
                                 entry};
    memset(data, 0, sizeof *data);
    memcpy(data, &e, sizeof e);
    return cudaSuccess;
}

/* A live block of ours that was imported before and lies over this one: its exporter has freed it
 * and given its place out again. Its life ends (chosen). */
static void free_overlapping(const struct call *call, struct pool *p, size_t offset, size_t bytes)
{
    for (struct range *r = p->heap.first, *next; r; r = next) {
        next = r->next;
        if (!r->live || r->offset >= offset + bytes || r->offset + r->node.bytes <= offset)
            continue;
        if (r->shadow.ipc_ref)
            ipc_check_ended(call, &r->shadow, NULL, 0);
        pool_free_now(p, r);
        r = next = p->heap.first; /* freeing may have joined chunks: from the start again */
    }
}

cudaError_t ipc_pool_import_pointer(const struct call *call, struct pool *p,
                                    const struct cudaMemPoolPtrExportData *data,
                                    struct address_info *info)
{
    struct exported_pointer e;
    memcpy(&e, data, sizeof e);
    if (!p->imported || e.magic != MAGIC || e.pool != ipc_table_pool_info(p->ipc_table).id)
        return cudaErrorInvalidValue;
    struct ipc_allocation allocation = ipc_table_read(p->ipc_table, e.entry);
    size_t size = round_up(allocation.bytes, ALIGNMENT);
    if (!allocation.generation || allocation.offset % ALIGNMENT || !allocation.bytes
        || allocation.offset >= p->heap.limit || size > p->heap.limit - allocation.offset)
        return cudaErrorInvalidValue;
    uint32_t ipc_ref = ipc_table_ref(p->ipc_table, e.entry, IPC_IMPORTER);
    /* Chosen: freed, and another block has its place in the table. */
    if (allocation.generation != e.generation)
        return cudaErrorInvalidValue;
    /* Measured: succeeds all the same. */
    if (allocation.freed)
        ipc_check_imported_freed(call, ipc_ref);
    if (os_fd_size(p->heap.file) < HEAP_FILE_HEADER + allocation.offset + size
        || !heap_open(&p->heap))
        return cudaErrorMemoryAllocation;
    if (!address_map_contains(&p->heap))
        address_map_add(&p->heap, p);
    char *address = p->heap.base + allocation.offset;
    *info = memory_find(address);
    if (info->kind == ADDRESS_ALLOCATED && info->range->shadow.ipc_ref == ipc_ref)
        return cudaSuccess;
    free_overlapping(call, p, allocation.offset, size);
    struct range *r = heap_take_at(&p->heap, allocation.offset, size);
    if (!r)
        return cudaErrorInvalidValue;
    r->requested = allocation.bytes;
    r->id = memory_new_id();
    r->shadow.ipc_ref = ipc_ref;
    ipc_table_set_importing(ipc_ref, true);
    checker_allocated(call, (struct shadow_ref){&r->shadow, r->id, address, allocation.bytes}, NULL,
                      0);
    *info = memory_find(address);
    return cudaSuccess;
}
