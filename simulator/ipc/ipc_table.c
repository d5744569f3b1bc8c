/* The ipc table: opening, allocations, and imports. Nothing that another process wrote is trusted
 * with memory: each index and size is checked here, and no list is longer than the number of
 * nodes. */
#include "ipc/ipc_table_file.h"

#include "ipc/process_clock.h"
#include "mem/heap.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "os/process.h"

#define MAGIC 0x326c6f6f70656973u

_Static_assert(sizeof(struct ipc_table_header) <= HEAP_FILE_HEADER,
               "the header of a heap's file has a fixed size");

/* Needs the lock. Invariant: list[i] is the open table with index i, or NULL if it was closed.
 * Index 0 is not used, so that no ipc_ref is 0. */
static struct {
    struct ipc_table **list;
    uint32_t count;
    struct {
        uint64_t *list;
        uint32_t capacity;
    } importers;
} tables;

/* ---- ipc_ref: the table's index, the entry and the role in one number ---- */

uint32_t ipc_table_ref(struct ipc_table *t, int entry, enum ipc_role role)
{
    return t->index << 16 | (uint32_t)entry << 2 | role;
}

enum ipc_role ipc_table_role(uint32_t ipc_ref) { return ipc_ref & 3; }
int ipc_table_entry(uint32_t ipc_ref) { return (int)((ipc_ref & 0xffff) >> 2); }

struct ipc_table *ipc_table_of(uint32_t ipc_ref) { return tables.list[ipc_ref >> 16]; }

struct ipc_entry *ipc_table_entry_of(uint32_t ipc_ref)
{
    return &ipc_table_of(ipc_ref)->header->entries[ipc_table_entry(ipc_ref)];
}

/* ---- opening ---- */

/* Returns an index that no open table has. */
static uint32_t free_index(void)
{
    for (uint32_t i = tables.count; i-- > 1;)
        if (!tables.list[i])
            return i;
    return tables.count ? tables.count : 1;
}

static struct ipc_table *add_table(struct ipc_table_header *header,
                                   const struct ipc_heap_info *heap)
{
    struct ipc_table *t = os_allocate(sizeof *t);
    t->header = header;
    t->heap = *heap;
    t->index = free_index();
    if (t->index >= tables.count) {
        tables.list = os_grow(tables.list, (t->index + 1) * sizeof(struct ipc_table *));
        tables.list[0] = NULL;
        tables.count = t->index + 1;
    }
    tables.list[t->index] = t;
    return t;
}

struct ipc_table *ipc_table_new(int file, int location, size_t limit)
{
    if (!remote_clock_start())
        return NULL;
    struct ipc_table_header *header =
        os_fd_grow(file, HEAP_FILE_HEADER) ? os_fd_map(file, HEAP_FILE_HEADER) : NULL;
    if (!header)
        return NULL;
    header->heap = (struct ipc_heap_info){os_random(), os_process(), limit, location};
    header->magic = MAGIC;
    return add_table(header, &header->heap);
}

/* Keeps the compiler from reading the file again where the copy is used. */
static struct ipc_heap_info copy_heap_info(const struct ipc_table_header *header)
{
    struct ipc_heap_info heap = header->heap;
    __asm__ volatile("" ::: "memory");
    return heap;
}

struct ipc_table *ipc_table_open(int file, size_t segment)
{
    struct ipc_table_header *header = os_fd_size(file) >= HEAP_FILE_HEADER && remote_clock_start()
                                        ? os_fd_map(file, HEAP_FILE_HEADER)
                                        : NULL;
    if (!header)
        return NULL;
    /* Another process may write there at any time, so only what was validated is used. */
    struct ipc_heap_info heap = copy_heap_info(header);
    if (header->magic == MAGIC && heap.limit && heap.limit % segment == 0
        && heap.limit <= 2048 * GiB)
        return add_table(header, &heap);
    os_fd_unmap(header, HEAP_FILE_HEADER);
    return NULL;
}

void ipc_table_close(struct ipc_table *t)
{
    tables.list[t->index] = NULL;
    os_fd_unmap(t->header, HEAP_FILE_HEADER);
    os_free(t);
}

struct ipc_heap_info ipc_table_heap_info(const struct ipc_table *t)
{
    NEEDS_LOCK();
    return t->heap;
}

/* ---- imports ---- */

static bool has_importer(struct ipc_table_header *h, const struct ipc_entry *entry)
{
    struct ipc_node *n = ipc_node_at(h, entry->first_importer);
    for (uint32_t i = 0; n && i < IPC_TABLE_NODES; n = ipc_node_at(h, n->next), i++)
        if (os_process_alive(n->importer))
            return true;
    return false;
}

bool ipc_entry_is_unused(struct ipc_table_header *h, const struct ipc_entry *entry)
{
    return entry->allocation.freed && !has_importer(h, entry);
}

