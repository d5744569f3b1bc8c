/* Sharing pools between processes. Measured: simulator/tests/facts/ipc.txt, probe-ipc.txt,
 * one-gpu.txt "export". */
#include "ipc/ipc_pool.h"

#include <string.h>

#include "base/settings.h"
#include "check/access_tree.h"
#include "ipc/ipc_check.h"
#include "ipc/ipc_table.h"
#include "mem/device.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "os/process.h"

#define MAGIC 0x31727470656d6973u

/* The output of cudaMemPoolExportPointer. The same allocation gives the same bytes (measured:
 * probe-ipc.txt, "pool_export"), so there is no padding, whose bytes would be random. */
struct exported_pointer {
    uint64_t magic, pool, generation, offset, bytes;
    int32_t entry, unused;
};

_Static_assert(sizeof(struct exported_pointer) == 5 * sizeof(uint64_t) + 2 * sizeof(int32_t),
               "an exported pointer has no padding");
_Static_assert(sizeof(struct exported_pointer) <= sizeof(struct cudaMemPoolPtrExportData),
               "an exported pointer fits");

/* For each descriptor below `top`: whether it has been an exported pool's. */
static struct {
    bool *was;
    int top;
} exported;

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
    NEEDS_LOCK();
    if (!(p->props.handleTypes & cudaMemHandleTypePosixFileDescriptor))
        return true;
    int file = os_memfd_new();
    if (file < 0) {
        diag("no file in memory could be made for a pool that can be shared: this process has too "
             "many files open (ulimit -n).");
        return false;
    }
    struct ipc_table *table = ipc_table_new(file, p->location, p->heap.limit);
    if (table)
        share(p, table, file);
    else
        os_fd_close(file);
    return table;
}

