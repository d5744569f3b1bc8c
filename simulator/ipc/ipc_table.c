/* The ipc table. What another process wrote is never trusted with memory: each index and size is
 * checked here. */
#include "ipc/ipc_table.h"

#include <string.h>

#include "mem/heap.h"
#include "os/os.h"
#include "os/process.h"
#include "sched/happens_before.h"

#define MAGIC       0x316c6f6f70656973u
#define ALLOCATIONS 1024 /* Assumed: allocations exported at once. */
#define PROCESSES   16
#define SLOTS       1024 /* Assumed: slots of one process; what others do counts as over. */

/* What a process's host has acquired of its own slots. */
struct process_clock {
    uint64_t process;
    uint64_t epoch[SLOTS];
};

/* Law: entries change with `lock` held. A process changes the clock that has its number, without
 * the lock, and the accesses, imports and frees that are its own. */
struct table_header {
    uint64_t magic, lock, generations;
    struct ipc_pool_info pool;
    struct process_clock clocks[PROCESSES];
    struct ipc_allocation allocations[ALLOCATIONS];
};

_Static_assert(sizeof(struct table_header) <= HEAP_FILE_HEADER,
               "the header of a pool's file has a fixed size");

struct ipc_table {
    struct table_header *header;
    uint32_t index;
    /* NULL: all are taken, and nothing of this process is published. */
    struct process_clock *own_clock;
};

/* Law: list[i] is the open table with index i; NULL where it was closed. Index 0 is never used, so
 * that no ipc_ref is 0. Needs the lock. */
static struct {
    struct ipc_table **list;
    uint32_t count;
} tables;

/* ---- ipc_ref: the table's index, the entry and the role in one number ---- */

uint32_t ipc_table_ref(struct ipc_table *t, int entry, enum ipc_role role)
{
    return t->index << 16 | (uint32_t)entry << 2 | role;
}

enum ipc_role ipc_table_role(uint32_t ipc_ref) { return ipc_ref & 3; }
int ipc_table_entry(uint32_t ipc_ref) { return (int)((ipc_ref & 0xffff) >> 2); }

static struct ipc_table *table_of(uint32_t ipc_ref) { return tables.list[ipc_ref >> 16]; }

static struct ipc_allocation *allocation_of(uint32_t ipc_ref)
{
    return &table_of(ipc_ref)->header->allocations[ipc_table_entry(ipc_ref)];
}

/* ---- what each host has acquired ---- */

static void publish(struct ipc_table *t)
{
    if (!t->own_clock)
        return;
    const struct vector_clock *host = host_vector_clock();
    for (struct stream *s = stream_first(); s; s = s->next) {
        if (s->slot < SLOTS)
            __atomic_store_n(&t->own_clock->epoch[s->slot], vc_epoch(host, s->slot),
                             __ATOMIC_RELEASE);
    }
}

static void publish_all(void)
{
    for (uint32_t i = 0; i < tables.count; i++)
        if (tables.list[i])
            publish(tables.list[i]);
}

/* Returns the clock of a process, or NULL. */
static struct process_clock *find_clock(struct table_header *h, uint64_t process)
{
    for (int i = 0; i < PROCESSES; i++)
        if (h->clocks[i].process == process)
            return &h->clocks[i];
    return NULL;
}

/* Returns a clock that no living process has, or NULL. */
static struct process_clock *find_free_clock(struct table_header *h)
{
    for (int i = 0; i < PROCESSES; i++)
        if (!h->clocks[i].process || !os_process_alive(h->clocks[i].process))
            return &h->clocks[i];
    return NULL;
}

/* Returns this process's clock; NULL: all are taken. */
static struct process_clock *claim_clock(struct table_header *h)
{
    struct process_clock *clock = find_clock(h, os_process());
    if (clock)
        return clock;
    clock = find_free_clock(h);
    if (!clock)
        return NULL;
    memset(clock->epoch, 0, sizeof clock->epoch);
    clock->process = os_process();
    return clock;
}

