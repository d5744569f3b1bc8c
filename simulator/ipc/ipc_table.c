/* The border between processes. Rule: what another process wrote is never trusted with memory: each
 * index and size is checked here. */
#include "ipc/ipc_table.h"

#include <string.h>

#include "mem/heap.h"
#include "os/os.h"
#include "os/process.h"
#include "sched/happens_before.h"

#define MAGIC       0x316c6f6f70656973u
#define ALLOCATIONS 1024 /* chosen: blocks exported at once */
#define PROCESSES   16
#define SLOTS       1024 /* chosen: streams of one process, beyond which its work counts as known */

/* What its host knows of its own lanes. */
struct process_clock {
    uint64_t process;
    uint64_t epoch[SLOTS];
};

struct table_header {
    uint64_t magic, lock, generations;
    struct ipc_pool_info pool;
    struct process_clock clocks[PROCESSES];
    struct ipc_allocation allocations[ALLOCATIONS];
};

_Static_assert(sizeof(struct table_header) <= HEAP_FILE_HEADER,
               "the head of a pool's file has a fixed size");

struct ipc_table {
    struct table_header *header;
    uint32_t index;
    struct process_clock *own_clock;
};

static struct ipc_table **tables; /* index: as `shared` names it; NULL: closed */
static uint32_t table_count;

/* `shared`: border, block and side in one number. */
static struct ipc_table *table_of(uint32_t ipc_ref) { return tables[ipc_ref >> 16]; }

uint32_t ipc_table_ref(struct ipc_table *t, int entry, enum ipc_role role)
{
    return t->index << 16 | (uint32_t)entry << 2 | role;
}
static struct ipc_allocation *allocation_of(uint32_t ipc_ref)
{
    return &table_of(ipc_ref)->header->allocations[ipc_table_entry(ipc_ref)];
}
enum ipc_role ipc_table_role(uint32_t ipc_ref) { return ipc_ref & 3; }
int ipc_table_entry(uint32_t ipc_ref) { return (int)((ipc_ref & 0xffff) >> 2); }

/* ---- what each host knows ---- */

static void publish(struct ipc_table *t)
{
    if (!t->own_clock)
        return;
    for (struct stream *s = stream_first(); s; s = s->next) {
        const struct vector_clock *host = host_vector_clock();
        uint64_t epoch = s->slot < host->slots ? host->epochs[s->slot] : 0;
        if (s->slot < SLOTS)
            __atomic_store_n(&t->own_clock->epoch[s->slot], epoch, __ATOMIC_RELEASE);
    }
}

static void publish_all(void)
{
    for (uint32_t i = 0; i < table_count; i++)
        if (tables[i])
            publish(tables[i]);
}

/* A place for what this process knows: a free one, or that of a process that is gone. NULL: all
 * taken. */
static struct process_clock *claim_clock(struct table_header *h)
{
    struct process_clock *clock = NULL;
    for (int i = 0; i < PROCESSES; i++)
        if (h->clocks[i].process == os_process())
            return &h->clocks[i];
    for (int i = 0; i < PROCESSES && !clock; i++)
        if (!h->clocks[i].process || !os_process_alive(h->clocks[i].process))
            clock = &h->clocks[i];
    if (!clock)
        return NULL;
    memset(clock->epoch, 0, sizeof clock->epoch);
    clock->process = os_process();
    return clock;
}

bool ipc_table_access_is_over(uint32_t ipc_ref, const struct ipc_access *access)
{
    struct table_header *h = table_of(ipc_ref)->header;
    for (int i = 0; i < PROCESSES; i++) {
        if (h->clocks[i].process != access->process)
            continue;
        if (access->slot >= SLOTS
            || __atomic_load_n(&h->clocks[i].epoch[access->slot], __ATOMIC_ACQUIRE) >= access->seq)
            return true;
        return !os_process_alive(access->process);
    }
    return true;
}

/* ---- opening ---- */

static struct ipc_table *add_table(struct table_header *header)
{
    struct ipc_table *t = os_allocate(sizeof *t);
    *t = (struct ipc_table){.header = header, .index = table_count};
    for (uint32_t i = 1; i < table_count; i++)
        if (!tables[i])
            t->index = i;
    if (t->index == table_count) {
        if (!table_count)
            t->index = 1; /* 0 names no block */
        tables = os_grow(tables, (t->index + 1) * sizeof(struct ipc_table *));
        tables[0] = NULL;
        table_count = t->index + 1;
    }
    tables[t->index] = t;
    os_shm_lock(&header->lock);
    t->own_clock = claim_clock(header);
    os_shm_unlock(&header->lock);
    host_on_acquire(publish_all);
    publish(t);
    return t;
}