cudaError_t ipc_pool_export(struct pool *p, int *descriptor)
{
    NEEDS_LOCK();
    if (!p->ipc_table || p->imported)
        return cudaErrorInvalidValue;
    /* Measured where no fabric is set up (probe-ipc.txt, "pool_other_types"): then neither type can
     * be exported. */
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

/* Returns the imported pool with this id, or NULL. */
static struct pool *find_imported(uint64_t id)
{
    for (struct pool *p = pool_first(); p; p = p->next)
        if (p->imported && p->ipc_table && ipc_table_pool_info(p->ipc_table).id == id)
            return p;
    return NULL;
}

/* Returns whether a pool at this location comes with a descriptor. Assumed: a pool in host memory
 * of another process does, too. */
static bool is_location(int location)
{
    return location == LOCATION_HOST_NUMA || device_exists(location);
}

/* Returns the pool in a file that another process exported, or NULL. A new pool owns the file;
 * otherwise the file is closed. A pool that was imported before is the same again (measured:
 * probe-ipc.txt, "pool_import"). */
static struct pool *import_file(int file)
{
    struct ipc_table *table = ipc_table_open(file);
    if (!table) {
        os_fd_close(file);
        return NULL;
    }
    struct ipc_pool_info info = ipc_table_pool_info(table);
    struct pool *p = find_imported(info.id);
    if (p || !is_location(info.location)) {
        ipc_table_close(table);
        os_fd_close(file);
    } else {
        p = pool_new_imported(info.location, info.limit);
        share(p, table, file);
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

/* Says that the host's touches of shared memory are not checked against the devices of other
 * processes. Page guards would harm a program that knows from a message that work is over. */
static void say_what_is_unchecked(const struct pool *p)
{
    static bool said;
    if (said || !p->heap.host_visible || !settings.check)
        return;
    said = true;
    diag("memory of the host is shared between processes. This process's loads and stores there "
         "are not compared with the work of other processes.");
}

/* Gives an allocation an entry in its pool's table, if it has none. Returns whether it has one. */
static bool ensure_entry(struct address_info *a)
{
    struct shadow *shadow = &a->range->shadow;
    if (shadow->ipc_ref)
        return true;
    struct ipc_table *t = a->pool->ipc_table;
    int entry = ipc_table_export(t, a->offset, a->range->requested);
    if (entry < 0) {
        diag("more than 1024 allocations of one pool are exported and not freed; the simulated "
             "device keeps no list of more.");
        return false;
    }
    say_what_is_unchecked(a->pool);
    shadow->ipc_ref = ipc_table_ref(t, entry, IPC_EXPORTER);
    ipc_check_exported(memory_shadow(a));
    return true;
}

cudaError_t ipc_pool_export_pointer(const void *pointer, struct cudaMemPoolPtrExportData *data)
{
    NEEDS_LOCK();
    struct address_info a = memory_find(pointer);
    /* Measured (probe-ipc.txt, "pool_export"): addresses inside or outside of an allocation are
     * rejected, and so is an allocation whose pool has not been exported before. */
    if (a.kind != ADDRESS_ALLOCATED || !a.pool || !a.pool->exported || a.offset != a.range->offset)
        return cudaErrorInvalidValue;
    if (!ensure_entry(&a))
        return cudaErrorMemoryAllocation;
    struct ipc_table *t = a.pool->ipc_table;
    int entry = ipc_table_entry(a.range->shadow.ipc_ref);
    struct ipc_allocation allocation = ipc_table_read(t, entry);
    struct exported_pointer e = {.magic = MAGIC,
                                 .pool = ipc_table_pool_info(t).id,
                                 .generation = allocation.generation,
                                 .offset = allocation.offset,
                                 .bytes = allocation.bytes,
                                 .entry = entry};
    memset(data, 0, sizeof *data);
    memcpy(data, &e, sizeof e);
    return cudaSuccess;
}

static struct shadow_ref shadow_of(const struct pool *p, struct range *r)
{
    return (struct shadow_ref){&r->shadow, r->id, p->heap.base + r->offset, r->requested};
}

/* Ends imported allocations that overlap a new one, since their exporter must have freed them and
 * reused the addresses (assumed). */
static void free_overlapping(const struct call *call, struct pool *p, size_t offset, size_t bytes)
{
    struct range *r = p->heap.first;
    while (r) {
        if (!r->live || r->offset >= offset + bytes || r->offset + r->bytes <= offset) {
            r = r->next;
            continue;
        }
        ipc_check_ended(call, shadow_of(p, r), NULL, 0);
        if (r->shadow.accesses)
            access_tree_clear(&r->shadow);
        pool_free_now(p, r);
        /* Start again, because freeing may have merged ranges. */
        r = p->heap.first;
    }
}

/* Returns whether the bytes and the table's entry, both written by others, are valid for the
 * pool. */
static bool is_valid_import(const struct pool *p, const struct exported_pointer *e,
                            const struct ipc_allocation *allocation)
{
    /* Assumed: it was freed, and its entry in the table is now another allocation's. */
    if (!allocation->generation || allocation->generation != e->generation)
        return false;
    return allocation->offset % ALIGNMENT == 0 && allocation->bytes
        && allocation->offset < p->heap.limit
        && round_up(allocation->bytes, ALIGNMENT) <= p->heap.limit - allocation->offset;
}

/* Maps the pool here, if it is not mapped. Returns false if the file is too short or there are no
 * addresses. */
static bool open_heap(struct pool *p, size_t bytes)
{
    return os_fd_size(p->heap.file) >= HEAP_FILE_HEADER + bytes && heap_open(&p->heap);
}

/* Takes the range of an imported allocation. Returns false if it cannot be taken. */
static bool take_imported(const struct call *call, struct pool *p, uint32_t ipc_ref,
                          const struct ipc_allocation *allocation)
{
    size_t size = round_up(allocation->bytes, ALIGNMENT);
    say_what_is_unchecked(p);
    free_overlapping(call, p, allocation->offset, size);
    struct range *r = heap_free_at(&p->heap, allocation->offset, size);
    if (!r)
        return false;
    heap_map(&p->heap, allocation->offset, size);
    r = heap_take(&p->heap, r, allocation->offset, size);
    r->requested = allocation->bytes;
    r->shadow.ipc_ref = ipc_ref;
    ipc_table_set_importing(ipc_ref, true);
    memory_born(call, &p->heap, r, ALLOCATION_AT_CALL, NULL, 0);
    return true;
}

cudaError_t ipc_pool_import_pointer(const struct call *call, struct pool *p,
                                    const struct cudaMemPoolPtrExportData *data,
                                    struct address_info *info)
{
    NEEDS_LOCK();
    struct exported_pointer e;
    memcpy(&e, data, sizeof e);
    if (!p->imported || e.magic != MAGIC || e.pool != ipc_table_pool_info(p->ipc_table).id)
        return cudaErrorInvalidValue;
    struct ipc_allocation allocation = ipc_table_read(p->ipc_table, e.entry);
    if (!is_valid_import(p, &e, &allocation))
        return cudaErrorInvalidValue;
    uint32_t ipc_ref = ipc_table_ref(p->ipc_table, e.entry, IPC_IMPORTER);
    /* Measured (probe-ipc.txt, "pool_freed_block"): the import still succeeds. */
    if (allocation.freed)
        ipc_check_imported_freed(call, ipc_ref);
    if (!open_heap(p, allocation.offset + round_up(allocation.bytes, ALIGNMENT)))
        return cudaErrorMemoryAllocation;
    char *address = p->heap.base + allocation.offset;
    *info = memory_find(address);
    if (info->kind == ADDRESS_ALLOCATED && info->range->shadow.ipc_ref == ipc_ref)
        return cudaSuccess;
    if (!take_imported(call, p, ipc_ref, &allocation))
        return cudaErrorInvalidValue;
    *info = memory_find(address);
    return cudaSuccess;
}
