/* Sharing pools between processes. Measured: simulator/tests/facts/ipc.txt, probe-ipc.txt,
 * one-gpu.txt "export". */
#include "ipc/ipc_pool.h"

#include <string.h>

#include "base/settings.h"
#include "ipc/ipc_allocation.h"
#include "mem/device.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "os/process.h"

#define MAGIC 0x31727470656d6973u

/* The output of cudaMemPoolExportPointer is the allocation's name. */
_Static_assert(sizeof(struct ipc_allocation_name) <= sizeof(struct cudaMemPoolPtrExportData),
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
        || ipc_heap_share_new(&p->heap, p->location, "a pool that can be shared");
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
        ipc_heap_share(&p->heap, table, file);
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
    struct ipc_allocation_name name;
    /* Measured (probe-ipc.txt, "pool_export"): addresses inside or outside of an allocation are
     * rejected, and so is an allocation whose pool has not been exported before. */
    if (a.kind != ADDRESS_ALLOCATED || !a.pool || !a.pool->exported || a.offset != a.range->offset)
        return cudaErrorInvalidValue;
    if (!ipc_allocation_export(&a, MAGIC, &name))
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
    struct ipc_allocation_name name;
    memcpy(&name, data, sizeof name);
    if (!p->imported || name.magic != MAGIC)
        return cudaErrorInvalidValue;
    return ipc_allocation_import(call, &p->heap, &name, ALLOCATION_AT_CALL, info);
}