bool ipc_table_access_is_over(uint32_t ipc_ref, const struct ipc_access *access)
{
    struct process_clock *clock = find_clock(table_of(ipc_ref)->header, access->process);
    if (!clock || access->slot >= SLOTS)
        return true;
    if (__atomic_load_n(&clock->epoch[access->slot], __ATOMIC_ACQUIRE) >= access->seq)
        return true;
    return !os_process_alive(access->process);
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

static struct ipc_table *add_table(struct table_header *header)
{
    struct ipc_table *t = os_allocate(sizeof *t);
    t->header = header;
    t->index = free_index();
    if (t->index >= tables.count) {
        tables.list = os_grow(tables.list, (t->index + 1) * sizeof(struct ipc_table *));
        tables.list[0] = NULL;
        tables.count = t->index + 1;
    }
    tables.list[t->index] = t;
    os_shm_lock(&header->lock);
    t->own_clock = claim_clock(header);
    os_shm_unlock(&header->lock);
    host_on_acquire(publish_all);
    publish(t);
    return t;
}

struct ipc_table *ipc_table_new(int file, int location, size_t limit)
{
    struct table_header *header =
        os_fd_grow(file, HEAP_FILE_HEADER) ? os_fd_map(file, HEAP_FILE_HEADER) : NULL;
    if (!header)
        return NULL;
    header->pool = (struct ipc_pool_info){os_random(), os_process(), limit, location};
    header->magic = MAGIC;
    return add_table(header);
}

struct ipc_table *ipc_table_open(int file)
{
    struct table_header *header =
        os_fd_size(file) >= HEAP_FILE_HEADER ? os_fd_map(file, HEAP_FILE_HEADER) : NULL;
    if (!header)
        return NULL;
    if (header->magic == MAGIC && header->pool.limit && header->pool.limit % SEGMENT == 0
        && header->pool.limit <= 2048 * GiB)
        return add_table(header);
    os_fd_unmap(header, HEAP_FILE_HEADER);
    return NULL;
}

/* Is the pool open a second time? It is, where it was imported by the process that exported it. */
static bool is_open_twice(const struct ipc_table *t)
{
    for (uint32_t i = 0; i < tables.count; i++) {
        const struct ipc_table *other = tables.list[i];
        if (other && other != t && other->header->pool.id == t->header->pool.id)
            return true;
    }
    return false;
}

void ipc_table_close(struct ipc_table *t)
{
    if (t->own_clock && !is_open_twice(t))
        t->own_clock->process = 0;
    tables.list[t->index] = NULL;
    os_fd_unmap(t->header, HEAP_FILE_HEADER);
    os_free(t);
}

struct ipc_pool_info ipc_table_pool_info(const struct ipc_table *t) { return t->header->pool; }

/* ---- allocations ---- */

static bool has_importer(const struct ipc_allocation *allocation)
{
    for (int i = 0; i < IPC_TABLE_IMPORTERS; i++)
        if (allocation->importers[i] && os_process_alive(allocation->importers[i]))
            return true;
    return false;
}

/* Returns an entry that was never used, else one that nobody needs any more, or -1. */
static int free_entry(const struct table_header *h)
{
    for (int i = 0; i < ALLOCATIONS; i++)
        if (!h->allocations[i].generation)
            return i;
    for (int i = 0; i < ALLOCATIONS; i++)
        if (h->allocations[i].freed && !has_importer(&h->allocations[i]))
            return i;
    return -1;
}

int ipc_table_export(struct ipc_table *t, size_t offset, size_t bytes)
{
    struct table_header *h = t->header;
    os_shm_lock(&h->lock);
    int entry = free_entry(h);
    if (entry >= 0)
        h->allocations[entry] = (struct ipc_allocation){
            .generation = ++h->generations, .offset = offset, .bytes = bytes};
    os_shm_unlock(&h->lock);
    return entry;
}

struct ipc_allocation ipc_table_read(struct ipc_table *t, int entry)
{
    struct ipc_allocation copy = {.generation = 0};
    if (entry < 0 || entry >= ALLOCATIONS)
        return copy;
    os_shm_lock(&t->header->lock);
    copy = t->header->allocations[entry];
    os_shm_unlock(&t->header->lock);
    return copy;
}

struct ipc_allocation ipc_table_read_ref(uint32_t ipc_ref)
{
    return ipc_table_read(table_of(ipc_ref), ipc_table_entry(ipc_ref));
}

/* Returns the importer entry to change: with `on` a free one, else one of a process that is gone;
 * without, this process's. NULL: there is none. */
static uint64_t *importer_entry(struct ipc_allocation *allocation, bool on)
{
    uint64_t wanted = on ? 0 : os_process();
    for (int i = 0; i < IPC_TABLE_IMPORTERS; i++)
        if (allocation->importers[i] == wanted)
            return &allocation->importers[i];
    uint64_t *gone = NULL;
    for (int i = 0; on && i < IPC_TABLE_IMPORTERS; i++)
        if (!os_process_alive(allocation->importers[i]))
            gone = &allocation->importers[i];
    return gone;
}

void ipc_table_set_importing(uint32_t ipc_ref, bool on)
{
    struct table_header *h = table_of(ipc_ref)->header;
    os_shm_lock(&h->lock);
    uint64_t *entry = importer_entry(allocation_of(ipc_ref), on);
    if (entry)
        *entry = on ? os_process() : 0;
    os_shm_unlock(&h->lock);
}

void ipc_table_set_freed(uint32_t ipc_ref, struct ipc_access access)
{
    struct table_header *h = table_of(ipc_ref)->header;
    struct ipc_allocation *allocation = allocation_of(ipc_ref);
    os_shm_lock(&h->lock);
    allocation->freed_by = access;
    allocation->freed = true;
    os_shm_unlock(&h->lock);
}

/* Is it the same access, made again later? */
static bool is_repeated(const struct ipc_access *a, const struct ipc_access *b)
{
    return a->process == b->process && a->slot == b->slot && a->role == b->role
        && a->write == b->write && a->importer_free == b->importer_free && a->from == b->from
        && a->to == b->to;
}

/* Returns the entry for a new access: a free one or that of its last repetition, else one that is
 * over, else the next in turn. */
static struct ipc_access *access_entry(uint32_t ipc_ref, const struct ipc_access *new)
{
    struct ipc_allocation *allocation = allocation_of(ipc_ref);
    for (int i = 0; i < IPC_TABLE_ACCESSES; i++) {
        struct ipc_access *a = &allocation->accesses[i];
        if (!a->process || is_repeated(a, new))
            return a;
    }
    for (int i = 0; i < IPC_TABLE_ACCESSES; i++)
        if (ipc_table_access_is_over(ipc_ref, &allocation->accesses[i]))
            return &allocation->accesses[i];
    return &allocation->accesses[allocation->evict_next++ % IPC_TABLE_ACCESSES];
}

void ipc_table_add_access(uint32_t ipc_ref, struct ipc_access access)
{
    struct ipc_table *t = table_of(ipc_ref);
    /* Without a clock nothing would say when it is over. */
    if (!t->own_clock)
        return;
    os_shm_lock(&t->header->lock);
    *access_entry(ipc_ref, &access) = access;
    os_shm_unlock(&t->header->lock);
}