struct ipc_table *ipc_table_new(int file, int device, size_t limit)
{
    struct table_header *header =
        os_fd_grow(file, HEAP_FILE_HEADER) ? os_fd_map(file, HEAP_FILE_HEADER) : NULL;
    if (!header)
        return NULL;
    header->pool = (struct ipc_pool_info){os_random(), os_process(), limit, device};
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

void ipc_table_close(struct ipc_table *t)
{
    /* A pool that was imported where it was exported has two. */
    bool open_twice = false;
    for (uint32_t i = 0; i < table_count; i++)
        open_twice |=
            tables[i] && tables[i] != t && tables[i]->header->pool.id == t->header->pool.id;
    if (t->own_clock && !open_twice)
        t->own_clock->process = 0;
    tables[t->index] = NULL;
    os_fd_unmap(t->header, HEAP_FILE_HEADER);
    os_free(t);
}

struct ipc_pool_info ipc_table_pool_info(const struct ipc_table *t) { return t->header->pool; }

/* ---- blocks ---- */

static bool has_importer(const struct ipc_allocation *allocation)
{
    for (int i = 0; i < IPC_TABLE_IMPORTERS; i++)
        if (allocation->importers[i] && os_process_alive(allocation->importers[i]))
            return true;
    return false;
}

int ipc_table_export(struct ipc_table *t, size_t offset, size_t bytes)
{
    struct table_header *h = t->header;
    int entry = -1;
    os_shm_lock(&h->lock);
    for (int i = 0; i < ALLOCATIONS && entry < 0; i++)
        if (!h->allocations[i].generation)
            entry = i;
    for (int i = 0; i < ALLOCATIONS && entry < 0; i++)
        if (h->allocations[i].freed && !has_importer(&h->allocations[i]))
            entry = i;
    if (entry >= 0) {
        memset(&h->allocations[entry], 0, sizeof h->allocations[entry]);
        h->allocations[entry].generation = ++h->generations;
        h->allocations[entry].offset = offset;
        h->allocations[entry].bytes = bytes;
    }
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
    return ipc_table_read(table_of(ipc_ref), (int)((ipc_ref & 0xffff) >> 2));
}

void ipc_table_set_importing(uint32_t ipc_ref, bool on)
{
    struct table_header *h = table_of(ipc_ref)->header;
    struct ipc_allocation *allocation = allocation_of(ipc_ref);
    uint64_t from = on ? 0 : os_process(), to = on ? os_process() : 0;
    os_shm_lock(&h->lock);
    int i = 0;
    while (i < IPC_TABLE_IMPORTERS && allocation->importers[i] != from)
        i++;
    for (int j = 0; on && i == IPC_TABLE_IMPORTERS && j < IPC_TABLE_IMPORTERS; j++)
        if (!os_process_alive(allocation->importers[j]))
            i = j;
    if (i < IPC_TABLE_IMPORTERS)
        allocation->importers[i] = to;
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

void ipc_table_add_access(uint32_t ipc_ref, struct ipc_access access)
{
    struct ipc_table *t = table_of(ipc_ref);
    struct ipc_allocation *allocation = allocation_of(ipc_ref);
    if (!t->own_clock)
        return; /* nobody could tell when it is over */
    os_shm_lock(&t->header->lock);
    struct ipc_access *entry = NULL;
    for (int i = 0; i < IPC_TABLE_ACCESSES && !entry; i++) {
        struct ipc_access *a = &allocation->accesses[i];
        bool same = a->process == access.process && a->slot == access.slot && a->role == access.role
                 && a->write == access.write && a->importer_free == access.importer_free
                 && a->from == access.from && a->to == access.to;
        if (!a->process || same)
            entry = a;
    }
    for (int i = 0; i < IPC_TABLE_ACCESSES && !entry; i++)
        if (ipc_table_access_is_over(ipc_ref, &allocation->accesses[i]))
            entry = &allocation->accesses[i];
    if (!entry)
        entry = &allocation->accesses[allocation->evict_next++ % IPC_TABLE_ACCESSES];
    *entry = access;
    os_shm_unlock(&t->header->lock);
}
