/* The ipc table: what the processes that share a pool publish about its allocations. It is the
 * header of the pool's file, mapped by each.
 *
 *   the file's header
 *   +------------------+--------------------------+---------------------------------------------+
 *   | whose pool,      | for each process:        | for each exported allocation:               |
 *   | which device     | what its host            | which bytes, who has imported it, its last  |
 *   |                  | has acquired             | accesses, who has freed it                  |
 *   +------------------+--------------------------+---------------------------------------------+
 *
 * A process writes its own entries only, under the header's lock. What a process that has ended
 * left behind is over (assumed).
 *
 * A shadow (check/shadow.h) names its allocation by one number, `ipc_ref`, which is a table of this
 * process, an entry of it and a role; 0 for none.
 *
 * All of these need the lock. A table belongs to its pool, which closes it; what is read is a
 * copy. */
#ifndef SIM_IPC_IPC_TABLE_H
#define SIM_IPC_IPC_TABLE_H

#include "check/shadow.h"
#include "sched/stream.h"

/* Assumed: so many processes have one allocation imported; the checker sees no more of them. */
#define IPC_TABLE_IMPORTERS 8
/* Assumed: so many accesses of one allocation are not over; an older one is forgotten. */
#define IPC_TABLE_ACCESSES 12

/* Through which pointer: the exporter's own, or an imported one. */
enum ipc_role { IPC_EXPORTER = 1, IPC_IMPORTER = 2 };

/* Something that a process did to an allocation. */
struct ipc_access {
    uint64_t process;
    /* Its epoch in its stream; 0: the host did it. */
    uint64_t seq;
    /* Bytes of the allocation: [from, to). */
    uint64_t from, to;
    uint32_t slot;
    int32_t stream;
    bool write;
    /* It is the exporter's allocation. */
    bool allocation;
    /* It is an importer's free, of no bytes: only the exporter's free must come after it. */
    bool importer_free;
    /* It is a free behind a host function that had not returned: it may wait for anything. */
    bool behind_host_func;
    /* enum ipc_role. */
    uint8_t role;
    char call[27];
};

struct ipc_allocation {
    /* Of the entry's use; 0: never used. */
    uint64_t generation;
    uint64_t offset, bytes;
    /* Processes that have imported it and not freed it; 0: none. */
    uint64_t importers[IPC_TABLE_IMPORTERS];
    /* The exporter has freed it: freed_by. */
    bool freed;
    struct ipc_access freed_by;
    /* Those that may not be over; .process 0: none. */
    struct ipc_access accesses[IPC_TABLE_ACCESSES];
    /* The access to forget next, when no other is over. */
    uint32_t evict_next;
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
void ipc_table_add_access(uint32_t ipc_ref, struct ipc_access access);

/* Returns whether the host of the access's process has acquired it, or that process is gone. */
bool ipc_table_access_is_over(uint32_t ipc_ref, const struct ipc_access *access);

#endif
