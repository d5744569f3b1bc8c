/* Sharing one allocation of a heap between processes. */
#include "ipc/ipc_allocation.h"

#include "base/settings.h"
#include "base/summary.h"
#include "check/access_tree.h"
#include "check/written.h"
#include "ipc/ipc_check.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "os/process.h"

_Static_assert(sizeof(struct ipc_allocation_name) == 4 * sizeof(uint64_t) + 2 * sizeof(int32_t),
               "the name of an allocation has no padding");

static void end_sharing(struct heap *h)
{
    ipc_table_close(h->ipc_table);
    os_fd_close(h->file);
    h->ipc_table = NULL;
}

void ipc_heap_share(struct heap *h, struct ipc_table *table, int file)
{
    NEEDS_LOCK();
    ipc_check_start();
    h->ipc_table = table;
    h->end_sharing = end_sharing;
    h->file = file;
}

bool ipc_heap_share_new(struct heap *h, int location, const char *what)
{
    NEEDS_LOCK();
    int file = ipc_file_new(what);
    struct ipc_table *table = file < 0 ? NULL : ipc_table_new(file, location, h->limit);
    if (table)
        ipc_heap_share(h, table, file);
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

/* ---- exporting ---- */

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

bool ipc_allocation_export(const struct address_info *a, uint64_t magic,
                           struct ipc_allocation_name *name)
{
    NEEDS_LOCK();
    struct ipc_table *t = a->heap->ipc_table;
    if (!ensure_entry(a))
        return false;
    int entry = ipc_table_entry(a->range->shadow.ipc_ref);
    *name = (struct ipc_allocation_name){.magic = magic,
                                         .heap = ipc_table_heap_info(t).id,
                                         .generation = ipc_table_read(t, entry).generation,
                                         .process = os_process(),
                                         .entry = entry,
                                         .file = a->heap->file};
    return true;
}

/* ---- importing ---- */

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
static bool is_valid_import(const struct heap *h, const struct ipc_allocation_name *name,
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

cudaError_t ipc_allocation_import(const struct call *call, struct heap *h,
                                  const struct ipc_allocation_name *name, enum allocation_kind kind,
                                  struct address_info *info)
{
    NEEDS_LOCK();
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
