/* The ipc table: what the processes that share a pool publish about its allocations. It is the
 * header of the pool's file, mapped by each.
 *
 *   the file's header
 *   +------------------+------------------------------------+---------------------------------+
 *   | whose pool,      | for each exported allocation:      | nodes of lists: who has an      |
 *   | which device     | which bytes, who has freed it, and | allocation imported; its last   |
 *   |                  | the first node of each of its lists| accesses, by process and stream |
 *   +------------------+------------------------------------+---------------------------------+
 *
 * A process adds its own nodes only, under the header's lock; what some host has acquired is over
 * (ipc/process_clock.h), and anyone may take it out. What a process that has ended left behind is
 * over, too (assumed).
 *
 * A shadow (check/shadow.h) names its allocation by one number, `ipc_ref`, which is a table of this
 * process, an entry of it and a role; 0 for none.
 *
 * All of these need the lock. A table belongs to its pool, which closes it; what is read is a
 * copy. */
#ifndef SIM_IPC_IPC_TABLE_H
#define SIM_IPC_IPC_TABLE_H

#include "check/shadow.h"
#include "ipc/process_clock.h"
#include "sched/stream.h"

/* Through which pointer: the exporter's own, or an imported one. */
enum ipc_role { IPC_EXPORTER = 1, IPC_IMPORTER = 2 };

enum ipc_access_kind {
    /* A read or a write. */
    IPC_USE,
    /* The exporter's allocation, a write of all bytes. */
    IPC_ALLOCATION,
    /* An importer's free, of no bytes: only the exporter's free must come after it. */
    IPC_FREE
};

/* Something that a process did to an allocation. */
struct ipc_access {
    /* The process, and its epoch in its stream; seq 0: the host did it. */
    struct clock_name process;
    uint64_t seq;
    /* Bytes of the allocation: [from, to). */
    uint64_t from, to;
    uint32_t slot;
    int32_t stream;
    /* Of an importer: the number of the allocation in its process, another one for each import. */
    uint32_t import;
    bool write;
    /* It is a free behind a host function that had not returned: it may wait for anything. */
    bool behind_host_func;
    /* enum ipc_access_kind, enum ipc_role. */
    uint8_t kind, role;
    char call[28];
};

struct ipc_allocation {
    /* Of the entry's use; 0: never used. */
    uint64_t generation;
    uint64_t offset, bytes;
    /* The exporter has freed it: freed_by. */
    bool freed;
    struct ipc_access freed_by;
};

struct ipc_table;

/* What an importer needs of a pool. */
struct ipc_pool_info {
    uint64_t id, exporter;
    uint64_t limit;
    int32_t location; /* mem/pool.h */
};

/* Makes the header of a new pool's file. Returns NULL when the file cannot be that long. */
struct ipc_table *ipc_table_new(int file, int location, size_t limit);
/* Opens the header of an exported pool's file. Returns NULL when the file is not a pool's. */
struct ipc_table *ipc_table_open(int file);
void ipc_table_close(struct ipc_table *t);
struct ipc_pool_info ipc_table_pool_info(const struct ipc_table *t);

/* Adds an allocation that others can import. Returns its entry, or -1 when the table is full. */
int ipc_table_export(struct ipc_table *t, size_t offset, size_t bytes);
/* Returns the ipc_ref of an entry, and the parts of one. */
uint32_t ipc_table_ref(struct ipc_table *t, int entry, enum ipc_role role);
enum ipc_role ipc_table_role(uint32_t ipc_ref);
int ipc_table_entry(uint32_t ipc_ref);
/* Returns a copy of an entry, which other processes no longer change; generation 0 where there is
 * no such entry. */
struct ipc_allocation ipc_table_read(struct ipc_table *t, int entry);
struct ipc_allocation ipc_table_read_ref(uint32_t ipc_ref);

/* This process has imported the allocation, or has freed it. */
void ipc_table_set_importing(uint32_t ipc_ref, bool on);
/* The exporter has freed it by this access. */
void ipc_table_set_freed(uint32_t ipc_ref, struct ipc_access access);

/* Adds an access of this process. */
void ipc_table_add_access(uint32_t ipc_ref, const struct ipc_access *access);

/* Copies of what is in a table. */
struct ipc_accesses {
    const struct ipc_access *list;
    uint32_t count;
};
struct ipc_processes {
    const uint64_t *list;
    uint32_t count;
};
/* Returns the accesses that do not come before a new one of this process, but for those through the
 * same pointer, which are check/'s business. `ordered` returns up to which epoch the work of a slot
 * of a process comes before. The oldest of a stream comes first. Good until the next call. */
struct ipc_accesses ipc_table_unordered(uint32_t ipc_ref, const struct ipc_access *later,
                                        uint64_t (*ordered)(struct process_clock *clock,
                                                            uint32_t slot, const void *context),
                                        const void *context);
/* Returns the processes that have the allocation imported. Good until the next call. */
struct ipc_processes ipc_table_importers(uint32_t ipc_ref);

#endif