void ipc_table_add_importer(uint32_t ipc_ref)
{
    struct ipc_table *t = ipc_table_of(ipc_ref);
    struct ipc_entry *entry = ipc_table_entry_of(ipc_ref);
    os_shm_lock(&t->header->lock);
    uint32_t number = ipc_node_take(t);
    struct ipc_node *n = ipc_node_at(t->header, number);
    if (n) {
        n->importer = os_process();
        n->next = entry->first_importer;
        entry->first_importer = number;
    }
    os_shm_unlock(&t->header->lock);
}

void ipc_table_remove_importer(uint32_t ipc_ref)
{
    struct ipc_table_header *h = ipc_table_of(ipc_ref)->header;
    uint32_t *at = &ipc_table_entry_of(ipc_ref)->first_importer;
    os_shm_lock(&h->lock);
    struct ipc_node *n = ipc_node_at(h, *at);
    for (uint32_t i = 0; n && n->importer != os_process() && i < IPC_TABLE_NODES; i++) {
        at = &n->next;
        n = ipc_node_at(h, *at);
    }
    if (n && n->importer == os_process()) {
        uint32_t number = *at;
        *at = n->next;
        ipc_node_put(h, number);
    }
    os_shm_unlock(&h->lock);
}

struct ipc_processes ipc_table_importers(uint32_t ipc_ref)
{
    struct ipc_table_header *h = ipc_table_of(ipc_ref)->header;
    uint32_t count = 0;
    os_shm_lock(&h->lock);
    struct ipc_node *n = ipc_node_at(h, ipc_table_entry_of(ipc_ref)->first_importer);
    for (; n && count < IPC_TABLE_NODES; n = ipc_node_at(h, n->next)) {
        OS_MAKE_ROOM(tables.importers.list, count, tables.importers.capacity)
        tables.importers.list[count++] = n->importer;
    }
    os_shm_unlock(&h->lock);
    return (struct ipc_processes){tables.importers.list, count};
}

/* ---- allocations ---- */

/* Returns an entry that was never used or is no longer needed, or NULL. */
static struct ipc_entry *free_entry(struct ipc_table_header *h)
{
    for (int i = 0; i < IPC_TABLE_ALLOCATIONS; i++)
        if (!h->entries[i].allocation.generation)
            return &h->entries[i];
    for (int i = 0; i < IPC_TABLE_ALLOCATIONS; i++)
        if (ipc_entry_is_unused(h, &h->entries[i]))
            return &h->entries[i];
    return NULL;
}

int ipc_table_export(struct ipc_table *t, size_t offset, size_t bytes)
{
    struct ipc_table_header *h = t->header;
    os_shm_lock(&h->lock);
    struct ipc_entry *entry = free_entry(h);
    if (entry) {
        ipc_entry_clear(h, entry);
        entry->allocation = (struct ipc_allocation){
            .generation = ++h->generations, .offset = offset, .bytes = bytes};
    }
    os_shm_unlock(&h->lock);
    return entry ? (int)(entry - h->entries) : -1;
}

struct ipc_allocation ipc_table_read(struct ipc_table *t, int entry)
{
    struct ipc_allocation copy = {.generation = 0};
    if (entry < 0 || entry >= IPC_TABLE_ALLOCATIONS)
        return copy;
    os_shm_lock(&t->header->lock);
    copy = t->header->entries[entry].allocation;
    os_shm_unlock(&t->header->lock);
    return copy;
}

struct ipc_allocation ipc_table_read_ref(uint32_t ipc_ref)
{
    return ipc_table_read(ipc_table_of(ipc_ref), ipc_table_entry(ipc_ref));
}

void ipc_table_set_freed(uint32_t ipc_ref, struct ipc_access access)
{
    struct ipc_table_header *h = ipc_table_of(ipc_ref)->header;
    struct ipc_allocation *allocation = &ipc_table_entry_of(ipc_ref)->allocation;
    os_shm_lock(&h->lock);
    allocation->freed_by = access;
    allocation->freed = true;
    os_shm_unlock(&h->lock);
}

bool ipc_table_set_released(struct heap *h, size_t offset, size_t bytes)
{
    struct ipc_table_header *header = h->ipc_table->header;
    bool imported = false;
    os_shm_lock(&header->lock);
    for (int i = 0; i < IPC_TABLE_ALLOCATIONS; i++) {
        struct ipc_entry *entry = &header->entries[i];
        struct ipc_allocation *a = &entry->allocation;
        if (!a->freed || a->offset >= offset + bytes || a->offset + a->bytes <= offset)
            continue;
        a->released = true;
        imported |= has_importer(header, entry);
    }
    os_shm_unlock(&header->lock);
    return imported;
}
